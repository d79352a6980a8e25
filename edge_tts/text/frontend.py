"""The whole front end: a text -> the sentences to be spoken, each step a pure function of its own module."""

from __future__ import annotations

from collections.abc import Iterator

from edge_tts.text import Sentence, language as languages, markup, segment
from edge_tts.text.clean import clean, decode
from edge_tts.text.language import main_language
from edge_tts.text.normalize import normalize
from edge_tts.text.segment import complete_sentences

__all__ = ["complete_sentences", "decode", "main_language", "primary_subtag", "sentences"]


def primary_subtag(tag: str) -> str:
    """The language of a BCP 47 tag: "en-US" -> "en"; "cmn-Hans" and "zh" are one, so are "zh-HK" and "yue"."""
    parts = tag.replace("_", "-").lower().split("-")
    if parts[0] == "zh" and {"hk", "yue"} & set(parts[1:]):
        return "yue"
    return "zh" if parts[0] == "cmn" else parts[0]


def sentences(text: str, *, language: str | None = None, limit_characters: int = 200) -> Iterator[Sentence]:
    """Sentences of at most `limit_characters`, in order; none for text without words."""
    text = markup.strip(clean(text), lambda word, reading: word)
    document_language = language or main_language(text[:2000])
    for piece in segment.pieces(text, limit_characters):
        piece_language = language or (main_language(piece) if languages.has_letters(piece) else document_language)
        for part in segment.cut(normalize(piece, piece_language), limit_characters):
            if any(c.isalnum() for c in part):
                yield Sentence(part, piece_language)
