"""Row-wise int8 products against the same integers multiplied in numpy."""

from __future__ import annotations

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from convert.row_int8 import quantise_rows

RNG = np.random.default_rng(0)


def product_model(weight: np.ndarray, rank: int) -> ov.Model:
    x = ops.parameter([-1] * (rank - 1) + [weight.shape[1]], np.float32)
    product = ops.matmul(x, ops.constant(weight), False, True)
    product.friendly_name = "product"
    return ov.Model([ops.result(product)], [x], "product")


def run(model: ov.Model, x: np.ndarray) -> np.ndarray:
    return np.array(ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x])[0])


@pytest.mark.parametrize("shape", [(1, 64), (5, 64), (1, 1, 256), (2, 3, 256)])
@pytest.mark.parametrize("equal", [False, True])
def test_a_product_is_that_of_the_rounded_numbers(shape: tuple[int, ...], equal: bool) -> None:
    weight = RNG.standard_normal((48, shape[-1]), np.float32)
    x = RNG.standard_normal(shape, np.float32)
    if equal:  # all at the end of their range, where sums of 16 bits would overflow
        weight, x = np.abs(weight).clip(0.99, 1.0), np.abs(x).clip(0.99, 1.0)
    model = product_model(weight, len(shape))
    assert quantise_rows(model) == 1
    scale = np.abs(weight).max(axis=1, keepdims=True) / 63
    largest = np.abs(x).max(axis=-1, keepdims=True)
    wanted = (np.rint(x / largest * 127) * largest / 127) @ (np.rint(weight / scale) * scale).T
    np.testing.assert_allclose(run(model, x), wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_an_outlier_spoils_its_own_row_only() -> None:
    weight = RNG.standard_normal((32, 64), np.float32)
    x = RNG.standard_normal((1, 2, 64), np.float32)
    model = product_model(weight, 3)
    quantise_rows(model)
    before = run(model, x)
    x[0, 0, 0] = 1e4
    np.testing.assert_array_equal(run(model, x)[0, 1], before[0, 1])


def test_a_row_of_zeros_stays_zero() -> None:
    model = product_model(RNG.standard_normal((32, 64), np.float32), 3)
    quantise_rows(model)
    assert not run(model, np.zeros((1, 2, 64), np.float32)).any()


def test_what_is_to_stay_float_is_left_alone() -> None:
    model = product_model(RNG.standard_normal((32, 64), np.float32), 3)
    assert quantise_rows(model, ["^prod"]) == 0
    assert "Convolution" not in {node.get_type_name() for node in model.get_ops()}
