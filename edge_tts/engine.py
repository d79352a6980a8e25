"""OpenVINO behind two small types: an `Engine` compiles graphs for this CPU, a `Graph` runs them. The only `import openvino`."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from edge_tts import memory
from edge_tts.errors import EngineError
from edge_tts.stages import stage

# oneDNN would keep the last 1,024 primitives of the process, whatever OpenVINO lets go of. It reads this when it makes its first.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0")


@contextmanager
def _hidden(module: str) -> Iterator[None]:
    """Let a module seem not to be installed, unless it is loaded already."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


# OpenVINO brings its model converter along, which takes a tenth of a second to load and reports the import to its makers.
with _hidden("openvino.tools.ovc"):
    import openvino as ov

Precision = Literal["f32", "bf16"]
Tensors = Mapping[str, NDArray[Any]]
# OpenVINO sets the process's locale to "C" while it reads a graph and puts back what it found; two at a time leave it "C", and
# whatever reads text files later takes them for ASCII.
_COMPILING = threading.Lock()
# Kernels of each kind that a graph keeps. Every length of input has its own, and the plugin's own 5,000 let a service grow by
# 12 MB with each new length; these hold what the layers of one run share with each other. A length met again costs 3 % more.
_KERNELS_KEPT = 32
_WEIGHT_FILES = (".bin", ".blob")  # of IRs, and of the cache of compiled graphs


@dataclass(frozen=True)
class EngineOptions:
    """How graphs are compiled.

    threads: CPU threads a graph may use; 0 lets OpenVINO take every core of the process's affinity
    cache_dir: where compiled graphs are kept between starts; None compiles anew each time
    """

    threads: int = 0
    cache_dir: Path | None = None


def default_cache_dir() -> Path:
    """The service's CacheDirectory= if systemd gave one, else the user's cache directory."""
    given = os.environ.get("CACHE_DIRECTORY")
    if given:
        return Path(given.split(":")[0])
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "edge-tts"


class Engine:
    """Compiles IRs for the CPU with the latency hint. One per process is enough; its methods may be called from any thread."""

    def __init__(self, options: EngineOptions | None = None) -> None:
        self.options = options or EngineOptions()
        self._core = ov.Core()
        self._core.set_property({"ENABLE_MMAP": True})
        if self.options.cache_dir is not None and _usable(self.options.cache_dir):
            self._core.set_property({"CACHE_DIR": str(self.options.cache_dir)})
        self._graphs: weakref.WeakSet[Graph] = weakref.WeakSet()

    def compile(self, xml: Path, *, precision: Precision = "f32", snippets: bool = True, **properties: Any) -> Graph:
        """Compile an IR.

        precision: what float layers compute in, fixed so that every CPU says the same thing
        snippets: whether the plugin may generate code for groups of operations: worth it for attention, else a millisecond or
            two of loading for each group
        """
        config: dict[str, Any] = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": precision,
            "NUM_STREAMS": 1,
            "CPU_RUNTIME_CACHE_CAPACITY": _KERNELS_KEPT,
            **({} if snippets else {"SNIPPETS_MODE": "DISABLE"}),
            **properties,
        }
        if self.options.threads:
            config["INFERENCE_NUM_THREADS"] = self.options.threads
        try:
            with _COMPILING:
                compiled = self._core.compile_model(str(xml), "CPU", config)
        except RuntimeError as error:
            raise EngineError(f"{xml}: OpenVINO could not compile it: {_first_line(error)}") from error
        graph = Graph(xml.name, compiled)
        self._graphs.add(graph)
        return graph

    def rest(self) -> None:
        """Give back the memory that only running takes: the graphs' buffers, and files of weights, which were unpacked long ago.

        The next run takes the buffers anew. Waits for runs that have begun.
        """
        for graph in list(self._graphs):
            graph.release()
        memory.trim_heap()
        memory.page_out(_WEIGHT_FILES)


class Graph:
    """A compiled IR. Calling it runs it; calls from several threads take turns."""

    def __init__(self, name: str, compiled: ov.CompiledModel) -> None:
        self.name = name
        self._compiled = compiled
        self._request = compiled.create_infer_request()
        self._lock = threading.Lock()
        self._outputs = _names(compiled)

    @property
    def inputs(self) -> list[str]:
        return [port.get_any_name() for port in self._compiled.inputs]

    def session(self) -> Session:
        """A new sequence of calls with a state of its own; only for graphs with state."""
        return Session(self.name, self._compiled, self._lock)

    def release(self) -> None:
        """Give back the buffers between the layers, until the next run."""
        with self._lock:
            self._compiled.release_memory()

    @property
    def compiled(self) -> ov.CompiledModel:
        """OpenVINO's own object, for profiling and for stateful use."""
        return self._compiled

    def __call__(self, **inputs: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Run with inputs by name; returns outputs by name, copied out of OpenVINO's memory."""
        try:
            with stage(_stage_of(self.name)), self._lock:
                self._request.infer(inputs, share_inputs=True)
                return _results(self._request, self._outputs)
        except RuntimeError as error:
            raise EngineError(f"{self.name}: OpenVINO could not run it: {_first_line(error)}") from error


class Session:
    """A stateful graph's infer request, for one sequence of calls by one thread. Weights, buffers and turns are the graph's."""

    def __init__(self, name: str, compiled: ov.CompiledModel, turns: threading.Lock) -> None:
        self.name = name
        self._turns = turns
        self._request = compiled.create_infer_request()
        self._outputs = _names(compiled)
        self._kept: dict[str, ov.Tensor] = {}

    def keep(self, name: str, array: NDArray[Any]) -> None:
        """Give an input its value for all calls to come, without copying the array."""
        self._kept[name] = ov.Tensor(array, shared_memory=True)
        self._request.set_tensor(name, self._kept[name])

    def __call__(self, **inputs: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Run with the other inputs by name on the state so far; returns outputs by name, copied out of OpenVINO's memory."""
        try:
            with stage(_stage_of(self.name)):
                self._request.infer(inputs, share_inputs=True)
                return _results(self._request, self._outputs)
        except RuntimeError as error:
            raise EngineError(f"{self.name}: OpenVINO could not run it: {_first_line(error)}") from error


def _stage_of(name: str) -> str:
    """A graph's stage has the name of its IR."""
    return name.removesuffix(".xml")


def _names(compiled: ov.CompiledModel) -> list[list[str]]:
    """All names of each output: compiling can give one that it had not in the IR."""
    return [sorted(port.get_names()) for port in compiled.outputs]


def _results(request: ov.InferRequest, outputs: list[list[str]]) -> dict[str, NDArray[Any]]:
    arrays = [np.array(request.get_output_tensor(i).data) for i in range(len(outputs))]
    return {name: array for names, array in zip(outputs, arrays, strict=True) for name in names}


def _usable(directory: Path) -> bool:
    """Whether compiled graphs can be kept there; without a cache the voice still works, only slower to start."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
