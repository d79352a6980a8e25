"""A synthetic Piper voice: an ONNX file with what the published ones have (VITS), and its configuration, in small sizes.

Its phonemes are text, so that it needs no espeak-ng. It draws its noise itself, as they do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLE_RATE, CHANNELS, HIDDEN, UPSAMPLING = 16000, 4, 6, 8
LETTERS = "_^$ !',-.:;?abcdefghijklmnopqrstuvwxyz"
# Frames on either side that a frame is heard in: kernels of 3 before and of 4 UPSAMPLING samples after the upsampling.
SPEAKERS = ("anna", "ben")


def write_tiny_onnx(path: Path, *, speakers: int = 1, seed: int = 0) -> Path:
    """Write the graph; with more than one speaker it takes `sid`."""
    rng = np.random.default_rng(seed)
    many = speakers > 1

    def random(*shape: int, scale: float = 0.5) -> np.ndarray:
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    constants: dict[str, np.ndarray] = {
        "embedding": random(len(LETTERS), 2 * CHANNELS),
        "duration_table": rng.uniform(0.5, 1.8, (len(LETTERS), 1)).astype(np.float32),
        "pre_w": random(HIDDEN, CHANNELS, 3), "pre_b": random(HIDDEN),
        "up_w": random(HIDDEN, HIDDEN, 2 * UPSAMPLING), "up_b": random(HIDDEN),
        "post_w": random(1, HIDDEN, 3, scale=0.1),
        "flow_w": random(CHANNELS, CHANNELS, 1), "flow_b": random(CHANNELS),
        "halves": np.full(2, CHANNELS, np.int64), "durations_wanted": np.array([1], np.int64),
        "i0": np.array(0, np.int64), "i1": np.array(1, np.int64), "i2": np.array(2, np.int64),
        "a0": np.array([0], np.int64), "a1": np.array([1], np.int64), "a2": np.array([2], np.int64),
        "two_rows": np.array([2], np.int64), "one_row": np.array([1], np.int64), "last_axis": np.array(2, np.int64),
        "least": np.array(1, np.float32), "sum_axes": np.array([1, 2], np.int64), "small": np.array(0.3, np.float32),
    }  # fmt: skip
    if many:
        constants |= {"speaker_table": random(speakers, 3), "cond_w": random(HIDDEN, 3, 1), "cond_b": random(HIDDEN)}
    node = helper.make_node
    nodes = [
        node("Gather", ["scales", "i0"], ["noise_scale"]),
        node("Gather", ["scales", "i1"], ["length_scale"]),
        node("Gather", ["scales", "i2"], ["noise_w"]),
        # Text encoder.
        node("Gather", ["embedding", "input"], ["embedded"]),
        node("Transpose", ["embedded"], ["stats"], perm=[0, 2, 1]),
        node("Split", ["stats", "halves"], ["m_p", "logs_p"], axis=1),
        # Stochastic durations.
        node("Shape", ["input"], ["text_shape"]),
        node("Concat", ["one_row", "two_rows", "n_tokens"], ["noise_shape"], axis=0),
        node("ConstantOfShape", ["noise_shape"], ["like"]),
        node("RandomNormalLike", ["like"], ["duration_noise"]),
        node("Mul", ["duration_noise", "noise_w"], ["duration_noise_scaled"]),
        node("Slice", ["duration_noise_scaled", "a0", "durations_wanted", "a1"], ["one_noise"]),
        node("Mul", ["one_noise", "small"], ["little_noise"]),
        node("Gather", ["duration_table", "input"], ["log_w_column"]),
        node("Transpose", ["log_w_column"], ["log_w_mean"], perm=[0, 2, 1]),
        node("Add", ["log_w_mean", "little_noise"], ["log_w"]),
        node("Exp", ["log_w"], ["w_unmasked"]),
        node("Mul", ["w_unmasked", "least"], ["w"]),
        node("Mul", ["w", "length_scale"], ["w_scaled"]),
        node("Ceil", ["w_scaled"], ["w_ceil"]),
        # Mask and alignment.
        node("ReduceSum", ["w_ceil", "sum_axes"], ["y_sum"], keepdims=0),
        node("Clip", ["y_sum", "least"], ["y_clipped"]),
        node("Cast", ["y_clipped"], ["y_lengths"], to=TensorProto.INT64),
        node("ReduceMax", ["y_lengths"], ["y_max"], keepdims=0),
        node("Range", ["i0", "y_max", "i1"], ["positions"]),
        node("Unsqueeze", ["positions", "a0"], ["positions_row"]),
        node("Unsqueeze", ["y_lengths", "a1"], ["y_column"]),
        node("Less", ["positions_row", "y_column"], ["inside"]),
        node("Unsqueeze", ["inside", "a1"], ["inside_3d"]),
        node("Cast", ["inside_3d"], ["y_mask"], to=TensorProto.FLOAT),
        node("CumSum", ["w_ceil", "last_axis"], ["ends"]),
        node("Sub", ["ends", "w_ceil"], ["starts"]),
        node("Cast", ["positions"], ["positions_float"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["positions_float", "a1"], ["positions_column"]),
        node("Less", ["positions_column", "ends"], ["before_end"]),
        node("Less", ["positions_column", "starts"], ["before_start"]),
        node("Cast", ["before_end"], ["before_end_float"], to=TensorProto.FLOAT),
        node("Cast", ["before_start"], ["before_start_float"], to=TensorProto.FLOAT),
        node("Sub", ["before_end_float", "before_start_float"], ["attn"]),
        node("Transpose", ["m_p"], ["m_p_t"], perm=[0, 2, 1]),
        node("MatMul", ["attn", "m_p_t"], ["m_spread"]),
        node("Transpose", ["m_spread"], ["mean"], perm=[0, 2, 1]),
        node("Transpose", ["logs_p"], ["logs_p_t"], perm=[0, 2, 1]),
        node("MatMul", ["attn", "logs_p_t"], ["logs_spread"]),
        node("Transpose", ["logs_spread"], ["logs"], perm=[0, 2, 1]),
        # Drawing.
        node("RandomNormalLike", ["mean"], ["noise"]),
        node("Exp", ["logs"], ["deviation"]),
        node("Mul", ["noise", "deviation"], ["noise_deviation"]),
        node("Mul", ["noise_deviation", "noise_scale"], ["noise_scaled"]),
        node("Add", ["mean", "noise_scaled"], ["z_p"]),
        # Flow.
        node("Conv", ["z_p", "flow_w", "flow_b"], ["flowed"]),
        node("Mul", ["flowed", "y_mask"], ["flowed_masked"]),
        node("Add", ["flowed_masked", "z_p"], ["z_sum"]),
        node("Mul", ["z_sum", "y_mask"], ["z"]),
        # Vocoder.
        node("Conv", ["z", "pre_w", "pre_b"], ["pre"], pads=[1, 1]),
    ]  # fmt: skip
    if many:
        nodes += [
            node("Gather", ["speaker_table", "sid"], ["g_row"]),
            node("Unsqueeze", ["g_row", "a2"], ["g"]),
            node("Conv", ["g", "cond_w", "cond_b"], ["cond"]),
            node("Add", ["pre", "cond"], ["pre_cond"]),
        ]
    pads = [UPSAMPLING // 2] * 2
    nodes += [
        node("LeakyRelu", ["pre_cond" if many else "pre"], ["active"], alpha=0.1),
        node("ConvTranspose", ["active", "up_w", "up_b"], ["up"], strides=[UPSAMPLING], pads=pads),
        node("LeakyRelu", ["up"], ["up_active"], alpha=0.01),
        node("Conv", ["up_active", "post_w"], ["post"], pads=[1, 1]),
        node("Tanh", ["post"], ["wave"]),
        node("Unsqueeze", ["wave", "a1"], ["output"]),
    ]
    nodes.insert(7, node("Gather", ["text_shape", "a1"], ["n_tokens"]))
    value = helper.make_tensor_value_info
    inputs = [
        value("input", TensorProto.INT64, ["batch_size", "phonemes"]),
        value("input_lengths", TensorProto.INT64, ["batch_size"]),
        value("scales", TensorProto.FLOAT, [3]),
    ]
    if many:
        inputs.append(value("sid", TensorProto.INT64, ["batch_size"]))
    outputs = [value("output", TensorProto.FLOAT, ["batch_size", "time", 1, "samples"])]
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
    return path


def tiny_config(*, speakers: int = 1) -> dict[str, Any]:
    """The configuration, as it lies beside a voice."""
    return {
        "audio": {"sample_rate": SAMPLE_RATE, "quality": "medium"},
        "espeak": {"voice": "en-us"},
        "language": {"code": "en_US"},
        "phoneme_type": "text",
        "num_symbols": len(LETTERS),
        "num_speakers": speakers,
        "speaker_id_map": {name: i for i, name in enumerate(SPEAKERS[:speakers])} if speakers > 1 else {},
        "inference": {"noise_scale": 0.667, "length_scale": 1.0, "noise_w": 0.8},
        "phoneme_id_map": {letter: [i] for i, letter in enumerate(LETTERS)},
    }


def write_tiny_voice(directory: Path, *, speakers: int = 1) -> Path:
    """The two files of a voice, in a directory that is made if need be; returns the ONNX file."""
    directory.mkdir(parents=True, exist_ok=True)
    path = write_tiny_onnx(directory / "en_US-tiny-low.onnx", speakers=speakers)
    path.with_name(path.name + ".json").write_text(json.dumps(tiny_config(speakers=speakers)), encoding="utf-8")
    return path
