"""Mel spectrogram -> waveform: f0, harmonic source, and a convolutional generator of the spectrum (HiFTNet).

Everything here is convolutions or runs forward in time, so that a waveform made in pieces can be, and is, the same as one made at
once: each piece is computed with enough frames around it, and the source carries its phase and its random numbers on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from edge_tts import signal

if TYPE_CHECKING:
    from edge_tts.engine import Graph

Array = NDArray[np.float32]
_MAX_MAGNITUDE = 100.0
# Five convolutions of 3.
_F0_CONTEXT_FRAMES = 5


@dataclass(frozen=True)
class VocoderSettings:
    """Constants of the source and of the inverse STFT, and the generator's sizes that tell how far it looks.

    upsample_rates, kernels, source_kernels, dilations: of the generator's stages and residual blocks
    """

    sample_rate: int
    n_harmonics: int
    source_amplitude: float
    voiced_noise: float
    voiced_threshold_hz: float
    n_fft: int
    hop_length: int
    limit: float
    upsample_rates: tuple[int, ...]
    kernels: tuple[int, ...]
    source_kernels: tuple[int, ...]
    dilations: tuple[int, ...]

    @property
    def samples_per_frame(self) -> int:
        """Of a mel frame."""
        return math.prod(self.upsample_rates) * self.hop_length

    @property
    def context_frames(self) -> int:
        """Mel frames on either side that can change a frame's samples."""
        reach = self.n_fft / self.hop_length / 2 + 3  # inverse STFT and last convolution, in positions of the last stage
        rate = math.prod(self.upsample_rates)  # positions a mel frame
        source_reach = 0.0  # in mel frames
        for up, source_kernel in zip(reversed(self.upsample_rates), reversed(self.source_kernels), strict=True):
            reach += self._reach_of_block(max(self.kernels))
            source_reach = max(source_reach, (reach + self._reach_of_block(source_kernel) + 2) / rate)
            rate //= up
            reach = reach / up + 2  # the transposed convolution
        return math.ceil(max(reach + 3, source_reach)) + 1

    def _reach_of_block(self, kernel: int) -> int:
        return (kernel - 1) // 2 * (sum(self.dilations) + len(self.dilations))


class Vocoder:
    """The two graphs of the vocoder. Keeps no state of a request; `VocoderStream` does."""

    def __init__(
        self, f0_predictor: Graph, generator: Graph, merge_weight: Array, merge_bias: float, settings: VocoderSettings
    ) -> None:
        self._f0_predictor, self.generator = f0_predictor, generator
        self._merge_weight, self._merge_bias = merge_weight, merge_bias
        self.settings = settings
        self.source = signal.HarmonicSource(
            sample_rate=settings.sample_rate,
            n_harmonics=settings.n_harmonics,
            amplitude=settings.source_amplitude,
            voiced_noise=settings.voiced_noise,
            voiced_threshold_hz=settings.voiced_threshold_hz,
        )

    def f0_hz(self, mel: Array) -> Array:
        """[n_mels, frames] -> [frames]."""
        f0_hz: Array = self._f0_predictor(mel=mel[None])["f0_hz"][0]
        return f0_hz

    def merge(self, harmonics: Array) -> Array:
        """The excitation of its harmonics: [samples, n_harmonics + 1] -> [samples]."""
        return np.asarray(np.tanh(harmonics @ self._merge_weight + np.float32(self._merge_bias)), dtype=np.float32)

    def source_spectrum(self, excitation: Array) -> Array:
        """Real parts, then imaginary ones: [samples] -> [n_fft + 2, positions + 1]."""
        spectrum = signal.stft(excitation, self.settings.n_fft, self.settings.hop_length)
        return np.concatenate([spectrum.real, spectrum.imag]).astype(np.float32)

    def waveform(self, mel: Array, excitation: Array) -> Array:
        """mel [n_mels, frames] and its excitation [frames * samples_per_frame] -> [samples]."""
        out = self.generator(mel=mel[None], source_spectrum=self.source_spectrum(excitation)[None])["spectrum"][0]
        log_magnitude, phase = np.split(out, 2)
        magnitude = np.exp(np.minimum(log_magnitude, np.float32(math.log(_MAX_MAGNITUDE))))
        samples = signal.istft(magnitude, np.sin(phase), self.settings.n_fft, self.settings.hop_length)
        return np.clip(samples, -self.settings.limit, self.settings.limit).astype(np.float32)


class VocoderStream:
    """The waveform of one sentence, made as its mel comes. Pieces joined equal the whole made at once."""

    def __init__(self, vocoder: Vocoder, rng: np.random.Generator, n_mels: int) -> None:
        self._vocoder, self._rng = vocoder, rng
        self._phase = vocoder.source.initial_phase(rng)
        self._cycles = 0.0
        self._mel = np.zeros((n_mels, 0), np.float32)
        self._excitation = np.zeros(0, np.float32)
        self._first = 0  # frame that _mel and _excitation begin with
        self._done = 0  # frames whose samples are out

    def push(self, mel: Array, *, final: bool) -> Array:
        """The samples that are certain by now: mel [n_mels, frames] -> [samples]."""
        per_frame = self._vocoder.settings.samples_per_frame
        context = self._vocoder.settings.context_frames
        self._mel = np.concatenate([self._mel, mel], axis=1)
        end = self._first + self._mel.shape[1]
        self._excite(end if final else end - _F0_CONTEXT_FRAMES)
        excited = self._first + len(self._excitation) // per_frame
        stop = excited if final else excited - context
        if stop <= self._done:
            return np.zeros(0, np.float32)
        begin = max(self._first, self._done - context)
        window = slice(begin - self._first, excited - self._first)
        samples = self._vocoder.waveform(
            self._mel[:, window], self._excitation[window.start * per_frame : window.stop * per_frame]
        )
        out = samples[(self._done - begin) * per_frame : (stop - begin) * per_frame]
        self._done = stop
        forget = max(self._done - context - _F0_CONTEXT_FRAMES, self._first) - self._first
        self._mel, self._excitation = self._mel[:, forget:], self._excitation[forget * per_frame :]
        self._first += forget
        return out

    def _excite(self, stop: int) -> None:
        """Extend the excitation up to the frame `stop`."""
        per_frame = self._vocoder.settings.samples_per_frame
        start = self._first + len(self._excitation) // per_frame
        if stop <= start:
            return
        begin = max(self._first, start - _F0_CONTEXT_FRAMES)
        f0_hz = self._vocoder.f0_hz(self._mel[:, begin - self._first :])[start - begin : stop - begin]
        harmonics, self._cycles = self._vocoder.source(np.repeat(f0_hz, per_frame), self._phase, self._rng, self._cycles)
        self._excitation = np.concatenate([self._excitation, self._vocoder.merge(harmonics)])
