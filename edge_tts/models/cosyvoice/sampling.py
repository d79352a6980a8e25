"""Drawing speech tokens: nucleus sampling that avoids repetition (VALL-E 2), and the signs that decoding has run away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_tts.stages import stage

Array = NDArray[np.floating]


@dataclass(frozen=True)
class SamplingSettings:
    """How a token is drawn.

    top_p, top_k: the nucleus holds the likeliest tokens until their probabilities reach top_p, at most top_k of them
    window_tokens, repetition_ratio: a drawn token that makes up this share of the last tokens is drawn again from all others
    """

    top_p: float = 0.8
    top_k: int = 25
    window_tokens: int = 10
    repetition_ratio: float = 0.1


def log_softmax(logits: Array) -> NDArray[np.float64]:
    """Along the last axis, in float64."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def nucleus(log_probs: Array, settings: SamplingSettings) -> NDArray[np.int64]:
    """Ids of the nucleus, likeliest first, at least one; equal ones in the order of their ids. log_probs: [classes]."""
    order = np.argsort(-log_probs, kind="stable")[: settings.top_k]
    before = np.cumsum(np.exp(log_probs[order].astype(np.float64))) - np.exp(log_probs[order].astype(np.float64))
    return order[: max(1, int(np.count_nonzero(before < settings.top_p)))]


@stage("sampling")
def draw(log_probs: Array, recent: Sequence[int], settings: SamplingSettings, rng: np.random.Generator) -> int:
    """One token, given those before it. log_probs: [classes], -inf where a class is forbidden."""
    candidates = nucleus(log_probs, settings)
    token = _choose(candidates, log_probs, rng)
    window = recent[-settings.window_tokens :] if settings.window_tokens else ()
    if sum(t == token for t in window) < settings.window_tokens * settings.repetition_ratio or not window:
        return token
    others = np.array(log_probs, dtype=np.float64)
    others[token] = -np.inf
    if not np.isfinite(others).any():
        return token
    return _choose(np.arange(len(others)), others, rng)


def _choose(candidates: NDArray[np.int64], log_probs: Array, rng: np.random.Generator) -> int:
    weights = np.exp(log_probs[candidates].astype(np.float64) - log_probs[candidates].max())
    cumulative = np.cumsum(weights)
    index = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
    return int(candidates[min(index, len(candidates) - 1)])


@dataclass(frozen=True)
class RunawayLimits:
    """Where decoding counts as run away, and how often it is tried. At 50 tokens a second.

    loop_tokens: a stretch that repeats itself exactly for as long as this, whatever its period up to a third of it
    stuck_tokens, stuck_distinct: so many tokens in a row of so few different ones: a long silence or a held sound
    """

    loop_tokens: int = 75
    stuck_tokens: int = 100
    stuck_distinct: int = 4
    attempts: int = 3


@dataclass(frozen=True)
class Runaway:
    """What went wrong, and how many tokens came before it."""

    reason: str
    good_tokens: int


def find_runaway(tokens: Sequence[int], limits: RunawayLimits) -> Runaway | None:
    """Whether the tail of `tokens` shows that decoding has run away; cheap enough to ask after every token."""
    n = len(tokens)
    if n >= limits.stuck_tokens and len(set(tokens[n - limits.stuck_tokens :])) <= limits.stuck_distinct:
        return Runaway("stuck", n - limits.stuck_tokens)
    if n >= limits.loop_tokens:
        tail = np.asarray(tokens[n - limits.loop_tokens :])
        for period in range(1, limits.loop_tokens // 3 + 1):
            if tail[-1] == tail[-1 - period] and np.array_equal(tail[period:], tail[:-period]):
                return Runaway("loop", n - limits.loop_tokens + period)
    return None
