"""Matrix products with constant weights as int8 convolutions of 1x1, each row of activations scaled by its own largest value.

Why convolutions: without VNNI the CPU plugin decompresses int8 weights of a matrix product to float at every call (half the
speed of memory with one row), and its int8 matrix products are slower still, while its int8 convolution reads the weights as fast
as memory gives them. Each row is an image of one point: side by side in one image they would have to be turned round before and
after, which costs more than it gains. Why a scale for each row: it needs no calibration, and an outlier spoils its own row only.

Weights have 127 levels, not 255: a CPU without VNNI adds two products of 8 bits into 16, which then cannot overflow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from convert.stateful import constant

_LEVELS = 63
_LEAST = 1e-9


def quantise_rows(model: ov.Model, keep_float: Sequence[str] = ()) -> int:
    """Change every MatMul of the model that has a constant matrix, in place; returns how many.

    keep_float: regular expressions of names that stay as they are
    """
    kept = [re.compile(pattern) for pattern in keep_float]
    scaled: dict[tuple[str, int], tuple[ov.Node, ov.Node]] = {}  # products of one input share its int8 form
    n_changed = 0
    for node in model.get_ordered_ops():
        weight = _constant_matrix(node)
        if weight is None or any(pattern.search(node.friendly_name) for pattern in kept):
            continue
        x = node.input_value(0)
        key = x.get_node().friendly_name, x.get_index()
        if key not in scaled:
            scaled[key] = _int8_rows(x, weight.shape[1])
        rows, scale = scaled[key]
        product = ops.multiply(_product(rows, weight, x, node.friendly_name), scale)
        for target in node.output(0).get_target_inputs():
            target.replace_source_output(product.output(0))
        n_changed += 1
    model.validate_nodes_and_infer_types()
    return n_changed


def _constant_matrix(node: ov.Node) -> np.ndarray | None:
    """The weights [out, in] of a product with a constant matrix."""
    if node.get_type_name() != "MatMul" or node.get_attributes()["transpose_a"]:
        return None
    source = node.input_value(1).get_node()
    if source.get_type_name() != "Constant" or len(source.shape) != 2:
        return None
    weight = np.array(source.get_data(), dtype=np.float32)
    return weight if node.get_attributes()["transpose_b"] else weight.T


def _int8_rows(x: ov.Output, size: int) -> tuple[ov.Node, ov.Node]:
    """The rows of x [..., size] in 8 bits, an image each, and what their products are to be multiplied with: [..., 1]."""
    # The quantiser's range is that of int8, -128 to 127 over 128, and the largest value is to be 127.
    magnitude = ops.add(ops.multiply(ops.abs(x), constant(128 / 127)), constant(_LEAST))
    scale = ops.reduce_max(magnitude, constant([-1], np.int64), True)
    low, high = constant(-1.0), constant(127 / 128)
    quantised = ops.fake_quantize(ops.divide(x, scale), low, high, low, high, 256)
    return ops.reshape(quantised, constant([-1, size, 1, 1], np.int64), False), scale


def _product(rows: ov.Node, weight: np.ndarray, x: ov.Output, name: str) -> ov.Node:
    """The product with int8 weights, in the shape that the MatMul's result has."""
    n_out, n_in = weight.shape
    scale = np.maximum(np.abs(weight).max(axis=1, keepdims=True), 1e-12) / _LEVELS
    levels = ov.op.Constant(np.rint(weight / scale).astype(np.int8).reshape(n_out, n_in, 1, 1))
    restored = ops.multiply(ops.convert(levels, "f32"), constant(scale.reshape(n_out, 1, 1, 1)))
    node = ops.convolution(rows, restored, [1, 1], [0, 0], [0, 0], [1, 1])
    node.friendly_name = name
    rank = x.get_partial_shape().rank.get_length()
    if rank == 2:
        return ops.reshape(node, constant([-1, n_out], np.int64), False)
    before = ops.gather(ops.shape_of(x, output_type="i64"), constant(list(range(rank - 1)), np.int64), constant(0, np.int64))
    return ops.reshape(node, ops.concat([before, constant([n_out], np.int64)], 0), False)
