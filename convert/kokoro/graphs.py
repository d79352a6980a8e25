"""Kokoro's three graphs, written in OpenVINO operations straight from its parameters.

    text     phoneme ids, style            -> durations, prosody features, text features
    prosody  features spread over frames   -> f0 and energy ("N") curves
    decoder  features, curves, harmonics   -> magnitude and phase of the waveform's short-time spectrum

Between them the runtime spreads features over frames and makes the harmonic source, in numpy: phase arithmetic and data-dependent
lengths have no place in a quantised graph. All sizes come from the parameters, so the same code builds a tiny voice for tests.

The architecture is StyleTTS 2 with an ISTFTNet decoder (Li et al. 2023, arXiv:2306.07691; Kaneko et al. 2022, arXiv:2203.02395).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import openvino as ov
from openvino import opset15 as op

from convert.kokoro.weights import Weights
from convert.vocoding import sine_squared, upsampled

Node: TypeAlias = ov.Output

_BERT = "bert.encoder.albert_layer_groups.0.albert_layers.0"
_BERT_EPSILON, _NORM_EPSILON = 1e-12, 1e-5
_SLOPE = 0.2  # LeakyReLU everywhere but in the generator
_RESBLOCK_DILATIONS = (1, 3, 5)
_LEAST_ALPHA = 1e-9  # as in the original


@dataclass(frozen=True)
class KokoroConfig:
    """What the parameters' shapes do not tell."""

    bert_layers: int = 12
    bert_heads: int = 12
    upsample_rates: tuple[int, ...] = (10, 6)
    n_fft: int = 20
    hop_length: int = 5
    statistics_step: int = 7


class GraphBuilder:
    """Builds graphs from one set of parameters; constants used twice are one node, so that they are stored once."""

    def __init__(self, weights: Weights, config: KokoroConfig) -> None:
        self._weights = weights
        self.config = config
        self._constants: dict[str, Node] = {}
        self._uses: Counter[str] = Counter()
        self.style_dim = weights["decoder.encode.norm1.fc.weight"].shape[1]
        self.hidden = weights["text_encoder.embedding.weight"].shape[1]

    # --- pieces -----------------------------------------------------------------------------------------------------

    def weight(self, name: str, shape: tuple[int, ...] | None = None) -> Node:
        """The parameter of that name as a constant."""
        key = f"{name}{shape or ''}"
        if key not in self._constants:
            value = self._weights[name]
            node = op.constant(np.ascontiguousarray(value if shape is None else value.reshape(shape), dtype=np.float32))
            node.friendly_name = name
            self._constants[key] = node.output(0)
        return self._constants[key]

    def _name(self, node: Node, module: str) -> None:
        """Name a node after its module, numbered from the second use on: quantisation recipes go by these names."""
        self._uses[module] += 1
        use = self._uses[module]
        node.friendly_name = module if use == 1 else f"{module}/{use}"

    def linear(self, x: Node, name: str) -> Node:
        """x [..., in] -> [..., out]."""
        product = op.matmul(x, self.weight(f"{name}.weight"), False, True)
        self._name(product, name)
        return op.add(product, self.weight(f"{name}.bias")).output(0)

    def conv(self, x: Node, name: str, *, stride: int = 1, dilation: int = 1, padding: int | None = None) -> Node:
        """x [1, in, frames] -> [1, out, frames], or the same with images of height 1; "same" padding unless given."""
        n_out, n_in, kernel = self._weights[f"{name}.weight"].shape
        pad = dilation * (kernel - 1) // 2 if padding is None else padding
        flat = _rank(x) == 4
        weight = self.weight(f"{name}.weight", (n_out, n_in, 1, kernel) if flat else None)
        heads = [(1, stride), (0, pad), (0, pad), (1, dilation)]
        node = op.convolution(x, weight, *([list(pair) if flat else [pair[1]] for pair in heads]))
        self._name(node, name)
        if f"{name}.bias" in self._weights:
            return op.add(node, self.weight(f"{name}.bias", _channels(x))).output(0)
        return node.output(0)

    def layer_norm(self, x: Node, gamma: str, beta: str, epsilon: float) -> Node:
        normal = op.mvn(x, _ints(-1), True, epsilon, "INSIDE_SQRT")
        return op.add(op.multiply(normal, self.weight(gamma)), self.weight(beta)).output(0)

    def style_affine(self, style: Node, name: str, rank: int) -> tuple[Node, Node]:
        """(1 + gamma, beta), each [1, C, 1, …] of that rank, that a style [1, S] gives a normalisation layer.

        One convolution of one frame gives those of all layers of that rank, and each takes its part: on their own they would be a
        hundred nodes and kernels to load. A convolution, not a matrix product, so that the parts have the layout of what they
        scale. The plugin makes the slices one split, and fuses no addition of what comes straight from a split: so beta is halved
        in the parameters and doubled after.
        """
        layers = self._style_layers(name)
        start = sum(len(self._weights[f"{layer}.bias"]) for layer in layers[: layers.index(name)])
        n = len(self._weights[f"{name}.bias"]) // 2
        affine = self._style_product(style, layers, rank)
        scale, half = (op.slice(affine, _ints(i), _ints(i + n), _ints(1), _ints(1)) for i in (start, start + n))
        return scale.output(0), op.multiply(half, _float(2.0)).output(0)

    def _style_layers(self, name: str) -> list[str]:
        """The style layers of the same graph that have the same kind of input as this one, in the parameters' order."""
        graph, kind = name.split(".")[0], "adain" if ".adain" in name else "norm"
        pattern = re.compile(rf"({re.escape(graph)}\..*\.{kind}\d(\.\d)?\.fc)\.weight")
        return [match[1] for key in self._weights if (match := pattern.fullmatch(key))]

    def _style_product(self, style: Node, layers: list[str], rank: int) -> Node:
        """1 + gamma and beta / 2 of each of these layers, one after the other: [1, sum of all 2C, 1, …] of that rank."""
        name = f"{layers[0]}.all"
        key = f"{name} {rank} {style.get_node().friendly_name}"
        if key not in self._constants:
            ones, zeros = [1] * (rank - 2), [0] * (rank - 2)
            weights = [np.split(self._weights[f"{layer}.weight"], 2) for layer in layers]
            biases = [np.split(self._weights[f"{layer}.bias"], 2) for layer in layers]
            weight = np.concatenate([part for gamma, beta in weights for part in (gamma, beta / 2)])
            bias = np.concatenate([part for gamma, beta in biases for part in (gamma + 1.0, beta / 2)])
            frame = op.reshape(style, _ints(1, self.style_dim, *ones), False)
            node = op.convolution(frame, _constant(weight.reshape(*weight.shape, *ones)), ones, zeros, zeros, ones)
            self._name(node, name)
            self._constants[key] = op.add(node, _constant(bias.reshape(1, -1, *ones))).output(0)
        return self._constants[key]

    def adain(self, x: Node, style: Node, name: str) -> Node:
        """Adaptive instance norm: every channel normalised over the frames, then scaled and shifted by the style."""
        scale, shift = self.style_affine(style, f"{name}.fc", _rank(x))
        return op.add(op.multiply(_instance_normal(x), scale), shift).output(0)

    def lstm(self, x: Node, name: str) -> Node:
        """Bidirectional LSTM over x [1, T, in] -> [1, T, 2 * hidden]."""
        suffixes = ("_l0", "_l0_reverse")
        w = np.stack([_openvino_gates(self._weights[f"{name}.weight_ih{s}"]) for s in suffixes])
        r = np.stack([_openvino_gates(self._weights[f"{name}.weight_hh{s}"]) for s in suffixes])
        b = np.stack(
            [_openvino_gates(self._weights[f"{name}.bias_ih{s}"] + self._weights[f"{name}.bias_hh{s}"]) for s in suffixes]
        )
        hidden = r.shape[2]
        zeros = op.constant(np.zeros((1, 2, hidden), np.float32))
        length = op.gather(op.shape_of(x, "i64"), _ints(1), _int(0))  # [1]
        node = op.lstm_sequence(x, zeros, zeros, length, op.constant(w), op.constant(r), op.constant(b), hidden, "bidirectional")
        self._name(node, name)
        steps = op.transpose(node.output(0), _ints(0, 2, 1, 3))  # [1, T, 2, hidden]
        return op.reshape(steps, _ints(1, -1, 2 * hidden), False).output(0)

    def upsampled_depthwise(self, x: Node, name: str) -> Node:
        """A depthwise transposed convolution of stride 2, kernel 3, x [1, C, T] -> [1, C, 2T].

        Even outputs are w1 x[t], odd ones w2 x[t] + w0 x[t+1]: two products interleaved, where the plugin's own transposed
        convolution would run a reference kernel.
        """
        w = self._weights[f"{name}.weight"][:, 0, :]
        w0, w1, w2 = (op.constant(np.ascontiguousarray(w[None, :, k : k + 1])) for k in range(3))
        bias = self.weight(f"{name}.bias", (1, -1, 1))
        later = op.slice(x, _ints(1), _ints(2**31 - 1), _ints(1), _ints(2))
        following = op.pad(later, _ints(0, 0, 0), _ints(0, 0, 1), "constant")
        even = op.add(op.multiply(x, w1), bias)
        odd = op.add(op.add(op.multiply(x, w2), op.multiply(following, w0)), bias)
        pairs = op.concat([op.unsqueeze(even, _ints(3)), op.unsqueeze(odd, _ints(3))], 3)
        return op.reshape(pairs, _ints(1, w.shape[0], -1), False).output(0)

    def residual_block(self, x: Node, style: Node, name: str) -> Node:
        """AdaIN residual block, [1, in, T] -> [1, out, T], or 2T where it has a `pool`."""
        upsamples = f"{name}.pool.weight" in self._weights
        y = op.prelu(self.adain(x, style, f"{name}.norm1"), _float(_SLOPE)).output(0)
        if upsamples:
            y = self.upsampled_depthwise(y, f"{name}.pool")
        y = self.conv(y, f"{name}.conv1")
        y = op.prelu(self.adain(y, style, f"{name}.norm2"), _float(_SLOPE)).output(0)
        y = self.conv(y, f"{name}.conv2")
        if upsamples:
            x = _repeated(x, self._weights[f"{name}.conv1x1.weight"].shape[1])
        if f"{name}.conv1x1.weight" in self._weights:
            x = self.conv(x, f"{name}.conv1x1")
        return op.multiply(op.add(x, y), _float(0.5**0.5)).output(0)

    # --- graphs -----------------------------------------------------------------------------------------------------

    def text(self) -> ov.Model:
        """tokens [1, T] int64, style [1, 2S] -> durations [1, T] (frames at speed 1), prosody [1, T, H + S], text [1, T, H]."""
        tokens = _parameter("tokens", [1, -1], "i64")
        style = _parameter("style", [1, 2 * self.style_dim])
        half = op.slice(style, _ints(self.style_dim), _ints(2 * self.style_dim), _ints(1), _ints(1)).output(0)
        encoded = self.linear(self._albert(tokens), "bert_encoder")  # [1, T, H]
        length = op.gather(op.shape_of(tokens, "i64"), _ints(1), _int(0))
        shape = op.concat([_ints(1), length, _ints(self.style_dim)], 0)
        spread_style = op.broadcast(op.unsqueeze(half, _ints(1)), shape).output(0)  # [1, T, S]
        features = op.concat([encoded, spread_style], 2).output(0)
        for i in (0, 2, 4):
            x = self.lstm(features, f"predictor.text_encoder.lstms.{i}")
            scale_shift = op.unsqueeze(self.linear(half, f"predictor.text_encoder.lstms.{i + 1}.fc"), _ints(1))
            gamma, beta = op.split(scale_shift, _int(2), 2).outputs()
            normal = op.mvn(x, _ints(-1), True, _NORM_EPSILON, "INSIDE_SQRT")
            x = op.add(op.multiply(normal, op.add(gamma, _float(1.0))), beta).output(0)
            features = op.concat([x, spread_style], 2).output(0)
        logits = self.linear(self.lstm(features, "predictor.lstm"), "predictor.duration_proj.linear_layer")
        durations = op.reduce_sum(op.sigmoid(logits), _ints(2), False)
        return _model(
            "kokoro-text", [tokens, style], {"durations": durations, "prosody": features, "text": self._text_encoder(tokens)}
        )

    def prosody(self) -> ov.Model:
        """features [1, F, H + S], style [1, 2S] -> f0 [1, 2F] in Hz, energy [1, 2F]."""
        features = _parameter("features", [1, -1, self.hidden + self.style_dim])
        style = _parameter("style", [1, 2 * self.style_dim])
        half = op.slice(style, _ints(self.style_dim), _ints(2 * self.style_dim), _ints(1), _ints(1)).output(0)
        shared = op.transpose(self.lstm(features, "predictor.shared"), _ints(0, 2, 1)).output(0)
        curves: dict[str, Node] = {}
        for curve, output in (("F0", "f0"), ("N", "energy")):
            x = shared
            for i in range(3):
                x = self.residual_block(x, half, f"predictor.{curve}.{i}")
            curves[output] = op.squeeze(self.conv(x, f"predictor.{curve}_proj"), _ints(1))
        return _model("kokoro-prosody", [features, style], curves)

    def decoder(self, statistics_step: int = 1) -> ov.Model:
        """text [1, F, H], f0, energy [1, 2F], harmonics [1, n_fft + 2, L], style [1, 2S] -> magnitude, phase [1, n_fft/2 + 1, L].

        L = 2 F * product(upsample_rates) + 1 frames of `hop_length` samples.

        statistics_step: among those L frames, channels are normalised with the mean and variance of every `statistics_step`-th;
            ValueError if it has a divisor in common with the upsampling, whose patterns it would not see evenly
        """
        config = self.config
        if math.gcd(statistics_step, int(np.prod(config.upsample_rates))) > 1:
            raise ValueError(f"frames {statistics_step} apart are no fair sample after upsampling by {config.upsample_rates}")
        text = _parameter("text", [1, -1, self.hidden])
        f0 = _parameter("f0", [1, -1])
        energy = _parameter("energy", [1, -1])
        harmonics = _parameter("harmonics", [1, config.n_fft + 2, -1])
        style = _parameter("style", [1, 2 * self.style_dim])
        half = op.slice(style, _ints(0), _ints(self.style_dim), _ints(1), _ints(1)).output(0)
        curves = [
            self.conv(op.unsqueeze(curve, _ints(1)).output(0), f"decoder.{name}_conv", stride=2)
            for curve, name in ((f0, "F0"), (energy, "N"))
        ]
        aligned = op.transpose(text, _ints(0, 2, 1)).output(0)
        x = self.residual_block(op.concat([aligned, *curves], 1).output(0), half, "decoder.encode")
        residual = self.conv(aligned, "decoder.asr_res.0")
        for i in range(4):
            x = self.residual_block(op.concat([x, residual, *curves], 1).output(0), half, f"decoder.decode.{i}")
        spectrum = self._generator(x, harmonics.output(0), half, statistics_step)
        bins = config.n_fft // 2 + 1
        magnitude, phase = op.variadic_split(spectrum, _int(1), _ints(bins, bins)).outputs()
        return _model(
            "kokoro-decoder",
            [text, f0, energy, harmonics, style],
            {"magnitude": op.exp(magnitude), "phase": op.sin(phase)},
        )

    # --- larger parts -----------------------------------------------------------------------------------------------

    def _albert(self, tokens: Node) -> Node:
        """ALBERT: one transformer layer applied `bert_layers` times; tokens [1, T] -> [1, T, width]."""
        length = op.gather(op.shape_of(tokens, "i64"), _ints(1), _int(0))
        words = op.gather(self.weight("bert.embeddings.word_embeddings.weight"), tokens, _int(0))
        positions = op.slice(self.weight("bert.embeddings.position_embeddings.weight"), _ints(0), length, _ints(1), _ints(0))
        kind = op.constant(self._weights["bert.embeddings.token_type_embeddings.weight"][:1])
        x = op.add(op.add(words, kind), op.unsqueeze(positions, _ints(0))).output(0)
        x = self.layer_norm(x, "bert.embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.bias", _BERT_EPSILON)
        x = self.linear(x, "bert.encoder.embedding_hidden_mapping_in")
        for _ in range(self.config.bert_layers):
            attended = op.add(x, self._attention(x)).output(0)
            norm = f"{_BERT}.attention.LayerNorm"
            attended = self.layer_norm(attended, f"{norm}.weight", f"{norm}.bias", _BERT_EPSILON)
            inner = op.gelu(self.linear(attended, f"{_BERT}.ffn"), "TANH").output(0)
            x = op.add(self.linear(inner, f"{_BERT}.ffn_output"), attended).output(0)
            norm = f"{_BERT}.full_layer_layer_norm"
            x = self.layer_norm(x, f"{norm}.weight", f"{norm}.bias", _BERT_EPSILON)
        return x

    def _attention(self, x: Node) -> Node:
        heads = self.config.bert_heads
        width = self._weights[f"{_BERT}.attention.query.weight"].shape[0]

        def split(name: str) -> Node:
            projected = op.reshape(self.linear(x, f"{_BERT}.attention.{name}"), _ints(1, -1, heads, width // heads), False)
            return op.transpose(projected, _ints(0, 2, 1, 3)).output(0)  # [1, heads, T, width / heads]

        attended = op.scaled_dot_product_attention(split("query"), split("key"), split("value"), causal=False)
        joined = op.reshape(op.transpose(attended, _ints(0, 2, 1, 3)), _ints(1, -1, width), False).output(0)
        return self.linear(joined, f"{_BERT}.attention.dense")

    def _text_encoder(self, tokens: Node) -> Node:
        """tokens [1, T] -> [1, T, H]: what the decoder hears of the phonemes."""
        embedded = op.gather(self.weight("text_encoder.embedding.weight"), tokens, _int(0))
        x = op.transpose(embedded, _ints(0, 2, 1)).output(0)
        for i in range(3):
            y = op.transpose(self.conv(x, f"text_encoder.cnn.{i}.0"), _ints(0, 2, 1)).output(0)
            y = self.layer_norm(y, f"text_encoder.cnn.{i}.1.gamma", f"text_encoder.cnn.{i}.1.beta", _NORM_EPSILON)
            x = op.transpose(op.prelu(y, _float(_SLOPE)), _ints(0, 2, 1)).output(0)
        return self.lstm(op.transpose(x, _ints(0, 2, 1)).output(0), "text_encoder.lstm")

    def _generator(self, x: Node, harmonics: Node, style: Node, statistics_step: int) -> Node:
        """ISTFTNet: x [1, C, 2F], harmonics [1, n_fft + 2, L] -> [1, n_fft + 2, L]."""
        rates = self.config.upsample_rates
        x, harmonics = (op.unsqueeze(value, _ints(2)).output(0) for value in (x, harmonics))
        kernels = sum(f"decoder.generator.resblocks.{i}.alpha1.0" in self._weights for i in range(64)) // len(rates)
        for i, rate in enumerate(rates):
            last = i == len(rates) - 1
            x = op.prelu(x, _float(0.1)).output(0)
            stride = int(np.prod(rates[i + 1 :]))
            source = self.conv(
                harmonics, f"decoder.generator.noise_convs.{i}", stride=stride, padding=0 if last else (stride + 1) // 2
            )
            step = statistics_step if last else 1
            source = self._snake_block(source, style, f"decoder.generator.noise_res.{i}", step)
            x = self._upsampled(x, f"decoder.generator.ups.{i}", rate)
            if last:
                x = op.pad(x, _ints(0, 0, 0, 1), _ints(0, 0, 0, 0), "reflect").output(0)
            x = op.add(x, source).output(0)
            blocks = [
                self._snake_block(x, style, f"decoder.generator.resblocks.{i * kernels + j}", step) for j in range(kernels)
            ]
            total = blocks[0]
            for block in blocks[1:]:
                total = op.add(total, block).output(0)
            x = op.multiply(total, _float(1.0 / kernels)).output(0)
        spectrum = self.conv(op.prelu(x, _float(0.01)).output(0), "decoder.generator.conv_post")
        return op.squeeze(spectrum, _ints(2)).output(0)

    def _snake_block(self, x: Node, style: Node, name: str, step: int = 1) -> Node:
        for j, dilation in enumerate(_RESBLOCK_DILATIONS):
            y = self.adain_snake(x, style, f"{name}.adain1.{j}", f"{name}.alpha1.{j}", step)
            y = self.conv(y, f"{name}.convs1.{j}", dilation=dilation)
            y = self.adain_snake(y, style, f"{name}.adain2.{j}", f"{name}.alpha2.{j}", step)
            y = self.conv(y, f"{name}.convs2.{j}")
            x = op.add(x, y).output(0)
        return x

    def adain_snake(self, x: Node, style: Node, name: str, alpha: str, step: int = 1) -> Node:
        """Adaptive instance norm, then Snake.

        step: the norm's mean and variance are those of every `step`-th frame. Above 1 the norm is no pass over memory of its own
            but part of Snake's.
        """
        scale, shift = self.style_affine(style, f"{name}.fc", _rank(x))
        if step == 1:
            return self.snake(_instance_normal(x), scale, shift, alpha)
        mean, inverse_deviation = _statistics(x, step)
        scale = op.multiply(scale, inverse_deviation).output(0)
        return self.snake(x, scale, op.subtract(shift, op.multiply(scale, mean)).output(0), alpha)

    def snake(self, normal: Node, scale: Node, shift: Node, alpha: str) -> Node:
        """y + sin^2(alpha y) / alpha of y = scale * normal + shift (Ziyin et al. 2020, arXiv:2006.08195).

        The plugin makes one pass over memory of a chain of operations with one changing input each. So the periodic part is one
        chain from `normal` and the linear part, added to it, another: two passes, where the formula as it stands takes four.
        """
        value = self._weights[alpha].astype(np.float64).reshape(_channels(normal)) + _LEAST_ALPHA
        frequency = _constant(value / np.pi)
        turns = op.add(op.multiply(normal, op.multiply(scale, frequency)), op.multiply(shift, frequency)).output(0)
        periodic = op.multiply(sine_squared(turns), _constant(1.0 / value))
        return op.add(op.add(op.multiply(normal, scale), shift), periodic).output(0)

    def _upsampled(self, x: Node, name: str, rate: int) -> Node:
        """A transposed convolution of kernel 2 * rate: [1, in, 1, T] -> [1, out, 1, rate * T]."""
        weight = self._weights[f"{name}.weight"]  # [in, out, 2 * rate]
        if weight.shape[2] != 2 * rate:
            raise ValueError(f"{name}: kernel {weight.shape[2]} is not twice the stride {rate}")
        return op.add(upsampled(x, weight, name), self.weight(f"{name}.bias", _channels(x))).output(0)


def _instance_normal(x: Node) -> Node:
    """Every channel with mean 0 and variance 1 over the frames."""
    return op.mvn(x, _ints(*range(2, _rank(x))), True, _NORM_EPSILON, "INSIDE_SQRT").output(0)


def _statistics(x: Node, step: int) -> tuple[Node, Node]:
    """Mean and inverse standard deviation of every `step`-th frame of each channel: [1, C, 1, n] -> [1, C, 1, 1] twice."""
    frames = op.slice(x, _ints(0), _ints(2**31 - 1), _ints(step), _ints(3))
    mean = op.reduce_mean(frames, _ints(2, 3), True)
    square = op.reduce_mean(op.power(frames, _float(2.0)), _ints(2, 3), True)
    variance = op.relu(op.subtract(square, op.power(mean, _float(2.0))))  # rounding can bring a constant channel below zero
    return mean.output(0), op.power(op.add(variance, _float(_NORM_EPSILON)), _float(-0.5)).output(0)


def _openvino_gates(value: np.ndarray) -> np.ndarray:
    """PyTorch's gate order input, forget, cell, output -> OpenVINO's forget, input, cell, output."""
    i, f, c, o = np.split(value, 4)
    return np.ascontiguousarray(np.concatenate([f, i, c, o]), dtype=np.float32)


def _rank(x: Node) -> int:
    return int(x.get_partial_shape().rank.get_length())


def _channels(x: Node) -> tuple[int, ...]:
    """The shape of a value per channel that is to be broadcast over x."""
    return (1, -1, *(1,) * (_rank(x) - 2))


def _repeated(x: Node, channels: int) -> Node:
    """Every frame twice: [1, C, T] -> [1, C, 2T]."""
    column = op.unsqueeze(x, _ints(3))
    return op.reshape(op.concat([column, column], 3), _ints(1, channels, -1), False).output(0)


def _ints(*values: int) -> Node:
    return op.constant(np.array(values, dtype=np.int64)).output(0)


def _int(value: int) -> Node:
    return op.constant(np.array(value, dtype=np.int64)).output(0)


def _float(value: float) -> Node:
    return op.constant(np.array(value, dtype=np.float32)).output(0)


def _constant(value: np.ndarray) -> Node:
    return op.constant(np.ascontiguousarray(value, dtype=np.float32)).output(0)


def _parameter(name: str, shape: list[int], kind: str = "f32") -> Node:
    parameter = op.parameter(shape, getattr(ov.Type, kind), name=name)
    parameter.output(0).set_names({name})
    return parameter


def _model(name: str, parameters: list[Node], outputs: dict[str, Node]) -> ov.Model:
    results = []
    for key, value in outputs.items():
        result = op.result(value)
        result.output(0).set_names({key})
        result.friendly_name = key
        results.append(result)
    return ov.Model(results, parameters, name)
