"""Pronunciation lexicons: how a word is to be read, where the voice would read it wrong.

A file has one word a line, then `=` or a tab, then its reading; a `#` after a space or at a line's start begins a comment:

    重庆 = chóng qìng          pinyin, one syllable a character (chong2 qing4 is the same)
    kubectl = cube control     another spelling, spoken instead
    Nguyen = /wˈɪn/            phonemes between slashes, in the alphabet of the Kokoro voices

Latin words match as whole words: in any case when written in lower case, else exactly. Of several entries the longest wins.
In a text, `{重庆|chóng qìng}` gives one word a reading, in the same three ways, and `<chang2>` speaks one syllable.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from edge_tts.errors import OptionError
from edge_tts.text.data import lines, table
from edge_tts.text.language import HAN
from edge_tts.text.patterns import WidePattern

_HAN_ONLY = WidePattern(f"[{HAN}]+")
_SYLLABLE = re.compile(r"[a-zü]{1,6}[1-5]")
_PHONEMES = re.compile(r"/([^/\s][^/]*)/")
_COMMENT = re.compile(r"(?:^|\s)#.*")  # the # of C# starts none
_TONE_MARKS = {"\u0304": "1", "\u0301": "2", "\u030c": "3", "\u0300": "4"}


@dataclass(frozen=True)
class Reading:
    """How something is read: exactly one of the three.

    pinyin: a syllable with tone number for each Han character ("chong2", "qing4"); "ü" is written so
    phonemes: in misaki's alphabet, which Kokoro voices speak
    spelling: text that is spoken instead
    """

    pinyin: tuple[str, ...] = ()
    phonemes: str = ""
    spelling: str = ""


@dataclass(frozen=True)
class Lexicon:
    """Words and their readings; immutable. `a | b` has both, of which b's win."""

    entries: Mapping[str, Reading] = field(default_factory=dict)

    def __or__(self, other: Lexicon) -> Lexicon:
        if not self.entries or not other.entries:
            return self if self.entries else other
        return Lexicon({**self.entries, **other.entries})

    def han_matches(self, text: str) -> Iterator[tuple[int, int, Reading]]:
        """(start, end, reading) of the Chinese words in the text, the longest at each place, left to right."""
        position = 0
        while position < len(text):
            for word in self._han_words.get(text[position], ()):
                if text.startswith(word, position):
                    yield position, position + len(word), self.entries[word]
                    position += len(word)
                    break
            else:
                position += 1

    @cached_property
    def other_words(self) -> re.Pattern[str] | None:
        """A pattern for the words that must be found before the text is normalised: all but those read in pinyin."""
        words = sorted((word for word, reading in self.entries.items() if not reading.pinyin), key=len, reverse=True)
        return re.compile("|".join(_word_pattern(word) for word in words)) if words else None

    def reading(self, word: str) -> Reading:
        """The reading of a word that `other_words` has found."""
        return self.entries.get(word) or self.entries[word.lower()]

    @cached_property
    def _han_words(self) -> dict[str, list[str]]:
        words: dict[str, list[str]] = {}
        for word, reading in self.entries.items():
            if reading.pinyin:
                words.setdefault(word[0], []).append(word)
        return {first: sorted(same, key=len, reverse=True) for first, same in words.items()}


def _word_pattern(word: str) -> str:
    case = f"(?i:{re.escape(word)})" if word == word.lower() and word.isascii() else re.escape(word)
    before = "(?<![A-Za-z0-9])" if word[0].isascii() and word[0].isalnum() else ""
    after = "(?![A-Za-z0-9])" if word[-1].isascii() and word[-1].isalnum() else ""
    return before + case + after


def parse_reading(word: str, text: str) -> Reading:
    """A reading as files and inline forms write it; ValueError says what is wrong with it."""
    text = text.strip()
    if not text:
        raise ValueError("no reading")
    if text.startswith("/"):
        phonemes = _PHONEMES.fullmatch(text)
        if not phonemes:
            raise ValueError(f"phonemes stand between two slashes, as in /wˈɪn/, not {text!r}")
        return Reading(phonemes=phonemes[1])
    syllables = tuple(numbered_pinyin(syllable) for syllable in text.split())
    if _HAN_ONLY.fullmatch(word) and all(_SYLLABLE.fullmatch(syllable) for syllable in syllables):
        if len(syllables) != len(word):
            raise ValueError(f"{len(syllables)} syllables for {len(word)} characters")
        unknown = [syllable for syllable in syllables if not _is_syllable(syllable)]
        if unknown:
            raise ValueError(f"no such syllable in Mandarin: {', '.join(unknown)}")
        return Reading(pinyin=syllables)
    return Reading(spelling=text)


def numbered_pinyin(syllable: str) -> str:
    """`chóng` -> `chong2`, `de` -> `de5`, `lv4` and `lu:4` -> `lü4`; what is no pinyin comes back changed no further."""
    letters = ""
    tone = ""
    for character in unicodedata.normalize("NFD", syllable.lower()):
        if character in _TONE_MARKS:
            tone = _TONE_MARKS[character]
        else:
            letters += character
    letters = unicodedata.normalize("NFC", letters).replace("u:", "ü").replace("v", "ü")
    if not tone and letters[-1:].isalpha() and _is_syllable(letters + "5"):
        tone = "5"
    return letters + tone


def parse(written: Iterable[str], where: str) -> Lexicon:
    """The lexicon in a file's lines; OptionError names `where`, the line and what is wrong with it."""
    entries: dict[str, Reading] = {}
    for number, line in enumerate(written, start=1):
        content = _COMMENT.sub("", line.lstrip("\ufeff")).strip()
        if not content:
            continue
        word, separator, reading = content.partition("\t") if "\t" in content else content.partition("=")
        word = unicodedata.normalize("NFC", word.strip())
        if not separator or not word:
            raise OptionError(f"{where}, line {number}: {content!r} is not `word = reading`")
        try:
            entries[word] = parse_reading(word, reading)
        except ValueError as error:
            raise OptionError(f"{where}, line {number}: {word}: {error}") from None
    return Lexicon(entries)


def load(path: Path | str) -> Lexicon:
    """The lexicon in a file; OptionError if it cannot be read or a line is wrong."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise OptionError(f"lexicon {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OptionError(f"lexicon {path} is not UTF-8 text; save it as UTF-8") from None
    return parse(text.splitlines(), f"lexicon {path}")


def user_path() -> Path:
    """Where a user's own lexicon lies."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "edge-tts" / "lexicon.txt"


def user_lexicon() -> Lexicon:
    """The user's own lexicon, empty when there is none."""
    path = user_path()
    return load(path) if path.is_file() else Lexicon()


@cache
def shipped() -> Lexicon:
    """Chinese words whose characters have several readings and that segmenter and dictionary get wrong.

    It is written in numbered pinyin, so that reading it needs none of the checks that a user's file does.
    """
    entries = (line.partition(" = ") for line in lines("polyphones.txt"))
    return Lexicon({word: Reading(pinyin=tuple(syllables.split())) for word, _, syllables in entries})


def character(syllable: str) -> str:
    """The most frequent character that is read so, for text in place of a lone syllable; "" when there is none."""
    return _syllables().get(syllable, ("", ""))[0]


def homophones(pinyin: Iterable[str]) -> str:
    """Characters that sound so and, where there are such, have no other reading: for voices that read text, not phonemes."""
    return "".join(_homophone(syllable) for syllable in pinyin)


def _homophone(syllable: str) -> str:
    table = _syllables()
    same_tone_first = [syllable, *(syllable[:-1] + tone for tone in "12345")]
    return next(only or most for most, only in (table[s] for s in same_tone_first if s in table))


def _is_syllable(syllable: str) -> bool:
    """Whether Mandarin has the syllable, in any tone: one may be written as it sounds beside its neighbours."""
    return any(syllable[:-1] + tone in _syllables() for tone in "12345")


@cache
def _syllables() -> dict[str, tuple[str, str]]:
    return {syllable: (most, only) for syllable, most, only in table("syllables.tsv")}
