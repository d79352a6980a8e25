"""A Piper voice's ONNX file, cut into three graphs where its noise is drawn and where its vocoder begins.

The file holds one graph that draws its noise itself. Cut there, the noise becomes an input (so a seed decides it), repeating
phonemes over frames is left to numpy, and the vocoder can be run on a window of the frames.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from openvino.tools.ovc import convert_model

from edge_tts.errors import BundleError

_TOKENS, _N_TOKENS, _SPEAKER = "input", "input_lengths", "sid"
_SHAPES = {"tokens": [1, -1], "n_tokens": [1], "speaker": [1]}
_RENAMED = {_TOKENS: "tokens", _N_TOKENS: "n_tokens", _SPEAKER: "speaker"}


@dataclass(frozen=True)
class Graphs:
    """The three graphs of a voice.

    text: tokens [1, T], n_tokens [1], noise [1, 2, T], (speaker [1]) -> durations [1, 1, T] in frames at length scale 1, and
        mean, log_deviation [1, C, T]
    flow: drawn [1, C, F], (speaker) -> latent [1, C, F]
    vocoder: latent [1, C, F], (speaker) -> waveform, F * hop_length samples
    """

    text: ov.Model
    flow: ov.Model
    vocoder: ov.Model

    def items(self) -> Iterable[tuple[str, ov.Model]]:
        return (("text", self.text), ("flow", self.flow), ("vocoder", self.vocoder))


def read(path: Path) -> Graphs:
    """The graphs of a voice's ONNX file; BundleError for a file that is none."""
    graph = _Graph(_load(path), path)
    latent_noise, duration_noise = graph.noises()
    drawn, deviation, mean = graph.drawing(latent_noise)
    latent, channels = graph.vocoder_input()
    frames = [1, channels, -1]
    durations = graph.durations()
    mask = graph.mask(drawn)
    scaled_noise = graph.consumer(duration_noise.output[0], "Mul")
    text = graph.part(
        {scaled_noise.output[0]: ("noise", [1, 2, -1])},
        {durations: "durations", graph.before_spreading(mean): "mean", graph.before_spreading(deviation): "log_deviation"},
    )
    flow = graph.part({drawn: ("drawn", frames)}, {latent: "latent"}, mask)
    vocoder = graph.part({latent: ("latent", frames)}, {graph.output: "waveform"}, mask)
    return Graphs(text, flow, vocoder)


def _load(path: Path) -> Any:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(str(path))
    except (OSError, ValueError, DecodeError) as error:
        raise BundleError(f"{path}: cannot be read as ONNX, so it is damaged or cut short ({error})") from error
    inputs = [value.name for value in model.graph.input]
    if inputs not in ([_TOKENS, _N_TOKENS, "scales"], [_TOKENS, _N_TOKENS, "scales", _SPEAKER]):
        raise BundleError(f"{path}: is no Piper voice; its inputs are {', '.join(inputs) or 'none'}")
    return model


class _Graph:
    """An ONNX graph to be cut, by what its nodes do rather than what its exporter called them."""

    def __init__(self, model: Any, path: Path) -> None:
        self._model, self._path = model, path
        self._nodes = list(model.graph.node)
        self._producer = {name: node for node in self._nodes for name in node.output}
        self._consumers: dict[str, list[Any]] = {}
        for node in self._nodes:
            for name in node.input:
                self._consumers.setdefault(name, []).append(node)
        self.output: str = model.graph.output[0].name

    def _unknown(self, what: str) -> BundleError:
        return BundleError(f"{self._path}: not built as Piper's voices are: {what}")

    def _up(self, name: str, *kinds: str) -> Any:
        """The node that makes a tensor, which is of one of these kinds."""
        node = self._producer.get(name)
        if node is None or node.op_type not in kinds:
            raise self._unknown(f"{name} comes from {node.op_type if node else 'outside'}, not {' or '.join(kinds)}")
        return node

    def consumer(self, name: str, kind: str) -> Any:
        """The one node that uses a tensor."""
        nodes = self._consumers.get(name, [])
        if len(nodes) != 1 or nodes[0].op_type != kind:
            raise self._unknown(f"{name} is not used by one {kind}")
        return nodes[0]

    def noises(self) -> tuple[Any, Any]:
        """The nodes that draw noise: for the latent frames, for the durations. Only the former depends on the durations."""
        drawing = [node for node in self._nodes if node.op_type == "RandomNormalLike"]
        durations = {id(node) for node in self._upstream([self._rounding().output[0]])}
        before = [node for node in drawing if id(node) in durations]
        after = [node for node in drawing if id(node) not in durations]
        if len(before) != 1 or len(after) != 1:
            raise self._unknown(f"it draws noise {len(drawing)} times, not twice")
        return after[0], before[0]

    def _rounding(self) -> Any:
        found = [node for node in self._nodes if node.op_type == "Ceil"]
        if len(found) != 1:
            raise self._unknown("durations are not rounded up once")
        return found[0]

    def durations(self) -> str:
        """Durations before the length scale and rounding: the factor that does not come from the input `scales`."""
        product = self._up(self._rounding().input[0], "Mul")
        return next(name for name in product.input if not self._only_from(name, "scales"))

    def drawing(self, noise: Any) -> tuple[str, str, str]:
        """(mean + noise * deviation, log deviation, mean), all per frame."""
        times_deviation = self.consumer(noise.output[0], "Mul")
        deviation = next(name for name in times_deviation.input if name != noise.output[0])
        scaled = self.consumer(times_deviation.output[0], "Mul")
        total = self.consumer(scaled.output[0], "Add")
        mean = next(name for name in total.input if name != scaled.output[0])
        return total.output[0], self._up(deviation, "Exp").input[0], mean

    def before_spreading(self, name: str) -> str:
        """What is spread over frames: transpose(alignment @ transpose(x)) -> x."""
        product = self._up(self._up(name, "Transpose").input[0], "MatMul")
        return str(self._up(product.input[1], "Transpose").input[0])

    def vocoder_input(self) -> tuple[str, int]:
        """What goes into the convolution before the first upsampling one, and its channels."""
        node = next((node for node in self._nodes if node.op_type == "ConvTranspose"), None)
        if node is None:
            raise self._unknown("nothing upsamples")
        while node.op_type != "Conv":
            candidates = [self._producer[n] for n in node.input if n in self._producer and not self._only_from(n, _SPEAKER)]
            if not candidates:
                raise self._unknown("no convolution before the first upsampling one")
            node = candidates[0]
        weight = next((tensor for tensor in self._model.graph.initializer if tensor.name == node.input[1]), None)
        if weight is None:
            raise self._unknown(f"{node.name} has no weights of its own")
        return str(node.input[0]), int(weight.dims[1])

    def mask(self, drawn: str) -> str:
        """The tensor that blanks frames beyond the end; there are none when one sentence is spoken at a time."""
        downstream = self._downstream(drawn)
        crossing = {
            name
            for node in downstream
            for name in node.input
            if name != drawn and name in self._producer and id(self._producer[name]) not in {id(n) for n in downstream}
            and not self._only_from(name, _SPEAKER)
        }  # fmt: skip
        if len(crossing) != 1:
            raise self._unknown(f"{len(crossing)} tensors go around the drawing of noise, not one")
        return crossing.pop()

    def _downstream(self, name: str) -> list[Any]:
        reached = {name}
        found = []
        for node in self._nodes:  # in topological order, as ONNX wants it
            if reached & set(node.input):
                found.append(node)
                reached |= set(node.output)
        return found

    def _upstream(self, names: Iterable[str], stops: Iterable[str] = ()) -> list[Any]:
        """The nodes that these tensors are made by, without those beyond `stops`, in the graph's order."""
        seen = set(stops)
        needed: set[int] = set()
        waiting = [name for name in names if name not in seen]
        while waiting:
            name = waiting.pop()
            node = self._producer.get(name)
            if name in seen or node is None:
                continue
            seen.add(name)
            needed.add(id(node))
            waiting.extend(node.input)
        return [node for node in self._nodes if id(node) in needed]

    def _only_from(self, name: str, origin: str) -> bool:
        """Whether a tensor depends on no input of the graph but `origin`."""
        inputs = {value.name for value in self._model.graph.input}
        used = {n for node in self._upstream([name]) for n in node.input} | {name}
        return used & inputs <= {origin}

    def part(self, inputs: dict[str, tuple[str, list[int]]], outputs: dict[str, str], mask: str = "") -> ov.Model:
        """The graph from `inputs` (and the file's own) to `outputs`.

        inputs: tensor -> (its name then, its shape); outputs: tensor -> its name then; mask: the tensor that is one everywhere
        """
        from onnx import TensorProto, helper, numpy_helper

        nodes = self._upstream(outputs, [*inputs, mask])
        used = {name for node in nodes for name in node.input}
        source = self._model.graph
        constants = [tensor for tensor in source.initializer if tensor.name in used]
        if mask in used:
            constants.append(numpy_helper.from_array(np.ones((1, 1, 1), np.float32), mask))
        given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, *map(_free, shape[1:])])
                 for name, (_, shape) in inputs.items()]  # fmt: skip
        own = [value for value in source.input if value.name in used]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(nodes, "piper", [*given, *own], results, constants)
        model = convert_model(io.BytesIO(helper.make_model(graph, opset_imports=self._model.opset_import).SerializeToString()))
        names = {**_RENAMED, **{name: new for name, (new, _) in inputs.items()}, **outputs}
        for port in (*model.inputs, *model.outputs):
            port.get_tensor().set_names({names[name] for name in port.get_names() if name in names})
        model.reshape({port: _SHAPES[port.get_any_name()] for port in model.inputs if port.get_any_name() in _SHAPES})
        return model


def _free(size: int) -> int | str:
    """A dimension as ONNX writes it: any size by a name."""
    return size if size >= 0 else "time"
