"""Signal arithmetic between the graphs, in numpy: STFT and its inverse, a harmonic source, linear resampling of frames.

Phase is kept in float64: a float32 running sum over ten seconds of audio is wrong by whole degrees, and that is audible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from edge_tts.stages import stage

Array = NDArray[np.floating]
STAGE = "signal"
_BLOCK, _SILENCE_POWER = 240, 1e-4


@lru_cache(maxsize=8)
def hann_window(n_fft: int) -> NDArray[np.float64]:
    """The periodic Hann window, [n_fft]."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft)
    window.flags.writeable = False
    return window


@stage(STAGE)
def stft(x: Array, n_fft: int, hop_length: int) -> NDArray[np.complexfloating]:
    """Centred short-time Fourier transform with a Hann window, the signal reflected at both ends.

    x: [..., samples], more than n_fft / 2 of them
    Returns [..., n_fft / 2 + 1, samples // hop_length + 1], as `torch.stft` with its defaults.
    """
    half = n_fft // 2
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(half, half)], mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, n_fft, axis=-1)[..., ::hop_length, :]
    windowed = frames * hann_window(n_fft).astype(x.dtype)  # [..., frames, n_fft]
    return np.swapaxes(np.fft.rfft(windowed, axis=-1), -1, -2)


@stage(STAGE)
def istft(magnitude: Array, phase: Array, n_fft: int, hop_length: int) -> Array:
    """Inverse of `stft` from polar form: windowed overlap-add, divided by the sum of squared windows.

    magnitude, phase: [..., n_fft / 2 + 1, frames], phase in radians
    Returns [..., (frames - 1) * hop_length] in magnitude's dtype; hop_length must divide n_fft.
    """
    if n_fft % hop_length:
        raise ValueError(f"hop_length {hop_length} does not divide n_fft {n_fft}")
    spectrum = np.swapaxes(magnitude * np.cos(phase) + 1j * (magnitude * np.sin(phase)), -1, -2)
    window = hann_window(n_fft)
    frames = np.fft.irfft(spectrum, n_fft, axis=-1) * window.astype(magnitude.dtype)  # [..., frames, n_fft]
    n_frames, half = frames.shape[-2], n_fft // 2
    total = overlap_add(frames, hop_length)
    weight = overlap_add(np.broadcast_to(np.square(window), (n_frames, n_fft)), hop_length)
    inside = slice(half, half + (n_frames - 1) * hop_length)
    return np.asarray(total[..., inside] / weight[inside], dtype=magnitude.dtype)


def overlap_add(frames: Array, hop_length: int) -> Array:
    """Sum of frames, each `hop_length` after the one before; hop_length divides their length.

    frames: [..., n_frames, n] -> [..., (n_frames - 1) * hop_length + n]
    """
    *leading, n_frames, n = frames.shape
    parts = n // hop_length
    hops = np.zeros((*leading, n_frames + parts - 1, hop_length), dtype=frames.dtype)
    for part in range(parts):  # n / hop_length array additions instead of one per frame
        hops[..., part : part + n_frames, :] += frames[..., part * hop_length : (part + 1) * hop_length]
    return hops.reshape(*leading, -1)


def sine_series(cycles: NDArray[np.float64], amplitudes: Sequence[float]) -> NDArray[np.float64]:
    """The sum of amplitudes[k] sin(2 pi (k + 1) cycles), of any shape, by Clenshaw's recurrence: one sine, one cosine."""
    angle = 2 * np.pi * (cycles % 1.0)
    twice_cosine = 2 * np.cos(angle)
    after = after_that = np.zeros_like(angle)
    for amplitude in reversed(amplitudes):
        after, after_that = amplitude + twice_cosine * after - after_that, after
    return np.asarray(after * np.sin(angle))


@dataclass(frozen=True)
class HarmonicSource:
    """A neural source-filter's excitation: sines at the multiples of f0 where voiced, noise where not (Wang 2019, NSF).

    n_harmonics: sines above the fundamental
    amplitude: of each sine
    voiced_noise: standard deviation of the noise added to voiced samples; unvoiced ones get amplitude / 3
    voiced_threshold_hz: f0 above this is voiced
    """

    sample_rate: int
    n_harmonics: int
    amplitude: float
    voiced_noise: float
    voiced_threshold_hz: float

    def initial_phase(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """A random phase for each harmonic, none for the fundamental, in radians: [n_harmonics + 1]."""
        phase = rng.uniform(-np.pi, np.pi, self.n_harmonics + 1)
        phase[0] = 0.0
        return phase

    @stage(STAGE)
    def __call__(
        self, f0_hz: Array, phase: NDArray[np.float64], rng: np.random.Generator, start_cycles: float = 0.0
    ) -> tuple[NDArray[np.float32], float]:
        """The excitation for f0 at sample rate, and the fundamental's cycles so far, to go on from with the next piece.

        f0_hz: [samples]; phase: [n_harmonics + 1] from `initial_phase`
        Returns [samples, n_harmonics + 1].
        """
        cycles = start_cycles + np.cumsum(f0_hz, dtype=np.float64) / self.sample_rate  # [samples]
        multiples = np.arange(1, self.n_harmonics + 2)
        turns = (cycles[:, None] * multiples) % 1.0
        sines = self.amplitude * np.sin(2 * np.pi * turns + phase)
        voiced = (f0_hz > self.voiced_threshold_hz)[:, None]
        noise_level = np.where(voiced, self.voiced_noise, self.amplitude / 3)
        noise = noise_level * rng.standard_normal(sines.shape, dtype=np.float32)
        end_cycles = float(cycles[-1] % 1.0) if len(cycles) else start_cycles
        return (np.where(voiced, sines, 0.0) + noise).astype(np.float32), end_cycles


@stage(STAGE)
def interpolate_frames(x: Array, n_out: int) -> Array:
    """Linear interpolation along the last axis to `n_out` points, pixel centres aligned (torch: align_corners=False).

    x: [..., n_in] -> [..., n_out]
    """
    n_in = x.shape[-1]
    position = np.clip((np.arange(n_out) + 0.5) * (n_in / n_out) - 0.5, 0.0, None)
    left = np.minimum(position.astype(np.int64), n_in - 1)
    right = np.minimum(left + 1, n_in - 1)
    weight = (position - left).astype(x.dtype)
    return np.asarray(x[..., left] * (1 - weight) + x[..., right] * weight)


@stage(STAGE)
def cross_fade(before: Array, after: Array) -> Array:
    """From `before` to `after` along the last axis, linearly; their weights add up to one everywhere.

    before, after: [..., n] of the same stretch of signal -> [..., n]
    """
    n = before.shape[-1]
    weight = ((np.arange(n) + 0.5) / max(n, 1)).astype(after.dtype)
    return np.asarray(before * (1 - weight) + after * weight)


def trim_silence(samples: Array, keep: int, *, start: bool, end: bool) -> Array:
    """Samples [n] without the silence before the first sound and behind the last, but for `keep` samples of it; faded where cut.

    start, end: which of the two are trimmed. A block of 10 ms at 24 kHz whose root mean square is below -40 dB of full scale is
    silence; samples that are silent throughout stay as they are.
    """
    blocks = samples[: len(samples) // _BLOCK * _BLOCK].reshape(-1, _BLOCK)
    loud = np.flatnonzero(np.square(blocks).mean(axis=1) > _SILENCE_POWER)
    if not len(loud):
        return samples
    first = max(int(loud[0]) * _BLOCK - keep, 0) if start else 0
    last = min((int(loud[-1]) + 1) * _BLOCK + keep, len(samples)) if end else len(samples)
    trimmed = samples[first:last].copy()
    ramp = np.linspace(0.0, 1.0, min(_BLOCK // 2, len(trimmed)), dtype=samples.dtype)
    if first > 0:
        trimmed[: len(ramp)] *= ramp
    if last < len(samples):
        trimmed[len(trimmed) - len(ramp) :] *= ramp[::-1]
    return trimmed
