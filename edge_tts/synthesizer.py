"""The way through: text -> sentences -> model -> audio chunks. `Voice` is a loaded bundle, `Utterance` one request's state."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from edge_tts import models, stages
from edge_tts.audio import AudioChunk
from edge_tts.bundle import Bundle, VoiceEntry, open_bundle
from edge_tts.errors import CancelledError, OptionError
from edge_tts.text import frontend
from edge_tts.text.lexicon import Lexicon, user_lexicon
from edge_tts.text.lexicon import load as load_lexicon
from edge_tts.text.normalize import LANGUAGES

SPEED_MIN, SPEED_MAX = 0.5, 2.0
LEXICON_FILE = "lexicon.txt"


@dataclass(frozen=True)
class SpeechOptions:
    """What a request wants.

    speaker: a voice's name; None lets the text's main language pick one
    speed: 0.5 (slow) to 2.0 (fast)
    language: primary subtag ("en", "zh", …) or BCP 47 tag that the text is in; None finds out
    seed: makes repeated requests sound the same where speech is sampled
    lexicon: readings of words, over those of the bundle and the user
    """

    speaker: str | None = None
    speed: float = 1.0
    language: str | None = None
    seed: int | None = None
    lexicon: Lexicon | None = None


def load_voice(path: Path | str, *, threads: int = 0, cache_dir: Path | str | None = None, verify: bool = True) -> Voice:
    """Open a voice bundle and compile its graphs.

    threads: CPU threads to use, 0 for all
    cache_dir: where compiled graphs are kept, and which files had the right hash; by default the user's cache directory
    Raises BundleError or EngineError.
    """
    from edge_tts.engine import (  # OpenVINO loads only when a voice does
        Engine,
        EngineOptions,
        default_cache_dir,
    )

    cache = Path(cache_dir) if cache_dir else default_cache_dir()
    bundle = open_bundle(path, verify=verify, record=cache / "verified.json")
    engine = Engine(EngineOptions(threads=threads, cache_dir=cache))
    return Voice(bundle, models.load(bundle, engine), engine.rest)


class Voice:
    """A loaded voice bundle. May be shared by threads; each `synthesize` has its own state."""

    def __init__(self, bundle: Bundle, model: models.Model, rest: Callable[[], None] | None = None) -> None:
        self.bundle = bundle
        self._model = model
        self._rest = rest
        self._lexicon = bundle_lexicon(bundle) | user_lexicon()

    @property
    def sample_rate(self) -> int:
        """Samples per second of all audio of this voice."""
        return self._model.sample_rate

    @property
    def counters(self) -> dict[str, int]:
        """What the model counts of itself since it was loaded, such as "runaways": sentences that it had to begin again."""
        return dict(getattr(self._model, "counters", {}))

    @property
    def speakers(self) -> tuple[VoiceEntry, ...]:
        """The bundle's speakers."""
        return self.bundle.manifest.voices

    def synthesize(
        self,
        text: str,
        *,
        speaker: str | None = None,
        speed: float = 1.0,
        language: str | None = None,
        seed: int | None = None,
        lexicon: Lexicon | None = None,
    ) -> Iterator[AudioChunk]:
        """Speak `text`: yields one chunk a sentence or less, as soon as it is ready; nothing for text without words.

        Options are as in `SpeechOptions`. Raises UnknownVoiceError or OptionError at once, not at the first chunk.
        """
        return self.utterance(text, SpeechOptions(speaker, speed, language, seed, lexicon))

    def utterance(self, text: str, options: SpeechOptions) -> Utterance:
        """The state of one request, an iterator of chunks that can be cancelled; raises as `synthesize` does."""
        return self._utterance(text, options, rehearsed=False)

    def _utterance(self, text: str, options: SpeechOptions, *, rehearsed: bool) -> Utterance:
        check_speed(options.speed)
        language = self._language(options)
        delivery = models.Delivery(self.speaker_for(text, options), options.speed, options.seed, rehearsed)
        words = self._lexicon | options.lexicon if options.lexicon else self._lexicon
        sentences = frontend.sentences(
            text, language=language, limit_characters=self._model.limit_characters, lexicon=words,
            rules=language is None or language in LANGUAGES or language not in self.bundle.manifest.languages,
        )  # fmt: skip
        return Utterance(self._model, stages.each("text front end", sentences), delivery)

    def _language(self, options: SpeechOptions) -> str | None:
        """The language that all of a text is read in, if that is known: the one given, or the only one of the bundle."""
        if options.language:
            return frontend.primary_subtag(options.language)
        languages = self.bundle.manifest.languages
        return languages[0] if len(languages) == 1 else None

    def speaker_for(self, text: str, options: SpeechOptions) -> VoiceEntry:
        """The named speaker, or the default one for the text's main language."""
        if options.speaker is not None:
            return self.bundle.voice(options.speaker)
        language = frontend.primary_subtag(options.language) if options.language else frontend.main_language(text)
        return self.bundle.default_voice(language)

    def warm_up(self) -> None:
        """Read a number and speak a word into nothing, so that the first request does not pay for first-time work.

        The model itself speaks once only, and fast: the other languages are read, and cancelled before it would begin.
        """
        languages = self.bundle.manifest.languages
        for i, language in enumerate([language for language in languages if language in _WARM_UP] or languages[:1]):
            for _ in frontend.sentences("1", language=language):
                pass
            options = SpeechOptions(language=language, speed=SPEED_MAX)
            with self._utterance(_WARM_UP.get(language, _WARM_UP["en"]), options, rehearsed=True) as word:
                if i == 0:
                    for _ in word:
                        pass
                else:
                    word.read()

    def rest(self) -> None:
        """Give back the memory that only speaking takes; the next sentence takes it anew. Never while the voice speaks."""
        if self._rest is not None:
            self._rest()


_WARM_UP = {"en": "A.", "zh": "好。"}


class Utterance:
    """One request being spoken: iterate for its chunks, `cancel` from any thread, close when done (or use `with`)."""

    def __init__(self, model: models.Model, sentences: Iterator[frontend.Sentence], delivery: models.Delivery) -> None:
        self.voice = delivery.voice
        self.sample_rate = model.sample_rate
        self._cancelled = False
        self._chunks = model.speak(sentences, delivery, lambda: self._cancelled)

    def __iter__(self) -> Utterance:
        return self

    def __next__(self) -> AudioChunk:
        """The next chunk; raises CancelledError after `cancel`, so that cut-off audio never looks complete."""
        if not self._cancelled:
            try:
                return next(self._chunks)
            except StopIteration:
                if not self._cancelled:  # a model that is cancelled on its way to a chunk just ends
                    raise
        raise CancelledError("the request was cancelled")

    def read(self) -> None:
        """Go as far as the model's first step and end there, so that what reading needs is in memory."""
        self._cancelled = True
        with contextlib.suppress(CancelledError):  # a model may end, or say why it does
            next(self._chunks, None)

    def cancel(self) -> None:
        """Stop within one model step, even while another thread is inside `next`."""
        self._cancelled = True

    def close(self) -> None:
        """End the request and free its state; only by the thread that iterates."""
        self._cancelled = True
        close = getattr(self._chunks, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Utterance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def bundle_lexicon(bundle: Bundle) -> Lexicon:
    """The readings that a bundle brings in its `lexicon.txt`, none when it has no such file."""
    listed = any(entry.path == LEXICON_FILE for entry in bundle.manifest.files)
    return load_lexicon(bundle.file(LEXICON_FILE)) if listed else Lexicon()


def check_speed(speed: float) -> None:
    """OptionError unless `speed` is a number within the range."""
    if not SPEED_MIN <= speed <= SPEED_MAX:  # false for NaN too
        raise OptionError(f"speed {speed} is outside {SPEED_MIN}-{SPEED_MAX}")
