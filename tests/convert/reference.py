"""Kokoro's layers a second time, in plain numpy from their papers: what the OpenVINO graphs are compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
Weights = dict[str, NDArray[np.float32]]
ALBERT = "bert.encoder.albert_layer_groups.0.albert_layers.0"


def linear(weights: Weights, name: str, x: Array) -> Array:
    """x [..., in] -> [..., out]."""
    return x @ weights[f"{name}.weight"].T.astype(np.float64) + weights[f"{name}.bias"]


def layer_norm(x: Array, gamma: Array, beta: Array, epsilon: float) -> Array:
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * gamma + beta


def adain(weights: Weights, name: str, x: Array, style: Array, step: int = 1) -> Array:
    """x [C, T], style [S] -> [C, T]; statistics of every `step`-th frame."""
    gamma, beta = np.split(linear(weights, f"{name}.fc", style), 2)
    seen = x[:, ::step]
    normal = (x - seen.mean(1, keepdims=True)) / np.sqrt(seen.var(1, keepdims=True) + 1e-5)
    return (1 + gamma)[:, None] * normal + beta[:, None]


def conv(x: Array, w: Array, bias: Array | None = None, *, stride: int = 1, dilation: int = 1, padding: int = 0) -> Array:
    """Correlation of x [in, T] with w [out, in, K], by its definition."""
    n_out, _, kernel = w.shape
    padded = np.pad(x, [(0, 0), (padding, padding)])
    n = (padded.shape[1] - dilation * (kernel - 1) - 1) // stride + 1
    y = np.zeros((n_out, n))
    for t in range(n):
        for k in range(kernel):
            y[:, t] += w[:, :, k] @ padded[:, t * stride + k * dilation]
    return y if bias is None else y + bias[:, None]


def same_conv(weights: Weights, name: str, x: Array, dilation: int = 1) -> Array:
    w = weights[f"{name}.weight"]
    return conv(x, w, weights.get(f"{name}.bias"), dilation=dilation, padding=dilation * (w.shape[2] - 1) // 2)


def transposed_conv(x: Array, w: Array, bias: Array, *, stride: int, padding: int, output_padding: int = 0) -> Array:
    """Every input of x [in, T] adds its multiple of the kernel w [in, out, K] to the output, `stride` further each time."""
    n_in, n_out, kernel = w.shape
    total = np.zeros((n_out, (x.shape[1] - 1) * stride + kernel + output_padding))
    for t in range(x.shape[1]):
        for channel in range(n_in):
            total[:, t * stride : t * stride + kernel] += x[channel, t] * w[channel]
    return total[:, padding : total.shape[1] - padding] + bias[:, None]


def depthwise_transposed_conv(x: Array, w: Array, bias: Array) -> Array:
    """Stride 2, kernel 3, padding 1, output padding 1, each channel by itself: x [C, T], w [C, 1, 3] -> [C, 2 T]."""
    rows = [
        transposed_conv(x[c : c + 1], w[c : c + 1], bias[c : c + 1], stride=2, padding=1, output_padding=1) for c in range(len(x))
    ]
    return np.concatenate(rows)


def leaky(x: Array, slope: float = 0.2) -> Array:
    return np.where(x < 0, slope * x, x)


def snake(x: Array, alpha: Array) -> Array:
    return x + np.sin(alpha * x) ** 2 / alpha


def residual_block(weights: Weights, name: str, x: Array, style: Array) -> Array:
    y = leaky(adain(weights, f"{name}.norm1", x, style))
    upsamples = f"{name}.pool.weight" in weights
    if upsamples:
        y = depthwise_transposed_conv(y, weights[f"{name}.pool.weight"], weights[f"{name}.pool.bias"])
        x = np.repeat(x, 2, axis=1)
    y = same_conv(weights, f"{name}.conv1", y)
    y = same_conv(weights, f"{name}.conv2", leaky(adain(weights, f"{name}.norm2", y, style)))
    if f"{name}.conv1x1.weight" in weights:
        x = same_conv(weights, f"{name}.conv1x1", x)
    return (x + y) / np.sqrt(2)


def snake_block(weights: Weights, name: str, x: Array, style: Array, step: int = 1) -> Array:
    for j, dilation in enumerate((1, 3, 5)):
        y = snake(adain(weights, f"{name}.adain1.{j}", x, style, step), weights[f"{name}.alpha1.{j}"][0].astype(np.float64))
        y = same_conv(weights, f"{name}.convs1.{j}", y, dilation)
        y = snake(adain(weights, f"{name}.adain2.{j}", y, style, step), weights[f"{name}.alpha2.{j}"][0].astype(np.float64))
        x = x + same_conv(weights, f"{name}.convs2.{j}", y)
    return x


def lstm(weights: Weights, name: str, x: Array) -> Array:
    """PyTorch's bidirectional LSTM over x [T, in] -> [T, 2 * hidden]."""
    return np.concatenate([_one_way(weights, name, "_l0", x), _one_way(weights, name, "_l0_reverse", x[::-1])[::-1]], axis=1)


def _one_way(weights: Weights, name: str, suffix: str, x: Array) -> Array:
    w, r = weights[f"{name}.weight_ih{suffix}"], weights[f"{name}.weight_hh{suffix}"]
    bias = weights[f"{name}.bias_ih{suffix}"].astype(np.float64) + weights[f"{name}.bias_hh{suffix}"]
    h = c = np.zeros(r.shape[1])
    states = []
    for step in x:
        i, f, g, o = np.split(w @ step + r @ h + bias, 4)
        c = special.expit(f) * c + special.expit(i) * np.tanh(g)
        h = special.expit(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def attention(weights: Weights, x: Array, heads: int) -> Array:
    """Multi-head self-attention of ALBERT's layer, x [T, width] -> [T, width]."""
    q, k, v = (linear(weights, f"{ALBERT}.attention.{name}", x) for name in ("query", "key", "value"))
    size = x.shape[1] // heads
    outputs = []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores = special.softmax(q[:, part] @ k[:, part].T / np.sqrt(size), axis=1)
        outputs.append(scores @ v[:, part])
    return linear(weights, f"{ALBERT}.attention.dense", np.concatenate(outputs, axis=1))


def albert(weights: Weights, tokens: list[int], layers: int, heads: int) -> Array:
    """ids -> [T, width]."""
    embeddings = "bert.embeddings"
    x = (
        weights[f"{embeddings}.word_embeddings.weight"][tokens].astype(np.float64)
        + weights[f"{embeddings}.position_embeddings.weight"][: len(tokens)]
        + weights[f"{embeddings}.token_type_embeddings.weight"][0]
    )
    x = _norm(weights, f"{embeddings}.LayerNorm", x)
    x = linear(weights, "bert.encoder.embedding_hidden_mapping_in", x)
    for _ in range(layers):
        attended = _norm(weights, f"{ALBERT}.attention.LayerNorm", x + attention(weights, x, heads))
        inner = linear(weights, f"{ALBERT}.ffn", attended)
        inner = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        x = _norm(weights, f"{ALBERT}.full_layer_layer_norm", linear(weights, f"{ALBERT}.ffn_output", inner) + attended)
    return x


def _norm(weights: Weights, name: str, x: Array) -> Array:
    return layer_norm(x, weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)


def text(weights: Weights, tokens: list[int], style: Array, layers: int, heads: int) -> dict[str, Array]:
    """The text graph: durations [T], prosody [T, H + S], text [T, H]."""
    half = style[len(style) // 2 :]
    spread = np.tile(half, (len(tokens), 1))
    features = np.concatenate([linear(weights, "bert_encoder", albert(weights, tokens, layers, heads)), spread], axis=1)
    for i in (0, 2, 4):
        x = lstm(weights, f"predictor.text_encoder.lstms.{i}", features)
        gamma, beta = np.split(linear(weights, f"predictor.text_encoder.lstms.{i + 1}.fc", half), 2)
        features = np.concatenate([layer_norm(x, 1 + gamma, beta, 1e-5), spread], axis=1)
    logits = linear(weights, "predictor.duration_proj.linear_layer", lstm(weights, "predictor.lstm", features))
    x = weights["text_encoder.embedding.weight"][tokens].T.astype(np.float64)
    for i in range(3):
        y = same_conv(weights, f"text_encoder.cnn.{i}.0", x).T
        x = leaky(layer_norm(y, weights[f"text_encoder.cnn.{i}.1.gamma"], weights[f"text_encoder.cnn.{i}.1.beta"], 1e-5)).T
    return {"durations": special.expit(logits).sum(axis=1), "prosody": features, "text": lstm(weights, "text_encoder.lstm", x.T)}


def prosody(weights: Weights, features: Array, style: Array) -> dict[str, Array]:
    """The prosody graph: features [F, H + S] -> f0, energy [2 F]."""
    half = style[len(style) // 2 :]
    curves = {}
    for curve, output in (("F0", "f0"), ("N", "energy")):
        x = lstm(weights, "predictor.shared", features).T
        for i in range(3):
            x = residual_block(weights, f"predictor.{curve}.{i}", x, half)
        curves[output] = same_conv(weights, f"predictor.{curve}_proj", x)[0]
    return curves


def decoder(weights: Weights, inputs: dict[str, Array], style: Array, rates: tuple[int, ...]) -> dict[str, Array]:
    """The decoder: text [F, H], f0 and energy [2 F], harmonics [bins, L] -> magnitude, phase."""
    half = style[: len(style) // 2]
    curves = [
        conv(inputs[key][None], weights[f"decoder.{name}_conv.weight"], weights[f"decoder.{name}_conv.bias"], stride=2, padding=1)
        for key, name in (("f0", "F0"), ("energy", "N"))
    ]
    aligned = inputs["text"].T
    x = residual_block(weights, "decoder.encode", np.concatenate([aligned, *curves]), half)
    residual = same_conv(weights, "decoder.asr_res.0", aligned)
    for i in range(4):
        x = residual_block(weights, f"decoder.decode.{i}", np.concatenate([x, residual, *curves]), half)
    spectrum = _generator(weights, x, inputs["harmonics"], half, rates)
    magnitude, phase = np.split(spectrum, 2)
    return {"magnitude": np.exp(magnitude), "phase": np.sin(phase)}


def _generator(weights: Weights, x: Array, harmonics: Array, style: Array, rates: tuple[int, ...]) -> Array:
    """As kokoro's istftnet.py: `ups`, the source added after its own block, the mean of three blocks."""
    name = "decoder.generator"
    for i, rate in enumerate(rates):
        stride = int(np.prod(rates[i + 1 :]))
        w, bias = weights[f"{name}.noise_convs.{i}.weight"], weights[f"{name}.noise_convs.{i}.bias"]
        source = conv(harmonics, w, bias, stride=stride, padding=(stride + 1) // 2 if i + 1 < len(rates) else 0)
        source = snake_block(weights, f"{name}.noise_res.{i}", source, style)
        w, bias = weights[f"{name}.ups.{i}.weight"], weights[f"{name}.ups.{i}.bias"]
        x = transposed_conv(leaky(x, 0.1), w, bias, stride=rate, padding=(w.shape[2] - rate) // 2)
        if i + 1 == len(rates):
            x = np.pad(x, [(0, 0), (1, 0)], mode="reflect")
        x = x + source
        x = sum(snake_block(weights, f"{name}.resblocks.{3 * i + j}", x, style) for j in range(3)) / 3
    return same_conv(weights, f"{name}.conv_post", leaky(x, 0.01))
