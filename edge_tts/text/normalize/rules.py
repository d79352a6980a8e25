"""What the languages' rules share: a rule is a pattern with what it becomes; rules run in order, each once over the text.

Patterns start where a run starts (look-behinds) and repeat a bounded number of times, so that none is slower than linear. They are
compiled when a text first needs them: compiling all takes longer than speaking a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

Replacement = str | Callable[[re.Match[str]], str]


class Rule(NamedTuple):
    """What becomes what; `needs_digit` tells that it matches no text without an ASCII digit, so that it need not be tried."""

    written: str | re.Pattern[str]
    replacement: Replacement
    needs_digit: bool = False
    flags: int = 0

    @property
    def pattern(self) -> re.Pattern[str]:
        """What is written, compiled once."""
        return _compiled(self.written, self.flags)


_DIGIT = re.compile("[0-9]")


def rule(pattern: str, replacement: Replacement, flags: int = 0) -> Rule:
    """A rule of a table; digits and letters are ASCII unless written out."""
    return Rule(pattern, replacement, flags=re.ASCII | flags)


def number_rule(pattern: str, replacement: Replacement, flags: int = 0) -> Rule:
    """A rule whose every match holds an ASCII digit."""
    return Rule(pattern, replacement, needs_digit=True, flags=re.ASCII | flags)


def apply(rules: Iterable[Rule], text: str) -> str:
    """The text after every rule in turn."""
    digits = _DIGIT.search(text)
    for each in rules:
        if digits or not each.needs_digit:
            changed = each.pattern.sub(each.replacement, text)
            if changed is not text:
                text = changed
                digits = _DIGIT.search(text)
    return text


@cache
def _compiled(written: str | re.Pattern[str], flags: int) -> re.Pattern[str]:
    return re.compile(written, flags)


def alternatives(words: Iterable[str]) -> str:
    """A pattern for any of the words, longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def number_value(character: str) -> int | None:
    """The value of an enclosed or roman number character: ① -> 1, Ⅳ -> 4; None for any other."""
    value = unicodedata.numeric(character, None)
    return int(value) if value is not None and value == int(value) else None


ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")


def roman_value(letters: str) -> int | None:
    """The value of a well-formed roman numeral in capitals; None for anything else."""
    if not letters or not _ROMAN.fullmatch(letters):
        return None
    values = [ROMAN[letter] for letter in letters]
    return sum(-value if value < following else value for value, following in zip(values, [*values[1:], 0], strict=True))


def roman_values(characters: str) -> list[int]:
    """The value of a run of roman number characters (Ⅹ and Ⅳ are 14), or of each where together they make none."""
    together = roman_value(unicodedata.normalize("NFKC", characters).upper())
    return [together] if together else [int(unicodedata.numeric(c, 0)) for c in characters]
