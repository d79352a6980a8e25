"""sin^2 in operations that OpenVINO's CPU plugin fuses: what the Snake activations of vocoders are made of.

The plugin's own Sin is a scalar kernel that costs a fifth of a vocoder. It makes one pass over memory of a chain of operations
with one changing input each; a polynomial that uses its argument twice would end the chain.
"""

from __future__ import annotations

import openvino as ov
from openvino import opset15 as op

# A (((w^2 + a)^2 + b)^2 + c) nears cos(pi w) for w in [-1/2, 1/2] to 3e-6; the numbers minimise the largest error. With this c it
# is 0 at the ends, so that its square is small where sin^2 is.
_A, _B, _AMPLITUDE = -2.31375273, -1.52907749, 0.13941226
_C = -(((0.25 + _A) ** 2 + _B) ** 2)


def sine_squared(turns: ov.Output) -> ov.Output:
    """sin^2(pi turns) of any shape, error below 6e-6: the square of cos(pi w), w being `turns` modulo 1 less a half."""
    w = op.subtract(op.floor_mod(turns, _constant(1.0)), _constant(0.5))
    value = op.power(w, _constant(2.0))
    for shift in (_A, _B):
        value = op.power(op.add(value, _constant(shift)), _constant(2.0))
    cosine = op.multiply(op.add(value, _constant(_C)), _constant(_AMPLITUDE))
    return op.power(cosine, _constant(2.0)).output(0)


def _constant(value: float) -> ov.Output:
    return op.constant(value, ov.Type.f32).output(0)
