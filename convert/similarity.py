"""How alike two readings of a sentence are: pitch, mel spectrum, and time, from their samples alone.

Written for comparing a quantised voice with its float original, which say the same words in nearly the same time: frames are
first paired by dynamic time warping of their cepstra, also where the lengths are equal, as single sounds can still have moved.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

Array = NDArray[np.float64]
# Analysis at 16 kHz, a frame every 10 ms.
RATE_HZ, HOP_SAMPLES, WINDOW_SAMPLES, N_MELS, N_CEPSTRAL = 16000, 160, 1024, 80, 13
F0_MIN_HZ, F0_MAX_HZ = 60.0, 500.0
# Frames quieter than this below the loudest say nothing about the voice.
FLOOR_DB = 60.0
# YIN's threshold for a frame to be periodic, as published.
_PERIODIC = 0.15
# How far apart, in frames, two readings may be in the same place of the sentence.
_BAND_FRAMES = 60
_REUSE = 0.1


class Difference(NamedTuple):
    """mel_db: root mean square over bands, mean over frames; f0_cents: median over frames that are voiced in both; voicing: share
    of frames that are voiced in one only; duration: of the second over the first, less one."""

    mel_db: float
    f0_cents: float
    voicing: float
    duration: float


def difference(reference: NDArray[np.float32], other: NDArray[np.float32]) -> Difference:
    """Between two readings, both at RATE_HZ."""
    mels = log_mel_db(reference), log_mel_db(other)
    top = max(float(mel.max()) for mel in mels)
    clipped = [np.maximum(mel, top - FLOOR_DB) for mel in mels]
    pairs = warped_time(*(cepstrum(mel) for mel in clipped))
    first, second = clipped[0][pairs[0]], clipped[1][pairs[1]]
    curves = f0_hz(reference)[pairs[0]], f0_hz(other)[pairs[1]]
    voiced = (curves[0] > 0) & (curves[1] > 0)
    cents = 1200 * np.abs(np.log2(curves[0][voiced] / curves[1][voiced]))
    return Difference(
        mel_db=float(np.sqrt(np.square(first - second).mean(axis=1)).mean()),
        f0_cents=float(np.median(cents)) if len(cents) else float("nan"),
        voicing=float(np.mean((curves[0] > 0) != (curves[1] > 0))),
        duration=len(other) / len(reference) - 1,
    )


def frames(samples: NDArray[np.floating], window: int, hop: int) -> Array:
    """Overlapping frames centred on every `hop`-th sample, silence beyond the ends: [n // hop + 1, window]."""
    padded = np.pad(np.asarray(samples, dtype=np.float64), (window // 2, window - window // 2))
    return np.lib.stride_tricks.sliding_window_view(padded, window)[::hop]


def log_mel_db(samples: NDArray[np.float32]) -> Array:
    """Mel spectrum in dB: [frames, N_MELS]."""
    spectrum = np.abs(np.fft.rfft(frames(samples, WINDOW_SAMPLES, HOP_SAMPLES) * np.hanning(WINDOW_SAMPLES))) ** 2
    return np.asarray(10 * np.log10(spectrum @ mel_filters(RATE_HZ, WINDOW_SAMPLES, N_MELS).T + 1e-10))


@lru_cache(maxsize=4)
def mel_filters(rate_hz: int, n_fft: int, n_mels: int) -> Array:
    """Triangles on Slaney's mel scale from 0 to half the rate, each of area 2 / its width in Hz: [n_mels, n_fft // 2 + 1]."""
    edges = _mel_to_hz(np.linspace(0.0, _hz_to_mel(rate_hz / 2), n_mels + 2))
    bins = np.fft.rfftfreq(n_fft, 1 / rate_hz)
    rising = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    area = 2.0 / (edges[2:] - edges[:-2])
    return np.asarray(np.maximum(0.0, np.minimum(rising, falling)) * area[:, None])


# Slaney's scale: linear up to 1000 Hz, which is 15 mel, then 27 mel for each factor of 6.4.
_LINEAR_HZ_A_MEL, _BREAK_HZ, _LOG_STEP = 200 / 3, 1000.0, np.log(6.4) / 27


def _hz_to_mel(hz: float) -> float:
    if hz < _BREAK_HZ:
        return hz / _LINEAR_HZ_A_MEL
    return float(_BREAK_HZ / _LINEAR_HZ_A_MEL + np.log(hz / _BREAK_HZ) / _LOG_STEP)


def _mel_to_hz(mel: Array) -> Array:
    break_mel = _BREAK_HZ / _LINEAR_HZ_A_MEL
    return np.where(mel < break_mel, mel * _LINEAR_HZ_A_MEL, _BREAK_HZ * np.exp(_LOG_STEP * (mel - break_mel)))


def f0_hz(samples: NDArray[np.float32]) -> Array:
    """Fundamental frequency of every frame, 0 where there is none: [frames]. YIN (de Cheveigné and Kawahara 2002)."""
    longest, shortest = int(RATE_HZ / F0_MIN_HZ) + 1, int(RATE_HZ / F0_MAX_HZ)
    window = WINDOW_SAMPLES
    signal = frames(samples, window + longest, HOP_SAMPLES)  # [frames, window + longest]
    head = signal[:, :window]
    n_fft = 2 ** int(np.ceil(np.log2(window + 2 * longest)))
    products = np.fft.irfft(np.conj(np.fft.rfft(head, n_fft)) * np.fft.rfft(signal, n_fft), n_fft)[:, : longest + 1]
    energy = np.cumsum(np.pad(np.square(signal), [(0, 0), (1, 0)]), axis=1)
    lags = np.arange(longest + 1)
    # Sum over the window of the squared difference between the signal and itself `lag` samples later.
    squared = (energy[:, window : window + 1] - energy[:, :1]) + (energy[:, window + lags] - energy[:, lags]) - 2 * products
    mean_so_far = np.cumsum(squared[:, 1:], axis=1) / lags[1:]
    normalised = np.ones_like(squared)
    normalised[:, 1:] = squared[:, 1:] / np.maximum(mean_so_far, 1e-12)
    loud = energy[:, -1] > 10 ** (-FLOOR_DB / 10) * energy[:, -1].max(initial=0.0)
    found = np.zeros(len(signal))
    for i in np.flatnonzero(loud):
        found[i] = _first_dip_hz(normalised[i], shortest, longest)
    return found


def _first_dip_hz(curve: Array, shortest: int, longest: int) -> float:
    """Frequency at the first dip below the threshold, placed between samples by a parabola; 0 without one."""
    below = np.flatnonzero(curve[shortest:longest] < _PERIODIC)
    if not len(below):
        return 0.0
    lag = shortest + int(below[0])
    while lag + 1 < longest and curve[lag + 1] < curve[lag]:
        lag += 1
    before, here, after = curve[lag - 1], curve[lag], curve[lag + 1]
    bend = before - 2 * here + after
    return float(RATE_HZ / (lag + (0.5 * (before - after) / bend if bend > 0 else 0.0)))


def cepstrum(mel_db: Array) -> Array:
    """The envelope of a mel spectrum, without the harmonics of a pitch: [frames, bands] -> [frames, N_CEPSTRAL]."""
    return np.asarray(dct(mel_db, axis=1, norm="ortho")[:, :N_CEPSTRAL])


Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def warped_time(first: Array, second: Array) -> Pairs:
    """Which frames of two sequences [frames, features] belong together: the path of least distance from both starts to both ends.

    A frame that is used again costs `_REUSE` of the mean distance more, so that time is not bent for every small likeness.
    """
    n, m = len(first), len(second)
    costs = np.full((n + 1, m + 1), np.inf)
    costs[0, 0] = 0.0
    norms = np.square(first).sum(axis=1)[:, None] + np.square(second).sum(axis=1) - 2 * first @ second.T
    distances = np.sqrt(np.maximum(norms, 0.0))
    reuse = _REUSE * float(distances.mean())
    band = max(_BAND_FRAMES, abs(n - m) + 10)
    for i in range(1, n + 1):
        centre = round(i * m / n)
        for j in range(max(1, centre - band), min(m, centre + band) + 1):
            costs[i, j] = distances[i - 1, j - 1] + min(costs[i - 1, j - 1], costs[i - 1, j] + reuse, costs[i, j - 1] + reuse)
    path = []
    i, j = n, m
    while i and j:
        path.append((i - 1, j - 1))
        backwards = (costs[i - 1, j - 1], costs[i - 1, j] + reuse, costs[i, j - 1] + reuse)
        i, j = ((i - 1, j - 1), (i - 1, j), (i, j - 1))[int(np.argmin(backwards))]
    rows, columns = zip(*reversed(path), strict=True)
    return np.array(rows), np.array(columns)
