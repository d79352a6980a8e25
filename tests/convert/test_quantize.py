"""Quantisation: what a recipe stores as integers, what it leaves alone, and how far the numbers move."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import openvino as ov
import pytest

from convert.kokoro.graphs import GraphBuilder
from edge_tts.bundle import Bundle
from edge_tts.engine import Engine
from edge_tts.models.kokoro import KokoroModel
from tests.tiny_voice import CONFIG, HIDDEN, STYLE, tiny_weights

pytest.importorskip("nncf", reason="the convert extra is not installed")
from convert import quantize
from convert.kokoro.recipes import DEFAULT, RECIPES
from convert.quantize import GraphRecipe, apply, compress_recurrent_weights

WEIGHTS = tiny_weights(seed=2)
RNG = np.random.default_rng(3)


def results(model: ov.Model, inputs: quantize.Sample) -> dict[str, np.ndarray]:
    outputs = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(dict(inputs))
    return {port.get_any_name(): value for port, value in outputs.items()}


@pytest.fixture
def prosody() -> ov.Model:
    return GraphBuilder(WEIGHTS, CONFIG).prosody()


def constants_of(node: ov.Node) -> list[ov.Node]:
    """The constants that a weight is made from."""
    if node.get_type_name() == "Constant":
        return [node]
    return [constant for value in node.input_values() for constant in constants_of(value.get_node())]


def test_recurrent_weights_are_stored_as_int8_within_half_a_level(prosody: ov.Model) -> None:
    before = {(node.friendly_name, port): np.array(node.input_value(port).get_node().get_data())
              for node in prosody.get_ops() if node.get_type_name() == "LSTMSequence" for port in (4, 5)}  # fmt: skip
    compress_recurrent_weights(prosody)
    seen = 0
    for node in prosody.get_ops():
        if node.get_type_name() != "LSTMSequence":
            continue
        for port in (4, 5):
            levels, scale = sorted(
                (c.get_data() for c in constants_of(node.input_value(port).get_node())), key=lambda c: c.dtype != np.int8
            )
            assert levels.dtype == np.int8 and np.abs(levels).max() == 127
            wanted = before[node.friendly_name, port]
            assert scale.shape == (*wanted.shape[:2], 1)
            assert (np.abs(levels * scale - wanted) <= scale / 2 * 1.0001).all()
            seen += 1
    assert seen == len(before) > 0


def test_a_row_of_zeros_stays_zero() -> None:
    weights = dict(WEIGHTS)
    weights["predictor.shared.weight_hh_l0"] = np.zeros_like(weights["predictor.shared.weight_hh_l0"])
    model = GraphBuilder(weights, CONFIG).prosody()
    compress_recurrent_weights(model)
    inputs = {"features": RNG.standard_normal((1, 9, HIDDEN + STYLE), np.float32), "style": np.ones((1, 2 * STYLE), np.float32)}
    assert all(np.isfinite(value).all() for value in results(model, inputs).values())


def test_weights_alone_hardly_change_the_outputs(prosody: ov.Model) -> None:
    inputs = {"features": RNG.standard_normal((1, 30, HIDDEN + STYLE), np.float32), "style": np.ones((1, 2 * STYLE), np.float32)}
    wanted = results(prosody, inputs)
    model = apply(prosody, GraphRecipe("weights"))
    assert "FakeQuantize" not in {node.get_type_name() for node in model.get_ops()}
    for name, value in results(model, inputs).items():
        assert np.abs(value - wanted[name]).max() <= 0.03 * np.abs(wanted[name]).max()


def test_float32_is_the_graph_itself(prosody: ov.Model) -> None:
    assert apply(prosody, GraphRecipe("float32")) is prosody


# --- the default recipe on a tiny decoder -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def samples(tiny_bundle: Bundle) -> list[quantize.Sample]:
    model = KokoroModel(tiny_bundle, Engine())
    return [
        model.decoder_inputs(RNG.integers(1, 100, 6).tolist(), model.style(voice.name, 6), 1.0)[0]
        for voice in tiny_bundle.manifest.voices[:2]
    ]


@pytest.fixture(scope="module")
def quantized(samples: list[quantize.Sample]) -> ov.Model:
    recipe = RECIPES["int8"].graphs["decoder"]
    return apply(GraphBuilder(tiny_weights(), CONFIG).decoder(recipe.statistics_step), recipe, samples)


def consumers(node: ov.Node) -> set[tuple[str, str]]:
    return {
        (port.get_node().get_type_name(), port.get_node().friendly_name)
        for out in node.outputs()
        for port in out.get_target_inputs()
    }


def test_only_convolutions_are_given_quantised_numbers(quantized: ov.Model) -> None:
    quantisers = [node for node in quantized.get_ops() if node.get_type_name() == "FakeQuantize"]
    assert quantisers
    assert {kind for node in quantisers for kind, _ in consumers(node)} == {"Convolution"}


def test_every_convolution_is_quantised_but_those_that_the_recipe_keeps(quantized: ov.Model) -> None:
    fed = Counter(name for node in quantized.get_ops() if node.get_type_name() == "FakeQuantize" for _, name in consumers(node))
    all_of_them = {node.friendly_name for node in quantized.get_ops() if node.get_type_name() == "Convolution"}
    kept = all_of_them - set(fed)
    styles = {name for name in all_of_them if name.endswith(".fc.all")}  # of one frame
    assert styles <= kept and kept - styles == {
        "decoder.F0_conv", "decoder.N_conv", "decoder.generator.conv_post",
        "decoder.generator.noise_convs.0", "decoder.generator.noise_convs.1",
    }  # fmt: skip
    assert len(fed) > 50


def test_the_quantised_decoder_is_near_the_float_one(quantized: ov.Model, samples: list[quantize.Sample]) -> None:
    exact = GraphBuilder(tiny_weights(), CONFIG).decoder()
    wanted, got = results(exact, samples[0]), results(quantized, samples[0])
    for name in ("magnitude", "phase"):
        error = np.sqrt(np.mean((got[name] - wanted[name]) ** 2)) / wanted[name].std()
        assert error < 0.25, name


# --- recipes as data ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipe_is_plain_data_for_the_manifest(name: str) -> None:
    recipe = RECIPES[name]
    data = json.loads(json.dumps(recipe.as_data()))
    assert data["name"] == recipe.name == name
    assert {graph: entry["method"] for graph, entry in data["graphs"].items()} == {
        graph: entry.method for graph, entry in recipe.graphs.items()
    }
    assert set(data["graphs"]) == {"text", "prosody", "decoder"}


def test_the_default_recipe_keeps_float_arithmetic_where_durations_are_made() -> None:
    graphs = RECIPES[DEFAULT].graphs
    assert {name: graph.method for name, graph in graphs.items()} == {"text": "weights", "prosody": "weights", "decoder": "int8"}
