"""The comparison's arithmetic, its processes, its profile, and the float model it is made of. No figure is judged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edge_tts.benchmark.texts import Text
from edge_tts.bundle import Bundle
from edge_tts.machine import ProcessMemory
from tests.bench import compare, contestants, installed, profile, service
from tests.bench.compare import Spoken, Target
from tests.bench.contestants import Contestant, Turn, Worker

MEMORY = ProcessMemory(100.0, 120.0, 80.0)


def turn(contestant: str, text: str, state: str, rtf: float) -> Spoken:
    return Spoken(contestant, Text(text, "short", "en"), state, Turn(2.0, 2.0 * rtf, 3.0 * rtf, rtf, MEMORY))


def test_ratios_are_taken_text_by_text() -> None:
    """Other work on the machine that slows one text of both must not show in the ratio."""
    spoken = [turn("ours", "a", "new", 0.2), turn("theirs", "a", "new", 0.6), turn("ours", "b", "new", 2.0)]
    spoken += [turn("theirs", "b", "new", 8.0), turn("ours", "a", "repeated", 0.1), turn("theirs", "a", "repeated", 0.05)]
    new, repeated = compare.ratios(spoken, "ours")
    assert (new["rtf"]["median"], new["rtf"]["low"], new["rtf"]["high"], new["rtf"]["n"]) == (3.5, 3.0, 4.0, 2)
    assert repeated["rtf"]["median"] == repeated["cpu"]["median"] == repeated["first_audio"]["median"] == 0.5


def test_a_text_that_only_one_speaks_makes_no_ratio() -> None:
    assert compare.ratios([turn("ours", "你好", "new", 0.2), turn("theirs", "a", "new", 0.6)], "ours") == []


def test_targets_are_met_or_missed_by_how_much() -> None:
    assert "met" in Target("speed", 0.14, 0.14).line() and Target("speed", 0.14, 0.13).met
    assert "MISSED by 50%" in Target("speed", 0.14, 0.21).line()
    assert "MISSED by 25%" in Target("times faster", 2.4, 1.8, at_most=False).line()
    assert Target("times faster", 2.4, 2.5, at_most=False).met


def figures() -> dict:
    """The data of a run of two contestants."""
    spoken = [turn("kokoro int8", "a", state, 0.2) for state in compare.STATES]
    spoken += [turn("kokoro int8, ONNX Runtime", "a", state, 0.6) for state in compare.STATES]
    memory = {"resident_mb": 400.0, "peak_mb": 450.0, "own_mb": 300.0}
    one = {"median": 1.0, "low": 1.0, "high": 1.0, "n": 1}
    return {
        "machine": {"processor": {"name": "CPU", "cores": 2, "features": ["avx2"]}, "versions": {"python": "3"}},
        "threads": 2,
        "skipped": {"piper": "not installed: pip install piper-tts"},
        "rows": compare.rows(spoken),
        "ratios": compare.ratios(spoken, "kokoro int8"),
        "memory": {name: {"load_s": 1.0, "loaded": memory, "first": memory, "end": memory} for name in ("kokoro int8", "x")},
        "start": {"kokoro int8": {"say_s": one, "import_s": one}},
        "service": {"kokoro int8": in_service(growth=0.03)},
        "installed": {"kokoro": {"openvino": 180.0, "numpy": 70.0, "all": 260.0, "slimmed": 150.0}},
    }


def in_service(growth: float | None = None) -> dict:
    """What a service took."""
    memory = {"resident_mb": 400.0, "peak_mb": 450.0, "own_mb": 300.0}
    rested = {**memory, "resident_mb": 340.0}
    ready = {"median": 1.5, "low": 1.4, "high": 2.5, "n": 3}
    return {"ready_s": ready, "requests": 500, "ready_mb": memory, "end_mb": memory, "rested_mb": rested, "growth": growth}


def test_the_targets_of_a_family_are_held_against_its_figures() -> None:
    found = {target.name: target for target in compare.targets(figures(), {"kokoro int8": "kokoro"})}
    assert found["kokoro int8: times faster than int8 by ONNX Runtime, repeated"].value == pytest.approx(3.0)
    assert found["kokoro int8: times faster than int8 by ONNX Runtime, repeated"].met
    assert not found["kokoro int8: RTF, repeated lengths"].met
    assert found["kokoro int8: `edge-tts say` of a word, new process"].met
    assert "kokoro int8: first sound, long, new" not in found  # nothing of that was measured


def test_a_services_figures_are_held_against_its_familys_targets() -> None:
    figures = in_service(growth=0.03)
    found = {target.name.removeprefix("k: "): target for target in compare.service_targets("k", "kokoro", figures)}
    assert found["READY with a warm cache"].met and found["growth after the first 200 texts"].met
    assert not found["service resident, after 500 texts"].met and found["service resident, after 500 texts, rested"].met
    assert not any("growth" in target.name for target in compare.service_targets("k", "kokoro", in_service()))
    assert not list(compare.service_targets("h", "hibari", in_service()))


def test_growth_needs_enough_texts_and_ignores_a_single_peak() -> None:
    assert service.growth([100.0] * (service.SETTLED + 199)) is None
    flat = [300.0] * service.SETTLED + [400.0] * 1000
    flat[-5] = 900.0
    assert service.growth(flat) == 0
    assert service.growth([400.0 + i for i in range(1000)]) == pytest.approx((400 + 949.5) / (400 + 249.5) - 1, abs=1e-3)


def test_a_service_is_measured_while_it_speaks(tiny_bundle: Bundle, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    out, picture = tmp_path / "figures.json", tmp_path / "memory.png"
    options = ["--requests", "4", "--starts", "2", "--rest", "0", "--json", str(out), "--plot", str(picture)]
    assert service.main([str(tiny_bundle.path), *options]) == 0
    found = json.loads(out.read_text())
    assert found["ready_s"]["n"] == 2 and found["ready_s"]["low"] > 0 and found["audio_mb"] > 0
    assert len(found["points"]) == 4 and found["growth"] is None
    assert 0 < found["ready_mb"]["resident_mb"] <= found["end_mb"]["peak_mb"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "tiny: READY after" in capsys.readouterr().out


def test_a_service_that_cannot_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ended with status"), service.serving(tmp_path / "absent", tmp_path):
        pass


def test_what_is_installed_is_what_an_extra_needs() -> None:
    plain, cosyvoice = installed.sizes(["kokoro"]), installed.sizes(["cosyvoice"])
    assert {"openvino", "numpy", "soundfile", installed.PROJECT} <= set(plain) and "tiktoken" not in plain
    assert plain["all"] == pytest.approx(sum(size for name, size in plain.items() if name not in ("all", "slimmed")), abs=1)
    assert plain["openvino"] > 50 and 50 < plain["slimmed"] < plain["all"] < cosyvoice["all"]
    assert not {"torch", "nncf", "onnx", "pytest"} & set(cosyvoice)
    with pytest.raises(KeyError):
        installed.sizes(["no-such-extra"])


def test_cosyvoices_rounds_are_held_against_its_targets() -> None:
    rounds = [
        {
            "original": {"LM step at 50": 0.1, "flow, 10 steps": 2.0, "vocoder": 0.7, "10 s of audio": 100.0},
            "ours": {"LM step at 50": step, "flow, 10 steps": 0.4, "vocoder": 0.1, "10 s of audio": 9.0}
            | {"LM token, 4 at once": step / 2, "one sentence": 0.9, "a paragraph": 0.7, "first sound": 1.0},
        }
        for step in (0.008, 0.009, 0.007)
    ]
    found = {target.name.removeprefix("cosyvoice: "): target for target in compare.cosyvoice_targets(rounds)}
    assert found["LM step at 50, one sequence"].value == pytest.approx(8.0) and found["LM step at 50, one sequence"].met
    assert not found["flow, RTF"].met and found["vocoder, RTF"].met
    assert found["one sentence of 10 s, RTF"].value == pytest.approx(0.9)
    assert found["LM token, 4 at once"].value == pytest.approx(4.0) and found["first sound"].met
    assert not found["a paragraph, RTF"].met
    assert found["times faster than the original"].value == pytest.approx(100 / 9, abs=1e-3)


def test_a_report_shows_what_was_skipped_and_what_changed() -> None:
    data = figures()
    data["targets"] = [compare.asdict(target) for target in compare.targets(data, {"kokoro int8": "kokoro"})]
    before = json.loads(json.dumps(data))
    before["rows"][0]["rtf"]["median"] = 0.4
    lines = list(compare.report(data, before))
    text = "\n".join(lines)
    assert "skipped: piper: not installed: pip install piper-tts" in text
    assert sum("0.50 x before" in line for line in lines) == 1 and sum("1.00 x before" in line for line in lines) == 3
    assert "MISSED by" in text and "3.00 (3.00-3.00)" in text
    assert "READY after 1.50 s (1.40-2.50, 3 starts" in text and "260 MB installed (openvino 180, numpy 70)" in text


def test_a_contestant_that_is_not_installed_names_its_package() -> None:
    absent = Contestant("x", contestants.piper, (), (("json", "json-package"), ("no_such_module", "no-such-package")))
    assert absent.missing() == "not installed: pip install no-such-package"
    assert Contestant("x", contestants.piper, (), (("json", "json-package"),)).missing() == ""


def broken(threads: int) -> contestants.Speak:
    raise FileNotFoundError("no model")


def speaking_affinity(threads: int) -> contestants.Speak:
    def speak(text: str) -> Iterator[tuple[np.ndarray, int]]:
        yield np.zeros(100 * len(os.sched_getaffinity(0))), 100

    return speak


def test_a_worker_speaks_a_bundle_in_a_process_of_its_own(tiny_bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(Contestant("tiny", contestants.bundle, (str(tiny_bundle.path),)), 1)
    try:
        found = worker.speak("Good morning. 你好。")
        assert worker.load_s > 0 and found.audio_s > 1.0 and 0 < found.first_audio_s < found.wall_s and found.cpu > 0
        assert worker.loaded.resident_mb < found.memory.resident_mb <= found.memory.peak_mb
    finally:
        worker.close()


def test_a_worker_has_as_many_cores_as_threads_are_asked_for() -> None:
    worker = Worker(Contestant("affinity", speaking_affinity), 1)
    try:
        assert worker.speak("").audio_s == 1.0
    finally:
        worker.close()


def test_a_worker_that_cannot_load_says_why() -> None:
    with pytest.raises(RuntimeError, match="mine: RuntimeError: FileNotFoundError: no model"):
        Worker(Contestant("mine", broken), 1)


def test_a_profile_counts_operations_of_every_graph(tiny_bundle: Bundle) -> None:
    rows = profile.profile(tiny_bundle.path, "Good morning.", 2)
    assert {"text", "prosody", "decoder"} == {row["graph"] for row in rows}
    assert sum(row["share"] for row in rows) == pytest.approx(1.0, abs=0.01)
    assert rows == sorted(rows, key=lambda row: -row["ms"])
    convolutions = sum(row["calls"] for row in rows if row["graph"] == "decoder" and "onv" in row["operation"])
    assert convolutions > 10
    assert "more kinds" in profile.table(rows, 3) and len(profile.table(rows, 3).splitlines()) == 5


def test_the_float_model_computes_with_the_quantised_weights(tmp_path: Path) -> None:
    """Quantised by ONNX Runtime's own tool as the published file was; compared with the original arithmetic."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    from onnxruntime.quantization import QuantType, quantize_dynamic

    rng = np.random.default_rng(0)
    arrays = {
        "conv.weight": rng.standard_normal((6, 4, 3)), "conv.bias": rng.standard_normal(6),
        "matmul.weight": rng.standard_normal((6, 5)),
        "w": rng.standard_normal((2, 12, 5)), "r": rng.standard_normal((2, 12, 3)), "b": rng.standard_normal((2, 24)),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["y"], name="conv", pads=[1, 1]),
        helper.make_node("Transpose", ["y"], ["t"], perm=[2, 0, 1]),
        helper.make_node("MatMul", ["t", "matmul.weight"], ["m"], name="matmul"),
        helper.make_node("LSTM", ["m", "w", "r", "b"], ["out"], name="lstm", hidden_size=3, direction="bidirectional"),
    ]
    graph = helper.make_graph(
        nodes, "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, "n"])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["n", 2, 1, 3]),
         helper.make_tensor_value_info("m", TensorProto.FLOAT, ["n", 1, 5])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in arrays.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(tmp_path / "float.onnx"))
    quantize_dynamic(tmp_path / "float.onnx", tmp_path / "int8.onnx", weight_type=QuantType.QUInt8)
    contestants.float_onnx(tmp_path / "int8.onnx", tmp_path / "again.onnx")
    kinds = {node.op_type for node in onnx.load(str(tmp_path / "again.onnx")).graph.node}
    assert {"Conv", "MatMul", "LSTM"} <= kinds and not kinds & {"ConvInteger", "MatMulInteger", "DynamicQuantizeLSTM"}
    x = {"x": rng.standard_normal((1, 4, 9)).astype(np.float32)}

    def run(name: str) -> list[np.ndarray]:
        return onnxruntime.InferenceSession(str(tmp_path / name), providers=["CPUExecutionProvider"]).run(None, x)

    for original, again in zip(run("float.onnx"), run("again.onnx"), strict=True):
        assert 0 < np.abs(again - original).max() < 0.05 * np.abs(original).max()
    # Exactly the original graph with its weights rounded as the quantised file has them.
    int8 = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(str(tmp_path / "int8.onnx")).graph.initializer}
    rounded = onnx.load(str(tmp_path / "float.onnx"))
    for tensor in rounded.graph.initializer:
        name = tensor.name
        if f"{name}_quantized" in int8:
            levels = int8[f"{name}_quantized"].astype(np.float32)
            zero, scale = (int8[f"{name}_{part}"].astype(np.float32) for part in ("zero_point", "scale"))
            value = (levels.T - zero).T * scale[:, None, None] if zero.ndim else (levels - zero) * scale
            tensor.CopyFrom(numpy_helper.from_array(value.swapaxes(1, 2) if name in "wr" else value, name))
    onnx.save(rounded, str(tmp_path / "rounded.onnx"))
    for expected, again in zip(run("rounded.onnx"), run("again.onnx"), strict=True):
        np.testing.assert_allclose(again, expected, atol=2e-5, rtol=1e-4)


def test_a_whole_run_prints_and_keeps_its_figures(
    tiny_bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = Contestant("piper joe medium, Piper", contestants.piper, ("",), (("no_such_module", "piper-tts"),))
    monkeypatch.setattr(compare, "kokoro_peers", lambda bundle: iter(()))
    monkeypatch.setattr(compare, "piper_peer", lambda: absent)
    out = tmp_path / "figures.json"
    options = ["--bundle", str(tiny_bundle.path), "--rounds", "1", "--length", "short", "--lang", "en", "--threads", "1"]
    assert compare.main([*options, "--requests", "0", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "skipped: piper joe medium, Piper: not installed: pip install piper-tts" in printed
    data = json.loads(out.read_text())
    assert [(row["contestant"], row["state"]) for row in data["rows"]] == [("tiny float32", state) for state in compare.STATES]
    assert data["start"]["tiny float32"]["say_s"]["n"] == 1 and data["memory"]["tiny float32"]["end"]["peak_mb"] > 0
    for target in data["targets"]:
        assert Target(**target).line() in printed.splitlines()
    with pytest.raises(SystemExit):
        compare.main([])
