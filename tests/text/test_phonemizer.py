"""Sentences to phonemes, each run of a script by its own language's library."""

from __future__ import annotations

import itertools
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_tts.text.phonemes import ENGLISH_TABLE, Phonemizer, script_runs

pytest.importorskip("hibari", reason="the extra convert-kokoro is not installed")
pytest.importorskip("misaki", reason="the extra convert-kokoro is not installed")

from tests.reading_tables import phonemizer, reading_tables

Asked = list[tuple[str, bool]]


_asked: Asked = []


@pytest.fixture
def asked() -> Asked:
    """The words in no dictionary that were asked for, with the accent."""
    _asked.clear()
    return _asked


@pytest.fixture(scope="module")
def phonemes() -> Phonemizer:
    def unknown_word(word: str, british: bool) -> str:
        _asked.append((word, british))
        return "nˈu"

    return phonemizer(unknown_word)


# --- runs ---------------------------------------------------------------------------------------------------------------


@given(st.text(st.sampled_from("ab 1.,你好，。！“”カ가é\n"), max_size=40) | st.text(max_size=40))
def test_runs_lose_nothing_and_alternate(text: str) -> None:
    runs = list(script_runs(text))
    assert "".join(run for run, _ in runs) == text
    assert all(run for run, _ in runs)
    assert all(first != second or first for (_, first), (_, second) in itertools.pairwise(runs))


def test_punctuation_goes_with_the_chinese_before_it() -> None:
    assert list(script_runs("你好，world。再见！")) == [("你好，", True), ("world。", False), ("再见！", True)]
    assert list(script_runs("“Hi”你好")) == [("“Hi”", False), ("你好", True)]


# --- phonemes -----------------------------------------------------------------------------------------------------------


def test_english_is_read_in_misakis_alphabet(phonemes: Phonemizer) -> None:
    assert phonemes("Hello, world!") == "həlˈO, wˈɜɹld!"


def test_british_differs_from_american(phonemes: Phonemizer) -> None:
    assert phonemes("The car can't dance.", british=True) != phonemes("The car can't dance.")


def test_chinese_is_read_with_tones_and_its_punctuation(phonemes: Phonemizer) -> None:
    said = phonemes("你好，世界。")
    assert any(arrow in said for arrow in "→↗↘↓")
    assert said.endswith(".") and "," in said and not any("\u4e00" <= c <= "\u9fff" for c in said)


def test_a_mixed_sentence_is_the_parts_of_each_language(phonemes: Phonemizer, asked: Asked) -> None:
    assert phonemes("这个 program 运行得很快。") == f"{phonemes('这个')} {phonemes('program')} {phonemes('运行得很快。')}"
    assert asked == []


def test_a_word_in_no_dictionary_is_asked_for_once_with_the_accent(phonemes: Phonemizer, asked: Asked) -> None:
    assert "nˈu" in phonemes("A blorfquix came.")
    assert asked == [("blorfquix", False)]
    asked.clear()
    phonemes("A blorfquix came.", british=True)
    assert [british for _, british in asked] == [True]


def test_letters_of_other_scripts_are_dropped_and_logged(phonemes: Phonemizer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "edge_tts"):
        assert phonemes("Hello привет there.") == phonemes("Hello  there.")
    assert "dropped letters that this voice cannot read: в е и п р т" in caplog.text


def test_a_voice_without_chinese_drops_it_and_reads_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    english = Phonemizer(lambda word, british: "", reading_tables() / ENGLISH_TABLE)
    with caplog.at_level(logging.WARNING, "edge_tts"):
        assert english("Hello 你好，world.") == "həlˈO wˈɜɹld."
    assert "dropped letters that this voice cannot read: 你 好" in caplog.text


@pytest.mark.parametrize("text", ["привет", "안녕하세요", "カタカナ", "😀"])
def test_what_no_library_reads_gives_no_letters(phonemes: Phonemizer, text: str) -> None:
    assert not any(c.isalpha() for c in phonemes(text))


@pytest.mark.parametrize("text", ["", " ", "...", "，。", "\n"])
def test_text_without_words_has_no_letters(phonemes: Phonemizer, text: str) -> None:
    assert not any(c.isalpha() for c in phonemes(text))


@pytest.mark.parametrize("character", ["\u9fd0", "\u9fa6", "\U00030000", "\uf900", "々", "〇"])
def test_a_character_that_no_dictionary_has_is_passed_over(phonemes: Phonemizer, character: str) -> None:
    assert phonemes(f"你好{character}世界").startswith(phonemes("你好").split()[0])
    assert phonemes(character) == phonemes(character).strip()


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=60))
def test_nothing_that_unicode_holds_breaks_it(phonemes: Phonemizer, text: str) -> None:
    result = phonemes(text)
    assert result == result.strip()
