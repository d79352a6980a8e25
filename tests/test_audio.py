"""Audio as others read it: soundfile, Python's wave, scipy."""

from __future__ import annotations

import io
import struct
import wave

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.io import wavfile

from edge_tts import audio
from edge_tts.audio import AudioChunk, Encoder
from edge_tts.errors import OptionError

COMPRESSED = ("flac", "ogg", "opus", "mp3")


def tone(rate: int, seconds: float = 1.0, hz: float = 440.0, amplitude: float = 0.5) -> NDArray[np.float32]:
    return (amplitude * np.sin(2 * np.pi * hz * np.arange(round(rate * seconds)) / rate)).astype(np.float32)


def loudest_hz(samples: NDArray[np.floating], rate: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(spectrum.argmax() * rate / len(samples))


def in_chunks(samples: NDArray[np.float32], rate: int, n: int) -> list[AudioChunk]:
    return [AudioChunk(part, rate) for part in np.array_split(samples, n)]


# --- samples ------------------------------------------------------------------------------------------------------------


def test_full_scale_is_full_scale_and_louder_is_clipped_not_wrapped() -> None:
    samples = np.array([0, 1, -1, 1.5, -7, np.inf, -np.inf, 0.5], np.float32)
    assert struct.unpack("<8h", audio.to_pcm16(samples)) == (0, 32767, -32767, 32767, -32767, 32767, -32767, 16384)


@given(st.lists(st.floats(-1, 1, width=32), max_size=50))
def test_pcm_is_within_half_a_step_of_the_samples(values: list[float]) -> None:
    samples = np.array(values, np.float32)
    pcm = np.frombuffer(audio.to_pcm16(samples), "<i2")
    assert np.abs(pcm / 32767 - samples).max(initial=0) <= 0.5 / 32767 + 1e-7


def test_silence_is_zeros_of_its_length() -> None:
    assert audio.silence_pcm16(24000, 0.2) == bytes(9600)


def test_a_chunk_knows_its_duration() -> None:
    assert AudioChunk(np.zeros(12000, np.float32), 24000).duration_s == 0.5


def test_chunks_join_in_order() -> None:
    samples = tone(8000)
    np.testing.assert_array_equal(audio.concatenate(in_chunks(samples, 8000, 7), 8000), samples)
    assert audio.concatenate([], 8000).shape == (0,)


# --- WAV ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [8000, 22050, 24000, 48000])
@pytest.mark.parametrize("n", [0, 1, 12345])
def test_a_wav_is_read_alike_by_three_readers(rate: int, n: int) -> None:
    samples = np.random.default_rng(n).uniform(-1, 1, n).astype(np.float32)
    data = audio.encode(samples, rate, "wav")
    wanted = np.frombuffer(audio.to_pcm16(samples), "<i2")
    assert len(data) == audio.WAV_HEADER_BYTES + 2 * n

    with wave.open(io.BytesIO(data)) as reader:
        assert (reader.getnchannels(), reader.getsampwidth(), reader.getframerate(), reader.getnframes()) == (1, 2, rate, n)
        np.testing.assert_array_equal(np.frombuffer(reader.readframes(n), "<i2"), wanted)
    by_soundfile, rate_read = soundfile.read(io.BytesIO(data), dtype="int16")
    assert rate_read == rate
    np.testing.assert_array_equal(by_soundfile, wanted)
    rate_read, by_scipy = wavfile.read(io.BytesIO(data))
    assert rate_read == rate and by_scipy.dtype == np.int16
    np.testing.assert_array_equal(by_scipy, wanted)


def test_a_wav_of_unknown_length_is_read_to_its_end() -> None:
    samples = tone(24000)
    data = audio.wav_header(24000) + audio.to_pcm16(samples)
    by_soundfile, rate = soundfile.read(io.BytesIO(data), dtype="int16")
    assert (len(by_soundfile), rate) == (24000, 24000)
    with wave.open(io.BytesIO(data)) as reader:
        assert len(reader.readframes(24000)) == 48000
        assert reader.getnframes() > 24000  # as long as may be: the reader goes on to the end


def test_the_header_is_44_bytes_with_consistent_sizes() -> None:
    header = audio.wav_header(24000, 1000)
    riff_bytes, rate, byte_rate, data_bytes = (
        struct.unpack_from("<I", header, offset)[0] for offset in (4, 24, 28, 40)
    )  # fmt: skip
    assert (len(header), riff_bytes, rate, byte_rate, data_bytes) == (44, 2036, 24000, 48000, 2000)


# --- other formats ------------------------------------------------------------------------------------------------------


def test_an_unknown_format_lists_those_there_are() -> None:
    attempts = (lambda: audio.check_format("aac"), lambda: Encoder("aac", 8000), lambda: audio.encode(tone(8000), 8000, "aac"))
    for attempt in attempts:
        with pytest.raises(OptionError, match="unknown audio format 'aac'; choose one of: wav, pcm, flac, ogg, opus, mp3"):
            attempt()


def test_flac_loses_nothing() -> None:
    samples = tone(22050, 0.7)
    read, rate = soundfile.read(io.BytesIO(audio.encode(samples, 22050, "flac")), dtype="int16")
    assert rate == 22050
    np.testing.assert_allclose(read, np.frombuffer(audio.to_pcm16(samples), "<i2"), atol=1)


@pytest.mark.parametrize("rate", [16000, 22050, 24000, 44100])
@pytest.mark.parametrize("audio_format", COMPRESSED)
def test_every_format_keeps_pitch_loudness_and_length(audio_format: str, rate: int) -> None:
    samples = tone(rate, 2.0)
    read, rate_read = soundfile.read(io.BytesIO(audio.encode(samples, rate, audio_format)))
    assert len(read) / rate_read == pytest.approx(2.0, abs=0.1)
    assert loudest_hz(read, rate_read) == pytest.approx(440, abs=2)
    middle = read[len(read) // 4 : -len(read) // 4]
    assert np.sqrt(np.mean(middle**2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.05)


@pytest.mark.parametrize("audio_format", sorted(audio.MEDIA_TYPES))
def test_a_file_without_audio_is_a_file(audio_format: str) -> None:
    data = audio.encode(np.zeros(0, np.float32), 24000, audio_format)
    if audio_format == "pcm":
        assert data == b""
    else:
        read, _ = soundfile.read(io.BytesIO(data))
        assert np.abs(read).max(initial=0) < 1e-4


@pytest.mark.parametrize(("audio_format", "seconds"), [("flac", 300), ("ogg", 300), ("opus", 20), ("mp3", 60)])
def test_minutes_can_be_encoded_at_once(audio_format: str, seconds: float) -> None:
    read = soundfile.SoundFile(io.BytesIO(audio.encode(tone(8000, seconds), 8000, audio_format)))
    assert read.frames / read.samplerate == pytest.approx(seconds, abs=0.2)


def test_resampling_is_band_limited_interpolation() -> None:
    samples, rate = audio._resampled(tone(22050, 1.0), 22050, 24000)
    assert rate == 24000 and len(samples) == 24000 and samples.dtype == np.float32
    np.testing.assert_allclose(samples, tone(24000, 1.0), atol=1e-4)


# --- the Encoder --------------------------------------------------------------------------------------------------------


def encoded(encoder: Encoder, chunks: list[AudioChunk]) -> bytes:
    return encoder.begin() + b"".join(encoder.add(chunk) for chunk in chunks) + encoder.finish()


@pytest.mark.parametrize("rate", [22050, 24000])
@pytest.mark.parametrize("n_chunks", [1, 2, 9])
@pytest.mark.parametrize("audio_format", sorted(audio.MEDIA_TYPES))
def test_a_file_made_in_pieces_is_the_audio(audio_format: str, n_chunks: int, rate: int) -> None:
    samples = tone(rate, 1.8)
    data = encoded(Encoder(audio_format, rate), in_chunks(samples, rate, n_chunks))
    if audio_format == "pcm":
        assert data == audio.to_pcm16(samples)
        return
    read, rate_read = soundfile.read(io.BytesIO(data))
    assert len(read) / rate_read == pytest.approx(1.8, abs=0.1)
    assert loudest_hz(read, rate_read) == pytest.approx(440, abs=2)


@pytest.mark.parametrize("audio_format", ["wav", "pcm"])
def test_uncompressed_audio_leaves_with_its_chunk(audio_format: str) -> None:
    encoder = Encoder(audio_format, 24000)
    assert encoder.pads
    head = encoder.begin()
    assert head == (audio.wav_header(24000) if audio_format == "wav" else b"")
    assert encoder.begin() == b""
    chunk = AudioChunk(tone(24000), 24000)
    assert encoder.add(chunk) == audio.to_pcm16(chunk.samples)
    assert encoder.finish() == b""


@pytest.mark.parametrize("audio_format", ["ogg", "opus", "mp3"])
def test_compressed_audio_leaves_before_the_end(audio_format: str) -> None:
    encoder = Encoder(audio_format, 24000)
    assert not encoder.pads
    sizes = [len(encoder.add(chunk)) for chunk in in_chunks(tone(24000, 6.0), 24000, 6)]
    assert sum(sizes) > len(encoder.finish()) > 0


@pytest.mark.parametrize("audio_format", sorted(audio.MEDIA_TYPES))
def test_a_stream_without_chunks_is_a_file_without_audio(audio_format: str) -> None:
    data = b"".join(audio.stream([], 24000, audio_format))
    if audio_format == "pcm":
        assert data == b""
    else:
        read, _ = soundfile.read(io.BytesIO(data))
        assert np.abs(read).max(initial=0) < 1e-4


@pytest.mark.parametrize("audio_format", sorted(audio.MEDIA_TYPES))
@pytest.mark.parametrize("rate", [22050, 24000])
def test_empty_chunks_change_nothing(audio_format: str, rate: int) -> None:
    nothing = AudioChunk(np.zeros(0, np.float32), rate)
    first, second = in_chunks(tone(rate), rate, 2)
    data = encoded(Encoder(audio_format, rate), [nothing, first, nothing, second, nothing])
    if audio_format == "pcm":
        assert len(data) == 2 * rate
    else:
        read, rate_read = soundfile.read(io.BytesIO(data))
        assert len(read) / rate_read == pytest.approx(1.0, abs=0.1)


def test_opus_of_a_rate_it_lacks_holds_back_until_a_sentence_ends() -> None:
    encoder = Encoder("opus", 22050)
    assert encoder.add(AudioChunk(tone(22050), 22050, ends_sentence=False)) == b""
    assert encoder.add(AudioChunk(tone(22050), 22050, ends_sentence=True)) != b""


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3000), max_size=8), st.sampled_from(sorted(set(audio.MEDIA_TYPES) - {"pcm"})))
def test_any_cutting_into_chunks_gives_a_readable_file(sizes: list[int], audio_format: str) -> None:
    chunks = [AudioChunk(tone(22050, size / 22050), 22050) for size in sizes]
    read, rate = soundfile.read(io.BytesIO(encoded(Encoder(audio_format, 22050), chunks)))
    assert len(read) / rate == pytest.approx(sum(sizes) / 22050, abs=0.15)
