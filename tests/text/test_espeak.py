"""espeak-ng through its library, against what Piper itself makes of the same text."""

from __future__ import annotations

import pytest

from edge_tts.errors import BundleError, MissingExtraError
from edge_tts.text import espeak

pytest.importorskip("espeakng_loader", reason="the extra piper is not installed")

# Words that espeak-ng 1.52 and the newer one that Piper brings read alike; what is tested is clauses and their marks.
TEXTS = {
    "en-us": (
        "Hello, world. Next one: yes; no? OK!",
        "The train leaves from platform seven.",
        "one, two, three",
        "What?! Really. I don't know; do you?",
        "He said “stop!” and left. Dr. Smith paid for it.",
    ),
    "de": ("Hallo, wie geht es dir? Gut; danke!",),
    "fr": ("Bonjour, comment allez-vous ?",),
    "es": ("¿Dónde está? Está allí, creo.",),
    "ru": ("Привет, как дела? Хорошо.",),
}


@pytest.mark.parametrize(("voice", "text"), [(voice, text) for voice, texts in TEXTS.items() for text in texts])
def test_phonemes_are_those_of_piper(voice: str, text: str) -> None:
    phonemize = pytest.importorskip("piper.phonemize_espeak", reason="piper-tts, the oracle, is not installed")
    assert list(espeak.sentences(text, voice)) == phonemize.EspeakPhonemizer().phonemize(voice, text)


def test_a_clause_has_the_mark_that_ends_it() -> None:
    assert [mark for _, mark in espeak.clauses("One, two; three: four? Five! Six. Seven", "en-us")] == [*",;:?!.", ""]
    assert [mark for _, mark in espeak.clauses("He said “stop!” and left", "en-us")] == ["!", ""]


def test_what_ends_no_sentence_is_followed_by_more_of_it() -> None:
    assert ["".join(sentence) for sentence in espeak.sentences("Wait… what, no", "en-us")] == ["wˈeɪt wˌʌt, nˈoʊ"]


def test_text_without_words_has_no_phonemes() -> None:
    assert [p for s in espeak.sentences(" ", "en-us") for p in s] == []


def test_an_unknown_voice_is_named() -> None:
    with pytest.raises(BundleError, match="espeak-ng has no voice 'xx-nowhere'"):
        list(espeak.sentences("Hello.", "xx-nowhere"))


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(espeak, "_installed", lambda: ("libnowhere-espeak.so", None))
    espeak._library.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match=r"edge-tts-openvino\[piper\]"):
            espeak.clauses("Hello.", "en-us")
    finally:
        espeak._library.cache_clear()
