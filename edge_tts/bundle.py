"""A voice bundle: a directory that holds everything a voice needs, described by its `manifest.json`.

The manifest is plain JSON: schema version, family, sample rate, languages, voices with language and licence, every file with
its SHA-256 and size, the quantisation recipe, where the parts came from, and settings that only the family understands.
Reading (the runtime) and writing (the converter) are both here, so that they cannot drift apart. Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from edge_tts.errors import BundleError, UnknownVoiceError

SCHEMA = 1
MANIFEST = "manifest.json"
REMEDY = "make it again with `python -m convert`, or copy it again from where it came"


@dataclass(frozen=True)
class VoiceEntry:
    """One speaker of a bundle. `language` is a BCP 47 tag ("en-US"); `license` an SPDX identifier."""

    name: str
    language: str
    license: str
    description: str = ""


@dataclass(frozen=True)
class FileEntry:
    """One file of a bundle: its path inside it with forward slashes, SHA-256 in hex, size in bytes."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Manifest:
    """What a bundle says of itself.

    languages: primary language subtags that the family can phonemise or tokenise ("en", "zh")
    default_voices: primary language subtag -> voice name; "" is the voice for any other language
    recipe: the quantisation recipe as data
    provenance: per source its name, version, SHA-256; and the versions of the tools
    settings: what only the family understands (vocabulary, sizes)
    """

    family: str
    name: str
    sample_rate: int
    languages: tuple[str, ...]
    voices: tuple[VoiceEntry, ...]
    default_voices: dict[str, str]
    recipe: dict[str, Any]
    provenance: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)
    files: tuple[FileEntry, ...] = ()
    schema: int = SCHEMA


@dataclass(frozen=True)
class Bundle:
    """A checked bundle on disk."""

    path: Path
    manifest: Manifest

    def file(self, name: str) -> Path:
        """Path of one of the bundle's files; BundleError when the manifest does not list it."""
        if not any(entry.path == name for entry in self.manifest.files):
            raise BundleError(f"{self.path}: the manifest lists no file {name!r}; {REMEDY}")
        return self.path / name

    def voice(self, name: str) -> VoiceEntry:
        """The speaker of that name; UnknownVoiceError otherwise."""
        for entry in self.manifest.voices:
            if entry.name == name:
                return entry
        raise UnknownVoiceError(name, [entry.name for entry in self.manifest.voices])

    def default_voice(self, language: str) -> VoiceEntry:
        """The speaker for a text whose main language (primary subtag) is `language`."""
        defaults = self.manifest.default_voices
        return self.voice(defaults.get(language) or defaults.get("") or self.manifest.voices[0].name)


def open_bundle(path: Path | str, *, verify: bool = True, record: Path | None = None) -> Bundle:
    """Read and check a bundle: the manifest's schema, that every file is there, its size and (with `verify`) its hash.

    record: a file that remembers which files had the right hash; those that have not changed since are not read for it again,
        which on a slow disk takes seconds. Made when it is not there; of no effect where it cannot be read or written.
    """
    path = Path(path)
    manifest = read_manifest(path)
    known = _read_record(record)
    found = dict(known)
    for entry in manifest.files:
        state = _check_file(path, entry, verify=verify, known=known)
        if verify:
            found[str((path / entry.path).resolve())] = state
    if record is not None and found != known:
        _write_record(record, found)
    return Bundle(path, manifest)


def read_manifest(path: Path) -> Manifest:
    """The manifest of the bundle at `path`, its files unchecked; BundleError names what is wrong with it."""
    where = path / MANIFEST
    if not os.path.isdir(path):  # unlike Path.is_dir, false for what may not be looked at
        raise BundleError(f"{path}: no such voice bundle (a directory with a {MANIFEST})")
    try:
        data = json.loads(where.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BundleError(f"{where} is missing, so {path} is no voice bundle; {REMEDY}") from None
    except OSError as error:
        raise BundleError(f"{where}: {error.strerror}; make it readable for this user") from None
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{where} is not valid JSON ({error}); {REMEDY}") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else None
        raise BundleError(f"{where}: schema {found!r} is not the {SCHEMA} that this version reads; {REMEDY}")
    return _parse(where, data)


def _parse(where: Path, data: dict[str, Any]) -> Manifest:
    known = set(Manifest.__dataclass_fields__)
    for key in sorted(set(data) - known):
        raise BundleError(f"{where}: unknown key {key!r}; {REMEDY}")
    for key in sorted(known - {"settings"} - set(data)):
        raise BundleError(f"{where}: {key} is missing; {REMEDY}")
    for key, kind in _KINDS.items():
        if key in data and not _is(data[key], kind):
            raise BundleError(f"{where}: {key} is no {kind.__name__}; {REMEDY}")
    try:
        manifest = Manifest(
            **{
                **data,
                "languages": tuple(data["languages"]),
                "voices": tuple(VoiceEntry(**voice) for voice in data["voices"]),
                "files": tuple(FileEntry(**entry) for entry in data["files"]),
            }
        )
    except TypeError as error:
        raise BundleError(f"{where}: {error}; {REMEDY}") from None
    _check_values(where, manifest)
    return manifest


# What JSON gives for the manifest's keys; a string would pass for a list of its letters.
_KINDS = {
    "family": str, "name": str, "sample_rate": int, "languages": list, "voices": list, "default_voices": dict,
    "recipe": dict, "provenance": dict, "settings": dict, "files": list,
}  # fmt: skip


def _is(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _check_values(where: Path, manifest: Manifest) -> None:
    if manifest.sample_rate <= 0 or not manifest.voices:
        raise BundleError(f"{where}: a bundle needs a positive sample_rate and at least one voice; {REMEDY}")
    for text in (*manifest.languages, *(value for voice in manifest.voices for value in asdict(voice).values())):
        if not _is(text, str):
            raise BundleError(f"{where}: {text!r} among the languages and voices is no str; {REMEDY}")
    names = [voice.name for voice in manifest.voices]
    for language, name in manifest.default_voices.items():
        if name not in names:
            raise BundleError(f"{where}: default voice {name!r} of {language!r} is not among the voices; {REMEDY}")
    for entry in manifest.files:
        if not _is(entry.path, str) or not _stays_inside(entry.path):
            raise BundleError(f"{where}: file path {entry.path!r} leaves the bundle; {REMEDY}")
        if not _is(entry.sha256, str) or not _is(entry.size, int):
            raise BundleError(f"{where}: {entry.path} has no SHA-256 or size; {REMEDY}")


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return bool(path) and not parts.is_absolute() and ".." not in parts.parts and "\0" not in path


# What a file was like when it had that hash: size in bytes, time of its last change (ctime, which no copying sets back) in ns,
# inode, SHA-256.
_State = list[int | str]


def _check_file(directory: Path, entry: FileEntry, *, verify: bool, known: dict[str, _State]) -> _State:
    path = directory / entry.path
    try:
        status = path.stat()
        if status.st_size != entry.size:
            raise BundleError(
                f"{path}: {status.st_size} bytes where the manifest says {entry.size}: cut short or changed; {REMEDY}"
            )
        state: _State = [status.st_size, status.st_ctime_ns, status.st_ino, entry.sha256]
        if verify and known.get(str(path.resolve())) != state and sha256(path) != entry.sha256:
            raise BundleError(f"{path}: its SHA-256 is not the manifest's, so it is damaged or was changed; {REMEDY}")
        return state
    except FileNotFoundError:
        raise BundleError(f"{path} is missing; {REMEDY}") from None
    except OSError as error:
        raise BundleError(f"{path}: {error.strerror}; make it readable for this user") from None


def _read_record(record: Path | None) -> dict[str, _State]:
    try:
        known = json.loads(record.read_text(encoding="utf-8")) if record is not None else {}
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write_record(record: Path, found: dict[str, _State]) -> None:
    """Whole or not at all, of files that are still there."""
    kept = {path: state for path, state in found.items() if os.path.exists(path)}
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        descriptor, scratch = tempfile.mkstemp(prefix=f".{record.name}.", dir=record.parent)
    except OSError:
        return
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(kept, file)
        os.replace(scratch, record)
    except OSError:
        Path(scratch).unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """SHA-256 of a file in hex, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def staged_directory(target: Path) -> Iterator[Path]:
    """A temporary directory beside `target` that becomes `target` when the block ends well, and vanishes when it does not.

    A bundle that is already there stays until the new one is complete; so the bundle is there whole or not at all. A link stays
    a link: what it points to is replaced. BundleError when `target` is something else, or cannot be written.
    """
    target = target.resolve()
    if target.exists() and not _replaceable(target):
        raise BundleError(f"{target} exists and is neither a voice bundle nor an empty directory; choose another --out")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise BundleError(f"{target} cannot be written ({error.strerror}); choose another --out") from None
    try:
        yield stage
        try:
            stage.chmod(0o755)
            _exchange(stage, target)
        except OSError as error:
            raise BundleError(f"{target}: the new bundle could not be put there ({error.strerror})") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def reading_settings(bundle: Bundle) -> Iterator[dict[str, Any]]:
    """The manifest's settings, for a family to read; what is missing there or wrong becomes a BundleError."""
    try:
        yield bundle.manifest.settings
    except (KeyError, TypeError, ValueError) as error:
        family = bundle.manifest.family
        raise BundleError(f"{bundle.path}: the manifest's settings are not those of a {family} bundle ({error})") from None


def _exchange(stage: Path, target: Path) -> None:
    """Put `stage` at `target`; what was there comes back if that fails."""
    if not target.exists():
        os.replace(stage, target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    try:
        os.replace(target, old)
        os.replace(stage, target)
    except BaseException:
        if not target.exists():
            os.replace(old, target)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _replaceable(target: Path) -> bool:
    return target.is_dir() and ((target / MANIFEST).is_file() or not any(target.iterdir()))


def write_manifest(directory: Path, manifest: Manifest) -> Manifest:
    """Write `manifest.json` for the files found in `directory` (hashed here), and return the manifest as written."""
    files = tuple(
        FileEntry(path.relative_to(directory).as_posix(), sha256(path), path.stat().st_size)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    )
    data = {**asdict(manifest), "files": [asdict(entry) for entry in files]}
    text = json.dumps(data, ensure_ascii=False, indent=1)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return read_manifest(directory)


def search_path() -> list[Path]:
    """Where bundles are looked for, in order: the user's data directory, then the system's two."""
    data_home = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return [
        Path(data_home).expanduser() / "edge-tts" / "voices",
        Path("/var/lib/edge-tts/voices"),
        Path("/usr/share/edge-tts/voices"),
    ]


def installed() -> list[Path]:
    """Every bundle on the search path, in its order and then by name; an earlier one hides a later one of the same name."""
    found: dict[str, Path] = {}
    for directory in search_path():
        for name in sorted(_names(directory)):
            if not name.startswith(".") and os.path.isfile(directory / name / MANIFEST):
                found.setdefault(name, directory / name)
    return list(found.values())


def _names(directory: Path) -> list[str]:
    """What is in a directory; nothing for one that is not there or that this user may not look into."""
    try:
        return os.listdir(directory)
    except OSError:
        return []


def find(name: str | None) -> Path:
    """Path of a bundle given as a path or by the name of an installed one; without a name the first installed one."""
    if name and (os.sep in name or os.path.isdir(name)):
        return Path(name)
    bundles = installed()
    for path in bundles:
        if name is None or path.name == name:
            return path
    where = ", ".join(str(path) for path in search_path())
    if name:
        have = ", ".join(path.name for path in bundles) or "none"
        raise BundleError(f"no voice bundle named {name!r} in {where} (installed: {have}); --bundle takes a path too")
    raise BundleError(
        f"no voice bundle found in {where}. Make the default one, from a checkout of the project, with: "
        f"python -m convert kokoro --out {search_path()[0] / 'kokoro'}"
    )
