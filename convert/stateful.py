"""A key/value cache inside an IR: variables that grow along one axis with every call and follow a reordering of the batch.

The pattern is the one that OpenVINO's CPU plugin fuses with attention: ReadValue -> Gather by `beam_idx` -> Concat -> Assign.
A request reset empties the cache; a `beam_idx` with fewer or repeated rows drops or repeats sequences.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import openvino as ov
from openvino import opset13 as ops

TIME_AXIS = 2


@dataclass
class CacheBuilder:
    """Builds the caches of one model, whose batch dimension is that of `batch_source`'s first axis.

    beam_idx: [batch] int32 parameter; row i of the cache goes on from row beam_idx[i]
    """

    batch_source: ov.Output
    beam_idx: ov.Output
    n_heads: int
    head_size: int
    sinks: list[ov.Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape = ops.shape_of(self.batch_source, output_type="i64")
        batch = ops.gather(shape, constant([0], np.int64), constant(0, np.int64))
        empty = ops.concat([batch, constant([self.n_heads, 0, self.head_size], np.int64)], 0)
        self._empty = ops.broadcast(constant(0.0), empty)  # [batch, heads, 0, head size]

    def grow(self, name: str, new: ov.Node) -> ov.Node:
        """The cache `name` with `new` [batch, heads, n, head size] behind it, which is also what it holds from now on."""
        partial_shape = ov.PartialShape([-1, self.n_heads, -1, self.head_size])
        past = ops.read_value(self._empty, name, ov.Type.f32, partial_shape)
        past = ops.gather(past, self.beam_idx, constant(0, np.int64))
        grown = ops.concat([past, new], TIME_AXIS)
        self.sinks.append(ops.assign(grown, name))
        return grown


def constant(value: object, dtype: type = np.float32) -> ov.Node:
    """A constant that shares the memory of an array which has that type already."""
    array: np.ndarray = np.ascontiguousarray(value, dtype=dtype)
    return ov.op.Constant(array, shared_memory=array.ndim > 0)
