"""The vocoder's graph, written in OpenVINO operations so that the CPU plugin runs all of it in fast kernels.

A trace of the torch module computes the same, but slower: the plugin runs transposed convolutions in float reference-like
kernels (a third of the time), and keeps Snake's sum of products apart. Tensors are images of height 1, so that int8
convolutions and what lies between them share a layout.
"""

from __future__ import annotations

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as ops
from torch import nn

from convert import vocoding
from convert.cosyvoice.modules import ResBlock, Snake, Vocoder
from convert.stateful import constant

# Below this the rounding of 1 - cos outweighs sin^2(alpha x) / alpha, which is alpha x^2.
_LEAST_ALPHA = 1e-9  # as in the original


def vocoder_graph(vocoder: Vocoder) -> ov.Model:
    """mel [1, n_mels, frames], source_spectrum [1, n_fft + 2, n + 1] -> spectrum [1, n_fft + 2, n + 1].

    vocoder: with its weight norms multiplied out
    """
    config = vocoder.config
    mel, source = (
        _parameter(name, [1, size, -1]) for name, size in (("mel", config.n_mels), ("source_spectrum", config.n_fft + 2))
    )
    height = constant([2], np.int64)
    x, spectrum = ops.unsqueeze(mel, height), ops.unsqueeze(source, height)
    x = _convolution(x, vocoder.conv_pre, "conv_pre")
    n_kernels = len(config.kernels)
    for i, up in enumerate(vocoder.ups):
        x = upsampled(ops.prelu(x, constant(config.leaky_slope)), up, f"ups.{i}")
        if i == len(vocoder.ups) - 1:
            x = ops.pad(x, constant([0, 0, 0, 1], np.int64), constant([0, 0, 0, 0], np.int64), "reflect")
        excited = _convolution(spectrum, vocoder.source_downs[i], f"source_downs.{i}")
        x = ops.add(x, _residual(excited, vocoder.source_resblocks[i], f"source_resblocks.{i}"))
        numbers = range(i * n_kernels, (i + 1) * n_kernels)
        first, *others = [_residual(x, vocoder.resblocks[number], f"resblocks.{number}") for number in numbers]
        for other in others:
            first = ops.add(first, other)
        x = ops.multiply(first, constant(1.0 / n_kernels))
    x = _convolution(ops.prelu(x, constant(0.01)), vocoder.conv_post, "conv_post")
    result = ops.result(ops.squeeze(x, height))
    result.output(0).get_tensor().set_names({"spectrum"})
    return ov.Model([result], [mel, source], "vocoder")


def snake(x: ov.Node, alpha: NDArray[np.float32]) -> ov.Node:
    """x + sin(alpha x)^2 / alpha (Ziyin 2020), error below 9e-6 / alpha. x: [1, channels, 1, n]; alpha: [channels]."""
    value = alpha.astype(np.float64).reshape(1, -1, 1, 1) + _LEAST_ALPHA
    periodic = vocoding.sine_squared(ops.multiply(x, constant(value / np.pi)).output(0))
    return ops.add(x, ops.multiply(periodic, constant(1.0 / value)))


def _residual(x: ov.Node, block: ResBlock, name: str) -> ov.Node:
    parts = zip(block.activations1, block.convs1, block.activations2, block.convs2, strict=True)
    for j, (snake1, conv1, snake2, conv2) in enumerate(parts):
        y = _convolution(_snake(x, snake1), conv1, f"{name}.convs1.{j}")
        y = _convolution(_snake(y, snake2), conv2, f"{name}.convs2.{j}")
        x = ops.add(x, y)
    return x


def _snake(x: ov.Node, activation: Snake) -> ov.Node:
    return snake(x, activation.alpha.numpy())


def _convolution(x: ov.Node, conv: nn.Conv1d, name: str) -> ov.Node:
    """[1, in, 1, n] -> [1, out, 1, m]."""
    (stride,), (pad,), (dilation,) = conv.stride, conv.padding, conv.dilation
    node = ops.convolution(x, constant(conv.weight.numpy()[:, :, None]), [1, stride], [0, pad], [0, pad], [1, dilation])
    node.friendly_name = name
    return ops.add(node, constant(conv.bias.numpy().reshape(1, -1, 1, 1)))


def upsampled(x: ov.Node, up: nn.ConvTranspose1d, name: str) -> ov.Node:
    """A transposed convolution: [1, in, 1, n] -> [1, out, 1, rate * n], as a plain one where its sizes allow that."""
    weight = up.weight.numpy()  # [in, out, kernel]
    (rate,), (pad,) = up.stride, up.padding
    if weight.shape[2] == 2 * rate and pad == rate // 2 and rate % 2 == 0:
        node = vocoding.upsampled(x.output(0), weight, name)
    else:
        whole = constant(weight[:, :, None])
        node = ops.convolution_backprop_data(x, whole, [1, rate], pads_begin=[0, pad], pads_end=[0, pad], dilations=[1, 1])
    return ops.add(node, constant(up.bias.numpy().reshape(1, -1, 1, 1)))


def _parameter(name: str, shape: list[int]) -> ov.Node:
    node = ops.parameter(shape, np.float32, name=name)
    node.output(0).get_tensor().set_names({name})
    return node
