"""Convolutions split in two: exact where their outputs have that rank, untouched where it saves nothing."""

import numpy as np
import openvino as ov
import pytest
from openvino import opset15 as op

from convert import low_rank

N_IN, N_OUT, KERNEL = 48, 64, 5
rng = np.random.default_rng(3)


def a_model(weight, bias, residual=False):
    x = op.parameter([1, N_IN, 1, -1], ov.Type.f32, name="x")
    x.output(0).set_names({"x"})
    convolution = op.convolution(x, op.constant(weight.astype(np.float32)), [1, 1], [0, 2], [0, 2], [1, 1])
    convolution.friendly_name = "block.conv"
    y = op.add(convolution, op.constant(bias.astype(np.float32)))
    if residual:
        loud = rng.standard_normal((N_OUT, N_IN, 1, 1)).astype(np.float32)
        widened = op.convolution(x, op.constant(loud), [1, 1], [0, 0], [0, 0], [1, 1])
        y = op.add(y, widened)
    return ov.Model([op.result(y)], [x], "m")


def samples(n=4, frames=400):
    return [{"x": rng.standard_normal((1, N_IN, 1, frames)).astype(np.float32) + 1.0} for _ in range(n)]


def outputs(model, given):
    compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return [compiled(sample)[0].copy() for sample in given]


def a_weight(rank):
    full = rng.standard_normal((N_OUT, rank)) @ rng.standard_normal((rank, N_IN * KERNEL))
    return full.reshape(N_OUT, N_IN, 1, KERNEL) / 30


def products(model):
    shapes = [n.input(1).get_partial_shape().to_shape() for n in model.get_ops() if n.get_type_name() == "Convolution"]
    return sum(int(np.prod(shape)) for shape in shapes)


def test_a_convolution_of_low_rank_becomes_two_that_say_the_same():
    model, given = a_model(a_weight(16), rng.standard_normal((1, N_OUT, 1, 1))), samples()
    before, cost = outputs(model, given), products(model)
    assert low_rank.factorise(model, given, [(r"block\.conv", 1e-6)]) == {"block.conv": 16}
    assert products(model) == 16 * (N_IN * KERNEL + N_OUT) < cost / 3
    for old, new in zip(before, outputs(model, given), strict=True):
        np.testing.assert_allclose(new, old, atol=2e-5)


@pytest.mark.parametrize("error", [0.08, 0.15, 0.3])
def test_what_is_left_out_stays_below_the_error_that_was_allowed(error):
    spectrum = 0.3 * a_weight(64) + a_weight(24)  # no sharp end
    model, given = a_model(spectrum, np.zeros((1, N_OUT, 1, 1))), samples()
    before = np.concatenate(outputs(model, given), axis=3)
    assert low_rank.factorise(model, given, [(".*", error)])
    after = np.concatenate(outputs(model, given), axis=3)
    lost = ((after - before) ** 2).mean(axis=(0, 2, 3)) / before.var(axis=(0, 2, 3))
    assert 0 < lost.mean() <= error * 1.1  # the gain costs a little
    np.testing.assert_allclose(after.std(axis=(0, 2, 3)), before.std(axis=(0, 2, 3)), rtol=0.02)


def test_the_mean_of_what_is_left_out_is_kept():
    model, given = a_model(a_weight(64), np.zeros((1, N_OUT, 1, 1))), samples()
    before = np.concatenate(outputs(model, given), axis=3)
    low_rank.factorise(model, given, [(".*", 0.3)])
    after = np.concatenate(outputs(model, given), axis=3)
    np.testing.assert_allclose(after.mean(axis=3), before.mean(axis=3), atol=0.02 * before.std())


def test_a_convolution_of_full_rank_stays():
    model, given = a_model(a_weight(64), np.zeros((1, N_OUT, 1, 1))), samples()
    before = outputs(model, given)
    assert low_rank.factorise(model, given, [(".*conv", 1e-4)]) == {}
    for old, new in zip(before, outputs(model, given), strict=True):
        np.testing.assert_array_equal(new, old)


def test_a_branch_is_judged_by_the_sum_that_it_joins():
    weight, bias = a_weight(64), np.zeros((1, N_OUT, 1, 1))
    alone, joined = a_model(weight, bias), a_model(weight, bias, residual=True)
    given = samples()
    ranks = [low_rank.factorise(model, given, [(r"block\.conv", 0.05)]) for model in (alone, joined)]
    assert ranks == [{}, {"block.conv": 32}]


def test_only_what_a_rule_names_is_touched_and_the_first_rule_counts():
    given = samples()
    model = a_model(a_weight(16), np.zeros((1, N_OUT, 1, 1)))
    assert low_rank.factorise(model, given, [("another", 0.5)]) == {}
    assert low_rank.factorise(model, given, [(r"block\..*", 1e-6), (".*", 0.9)]) == {"block.conv": 16}
