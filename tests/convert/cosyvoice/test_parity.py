"""`python -m convert parity` against the reference's outputs, and that it fails when it should."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from convert.__main__ import main
from convert.cosyvoice.modules import sine_coefficients, snake

STAGES = 2 * (3 * 4 + 4 + 2 * 8 + 4 + 2)


def run(checkpoint: Path, goldens: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    status = main(["parity", str(checkpoint), str(goldens)])
    return status, capsys.readouterr().out.splitlines()


def test_torch_and_openvino_equal_the_reference_at_every_stage(
    cosyvoice_reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = run(cosyvoice_reference / "CosyVoice-tiny-SFT", cosyvoice_reference / "goldens.npz", capsys)
    assert status == 0, "\n".join(line for line in lines if "FAILS" in line)
    verdicts = [line for line in lines[1:-1] if line.endswith((" ok", "not judged"))]
    assert len(verdicts) == STAGES
    assert sum(line.endswith("not judged") for line in verdicts) <= 4


def test_a_wrong_weight_fails_the_stages_behind_it(
    cosyvoice_reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(cosyvoice_reference / "CosyVoice-tiny-SFT", checkpoint, copy_function=shutil.copyfile)
    checkpoint.chmod(0o755)
    data = torch.load(checkpoint / "hift.pt", weights_only=True)
    data["f0_predictor.classifier.bias"] += 0.01
    torch.save(data, checkpoint / "hift.pt")
    status, lines = run(checkpoint, cosyvoice_reference / "goldens.npz", capsys)
    assert status == 1
    assert {line.split()[0] for line in lines if "FAILS" in line} == {"hift.f0"}


def test_goldens_that_lack_a_key_are_refused_with_its_name(
    cosyvoice_reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with np.load(cosyvoice_reference / "goldens.npz") as goldens:
        np.savez(tmp_path / "fewer.npz", **{key: goldens[key] for key in goldens.files if key != "flow.sft.mu"})
    assert main(["parity", str(cosyvoice_reference / "CosyVoice-tiny-SFT"), str(tmp_path / "fewer.npz")]) == 1
    assert "flow.sft.mu" in capsys.readouterr().err


def test_snake_without_a_sine_is_snake() -> None:
    x = torch.linspace(-50, 50, 20001, dtype=torch.float64)[None, None]
    alpha = torch.tensor([1.7], dtype=torch.float64)
    exact = x + torch.sin(alpha * x) ** 2 / alpha
    torch.testing.assert_close(snake(x, alpha), exact, atol=2e-6, rtol=0)
    assert sine_coefficients()[0] == pytest.approx(np.pi, abs=1e-4)
