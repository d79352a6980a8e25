"""Quantisation recipes as data, and their application with NNCF."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import nncf
import numpy as np
import openvino as ov
from nncf.quantization.advanced_parameters import AdvancedQuantizationParameters, OverflowFix
from openvino import opset15 as op

from convert import low_rank
from convert.low_rank import Sample as Sample
from convert.row_int8 import quantise_rows


@dataclass(frozen=True)
class GraphRecipe:
    """How one graph is stored and computed.

    method: "float32" as it is; "weights" int8 weights, float arithmetic; "int8" weights and activations (post-training);
        "rows" matrix products in int8 by `row_int8`, uncalibrated, and what is left as with "weights"
    keep_float: regular expressions of node names that stay float under "int8" and "rows"
    keep_float_types: operations that stay float; without them NNCF puts quantisers between all element-wise ones too
    symmetric: whether activations are quantised around zero
    smooth_quant_alpha: of "int8", -1 turns SmoothQuant off
    low_rank: of "int8", convolutions that are made cheaper first, and how much of their variance that may cost: see `low_rank`
    statistics_step: normalisation over the many frames after upsampling takes its mean and variance from every n-th of them; the
        graph is built so, `apply` does nothing about it
    """

    method: Literal["float32", "weights", "int8", "rows"]
    keep_float: tuple[str, ...] = ()
    keep_float_types: tuple[str, ...] = ()
    symmetric: bool = True
    smooth_quant_alpha: float = -1.0
    low_rank: tuple[tuple[str, float], ...] = ()
    statistics_step: int = 1


@dataclass(frozen=True)
class Recipe:
    """A named set of graph recipes, and how many samples calibrate it."""

    name: str
    graphs: dict[str, GraphRecipe] = field(default_factory=dict)
    calibration_samples: int = 0

    def as_data(self) -> dict[str, Any]:
        """The recipe for a bundle's manifest."""
        return asdict(self)


def apply(model: ov.Model, recipe: GraphRecipe, samples: Iterable[Sample] = ()) -> ov.Model:
    """The model after its recipe; "int8" needs calibration samples, each a mapping of input names to arrays."""
    nncf.set_log_level(logging.WARNING)
    if recipe.method == "float32":
        return model
    if recipe.method == "rows":
        quantise_rows(model, recipe.keep_float)
    if recipe.method in ("weights", "rows"):
        compress_recurrent_weights(model)
        return nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_ASYM)
    given = list(samples)
    if recipe.low_rank:
        low_rank.factorise(model, given, recipe.low_rank)
    return nncf.quantize(
        model,
        nncf.Dataset(given),
        preset=nncf.QuantizationPreset.PERFORMANCE if recipe.symmetric else nncf.QuantizationPreset.MIXED,
        subset_size=len(given),
        ignored_scope=nncf.IgnoredScope(
            patterns=list(recipe.keep_float), types=list(recipe.keep_float_types), validate=False
        ),
        advanced_parameters=AdvancedQuantizationParameters(
            # CPUs without VNNI add u8*i8 products into 16 bits; half the weights' range keeps that from saturating.
            overflow_fix=OverflowFix.ENABLE,
            smooth_quant_alphas=nncf.AdvancedSmoothQuantParameters(
                convolution=recipe.smooth_quant_alpha, matmul=recipe.smooth_quant_alpha
            ),
        ),
    )


def compress_recurrent_weights(model: ov.Model) -> None:
    """Store LSTM weights as int8 with a scale for every gate's row, in place: NNCF leaves recurrent layers alone.

    The plugin unfolds them when it compiles, so this is about the size of the file only.
    """
    for node in model.get_ops():
        if node.get_type_name() != "LSTMSequence":
            continue
        for port in (4, 5):  # W [directions, 4 * hidden, in], R [directions, 4 * hidden, hidden]
            source = node.input_value(port)
            weight = np.array(source.get_node().get_data(), dtype=np.float32)
            scale = np.maximum(np.abs(weight).max(axis=2, keepdims=True) / 127.0, 1e-12)
            levels = op.constant(np.rint(weight / scale).astype(np.int8))
            restored = op.multiply(op.convert(levels, "f32"), op.constant(scale.astype(np.float32)))
            node.input(port).replace_source_output(restored.output(0))
    model.validate_nodes_and_infer_types()
