"""Torch modules -> float32 OpenVINO graphs, one for each stage that the runtime calls.

    text_encoder      tokens [1, n] -> hidden [1, n, size] (after the encoder), projected [1, n, size]
    speech_lm         embeddings [b, n, size], bias [b, 1, n, t], beam_idx [b], positions.N -> logits [b, classes]
    flow_encoder      tokens [1, n] -> hidden [1, n, size], projected [1, n_mels, n]
    length_regulator  interpolated [1, n_mels, frames] -> mu [1, n_mels, frames]
    estimator         x, mu, cond [b, n_mels, frames], time [b, features], speaker [b, n_mels] -> direction as x
    f0_predictor      mel [1, n_mels, frames] -> f0_hz [1, frames]
    vocoder           mel [1, n_mels, frames], source_spectrum [1, n_fft + 2, n + 1] -> spectrum [1, n_fft + 2, n + 1]
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import openvino as ov
import torch
from numpy.typing import NDArray
from openvino import opset13 as ops
from openvino.tools.ovc import convert_model
from torch import Tensor, nn
from torch.nn.utils import parametrize

from convert.cosyvoice.checkpoint import Checkpoint
from convert.cosyvoice.modules import EncoderLayer, SpeechLM, sinusoidal_positions
from convert.cosyvoice.vocoder_graph import vocoder_graph
from convert.stateful import CacheBuilder, constant

Module = TypeVar("Module", bound=nn.Module)
# Positions that the speech LM can reach: prefix and speech tokens together. 2048 are 40 s of speech.
MAX_POSITIONS = 2048


@dataclass(frozen=True)
class Stage:
    """A graph to be made: its name and what makes it, so that only one is in memory at a time."""

    name: str
    build: Callable[[], ov.Model]


def stages(checkpoint: Checkpoint) -> Iterator[Stage]:
    """All graphs of the model, in the order of the way from text to waveform."""
    lm, flow, vocoder = checkpoint.lm, checkpoint.flow, checkpoint.vocoder
    n_mels = checkpoint.config.vocoder.n_mels
    rows = checkpoint.config.flow.estimator.out_channels
    tokens = torch.zeros(1, 7, dtype=torch.int64)
    mel = torch.zeros(1, n_mels, 24)
    features = checkpoint.config.flow.estimator.in_channels
    two = (torch.zeros(2, rows, 24),) * 2 + (torch.zeros(2, features), torch.zeros(2, rows), torch.zeros(2, rows, 24))
    yield Stage("text_encoder", lambda: _trace(
        _TextEncoder(lm), {"tokens": tokens}, {"tokens": [1, -1]}, ["hidden", "projected"]))
    yield Stage("speech_lm", lambda: speech_lm_graph(lm))
    yield Stage("flow_encoder", lambda: _trace(
        _FlowEncoder(flow), {"tokens": tokens}, {"tokens": [1, -1]}, ["hidden", "projected"]))
    yield Stage("length_regulator", lambda: _trace(
        flow.length_regulator, {"interpolated": mel}, {"interpolated": [1, n_mels, -1]}, ["mu"]))
    yield Stage("estimator", lambda: _trace(
        flow.decoder.estimator, dict(zip(("x", "mu", "time", "speaker", "cond"), two, strict=True)),
        {"x": [-1, rows, -1], "mu": [-1, rows, -1], "time": [-1, features], "speaker": [-1, rows], "cond": [-1, rows, -1]},
        ["direction"]))  # fmt: skip
    yield Stage("f0_predictor", lambda: _trace(_plain(vocoder.f0_predictor), {"mel": mel}, {"mel": [1, n_mels, -1]}, ["f0_hz"]))
    yield Stage("vocoder", lambda: vocoder_graph(_plain(vocoder)))


class _TextEncoder(nn.Module):
    def __init__(self, lm: SpeechLM) -> None:
        super().__init__()
        self.lm = lm

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        return self.lm.encode_text(tokens)


class _FlowEncoder(nn.Module):
    def __init__(self, flow: nn.Module) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.flow.encoder(self.flow.input_embedding(tokens))
        return hidden, self.flow.encoder_proj(hidden).transpose(1, 2)


def _plain(module: Module) -> Module:
    """The module with weight norms multiplied out, so that the graph holds one weight for each convolution."""
    for part in module.modules():
        if parametrize.is_parametrized(part, "weight"):
            parametrize.remove_parametrizations(part, "weight")
    return module


def _trace(
    module: nn.Module, example: dict[str, Tensor], shapes: dict[str, list[int]], outputs: list[str]
) -> ov.Model:
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing is deprecated in torch, but what OpenVINO uses
        model = convert_model(module, example_input=tuple(example.values()), input=list(shapes.values()))
    for port, name in zip(model.inputs, example, strict=True):
        port.get_node().set_friendly_name(name)
        port.get_tensor().set_names({name})
    for port, name in zip(model.outputs, outputs, strict=True):
        port.get_tensor().set_names({name})
    model.validate_nodes_and_infer_types()
    return model


def speech_lm_graph(lm: SpeechLM) -> ov.Model:
    """The decoder with its cache inside, prefill and decode step in one.

    embeddings: [batch, n, size] of the positions to be added
    bias: [batch, 1, n, t], t = positions so far and these; 0 where a query may look at a key, a large negative number elsewhere
    positions.N: [heads, head size, w + 1], w >= t: the last columns of layer N's `position_table`
    """
    encoder, config = lm.llm, lm.config.decoder
    head_size = config.size // config.n_heads
    embeddings = _parameter("embeddings", [-1, -1, config.input_size])
    bias = _parameter("bias", [-1, 1, -1, -1])
    beam_idx = _parameter("beam_idx", [-1], np.int32)
    tables = [_parameter(f"positions.{i}", [config.n_heads, head_size, -1]) for i in range(config.n_layers)]

    graph = _DecoderGraph(CacheBuilder(embeddings.output(0), beam_idx.output(0), config.n_heads, head_size), bias, tables)
    linear, norm = encoder.embed.out[0], encoder.embed.out[1]
    x = _layer_norm(_linear(embeddings, linear), norm)
    x = ops.multiply(ops.relu(x), constant(math.sqrt(config.size)))
    for index, layer in enumerate(encoder.encoders):
        x = graph.layer(index, layer, x)
    one, before_last = constant([1], np.int64), constant([-1], np.int64)
    last = ops.slice(x, before_last, constant([2**31 - 1], np.int64), one, one)
    last = ops.squeeze(_layer_norm(last, encoder.after_norm), one)  # [batch, size]
    logits = ops.result(_linear(last, lm.llm_decoder))
    logits.output(0).get_tensor().set_names({"logits"})
    return ov.Model([logits], graph.cache.sinks, [embeddings, bias, beam_idx, *tables], "speech_lm")


def _parameter(name: str, shape: list[int], dtype: type = np.float32) -> ov.Node:
    node = ops.parameter(shape, dtype, name=name)
    node.output(0).get_tensor().set_names({name})
    return node


class _DecoderGraph:
    """Layers of the speech LM; what they share is made once."""

    def __init__(self, cache: CacheBuilder, bias: ov.Node, tables: list[ov.Node]) -> None:
        self.cache = cache
        self._bias, self._tables = bias, tables
        shape = ops.shape_of(bias, output_type="i64")
        n, t = (ops.gather(shape, constant([axis], np.int64), constant(0, np.int64)) for axis in (2, 3))
        width = ops.gather(ops.shape_of(tables[0], output_type="i64"), constant([2], np.int64), constant(0, np.int64))
        self._one = constant([1], np.int64)
        self._width = width
        self._columns_start = ops.subtract(ops.subtract(width, self._one), t)
        self._shift_start = ops.subtract(n, self._one)
        self._shift_stop = ops.add(self._shift_start, ops.multiply(n, t))
        self._flat_shape = constant([0, 0, -1], np.int64)
        self._bias_shape = ops.concat([constant([0, 0], np.int64), n, t], 0)
        self._heads_shape = constant([0, 0, cache.n_heads, cache.head_size], np.int64)
        self._swap = constant([0, 2, 1, 3], np.int64)

    def layer(self, index: int, layer: EncoderLayer, x: ov.Node) -> ov.Node:
        """x: [batch, n, size] -> the same."""
        attention, (norm_attention, norm_feed_forward) = layer.self_attn, layer.norms()
        normed = _layer_norm(x, norm_attention)
        u, v = (bias.numpy() for bias in (attention.pos_bias_u, attention.pos_bias_v))  # [heads, head size]
        # u goes into the projection's bias; what it has too much of for the position term is taken off again there.
        query = self._heads(_linear(normed, attention.linear_q, extra_bias=u.reshape(-1)))
        key = self.cache.grow(f"key.{index}", self._heads(_linear(normed, attention.linear_k)))
        value = self.cache.grow(f"value.{index}", self._heads(_linear(normed, attention.linear_v)))
        by_distance = self._by_distance(ops.add(query, constant((v - u)[None, :, None])), self._tables[index])
        attended = ops.scaled_dot_product_attention(query, key, value, ops.add(by_distance, self._bias))
        merged = ops.reshape(ops.transpose(attended, self._swap), constant([0, 0, -1], np.int64), True)
        x = ops.add(x, _linear(merged, attention.linear_out))
        feed_forward = layer.feed_forward
        inner = ops.relu(_linear(_layer_norm(x, norm_feed_forward), feed_forward.w_1))
        return ops.add(x, _linear(inner, feed_forward.w_2))

    def _heads(self, x: ov.Node) -> ov.Node:
        return ops.transpose(ops.reshape(x, self._heads_shape, True), self._swap)

    def _by_distance(self, query: ov.Node, table: ov.Node) -> ov.Node:
        """Scores by key from the products of positions, [batch, heads, n, t].

        The table's columns lie by falling distance, one of zeros behind them; so the last t + 1 are those for t keys and the
        padding that the shift in `modules.shift_by_query` needs. Columns, because the plugin would turn rows round at every call.
        """
        scores = ops.matmul(query, table, False, False)  # [batch, heads, n, w + 1]
        scores = ops.slice(scores, self._columns_start, self._width, self._one, constant([3], np.int64))
        flat = ops.reshape(scores, self._flat_shape, True)
        flat = ops.slice(flat, self._shift_start, self._shift_stop, self._one, constant([2], np.int64))
        return ops.reshape(flat, self._bias_shape, True)


def position_tables(lm: SpeechLM, max_positions: int = MAX_POSITIONS) -> NDArray[np.float32]:
    """`position_table` of every layer of the decoder: [layers, heads, head size, max_positions + 1]."""
    config = lm.config.decoder
    positions = sinusoidal_positions(torch.arange(max_positions - 1, -1, -1), config.size)
    with torch.inference_mode():
        return np.stack([position_table(layer.self_attn.linear_pos, positions, config.n_heads) for layer in lm.llm.encoders])


def position_table(linear_pos: nn.Linear, positions: Tensor, n_heads: int) -> NDArray[np.float32]:
    """Products of a layer's positions divided by sqrt(head size), a column of zeros behind them.

    positions: [n, size] -> [heads, head size, n + 1]
    """
    products = linear_pos(positions).numpy()  # [n, size]
    n, size = products.shape
    head_size = size // n_heads
    table = np.zeros((n_heads, head_size, n + 1), np.float32)
    table[..., :-1] = products.reshape(n, n_heads, head_size).transpose(1, 2, 0) * head_size**-0.5
    return table


def int8_columns(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each column in 8 bits and what it is to be multiplied with: [..., n, m] -> the same, [..., 1, m]."""
    scales = np.abs(table).max(axis=-2, keepdims=True) / np.float32(127.0)
    return np.rint(table / np.maximum(scales, np.float32(1e-30))).astype(np.int8), scales


def _linear(x: ov.Node, linear: nn.Linear, extra_bias: NDArray[np.float32] | float = 0.0) -> ov.Node:
    product = ops.matmul(x, constant(linear.weight.numpy()), False, True)
    return ops.add(product, constant(linear.bias.numpy() + extra_bias))


def _layer_norm(x: ov.Node, norm: nn.LayerNorm) -> ov.Node:
    normed = ops.mvn(x, constant([-1], np.int64), True, norm.eps, "inside_sqrt")
    return ops.add(ops.multiply(normed, constant(norm.weight.numpy())), constant(norm.bias.numpy()))

