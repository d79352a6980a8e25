"""Where the tokenizer's ranks come from: a given file, the installed package openai-whisper, or that package fetched with pip."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from edge_tts.bundle import sha256
from edge_tts.errors import BundleError

PACKAGE, VERSION = "openai-whisper", "20250625"
FILE_NAME = "multilingual.tiktoken"
SHA256 = "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126"
_MEMBER = f"whisper/assets/{FILE_NAME}"


def fetch_ranks(given: Path | None, directory: Path) -> Path:
    """The ranks file, checked against its hash; `directory` takes what has to be unpacked.

    given: the file itself, or a wheel or source archive of the package that holds it
    """
    path = _unpacked(given, directory) if given is not None else _installed() or _downloaded(directory)
    if not path.is_file():
        raise BundleError(f"{path}: no such file; give {FILE_NAME} with --ranks")
    found = sha256(path)
    if found != SHA256:
        raise BundleError(f"{path}: SHA-256 {found} instead of {SHA256}; it is not the {FILE_NAME} of {PACKAGE}")
    return path


def _installed() -> Path | None:
    spec = importlib.util.find_spec("whisper")  # found, not imported: the package would load torch
    for location in (spec.submodule_search_locations or []) if spec else []:
        path = Path(location) / "assets" / FILE_NAME
        if path.is_file():
            return path
    return None


def _downloaded(directory: Path) -> Path:
    package = f"{PACKAGE}=={VERSION}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(directory), package]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    archives = [path for path in directory.iterdir() if path.name.startswith("openai_whisper")]
    if done.returncode or not archives:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise BundleError(
            f"`pip download {package}` failed ({reason}); check the network, or give {FILE_NAME}, or a file of that package, "
            "with --ranks"
        )
    return _unpacked(archives[0], directory)


def _unpacked(path: Path, directory: Path) -> Path:
    """The ranks out of an archive; any other file is taken for the ranks themselves."""
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as tar:
            names = [name for name in tar.getnames() if name.endswith(_MEMBER)]
            file = tar.extractfile(names[0]) if names else None
            data = file.read() if file else None
    elif path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            data = archive.read(_MEMBER) if _MEMBER in archive.namelist() else None
    else:
        return path
    if data is None:
        raise BundleError(f"{path}: holds no {_MEMBER}")
    out = directory / FILE_NAME
    out.write_bytes(data)
    return out
