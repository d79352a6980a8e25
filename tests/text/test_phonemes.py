from __future__ import annotations

import pytest

pytest.importorskip("hibari", reason="the extra convert-kokoro is not installed")
pytest.importorskip("misaki", reason="the extra convert-kokoro is not installed")

from edge_tts.text import frontend
from tests.reading_tables import phonemizer

PHONEMIZER = phonemizer(lambda word, british: f"?{word}?")


def phonemes(text: str, *, british: bool = False) -> str:
    return " ".join(PHONEMIZER(s.text, british=british, readings=s.readings) for s in frontend.sentences(text))


@pytest.mark.parametrize(
    ("text", "sounds"),
    [
        ("an AI model", "ɐn ˈA ˈI mˈɑdᵊl."),
        ("The GPUs", "ðə ʤˈi pˈi jˈuz."),
        ("seat 7A.", "sˈit sˈɛvən ˈA."),
        ("A cat", "ɐ kˈæt."),
        ("at 5 pm", "æt fˈIv pˈi ˈɛm."),
    ],
)
def test_spelled_letters_have_their_names(text: str, sounds: str) -> None:
    assert phonemes(text) == sounds


def test_a_british_zed_is_one() -> None:
    assert "zˈɛd" in phonemes("The XYZ", british=True)


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ("They lead with a lead pipe.", "lˈɛd"),
        ("We live near a live show.", "lˈIv"),
        ("I object to it.", "əbʤˈɛkt"),
        ("Please tear it up.", "tˈɛɹ"),
        ("He took a bow.", "bˈW"),
        ("He wound the rope.", "wˈWnd"),
        ("He read it yesterday.", "ɹˈɛd"),
    ],
)
def test_words_of_two_readings_are_told_by_their_neighbours(text: str, sound: str) -> None:
    assert sound in phonemes(text)


def test_readings_of_the_text_and_of_the_lexicon_reach_the_voice() -> None:
    assert phonemes("{Nguyen|/wˈɪn/} spoke") == "wˈɪn spˈOk."
    assert phonemes("还钱").startswith("xwa↗n")
    assert phonemes("{行|háng}") != phonemes("行")


def test_mixed_text_is_read_by_both() -> None:
    assert phonemes("我用GPT-4o改稿。") == "wo↓jʊ↘ŋ ʤˈi pˈi tˈi sɨ↘ ˈO kai↗kau↓."
