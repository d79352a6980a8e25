"""OpenVINO behind `Engine` and `Graph`, on graphs of a few operations."""

from __future__ import annotations

import locale
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset15 as op

from edge_tts import engine as engine_module
from edge_tts.bundle import Bundle
from edge_tts.engine import Engine, EngineOptions, default_cache_dir
from edge_tts.errors import EngineError


@pytest.fixture
def scaled(tmp_path: Path) -> Path:
    """An IR with inputs x [n] and factor [1], outputs product and total."""
    x, factor = op.parameter([-1], ov.Type.f32), op.parameter([1], ov.Type.f32)
    x.output(0).set_names({"x"})
    factor.output(0).set_names({"factor"})
    product = op.multiply(x, factor)
    results = []
    for name, node in (("product", product), ("total", op.reduce_sum(product, np.array([0]), True))):
        result = op.result(node)
        result.output(0).set_names({name})
        results.append(result)
    path = tmp_path / "scaled.xml"
    ov.save_model(ov.Model(results, [x, factor], "scaled"), str(path), compress_to_fp16=False)
    return path


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_inputs_and_outputs_go_by_name(scaled: Path) -> None:
    graph = Engine().compile(scaled)
    assert sorted(graph.inputs) == ["factor", "x"]
    outputs = graph(factor=floats(3), x=floats(1, 2))
    assert sorted(outputs) == ["product", "total"]
    np.testing.assert_array_equal(outputs["product"], floats(3, 6))
    np.testing.assert_array_equal(outputs["total"], floats(9))


def test_outputs_are_copies_that_the_next_call_leaves_alone(scaled: Path) -> None:
    graph = Engine().compile(scaled)
    first = graph(x=floats(1, 2), factor=floats(1))["product"]
    graph(x=floats(7, 8), factor=floats(1))
    np.testing.assert_array_equal(first, floats(1, 2))


def test_calls_from_several_threads_get_their_own_answers(scaled: Path) -> None:
    graph = Engine().compile(scaled)
    wrong: list[int] = []

    def work(number: int) -> None:
        for i in range(50):
            x = np.arange(i + 1, dtype=np.float32)
            if not np.array_equal(graph(x=x, factor=floats(number))["product"], x * number):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_graphs_are_compiled_for_latency_in_float32(scaled: Path) -> None:
    compiled = Engine(EngineOptions(threads=1)).compile(scaled).compiled
    assert str(compiled.get_property("PERFORMANCE_HINT")).endswith("LATENCY")
    assert compiled.get_property("INFERENCE_NUM_THREADS") == 1
    assert compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name() == "f32"


def test_a_damaged_graph_is_an_error_that_names_it(scaled: Path) -> None:
    scaled.write_text("<net")
    with pytest.raises(EngineError, match=r"scaled\.xml: OpenVINO could not compile it: \S"):
        Engine().compile(scaled)


def test_a_missing_graph_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"nothing\.xml: OpenVINO could not compile it: \S"):
        Engine().compile(tmp_path / "nothing.xml")


def test_weights_cut_short_are_an_error_that_names_the_graph(tiny_bundle_copy: Path) -> None:
    weights = tiny_bundle_copy / "decoder.bin"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(EngineError, match=r"decoder\.xml: OpenVINO could not compile it"):
        Engine().compile(tiny_bundle_copy / "decoder.xml")


@pytest.mark.parametrize(
    "inputs",
    [
        {"x": np.zeros((2, 2), np.float32), "factor": floats(1)},
        {"x": floats(1), "factor": floats(1), "y": floats(1)},
        {"x": floats(1), "factor": floats(1, 2)},
    ],
    ids=["rank", "unknown name", "shape"],
)
def test_inputs_that_do_not_fit_are_an_error_that_names_the_graph(scaled: Path, inputs: dict[str, np.ndarray]) -> None:
    graph = Engine().compile(scaled)
    with pytest.raises(EngineError, match=r"scaled\.xml: OpenVINO could not run it: \S"):
        graph(**inputs)
    np.testing.assert_array_equal(graph(x=floats(1), factor=floats(2))["product"], floats(2))


def test_compiled_graphs_are_kept_in_the_cache(scaled: Path, tmp_path: Path) -> None:
    cache = tmp_path / "deep" / "cache"
    for _ in range(2):
        graph = Engine(EngineOptions(cache_dir=cache)).compile(scaled)
        np.testing.assert_array_equal(graph(x=floats(1), factor=floats(2))["product"], floats(2))
        assert len(list(cache.glob("*.blob"))) == 1


def test_a_cache_that_cannot_be_made_does_not_stop_the_voice(scaled: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    graph = Engine(EngineOptions(cache_dir=tmp_path / "file" / "cache")).compile(scaled)
    np.testing.assert_array_equal(graph(x=floats(1), factor=floats(2))["product"], floats(2))


def test_a_damaged_cache_is_compiled_anew(scaled: Path, tmp_path: Path) -> None:
    Engine(EngineOptions(cache_dir=tmp_path / "cache")).compile(scaled)
    (blob,) = (tmp_path / "cache").glob("*.blob")
    for damage in (b"", blob.read_bytes()[:100], b"\xff" * 4096):
        blob.write_bytes(damage)
        graph = Engine(EngineOptions(cache_dir=tmp_path / "cache")).compile(scaled)
        np.testing.assert_array_equal(graph(x=floats(1), factor=floats(2))["product"], floats(2))


def test_the_cache_lies_where_systemd_or_the_user_says(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_cache_dir() == own_home / ".cache" / "edge-tts"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x/cache")
    assert default_cache_dir() == Path("/x/cache/edge-tts")
    monkeypatch.setenv("CACHE_DIRECTORY", "/var/cache/edge-tts:/other")
    assert default_cache_dir() == Path("/var/cache/edge-tts")


def test_an_error_is_told_in_its_last_line() -> None:
    assert engine_module._first_line(RuntimeError("Exception from src:\n\n  the reason \n\n")) == "the reason"
    assert engine_module._first_line(RuntimeError()) == "RuntimeError"


def test_graphs_that_rested_say_the_same(scaled: Path) -> None:
    engine = Engine()
    graphs = [engine.compile(scaled), engine.compile(scaled)]
    for n in (3, 5):
        for graph in graphs:
            x = np.arange(n, dtype=np.float32)
            np.testing.assert_array_equal(graph(x=x, factor=floats(2))["product"], 2 * x)
        engine.rest()


def test_resting_waits_for_a_run(scaled: Path) -> None:
    engine = Engine()
    graph = engine.compile(scaled)
    with graph._lock:
        resting = threading.Thread(target=engine.rest)
        resting.start()
        resting.join(0.1)
        assert resting.is_alive()
    resting.join(5)
    assert not resting.is_alive()


def test_compiling_in_several_threads_leaves_the_locale_as_it_was(tiny_bundle: Bundle, tmp_path: Path) -> None:
    """Left at "C", as OpenVINO does when two of its compilations overlap, text files would be read as ASCII from then on."""
    before = locale.setlocale(locale.LC_ALL)
    graphs = [tiny_bundle.file(f"{name}.xml") for name in ("text", "prosody", "decoder")]
    engine = Engine(EngineOptions(cache_dir=tmp_path / "cache"))
    try:
        for _ in range(6):  # first from the files, then from the cache
            with ThreadPoolExecutor(len(graphs)) as pool:
                list(pool.map(engine.compile, graphs))
            assert locale.setlocale(locale.LC_ALL) == before
    finally:
        locale.setlocale(locale.LC_ALL, before)


_RUN_MANY_LENGTHS = """
import re, sys
from pathlib import Path
import numpy as np
from edge_tts.engine import Engine

def anonymous_kib():
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

engine = Engine()
graph = engine.compile(Path(sys.argv[1]))
for n in range(64, 364):
    if n == 124:
        engine.rest()
        before = anonymous_kib()
    graph(x=np.zeros((1, 64, n), np.float32))
engine.rest()
print(anonymous_kib() - before)
"""


def test_memory_does_not_grow_with_the_lengths_met(tmp_path: Path) -> None:
    """Each length has kernels of its own; those of 240 lengths more take hundreds of megabytes when none is let go of."""
    x = op.parameter([1, 64, -1], ov.Type.f32)
    x.output(0).set_names({"x"})
    value = x.output(0)
    for i in range(12):
        weight = np.random.default_rng(i).standard_normal((64, 64, 3 + 2 * i), dtype=np.float32)
        value = op.relu(op.convolution(value, op.constant(weight), [1], [1 + i], [1 + i], [1])).output(0)
    ov.save_model(ov.Model([op.result(value)], [x], "stack"), str(tmp_path / "stack.xml"), compress_to_fp16=False)
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", _RUN_MANY_LENGTHS, tmp_path / "stack.xml"],
        capture_output=True, text=True, env=environment, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 20_000
