"""Add, list and remove voice bundles.

    edge-tts bundle list
    sudo edge-tts bundle add kokoro.tar.gz     # or a directory, or a .zip; for the whole machine
    edge-tts bundle add ./kokoro               # without root: for yourself
    sudo edge-tts bundle remove kokoro-82m

A bundle is added whole or not at all: its files are copied, checked against their hashes and then put into place at once. A
running service takes notice after `systemctl reload edge-tts`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from edge_tts import bundle
from edge_tts.errors import BundleError

MACHINE_DIRECTORY = Path("/var/lib/edge-tts/voices")
_MANIFEST_LIMIT_BYTES = 4_000_000
# path inside the bundle -> its bytes; KeyError or FileNotFoundError where it has no such regular file
Opener = Callable[[str], IO[bytes]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    adding = actions.add_parser("add", help="copy a bundle to where voices are looked for")
    adding.add_argument("source", type=Path, metavar="FILE|DIR", help="a bundle's directory, or a tar or zip archive of it")
    adding.add_argument("--name", help="name to give it (default: the one it gives itself)")
    adding.add_argument("--directory", type=Path, help="put it there (default: the machine's directory for root, else your own)")
    listing = actions.add_parser("list", help="show the bundles that are installed; the first is the default")
    listing.add_argument("--verify", action="store_true", help="check every file against its hash, too")
    removing = actions.add_parser("remove", help="delete a bundle that was added")
    removing.add_argument("name", help="name of an installed bundle")


def run(args: argparse.Namespace) -> int:
    if args.action == "add":
        target = add(args.source, args.directory or default_directory(), args.name)
        print(f"added {target}")
        default = bundle.find(None)
        if default != target:
            print(f"without a choice {default.name} speaks; --bundle {target.name}, or bundle = in config.toml, chooses this one")
    elif args.action == "list":
        for path in bundle.installed():
            print(described(path, verify=args.verify))
    else:
        print(f"removed {remove(args.name)}")
    return 0


def default_directory() -> Path:
    """The machine's directory for root, else the user's."""
    return MACHINE_DIRECTORY if os.geteuid() == 0 else bundle.search_path()[0]


def add(source: Path, directory: Path, name: str | None = None) -> Path:
    """Copy a bundle from a directory or an archive into `directory`, replacing one of its name; returns where it is now."""
    with _opened(source) as read:
        with read(bundle.MANIFEST) as file:
            text = file.read(_MANIFEST_LIMIT_BYTES)
        try:
            with bundle.staged_directory(directory / (name or _own_name(source, text))) as stage:
                _copy(read, text, stage)
                bundle.open_bundle(stage, verify=True)
                target = directory / (name or bundle.read_manifest(stage).name)
        except OSError as error:
            remedy = "; use sudo" if isinstance(error, PermissionError) else ""
            raise BundleError(f"{error.filename or directory}: {error.strerror}{remedy}") from None
    return target


def _own_name(source: Path, manifest: bytes) -> str:
    """The name in a manifest that was not checked yet; it must be a plain file name."""
    try:
        name = str(json.loads(manifest)["name"])
    except (ValueError, KeyError, TypeError):
        raise BundleError(f"{source}: its {bundle.MANIFEST} has no name; {bundle.REMEDY}") from None
    if name.startswith(".") or "/" in name or not name.isprintable() or not name:
        raise BundleError(f"{source}: {name!r} is no name for a directory; give it one with --name")
    return name


def _copy(read: Opener, manifest: bytes, stage: Path) -> None:
    """The manifest and the files that it lists, no others, readable for all."""
    (stage / bundle.MANIFEST).write_bytes(manifest)
    for entry in bundle.read_manifest(stage).files:
        target = stage / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        with read(entry.path) as file, target.open("wb") as out:
            shutil.copyfileobj(file, out)
    for path in stage.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


@contextmanager
def _opened(source: Path) -> Iterator[Opener]:
    """A way to read the files of a bundle in a directory or an archive, by their paths inside the bundle."""

    def missing(name: str) -> BundleError:
        return BundleError(f"{source} has no {name}, so it is no voice bundle; {bundle.REMEDY}")

    try:
        if source.is_dir():

            def from_directory(name: str) -> IO[bytes]:
                if not (source / name).is_file():
                    raise missing(name)
                return (source / name).open("rb")

            yield from_directory
        elif zipfile.is_zipfile(source):
            with zipfile.ZipFile(source) as archive:
                top = _top(archive.namelist())

                def from_zip(name: str) -> IO[bytes]:
                    try:
                        return archive.open(top + name)
                    except KeyError:
                        raise missing(name) from None

                yield from_zip
        else:
            with tarfile.open(source) as tar:
                members = {member.name.removeprefix("./"): member for member in tar if member.isfile()}
                top = _top(list(members))

                def from_tar(name: str) -> IO[bytes]:
                    file = tar.extractfile(members[top + name]) if top + name in members else None
                    if file is None:
                        raise missing(name)
                    return file

                yield from_tar
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise BundleError(f"{source}: neither a bundle's directory nor a tar or zip archive of one ({error})") from None
    except OSError as error:
        raise BundleError(f"{error.filename or source}: {error.strerror or error}") from None


def _top(names: list[str]) -> str:
    """What stands before a bundle's own paths in an archive: the folder of the manifest nearest to the top."""
    manifests = [name for name in names if PurePosixPath(name).name == bundle.MANIFEST]
    nearest = min(manifests, key=lambda name: name.count("/"), default=bundle.MANIFEST)
    return nearest.removesuffix(bundle.MANIFEST)


def described(path: Path, *, verify: bool = False) -> str:
    """A line on an installed bundle; what is wrong with it where something is."""
    try:
        manifest = bundle.open_bundle(path, verify=verify).manifest
    except BundleError as error:
        return f"{path.name:16} broken: {error}"
    size_mb = sum(entry.size for entry in manifest.files) / 1e6
    voices = f"{len(manifest.voices)} voices"
    return f"{path.name:16} {manifest.family:10} {size_mb:5.0f} MB  {voices:10} {', '.join(manifest.languages):8} {path}"


def remove(name: str) -> Path:
    """Delete the installed bundle of that name; BundleError for one that is not there, or not ours to delete."""
    if os.sep in name:
        raise BundleError(f"{name}: give the name of an installed bundle, as `edge-tts bundle list` shows it")
    path = bundle.find(name)
    if path.parent == bundle.search_path()[-1]:
        raise BundleError(f"{path} belongs to a package: find it with `dpkg -S {path}`, and remove that")
    gone = path.with_name(f".{path.name}.removed")
    try:
        path.rename(gone)  # at once for whoever looks for it, however long deleting takes
        shutil.rmtree(gone)
    except OSError as error:
        remedy = "; use sudo" if isinstance(error, PermissionError) else ""
        raise BundleError(f"{path}: {error.strerror}{remedy}") from None
    return path
