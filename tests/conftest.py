"""What all tests share: a home of their own, and the synthetic Kokoro voice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from edge_tts.bundle import Bundle
from edge_tts.synthesizer import Voice, load_voice

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"


@pytest.fixture(autouse=True)
def own_home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees, or leaves anything in, the home of whoever runs it; those of the real voice keep their caches there."""
    if request.node.get_closest_marker("real"):
        return Path.home()
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "CACHE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture(scope="session")
def tiny_bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """The synthetic voice on disk; tests that change it make a copy."""
    for package in ("hibari", "jieba", "pypinyin", "misaki"):
        pytest.importorskip(package, reason="the tiny voice needs the extra convert-kokoro")
    from tests.tiny_voice import write_tiny_bundle

    return write_tiny_bundle(tmp_path_factory.mktemp("voices") / "tiny")


@pytest.fixture(scope="session")
def tiny_voice(tiny_bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Voice:
    """The synthetic voice, loaded."""
    return load_voice(tiny_bundle.path, cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture
def tiny_bundle_copy(tiny_bundle: Bundle, tmp_path: Path) -> Path:
    """The synthetic voice in a directory that the test may change."""
    return Path(shutil.copytree(tiny_bundle.path, tmp_path / "tiny"))


@pytest.fixture(scope="session")
def cosyvoice_reference() -> Path:
    """The reference data of CosyVoice, which lies beside the project where it is developed."""
    path = REFERENCE / "cosyvoice"
    if not path.is_dir():
        pytest.skip(f"no reference data at {path}")
    return path


@pytest.fixture(scope="session")
def tiny_cosyvoice_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random CosyVoice checkpoint of the smallest sizes."""
    pytest.importorskip("torch", reason="converting needs torch")
    from tests.tiny_cosyvoice import write_tiny_checkpoint

    path = tmp_path_factory.mktemp("cosyvoice") / "CosyVoice-tiny"
    write_tiny_checkpoint(path)
    return path


@pytest.fixture(scope="session")
def tiny_cosyvoice_bundle(tiny_cosyvoice_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The float32 bundle of that checkpoint, with an instructed voice."""
    from tests.tiny_cosyvoice import write_tiny_bundle

    path = tmp_path_factory.mktemp("bundle")
    write_tiny_bundle(tiny_cosyvoice_checkpoint, path, "float32", (("cheerful", "中文女", "Speak <strong>fast</strong>."),))
    return path
