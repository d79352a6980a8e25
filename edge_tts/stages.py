"""Where the time of speaking goes: named stages, timed only while somebody records them.

    with stages.recording() as recorded:
        list(voice.synthesize("Hello."))
    recorded.seconds  # {"text front end": 0.001, "phonemes": 0.004, "decoder": 0.31, …}

A stage inside another counts for itself only, so that all of them add up to no more than the time that passed. What is recorded
is that of the thread that records; where nobody does, a stage costs a microsecond.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass
class Recorded:
    """seconds, calls: of each stage, in the order in which the stages were first entered."""

    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    _inner_s: list[float] = field(default_factory=list)  # of each stage that is open, the time spent in stages inside it

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Count the time inside the `with` for that stage."""
        self.seconds.setdefault(name, 0.0)
        self.calls[name] = self.calls.get(name, 0) + 1
        self._inner_s.append(0.0)
        began_s = time.perf_counter()
        try:
            yield
        finally:
            took_s = time.perf_counter() - began_s
            self.seconds[name] += took_s - self._inner_s.pop()
            if self._inner_s:
                self._inner_s[-1] += took_s


_recorded: ContextVar[Recorded | None] = ContextVar("recorded", default=None)


@contextmanager
def recording() -> Iterator[Recorded]:
    """Record the stages of this thread inside the `with`."""
    recorded = Recorded()
    token = _recorded.set(recorded)
    try:
        yield recorded
    finally:
        _recorded.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """A stage: around a block as `with stage(name):`, or around every call of a function as `@stage(name)`."""
    recorded = _recorded.get()
    if recorded is None:
        yield
    else:
        with recorded.measure(name):
            yield


def each(name: str, items: Iterator[T]) -> Iterator[T]:
    """The same items; the making of each is a stage."""
    return items if _recorded.get() is None else _measured(name, items)


def _measured(name: str, items: Iterator[T]) -> Iterator[T]:
    while True:
        with stage(name):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
