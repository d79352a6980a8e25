"""A voice whose audio spells its text, so that a test can read back what was spoken, and to whom."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from edge_tts.audio import AudioChunk
from edge_tts.bundle import Bundle, Manifest, VoiceEntry, write_manifest
from edge_tts.models import Delivery
from edge_tts.synthesizer import Voice
from edge_tts.text import Sentence

SAMPLE_RATE = 8000
SAMPLES_PER_BYTE = 40
# A byte b is spoken as PCM (b + 1) * 100, so that silence, which is 0, spells nothing.
_STEP = 100


class SpellingModel:
    """Spells each sentence in `n_chunks` chunks, sleeping `step_s` before each; can be held, and counts its steps.

    clauses: whether a pause may follow each of them
    """

    sample_rate = SAMPLE_RATE
    limit_characters = 200

    def __init__(self, step_s: float = 0.0, n_chunks: int = 1, clauses: bool = False) -> None:
        self.step_s = step_s
        self.n_chunks = n_chunks
        self.clauses = clauses
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.spoken: list[str] = []
        self.n_steps = 0

    def speak(
        self, sentences: Iterator[Sentence], delivery: Delivery, cancelled: Callable[[], bool]
    ) -> Iterator[AudioChunk]:
        for sentence in sentences:
            if "breakdown" in sentence.text:
                raise ZeroDivisionError("this sentence breaks the model")
            if "standstill" in sentence.text:
                time.sleep(600)  # a model that is stuck; only a watchdog helps
            self.spoken.append(sentence.text)
            for part in range(self.n_chunks):
                self.n_steps += 1
                self.may_go_on.wait(10)
                time.sleep(self.step_s)
                data = sentence.text.encode()
                start, end = (len(data) * p // self.n_chunks for p in (part, part + 1))
                ends = part == self.n_chunks - 1
                yield AudioChunk(spelled(data[start:end]), SAMPLE_RATE, ends_sentence=ends, ends_clause=self.clauses)


def spelled(data: bytes) -> np.ndarray:
    """The audio of these bytes."""
    levels = (np.frombuffer(data, dtype=np.uint8).astype(np.float32) + 1) * _STEP / 32767.0
    return np.repeat(levels, SAMPLES_PER_BYTE)


def read_back(pcm: bytes) -> str:
    """The text that PCM spells; silence between sentences is skipped."""
    samples = np.frombuffer(pcm[: len(pcm) // 2 * 2], dtype="<i2")
    heard = samples[samples != 0]
    assert len(heard) % SAMPLES_PER_BYTE == 0, "some of the audio is missing"
    values = heard.reshape(-1, SAMPLES_PER_BYTE)
    assert (values == values[:, :1]).all(), "audio of several texts is mixed"
    return (values[:, 0] // _STEP - 1).astype(np.uint8).tobytes().decode()


def load(bundle: Bundle, engine: object) -> SpellingModel:
    """What the runtime calls when `tests.spelling_cli` has made this a family."""
    return SpellingModel(**bundle.manifest.settings)


def spelling_manifest(**settings: float) -> Manifest:
    voices = (VoiceEntry("ann", "en-US", "CC0-1.0", "spells"), VoiceEntry("li", "zh-CN", "CC0-1.0", "spells too"))
    return Manifest(
        family="spelling", name="spelling", sample_rate=SAMPLE_RATE, languages=("en", "zh"), voices=voices,
        default_voices={"en": "ann", "zh": "li"}, recipe={}, provenance={}, settings=settings,
    )  # fmt: skip


def spelling_bundle() -> Bundle:
    return Bundle(Path("spelling"), spelling_manifest())


def write_spelling_bundle(directory: Path, **settings: float) -> Path:
    """A bundle on disk, for `tests.spelling_cli`; settings are SpellingModel's."""
    directory.mkdir(parents=True)
    write_manifest(directory, spelling_manifest(**settings))
    return directory


def spelling_voice(model: SpellingModel) -> Voice:
    return Voice(spelling_bundle(), model)
