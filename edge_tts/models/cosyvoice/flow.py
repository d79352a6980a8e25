"""Speech tokens -> mel spectrogram: conditional flow matching, solved by Euler steps with classifier-free guidance.

The networks look at a whole block in time, so that the mel of a block depends on where it is cut. Blocks overlap, the overlap
starts from the same noise and condition both times, and the two results are cross-faded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from edge_tts import signal
from edge_tts.errors import CancelledError
from edge_tts.models.cosyvoice.speech_lm import project_unit

if TYPE_CHECKING:
    from edge_tts.engine import Graph

Array = NDArray[np.float32]
Cancelled = Callable[[], bool]
OVERLAP_TOKENS = 20
# Where fewer steps of the cosine schedule are best taken, in 32nds of its angle: EPSS (Zheng 2025, arXiv:2505.19931), whose sway
# sampling of -1 is this schedule.
SPARSE_GRIDS = {5: (0, 2, 4, 8, 16, 32), 7: (0, 2, 4, 6, 8, 16, 24, 32)}


@dataclass(frozen=True)
class FlowSettings:
    """n_steps: Euler steps; guidance: weight of the guidance; the rest relates tokens, frames and samples."""

    n_steps: int
    guidance: float
    cosine_schedule: bool
    token_rate_hz: int
    sample_rate: int
    hop_length: int
    n_mels: int

    def frames_of(self, n_tokens: int) -> int:
        """Mel frames of that many speech tokens."""
        return int(n_tokens / self.token_rate_hz * self.sample_rate / self.hop_length)

    def schedule(self) -> NDArray[np.float32]:
        """Times of the Euler steps from 0 to 1, denser at the start: [n_steps + 1]."""
        t = np.linspace(0.0, 1.0, self.n_steps + 1, dtype=np.float32)
        if not self.cosine_schedule:
            return t
        if self.n_steps in SPARSE_GRIDS:
            t = np.array(SPARSE_GRIDS[self.n_steps], np.float32) / np.float32(32)
        # The reference's float32 values bit by bit: an estimator takes sines of a thousand times these.
        angles = (t * np.float32(0.5) * np.float32(np.pi)).astype(np.float64)
        return np.asarray(np.float32(1) - np.cos(angles).astype(np.float32))

    def steps(self) -> Iterator[tuple[np.float32, np.float32]]:
        """Each step's time and length."""
        schedule = self.schedule()
        time = schedule[0]
        for following in schedule[1:]:
            step = following - time
            yield time, step
            time = time + step


@dataclass(frozen=True, eq=False)
class FlowVoice:
    """Whom the flow speaks as.

    speaker: [speaker size]; prompt_tokens: speech tokens of a prompt, and prompt_mel [n_mels, frames] theirs
    """

    speaker: Array
    prompt_tokens: tuple[int, ...]
    prompt_mel: Array


class Estimator(Protocol):
    """What calls of the estimator's graph look like."""

    def __call__(self, **inputs: Array) -> dict[str, Array]: ...


class Condition(NamedTuple):
    """What the flow is conditioned on: mu [n_mels, frames], projected speaker [n_mels], the prompt's mel [n_mels, frames]."""

    mu: Array
    speaker: Array
    cond: Array


class Flow:
    """The three graphs of the flow. Keeps no state of a request; `FlowStream` does.

    estimator: may be put in something that looks like it, to see what it is given
    """

    estimator: Estimator

    def __init__(
        self,
        encoder: Graph,
        length_regulator: Graph,
        estimator: Graph,
        speaker_weight: Array,
        speaker_bias: Array,
        settings: FlowSettings,
    ) -> None:
        self._encoder, self._length_regulator, self.estimator = encoder, length_regulator, estimator
        self._speaker_weight, self._speaker_bias = speaker_weight, speaker_bias
        self.settings = settings

    def project_speaker(self, embedding: Array) -> Array:
        """[speaker size] -> [n_mels]."""
        return project_unit(embedding, self._speaker_weight, self._speaker_bias)

    def encode(self, tokens: Sequence[int]) -> dict[str, Array]:
        """Speech tokens [n], a prompt's first -> hidden [1, n, size], projected [1, n_mels, n]."""
        return self._encoder(tokens=np.asarray(tokens, dtype=np.int64)[None])

    def condition(self, projected: Array, n_prompt_tokens: int, n_prompt_frames: int) -> Array:
        """mu, the encoding at frame rate: projected [1, n_mels, n] -> [n_mels, frames], the prompt's frames first."""
        prompt, rest = projected[..., :n_prompt_tokens], projected[..., n_prompt_tokens:]
        parts = [signal.interpolate_frames(prompt, n_prompt_frames)] if n_prompt_tokens else []
        parts += self._to_frames(rest)
        mu: Array = self._length_regulator(interpolated=np.concatenate(parts, axis=-1))["mu"][0]
        return mu

    def _to_frames(self, projected: Array) -> list[Array]:
        """Head, middle and tail apart, so that the overlap of two blocks falls on the same frames in both."""
        n, edge = projected.shape[-1], OVERLAP_TOKENS
        n_frames = self.settings.frames_of(n)
        if n <= 2 * edge:
            return [signal.interpolate_frames(projected, n_frames)]
        edge_frames = self.settings.frames_of(edge)
        return [
            signal.interpolate_frames(projected[..., :edge], edge_frames),
            signal.interpolate_frames(projected[..., edge:-edge], n_frames - 2 * edge_frames),
            signal.interpolate_frames(projected[..., -edge:], edge_frames),
        ]

    def direction(self, x: Array, mu: Array, time: Array, speaker: Array, cond: Array) -> Array:
        """The estimator itself: x, mu, cond [b, n_mels, frames], time [b], speaker [b, n_mels] -> [b, n_mels, frames]."""
        features = time_features(time, sum(part.shape[1] for part in (x, mu, speaker, cond)))
        direction: Array = self.estimator(x=x, mu=mu, time=features, speaker=speaker, cond=cond)["direction"]
        return direction

    def guided(self, x: Array, time: np.float32, condition: Condition) -> Array:
        """Direction with guidance at a state [n_mels, frames]: the unconditional half of the batch has only the state."""
        mu, speaker, cond = (np.stack([given, np.zeros_like(given)]) for given in condition)
        given, free = self.direction(np.stack([x, x]), mu, np.repeat(time, 2), speaker, cond)
        guidance = np.float32(self.settings.guidance)
        return np.asarray((1 + guidance) * given - guidance * free)

    def solve(self, noise: Array, condition: Condition, cancelled: Cancelled) -> Array:
        """Integrate from noise [n_mels, frames] to mel, the same."""
        x = noise
        for time, step in self.settings.steps():
            if cancelled():
                raise CancelledError("the request was cancelled")
            x = x + step * self.guided(x, time, condition)
        return x


def time_features(time: Array, size: int) -> Array:
    """Sines, then cosines, of a thousand times the flow's time, [batch] -> [batch, size]; angles rounded as in the reference.

    Here and not in the graph, where constants may be multiplied first: one rounding of such an angle is seen in the mel.
    """
    half = size // 2
    exponents = np.arange(half, dtype=np.float32) * np.float32(-(math.log(10000.0) / (half - 1)))
    rates = np.exp(exponents.astype(np.float64)).astype(np.float32)
    angles = (np.float32(1000.0) * time[:, None] * rates).astype(np.float64)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1).astype(np.float32)


class FlowStream:
    """The mel of one sentence, made block by block; frames come out once they cannot change any more."""

    def __init__(self, flow: Flow, voice: FlowVoice, rng: np.random.Generator, cancelled: Cancelled) -> None:
        self._flow, self._voice, self._rng, self._cancelled = flow, voice, rng, cancelled
        self._speaker = flow.project_speaker(voice.speaker)
        self.overlap_frames = flow.settings.frames_of(OVERLAP_TOKENS)
        n_mels, n_prompt = voice.prompt_mel.shape
        # Noise and condition of the prompt and of the last block's end, as the block that made them had them.
        self._prompt_noise = rng.standard_normal((n_mels, n_prompt), dtype=np.float32)
        self._prompt_mu: Array | None = None
        self._end_noise = self._end_mu = self._end_mel = np.zeros((n_mels, 0), np.float32)

    def push(self, tokens: Sequence[int], *, final: bool) -> Array:
        """The frames of a block that are done: [n_mels, frames].

        tokens: the block's; after the first block they begin with the last OVERLAP_TOKENS of the block before
        final: no block follows, so that nothing is kept back
        """
        voice, n_prompt = self._voice, self._voice.prompt_mel.shape[1]
        encoded = self._flow.encode([*voice.prompt_tokens, *tokens])
        mu = self._flow.condition(encoded["projected"], len(voice.prompt_tokens), n_prompt)
        n_fixed = self._end_mel.shape[1]
        n_frames = mu.shape[1] - n_prompt
        noise = self._rng.standard_normal((len(mu), n_frames), dtype=np.float32)
        noise = np.concatenate([self._prompt_noise, noise], axis=1)
        if self._prompt_mu is None:
            self._prompt_mu = mu[:, :n_prompt]
        mu[:, :n_prompt] = self._prompt_mu
        fixed = slice(n_prompt, n_prompt + n_fixed)
        noise[:, fixed], mu[:, fixed] = self._end_noise, self._end_mu

        cond = np.zeros_like(mu)
        cond[:, :n_prompt] = voice.prompt_mel
        mel = self._flow.solve(noise, Condition(mu, self._speaker, cond), self._cancelled)[:, n_prompt:]
        mel[:, :n_fixed] = signal.cross_fade(self._end_mel, mel[:, :n_fixed])
        if final:
            return mel
        keep = mel.shape[1] - self.overlap_frames
        self._end_noise, self._end_mu = noise[:, n_prompt + keep :], mu[:, n_prompt + keep :]
        self._end_mel = mel[:, keep:]
        return mel[:, :keep]


class SpeedChange:
    """Stretches or squeezes a mel that comes in pieces, by linear interpolation between frames."""

    def __init__(self, speed: float, n_mels: int) -> None:
        self._speed = speed
        self._pending = np.zeros((n_mels, 0), np.float32)
        self._first = 0  # index of the first pending frame in the whole
        self._made = 0

    def push(self, mel: Array, *, final: bool) -> Array:
        """[n_mels, frames] -> as many frames as are certain by now."""
        if self._speed == 1.0:
            return mel
        pending = np.concatenate([self._pending, mel], axis=1)
        end = self._first + pending.shape[1]
        # Output frame k lies at (k + 1/2) * speed - 1/2 and needs the frames on both sides of that.
        limit = int(end / self._speed) if final else max(int((end - 0.5) / self._speed - 0.5), 0)
        position = np.clip((np.arange(self._made, limit) + 0.5) * self._speed - 0.5, 0.0, max(end - 1, 0))
        left = np.floor(position).astype(np.int64)
        weight = (position - left).astype(np.float32)
        right = np.minimum(left + 1, max(end - 1, 0))
        out = pending[:, left - self._first] * (1 - weight) + pending[:, right - self._first] * weight
        self._made = max(limit, self._made)
        next_needed = min(int(max((self._made + 0.5) * self._speed - 0.5, 0.0)), end)
        self._pending, self._first = pending[:, next_needed - self._first :], next_needed
        return np.asarray(out, dtype=np.float32)
