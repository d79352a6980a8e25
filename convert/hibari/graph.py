"""hibari's published ONNX file -> one OpenVINO graph: phoneme ids and speed in, the parts of a spectrum and f0 out.

The file keeps its matrices as int8 with one scale each and quantises activations as it runs. The plugin has no kernel for that;
the integer products become float ones over the very same weights, which stay int8 in the bundle.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset15 as op
from openvino.tools.ovc import convert_model

from edge_tts.errors import BundleError

# hibari's `dsp.ex`: no level above e^7.
_MAX_LOG_LEVEL = 7.0
# The head's parts in order, and what the runtime is given of each.
_PARTS = ("harmonic", "turn", "noise", "free", "phase")
_LEVELS, _TURN = ("harmonic", "noise", "free"), "turn"
_SUFFIX = "_float"
Integers = dict[str, tuple[NDArray[Any], float]]


def read(path: Path, *, integer_weights: bool) -> ov.Model:
    """The graph of a voice's ONNX file, int8 or float32; BundleError for anything else.

    Inputs: ids [1, T] int64 with 0 at both ends; speed [1]. Outputs, for F frames of B bins: harmonic, noise and free, each
    [1, F, B], are magnitudes; turn and phase, each [1, F, B], are angles in radians; f0 [1, F] in hertz, 0 where unvoiced.

    integer_weights: keep the weights as they are published; otherwise as float32, to compare with
    """
    model, integers = _float_products(_load(path))
    graph = convert_model(_written(model))
    if integer_weights:
        _store_integers(graph, integers)
    return _with_parts(graph, path)


def _load(path: Path) -> Any:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(str(path))
    except (OSError, ValueError, DecodeError) as error:
        raise BundleError(f"{path}: cannot be read as ONNX, so it is damaged or cut short ({error})") from error
    outputs = {output.name for output in model.graph.output}
    if {value.name for value in model.graph.input} != {"ids", "speed"} or not {"lh", "theta", "ln", "lr", "phi", "f0"} <= outputs:
        raise BundleError(f"{path}: is no voice of hibari's (inputs ids and speed, outputs lh, theta, ln, lr, phi and f0)")
    return model


def _float_products(model: Any) -> tuple[Any, Integers]:
    """The model with float products instead of integer ones; its int8 weights with their scales, by product.

    What goes is what a product is quantised and restored with: DynamicQuantizeLinear -> MatMulInteger -> Cast -> Mul.
    """
    from onnx import helper, numpy_helper

    graph = model.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    producer = {name: node for node in graph.node for name in node.output}
    consumers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            consumers.setdefault(name, []).append(node)
    replaced: dict[int, Any] = {}
    dropped: set[int] = set()
    integers: Integers = {}
    for product in graph.node:
        if product.op_type != "MatMulInteger":
            continue
        activation, weight, _, zero_point = product.input
        quantise = producer[activation]
        cast = consumers[product.output[0]][0]
        restore = consumers[cast.output[0]][0]
        both_scales = producer[next(name for name in restore.input if name != cast.output[0])]
        scale = next(name for name in both_scales.input if name != quantise.output[1])
        if constants[weight].dtype != np.int8 or constants[zero_point].any() or constants[scale].size != 1:
            raise BundleError(f"{weight} is not quantised as hibari's weights are: int8 around zero with one scale")
        name = weight + _SUFFIX
        integers[product.name] = (constants[weight], float(constants[scale]))
        if name not in constants:
            constants[name] = constants[weight] * np.float32(constants[scale])
            graph.initializer.append(numpy_helper.from_array(constants[name], name))
        replaced[id(restore)] = helper.make_node("MatMul", [quantise.input[0], name], list(restore.output), name=product.name)
        dropped |= {id(node) for node in (product, cast, both_scales, quantise)}
    nodes = [replaced.get(id(node), node) for node in graph.node if id(node) not in dropped]
    del graph.node[:]
    graph.node.extend(nodes)
    return model, integers


def _written(model: Any) -> Any:
    """An ONNX model as OpenVINO reads it from memory."""
    import io

    return io.BytesIO(model.SerializeToString())


def _store_integers(graph: ov.Model, integers: Integers) -> None:
    """Give the products their weights as published: int8, divided by the scale's reciprocal.

    Divided, since the plugin takes int8 times a scale for compressed weights and restores them at every product: 13 % slower
    here than the float ones that it folds a division into when it compiles.
    """
    missing = set(integers)
    for node in graph.get_ops():
        name = node.get_friendly_name()
        if node.get_type_name() != "MatMul" or name not in integers:
            continue
        levels, scale = integers[name]
        weight = node.input(1)
        if list(weight.get_shape()) == list(levels.shape[::-1]):
            levels = levels.T  # the importer has turned it round
        restored = op.divide(op.convert(op.constant(levels), "f32"), op.constant(np.float32(1.0 / scale)))
        weight.replace_source_output(restored.output(0))
        missing.discard(name)
    if missing:
        raise BundleError(f"products that OpenVINO's importer renamed: {', '.join(sorted(missing))}")
    graph.validate_nodes_and_infer_types()


def _with_parts(graph: ov.Model, path: Path) -> ov.Model:
    """The graph that ends with magnitudes and angles, frames before bins as the inverse FFT takes them."""
    split = graph.output("lh").get_node().input_value(0).get_node()
    transpose = split.input_value(0).get_node()
    if split.get_type_name() != "VariadicSplit" or transpose.get_type_name() != "Transpose":
        raise BundleError(f"{path}: its last layers are not those of hibari's voices")
    head = transpose.input_value(0)  # [1, frames, 5 * bins]
    bins = head.get_partial_shape()[2].get_length() // len(_PARTS)
    parts = op.variadic_split(head, op.constant(np.int64(2)), op.constant(np.full(len(_PARTS), bins, np.int64)))
    results = []
    for i, name in enumerate(_PARTS):
        part = parts.output(i)
        if name in _LEVELS:
            part = op.exp(op.minimum(part, op.constant(np.float32(_MAX_LOG_LEVEL)))).output(0)
        elif name == _TURN:
            part = op.multiply(op.tanh(part), op.constant(np.float32(np.pi))).output(0)
        results.append(_result(part, name))
    results.append(_result(graph.output("f0").get_node().input_value(0), "f0"))
    return ov.Model(results, graph.get_parameters(), "hibari")


def _result(value: ov.Output, name: str) -> Any:
    result = op.result(value)
    result.output(0).set_names({name})
    return result
