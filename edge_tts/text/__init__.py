"""The text front end: what a person wrote -> sentences that can be spoken.

Importing this loads nothing heavy; each language's rules and dictionaries are opened when its first sentence comes.
"""

from __future__ import annotations

from dataclasses import dataclass

from edge_tts.text.lexicon import Reading


@dataclass(frozen=True)
class WordReading:
    """A word of a sentence, by its place in the text, and how a lexicon or the text itself says it is read."""

    start: int
    end: int
    reading: Reading


@dataclass(frozen=True)
class Sentence:
    """A piece of text that is spoken in one go.

    text: cleaned and normalised, never blank; may mix scripts
    language: primary subtag of its main language: "en", "zh", "ja", "ko", "yue"
    readings: words in it whose reading is given, in order, none overlapping
    """

    text: str
    language: str
    readings: tuple[WordReading, ...] = ()
