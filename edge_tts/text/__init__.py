"""The text front end: what a person wrote -> sentences that can be spoken.

Importing this loads nothing heavy; each language's libraries load when its first sentence comes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sentence:
    """A piece of text that is spoken in one go.

    text: cleaned and normalised, never blank; may mix scripts
    language: primary subtag of its main language: "en", "zh", "ja", "ko", "yue"
    """

    text: str
    language: str
