"""The Kokoro runtime, spoken by the synthetic voice: lengths, limits, and what happens to input that makes no sense."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_tts import (
    AudioChunk,
    BundleError,
    CancelledError,
    OptionError,
    SpeechOptions,
    UnknownVoiceError,
    Utterance,
    Voice,
    load_voice,
)
from edge_tts.bundle import Bundle, read_manifest, write_manifest
from edge_tts.engine import Engine
from edge_tts.models import Delivery
from edge_tts.models.kokoro import MAX_PHONEMES, KokoroModel, KokoroSettings, UnknownWords, opening_of, pieces_of
from edge_tts.text import Sentence
from tests.speaking import spoken
from tests.tiny_voice import VOCABULARY, VOICES

SAMPLES_PER_FRAME = 600


@pytest.fixture(scope="module")
def model(tiny_bundle: Bundle) -> KokoroModel:
    return KokoroModel(tiny_bundle, Engine())


# --- cutting ------------------------------------------------------------------------------------------------------------

LETTERS = st.text(st.sampled_from("abɪŋˈː .,!?…;:—"), max_size=300)


@given(LETTERS, st.integers(1, 60))
def test_pieces_lose_nothing_and_keep_the_limit(phonemes: str, limit: int) -> None:
    pieces = list(pieces_of(phonemes, limit))
    assert all(0 < len(piece) <= limit and piece == piece.strip() for piece in pieces)
    assert re.sub(r"\s", "", "".join(pieces)) == re.sub(r"\s", "", phonemes)


@given(LETTERS)
def test_what_fits_is_not_cut(phonemes: str) -> None:
    assert list(pieces_of(phonemes, 300)) == ([phonemes.strip()] if phonemes.strip() else [])


def test_a_piece_ends_at_punctuation_else_at_a_space_else_anywhere() -> None:
    assert list(pieces_of("one, two three four", 12)) == ["one,", "two three", "four"]
    assert list(pieces_of("one two three", 7)) == ["one two", "three"]
    assert list(pieces_of("a" * 7, 3)) == ["aaa", "aaa", "a"]
    assert list(pieces_of("3.5 4.5", 5)) == ["3.5", "4.5"]


def test_a_long_sentence_opens_with_its_first_clause_of_some_length() -> None:
    rest = "a clause, and words that go on for a good while after it, one after another."
    assert opening_of(f"when it rains, {rest}") == ["when it rains,", rest]
    assert opening_of(f"oh, when it rains, {rest}") == ["oh, when it rains,", rest]


@pytest.mark.parametrize(
    "phonemes",
    ["short, and sweet.", "ə" * 300, "word " * 40, "ten words, " + "ə" * 5, "ə" * 61 + ", and then the rest of it, too."],
)
def test_other_sentences_open_as_a_whole(phonemes: str) -> None:
    assert opening_of(phonemes) == [phonemes.strip()]


# --- phonemes to samples ------------------------------------------------------------------------------------------------


def test_phonemes_outside_the_vocabulary_are_dropped_and_logged(model: KokoroModel, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "edge_tts"):
        assert model.token_ids("həlˈO1☃") == [VOCABULARY[p] for p in "həlˈO"]
    assert "dropped phonemes outside the vocabulary: 1 ☃" in caplog.text
    caplog.clear()
    assert model.token_ids("həlˈO") and not caplog.records


def test_audio_is_as_long_as_the_predicted_durations(model: KokoroModel) -> None:
    ids = model.token_ids("həlˈO wˈɜɹld")
    inputs, n_frames = model.decoder_inputs(ids, model.style("af_tiny", len(ids)), 1.0)
    frames = inputs["text"].shape[1]
    assert frames % 8 == 0 and frames - 8 < n_frames <= frames
    assert inputs["f0"].shape == inputs["energy"].shape == (1, 2 * frames)
    assert inputs["harmonics"].shape == (1, 22, 2 * frames * 60 + 1)
    samples = model.synthesize(ids, model.style("af_tiny", len(ids)), 1.0)
    assert samples.shape == (n_frames * SAMPLES_PER_FRAME,) and samples.dtype == np.float32
    assert np.isfinite(samples).all() and samples.any()


def test_a_phoneme_lasts_at_least_a_frame(model: KokoroModel) -> None:
    ids = [1] * 40
    fastest, n_frames = model.decoder_inputs(ids, model.style("af_tiny", 40), 1e6)
    assert n_frames == 42  # with the two end marks
    assert fastest["text"].shape[1] == 48


def test_the_style_depends_on_the_number_of_phonemes(model: KokoroModel, tiny_bundle: Bundle) -> None:
    table = np.load(tiny_bundle.file("voices/zf_tiny.npy"))
    for n in (1, 2, MAX_PHONEMES):
        np.testing.assert_array_equal(model.style("zf_tiny", n), table[n - 1 : n])


def test_speaking_the_same_twice_sounds_the_same(tiny_voice: Voice) -> None:
    np.testing.assert_array_equal(spoken(tiny_voice, "Once more, please."), spoken(tiny_voice, "Once more, please."))


# --- what is spoken -----------------------------------------------------------------------------------------------------


WORDLESS = ["", " ", "\n\t \r\n", "\u3000", "\x00", "\ufeff", "...", "?!", "。，、！", "—", "()[]{}", "*** --- ***", "''"]


@pytest.mark.parametrize("text", WORDLESS)
def test_text_without_words_gives_no_audio(tiny_voice: Voice, text: str) -> None:
    assert list(tiny_voice.synthesize(text)) == []


def test_the_first_sentence_starts_with_a_clause_and_ends_once(tiny_voice: Voice) -> None:
    sentence = "When the first sentence is long, its first clause is spoken before the rest has been looked at by anybody."
    chunks = list(tiny_voice.synthesize(f"{sentence} {sentence}"))
    assert [chunk.ends_sentence for chunk in chunks] == [False, True, True]
    assert len(chunks[0].samples) < len(chunks[1].samples) < len(chunks[2].samples)


def test_a_sentence_is_a_chunk(tiny_voice: Voice) -> None:
    plain = "The first sentence is long enough to be spoken on its own without a neighbour and so it is."
    english = "The first sentence is long enough to be spoken on its own, without a neighbour, and so it is."
    chinese = "第四句说的是中文，也有足够的长度，所以它单独成为一个音频块，不与别的句子合在一起，这样就够长了。"
    chunks = list(tiny_voice.synthesize(f"{plain} {english} {chinese}"))
    assert len(chunks) == 3
    assert all(isinstance(chunk, AudioChunk) and chunk.ends_sentence and chunk.sample_rate == 24000 for chunk in chunks)
    assert all(chunk.samples.ndim == 1 and chunk.samples.dtype == np.float32 for chunk in chunks)


def test_a_sentence_of_too_many_phonemes_ends_with_its_last_chunk(model: KokoroModel) -> None:
    sentence = Sentence("encyclopedia " * 80 + "end.", "en")
    chunks = list(model.speak(iter([sentence]), Delivery(VOICES[0]), lambda: False))
    assert len(chunks) > 1
    assert [chunk.ends_sentence for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


@pytest.mark.parametrize("letters", ["a" * 100_000, "word " * 20_000, "汉" * 100_000, "1" * 100_000], ids=lambda text: text[:5])
def test_a_hundred_thousand_letters_without_punctuation_begin_to_sound_soon(tiny_voice: Voice, letters: str) -> None:
    started = time.monotonic()
    with tiny_voice.utterance(letters, SpeechOptions()) as utterance:
        chunks = list(itertools.islice(utterance, 3))
    assert len(chunks) == 3
    assert all(0 < chunk.duration_s < 60 for chunk in chunks)
    assert time.monotonic() - started < 20


def test_half_the_speed_lasts_longer_and_double_shorter(model: KokoroModel) -> None:
    ids = model.token_ids("ə lˈɔŋɡəɹ sˈɛntᵊns wɪð mˈɛni fˈOnimz ɪn ɪt" * 3)
    style = model.style("af_tiny", len(ids))
    lengths = [len(model.synthesize(ids, style, speed)) for speed in (0.5, 0.8, 1.0, 1.4)]
    assert lengths == sorted(lengths, reverse=True) and len(set(lengths)) == 4
    assert lengths[0] / lengths[2] == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize("speed", [0.5, 1, 2.0])
def test_the_ends_of_the_speed_range_are_spoken(tiny_voice: Voice, speed: float) -> None:
    assert len(spoken(tiny_voice, "Hello there.", speed=speed))


@pytest.mark.parametrize("speed", [float("nan"), float("inf"), -1.0, 0.0, 0.49, 2.01])
def test_a_speed_outside_the_range_is_refused_at_once(tiny_voice: Voice, speed: float) -> None:
    with pytest.raises(OptionError, match=r"speed .* is outside 0\.5-2\.0"):
        tiny_voice.synthesize("Hello.", speed=speed)


def test_an_unknown_voice_is_refused_at_once_with_a_list(tiny_voice: Voice) -> None:
    with pytest.raises(UnknownVoiceError, match="unknown voice 'nobody'; this bundle has: af_tiny, bm_tiny, zf_tiny"):
        tiny_voice.synthesize("Hello.", speaker="nobody")


@pytest.mark.parametrize(
    ("text", "options", "speaker"),
    [
        ("Hello there.", {}, "af_tiny"),
        ("你好，世界。", {}, "zf_tiny"),
        ("这个 program 运行得很快。", {}, "zf_tiny"),
        ("The word 你 means you.", {}, "af_tiny"),
        ("Hello there.", {"language": "zh-CN"}, "zf_tiny"),
        ("Bonjour.", {"language": "fr"}, "af_tiny"),
        ("你好。", {"speaker": "bm_tiny"}, "bm_tiny"),
        ("", {}, "af_tiny"),
    ],
)
def test_the_texts_main_language_picks_the_voice(tiny_voice: Voice, text: str, options: dict[str, str], speaker: str) -> None:
    assert tiny_voice.speaker_for(text, SpeechOptions(**options)).name == speaker


def test_every_voice_speaks_every_language_and_differs(tiny_voice: Voice) -> None:
    text = "Hello, 你好。"
    spoken_by = [spoken(tiny_voice, text, speaker=entry.name) for entry in tiny_voice.speakers]
    for first, second in itertools.combinations(spoken_by, 2):
        assert len(first) and (len(first) != len(second) or not np.allclose(first, second))


def test_warming_up_speaks_each_language(tiny_voice: Voice) -> None:
    tiny_voice.warm_up()


# --- one request among others -------------------------------------------------------------------------------------------


def test_a_cancelled_utterance_stops_and_says_so(tiny_voice: Voice) -> None:
    utterance = tiny_voice.utterance("One. Two. Three.", SpeechOptions())
    next(utterance)
    utterance.cancel()
    for _ in range(2):
        with pytest.raises(CancelledError):
            next(utterance)


def test_an_utterance_cancelled_on_its_way_to_a_chunk_does_not_look_complete(model: KokoroModel) -> None:
    def sentences() -> Iterator[Sentence]:
        yield Sentence("One.", "en")
        utterance.cancel()
        yield Sentence("Two.", "en")

    utterance = Utterance(model, sentences(), Delivery(VOICES[0]))
    next(utterance)
    with pytest.raises(CancelledError):
        next(utterance)


def test_a_long_sentence_is_cancelled_between_its_pieces(model: KokoroModel) -> None:
    asked = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 2

    sentence = Sentence("encyclopedia " * 300 + "end.", "en")
    assert len(list(model.speak(iter([sentence]), Delivery(VOICES[0]), cancelled))) == 2


def test_leaving_the_block_ends_the_utterance(tiny_voice: Voice) -> None:
    with tiny_voice.utterance("One. Two.", SpeechOptions()) as utterance:
        next(utterance)
    with pytest.raises(CancelledError):
        next(utterance)


def test_two_threads_get_their_own_audio(tiny_voice: Voice) -> None:
    texts = ["The first speaks English.", "第二个说中文。", "And another one, which is longer than the others.", "最后一个。"]
    wanted = {text: spoken(tiny_voice, text) for text in texts}
    wrong = []

    def work(text: str) -> None:
        for _ in range(3):
            if not np.array_equal(spoken(tiny_voice, text), wanted[text]):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- unknown words ------------------------------------------------------------------------------------------------------


def test_a_word_in_no_dictionary_is_read_by_the_network(tiny_bundle: Bundle) -> None:
    read = UnknownWords(tiny_bundle, Engine(), british=False)
    assert read("cabd") == "cabd"
    assert read("ca1b!") == "cab"


def test_repeated_outputs_are_one_phoneme(tiny_bundle: Bundle) -> None:
    """CTC: the same phoneme at neighbouring positions is one."""
    assert UnknownWords(tiny_bundle, Engine(), british=True)("aabba") == "aba"


@pytest.mark.parametrize("word", ["", "123", "é", "汉"])
def test_a_word_without_known_letters_has_no_phonemes(tiny_bundle: Bundle, word: str) -> None:
    assert UnknownWords(tiny_bundle, Engine(), british=False)(word) == ""


def test_a_word_of_a_thousand_letters_is_cut_to_what_the_network_reads(tiny_bundle: Bundle) -> None:
    assert len(UnknownWords(tiny_bundle, Engine(), british=False)("ab" * 500)) == 32


# --- damaged bundles ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vocabulary", None),
        ("source_weight", None),
        ("surprise", 1),
        ("source_weight", 3),
        ("source_weight", "abc"),
        ("vocabulary", ["a"]),
        ("vocabulary", {"a": "b"}),
        ("n_fft", "twenty"),
        ("hop_length", 0),
        ("hop_length", 7),
        ("source_bias", None),
    ],
    ids=str,
)
def test_settings_that_are_not_kokoros_are_an_error(tiny_bundle: Bundle, key: str, value: Any) -> None:
    manifest = dataclasses.replace(tiny_bundle.manifest, settings={**tiny_bundle.manifest.settings, key: value})
    with pytest.raises(BundleError, match="the manifest's settings are not those of a kokoro bundle"):
        KokoroSettings.of(Bundle(tiny_bundle.path, manifest))


def test_a_setting_that_is_missing_is_named(tiny_bundle: Bundle) -> None:
    for key in tiny_bundle.manifest.settings:
        settings = {name: value for name, value in tiny_bundle.manifest.settings.items() if name != key}
        with pytest.raises(BundleError, match=key):
            KokoroSettings.of(Bundle(tiny_bundle.path, dataclasses.replace(tiny_bundle.manifest, settings=settings)))


@pytest.mark.parametrize("name", ["english.table", "chinese.table"])
def test_a_bundle_of_before_the_dictionaries_says_how_to_make_it_anew(tiny_bundle_copy: Path, name: str) -> None:
    (tiny_bundle_copy / name).unlink()
    write_manifest(tiny_bundle_copy, read_manifest(tiny_bundle_copy))
    with pytest.raises(BundleError, match=rf"lists no file '{name}'; make it again with `python -m convert`"):
        load_voice(tiny_bundle_copy)


def test_styles_that_are_none_are_errors_and_never_unpickled(tiny_bundle_copy: Path) -> None:
    voices = tiny_bundle_copy / "voices"
    (voices / "af_tiny.npy").write_bytes(b"x" * 1000)
    np.save(voices / "bm_tiny.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.save(voices / "zf_tiny.npy", np.zeros((100, 16), np.float32))
    write_manifest(tiny_bundle_copy, read_manifest(tiny_bundle_copy))
    voice = load_voice(tiny_bundle_copy)
    for name, reason in (("af_tiny", "no array"), ("bm_tiny", "no array"), ("zf_tiny", r"\(100, 16\) is not the shape")):
        with pytest.raises(BundleError, match=rf"{name}\.npy.*{reason}"):
            list(voice.synthesize("Hello.", speaker=name))
