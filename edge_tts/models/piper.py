"""Piper (VITS): phonemes -> durations and a distribution per phoneme -> latent frames -> waveform.

Three graphs with numpy between them: repeating each phoneme's distribution over its frames and drawing from it, and cutting the
frames into windows for the vocoder, which is convolutional. A window carries the context that its edges are heard through, so
the pieces are what the whole would be; their sizes are few, and the first is short, so that sound begins early.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edge_tts.audio import AudioChunk
from edge_tts.bundle import Bundle, reading_settings
from edge_tts.stages import stage
from edge_tts.text import Sentence, espeak
from edge_tts.text.frontend import respelled

if TYPE_CHECKING:
    from edge_tts.engine import Engine, Graph
    from edge_tts.models import Delivery

Array = NDArray[np.float32]
log = logging.getLogger(__name__)

LIMIT_CHARACTERS = 200
# Piper's marks: between phonemes, at the beginning, at the end.
_PAD, _BEGIN, _END = "_", "^", "$"
# Vocoder windows with their context: the first, and the largest of the others, whose sizes are multiples of the step.
FIRST_FRAMES, WINDOW_FRAMES, STEP_FRAMES = 64, 256, 32
PHONEME_TYPES = ("espeak", "text")
_STOPS, _MARKS = (".", "!", "?"), (".", "!", "?", ",", ";", ":")
# Phonemes of misaki's alphabet, in which a lexicon gives them, that espeak-ng writes otherwise.
_MISAKI = str.maketrans(
    {"A": "eɪ", "I": "aɪ", "O": "oʊ", "Q": "əʊ", "W": "aʊ", "Y": "ɔɪ", "ʤ": "dʒ", "ʧ": "tʃ", "ᵊ": "ə", "T": "ɾ"}
)  # fmt: skip


@dataclass(frozen=True)
class PiperSettings:
    """The manifest's `settings` of this family, most of them the voice's own configuration.

    phoneme_ids: phoneme -> its ids
    phoneme_type: "espeak", or "text" whose phonemes are the text's characters
    espeak_voice: espeak-ng's name of the language
    clusters: phonemes that are one, such as "aɪ", if the voice has any
    speakers: voice -> its number; empty for a voice of one speaker
    noise_scale, noise_w, length_scale: how much speech and durations vary, and how slow they are
    hop_length: samples per frame
    context_frames: how far a frame of the vocoder is heard on either side
    gain: brings the loudest sample of a typical sentence near 1, where Piper scales each sentence so
    """

    phoneme_ids: dict[str, tuple[int, ...]]
    phoneme_type: str
    espeak_voice: str
    clusters: tuple[str, ...]
    speakers: dict[str, int]
    noise_scale: float
    noise_w: float
    length_scale: float
    hop_length: int
    context_frames: int
    gain: float

    @classmethod
    def of(cls, bundle: Bundle) -> PiperSettings:
        with reading_settings(bundle) as given:
            settings = cls(
                **{
                    **given,
                    "phoneme_ids": {phoneme: tuple(map(int, ids)) for phoneme, ids in dict(given["phoneme_ids"]).items()},
                    "clusters": tuple(map(str, given["clusters"])),
                    "speakers": {name: int(number) for name, number in dict(given["speakers"]).items()},
                    **{name: float(given[name]) for name in ("noise_scale", "noise_w", "length_scale", "gain")},
                    **{name: int(given[name]) for name in ("hop_length", "context_frames")},
                }
            )
            if settings.phoneme_type not in PHONEME_TYPES:
                raise ValueError(f"phoneme type {settings.phoneme_type!r}")
            if missing := [mark for mark in (_PAD, _BEGIN, _END) if mark not in settings.phoneme_ids]:
                raise ValueError(f"no ids for {' '.join(missing)}")
        return settings


def load(bundle: Bundle, engine: Engine) -> PiperModel:
    """Compile the bundle's graphs."""
    return PiperModel(bundle, engine)


class PiperModel:
    """A loaded Piper bundle; see `edge_tts.models.Model`."""

    limit_characters = LIMIT_CHARACTERS

    def __init__(self, bundle: Bundle, engine: Engine) -> None:
        self.sample_rate = bundle.manifest.sample_rate
        self.settings = PiperSettings.of(bundle)
        self._text = engine.compile(bundle.file("text.xml"))
        self._flow = engine.compile(bundle.file("flow.xml"))
        self._vocoder = engine.compile(bundle.file("vocoder.xml"))

    def speak(
        self, sentences: Iterator[Sentence], delivery: Delivery, cancelled: Callable[[], bool]
    ) -> Iterator[AudioChunk]:
        """A sentence in one chunk or more: the first is short."""
        rng = np.random.default_rng(delivery.seed)
        for sentence in sentences:
            spoken = [ids for ids in map(self.token_ids, self.phonemes(sentence)) if ids]
            for i, ids in enumerate(spoken):
                if cancelled():
                    return
                latent = self.latent(ids, delivery.voice.name, delivery.speed, rng)
                for samples, ends in self.waveform(latent, delivery.voice.name):
                    yield AudioChunk(samples, self.sample_rate, ends_sentence=ends and i == len(spoken) - 1)
                    if cancelled():
                        return

    @stage("phonemes")
    def phonemes(self, sentence: Sentence) -> list[list[str]]:
        """Phonemes of the sentence, in as many lists as the voice's own reader makes sentences of it."""
        if self.settings.phoneme_type == "text":
            return [list(unicodedata.normalize("NFD", respelled(sentence)))]
        voice = self.settings.espeak_voice
        given = [word for word in sentence.readings if word.reading.phonemes]
        if not given:  # pinyin reaches the reader as homophones
            return [self._clustered(part) for part in espeak.sentences(respelled(sentence), voice)]
        parts: list[list[str]] = []
        start = 0
        for word in given:
            parts += espeak.sentences(sentence.text[start : word.start], voice)
            parts.append(list(unicodedata.normalize("NFD", word.reading.phonemes.translate(_MISAKI))))
            start = word.end
        parts += espeak.sentences(sentence.text[start:], voice)
        return [self._clustered(part) for part in _joined(parts)]

    def _clustered(self, phonemes: list[str]) -> list[str]:
        """Phonemes that this voice has one id for put together, the longest first."""
        clusters = self.settings.clusters
        if not clusters:
            return phonemes
        pattern = "|".join(map(re.escape, sorted(clusters, key=len, reverse=True)))
        return re.findall(f"{pattern}|.", "".join(phonemes), re.S)

    def token_ids(self, phonemes: list[str]) -> list[int]:
        """Ids of the phonemes with Piper's marks; unknown ones are dropped and logged. Empty if no letter is among them."""
        table = self.settings.phoneme_ids
        unknown = sorted({p for p in phonemes if p not in table})
        if unknown:
            log.warning("dropped phonemes outside the vocabulary: %s", " ".join(unknown))
        if not any(c.isalpha() for p in phonemes if p in table for c in p):
            return []
        padded = [i for p in phonemes if p in table for i in (*table[p], *table[_PAD])]
        return [*table[_BEGIN], *table[_PAD], *padded, *table[_END]]

    def latent(self, ids: list[int], voice: str, speed: float, rng: np.random.Generator) -> Array:
        """The vocoder's input [1, channels, frames] for phoneme ids, drawn with `rng`."""
        n = len(ids)
        noise = rng.standard_normal((1, 2, n), dtype=np.float32) * np.float32(self.settings.noise_w)
        tokens, n_tokens = np.array([ids], dtype=np.int64), np.array([n], dtype=np.int64)
        text = self._run(self._text, voice, tokens=tokens, n_tokens=n_tokens, noise=noise)
        return self.drawn(text["mean"], text["log_deviation"], self.frames(text["durations"], speed), voice, rng)

    def frames(self, durations: Array, speed: float) -> NDArray[np.int64]:
        """Frames of each phoneme [T], from predicted ones of any shape."""
        scaled = np.ceil(durations.ravel() * np.float32(self.settings.length_scale / speed))
        return np.asarray(scaled, dtype=np.int64)

    def drawn(self, mean: Array, log_deviation: Array, frames: NDArray[np.int64], voice: str, rng: np.random.Generator) -> Array:
        """Latent frames [1, channels, frames] from each phoneme's distribution, both [1, channels, T]."""
        if not frames.any():
            frames = np.eye(1, len(frames), dtype=np.int64)[0]  # one frame at least, as Piper has it
        mean, deviation = np.repeat(mean, frames, axis=2), np.repeat(np.exp(log_deviation), frames, axis=2)
        noise = rng.standard_normal(mean.shape, dtype=np.float32) * np.float32(self.settings.noise_scale)
        latent: Array = self._run(self._flow, voice, drawn=mean + noise * deviation)["latent"]
        return latent

    def waveform(self, latent: Array, voice: str) -> Iterator[tuple[Array, bool]]:
        """(samples, whether they are the last) of latent frames, window by window."""
        settings = self.settings
        total = latent.shape[2]
        for begin, end, window_begin, window_end in windows(total, settings.context_frames):
            window = np.ascontiguousarray(latent[:, :, window_begin:window_end])
            samples = self._run(self._vocoder, voice, latent=window)["waveform"].ravel()
            inside = samples[(begin - window_begin) * settings.hop_length : (end - window_begin) * settings.hop_length]
            yield np.clip(inside * np.float32(settings.gain), -1, 1), end == total

    def _run(self, graph: Graph, voice: str, **inputs: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Run a graph with those of its inputs that it has: not every part of every voice asks for the speaker."""
        speakers = self.settings.speakers
        if speakers:
            inputs["speaker"] = np.array([speakers[voice]], dtype=np.int64)
        wanted = set(graph.inputs)
        return graph(**{name: value for name, value in inputs.items() if name in wanted})


def _joined(parts: list[list[str]]) -> list[list[str]]:
    """Parts of sentences put together, up to the mark that ends one."""
    found: list[list[str]] = []
    for part in filter(None, parts):
        if found and found[-1][-1] not in _STOPS:
            apart = found[-1][-1] != " " and part[0] not in _MARKS
            found[-1] += [" ", *part] if apart else part
        else:
            found.append(list(part))
    return found


def windows(frames: int, context: int) -> Iterator[tuple[int, int, int, int]]:
    """(begin, end, window begin, window end) of the pieces of that many frames, in order and without gap.

    A window reaches `context` frames beyond its piece, or to the end of all; windows are of few sizes, whatever the length.
    """
    if frames <= FIRST_FRAMES:
        yield 0, frames, 0, frames
        return
    begin, end = 0, FIRST_FRAMES - context
    yield begin, end, 0, FIRST_FRAMES
    while end < frames:
        begin = end
        left = begin - context
        size = min(WINDOW_FRAMES, STEP_FRAMES * -(-(frames - left) // STEP_FRAMES))
        window_begin = max(0, min(left, frames - size))
        window_end = min(frames, window_begin + size)
        end = frames if window_end == frames else window_end - context
        yield begin, end, window_begin, window_end
