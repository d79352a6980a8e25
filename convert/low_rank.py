"""Convolutions with fewer products: each as one into fewer channels and a 1x1 back, where its outputs are that redundant.

The channels of a convolution's output move together. Let U hold the leading principal components of the outputs that real inputs
give; then U U^T y is the best approximation of that rank in the mean square, and since y = W x, U^T W is a convolution into r
channels and U a 1x1 convolution back. Kernel k, n inputs and m outputs cost k n m products a frame before and r (k n + m) after.
(Jaderberg et al. 2014, arXiv:1405.3866; Zhang et al. 2015, arXiv:1505.06798, minimise the same error.)

What counts as an error is decided by whoever reads the output: a convolution in a residual branch is judged by the size of the
sum that it joins, channel by channel, as the normalisation after the sum does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset15 as op

Sample = Mapping[str, NDArray[Any]]

_RANK_STEP = 16  # kernels work on blocks of channels
_MAX_GAIN = 1.25
_LEAST_SAVING = 0.15  # of the products; less does not pay for another pass over memory


@dataclass(frozen=True)
class Spectrum:
    """The principal components of one convolution's output.

    axes: [m, m], a component a column, by falling variance; of outputs divided by `scale`
    variance: [m] in parts of what the reader sees: 1 is as much as the whole signal
    scale: [m], what each channel was divided by
    mean: [m] of the convolution's output
    """

    axes: NDArray[np.float64]
    variance: NDArray[np.float64]
    scale: NDArray[np.float64]
    mean: NDArray[np.float64]

    def rank(self, error: float) -> int:
        """The least rank that leaves out no more than that part of the variance, a multiple of the kernels' block."""
        left_out = np.append(np.cumsum(self.variance[::-1])[::-1], 0.0)
        rank = int(np.argmax(left_out <= error))
        return min(-(-max(rank, 1) // _RANK_STEP) * _RANK_STEP, len(self.variance))

    def gain(self, rank: int) -> NDArray[np.float64]:
        """What gives each channel its deviation back, [m]: without what is left out the voice would sound dull."""
        powers = np.square(self.axes) * self.variance
        whole, kept = powers.sum(axis=1), powers[:, :rank].sum(axis=1)
        return np.sqrt(np.minimum(whole / np.maximum(kept, 1e-30), _MAX_GAIN**2))


def factorise(model: ov.Model, samples: Iterable[Sample], rules: Sequence[tuple[str, float]]) -> dict[str, int]:
    """Replace convolutions by pairs, in place, where that saves products; returns the rank of each that was replaced.

    samples: inputs by name that make the channels' statistics
    rules: (regular expression of a convolution's whole name, the part of the variance that its pair may leave out); the first
        that matches counts
    """
    chosen = [(node, error) for node in model.get_ordered_ops() if (error := _error_of(node, rules)) is not None]
    ranks = {}
    for (node, error), spectrum in zip(chosen, _spectra(model, [node for node, _ in chosen], samples), strict=True):
        n_out, n_in, *kernel = node.input(1).get_partial_shape().to_shape()
        rank = spectrum.rank(error)
        taps = n_in * int(np.prod(kernel))
        if rank * (taps + n_out) <= (1 - _LEAST_SAVING) * n_out * taps:
            _replace(node, spectrum, rank)
            ranks[node.friendly_name] = rank
    model.validate_nodes_and_infer_types()
    return ranks


def _error_of(node: ov.Node, rules: Sequence[tuple[str, float]]) -> float | None:
    if node.get_type_name() != "Convolution":
        return None
    return next((error for pattern, error in rules if re.fullmatch(pattern, node.friendly_name)), None)


def _spectra(model: ov.Model, convolutions: Sequence[ov.Node], samples: Iterable[Sample]) -> list[Spectrum]:
    watched = model.clone()
    by_name = {node.friendly_name: node for node in watched.get_ops()}
    names = [node.friendly_name for node in convolutions]
    seen = [by_name[name] for name in names] + [_read_from(by_name[name]) for name in names]
    watched = ov.Model([op.result(node) for node in seen], watched.get_parameters(), "watched")
    request = ov.Core().compile_model(watched, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    own, read = [_Moments() for _ in names], [_Moments() for _ in names]
    for sample in samples:
        request.infer(dict(sample), share_inputs=True)
        for i in range(len(names)):
            own[i].add(request.get_output_tensor(i).data)
            read[i].add(request.get_output_tensor(len(names) + i).data)
    return [_spectrum(mine, theirs) for mine, theirs in zip(own, read, strict=True)]


class _Moments:
    """Mean and covariance of the channels of arrays [1, C, …], over all positions of all of them."""

    def __init__(self) -> None:
        self._n = 0
        self._sum: NDArray[np.float64] | float = 0.0
        self._products: NDArray[np.float64] | float = 0.0

    def add(self, array: NDArray[np.float32]) -> None:
        x = array[0].reshape(array.shape[1], -1).astype(np.float64)
        self._n += x.shape[1]
        self._sum = self._sum + x.sum(axis=1)
        self._products = self._products + x @ x.T

    @property
    def mean(self) -> NDArray[np.float64]:
        return np.asarray(self._sum / self._n)

    @property
    def covariance(self) -> NDArray[np.float64]:
        return np.asarray(self._products / self._n - np.outer(self.mean, self.mean))


def _spectrum(own: _Moments, read: _Moments) -> Spectrum:
    deviation = np.sqrt(np.maximum(np.diag(read.covariance), 0.0))
    # A channel that never moves must not count without end.
    scale = np.maximum(deviation, 1e-3 * np.median(deviation) + 1e-12)
    variance, axes = np.linalg.eigh(own.covariance / np.outer(scale, scale))
    return Spectrum(axes[:, ::-1], np.maximum(variance[::-1], 0.0) / len(scale), scale, own.mean)


def _bias_of(convolution: ov.Node) -> ov.Node | None:
    """The addition of a constant to a convolution's output, where that is all that reads it."""
    readers = [port.get_node() for port in convolution.output(0).get_target_inputs()]
    if len(readers) == 1 and readers[0].get_type_name() == "Add":
        other = readers[0].input_value(1).get_node()
        return readers[0] if other.get_type_name() == "Constant" else None
    return None


def _read_from(convolution: ov.Node) -> ov.Node:
    """The node whose channels' sizes say what an error in this convolution's output weighs: the sum that it joins, or itself."""
    end = _bias_of(convolution) or convolution
    for port in end.output(0).get_target_inputs():
        if port.get_node().get_type_name() == "Add":
            return port.get_node()
    return end


def _replace(convolution: ov.Node, spectrum: Spectrum, rank: int) -> None:
    weight = np.array(convolution.input_value(1).get_node().get_data(), dtype=np.float64)
    n_out = weight.shape[0]
    axes, scale = spectrum.axes[:, :rank], spectrum.scale
    into = (axes / scale[:, None]).T @ weight.reshape(n_out, -1)
    back = axes * (scale * spectrum.gain(rank))[:, None]
    heads = [convolution.get_attributes()[key] for key in ("strides", "pads_begin", "pads_end", "dilations")]
    narrow = op.convolution(
        convolution.input_value(0), _constant(into.reshape(rank, *weight.shape[1:])), *map(list, heads)
    )
    narrow.friendly_name = f"{convolution.friendly_name}/into"
    ones, zeros = [1] * (weight.ndim - 2), [0] * (weight.ndim - 2)
    wide = op.convolution(narrow, _constant(back.reshape(n_out, rank, *ones)), ones, zeros, zeros, ones)
    wide.friendly_name = f"{convolution.friendly_name}/back"
    lost = spectrum.mean - back @ (axes.T @ (spectrum.mean / scale))
    bias = _bias_of(convolution)
    shape = (1, n_out, *ones)
    if bias is None:
        end = op.add(wide, _constant(lost.reshape(shape))).output(0)
    else:
        given = np.array(bias.input_value(1).get_node().get_data(), dtype=np.float64).reshape(shape)
        bias.input(1).replace_source_output(_constant(given + lost.reshape(shape)))
        end = wide.output(0)
    for port in list(convolution.output(0).get_target_inputs()):
        if end.get_node() is not port.get_node():
            port.replace_source_output(end)


def _constant(value: NDArray[np.float64]) -> ov.Output:
    return op.constant(np.ascontiguousarray(value, dtype=np.float32)).output(0)
