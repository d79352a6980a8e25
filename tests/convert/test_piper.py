"""Piper's converter: the cut graphs against ONNX Runtime on the whole file, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from convert.__main__ import main
from convert.piper import command, graphs
from edge_tts.bundle import open_bundle
from edge_tts.engine import Engine
from edge_tts.errors import BundleError
from edge_tts.models.piper import PiperModel
from tests.tiny_piper import SPEAKERS, UPSAMPLING, tiny_config, write_tiny_voice


@pytest.fixture(scope="module", params=[1, 2], ids=["one-speaker", "two-speakers"])
def voice(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_voice(tmp_path_factory.mktemp("piper"), speakers=request.param)


@pytest.fixture(scope="module")
def bundle_path(voice: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles") / "tiny"
    assert main(["piper", str(voice), "--out", str(path), "--license", "CC0-1.0"]) == 0
    return path


def test_without_noise_the_graphs_say_what_the_file_says(voice: Path, bundle_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(voice))
    model = PiperModel(open_bundle(bundle_path), Engine())
    model.settings = dataclasses.replace(model.settings, noise_scale=0.0, noise_w=0.0, gain=1.0)
    many = bool(model.settings.speakers)
    for text, speed in (("hello there", 1.0), ("a", 1.0), ("one, two; three four five six seven", 0.5)):
        ids = model.token_ids(list(text))
        for number, name in enumerate(SPEAKERS if many else ("en_US-tiny-low",)):
            feed = {
                "input": np.array([ids]), "input_lengths": np.array([len(ids)]),
                "scales": np.array([0, 1 / speed, 0], np.float32), **({"sid": np.array([number])} if many else {}),
            }  # fmt: skip
            theirs = session.run(None, feed)[0].ravel()
            latent = model.latent(ids, name, speed, np.random.default_rng(0))
            ours = np.concatenate([samples for samples, _ in model.waveform(latent, name)])
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, atol=1e-4 * np.abs(theirs).max())


def test_the_bundle_says_what_the_voice_is(bundle_path: Path) -> None:
    manifest = open_bundle(bundle_path).manifest
    assert manifest.family == "piper" and manifest.languages == ("en",) and manifest.name == "en_US-tiny-low"
    assert {(v.language, v.license) for v in manifest.voices} == {("en-US", "CC0-1.0")}
    assert [v.name for v in manifest.voices] in (["en_US-tiny-low"], list(SPEAKERS))
    settings = manifest.settings
    assert settings["hop_length"] == UPSAMPLING and settings["noise_w"] == 0.8 and settings["phoneme_type"] == "text"
    # A kernel of 3 at the frames, 2 UPSAMPLING at the samples, then 3 samples: less than three frames either way.
    assert 2 <= settings["context_frames"] <= 3
    assert manifest.provenance["sources"][0]["origin"] == "en_US-tiny-low.onnx"


def test_the_loudest_sample_sentence_nearly_fills_the_range(bundle_path: Path) -> None:
    model = PiperModel(open_bundle(bundle_path), Engine())
    name = next(iter(model.settings.speakers), "en_US-tiny-low")
    peaks = [np.abs(s).max() for latent in command.latents(model, name) for s, _ in model.waveform(latent, name)]
    assert 0.5 < max(peaks) <= 0.951


def test_other_files_are_refused_by_name(voice: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx.load(str(voice))
    model.graph.input[0].name = "ids"
    onnx.save(model, str(tmp_path / "other.onnx"))
    with pytest.raises(BundleError, match=r"other\.onnx: is no Piper voice; its inputs are ids"):
        graphs.read(tmp_path / "other.onnx")
    (tmp_path / "cut.onnx").write_bytes(voice.read_bytes()[:900])
    with pytest.raises(BundleError, match=r"cut\.onnx: "):
        graphs.read(tmp_path / "cut.onnx")
    assert main(["piper", str(tmp_path / "none.onnx"), "--out", str(tmp_path / "out")]) == 1
    assert "none.onnx: no such file" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_graph_of_another_make_is_refused_with_what_is_missing(voice: Path, tmp_path: Path) -> None:
    model = onnx.load(str(voice))
    next(node for node in model.graph.node if node.op_type == "Ceil").op_type = "Floor"
    onnx.save(model, str(tmp_path / "floor.onnx"))
    with pytest.raises(BundleError, match="not built as Piper's voices are: durations are not rounded up once"):
        graphs.read(tmp_path / "floor.onnx")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"phoneme_type": "pinyin"}, "phoneme type 'pinyin' is not one of espeak, text"),
        ({"phoneme_id_map": None}, "is no configuration of a Piper voice"),
        ({"audio": {}}, "is no configuration of a Piper voice"),
    ],
)
def test_a_configuration_that_does_not_serve_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "voice.onnx.json"
    path.write_text(json.dumps({**tiny_config(), **change}), encoding="utf-8")
    with pytest.raises(BundleError, match=message):
        command.VoiceConfig.of(path, "voice")


def test_the_configuration_may_lie_elsewhere(voice: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moved = Path(shutil.copy(voice, tmp_path / "voice.onnx"))
    assert main(["piper", str(moved), "--out", str(tmp_path / "out")]) == 1
    assert "voice.onnx.json" in capsys.readouterr().err
    config = str(voice) + ".json"
    assert main(["piper", str(moved), "--config", config, "--out", str(tmp_path / "out")]) == 0
    assert open_bundle(tmp_path / "out").manifest.name == "voice"
