"""The hibari runtime, spoken by a synthetic voice; its arithmetic against hibari's own, and against plain sums."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("hibari", reason="the extra convert-kokoro is not installed")

from edge_tts import BundleError, Voice, load_voice
from edge_tts.bundle import Bundle, open_bundle, write_manifest
from edge_tts.engine import Engine
from edge_tts.models import Delivery
from edge_tts.models.hibari import MAX_PHONEMES, HibariModel, HibariSettings, pulse_train
from edge_tts.text import Sentence
from tests.speaking import spoken
from tests.tiny_hibari import FRAMES_PER_TOKEN, HOP_LENGTH, N_FFT, SAMPLE_RATE, VOICES, write_tiny_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return write_tiny_bundle(tmp_path_factory.mktemp("voices") / "hibari")


@pytest.fixture(scope="module")
def voice(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Voice:
    return load_voice(bundle.path, cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def model(bundle: Bundle) -> HibariModel:
    return HibariModel(bundle, Engine())


def random_parts(frames: int, n_fft: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(frames)
    shape = (frames, n_fft // 2 + 1)
    parts = {name: np.exp(rng.normal(-3, 1, shape)) for name in ("harmonic", "noise", "free")}
    parts |= {name: rng.uniform(-np.pi, np.pi, shape) for name in ("turn", "phase")}
    parts["f0"] = np.where(rng.random(frames) < 0.3, 0.0, rng.uniform(80, 400, frames))
    return {name: part.astype(np.float32) for name, part in parts.items()}


@pytest.mark.parametrize("frames", [2, 5, 40, 211])
def test_the_waveform_is_that_of_hibaris_own_arithmetic(model: HibariModel, frames: int) -> None:
    from hibari import dsp

    settings = dataclasses.replace(model._settings, n_fft=dsp.N_FFT, hop_length=dsp.HOP)
    theirs_model = object.__new__(HibariModel)
    theirs_model.__dict__.update(sample_rate=dsp.SR, _settings=settings)
    parts = random_parts(frames, dsp.N_FFT)
    noise = np.random.default_rng(3).standard_normal((dsp.N_FFT // 2 + 1, 2 * frames), dtype=np.float32).view(np.complex64)
    ours = theirs_model.waveform(parts, noise.T)
    turn = np.arctanh(np.clip(parts["turn"] / np.pi, -0.99999, 0.99999))
    theirs = dsp.synth(
        np.log(parts["harmonic"]).T, turn.T, np.log(parts["noise"]).T, np.log(parts["free"]).T, parts["phase"].T, parts["f0"],
        np.random.default_rng(3),
    )  # fmt: skip
    assert ours.shape == theirs.shape == (frames * dsp.HOP,)
    np.testing.assert_allclose(ours, theirs, atol=2e-4 * np.abs(theirs).max())


def test_pulses_are_the_sum_of_all_harmonics_below_11_khz() -> None:
    f0 = np.full(20, 220.0, np.float32)
    t = 2 * np.pi * 220.0 * np.arange(1, 20 * 32 + 1) / SAMPLE_RATE
    expected = sum(np.cos(h * t) for h in range(1, 11000 // 220 + 1))
    np.testing.assert_allclose(pulse_train(f0, 32, SAMPLE_RATE), expected, atol=0.02 * np.abs(expected).max())


def test_unvoiced_frames_have_no_pulses() -> None:
    f0 = np.repeat(np.array([0.0, 200.0, 39.0], np.float32), 4)
    pulses = pulse_train(f0, 16, SAMPLE_RATE).reshape(12, 16)
    assert not pulses[:3].any() and not pulses[9:].any() and pulses[5:7].any()


def test_a_seed_repeats_the_noise_and_without_one_it_is_drawn_anew(voice: Voice) -> None:
    once = spoken(voice, "Once more.", seed=5)
    np.testing.assert_array_equal(once, spoken(voice, "Once more.", seed=5))
    assert not np.array_equal(once, spoken(voice, "Once more.", seed=6))
    assert not np.array_equal(spoken(voice, "Once more."), spoken(voice, "Once more."))


def test_audio_is_as_long_as_the_tokens_take_and_speed_shortens_it(model: HibariModel) -> None:
    ids = model.token_ids("həlˈO wˈɜɹld")
    for speed, frames in ((1.0, FRAMES_PER_TOKEN), (2.0, FRAMES_PER_TOKEN // 2), (0.5, 2 * FRAMES_PER_TOKEN)):
        samples = model.synthesize(ids, "heart", speed, np.random.default_rng(0))
        assert samples.shape == ((len(ids) + 2) * frames * HOP_LENGTH,) and samples.dtype == np.float32
        assert np.isfinite(samples).all() and samples.any()


def test_voices_differ_and_are_loaded_when_they_speak(bundle: Bundle) -> None:
    model = HibariModel(bundle, Engine())
    assert set(model._graphs) == {"heart"}
    ids = model.token_ids("həlˈO")
    waves = [model.synthesize(ids, entry.name, 1.0, np.random.default_rng(0)) for entry in VOICES]
    assert set(model._graphs) == {"heart", "emma"} and not np.array_equal(*waves)


def test_british_voices_read_british_english(model: HibariModel, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(model, "token_ids", lambda phonemes: heard.append(phonemes) or [1])
    for entry in VOICES:
        list(model.speak(iter([Sentence("A bath.", "en")]), Delivery(entry), lambda: False))
    assert "bˈæθ" in heard[0] and "bˈɑːθ" in heard[1]


def test_what_is_not_english_is_dropped_and_logged(voice: Voice, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "edge_tts"):
        mixed = spoken(voice, "Hello 世界, hello.", seed=1)
    assert "dropped letters that this voice cannot read: 世 界" in caplog.text and len(mixed)
    assert not len(spoken(voice, "你好，世界。"))


def test_a_given_reading_is_spoken(model: HibariModel, voice: Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(HibariModel, "token_ids", lambda self, phonemes: heard.append(phonemes) or [1])
    list(voice.synthesize("Mr {Nguyen|/wˈɪn/} is here."))
    assert "wˈɪn" in heard[0]


def test_numbers_are_read_in_english_whatever_stands_around_them(voice: Voice) -> None:
    np.testing.assert_array_equal(spoken(voice, "你好 12", seed=1), spoken(voice, "twelve", seed=1))


@pytest.mark.parametrize("text", ["", "...", "你好", "***"])
def test_text_without_words_gives_no_audio(voice: Voice, text: str) -> None:
    assert list(voice.synthesize(text)) == []


def test_a_long_sentence_ends_with_its_last_chunk(model: HibariModel) -> None:
    sentence = Sentence("encyclopedia " * 80 + "end.", "en")
    chunks = list(model.speak(iter([sentence]), Delivery(VOICES[0]), lambda: False))
    assert len(chunks) > 1 and [c.ends_sentence for c in chunks] == [False] * (len(chunks) - 1) + [True]
    assert all(len(c.samples) <= (MAX_PHONEMES + 2) * FRAMES_PER_TOKEN * HOP_LENGTH for c in chunks)


def test_a_cancelled_request_ends(model: HibariModel) -> None:
    assert list(model.speak(iter([Sentence("Hello.", "en")]), Delivery(VOICES[0]), lambda: True)) == []


@pytest.mark.parametrize("change", [{"n_fft": 60, "hop_length": 25}, {"vocabulary": None}, {"hop_length": 0}, {"n_mels": 80}])
def test_settings_of_another_kind_are_refused(bundle: Bundle, tmp_path: Path, change: dict[str, Any]) -> None:
    manifest = dataclasses.replace(bundle.manifest, settings={**bundle.manifest.settings, **change})
    write_manifest(tmp_path, dataclasses.replace(manifest, files=()))
    with pytest.raises(BundleError, match="not those of a hibari bundle"):
        HibariSettings.of(open_bundle(tmp_path))


def test_the_settings_are_the_manifests(bundle: Bundle) -> None:
    settings = HibariSettings.of(bundle)
    assert (settings.n_fft, settings.hop_length) == (N_FFT, HOP_LENGTH)
