"""Quantisation recipes as data, and their application with NNCF."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import nncf
import openvino as ov
from nncf.quantization.advanced_parameters import AdvancedQuantizationParameters, OverflowFix
from numpy.typing import NDArray

Sample = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class GraphRecipe:
    """How one graph is stored and computed.

    method: "float32" as it is; "weights" int8 weights, float arithmetic; "int8" weights and activations (post-training)
    keep_float: regular expressions of node names that stay float under "int8"
    smooth_quant_alpha: of "int8", -1 turns SmoothQuant off
    transformer: whether NNCF treats the graph as a transformer
    """

    method: Literal["float32", "weights", "int8"]
    keep_float: tuple[str, ...] = ()
    fast_bias_correction: bool = True
    smooth_quant_alpha: float = -1.0
    transformer: bool = False


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
    if recipe.method == "weights":
        return nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_ASYM)
    given = list(samples)
    return nncf.quantize(
        model,
        nncf.Dataset(given),
        preset=nncf.QuantizationPreset.MIXED,
        subset_size=len(given),
        fast_bias_correction=recipe.fast_bias_correction,
        model_type=nncf.ModelType.TRANSFORMER if recipe.transformer else None,
        ignored_scope=nncf.IgnoredScope(patterns=list(recipe.keep_float), validate=False),
        advanced_parameters=AdvancedQuantizationParameters(
            # CPUs without VNNI add u8*i8 products into 16 bits; half the weights' range keeps that from saturating.
            overflow_fix=OverflowFix.ENABLE,
            smooth_quant_alphas=nncf.AdvancedSmoothQuantParameters(
                convolution=recipe.smooth_quant_alpha, matmul=recipe.smooth_quant_alpha
            ),
        ),
    )
