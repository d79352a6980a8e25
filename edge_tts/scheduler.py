"""One worker thread speaks for everybody, a chunk at a time in turn.

A `Job` is one request: it is fed text, possibly little by little, and gives chunks of audio. The `Scheduler` admits a bounded
number of jobs, takes the next chunk of each in turn (urgent ones first), skips those whose listener has not taken what is
ready, and ends those that are cancelled. A `VoiceSlot` is a bundle that may or may not be loaded. There is no asyncio in here:
whoever waits for a job gives a `notify` function, which is called from the worker and must not block.
"""

from __future__ import annotations

import enum
import gc
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from edge_tts import memory
from edge_tts.audio import AudioChunk
from edge_tts.bundle import Bundle
from edge_tts.errors import (
    BusyError,
    CancelledError,
    EdgeTTSError,
    EngineError,
    ServiceError,
)
from edge_tts.synthesizer import SpeechOptions, Utterance, Voice

logger = logging.getLogger(__name__)

_REST_AFTER_S = 1.0  # without work; the next sentence then takes some milliseconds longer


class Priority(enum.IntEnum):
    """Whose turn comes first; the smaller the more urgent."""

    HIGH = 0
    NORMAL = 1


@dataclass(frozen=True)
class SchedulerLimits:
    """How much may wait.

    max_jobs: requests that are admitted at once, spoken or waiting
    buffer_s: seconds of audio kept for a listener that is slow to take it, before its job has to wait
    unload_after_s: seconds without a request after which the model is unloaded; 0 keeps it
    """

    max_jobs: int = 64
    buffer_s: float = 20.0
    unload_after_s: float = 0.0


class VoiceSlot:
    """A voice bundle and, while it is loaded, its `Voice`. Loaded by whoever first asks, unloaded by the worker when idle."""

    def __init__(self, bundle: Bundle, load: Callable[[], Voice], on_change: Callable[[str, float], None] | None = None) -> None:
        self.bundle = bundle
        self._load = load
        self._on_change = on_change or (lambda event, seconds: None)
        self._lock = threading.Lock()
        self._voice: Voice | None = None
        self.warm = False  # whether it has spoken every language since it was loaded: the first time loads dictionaries, too

    @property
    def loaded(self) -> bool:
        return self._voice is not None

    @property
    def counters(self) -> dict[str, int]:
        """What the model counts of itself; nothing while it is not loaded."""
        voice = self._voice
        return {} if voice is None else voice.counters

    def voice(self) -> Voice:
        """The voice, loaded first if need be (this takes seconds). Raises BundleError or EngineError."""
        with self._lock:
            if self._voice is None:
                began_s = time.monotonic()
                self._voice = self._load()
                self._on_change("load", time.monotonic() - began_s)
            return self._voice

    def warm_up(self) -> None:
        """Load the voice, and have it speak a word to nobody."""
        self.voice().warm_up()
        self.warm = True

    def rest(self) -> None:
        """Give back the memory that only speaking takes."""
        with self._lock:
            if self._voice is not None:
                self._voice.rest()

    def unload(self) -> None:
        """Let go of the model's memory, and give it back to the system."""
        with self._lock:
            if self._voice is None:
                return
            self._voice = None
            self.warm = False
            began_s = time.monotonic()
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            memory.trim_heap()
            self._on_change("unload", time.monotonic() - began_s)


@dataclass
class JobTimes:
    """What a job took, on the monotonic clock, for logs and metrics."""

    submitted_s: float
    first_chunk_s: float | None = None
    compute_s: float = 0.0
    audio_s: float = 0.0
    characters: int = 0


@dataclass(eq=False)
class Job:
    """One request. Every method may be called from any thread; none blocks."""

    slot: VoiceSlot
    options: SpeechOptions
    priority: Priority
    notify: Callable[[], None]
    _changed: threading.Condition
    times: JobTimes
    error: EdgeTTSError | None = None
    ended: bool = False
    in_sentence: bool = False
    _texts: deque[str] = field(default_factory=deque)
    _finished: bool = False
    _cancelled: bool = False
    _utterance: Utterance | None = None
    _chunks: deque[AudioChunk] = field(default_factory=deque)
    _buffered_s: float = 0.0

    @property
    def warm(self) -> bool:
        """Whether nothing has to be loaded for it any more."""
        return self.slot.warm

    def feed(self, text: str) -> None:
        """Add text to be spoken: whole sentences, as the seams between pieces are ends of sentences."""
        with self._changed:
            if not self._finished and not self.ended:
                self._texts.append(text)
                self.times.characters += len(text)
                self._changed.notify()

    def finish(self) -> None:
        """No more text comes: the job ends when all of it is spoken."""
        with self._changed:
            self._finished = True
            self._changed.notify()

    def cancel(self) -> None:
        """Stop within one model step; audio that was not taken is dropped."""
        with self._changed:
            self._cancelled = True
            if self._utterance is not None:
                self._utterance.cancel()
            self._changed.notify()

    def take(self) -> AudioChunk | None:
        """The next chunk if one is ready. None means not yet, or, when `ended`, never: then `error` says how it ended."""
        with self._changed:
            if self._cancelled or not self._chunks:
                return None
            chunk = self._chunks.popleft()
            self._buffered_s -= chunk.duration_s
            self._changed.notify()
            return chunk

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def runnable(self, buffer_s: float) -> bool:
        """Whether the worker has anything to do for this job; asked with the lock held."""
        has_work = self._utterance is not None or bool(self._texts) or self._finished
        return has_work and self._buffered_s < buffer_s

    def advance(self) -> AudioChunk | None:
        """The next chunk, computed now; None when the text so far is spoken. Worker only."""
        if self._cancelled:
            raise CancelledError("the request was cancelled")
        if self._utterance is None:
            voice = self.slot.voice()
            with self._changed:
                if self._cancelled or not self._texts:
                    return None
                text = self._texts.popleft()
            utterance = voice.utterance(text, self.options)
            if self.options.speaker is None:  # the first text picks the speaker, and the request keeps it
                self.options = replace(self.options, speaker=utterance.voice.name)
            with self._changed:
                self._utterance = utterance
                if self._cancelled:
                    utterance.cancel()
        chunk = next(self._utterance, None)
        if chunk is None:
            self.drop_utterance()
        return chunk

    def drop_utterance(self) -> None:
        """Free the state of the text being spoken. Worker only."""
        with self._changed:
            utterance, self._utterance = self._utterance, None
        if utterance is not None:
            utterance.close()

    def deliver(self, chunk: AudioChunk) -> None:
        """Keep a chunk for the listener; with the lock held."""
        self._chunks.append(chunk)
        self._buffered_s += chunk.duration_s
        self.in_sentence = not chunk.ends_sentence
        self.times.audio_s += chunk.duration_s
        if self.times.first_chunk_s is None:
            self.times.first_chunk_s = time.monotonic()

    @property
    def owed_a_sentence(self) -> bool:
        """Whether text has come and nothing of it was spoken yet; asked with the lock held."""
        return self.times.first_chunk_s is None and (self._utterance is not None or bool(self._texts))

    def spoken(self) -> bool:
        """Whether all text has come and was spoken; with the lock held."""
        return self._finished and not self._texts and self._utterance is None


class Scheduler:
    """The worker thread and the jobs it serves. `start` before the first `submit`; `stop` ends it."""

    def __init__(self, slot: VoiceSlot, limits: SchedulerLimits | None = None) -> None:
        self.limits = limits or SchedulerLimits()
        self._slot = slot
        self._changed = threading.Condition()
        self._jobs: list[Job] = []  # in the order of their turns
        self._draining = False
        self._stop_at_s: float | None = None
        self._step_began_s: float | None = None
        self._idle_since_s = time.monotonic()
        self._rested = False
        self._thread = threading.Thread(target=self._work, name="speech", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def slot(self) -> VoiceSlot:
        """The bundle that new requests are spoken with."""
        return self._slot

    def replace(self, slot: VoiceSlot) -> None:
        """Speak new requests with another bundle; those already admitted end with the one they began with."""
        with self._changed:
            self._slot = slot

    def submit(self, options: SpeechOptions, priority: Priority, notify: Callable[[], None]) -> Job:
        """Admit a request. Raises BusyError when the queue is full, ServiceError when the service is stopping."""
        with self._changed:
            if self._draining:
                raise ServiceError("the service is stopping; try again in a moment")
            n_waiting = sum(not job.cancelled for job in self._jobs)
            if n_waiting >= self.limits.max_jobs:
                raise BusyError(f"busy: {n_waiting} requests are waiting, which is the limit; try again in a moment")
            job = Job(self._slot, options, priority, notify, self._changed, JobTimes(time.monotonic()))
            self._jobs.append(job)
            return job

    def settle(self) -> None:
        """Somebody else has used the model: what follows is to be done about it when it has been idle for long enough."""
        with self._changed:
            self._idle_since_s = time.monotonic()
            self._rested = False
            self._changed.notify()

    @property
    def depth(self) -> int:
        """Requests admitted and not ended."""
        return len(self._jobs)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def stuck_for_s(self) -> float:
        """Seconds since the model's present step began; 0 between steps. A watchdog wants this to stay small."""
        began_s = self._step_began_s
        return 0.0 if began_s is None else time.monotonic() - began_s

    def stop(self, grace_s: float = 10.0) -> None:
        """Let sentences that have begun, and the first one of requests that wait, come to their end, and end the thread.

        Blocks for up to `grace_s`, and then until the model's present step ends.
        """
        with self._changed:
            self._draining = True
            self._changed.notify()
        self._thread.join(grace_s)
        with self._changed:
            for job in self._jobs:
                job.cancel()
        self._thread.join(grace_s)

    def _work(self) -> None:
        while True:
            idle: Callable[[], None] | None = None
            with self._changed:
                job = self._next_job()
                if job is not None:
                    self._step_began_s = time.monotonic()
                elif self._draining and not self._jobs:
                    return
                else:
                    idle = self._wait()
            if job is not None:
                self._step(job)
            elif idle is not None:
                idle()
            del job  # a job that has ended must not be kept until the next one comes

    def _next_job(self) -> Job | None:
        """Whose turn it is: the first urgent job that has work, else the first that has."""
        for job in [job for job in self._jobs if job.cancelled]:
            job.drop_utterance()
            self._end(job, CancelledError("the request was cancelled"))
        if self._draining:
            for job in [job for job in self._jobs if not job.in_sentence and not job.owed_a_sentence]:
                job.drop_utterance()
                self._end(job, ServiceError("the service is stopping; the rest of this request was not spoken"))
        ready = [job for job in self._jobs if job.runnable(self.limits.buffer_s)]
        return min(ready, key=lambda job: job.priority, default=None)

    def _wait(self) -> Callable[[], None] | None:
        """Wait for work; returns what is to be done about a model that had none for so long, if anything."""
        if self._jobs or not self._slot.loaded:
            self._changed.wait()
            return None
        idle_s = time.monotonic() - self._idle_since_s
        unload_after_s = self.limits.unload_after_s or math.inf
        if idle_s >= unload_after_s:
            return self._slot.unload
        if idle_s >= _REST_AFTER_S and not self._rested:
            self._rested = True
            return self._slot.rest
        next_s = unload_after_s if self._rested else min(unload_after_s, _REST_AFTER_S)
        self._changed.wait(None if next_s == math.inf else next_s - idle_s)
        return None

    def _step(self, job: Job) -> None:
        """One chunk of one job; every error ends that job alone and is handed to whoever waits for it."""
        self._rested = False
        began_s = time.monotonic()
        error: EdgeTTSError | None = None
        chunk: AudioChunk | None = None
        try:
            chunk = job.advance()
        except EdgeTTSError as known:
            error = known
        except Exception as unknown:  # the thread's edge: forwarded, so that one request cannot end all
            logger.exception("a request failed in an unexpected way")
            error = EngineError(f"unexpected {type(unknown).__name__}: {unknown}")
        job.times.compute_s += time.monotonic() - began_s
        if error is not None:
            job.drop_utterance()
        with self._changed:
            self._step_began_s = None
            if chunk is not None:
                job.deliver(chunk)
            if error is not None or job.spoken():
                self._end(job, error)
            else:  # to the end of the line, after those that came meanwhile
                self._jobs.remove(job)
                self._jobs.append(job)
        job.notify()

    def _end(self, job: Job, error: EdgeTTSError | None) -> None:
        """Take a job off the list; with the lock held."""
        job.error = error
        job.ended = True
        if job in self._jobs:
            self._jobs.remove(job)
        self._idle_since_s = time.monotonic()
        job.notify()
