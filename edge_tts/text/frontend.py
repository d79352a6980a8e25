"""The whole front end: a text -> the sentences to be spoken, each step a pure function of its own module."""

from __future__ import annotations

import re
from collections.abc import Iterator

from edge_tts.text import Sentence

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")


def primary_subtag(tag: str) -> str:
    """The language of a BCP 47 tag: "en-US" -> "en"."""
    return tag.replace("_", "-").split("-")[0].lower()


def main_language(text: str) -> str:
    """The language most of the text's letters are in."""
    han = sum("\u4e00" <= c <= "\u9fff" for c in text)
    latin = sum(c.isascii() and c.isalpha() for c in text)
    return "zh" if han * 3 > latin else "en"


def sentences(text: str, *, language: str | None = None, limit_characters: int = 200) -> Iterator[Sentence]:
    """Sentences of at most `limit_characters`, in order; none for text without words."""
    for piece in _SENTENCE_END.split(text):
        for start in range(0, len(piece), limit_characters):
            part = piece[start : start + limit_characters].strip()
            if any(c.isalnum() for c in part):
                yield Sentence(part, language or main_language(part))


def complete_sentences(buffer: str) -> tuple[str, str]:
    """Split text that is still arriving into the sentences that are surely complete, and the rest."""
    end = 0
    for match in _SENTENCE_END.finditer(buffer):
        end = match.end()
    return buffer[:end], buffer[end:]
