"""Audio as data: chunks of samples, PCM16, WAV headers, and other file formats through soundfile.

numpy is imported where it is used: a service that systemd starts for a waiting client has half a second for its first byte.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edge_tts.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    import soundfile
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
    ends_sentence: True when a sentence is complete with this chunk
    ends_clause: True when it ends in silence, as it does with a sentence: a longer pause may follow it unnoticed
    """

    samples: NDArray[np.float32]
    sample_rate: int
    ends_sentence: bool = True
    ends_clause: bool = False

    @property
    def pause_may_follow(self) -> bool:
        return self.ends_sentence or self.ends_clause

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.sample_rate


def to_pcm16(samples: NDArray[np.float32]) -> bytes:
    """Float samples as little-endian 16-bit PCM, clipped to the range rather than wrapped."""
    import numpy as np

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
    import numpy as np

    check_format(audio_format)
    if audio_format == "pcm":
        return to_pcm16(samples)
    if audio_format == "wav":
        return wav_header(sample_rate, len(samples)) + to_pcm16(samples)
    import soundfile

    container, subtype = _SOUNDFILE[audio_format]
    if len(samples) == 0 and audio_format != "ogg":
        samples = np.zeros(1, dtype=np.float32)  # the shortest file that readers of these formats accept
    if audio_format == "opus" and sample_rate not in _OPUS_RATES_HZ:
        samples, sample_rate = _resampled(samples, sample_rate, 24000)
    buffer = io.BytesIO()
    with soundfile.SoundFile(buffer, "w", sample_rate, 1, subtype, format=container) as file:
        _write(file, samples)
    return buffer.getvalue()


def _write(file: soundfile.SoundFile, samples: NDArray[np.float32]) -> None:
    """Write a second at a time: libsndfile's Vorbis encoder overruns its stack when it is given minutes of audio in one call."""
    for start in range(0, len(samples), file.samplerate):
        file.write(samples[start : start + file.samplerate])


def _resampled(samples: NDArray[np.float32], rate: int, target: int) -> tuple[NDArray[np.float32], int]:
    """Band-limited change of rate through the spectrum of the whole signal."""
    import numpy as np

    n_out = round(len(samples) * target / rate)
    if n_out == 0:
        return np.zeros(0, dtype=np.float32), target
    spectrum = np.fft.rfft(samples)
    out = np.zeros(n_out // 2 + 1, dtype=spectrum.dtype)
    kept = min(len(out), len(spectrum))
    out[:kept] = spectrum[:kept]
    return (np.fft.irfft(out, n_out) * (n_out / len(samples))).astype(np.float32), target


def concatenate(chunks: Iterable[AudioChunk], sample_rate: int) -> NDArray[np.float32]:
    """All samples of the chunks in order; an empty array when there are none."""
    import numpy as np

    parts = [chunk.samples for chunk in chunks]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)


class Encoder:
    """A file of some format, made while its audio comes: `add` and `finish` return the bytes that are ready.

    What is sent cannot be changed any more, so a WAV gets the sizes that players read to the end of the stream. A FLAC comes
    whole at the end: libsndfile, and what is built on it, cannot read one whose length is left unknown.
    """

    def __init__(self, audio_format: str, sample_rate: int) -> None:
        self.audio_format = check_format(audio_format)
        self.sample_rate = sample_rate
        self._begun = False
        self._sink: _Sink | None = None
        self._file: soundfile.SoundFile | None = None
        self._held: list[NDArray[np.float32]] = []

    @property
    def pads(self) -> bool:
        """Whether silence makes bytes at once, so that it keeps a connection alive."""
        return self.audio_format in ("wav", "pcm")

    def begin(self) -> bytes:
        """The header, where the format has one that can be sent before any audio; once."""
        if self._begun or self.audio_format != "wav":
            return b""
        self._begun = True
        return wav_header(self.sample_rate)

    def add(self, chunk: AudioChunk) -> bytes:
        import numpy as np

        if self.pads:
            return self.begin() + to_pcm16(chunk.samples)
        samples = chunk.samples
        rate = self.sample_rate
        if self.audio_format == "flac":
            self._begun = True
            self._held.append(samples)
            return b""
        if self.audio_format == "opus" and rate not in _OPUS_RATES_HZ:
            # Resampled a sentence at a time: in the quiet between two, the seam is not heard.
            self._held.append(samples)
            if not chunk.ends_sentence:
                return b""
            samples, rate = _resampled(np.concatenate(self._held), rate, 24000)
            self._held = []
        return self._encoded(samples, rate)

    def finish(self) -> bytes:
        """The rest of the file; of one without audio all of it, with true sizes."""
        import numpy as np

        if self.audio_format == "flac" and self._held:
            return encode(np.concatenate(self._held), self.sample_rate, "flac")
        if self._held:
            tail = AudioChunk(np.zeros(0, dtype=np.float32), self.sample_rate, ends_sentence=True)
            return self.add(tail) + self.finish()
        if self._file is not None and self._sink is not None:
            self._file.close()
            return self._sink.take()
        if self._begun:
            return b""
        return encode(np.zeros(0, dtype=np.float32), self.sample_rate, self.audio_format)

    def _encoded(self, samples: NDArray[np.float32], rate: int) -> bytes:
        import soundfile

        if self._file is None or self._sink is None:
            self._begun = True
            self._sink = _Sink()
            container, subtype = _SOUNDFILE[self.audio_format]
            # MP3 at a constant bit rate: readers work out the length of one from its size, without a table in the header.
            rate_mode = {"compression_level": 0.5, "bitrate_mode": "CONSTANT"} if self.audio_format == "mp3" else {}
            self._file = soundfile.SoundFile(self._sink, "w", rate, 1, subtype, format=container, **rate_mode)
        _write(self._file, samples)
        return self._sink.take()


class _Sink:
    """A file that libsndfile can write to while what it wrote is taken away; changes to bytes already taken are dropped."""

    def __init__(self) -> None:
        self._position = 0
        self._taken = 0
        self._pending = bytearray()

    def take(self) -> bytes:
        taken = bytes(self._pending)
        self._taken += len(taken)
        self._pending.clear()
        return taken

    def write(self, data: bytes) -> int:
        start = self._position - self._taken
        kept = bytes(data)[max(0, -start) :]
        start = max(0, start)
        self._pending[start : start + len(kept)] = kept
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._taken + len(self._pending)}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        return b""

    def flush(self) -> None:
        pass


def stream(chunks: Iterable[AudioChunk], sample_rate: int, audio_format: str) -> Iterator[bytes]:
    """Bytes of a file of that format, each as early as the format allows."""
    encoder = Encoder(audio_format, sample_rate)
    yield encoder.begin()
    for chunk in chunks:
        yield encoder.add(chunk)
    yield encoder.finish()
