"""hibari: phonemes -> the parts of a spectrum, by one small graph -> waveform, by signal arithmetic in numpy.

A frame's spectrum is a pulse train filtered by the graph's harmonic part, plus noise it shapes, plus a part of free phase:
S = harmonic e^(i turn) STFT(pulses) + noise Z + free e^(i phase), Z complex Gaussian noise. The waveform is its inverse STFT.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from edge_tts import signal
from edge_tts.audio import AudioChunk
from edge_tts.bundle import Bundle, reading_settings
from edge_tts.models.kokoro import UnknownWords, pieces_of
from edge_tts.stages import stage
from edge_tts.text import Sentence
from edge_tts.text.language import HAN, KANA
from edge_tts.text.phonemes import ENGLISH_TABLE, Phonemizer, ids_of

if TYPE_CHECKING:
    from edge_tts.engine import Engine, Graph
    from edge_tts.models import Delivery

Array = NDArray[np.float32]
Spectrum = NDArray[np.complex64]
log = logging.getLogger(__name__)

# What the voices were trained on, without the two end marks.
MAX_PHONEMES = 400
LIMIT_CHARACTERS = 200
# hibari's own source module: harmonics up to 11 kHz where f0 is above 40 Hz.
_VOICED_HZ, _HIGHEST_HARMONIC_HZ = 40.0, 11000.0
# Below this, sin((H + 1/2) t) / sin(t / 2) is taken at its limit.
_SMALL_SINE = 2e-3
_OTHER_SCRIPTS = re.compile(f"[{HAN}{KANA}]")


@dataclass(frozen=True)
class HibariSettings:
    """The manifest's `settings` of this family.

    vocabulary: phoneme -> id
    n_fft, hop_length: of the STFT; a frame is hop_length samples
    """

    vocabulary: dict[str, int]
    n_fft: int
    hop_length: int

    @classmethod
    def of(cls, bundle: Bundle) -> HibariSettings:
        with reading_settings(bundle) as given:
            settings = cls(
                **{
                    **given,
                    "vocabulary": {phoneme: int(i) for phoneme, i in dict(given["vocabulary"]).items()},
                    **{name: int(given[name]) for name in ("n_fft", "hop_length")},
                }
            )
            if not 0 < settings.hop_length <= settings.n_fft or settings.n_fft % (2 * settings.hop_length):
                raise ValueError(f"hop_length {settings.hop_length} does not divide half of n_fft {settings.n_fft}")
        return settings


def load(bundle: Bundle, engine: Engine) -> HibariModel:
    """Compile the default voice's graph; those of the others at their first sentence."""
    return HibariModel(bundle, engine)


class HibariModel:
    """A loaded hibari bundle; see `edge_tts.models.Model`. Each voice is a graph of its own."""

    limit_characters = LIMIT_CHARACTERS

    def __init__(self, bundle: Bundle, engine: Engine) -> None:
        self.sample_rate = bundle.manifest.sample_rate
        self._bundle = bundle
        self._engine = engine
        self._settings = HibariSettings.of(bundle)
        self._loading = threading.Lock()
        self._graphs: dict[str, Graph] = {}
        self.graph(bundle.default_voice("").name)
        british = {voice.language == "en-GB" for voice in bundle.manifest.voices}
        self._unknown_words = {accent: UnknownWords(bundle, engine, accent) for accent in british}
        self.phonemes = Phonemizer(
            lambda word, british: self._unknown_words[british](word), english=bundle.file(ENGLISH_TABLE)
        )

    def graph(self, voice: str) -> Graph:
        """The voice's graph, compiled when it is first asked for."""
        with self._loading:
            if voice not in self._graphs:
                path = self._bundle.file(f"voices/{voice}.xml")
                self._graphs[voice] = self._engine.compile(path)
            return self._graphs[voice]

    def speak(
        self, sentences: Iterator[Sentence], delivery: Delivery, cancelled: Callable[[], bool]
    ) -> Iterator[AudioChunk]:
        """One chunk a sentence; a sentence with more phonemes than the model takes comes in several."""
        rng = np.random.default_rng(delivery.seed)
        for sentence in sentences:
            text = _readable(sentence.text)
            readings = [word for word in sentence.readings if word.reading.phonemes]
            phonemes = self.phonemes(text, british=delivery.voice.language == "en-GB", readings=readings)
            pieces = [ids for ids in map(self.token_ids, pieces_of(phonemes, MAX_PHONEMES)) if ids]
            for i, ids in enumerate(pieces):
                if cancelled():
                    return
                samples = self.synthesize(ids, delivery.voice.name, delivery.speed, rng)
                yield AudioChunk(samples, self.sample_rate, ends_sentence=i == len(pieces) - 1, ends_clause=True)

    def token_ids(self, phonemes: str) -> list[int]:
        """Ids of the phonemes; those outside the vocabulary are dropped and logged. Empty if no letter is among them."""
        ids = ids_of(phonemes, self._settings.vocabulary)
        return ids if any(c.isalpha() for c in phonemes) else []

    def synthesize(self, ids: list[int], voice: str, speed: float, rng: np.random.Generator) -> Array:
        """Waveform [n] of phoneme ids, n a multiple of the hop length."""
        parts = self.graph(voice)(ids=np.array([[0, *ids, 0]], dtype=np.int64), speed=np.array([speed], dtype=np.float32))
        frames, bins = parts["noise"].shape[1:]
        noise = rng.standard_normal((frames, 2 * bins), dtype=np.float32).view(np.complex64)
        return self.waveform({name: part[0] for name, part in parts.items()}, noise)

    @stage(signal.STAGE)
    def waveform(self, parts: Mapping[str, Array], noise: Spectrum) -> Array:
        """Waveform [F * hop_length] of the graph's outputs, each [F, bins] but f0 [F]; noise [F, bins]."""
        settings = self._settings
        n_fft, hop = settings.n_fft, settings.hop_length
        frames = len(parts["f0"])
        pulses = pulse_train(parts["f0"], hop, self.sample_rate)
        # Scaled so that a harmonic of unit amplitude has a peak of one, for a Hann window's sum is half its length.
        source = signal.stft(pulses * np.float32(4 / n_fft), n_fft, hop).T[:frames]  # the last frame is beyond the end
        spectrum = source * polar(parts["harmonic"], parts["turn"])
        spectrum += noise * parts["noise"]
        spectrum += polar(parts["free"], parts["phase"])
        window = signal.hann_window(n_fft)
        total = signal.overlap_add(np.fft.irfft(spectrum, n_fft, axis=-1) * window.astype(np.float32), hop)
        weight = signal.overlap_add(np.broadcast_to(np.square(window), (frames, n_fft)), hop)
        inside = slice(n_fft // 2, n_fft // 2 + frames * hop)
        return np.asarray(total[inside] / weight[inside], dtype=np.float32)


def polar(magnitude: Array, angle: Array) -> Spectrum:
    """magnitude * e^(i angle), of any shape."""
    result = np.empty(magnitude.shape, dtype=np.complex64)
    np.multiply(magnitude, np.cos(angle), out=result.real)
    np.multiply(magnitude, np.sin(angle), out=result.imag)
    return result


def pulse_train(f0_hz: Array, hop_length: int, sample_rate: int) -> Array:
    """Every harmonic up to 11 kHz at unit amplitude where f0 is voiced, else zero: [F * hop_length] of f0 [F].

    The sum of H cosines is Dirichlet's kernel: sum of cos(h t) for h = 1 … H is sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2.
    """
    f0 = signal.interpolate_frames(np.asarray(f0_hz, dtype=np.float32), len(f0_hz) * hop_length)
    voiced = f0 > _VOICED_HZ
    f0 = np.maximum(f0, np.float32(_VOICED_HZ))
    cycles = np.cumsum(f0, dtype=np.float64) / sample_rate
    t = (2 * np.pi * (cycles % 1.0)).astype(np.float32)
    order = np.floor(np.float32(_HIGHEST_HARMONIC_HZ) / f0) + np.float32(0.5)  # H + 1/2
    below = 2 * np.sin(t / 2)
    small = np.abs(below) <= _SMALL_SINE
    kernel = np.where(small, order, np.sin(order * t) / np.where(small, np.float32(1), below)) - np.float32(0.5)
    return np.where(voiced, kernel, np.float32(0)).astype(np.float32)


def _readable(text: str) -> str:
    """The text with a space for every character of a script that this voice cannot read, so that places stay as they are."""
    unread = sorted(set(_OTHER_SCRIPTS.findall(text)))
    if unread:
        log.warning("dropped letters that this voice cannot read: %s", " ".join(unread[:20]))
    return _OTHER_SCRIPTS.sub(" ", text)
