"""Signal arithmetic against scipy and against itself."""

import numpy as np
import pytest

from edge_tts import signal

scipy_signal = pytest.importorskip("scipy.signal")
RNG = np.random.default_rng(7)


@pytest.mark.parametrize(("n_fft", "hop_length"), [(16, 4), (20, 5)])
@pytest.mark.parametrize("samples", [400, 403])
def test_stft_is_scipys(n_fft: int, hop_length: int, samples: int) -> None:
    x = RNG.standard_normal((2, samples))
    half = n_fft // 2
    padded = np.pad(x, [(0, 0), (half, half)], mode="reflect")
    window = scipy_signal.get_window("hann", n_fft, fftbins=True)
    _, _, wanted = scipy_signal.stft(
        padded, window=window, nperseg=n_fft, noverlap=n_fft - hop_length, boundary=None, padded=False
    )
    got = signal.stft(x, n_fft, hop_length)
    assert got.shape == (2, half + 1, samples // hop_length + 1)
    np.testing.assert_allclose(got, wanted * window.sum(), atol=1e-9)


@pytest.mark.parametrize(("n_fft", "hop_length"), [(16, 4), (20, 5)])
def test_istft_gives_the_signal_back(n_fft: int, hop_length: int) -> None:
    x = RNG.standard_normal(hop_length * 100)
    spectrum = signal.stft(x, n_fft, hop_length)
    np.testing.assert_allclose(signal.istft(np.abs(spectrum), np.angle(spectrum), n_fft, hop_length), x, atol=1e-9)


@pytest.mark.filterwarnings("ignore:NOLA condition failed")  # at the very ends, which are cut off here
def test_istft_of_a_spectrum_that_no_signal_has_is_scipys() -> None:
    n_fft, hop_length, half = 16, 4, 8
    magnitude, phase = RNG.random((9, 60)), RNG.uniform(-3, 3, (9, 60))
    window = scipy_signal.get_window("hann", n_fft, fftbins=True)
    spectrum = magnitude * np.exp(1j * phase)
    _, wanted = scipy_signal.istft(
        spectrum / window.sum(), window=window, nperseg=n_fft, noverlap=n_fft - hop_length, boundary=False
    )
    got = signal.istft(magnitude, phase, n_fft, hop_length)
    np.testing.assert_allclose(got, wanted[half : half + len(got)], atol=1e-9)


def test_istft_keeps_float32() -> None:
    assert signal.istft(np.ones((9, 5), np.float32), np.zeros((9, 5), np.float32), 16, 4).dtype == np.float32


def test_a_hop_that_does_not_divide_the_window_is_refused() -> None:
    with pytest.raises(ValueError, match="does not divide"):
        signal.istft(np.ones((9, 5)), np.zeros((9, 5)), 16, 5)


SOURCE = signal.HarmonicSource(sample_rate=22050, n_harmonics=8, amplitude=0.1, voiced_noise=0.0, voiced_threshold_hz=10)


def test_a_steady_pitch_gives_exact_sines_even_after_a_minute() -> None:
    seconds = 60
    f0_hz = np.full(22050 * seconds, 220.0, np.float32)
    phase = SOURCE.initial_phase(np.random.default_rng(1))
    excitation, _ = SOURCE(f0_hz, phase, np.random.default_rng(2))
    n = np.arange(1, len(f0_hz) + 1)[-1000:, None]
    wanted = 0.1 * np.sin(2 * np.pi * n * 220.0 * np.arange(1, 10) / 22050 + phase)
    np.testing.assert_allclose(excitation[-1000:], wanted, atol=1e-5)


def test_a_source_made_in_pieces_is_the_source_made_at_once() -> None:
    f0_hz = np.repeat(RNG.uniform(0, 300, 40), 256)
    source = signal.HarmonicSource(22050, 8, 0.1, 0.003, 10)
    phase = source.initial_phase(np.random.default_rng(1))
    whole, _ = source(f0_hz, phase, np.random.default_rng(2))
    rng, cycles, parts = np.random.default_rng(2), 0.0, []
    for piece in np.split(f0_hz, [256, 2560, 5120]):
        part, cycles = source(piece, phase, rng, cycles)
        parts.append(part)
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-6)


def test_unvoiced_samples_are_noise_of_a_third_of_the_amplitude() -> None:
    excitation, _ = SOURCE(np.zeros(20000), SOURCE.initial_phase(RNG), RNG)
    assert excitation.std() == pytest.approx(0.1 / 3, rel=0.02)


def test_interpolation_is_linear_between_pixel_centres() -> None:
    x = RNG.standard_normal((3, 7))
    centres_in, centres_out = (np.arange(7) + 0.5) / 7, (np.arange(19) + 0.5) / 19
    wanted = np.stack([np.interp(centres_out, centres_in, row) for row in x])
    np.testing.assert_allclose(signal.interpolate_frames(x, 19), wanted, atol=1e-12)


def test_a_cross_fade_of_a_signal_with_itself_changes_nothing() -> None:
    x = RNG.standard_normal((80, 34))
    np.testing.assert_allclose(signal.cross_fade(x, x), x, atol=1e-12)
    ends = signal.cross_fade(np.zeros(34), np.ones(34))
    assert ends[0] < 0.02 and ends[-1] > 0.98 and np.all(np.diff(ends) > 0)


def test_a_sine_series_is_the_sum_of_its_sines() -> None:
    cycles, amplitudes = np.cumsum(RNG.uniform(0, 0.02, 5000)), RNG.standard_normal(9)
    wanted = sum(a * np.sin(2 * np.pi * k * cycles) for k, a in enumerate(amplitudes, 1))
    np.testing.assert_allclose(signal.sine_series(cycles, amplitudes.tolist()), wanted, atol=1e-10)
    assert signal.sine_series(np.zeros(3), [1.0, 2.0]).tolist() == [0, 0, 0]


def speech_between_silences(before: int, speech: int, behind: int) -> np.ndarray:
    tone = 0.3 * np.sin(0.2 * np.arange(speech))
    return np.concatenate([np.full(before, 1e-3), tone, np.full(behind, 1e-3)]).astype(np.float32)


@pytest.mark.parametrize(("start", "end", "wanted"), [(True, False, 15_000), (False, True, 12_600), (True, True, 6_000)])
def test_silence_is_trimmed_where_asked_and_a_little_stays(start: bool, end: bool, wanted: int) -> None:
    samples = speech_between_silences(7200, 4800, 9600)
    trimmed = signal.trim_silence(samples, 600, start=start, end=end)
    assert len(trimmed) == wanted and trimmed.dtype == np.float32
    assert np.abs(np.diff(trimmed)).max() <= np.abs(np.diff(samples)).max()  # no click where it was cut
    assert np.abs(trimmed).sum() >= 0.99 * np.abs(samples[7200:12000]).sum()
    assert signal.trim_silence(trimmed, 600, start=start, end=end).shape == trimmed.shape


def test_what_has_no_silence_or_nothing_else_is_left_as_it_is() -> None:
    for samples in (speech_between_silences(0, 4800, 0), np.full(4800, 1e-3, np.float32), np.zeros(0, np.float32)):
        np.testing.assert_array_equal(signal.trim_silence(samples, 600, start=True, end=True), samples)
