"""The Piper runtime, spoken by a synthetic voice: windows, seeds, speakers, and input that makes no sense."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convert.__main__ import main
from edge_tts import BundleError, Voice, load_voice
from edge_tts.bundle import Bundle, open_bundle, write_manifest
from edge_tts.engine import Engine
from edge_tts.models import Delivery
from edge_tts.models.piper import FIRST_FRAMES, STEP_FRAMES, WINDOW_FRAMES, PiperModel, PiperSettings, windows
from edge_tts.text import Sentence
from tests.speaking import spoken
from tests.tiny_piper import LETTERS, SPEAKERS, write_tiny_voice

LONG = "a long sentence that takes more frames than one window of the vocoder has, so it comes in pieces."


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    directory = tmp_path_factory.mktemp("piper")
    assert main(["piper", str(write_tiny_voice(directory, speakers=2)), "--out", str(directory / "bundle")]) == 0
    return open_bundle(directory / "bundle")


@pytest.fixture(scope="module")
def voice(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Voice:
    return load_voice(bundle.path, cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def model(bundle: Bundle) -> PiperModel:
    return PiperModel(bundle, Engine())


@given(st.integers(1, 3000), st.integers(1, 20))
def test_windows_cover_all_frames_once_with_their_context(frames: int, context: int) -> None:
    found = list(windows(frames, context))
    assert [begin for begin, *_ in found] == [0, *(end for _, end, *_ in found[:-1])] and found[-1][1] == frames
    for begin, end, window_begin, window_end in found:
        assert window_begin <= max(0, begin - context) and window_end >= min(frames, end + context)
        assert 0 <= window_begin < window_end <= frames
        assert window_end - window_begin <= WINDOW_FRAMES
    sizes = {window_end - window_begin for _, _, window_begin, window_end in found}
    few = {FIRST_FRAMES, *range(STEP_FRAMES, WINDOW_FRAMES + 1, STEP_FRAMES)}
    assert sizes <= few or frames <= WINDOW_FRAMES


def test_pieces_are_what_the_whole_would_be(model: PiperModel) -> None:
    latent = np.random.default_rng(1).standard_normal((1, 4, 700)).astype(np.float32)
    pieces = list(model.waveform(latent, "anna"))
    whole = model._run(model._vocoder, "anna", latent=latent)["waveform"].ravel() * model.settings.gain
    assert len(pieces) > 3 and [last for _, last in pieces] == [False] * (len(pieces) - 1) + [True]
    np.testing.assert_allclose(np.concatenate([samples for samples, _ in pieces]), np.clip(whole, -1, 1), atol=1e-5)


def test_a_seed_repeats_a_reading_and_without_one_it_is_drawn_anew(voice: Voice) -> None:
    once = spoken(voice, LONG, seed=5)
    np.testing.assert_array_equal(once, spoken(voice, LONG, seed=5))
    other, anew, again = (spoken(voice, LONG, seed=seed) for seed in (6, None, None))
    assert len(once) != len(other) or not np.array_equal(once, other)
    assert len(anew) != len(again) or not np.array_equal(anew, again)


def test_a_sentence_ends_with_its_last_chunk_and_sounds_early(voice: Voice) -> None:
    chunks = list(voice.synthesize(LONG, seed=1))
    assert len(chunks) > 1 and [c.ends_sentence for c in chunks] == [False] * (len(chunks) - 1) + [True]
    assert len(chunks[0].samples) < FIRST_FRAMES * 8 and all(np.abs(c.samples).max() <= 1 for c in chunks)


def test_speakers_differ(voice: Voice) -> None:
    assert [entry.name for entry in voice.speakers] == list(SPEAKERS)
    readings = [spoken(voice, "hello", speaker=name, seed=1) for name in SPEAKERS]
    assert readings[0].shape == readings[1].shape and not np.array_equal(*readings)


def test_speed_changes_the_length(voice: Voice) -> None:
    lengths = [len(spoken(voice, LONG, speed=speed, seed=1)) for speed in (0.5, 1.0, 2.0)]
    assert lengths[0] > 1.6 * lengths[1] > 2.2 * lengths[2]


def test_a_sentence_of_no_length_is_a_frame(model: PiperModel) -> None:
    nothing = model.frames(np.zeros((1, 1, 5), np.float32), 1.0)
    stats = np.zeros((1, 4, 5), np.float32)
    assert model.drawn(stats, stats, nothing, "anna", np.random.default_rng(0)).shape == (1, 4, 1)


def test_ids_have_pipers_marks_and_unknown_characters_are_dropped(model: PiperModel, caplog: pytest.LogCaptureFixture) -> None:
    pad, begin, end, a, b = (LETTERS.index(letter) for letter in "_^$ab")
    with caplog.at_level(logging.WARNING, "edge_tts"):
        assert model.token_ids(["a", "☃", "b"]) == [begin, pad, a, pad, b, pad, end]
    assert "outside the vocabulary: ☃" in caplog.text
    assert model.token_ids(list("?! ")) == [] and model.token_ids([]) == []


def test_characters_are_decomposed_for_a_voice_of_text(model: PiperModel) -> None:
    assert model.phonemes(Sentence("é", "en")) == [["e", "\u0301"]]


def test_clusters_are_one_phoneme(model: PiperModel) -> None:
    joined = PiperModel.__new__(PiperModel)
    joined.settings = dataclasses.replace(model.settings, clusters=("aɪ", "a"))
    assert joined._clustered(list("kaɪta")) == ["k", "aɪ", "t", "a"]


def test_a_cancelled_request_ends_between_windows(model: PiperModel) -> None:
    asked = iter([False, True])
    chunks = model.speak(iter([Sentence(LONG, "en")]), Delivery(model_voice(model), seed=1), lambda: next(asked, True))
    assert len(list(chunks)) == 1


def model_voice(model: PiperModel) -> Any:
    from edge_tts.bundle import VoiceEntry

    return VoiceEntry(next(iter(model.settings.speakers)), "en-US", "CC0-1.0")


@pytest.mark.parametrize("text", ["", "...", "***"])
def test_text_without_words_gives_no_audio(voice: Voice, text: str) -> None:
    assert list(voice.synthesize(text)) == []


@pytest.mark.parametrize(
    "change", [{"phoneme_type": "pinyin"}, {"gain": "loud"}, {"phoneme_ids": {"a": [1]}}, {"n_mels": 80}, {"speakers": None}]
)
def test_settings_of_another_kind_are_refused(bundle: Bundle, tmp_path: Path, change: dict[str, Any]) -> None:
    manifest = dataclasses.replace(bundle.manifest, settings={**bundle.manifest.settings, **change}, files=())
    write_manifest(tmp_path, manifest)
    with pytest.raises(BundleError, match="not those of a piper bundle"):
        PiperSettings.of(open_bundle(tmp_path))


def test_a_language_without_rules_is_left_to_the_voices_own_reader(bundle: Bundle, tmp_path: Path) -> None:
    import shutil

    copy = Path(shutil.copytree(bundle.path, tmp_path / "german"))
    write_manifest(copy, dataclasses.replace(bundle.manifest, languages=("de",)))
    german = load_voice(copy, cache_dir=tmp_path / "cache")
    heard: list[str] = []
    german._model.phonemes = lambda sentence: heard.append(sentence.text) or []  # type: ignore[method-assign]
    list(german.synthesize("Ich habe 3 Hunde,  z. B. Rex."))
    assert heard == ["Ich habe 3 Hunde, z. B. Rex."]
