"""Distances between readings, on sounds whose pitch, time and loudness are known."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")
from scipy.signal import resample_poly

from convert import similarity
from convert.similarity import RATE_HZ, difference, f0_hz, log_mel_db, mel_filters, warped_time


def vowel(f0: np.ndarray) -> np.ndarray:
    """A buzz of falling harmonics whose fundamental follows `f0`, a value a sample."""
    phase = 2 * np.pi * np.cumsum(f0) / RATE_HZ
    return sum(np.sin(k * phase) / k for k in range(1, 12)).astype(np.float32) * 0.1


def melody(seconds: float, *, semitones: float = 0.0) -> np.ndarray:
    """Speech-like: a fundamental that rises and falls, loud and quiet in turn, ends in silence."""
    t = np.arange(int(seconds * RATE_HZ)) / (seconds * RATE_HZ)
    envelope = np.clip(np.sin(2 * np.pi * 3 * t), 0.05, 1) * (t < 0.9)
    return (vowel(150 * 2 ** ((semitones + 4 * np.sin(2 * np.pi * t)) / 12)) * envelope).astype(np.float32)


@pytest.mark.parametrize("hz", [80.0, 123.4, 220.0, 410.0])
def test_f0_of_a_steady_vowel_is_found_within_two_cents(hz: float) -> None:
    found = f0_hz(vowel(np.full(RATE_HZ, hz)))[10:-10]
    assert np.all(np.abs(1200 * np.log2(found / hz)) < 2)


def test_noise_and_silence_have_no_f0() -> None:
    noise = 0.1 * np.random.default_rng(0).standard_normal(RATE_HZ).astype(np.float32)
    assert np.mean(f0_hz(noise) > 0) < 0.05
    assert not f0_hz(np.zeros(RATE_HZ, np.float32)).any()


def test_a_reading_is_no_way_different_from_itself() -> None:
    assert difference(melody(2.0), melody(2.0)) == (0.0, 0.0, 0.0, 0.0)


def test_a_semitone_is_a_hundred_cents() -> None:
    found = difference(melody(2.0), melody(2.0, semitones=1.0))
    assert found.f0_cents == pytest.approx(100, abs=2) and found.duration == 0


def test_six_decibels_are_six_decibels() -> None:
    loud = vowel(np.full(RATE_HZ, 200.0))
    noisy = loud + 0.01 * np.random.default_rng(0).standard_normal(RATE_HZ).astype(np.float32)
    assert difference(noisy, noisy * 10 ** (6 / 20)).mel_db == pytest.approx(6.0, abs=0.3)


def test_a_slower_reading_is_paired_with_the_same_sounds() -> None:
    """Without pairing, a reading that is stretched by a tenth would be compared with other sounds."""
    fast, slow = melody(2.0), melody(2.2)
    found = difference(fast, slow)
    n = len(fast) // similarity.HOP_SAMPLES
    curves = f0_hz(fast)[:n], f0_hz(slow)[:n]
    voiced = (curves[0] > 0) & (curves[1] > 0)
    unpaired_cents = np.median(np.abs(1200 * np.log2(curves[0][voiced] / curves[1][voiced])))
    assert found.duration == pytest.approx(0.1, abs=1e-4)
    assert found.f0_cents < 5 < 20 < unpaired_cents and found.mel_db < 0.6


def test_the_path_of_warping_goes_forward_from_start_to_end() -> None:
    first, second = log_mel_db(melody(0.5)), log_mel_db(melody(0.6))
    rows, columns = warped_time(first, second)
    assert (rows[0], columns[0]) == (0, 0) and (rows[-1], columns[-1]) == (len(first) - 1, len(second) - 1)
    steps = {(int(a), int(b)) for a, b in zip(np.diff(rows), np.diff(columns), strict=True)}
    assert steps <= {(0, 1), (1, 0), (1, 1)}


def test_warping_costs_no_more_than_any_other_path() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((12, 3)), rng.standard_normal((15, 3))
    rows, columns = warped_time(first, second)
    reuse = 0.1 * np.mean([np.linalg.norm(a - b) for a in first for b in second])
    found = np.linalg.norm(first[rows] - second[columns], axis=1).sum()
    found += reuse * sum(int(a) + int(b) < 2 for a, b in zip(np.diff(rows), np.diff(columns), strict=True))
    for _ in range(300):
        i = j = 0
        cost = float(np.linalg.norm(first[0] - second[0]))
        while (i, j) != (11, 14):
            options = [(a, b) for a, b in ((i + 1, j), (i, j + 1), (i + 1, j + 1)) if a < 12 and b < 15]
            before, (i, j) = (i, j), options[rng.integers(len(options))]
            cost += float(np.linalg.norm(first[i] - second[j])) + reuse * (i + j - sum(before) < 2)
        assert found <= cost + 1e-9


def test_mel_filters_cover_the_spectrum_in_triangles_of_equal_area() -> None:
    filters = mel_filters(16000, 4096, 40)
    assert filters.shape == (40, 2049)
    areas = filters.sum(axis=1) * 16000 / 4096
    assert np.allclose(areas, 1.0, atol=0.05)
    centres = filters.argmax(axis=1) * 16000 / 4096
    assert np.all(np.diff(centres) > 0)
    # Slaney's scale is linear below 1000 Hz and logarithmic above.
    low, high = centres[centres < 950], centres[centres > 1100]
    assert np.ptp(np.diff(low)) <= 2 * 16000 / 4096 and np.ptp(np.diff(np.log(high))) < 0.01


def test_another_sample_rate_of_the_same_sound_is_the_same_sound() -> None:
    original = melody(1.0)
    again = resample_poly(resample_poly(original, 3, 2), 2, 3).astype(np.float32)
    found = difference(original, again)
    assert found.f0_cents < 1 and found.voicing < 0.03
