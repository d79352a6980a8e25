"""`python -m convert parity` against the reference's outputs, and that it fails when it should."""

import shutil
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
import torch
from openvino import opset13 as ops

from convert.__main__ import main
from convert.cosyvoice.vocoder_graph import snake, upsampled

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


@pytest.mark.parametrize("alpha", [0.003, 0.1, 1.7, 30.0])
def test_snake_without_a_sine_is_snake(alpha: float) -> None:
    x = np.linspace(-50, 50, 20001, dtype=np.float32)[None, None, None]
    node = ops.parameter([1, 1, 1, -1], np.float32)
    model = ov.Model([ops.result(snake(node, np.array([alpha], np.float32)))], [node], "snake")
    found = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x])[0]
    exact = x.astype(np.float64) + np.sin(np.float32(alpha) * x.astype(np.float64)) ** 2 / np.float32(alpha)
    np.testing.assert_allclose(found, exact, rtol=0, atol=9e-6 / alpha + 5e-6)  # 5e-6: the rounding of 50


@pytest.mark.parametrize(("rate", "kernel"), [(8, 16), (4, 8), (4, 10)])
def test_an_upsampling_without_a_transposed_convolution_is_one(rate: int, kernel: int) -> None:
    torch.manual_seed(0)
    up = torch.nn.ConvTranspose1d(6, 5, kernel, rate, padding=(kernel - rate) // 2).requires_grad_(False)
    node = ops.parameter([1, 6, 1, -1], np.float32)
    model = ov.Model([ops.result(upsampled(node, up, "up"))], [node], "up")
    x = torch.randn(1, 6, 13)
    found = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x[:, :, None].numpy()])[0]
    np.testing.assert_allclose(found[:, :, 0], up(x).numpy(), rtol=0, atol=1e-5)
