"""What speaks in `tests.bench.compare`: this project's bundles, and what a user would run instead, a process each.

A contestant is a function that loads and returns `speak(text)`, a generator of (samples, sample rate). Threads are bound by the
process's affinity and, where a library has such an option, by that too.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edge_tts.machine import ProcessMemory, process_memory

Speak = Callable[[str], Iterator[tuple[np.ndarray, int]]]
CACHE = Path(__file__).parents[2] / ".cache" / "bench"


@dataclass(frozen=True)
class Contestant:
    """load: (threads, *arguments) -> speak, called in its own process; needs: packages, by the names that import them."""

    name: str
    load: Callable[..., Speak]
    arguments: tuple[Any, ...] = ()
    needs: tuple[tuple[str, str], ...] = ()  # (module, what to install)

    def missing(self) -> str:
        """Why it cannot take part; empty when it can."""
        wanted = [package for module, package in self.needs if importlib.util.find_spec(module) is None]
        return f"not installed: pip install {' '.join(wanted)}" if wanted else ""


@dataclass(frozen=True)
class Turn:
    """One text by one contestant."""

    audio_s: float
    wall_s: float
    cpu_s: float
    first_audio_s: float
    memory: ProcessMemory

    @property
    def rtf(self) -> float:
        return self.wall_s / self.audio_s

    @property
    def cpu(self) -> float:
        """Seconds of processor time for a second of audio."""
        return self.cpu_s / self.audio_s


class Worker:
    """A contestant's process. It does nothing until it is asked."""

    def __init__(self, contestant: Contestant, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.name = contestant.name
        self._channel, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, contestant, threads), daemon=True)
        self._process.start()
        theirs.close()
        self.load_s, self.loaded = self._answer()

    def speak(self, text: str) -> Turn:
        self._channel.send(text)
        return self._answer()

    def _answer(self) -> Any:
        try:
            answer = self._channel.recv()
        except EOFError:
            raise RuntimeError(f"{self.name}: its process died; its own words are above") from None
        if isinstance(answer, Exception):
            raise RuntimeError(f"{self.name}: {type(answer).__name__}: {answer}")
        return answer

    def close(self) -> None:
        self._channel.close()
        self._process.terminate()
        self._process.join()


def _serve(channel: Any, contestant: Contestant, threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    try:
        began_s = time.perf_counter()
        speak = contestant.load(threads, *contestant.arguments)
        channel.send((time.perf_counter() - began_s, process_memory()))
        while True:
            channel.send(_turn(speak, channel.recv()))
    except EOFError:
        return
    except Exception as error:  # noqa: BLE001 - the process's edge: told to whoever asked
        channel.send(RuntimeError(f"{type(error).__name__}: {error}"))


def _turn(speak: Speak, text: str) -> Turn:
    audio_s = first_s = 0.0
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    for samples, rate in speak(text):
        first_s = first_s or time.perf_counter() - wall_s
        audio_s += len(samples) / rate
    return Turn(audio_s, time.perf_counter() - wall_s, time.process_time() - cpu_s, first_s, process_memory())


def bundle(threads: int, path: str) -> Speak:
    """A bundle of this project."""
    from edge_tts import load_voice

    voice = load_voice(path, threads=threads, cache_dir=CACHE / "compiled")

    def speak(text: str) -> Iterator[tuple[np.ndarray, int]]:
        for chunk in voice.synthesize(text):
            yield chunk.samples, chunk.sample_rate

    return speak


def kokoro_onnxruntime(threads: int, onnx_file: str, bundle_path: str) -> Speak:
    """Kokoro's published ONNX file by ONNX Runtime, a sentence at a time, with the bundle's phonemes and voices."""
    import onnxruntime

    from edge_tts.bundle import open_bundle
    from edge_tts.models.kokoro import LIMIT_CHARACTERS, MAX_PHONEMES, KokoroSettings, pieces_of
    from edge_tts.text import frontend
    from edge_tts.text.phonemes import CHINESE_TABLE, ENGLISH_TABLE, Phonemizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(onnx_file, options, providers=["CPUExecutionProvider"])
    opened = open_bundle(bundle_path, verify=False)
    vocabulary = KokoroSettings.of(opened).vocabulary
    phonemes = Phonemizer(_no_unknown_words, opened.file(ENGLISH_TABLE), opened.file(CHINESE_TABLE))
    styles: dict[str, np.ndarray] = {}

    def speak(text: str) -> Iterator[tuple[np.ndarray, int]]:
        voice = opened.manifest.default_voices[frontend.main_language(text)]
        if voice not in styles:
            styles[voice] = np.load(opened.file(f"voices/{voice}.npy"))
        for sentence in frontend.sentences(text, limit_characters=LIMIT_CHARACTERS):
            for piece in pieces_of(phonemes(sentence.text), MAX_PHONEMES):
                ids = [vocabulary[p] for p in piece if p in vocabulary]
                inputs = {
                    "tokens": np.array([[0, *ids, 0]], np.int64),
                    "style": styles[voice][len(ids) - 1][None].astype(np.float32),
                    "speed": np.ones(1, np.float32),
                }
                yield session.run(None, inputs)[0].ravel(), opened.manifest.sample_rate

    return speak


def _no_unknown_words(word: str, british: bool) -> str:
    raise ValueError(f"{word!r} is in no dictionary; texts of a comparison must do without such words")


def piper(threads: int, onnx_file: str) -> Speak:
    """A Piper voice by Piper itself, which takes as many threads as there are cores in its affinity."""
    from piper import PiperVoice

    voice = PiperVoice.load(onnx_file)

    def speak(text: str) -> Iterator[tuple[np.ndarray, int]]:
        for chunk in voice.synthesize(text):
            yield chunk.audio_float_array, chunk.sample_rate

    return speak


def float_onnx(int8_file: Path, float_file: Path) -> None:
    """Write the float32 model that an ONNX file of dynamically quantised layers stands for.

    Convolutions and matrix products of integers become those of floats, with their scales multiplied into the weights; so do
    the biases, which the quantised graph rounds to multiples of the scale at run time, and the LSTMs.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(int8_file))
    graph = model.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    producers = {name: node for node in graph.node for name in node.output}
    consumers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            consumers.setdefault(name, []).append(node)

    def array(name: str) -> np.ndarray:
        return numpy_helper.to_array(constants[name])

    def floats(name: str, zero_point: str) -> np.ndarray:
        scale = array(name.removesuffix("_quantized") + "_scale").astype(np.float32)
        return (array(name).astype(np.float32) - array(zero_point).astype(np.float32)) * scale

    def add_constant(name: str, value: np.ndarray) -> str:
        if name not in constants:
            constants[name] = numpy_helper.from_array(np.ascontiguousarray(value, dtype=np.float32), name)
            graph.initializer.append(constants[name])
        return name

    for node in graph.node:
        if node.op_type in ("ConvInteger", "MatMulInteger"):
            weight = add_constant(node.input[1] + "_float", floats(node.input[1], node.input[3]))
            quantised = producers[node.input[0]]
            node.op_type = "Conv" if node.op_type == "ConvInteger" else "MatMul"
            node.input[:] = [quantised.input[0], weight]
            after = consumers[node.output[0]][0]
            if after.op_type == "Add":  # of the bias: Reshape(Cast(Floor(Div(bias, scale)) …))
                reshape = producers[next(name for name in after.input if name != node.output[0])]
                source = producers[reshape.input[0]]
                while source.op_type != "Div":
                    source = producers[source.input[0]]
                reshape.input[0] = source.input[0]
                after = consumers[after.output[0]][0]
            assert after.op_type == "Cast", f"{node.name}: {after.op_type}"
            scaled = consumers[after.output[0]][0]
            assert scaled.op_type == "Mul", f"{node.name}: {scaled.op_type}"
            scaled.op_type = "Identity"
            scaled.input[:] = [after.output[0]]
        elif node.op_type == "DynamicQuantizeLSTM":
            for index, zero_point in ((1, 9), (2, 11)):
                name = node.input[index]
                scale = array(name.removesuffix("_quantized") + "_scale").astype(np.float32)[:, None, None]
                zero = array(node.input[zero_point]).astype(np.float32)[:, None, None]
                value = (array(name).astype(np.float32) - zero) * scale
                node.input[index] = add_constant(f"{name}_float", value.swapaxes(1, 2))  # [directions, 4 hidden, in]
            node.op_type, node.domain = "LSTM", ""
            del node.input[8:]
    used = {name for node in graph.node for name in node.input}
    del graph.value_info[:]  # types of the integers that are gone
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    float_file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(float_file))
