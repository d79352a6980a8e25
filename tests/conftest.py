"""What several test modules share."""

from __future__ import annotations

from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"


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
