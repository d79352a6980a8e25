"""Kokoro's parameters as float32 arrays under their official PyTorch names, read from either form they are published in.

`kokoro-v1.0.int8.onnx` holds integer weights with scales and zero points, and names them after the exporter's nodes rather than
the modules; `kokoro-v1_0.pth` holds the official names with weight norm not yet folded. Both end up as
`decoder.encode.conv1.weight`, `predictor.lstm.weight_ih_l0_reverse` and so on, so that one graph builder serves both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge_tts.errors import BundleError, MissingExtraError

Array = NDArray[np.float32]
Weights = dict[str, Array]
Constants = dict[str, NDArray[Any]]

# ONNX keeps LSTM gates in the order input, output, forget, cell; PyTorch input, forget, cell, output.
_TORCH_GATES_IN_ONNX = (0, 2, 3, 1)
_QUANTIZED = "_quantized"
_NAMED_PARAMETER = re.compile(r"\.(bias|gamma|beta|alpha[12]\.\d+|weight)$")
_PREDICTOR_PARTS = re.compile(r"^((F0|N)(\.\d|_proj)|shared)$")
_REPEATED_LAYER = re.compile(r"(query|key|value|dense|ffn|ffn_output)_\d+")


def load_weights(path: Path) -> Weights:
    """Every parameter of a Kokoro file: `.onnx` (integer or float) or `.pth`; BundleError for anything else."""
    if not path.is_file():
        raise BundleError(f"{path}: no such file of weights")
    readers = {".onnx": _from_onnx, ".pth": _from_checkpoint, ".pt": _from_checkpoint}
    if path.suffix not in readers:
        raise BundleError(f"{path}: expected the model as .onnx or .pth")
    weights = readers[path.suffix](path)
    if not weights:
        raise BundleError(f"{path}: no parameters of Kokoro in it; give the model's own file with --weights")
    return weights


def _from_onnx(path: Path) -> Weights:
    import onnx
    from google.protobuf.message import DecodeError
    from onnx import numpy_helper

    try:
        graph = onnx.load(str(path)).graph
    except (OSError, ValueError, DecodeError) as error:
        raise BundleError(f"{path}: cannot be read as ONNX, so it is damaged or cut short ({error})") from error
    constants: Constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights: Weights = {}
    for name, value in constants.items():
        if name.startswith(("encoder.", "decoder.")) and _NAMED_PARAMETER.search(name) and value.dtype == np.float32:
            weights[_without_wrapper(name)] = value
    for node in graph.node:
        weights.update(_of_node(node, constants))
    return weights


def _without_wrapper(name: str) -> str:
    """The exporter wraps the model in an `encoder` and a `decoder` module of its own."""
    return name.split(".", 1)[1]


def _of_node(node: Any, constants: Constants) -> Iterator[tuple[str, Array]]:
    kind, inputs = node.op_type, list(node.input)
    if kind == "DequantizeLinear" and inputs[1].endswith("_scale"):  # an embedding, looked up before it is made float
        stem = inputs[1].removesuffix("_scale")
        if stem + _QUANTIZED in constants:
            yield _without_wrapper(stem), _float(constants, stem + _QUANTIZED, inputs[2])
        return
    module = _module_of_node(node.name)
    if module is None:
        return
    if kind == "DynamicQuantizeLSTM":
        yield from _lstm(module, _per_direction(constants, inputs[1], inputs[9]),
                         _per_direction(constants, inputs[2], inputs[11]), constants[inputs[3]])  # fmt: skip
    elif kind == "LSTM":
        w, r = (constants[name].astype(np.float32).swapaxes(1, 2) for name in inputs[1:3])
        yield from _lstm(module, w, r, constants[inputs[3]])
    elif kind in ("ConvInteger", "Conv", "ConvTranspose") and inputs[1] in constants:
        yield f"{module}.weight", _float(constants, inputs[1], inputs[3] if kind == "ConvInteger" else None)
    elif kind in ("MatMulInteger", "MatMul") and inputs[1] in constants:
        transposed = _float(constants, inputs[1], inputs[3] if kind == "MatMulInteger" else None)  # [in, out]
        yield f"{module}.weight", np.ascontiguousarray(transposed.T)


def _module_of_node(name: str) -> str | None:
    """Official module name of a node such as `/encoder/F0.0/conv1/Conv_quant`; None for a node outside the modules."""
    parts = name.strip("/").split("/")
    if len(parts) < 3 or parts[0] not in ("encoder", "decoder"):
        return None
    path = parts[1:-1]
    if _PREDICTOR_PARTS.match(path[0]):
        path = ["predictor", *path]
    if len(path) > 1 and path[-1].startswith(path[-2] + "."):
        del path[-2]  # a Sequential's member repeats the Sequential's name
    # ALBERT applies one layer several times; the later uses are numbered, but the weights are the first one's.
    return _REPEATED_LAYER.sub(r"\1", ".".join(path))


def _float(constants: Constants, name: str, zero_point: str | None) -> Array:
    """A weight as float: (q - zero point) * scale per tensor or per last axis, or the float weight itself."""
    value = constants[name].astype(np.float32)
    if not name.endswith(_QUANTIZED):
        return value
    scale = constants[name.removesuffix(_QUANTIZED) + "_scale"].astype(np.float32)
    zero = constants[zero_point].astype(np.float32) if zero_point else np.float32(0)
    return np.asarray((value - zero) * scale, dtype=np.float32)


def _per_direction(constants: Constants, name: str, zero_point: str) -> Array:
    """An LSTM's weight [directions, in, 4 * hidden], quantised per direction, as float."""
    scale = constants[name.removesuffix(_QUANTIZED) + "_scale"].astype(np.float32)
    zero = constants[zero_point].astype(np.float32)
    value = constants[name].astype(np.float32)
    return np.asarray((value - zero[:, None, None]) * scale[:, None, None], dtype=np.float32)


def _lstm(module: str, w: Array, r: Array, bias: Array) -> Iterator[tuple[str, Array]]:
    """PyTorch's parameters of a bidirectional LSTM from ONNX's: w, r [directions, in, 4 hidden], bias [directions, 8 hidden]."""
    for direction, suffix in enumerate(("_l0", "_l0_reverse")[: len(w)]):
        b_input, b_hidden = np.split(bias[direction].astype(np.float32), 2)
        yield f"{module}.weight_ih{suffix}", _torch_gates(w[direction].T)
        yield f"{module}.weight_hh{suffix}", _torch_gates(r[direction].T)
        yield f"{module}.bias_ih{suffix}", _torch_gates(b_input)
        yield f"{module}.bias_hh{suffix}", _torch_gates(b_hidden)


def _torch_gates(value: Array) -> Array:
    gates = np.split(value, 4)
    return np.concatenate([gates[i] for i in _TORCH_GATES_IN_ONNX])


def _from_checkpoint(path: Path) -> Weights:
    try:
        import torch
    except ImportError:
        raise MissingExtraError("PyTorch, which reads .pth files,", "convert-cosyvoice") from None
    weights: Weights = {}
    try:
        parts = torch.load(str(path), map_location="cpu", weights_only=True)
        for part, state in parts.items():
            for name, tensor in state.items():
                weights[f"{part}.{name.removeprefix('module.')}"] = tensor.float().numpy()
    except (OSError, EOFError, ValueError, RuntimeError, AttributeError, UnpicklingError) as error:
        raise BundleError(f"{path}: cannot be read as a checkpoint, so it is damaged or another file ({error})") from error
    return _folded_weight_norm(weights)


def _folded_weight_norm(weights: Weights) -> Weights:
    """Weight norm undone: w = g * v / |v|, the norm over all but the first axis."""
    folded = {name: value for name, value in weights.items() if not name.endswith(("weight_g", "weight_v"))}
    for name, g in weights.items():
        if name.endswith(".weight_g"):
            v = weights[name.removesuffix("_g") + "_v"]
            norm = np.sqrt((v.astype(np.float64) ** 2).sum(axis=tuple(range(1, v.ndim)), keepdims=True))
            folded[name.removesuffix("_g")] = np.asarray(g * v / norm, dtype=np.float32)
    return folded
