"""Kokoro: phonemes -> durations -> f0 and energy -> spectrum -> waveform (StyleTTS 2 with an ISTFTNet decoder).

Three graphs with numpy between them: spreading features over frames, the harmonic source, and the inverse STFT.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edge_tts import signal
from edge_tts.audio import AudioChunk
from edge_tts.bundle import REMEDY, Bundle, reading_settings
from edge_tts.errors import BundleError
from edge_tts.stages import stage
from edge_tts.text import Sentence
from edge_tts.text.phonemes import CHINESE_TABLE, ENGLISH_TABLE, Phonemizer, ids_of

if TYPE_CHECKING:
    from edge_tts.engine import Engine, Graph
    from edge_tts.models import Delivery

Array = NDArray[np.float32]
log = logging.getLogger(__name__)

# What the position table and the style table have room for, without the two end marks.
MAX_PHONEMES = 510
# Text of this length rarely exceeds MAX_PHONEMES; a piece that does is cut again by its phonemes.
LIMIT_CHARACTERS = 200
# A first sentence longer than this many phonemes starts with a clause of its own, so that sound comes early: nothing is heard
# before a piece is complete. At 15 phonemes a second the clause is half a second to four seconds of speech.
_LONG_OPENING, _CLAUSE = 60, (8, 60)
_JOIN_S = 0.12  # silence that stays on either side where pieces of a sentence meet
# Kokoro's own source module: sines of amplitude 0.1 where f0 > 10 Hz.
_SINE_AMPLITUDE, _VOICED_HZ = 0.1, 10.0
_MIN_FRAMES = 1
# Sentences are computed at multiples of this many frames (0.2 s), the last silence being stretched for that and cut off again:
# every length that the graphs meet for the first time costs them kernels, in time and in memory.
_FRAME_STEP = 8


@dataclass(frozen=True)
class KokoroSettings:
    """The manifest's `settings` of this family.

    vocabulary: phoneme -> id
    hop_length, n_fft: of the inverse STFT
    samples_per_frame: waveform samples per frame of the duration predictor
    source_weight, source_bias: the linear layer that mixes the harmonics into one excitation
    """

    vocabulary: dict[str, int]
    n_fft: int
    hop_length: int
    samples_per_frame: int
    source_weight: tuple[float, ...]
    source_bias: float

    @classmethod
    def of(cls, bundle: Bundle) -> KokoroSettings:
        with reading_settings(bundle) as given:
            settings = cls(
                **{
                    **given,
                    "vocabulary": {phoneme: int(i) for phoneme, i in dict(given["vocabulary"]).items()},
                    "source_weight": tuple(float(weight) for weight in given["source_weight"]),
                    "source_bias": float(given["source_bias"]),
                    **{name: int(given[name]) for name in ("n_fft", "hop_length", "samples_per_frame")},
                }
            )
            if not 0 < settings.hop_length <= settings.n_fft or settings.n_fft % settings.hop_length:
                raise ValueError(f"hop_length {settings.hop_length} does not divide n_fft {settings.n_fft}")
        return settings


def load(bundle: Bundle, engine: Engine) -> KokoroModel:
    """Compile the bundle's graphs and open its voices."""
    return KokoroModel(bundle, engine)


class KokoroModel:
    """A loaded Kokoro bundle; see `edge_tts.models.Model`."""

    limit_characters = LIMIT_CHARACTERS

    def __init__(self, bundle: Bundle, engine: Engine) -> None:
        self.sample_rate = bundle.manifest.sample_rate
        self._bundle = bundle
        self._settings = KokoroSettings.of(bundle)
        self._text = engine.compile(bundle.file("text.xml"), snippets=False)
        self._prosody = engine.compile(bundle.file("prosody.xml"), snippets=False)
        self._decoder = engine.compile(bundle.file("decoder.xml"), snippets=False)
        self._unknown_words = {british: UnknownWords(bundle, engine, british) for british in (False, True)}
        self.phonemes = Phonemizer(
            lambda word, british: self._unknown_words[british](word),
            english=bundle.file(ENGLISH_TABLE),
            chinese=bundle.file(CHINESE_TABLE),
        )
        self._styles: dict[str, Array] = {}

    def speak(
        self, sentences: Iterator[Sentence], delivery: Delivery, cancelled: Callable[[], bool]
    ) -> Iterator[AudioChunk]:
        """One chunk a sentence; a long first one, and one with more phonemes than the model takes, come in several."""
        for n_spoken, sentence in enumerate(sentences):
            phonemes = self.phonemes(sentence.text, british=delivery.voice.language == "en-GB", readings=sentence.readings)
            parts = [phonemes] if n_spoken else opening_of(phonemes)
            pieces = [ids for part in parts for ids in map(self.token_ids, pieces_of(part, MAX_PHONEMES)) if ids]
            for i, ids in enumerate(pieces):
                if cancelled():
                    return
                samples = self.synthesize(ids, self.style(delivery.voice.name, len(ids)), delivery.speed)
                ends = i == len(pieces) - 1
                # A piece has 0.3 s of silence before it and 0.5 s behind: too much inside a sentence.
                samples = signal.trim_silence(samples, round(_JOIN_S * self.sample_rate), start=i > 0, end=not ends)
                yield AudioChunk(samples, self.sample_rate, ends_sentence=ends, ends_clause=True)

    def token_ids(self, phonemes: str) -> list[int]:
        """Ids of the phonemes; those outside the vocabulary are dropped and logged."""
        return ids_of(phonemes, self._settings.vocabulary)

    def synthesize(self, ids: list[int], style: Array, speed: float) -> Array:
        """Waveform [n] of phoneme ids in a style [1, 256]."""
        inputs, n_frames = self.decoder_inputs(ids, style, speed)
        spectrum = self._decoder(**inputs)
        settings = self._settings
        wave = signal.istft(spectrum["magnitude"][0], spectrum["phase"][0], settings.n_fft, settings.hop_length)
        return np.asarray(wave[: n_frames * settings.samples_per_frame], dtype=np.float32)

    def decoder_inputs(self, ids: list[int], style: Array, speed: float) -> tuple[dict[str, Array], int]:
        """What the decoder is given, and how many of the F frames are the sentence's.

        text [1, F, H], f0 and energy [1, 2F], harmonics [1, n_fft + 2, L], style [1, 256]
        """
        tokens = np.array([[0, *ids, 0]], dtype=np.int64)
        encoded = self._text(tokens=tokens, style=style)
        frames = np.maximum(np.rint(encoded["durations"][0] / speed), _MIN_FRAMES).astype(np.int64)  # [T]
        n_frames = int(frames.sum())
        frames[-1] += -n_frames % _FRAME_STEP
        features = np.repeat(encoded["prosody"], frames, axis=1)
        curves = self._prosody(features=features, style=style)
        inputs = {
            "text": np.repeat(encoded["text"], frames, axis=1),
            "f0": curves["f0"],
            "energy": curves["energy"],
            "harmonics": self._harmonics(curves["f0"][0]),
            "style": style,
        }
        return inputs, n_frames

    @stage(signal.STAGE)
    def _harmonics(self, f0_hz: Array) -> Array:
        """Magnitude and phase [1, n_fft + 2, L] of the excitation made from f0 [2F], two values a frame."""
        settings = self._settings
        hold = settings.samples_per_frame // 2
        n = len(f0_hz) * hold
        # The phase grows by whole frames and is interpolated between their centres, as the model was trained.
        cycles: Any = signal.interpolate_frames(hold * np.cumsum(f0_hz, dtype=np.float64) / self.sample_rate, n)
        voiced = np.repeat(f0_hz > _VOICED_HZ, hold)
        mixed = signal.sine_series(cycles, settings.source_weight) * _SINE_AMPLITUDE * voiced + settings.source_bias
        spectrum = signal.stft(np.tanh(mixed), settings.n_fft, settings.hop_length)
        return np.concatenate([np.abs(spectrum), np.angle(spectrum)]).astype(np.float32)[None]

    def style(self, voice: str, n_phonemes: int) -> Array:
        """The voice's style for an utterance of that many phonemes, [1, 256]."""
        if voice not in self._styles:
            self._styles[voice] = _styles(self._bundle.file(f"voices/{voice}.npy"))
        return np.array(self._styles[voice][n_phonemes - 1][None], dtype=np.float32)


def _styles(path: Path) -> Array:
    """A voice's styles for every number of phonemes, [MAX_PHONEMES, 256], left on disk."""
    try:
        styles: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:
        raise BundleError(f"{path} is no array of styles ({error}); {REMEDY}") from None
    if styles.ndim != 2 or len(styles) != MAX_PHONEMES:
        raise BundleError(f"{path}: {styles.shape} is not the shape of a voice's {MAX_PHONEMES} styles; {REMEDY}")
    return np.asarray(styles)


class UnknownWords:
    """The network that reads words in no dictionary: characters -> phonemes by CTC. Compiled at the first such word."""

    def __init__(self, bundle: Bundle, engine: Engine, british: bool) -> None:
        self._path = bundle.file("unknown-words-gb.xml" if british else "unknown-words-us.xml")
        self._engine = engine
        alphabet = json.loads(self._path.with_suffix(".json").read_text(encoding="utf-8"))
        self._ids = {character: i + 1 for i, character in enumerate(alphabet["in"])}
        self._phonemes = dict(enumerate(alphabet["out"], start=1))
        self._max_characters = int(alphabet["maxlen"])

    @cached_property
    def _graph(self) -> Graph:
        return self._engine.compile(self._path)

    def __call__(self, word: str) -> str:
        """Phonemes of a word; empty when it has no letter that the network knows."""
        ids = [self._ids[c] for c in word if c in self._ids][: self._max_characters]
        if not ids:
            return ""
        best = self._graph(chars=np.array([ids], dtype=np.int64))["ids"][0]  # [positions], 0 is CTC's blank
        changed = np.flatnonzero(np.diff(best, prepend=0))
        return "".join(self._phonemes[int(i)] for i in best[changed] if i)


_CUTS = (re.compile(r"(?<=[.!?…;:—,])(?=\s)"), re.compile(r"(?<=\S)(?=\s)"))


def opening_of(phonemes: str) -> list[str]:
    """The first clause of a long sentence and what follows it; the sentence as it is where it is short or has no such clause."""
    whole = phonemes.strip()
    shortest, longest = _CLAUSE
    if len(whole) > _LONG_OPENING:
        for match in _CUTS[0].finditer(whole):
            if shortest <= match.end() <= longest and len(whole) - match.end() > shortest:
                return [whole[: match.end()], whole[match.end() :].strip()]
    return [whole]


def pieces_of(phonemes: str, limit: int) -> Iterator[str]:
    """Pieces of at most `limit` phonemes: cut after the last punctuation that fits, else at the last space, else anywhere."""
    rest = phonemes.strip()
    while len(rest) > limit:
        head = rest[: limit + 1]
        ends = (max((match.end() for match in cut.finditer(head)), default=0) for cut in _CUTS)
        end = next((e for e in ends if e), limit)
        yield rest[:end].strip()
        rest = rest[end:].strip()
    if rest:
        yield rest
