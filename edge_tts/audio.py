"""Audio as data: chunks of samples, PCM16, WAV headers, and other file formats through soundfile."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edge_tts.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A WAV whose length is not known yet: players read such sizes to the end of the stream without a warning.
# 0xFFFFFFFF makes sox warn, 0 makes most readers stop at once.
UNKNOWN_DATA_BYTES = 0x7FFFF000
WAV_HEADER_BYTES = 44
# format -> media type; the first two are written here, the rest by libsndfile
MEDIA_TYPES = {
    "wav": "audio/wav",
    "pcm": "audio/pcm",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "opus": "audio/ogg; codecs=opus",
    "mp3": "audio/mpeg",
}
_SOUNDFILE = {
    "flac": ("FLAC", "PCM_16"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
}
# Opus exists at these rates only; the encoder is given audio resampled to the next of them.
_OPUS_RATES_HZ = (8000, 12000, 16000, 24000, 48000)


@dataclass(frozen=True, eq=False)
class AudioChunk:
    """A piece of speech.

    samples: [n] float32, mono, nominally within -1..1
    sample_rate: Hz
    ends_sentence: True when a sentence is complete with this chunk, so that a pause may follow it
    """

    samples: NDArray[np.float32]
    sample_rate: int
    ends_sentence: bool = True

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.sample_rate


def to_pcm16(samples: NDArray[np.float32]) -> bytes:
    """Float samples as little-endian 16-bit PCM, clipped to the range rather than wrapped."""
    return (np.clip(samples, -1.0, 1.0) * 32767.0).round().astype("<i2").tobytes()


def silence_pcm16(sample_rate: int, seconds: float) -> bytes:
    """Digital silence of that length."""
    return bytes(2 * round(sample_rate * seconds))


def wav_header(sample_rate: int, n_samples: int | None = None) -> bytes:
    """The 44-byte header of a mono PCM16 WAV; without `n_samples` one for a stream of unknown length."""
    data_bytes = UNKNOWN_DATA_BYTES if n_samples is None else 2 * n_samples
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF", data_bytes + WAV_HEADER_BYTES - 8, b"WAVE",
        b"fmt ", 16, 1, 1, sample_rate, 2 * sample_rate, 2, 16,
        b"data", data_bytes,
    )  # fmt: skip


def check_format(name: str) -> str:
    """`name` itself if it is a known audio format; raises OptionError that lists them otherwise."""
    if name not in MEDIA_TYPES:
        raise OptionError(f"unknown audio format {name!r}; choose one of: {', '.join(MEDIA_TYPES)}")
    return name


def encode(samples: NDArray[np.float32], sample_rate: int, audio_format: str) -> bytes:
    """A whole file of that format in memory, with true lengths in its header."""
    check_format(audio_format)
    if audio_format == "pcm":
        return to_pcm16(samples)
    if audio_format == "wav":
        return wav_header(sample_rate, len(samples)) + to_pcm16(samples)
    import soundfile

    container, subtype = _SOUNDFILE[audio_format]
    if audio_format == "opus" and sample_rate not in _OPUS_RATES_HZ:
        samples, sample_rate = _resampled(samples, sample_rate, 24000)
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, sample_rate, format=container, subtype=subtype)
    return buffer.getvalue()


def _resampled(samples: NDArray[np.float32], rate: int, target: int) -> tuple[NDArray[np.float32], int]:
    """Band-limited change of rate through the spectrum of the whole signal."""
    n_out = round(len(samples) * target / rate)
    spectrum = np.fft.rfft(samples)
    out = np.zeros(n_out // 2 + 1, dtype=spectrum.dtype)
    kept = min(len(out), len(spectrum))
    out[:kept] = spectrum[:kept]
    return (np.fft.irfft(out, n_out) * (n_out / max(len(samples), 1))).astype(np.float32), target


def concatenate(chunks: Iterable[AudioChunk], sample_rate: int) -> NDArray[np.float32]:
    """All samples of the chunks in order; an empty array when there are none."""
    parts = [chunk.samples for chunk in chunks]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)


def stream(chunks: Iterable[AudioChunk], sample_rate: int, audio_format: str) -> Iterator[bytes]:
    """Bytes of a file of that format, as early as the format allows: wav and pcm chunk by chunk, others at the end."""
    check_format(audio_format)
    if audio_format in ("wav", "pcm"):
        if audio_format == "wav":
            yield wav_header(sample_rate)
        for chunk in chunks:
            yield to_pcm16(chunk.samples)
        return
    yield encode(concatenate(chunks, sample_rate), sample_rate, audio_format)
