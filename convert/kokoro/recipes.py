"""Kokoro's quantisation recipes as data.

The duration predictor does not stand quantised activations (words vanish, sentences stretch), so the text and prosody graphs
keep float arithmetic over int8 weights. The decoder is convolutional and takes int8 throughout, but for its last layer, whose
output is exponentiated, and its first ones, which see f0 in hertz.
"""

from __future__ import annotations

from convert.quantize import GraphRecipe, Recipe

RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("float32", {name: GraphRecipe("float32") for name in ("text", "prosody", "decoder")}),
        Recipe("weights", {name: GraphRecipe("weights") for name in ("text", "prosody", "decoder")}),
        Recipe(
            "int8",
            {
                "text": GraphRecipe("weights"),
                "prosody": GraphRecipe("weights"),
                "decoder": GraphRecipe(
                    "int8",
                    keep_float=(
                        r"decoder\.generator\.conv_post",
                        r"decoder\.generator\.noise_convs.*",
                        r"decoder\.(F0|N)_conv",
                        r".*\.fc\.all",
                    ),
                    # Only convolutions take int8. With quantisers between the element-wise operations as well, as NNCF does by
                    # itself, Snake's squares and the normalisations drown: mel distance 6.8 dB instead of 1.0 dB.
                    keep_float_types=(
                        "Add", "Concat", "FloorMod", "MVN", "Multiply", "PRelu", "Pad", "Power", "ReduceMean", "Relu",
                        "Reshape", "Slice", "Split", "Subtract", "Transpose", "Unsqueeze",
                    ),
                    # Normalisation reads and writes every frame four times, 14 % of the decoder. From every 7th frame, deviations
                    # are 1-3 % off, channel by channel, and the voice sounds the same (mel distance 2.41 for 2.40 dB). 7 because
                    # transposed convolutions leave patterns of 6 and 60 frames, which every 3rd or 4th sees askew: 10 % off.
                    statistics_step=7,
                    # The harmonic source's branch knows little more than f0, so its 128 and 256 channels are mostly repetition.
                    low_rank=(
                        (r"decoder\.generator\.noise_res\..*convs.*", 0.12),
                        (r"decoder\.generator\.resblocks\..*convs.*", 0.035),
                    ),
                ),
            },
            calibration_samples=24,
        ),
    )
}  # fmt: skip
DEFAULT = "int8"
