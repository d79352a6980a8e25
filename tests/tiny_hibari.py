"""A synthetic hibari voice: an ONNX file built as the published one is, int8 products and all, with random parameters."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

from convert.hibari import graph
from edge_tts.bundle import Bundle, Manifest, VoiceEntry, open_bundle, write_manifest
from edge_tts.text.phonemes import ENGLISH_TABLE
from tests.reading_tables import reading_tables
from tests.tiny_voice import VOCABULARY, spelling_model

SAMPLE_RATE, N_FFT, HOP_LENGTH = 24000, 64, 16
BINS, WIDTH, N_IDS, FRAMES_PER_TOKEN = N_FFT // 2 + 1, 8, 178, 4
VOICES = (
    VoiceEntry("heart", "en-US", "Apache-2.0", "female"),
    VoiceEntry("emma", "en-GB", "Apache-2.0", "female"),
)
PARTS = ("lh", "theta", "ln", "lr", "phi")


def write_tiny_onnx(path: Path, seed: int = 0) -> Path:
    """A token is spoken for FRAMES_PER_TOKEN / speed frames, each the product of its embedding and an int8 matrix."""
    rng = np.random.default_rng(seed)
    # Half the range: without VNNI, ONNX Runtime's own kernel saturates beyond.
    weight = rng.integers(-63, 64, (WIDTH, len(PARTS) * BINS)).astype(np.int8)
    constants = {
        "embedding": rng.standard_normal((N_IDS, WIDTH)).astype(np.float32),
        "pitch": rng.uniform(0, 300, (N_IDS, 1)).astype(np.float32),
        "head_quantized": weight,
        "head_scale": np.array(0.008, np.float32),
        "head_zero_point": np.array(0, np.int8),
        "bias": np.concatenate([np.full(BINS, level, np.float32) for level in (-2, 0, -6, -6, 0)]),
        "per_token": np.array([FRAMES_PER_TOKEN], np.float32),
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "first": np.array([0], np.int64),
        "axis": np.array([2], np.int64),
        "sizes": np.full(len(PARTS), BINS, np.int64),
    }
    node = helper.make_node
    nodes = [
        # Frame f belongs to token f // frames per token.
        node("Div", ["per_token", "speed"], ["frames_float"]),
        node("Cast", ["frames_float"], ["frames"], to=TensorProto.INT64),
        node("Shape", ["ids"], ["shape"]),
        node("Gather", ["shape", "one"], ["n"]),
        node("Mul", ["n", "frames"], ["total"]),
        node("Squeeze", ["total", "first"], ["total_scalar"]),
        node("Range", ["zero", "total_scalar", "one"], ["positions"]),
        node("Div", ["positions", "frames"], ["tokens"]),
        node("Gather", ["ids", "tokens"], ["spread"], axis=1),
        node("Gather", ["embedding", "spread"], ["x"]),
        node("DynamicQuantizeLinear", ["x"], ["x_quantized", "x_scale", "x_zero_point"]),
        node("Mul", ["x_scale", "head_scale"], ["scales"]),
        node("MatMulInteger", ["x_quantized", "head_quantized", "x_zero_point", "head_zero_point"], ["y_integer"], name="head"),
        node("Cast", ["y_integer"], ["y_cast"], to=TensorProto.FLOAT),
        node("Mul", ["y_cast", "scales"], ["y"]),
        node("Add", ["bias", "y"], ["head"]),
        node("Transpose", ["head"], ["parts"], perm=[0, 2, 1]),
        node("Split", ["parts", "sizes"], list(PARTS), axis=1),
        node("Gather", ["pitch", "spread"], ["f0_column"]),
        node("Squeeze", ["f0_column", "axis"], ["f0"]),
    ]  # fmt: skip
    value = helper.make_tensor_value_info
    inputs = [value("ids", TensorProto.INT64, [1, "tokens"]), value("speed", TensorProto.FLOAT, [1])]
    outputs = [value(name, TensorProto.FLOAT, [1, BINS, "frames"]) for name in PARTS]
    outputs.append(value("f0", TensorProto.FLOAT, [1, "frames"]))
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    model = helper.make_model(
        helper.make_graph(nodes, "tiny", inputs, outputs, tensors), opset_imports=[helper.make_opsetid("", 17)], ir_version=10
    )
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
    return path


def write_tiny_bundle(directory: Path) -> Bundle:
    """Write the voices as a bundle into an empty directory, which is made if need be."""
    (directory / "voices").mkdir(parents=True)
    for seed, voice in enumerate(VOICES):
        path = write_tiny_onnx(directory / "tiny.onnx", seed)
        model = graph.read(path, integer_weights=True)
        ov.save_model(model, str(directory / "voices" / f"{voice.name}.xml"), compress_to_fp16=False)
        path.unlink()
    shutil.copyfile(reading_tables() / ENGLISH_TABLE, directory / ENGLISH_TABLE)
    for accent in ("us", "gb"):
        ov.save_model(spelling_model(), str(directory / f"unknown-words-{accent}.xml"), compress_to_fp16=False)
        alphabet = {"in": "abcdefghijklmnopqrstuvwxyz", "out": "abcdefɡhijklmnopkrstuvwksiz", "maxlen": 32}
        (directory / f"unknown-words-{accent}.json").write_text(json.dumps(alphabet), encoding="utf-8")
    manifest = Manifest(
        family="hibari", name="tiny-hibari", sample_rate=SAMPLE_RATE, languages=("en",), voices=VOICES,
        default_voices={"": "heart"}, recipe={"name": "weights"}, provenance={"sources": [], "tools": {}},
        settings={"vocabulary": VOCABULARY, "n_fft": N_FFT, "hop_length": HOP_LENGTH},
    )  # fmt: skip
    write_manifest(directory, manifest)
    return open_bundle(directory)
