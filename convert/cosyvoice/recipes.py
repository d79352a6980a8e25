"""Quantisation recipes of CosyVoice, as data."""

from __future__ import annotations

from convert.quantize import GraphRecipe, Recipe

GRAPHS = ("text_encoder", "speech_lm", "flow_encoder", "length_regulator", "estimator", "f0_predictor", "vocoder")
FLOAT, WEIGHTS = GraphRecipe("float32"), GraphRecipe("weights")

# Quantisers between these cost more accuracy than they save time: only convolutions and products with weights take int8.
_ELEMENT_WISE = (
    "Add", "Concat", "Convert", "FloorMod", "Gelu", "Interpolate", "Mish", "MVN", "Multiply", "Pad", "Power", "PRelu", "Reshape",
    "ScaledDotProductAttention", "Slice", "Split", "StridedSlice", "Subtract", "Swish", "Transpose", "Unsqueeze", "VariadicSplit",
)  # fmt: skip
# The last layer's output is exponentiated; the source's spectrum spans many magnitudes.
_VOCODER = GraphRecipe("int8", keep_float=(".*conv_post.*", ".*source_downs.*"), keep_float_types=_ELEMENT_WISE)
# A decode step has one row for each sentence. Its time is that of reading the weights, and where there is no VNNI only this way
# of multiplying reads them at memory's speed.
_SPEECH_LM = GraphRecipe("rows")
# Here rows are frames. A third less CPU for a block of a length seen before (2.4 s against 3.7 s a second of audio); what a new
# length costs, and the rounding in the mel, is not measured yet. The time's layers, which every frame depends on, stay float.
_ESTIMATOR = GraphRecipe("rows", keep_float=("time_mlp",))
# The f0 predictor stays float: an error of pitch is heard, and it is small. So does the length regulator.
_INT8 = {
    "text_encoder": WEIGHTS,
    "speech_lm": _SPEECH_LM,
    "flow_encoder": WEIGHTS,
    "length_regulator": FLOAT,
    "estimator": WEIGHTS,
    "f0_predictor": FLOAT,
    "vocoder": _VOCODER,
}
RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("float32", dict.fromkeys(GRAPHS, FLOAT)),
        Recipe("int8", _INT8, calibration_samples=6),
        Recipe("int8-activations", {**_INT8, "estimator": _ESTIMATOR}, calibration_samples=6),
        # int8 in memory, float arithmetic: nearest to the original, and nothing to calibrate
        Recipe("int8-weights", {**_INT8, "speech_lm": WEIGHTS, "vocoder": WEIGHTS}),
    )
}
DEFAULT = "int8"


def properties(recipe: Recipe) -> dict[str, dict[str, str]]:
    """What graphs are compiled with, by graph. The plugin's own choice is a cache of 8 bits, which float32 must not have."""
    exact = recipe.graphs["speech_lm"].method == "float32"
    return {
        "speech_lm": {"KV_CACHE_PRECISION": "f32" if exact else "u8"},
        # Of the activations, where the CPU has VNNI; larger groups than the plugin's own 32 are a tenth faster.
        "estimator": {"DYNAMIC_QUANTIZATION_GROUP_SIZE": "0" if exact else "128"},
    }
