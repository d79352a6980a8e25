"""The graphs of Kokoro against a second implementation of its layers in numpy (tests/convert/reference.py), on tiny weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import openvino as ov
import pytest
from openvino import opset15 as op
from scipy import signal as scipy_signal

from convert.kokoro.graphs import GraphBuilder, _statistics
from edge_tts.bundle import Bundle
from edge_tts.engine import Engine
from edge_tts.models.kokoro import KokoroModel
from tests.convert import reference
from tests.tiny_voice import BERT_WIDTH, CHANNELS, CONFIG, HIDDEN, N_IDS, STYLE, WIDTH, tiny_weights

WEIGHTS = tiny_weights(seed=3)
RNG = np.random.default_rng(5)
CORE = ov.Core()
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}


def compiled(model: ov.Model) -> ov.CompiledModel:
    return CORE.compile_model(model, "CPU", EXACT)


def through(piece: Callable[..., ov.Output], *inputs: np.ndarray, weights: reference.Weights = WEIGHTS) -> np.ndarray:
    """What the piece of graph that `piece(builder, *nodes)` builds makes of the inputs."""
    parameters = [op.parameter(list(array.shape), ov.Type(array.dtype)) for array in inputs]
    node = piece(GraphBuilder(weights, CONFIG), *(parameter.output(0) for parameter in parameters))
    return compiled(ov.Model([op.result(node)], parameters))(list(inputs))[0]


def noise(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * RNG.standard_normal(shape)).astype(np.float32)


def close(got: np.ndarray, wanted: np.ndarray, tolerance: float = 2e-5) -> None:
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(wanted).max())))


# --- pieces -------------------------------------------------------------------------------------------------------------


def test_a_linear_layer() -> None:
    x = noise(1, 5, BERT_WIDTH)
    close(through(lambda b, n: b.linear(n, "bert_encoder"), x)[0], reference.linear(WEIGHTS, "bert_encoder", x[0]))


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (1, 3), (1, 5), (2, 1)])
def test_a_convolution_is_a_correlation(stride: int, dilation: int) -> None:
    name = "decoder.encode.conv1"
    x = noise(1, HIDDEN + 2, 23)
    got = through(lambda b, n: b.conv(n, name, stride=stride, dilation=dilation), x)[0]
    wanted = reference.conv(
        x[0], WEIGHTS[f"{name}.weight"], WEIGHTS[f"{name}.bias"], stride=stride, dilation=dilation, padding=dilation
    )
    close(got, wanted)
    if (stride, dilation) == (1, 1):  # the reference itself against scipy
        kernel = WEIGHTS[f"{name}.weight"].astype(np.float64)
        by_scipy = np.stack(
            [sum(scipy_signal.correlate(x[0, i], kernel[o, i], "same") for i in range(len(x[0]))) for o in range(WIDTH)]
        )
        np.testing.assert_allclose(wanted, by_scipy + WEIGHTS[f"{name}.bias"][:, None], atol=1e-6)


def test_layer_norm_normalises_the_last_axis() -> None:
    x = noise(1, 7, HIDDEN, scale=3) + 5
    weights = {**WEIGHTS, "g": noise(HIDDEN), "b": noise(HIDDEN)}
    got = through(lambda b, n: b.layer_norm(n, "g", "b", 1e-5), x, weights=weights)[0]
    close(got, reference.layer_norm(x[0], weights["g"], weights["b"], 1e-5), 1e-4)


@pytest.mark.parametrize("frames", [2, 50])
def test_adain_normalises_each_channel_over_time(frames: int) -> None:
    x, style = noise(1, HIDDEN + 2, frames, scale=4) - 2, noise(1, STYLE)
    got = through(lambda b, n, s: b.adain(n, s, "decoder.encode.norm1"), x, style)[0]
    close(got, reference.adain(WEIGHTS, "decoder.encode.norm1", x[0].astype(np.float64), style[0]), 1e-4)


@pytest.mark.parametrize("steps", [1, 2, 40])
def test_an_lstm_runs_both_ways(steps: int) -> None:
    x = noise(1, steps, HIDDEN)
    got = through(lambda b, n: b.lstm(n, "text_encoder.lstm"), x)[0]
    close(got, reference.lstm(WEIGHTS, "text_encoder.lstm", x[0].astype(np.float64)))


@pytest.mark.parametrize(("i", "channels"), [(0, CHANNELS), (1, CHANNELS // 2)])
@pytest.mark.parametrize("frames", [1, 2, 17])
def test_an_upsampling_is_a_transposed_convolution(i: int, channels: int, frames: int) -> None:
    name, rate = f"decoder.generator.ups.{i}", CONFIG.upsample_rates[i]
    x = noise(1, channels, frames)
    got = through(lambda b, n: b._upsampled(n, name, rate), x[:, :, None])[0, :, 0]
    w, bias = WEIGHTS[f"{name}.weight"].astype(np.float64), WEIGHTS[f"{name}.bias"]
    assert got.shape == (channels // 2, rate * frames)
    close(got, reference.transposed_conv(x[0], w, bias, stride=rate, padding=(w.shape[2] - rate) // 2))


def test_an_upsampling_of_another_kernel_is_refused() -> None:
    weights = {**WEIGHTS, "decoder.generator.ups.0.weight": noise(CHANNELS, CHANNELS // 2, 16)}
    with pytest.raises(ValueError, match=r"ups\.0: kernel 16 is not twice the stride 10"):
        through(lambda b, n: b._upsampled(n, "decoder.generator.ups.0", 10), noise(1, CHANNELS, 1, 4), weights=weights)


@pytest.mark.parametrize("frames", [1, 2, 9])
def test_a_depthwise_upsampling_is_a_transposed_convolution(frames: int) -> None:
    name = "predictor.F0.1.pool"
    x = noise(1, HIDDEN, frames)
    got = through(lambda b, n: b.upsampled_depthwise(n, name), x)[0]
    close(got, reference.depthwise_transposed_conv(x[0].astype(np.float64), WEIGHTS[f"{name}.weight"], WEIGHTS[f"{name}.bias"]))


def snake_error(alphas: list[float], y: np.ndarray) -> np.ndarray:
    """The largest error over all y = scale n + shift, for each alpha; the scales are positive, negative and zero in turn."""
    alpha = np.array(alphas, np.float32).reshape(1, -1, 1)
    scale = np.resize([0.7, -1.3, 0.0], alpha.shape).astype(np.float32)
    shift = np.linspace(-0.5, 0.5, alpha.size, dtype=np.float32).reshape(alpha.shape)
    normal = np.where(scale == 0, 1.0, (y - shift) / np.where(scale == 0, 1.0, scale)).astype(np.float32)
    got = through(lambda b, n, a, c: b.snake(n, a, c, "alpha"), normal, scale, shift, weights={**WEIGHTS, "alpha": alpha})
    wanted = reference.snake((scale * normal.astype(np.float64) + shift), alpha.astype(np.float64))
    return np.abs(got - wanted).max(axis=(0, 2))


@pytest.mark.parametrize("span", [0.1, 3, 30])
def test_snake_is_y_plus_sine_squared_near_and_far_from_zero(span: float) -> None:
    alphas = [-0.02, 0.01, 0.3, 1.0, 2.5, 20.0]
    # of sin^2: the polynomial; and float32's rounding of the angle
    allowed = 8e-6 / np.abs(alphas) + 6e-6 * max(1, span / 3)
    assert (snake_error(alphas, np.linspace(-span, span, 4001)) <= allowed).all()


def test_snake_of_an_alpha_near_zero_adds_nearly_alpha_times_the_square() -> None:
    """Kokoro has such channels: -9.5e-5 and 1.4e-3 are its least, and 1 / alpha must not make noise of them."""
    assert (snake_error([-9.5e-5, 1.4e-3], np.linspace(-3, 3, 1001)) <= 1e-4).all()


@pytest.mark.parametrize("name", ["predictor.F0.0", "predictor.F0.1", "predictor.N.2", "decoder.encode", "decoder.decode.3"])
def test_a_residual_block(name: str) -> None:
    x, style = noise(1, WEIGHTS[f"{name}.conv1.weight"].shape[1], 11), noise(1, STYLE)
    got = through(lambda b, n, s: b.residual_block(n, s, name), x, style)[0]
    close(got, reference.residual_block(WEIGHTS, name, x[0].astype(np.float64), style[0]), 1e-4)


@pytest.mark.parametrize("step", [1, 7])
def test_a_snake_block(step: int) -> None:
    name = "decoder.generator.resblocks.1"
    x, style = noise(1, CHANNELS // 2, 1, 30) + 3, noise(1, STYLE)
    got = through(lambda b, n, s: b._snake_block(n, s, name, step), x, style)[0, :, 0]
    close(got, reference.snake_block(WEIGHTS, name, x[0, :, 0].astype(np.float64), style[0], step), 2e-4)


def test_statistics_of_a_channel_that_never_moves_are_finite() -> None:
    x = np.full((1, 3, 1, 71), 1234.5, np.float32)
    assert np.isfinite(through(lambda b, n: op.concat(_statistics(n, 7), 1).output(0), x)).all()


def test_statistics_that_would_follow_the_upsampling_are_refused() -> None:
    with pytest.raises(ValueError, match=r"frames 3 apart are no fair sample"):
        GraphBuilder(WEIGHTS, CONFIG).decoder(statistics_step=3)


def test_attention_of_two_heads() -> None:
    x = noise(1, 9, BERT_WIDTH)
    got = through(lambda b, n: b._attention(n), x)[0]
    close(got, reference.attention(WEIGHTS, x[0].astype(np.float64), CONFIG.bert_heads))


@pytest.mark.parametrize("length", [1, 12, 512])
def test_albert(length: int) -> None:
    tokens = RNG.integers(0, N_IDS, (1, length))
    got = through(lambda b, n: b._albert(n), tokens)[0]
    close(got, reference.albert(WEIGHTS, tokens[0].tolist(), CONFIG.bert_layers, CONFIG.bert_heads), 1e-4)


# --- whole graphs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [2, 20])
def test_the_text_graph(length: int) -> None:
    tokens, style = RNG.integers(0, N_IDS, (1, length)), noise(1, 2 * STYLE)
    got = compiled(GraphBuilder(WEIGHTS, CONFIG).text())({"tokens": tokens, "style": style})
    wanted = reference.text(WEIGHTS, tokens[0].tolist(), style[0].astype(np.float64), CONFIG.bert_layers, CONFIG.bert_heads)
    for name, value in wanted.items():
        close(got[name][0], value, 1e-4)


def test_the_prosody_graph() -> None:
    features, style = noise(1, 13, HIDDEN + STYLE), noise(1, 2 * STYLE)
    got = compiled(GraphBuilder(WEIGHTS, CONFIG).prosody())({"features": features, "style": style})
    for name, value in reference.prosody(WEIGHTS, features[0].astype(np.float64), style[0].astype(np.float64)).items():
        close(got[name][0], value, 1e-4)


def test_the_decoder_graph() -> None:
    frames = 3
    inputs = {
        "text": noise(1, frames, HIDDEN),
        "f0": noise(1, 2 * frames) + 2,
        "energy": noise(1, 2 * frames),
        "harmonics": noise(1, CONFIG.n_fft + 2, 2 * frames * 60 + 1),
    }
    style = noise(1, 2 * STYLE)
    got = compiled(GraphBuilder(WEIGHTS, CONFIG).decoder())({**inputs, "style": style})
    exact = {name: value[0].astype(np.float64) for name, value in inputs.items()}
    for name, value in reference.decoder(WEIGHTS, exact, style[0].astype(np.float64), CONFIG.upsample_rates).items():
        close(got[name][0], value, 5e-4)


def test_a_layer_used_again_is_numbered_and_its_weights_are_stored_once() -> None:
    model = GraphBuilder(WEIGHTS, CONFIG).text()
    names = [node.friendly_name for node in model.get_ops()]
    query = "bert.encoder.albert_layer_groups.0.albert_layers.0.attention.query"
    assert query in names and f"{query}/2" in names
    assert names.count(f"{query}.weight") == 1


# --- the runtime's side -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tiny_bundle: Bundle) -> KokoroModel:
    return KokoroModel(tiny_bundle, Engine())


@pytest.mark.parametrize(
    "f0_hz",
    [np.full(20, 220.0), np.zeros(20), np.r_[np.zeros(6), np.linspace(90, 400, 20), np.full(4, 9.0)]],
    ids=["steady", "unvoiced", "mixed"],
)
def test_the_harmonics_are_those_of_the_formula(model: KokoroModel, tiny_bundle: Bundle, f0_hz: np.ndarray) -> None:
    """Kokoro's SineGen and its STFT: phase summed a frame at a time, sines between the frames' centres, a DFT of each window."""
    settings = tiny_bundle.manifest.settings
    rate, hold, n_fft, hop = 24000, 300, 20, 5
    n = hold * len(f0_hz)
    centres, samples = (np.arange(len(f0_hz)) + 0.5) * hold, np.arange(n) + 0.5
    excitation = np.full(n, settings["source_bias"])
    for h, weight in enumerate(settings["source_weight"], start=1):
        phase = 2 * np.pi * h * hold * np.cumsum(f0_hz) / rate
        excitation += weight * 0.1 * np.sin(np.interp(samples, centres, phase)) * np.repeat(f0_hz > 10, hold)
    padded = np.pad(np.tanh(excitation), n_fft // 2, mode="reflect")
    window = 0.5 * (1 - np.cos(2 * np.pi * np.arange(n_fft) / n_fft))
    bins = np.exp(-2j * np.pi * np.outer(np.arange(n_fft // 2 + 1), np.arange(n_fft)) / n_fft)
    spectrum = np.stack([bins @ (window * padded[t : t + n_fft]) for t in range(0, n + 1, hop)], axis=1)

    got = model._harmonics(f0_hz.astype(np.float32))[0]
    magnitude, angle = np.split(got, 2)
    np.testing.assert_allclose(magnitude, np.abs(spectrum), atol=1e-5)
    loud = np.abs(spectrum) > 1e-3  # elsewhere the angle is that of a rounding error
    np.testing.assert_allclose(np.exp(1j * angle)[loud], (spectrum / np.abs(spectrum))[loud], atol=2e-3)


@pytest.mark.parametrize(("stride", "dilation"), [(1, 5), (6, 1)])
def test_an_image_of_height_1_is_computed_as_its_frames_are(stride: int, dilation: int) -> None:
    """The generator's layers take [1, C, 1, T], the others [1, C, T]."""
    name = "decoder.generator.resblocks.0.convs1.2"
    x, style = noise(1, CHANNELS // 2, 31), noise(1, STYLE)
    for piece in (
        lambda b, n, s: b.conv(n, name, stride=stride, dilation=dilation),
        lambda b, n, s: b.adain(n, s, "decoder.generator.resblocks.0.adain1.0"),
    ):
        np.testing.assert_allclose(through(piece, x[:, :, None], style)[:, :, 0], through(piece, x, style), atol=1e-5)
