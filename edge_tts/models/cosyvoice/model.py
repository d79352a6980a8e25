"""The family's way from sentences to audio: decode speech tokens in a batch, speak the oldest sentence block by block meanwhile.

A request's first sentence is decoded by itself, for early sound; those after it together, because a decode step costs little
more for several sequences than for one. So sentences of several requests that are spoken at once share their steps, too. The
audio of each request comes out in order.
"""

from __future__ import annotations

import itertools
import logging
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from edge_tts.audio import AudioChunk
from edge_tts.bundle import Bundle
from edge_tts.errors import BundleError, CancelledError, TooLongError
from edge_tts.models.cosyvoice.flow import OVERLAP_TOKENS, Flow, FlowSettings, FlowStream, FlowVoice, SpeedChange
from edge_tts.models.cosyvoice.sampling import (
    Runaway,
    RunawayLimits,
    SamplingSettings,
    draw,
    find_runaway,
    log_softmax,
)
from edge_tts.models.cosyvoice.speech_lm import Decoding, LMTables, SpeechLM
from edge_tts.models.cosyvoice.vocoder import Vocoder, VocoderSettings, VocoderStream
from edge_tts.text import Sentence, frontend
from edge_tts.text.tokenizer import TextTokenizer

if TYPE_CHECKING:
    from edge_tts.engine import Engine
    from edge_tts.models import Delivery

Array = NDArray[np.float32]
T = TypeVar("T")
log = logging.getLogger(__name__)

# About 23 s of Chinese speech, so that even a slow reading fits the position table.
LIMIT_CHARACTERS = 100
# Sentences decoded together. Beyond this a step's time grows with the sequences, and the first of them would wait.
MAX_BATCH = 8
# Sentences of all requests decoded together.
MAX_POOLED = 2 * MAX_BATCH
# Tokens by which the blocks of a sentence advance: the first small, for early sound, then growing, for fewer joins.
HOPS_TOKENS = (40, 80, 160, 200)
# A sentence that is decoded to its end is not cut for so little.
UNCUT_TOKENS = 300
# What is said of a sentence that nobody listens to: enough for a frame of mel at any speed.
REHEARSED_TOKENS = 8


@dataclass(frozen=True)
class LMSettings:
    """min_ratio, max_ratio: speech tokens per text token, at least and at most."""

    min_ratio: float
    max_ratio: float


@dataclass(frozen=True, eq=False)
class VoiceData:
    """One way of speaking. SFT, zero-shot and instruct differ in what of this is empty.

    lm_speaker: [speaker size] or [0]; prompt_text: text tokens before the text; prompt_tokens: speech tokens after the task token
    flow: the flow's speaker and prompt
    """

    lm_speaker: Array
    prompt_text: tuple[int, ...]
    prompt_tokens: tuple[int, ...]
    flow: FlowVoice


def load(bundle: Bundle, engine: Engine) -> CosyVoiceModel:
    """Compile the bundle's graphs and read its tables."""
    settings = bundle.manifest.settings
    properties: dict[str, dict[str, Any]] = settings.get("properties", {})

    def graph(name: str) -> Any:
        return engine.compile(bundle.file(f"{name}.xml"), **properties.get(name, {}))

    lm_settings = _settings(bundle, "lm", LMSettings)
    flow_settings = _settings(bundle, "flow", FlowSettings)
    vocoder_settings = _settings(bundle, "vocoder", VocoderSettings)
    tables = read_arrays(bundle, "tables.npz")
    try:
        lm_tables = LMTables(
            speech=tables["lm.speech"],
            control=tables["lm.control"],
            speaker_weight=tables["lm.speaker_weight"],
            speaker_bias=tables["lm.speaker_bias"],
            positions=np.load(bundle.file("positions.npy"), mmap_mode="r", allow_pickle=False),
            position_scales=tables.get("lm.position_scales"),
        )
        flow_speaker = tables["flow.speaker_weight"], tables["flow.speaker_bias"]
        merge = tables["vocoder.merge_weight"], float(tables["vocoder.merge_bias"])
    except KeyError as error:
        raise BundleError(f"{bundle.path}: tables.npz lacks {error}; make the bundle again") from None
    return CosyVoiceModel(
        bundle,
        TextTokenizer.read(bundle.file("multilingual.tiktoken")),
        SpeechLM(graph("text_encoder"), graph("speech_lm"), lm_tables),
        Flow(graph("flow_encoder"), graph("length_regulator"), graph("estimator"), *flow_speaker, flow_settings),
        Vocoder(graph("f0_predictor"), graph("vocoder"), *merge, vocoder_settings),
        lm_settings,
        _settings(bundle, "sampling", SamplingSettings),
    )


class CosyVoiceModel:
    """A loaded CosyVoice bundle; see `edge_tts.models.Model`."""

    limit_characters = LIMIT_CHARACTERS

    def __init__(
        self,
        bundle: Bundle,
        tokenizer: TextTokenizer,
        lm: SpeechLM,
        flow: Flow,
        vocoder: Vocoder,
        lm_settings: LMSettings,
        sampling: SamplingSettings,
        runaway_limits: RunawayLimits | None = None,
    ) -> None:
        self.sample_rate = bundle.manifest.sample_rate
        self.tokenizer, self.lm, self.flow, self.vocoder = tokenizer, lm, flow, vocoder
        self.lm_settings, self.sampling = lm_settings, sampling
        self.runaway_limits = runaway_limits or RunawayLimits()
        self.counters = {"runaways": 0, "given_up": 0}
        self._bundle = bundle
        self._voices: dict[str, VoiceData] = {}
        self._pool = DecodingPool(lm)

    def speak(
        self, sentences: Iterator[Sentence], delivery: Delivery, cancelled: Callable[[], bool]
    ) -> Iterator[AudioChunk]:
        """Chunks of every sentence in order; the first sentence alone, those after it in batches."""
        voice = self.voice(delivery.voice.name)
        seed = (secrets.randbits(63) if delivery.seed is None else delivery.seed) % 2**64
        numbered = enumerate(sentences)
        for group in itertools.chain([list(itertools.islice(numbered, 1))], _batches(numbered, MAX_BATCH)):
            speeches = [Speech(self, voice, sentence, delivery, seed, index, cancelled) for index, sentence in group]
            yield from self._speak_together(speeches, cancelled)

    def voice(self, name: str) -> VoiceData:
        """The stored data of a voice; UnknownVoiceError when there is none."""
        if name not in self._voices:
            index = self._bundle.manifest.voices.index(self._bundle.voice(name))
            arrays = read_arrays(self._bundle, f"voices/{index}.npz")
            flow = FlowVoice(arrays["flow_speaker"], _ids(arrays["flow_prompt_tokens"]), arrays["prompt_mel"])
            prompt_text, prompt_tokens = _ids(arrays["prompt_text"]), _ids(arrays["lm_prompt_tokens"])
            self._voices[name] = VoiceData(arrays["lm_speaker"], prompt_text, prompt_tokens, flow)
        return self._voices[name]

    def _speak_together(self, speeches: Sequence[Speech], cancelled: Callable[[], bool]) -> Iterator[AudioChunk]:
        waiting = list(speeches)
        self._pool.join(speeches)
        try:
            while True:
                while waiting:
                    yield from waiting[0].ready_chunks()
                    if not waiting[0].is_spoken:
                        break
                    waiting.pop(0)
                if not waiting:
                    return
                if cancelled():
                    raise CancelledError("the request was cancelled")
                self._pool.step()
        finally:
            self._pool.leave(speeches)


class DecodingPool:
    """The sentences of all requests that are being decoded, as one batch.

    Whoever takes a step adds a token to every sentence in it, also to those of other requests, which find them there when it is
    their turn. Its methods may be called from any thread.
    """

    def __init__(self, lm: SpeechLM) -> None:
        self._lm = lm
        self._lock = threading.Lock()
        self._waiting: list[Speech] = []
        self._active: list[Speech] = []
        self._decoding: Decoding | None = None  # after what all the active have; None when that has to be read anew
        self._rows: list[int] = []  # where the active are among the sequences of `_decoding`

    def join(self, speeches: Sequence[Speech]) -> None:
        """Have these decoded, as soon as there is room. One alone goes first: it is somebody's first, waited for."""
        with self._lock:
            if len(speeches) == 1:
                self._waiting[:0] = speeches
            else:
                self._waiting += speeches

    def leave(self, speeches: Sequence[Speech]) -> None:
        """Forget these, decoded or not."""
        with self._lock:
            self._waiting = [speech for speech in self._waiting if speech not in speeches]
            kept = [speech for speech in self._active if speech not in speeches]
            if len(kept) < len(self._active):
                self._active, self._decoding = kept, None

    def step(self) -> None:
        """Add a token to every sentence in the batch that has not ended."""
        with self._lock:
            if self._waiting and len(self._active) < MAX_POOLED:
                room = MAX_POOLED - len(self._active)
                self._active += self._waiting[:room]
                del self._waiting[:room]
                self._decoding = None
            if self._active:
                self._add_tokens()

    def _add_tokens(self) -> None:
        active = self._active
        decoding, self._decoding = self._decoding, None
        if decoding is None:
            decoding = self._lm.decode([speech.prefix() for speech in active])
        else:
            decoding.step([speech.tokens[-1] for speech in active], self._rows)
        outcomes = [speech.take(row) for speech, row in zip(active, log_softmax(decoding.logits), strict=True)]
        self._rows = [i for i, speech in enumerate(active) if not speech.is_decoded]
        self._active = [active[i] for i in self._rows]
        again = any(outcomes[i] for i in self._rows)  # somebody goes on from an earlier token
        if self._active and not again and decoding.positions_left:  # else the padding of those that have ended is in the way
            self._decoding = decoding


class Speech:
    """One sentence on its way: its tokens, and the streams that turn them into audio."""

    def __init__(
        self,
        model: CosyVoiceModel,
        voice: VoiceData,
        sentence: Sentence,
        delivery: Delivery,
        seed: int,
        index: int,
        cancelled: Callable[[], bool],
    ) -> None:
        self._model = model
        self._seed = (seed, index)
        text = model.tokenizer.encode(frontend.respelled(sentence))
        encoded = model.lm.encode_text([*voice.prompt_text, *text]).projected[0]
        speaker = voice.lm_speaker if len(voice.lm_speaker) else None
        self._prefix = model.lm.prefix(encoded, speaker, voice.prompt_tokens)
        settings, room = model.lm_settings, model.lm.tables.max_positions - len(self._prefix)
        self._min_tokens = int(len(text) * settings.min_ratio)
        self._max_tokens = min(int(len(text) * settings.max_ratio), room)
        if self._max_tokens <= self._min_tokens:
            raise TooLongError(f"a sentence of {len(text)} text tokens is more than this voice can speak in one go")
        self._rehearsed = delivery.rehearsed
        self.tokens: list[int] = []
        self.is_decoded = False
        self.is_spoken = False
        self._attempt = 0
        self._rng = self._random("tokens")
        self._plan = BlockPlan()
        self._flow = FlowStream(model.flow, voice.flow, self._random("flow"), cancelled)
        self._speed = SpeedChange(delivery.speed, model.flow.settings.n_mels)
        self._vocoder = VocoderStream(model.vocoder, self._random("vocoder"), model.flow.settings.n_mels)

    def _random(self, purpose: str) -> np.random.Generator:
        return np.random.default_rng([*self._seed, self._attempt, *purpose.encode()])

    def prefix(self) -> Array:
        """What the decoder has to read to go on: the sentence's prefix and the tokens so far."""
        return np.concatenate([self._prefix, self._model.lm.embed(self.tokens)])

    def take(self, log_probs: NDArray[np.float64]) -> bool:
        """Draw the next token from [classes]. True when the speech was set back to an earlier token, to go on from there."""
        end = self._model.lm.end_of_speech
        if len(self.tokens) < self._min_tokens:
            log_probs = np.where(np.arange(len(log_probs)) == end, -np.inf, log_probs)
        token = draw(log_probs, self.tokens, self._model.sampling, self._rng)
        if token == end:
            self.is_decoded = True
            return False
        self.tokens.append(token)
        if self._rehearsed and len(self.tokens) >= REHEARSED_TOKENS:
            self.is_decoded = True
            return False
        runaway = find_runaway(self.tokens, self._model.runaway_limits)
        if runaway is None and len(self.tokens) >= self._max_tokens:
            runaway = Runaway("no end", self._plan.spoken_tokens)
        return runaway is not None and self._recover(runaway)

    def _recover(self, runaway: Runaway) -> bool:
        counters = self._model.counters
        counters["runaways"] += 1
        self._attempt += 1
        kept = max(runaway.good_tokens, self._plan.spoken_tokens)  # what was heard cannot be taken back
        log.warning("decoding ran away (%s) after %d tokens, attempt %d", runaway.reason, kept, self._attempt)
        if self._attempt >= self._model.runaway_limits.attempts:
            counters["given_up"] += 1
            if runaway.reason != "no end":
                del self.tokens[max(kept, self._min_tokens) :]
            self.is_decoded = True
            return False
        del self.tokens[kept:]
        self._rng = self._random("tokens")
        return True

    def ready_chunks(self) -> Iterator[AudioChunk]:
        """Audio of the blocks whose tokens are all there."""
        while not self.is_spoken and (block := self._plan.next(len(self.tokens), ended=self.is_decoded)):
            start, stop, final = block
            mel = self._flow.push(self.tokens[start:stop], final=final) if stop > start else None
            self.is_spoken = final
            if mel is None:
                return
            samples = self._vocoder.push(self._speed.push(mel, final=final), final=final)
            if len(samples):
                yield AudioChunk(samples, self._model.sample_rate, ends_sentence=final)


@dataclass
class BlockPlan:
    """Where a sentence is cut into blocks while its tokens come in."""

    _start: int = 0
    _n_blocks: int = field(default=0)

    @property
    def spoken_tokens(self) -> int:
        """Tokens that blocks already depend on."""
        return self._start + OVERLAP_TOKENS if self._n_blocks else 0

    def next(self, n_tokens: int, *, ended: bool) -> tuple[int, int, bool] | None:
        """The next block as (first token, token after the last, whether it is the last), or None when more tokens are needed."""
        left = n_tokens - self._start
        hop = HOPS_TOKENS[min(self._n_blocks, len(HOPS_TOKENS) - 1)]
        if ended:
            hop = HOPS_TOKENS[-1]
            if left <= UNCUT_TOKENS:
                return self._start, n_tokens, True
        if left < hop + OVERLAP_TOKENS:
            return None
        start = self._start
        self._start, self._n_blocks = start + hop, self._n_blocks + 1
        return start, start + hop + OVERLAP_TOKENS, False


def _batches(items: Iterator[T], size: int) -> Iterator[list[T]]:
    while batch := list(itertools.islice(items, size)):
        yield batch


def _ids(array: NDArray[Any]) -> tuple[int, ...]:
    return tuple(int(i) for i in array)


def read_arrays(bundle: Bundle, name: str) -> dict[str, Array]:
    """All arrays of one of the bundle's .npz files."""
    path = bundle.file(name)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}
    except (OSError, ValueError) as error:
        raise BundleError(f"{path}: not readable as arrays ({error}); make the bundle again") from None


def _settings(bundle: Bundle, name: str, kind: type[T]) -> T:
    """A section of the manifest's settings as its dataclass; lists become tuples."""
    try:
        data = bundle.manifest.settings[name]
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in data.items()})
    except (KeyError, TypeError, AttributeError) as error:
        raise BundleError(f"{bundle.path}: the manifest's settings.{name} is not that of a cosyvoice bundle ({error})") from None
