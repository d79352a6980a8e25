"""Measures a CosyVoice bundle: speed, memory, and what a recipe costs against the float32 bundle.

    python -m tests.bench.cosyvoice speed BUNDLE [--seconds S] [--threads N]
    python -m tests.bench.cosyvoice compare FLOAT_BUNDLE BUNDLE [--tokens N]

Speech tokens are forced, 50 for each second, so that a random stand-in (tests/cosyvoice_standin.py) takes the real model's time.
Beside wall-clock time stands the process's CPU time, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edge_tts.bundle import VoiceEntry, open_bundle
from edge_tts.engine import Engine, EngineOptions
from edge_tts.models import Delivery
from edge_tts.models.cosyvoice.flow import Condition
from edge_tts.models.cosyvoice.model import CosyVoiceModel, LMSettings, load
from edge_tts.models.cosyvoice.sampling import RunawayLimits, log_softmax
from edge_tts.text import Sentence

Array = np.ndarray[Any, Any]
TEXT = "今天天气很好，我们一起去公园散步吧。"
_STEPS_A_POINT = 24


def measure_speed(path: Path, seconds: float, threads: int) -> None:
    """Print every figure of one bundle."""
    bundle = open_bundle(path, verify=False)
    size = sum(entry.size for entry in bundle.manifest.files)
    began = time.perf_counter()
    model = load(bundle, Engine(EngineOptions(threads=threads)))
    print(f"bundle {size / 1e6:.0f} MB, loaded in {time.perf_counter() - began:.1f} s, {memory()}")
    sentence(model, bundle.manifest.voices[0], seconds)
    print(f"after sentences: {memory()}")
    for n_sequences in (1, 4):
        decode_steps(model, n_sequences, 520 if n_sequences == 1 else 120)
    rng = np.random.default_rng(0)
    for n_frames in (300, 516):  # 516 are the longest block that the runtime makes of a sentence
        condition = Condition(noise(rng, n_frames), noise(rng, 1)[:, 0], np.zeros((80, n_frames), np.float32))
        start = noise(rng, n_frames)
        audio_s = n_frames * 256 / model.sample_rate
        repeated(f"estimator, 10 steps, {n_frames} frames", audio_s, lambda c=condition, x=start: model.flow.solve(x, c, no))
        mel, excitation = noise(rng, n_frames), 0.1 * rng.standard_normal(n_frames * 256).astype(np.float32)
        repeated(f"vocoder, {n_frames} frames", audio_s, lambda m=mel, e=excitation: model.vocoder.waveform(m, e))
    print(f"at the end: {memory()}")


def no() -> bool:
    """Never cancelled."""
    return False


def noise(rng: np.random.Generator, n_frames: int) -> Array:
    """[80, frames]."""
    return rng.standard_normal((80, n_frames), dtype=np.float32)


def repeated(label: str, audio_s: float, run: Callable[[], object], times: int = 2) -> None:
    """Real-time factors of a call: median, after one to warm up."""
    run()
    walls, cpus = [], []
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    best, median = min(walls) / audio_s, float(np.median(walls)) / audio_s
    print(f"{label}: RTF median {median:.2f}, best {best:.2f}, CPU {float(np.median(cpus)) / audio_s:.2f} s a second")


def decode_steps(model: CosyVoiceModel, n_sequences: int, n_steps: int) -> None:
    """Time of decode steps, by position."""
    rng = np.random.default_rng(1)
    text = model.lm.encode_text(model.tokenizer.encode(TEXT)).projected[0]
    speaker = rng.standard_normal(model.lm.tables.speaker_weight.shape[1]).astype(np.float32)
    decoding = model.lm.decode([model.lm.prefix(text, speaker, [])] * n_sequences)
    walls, cpus = [], []
    for _ in range(n_steps):
        tokens = rng.integers(0, model.lm.end_of_speech, n_sequences)
        wall, cpu = time.perf_counter(), time.process_time()
        decoding.step(tokens.tolist())
        walls.append(1e3 * (time.perf_counter() - wall))
        cpus.append(1e3 * (time.process_time() - cpu))
    for token in [50, 100, 250, 500]:
        if token + 1 < n_steps:
            span = slice(token - _STEPS_A_POINT // 2, token + _STEPS_A_POINT // 2)
            wall, best, cpu = np.median(walls[span]), np.min(walls[span]), np.median(cpus[span])
            print(f"LM step, {n_sequences} sequences, token {token}: median {wall:.1f} ms, best {best:.1f}, CPU {cpu:.1f}")


@dataclass(frozen=True)
class Spoken:
    """What a request took: seconds of audio, by the clock, of the CPUs, and to the first sound."""

    audio_s: float
    wall_s: float
    cpu_s: float
    first_s: float


def speak(model: CosyVoiceModel, voice: VoiceEntry, n_sentences: int, sentence_s: float) -> Spoken:
    """Sentences of so many seconds through the whole model, as a request would speak them."""
    ratio = sentence_s * 50 / len(model.tokenizer.encode(TEXT))
    model.runaway_limits = RunawayLimits(loop_tokens=10**6, stuck_tokens=10**6, attempts=1)
    model.lm_settings = LMSettings(min_ratio=ratio - 0.01, max_ratio=ratio)
    wall, cpu, audio_s, first_s = time.perf_counter(), time.process_time(), 0.0, 0.0
    for chunk in model.speak(iter([Sentence(TEXT, "zh")] * n_sentences), Delivery(voice, seed=1), no):
        first_s = first_s or time.perf_counter() - wall
        audio_s += chunk.duration_s
    return Spoken(audio_s, time.perf_counter() - wall, time.process_time() - cpu, first_s)


def sentence(model: CosyVoiceModel, voice: VoiceEntry, seconds: float) -> None:
    """Print what one sentence of so many seconds costs."""
    for label, length_s in (("to warm up", seconds / 4), ("measured", seconds)):
        took = speak(model, voice, 1, length_s)
        print(
            f"sentence, {label}: {took.audio_s:.1f} s of audio, RTF {took.wall_s / took.audio_s:.2f}, "
            f"CPU {took.cpu_s / took.audio_s:.2f} s a second, first sound after {took.first_s:.1f} s"
        )


def memory() -> str:
    """Resident memory of this process, and how much of it is its own."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "VmHWM", "RssAnon"))}
    return ", ".join(f"{key} {value / 1e3:.0f} MB" for key, value in kilobytes.items())


def compare(float_path: Path, path: Path, n_tokens: int) -> None:
    """Print per stage how far a bundle is from the float32 one, given the same inputs; one bundle in memory at a time."""
    wanted, found = (dict(stage_outputs(each, n_tokens)) for each in (float_path, path))
    print(f"{'stage':28}  {'cosine':>8}  {'relative error':>14}")
    for stage, reference in wanted.items():
        other = found[stage]
        flat, flat_other = reference.ravel().astype(np.float64), other.ravel().astype(np.float64)
        cosine = flat @ flat_other / (np.linalg.norm(flat) * np.linalg.norm(flat_other))
        error = np.linalg.norm(flat - flat_other) / np.linalg.norm(flat)
        print(f"{stage:28}  {cosine:8.5f}  {error:14.4f}")
    best, other_best = (outputs["LM log-probabilities"].argmax(-1) for outputs in (wanted, found))
    print(f"teacher-forced arg-max agreement: {np.mean(best == other_best):.3f} of {len(best)} steps")
    nucleus = np.mean([token in row.argsort()[-25:] for token, row in zip(best, found["LM log-probabilities"], strict=True)])
    print(f"float32's arg-max among the 25 likeliest: {nucleus:.3f}")


def stage_outputs(path: Path, n_tokens: int) -> Iterator[tuple[str, Array]]:
    """Every stage of a bundle on inputs that are the same for all bundles."""
    bundle = open_bundle(path, verify=False)
    model = load(bundle, Engine())
    rng = np.random.default_rng(0)
    voice = model.voice(bundle.manifest.voices[0].name)
    text = model.lm.encode_text(model.tokenizer.encode(TEXT)).projected[0]
    yield "text encoder", text
    tokens: Sequence[int] = rng.integers(0, model.lm.end_of_speech, n_tokens).tolist()
    decoding = model.lm.decode([model.lm.prefix(text, voice.lm_speaker, [])])
    rows = [decoding.logits[0]]
    for token in tokens:
        decoding.step([token])
        rows.append(decoding.logits[0])
    yield "LM log-probabilities", log_softmax(np.stack(rows))
    mu = model.flow.condition(model.flow.encode(tokens)["projected"], 0, 0)
    yield "flow encoder (mu)", mu
    # From here on inputs are noise, so that errors of earlier stages do not add up.
    mu, x, cond = noise(rng, 200), noise(rng, 200), np.zeros((80, 200), np.float32)
    condition = Condition(mu, model.flow.project_speaker(voice.flow.speaker), cond)
    for moment in (0.0, 0.11, 0.55, 0.84):
        yield f"estimator at time {moment}", model.flow.guided(x, np.float32(moment), condition)
    mel = model.flow.solve(x, condition, no)
    yield "mel after all steps", mel
    mel = 2.0 * noise(rng, 200) - 4.0
    yield "f0", model.vocoder.f0_hz(mel)
    yield "waveform", model.vocoder.waveform(mel, 0.1 * rng.standard_normal(200 * 256).astype(np.float32))


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    speed = commands.add_parser("speed", help="speed and memory of a bundle")
    speed.add_argument("bundle", type=Path)
    speed.add_argument("--seconds", type=float, default=8.0, help="of the sentence (default: %(default)s)")
    speed.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    against = commands.add_parser("compare", help="a bundle against the float32 one")
    against.add_argument("float_bundle", type=Path)
    against.add_argument("bundle", type=Path)
    against.add_argument("--tokens", type=int, default=150)
    args = parser.parse_args()
    if args.command == "speed":
        measure_speed(args.bundle, args.seconds, args.threads)
    else:
        compare(args.float_bundle, args.bundle, args.tokens)
    return 0


if __name__ == "__main__":
    sys.exit(main())
