"""What vocoders are made of, in operations that OpenVINO's CPU plugin is quick at."""

from __future__ import annotations

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset15 as op

# A (((w^2 + a)^2 + b)^2 + c) nears cos(pi w) for w in [-1/2, 1/2] to 3e-6; the numbers minimise the largest error. With this c it
# is 0 at the ends, so that its square is small where sin^2 is.
_A, _B, _AMPLITUDE = -2.31375273, -1.52907749, 0.13941226
_C = -(((0.25 + _A) ** 2 + _B) ** 2)


def sine_squared(turns: ov.Output) -> ov.Output:
    """sin^2(pi turns) of any shape, error below 9e-6 in float32: the square of cos(pi w), w being `turns` modulo 1 less a half.

    For Snake activations. The plugin's own Sin is a scalar kernel that costs a fifth of a vocoder. It makes one pass over memory
    of a chain of operations with one changing input each; a polynomial that uses its argument twice would end the chain.
    """
    w = op.subtract(op.floor_mod(turns, _constant(1.0)), _constant(0.5))
    value = op.power(w, _constant(2.0))
    for shift in (_A, _B):
        value = op.power(op.add(value, _constant(shift)), _constant(2.0))
    cosine = op.multiply(op.add(value, _constant(_C)), _constant(_AMPLITUDE))
    return op.power(cosine, _constant(2.0)).output(0)


def upsampled(x: ov.Output, weight: NDArray[np.float32], name: str) -> ov.Output:
    """A transposed convolution as a plain one and a shuffle: [1, in, 1, n] -> [1, out, 1, rate * n].

    weight: [in, out, 2 * rate], the transposed convolution's, of stride `rate` and padding rate / 2, rate even
    name: of the plain convolution

    Output k sees inputs m and m - 1, m = (k + rate / 2) // rate, through the taps (k + rate / 2) % rate and that plus `rate`:
    one convolution makes the `rate` phases of every m as channels, and they are laid out in time. The plugin's own transposed
    convolution is slower, and is not quantised.
    """
    n_in, n_out, kernel = weight.shape
    rate = kernel // 2
    if kernel % 4:
        raise ValueError(f"{name}: kernel {kernel} is not twice an even stride")
    taps = np.stack([weight[:, :, rate:], weight[:, :, :rate]], axis=-1)  # [in, out, phase, 2]: inputs m - 1, m
    phases = np.ascontiguousarray(taps.transpose(2, 1, 0, 3).reshape(rate * n_out, n_in, 1, 2), dtype=np.float32)
    node = op.convolution(x, op.constant(phases), [1, 1], [0, 1], [0, 1], [1, 1])  # [1, rate * out, 1, n + 1]
    node.friendly_name = name
    steps = op.reshape(op.transpose(node, _ints(0, 2, 3, 1)), _ints(1, 1, -1, n_out), False)
    shuffled = op.transpose(steps, _ints(0, 3, 1, 2))  # [1, out, 1, rate * (n + 1)]
    return op.slice(shuffled, _ints(rate // 2), _ints(rate // 2 - rate), _ints(1), _ints(3)).output(0)


def _constant(value: float) -> ov.Output:
    return op.constant(value, ov.Type.f32).output(0)


def _ints(*values: int) -> ov.Output:
    return op.constant(np.array(values, dtype=np.int64)).output(0)
