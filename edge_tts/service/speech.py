"""A request as asyncio sees it: checked options, text in, chunks out, an account of it at the end.

Every protocol makes a `SpeechRequest`, opens a `Speech` with it, feeds text and awaits chunks. Leaving the `with` block of a
`Speech` that has not ended cancels it, so that nothing goes on for a listener who has left.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self, TypeVar

from edge_tts.audio import AudioChunk, check_format
from edge_tts.bundle import Bundle
from edge_tts.errors import CancelledError, EdgeTTSError, OptionError, ServiceError
from edge_tts.scheduler import Job, JobTimes, Priority, Scheduler
from edge_tts.synthesizer import SpeechOptions, check_speed
from edge_tts.text import frontend

Number = TypeVar("Number", int, float)

# The sizes of names that clients choose are limited, because they are logged.
MAX_ID_CHARACTERS = 64


@dataclass(frozen=True)
class SpeechRequest:
    """What a client wants, in any protocol.

    request_id: the client's name for it, to cancel it by and to find it in the log; "" has one made up
    """

    options: SpeechOptions = field(default_factory=SpeechOptions)
    audio_format: str = "wav"
    priority: Priority = Priority.NORMAL
    request_id: str = ""


# The names that options have on a request line. `lang` and `language` mean the same.
OPTION_NAMES = ("voice", "speed", "format", "lang", "seed", "priority", "id")


def with_option(request: SpeechRequest, name: str, value: str) -> SpeechRequest:
    """The request with one option set from text; OptionError when there is no such option or value."""
    options = request.options
    if name == "voice":
        return replace(request, options=replace(options, speaker=value or None))
    if name == "speed":
        return replace(request, options=replace(options, speed=_number(name, value, float)))
    if name == "format":
        return replace(request, audio_format=check_format(value))
    if name == "lang":
        return replace(request, options=replace(options, language=value or None))
    if name == "seed":
        return replace(request, options=replace(options, seed=_number(name, value, int)))
    if name == "priority":
        return replace(request, priority=_priority(value))
    if name == "id":
        return replace(request, request_id=_checked_id(value))
    raise OptionError(f"unknown option {name!r}; choose from: {', '.join(OPTION_NAMES)}")


def _number(name: str, value: str, kind: Callable[[str], Number]) -> Number:
    try:
        return kind(value)
    except ValueError:
        raise OptionError(f"{name} {value!r} is not a number") from None


def _priority(value: str) -> Priority:
    try:
        return Priority[value.upper()]
    except KeyError:
        names = ", ".join(priority.name.lower() for priority in Priority)
        raise OptionError(f"unknown priority {value!r}; choose one of: {names}") from None


def _checked_id(value: str) -> str:
    if not value or len(value) > MAX_ID_CHARACTERS or not all(c.isalnum() or c in "-_.:" for c in value):
        raise OptionError(f"id must be 1 to {MAX_ID_CHARACTERS} letters, digits, or any of - _ . :")
    return value


def check_request(request: SpeechRequest, bundle: Bundle) -> None:
    """Raise at once what would go wrong with these options and this bundle: OptionError or UnknownVoiceError."""
    check_speed(request.options.speed)
    if request.options.speaker is not None:
        bundle.voice(request.options.speaker)
    language = request.options.language
    if language is not None and frontend.primary_subtag(language) not in bundle.manifest.languages:
        known = ", ".join(bundle.manifest.languages)
        raise OptionError(f"language {language!r} is not one that this bundle speaks: {known}")


class Speech:
    """One request from admission to end. Used by one task, as a context manager; `cancel` may come from any other."""

    def __init__(self, request: SpeechRequest, scheduler: Scheduler, on_end: Callable[[Speech], None]) -> None:
        self.request = request
        self.sample_rate = scheduler.slot.bundle.manifest.sample_rate
        self.texts: list[str] = []
        self.outcome = "open"  # then one of: done, cancelled, failed
        self.error: EdgeTTSError | None = None
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._job: Job = scheduler.submit(request.options, request.priority, self._notify)

    @property
    def options(self) -> SpeechOptions:
        """The request's options, with the speaker that the text has picked."""
        return self._job.options

    @property
    def times(self) -> JobTimes:
        return self._job.times

    @property
    def warm(self) -> bool:
        """Whether everything is loaded, so that this process will not be too busy to write silence."""
        return self._job.warm

    def _notify(self) -> None:
        """Called by the worker: wake the task that waits."""
        try:
            self._loop.call_soon_threadsafe(self._ready.set)
        except RuntimeError:  # the loop has ended, and with it whoever waited
            self._job.cancel()

    def feed(self, text: str) -> None:
        """Add whole sentences."""
        if text:
            self.texts.append(text)
            self._job.feed(text)

    def finish(self) -> None:
        """No more text comes."""
        self._job.finish()

    def cancel(self, error: EdgeTTSError | None = None) -> None:
        """Stop within one model step; `chunk` raises `error`, by default that the request was cancelled by its id."""
        self.error = error or CancelledError("the request was cancelled by its id")
        self._job.cancel()
        self._ready.set()

    async def chunk(self, timeout_s: float | None = None) -> AudioChunk | None:
        """The next chunk, or None at the end. Raises TimeoutError when none came in time, and what ended the request early."""
        async with asyncio.timeout(timeout_s):
            while True:
                self._ready.clear()
                if self.error is not None:
                    raise self.error
                chunk = self._job.take()
                if chunk is not None:
                    return chunk
                if self._job.ended:
                    if self._job.error is not None:
                        raise self._job.error
                    self.outcome = "done"
                    return None
                await self._ready.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._job.cancel()
        if self.outcome != "done":
            self.error = self.error or (error if isinstance(error, EdgeTTSError) else None)
            cancelled = self.error is None or isinstance(self.error, CancelledError | ServiceError)
            self.outcome = "cancelled" if cancelled else "failed"
        self._on_end(self)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.times.submitted_s
