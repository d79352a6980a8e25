"""English text -> phonemes in misaki's alphabet: tokens, their parts of speech, a dictionary, and rules for what stands beside.

The method is misaki's (Apache-2.0) as hibari reads it without a large tagger; the table is made by `convert.readings`. Any family that
speaks this alphabet can use it. The text comes from the front end: numbers, amounts and signs are words already; digits that
are left are read as whole numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from edge_tts.text.english.dictionary import CONSONANTS, MAIN_STRESS, VOWELS, Context, Dictionary, weakened
from edge_tts.text.english.tagger import Tagger
from edge_tts.text.english.tokens import Tokenizer
from edge_tts.text.normalize import english_numbers
from edge_tts.text.table import Table

_DIGITS = re.compile(r"\d+")
_PAUSES = frozenset(";:,.!?—…")
_MARKS = _PAUSES | frozenset('"“”')
_MARK_TAGS = frozenset((".", ",", "-LRB-", "-RRB-", "``", '""', "''", ":", "$", "#", "NFP"))
_SOUNDS_OF_TAGS = {"-LRB-": "(", "-RRB-": ")", "``": "“", '""': "”", "''": "”"}
_SILENT = frozenset("',-._‘’/")
# Of what a token consists: apostrophes around it, words of CamelCase, dashes, letters with apostrophes between them, other signs.
_CAPITAL, _SMALL, _LETTER = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿ", r"[^\W\d_]"
_PARTS = re.compile(
    rf"^['‘’]+|[{_CAPITAL}](?=[{_CAPITAL}][{_SMALL}])|[-_]+|['‘’]{{2,}}"
    rf"|{_LETTER}*?(?:['‘’]{_LETTER})*?[{_SMALL}](?=[{_CAPITAL}])|{_LETTER}+(?:['‘’]{_LETTER})*|[^\w\-'‘’]|['‘’]+$"
)
_UNKNOWN_PARTS = re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)*|[^\w\s]+")
_SIGNS = {
    "/": "slˈæʃ", "=": "ˈikwᵊlz", "+": "plˈʌs", "&": "ænd", "@": "æt", "%": "pəɹsˈɛnt", "#": "hˈæʃ", "*": "ˈæstəɹˌɪsk",
    "~": "tˈɪldə", "^": "kˈɛɹət", "<": "lˈɛs ðən", ">": "ɡɹˈATəɹ ðən", "—": "—",
}  # fmt: skip
_AS_SPOKEN = str.maketrans("ɾʔ", "Tt")


@dataclass
class _Part:
    """A part of a token, or several of them taken as one.

    phonemes: None while they are not known
    space: whether the text has one after it; spaced: whether its phonemes are set apart from those before them
    """

    text: str
    tag: str
    space: bool = False
    phonemes: str | None = None
    spaced: bool = False


class EnglishReader:
    """Reads English in one accent.

    unknown_word: a word in no dictionary -> its phonemes, empty if it cannot be read
    """

    def __init__(self, table: Table, unknown_word: Callable[[str], str], *, british: bool = False) -> None:
        self._tokenize = Tokenizer(table)
        self._tags = Tagger(table)
        self._dictionary = Dictionary(table, british=british)
        self._unknown_word = unknown_word

    def __call__(self, text: str) -> str:
        """Phonemes of a text, spaces and marks where it has them."""
        words = self._words(_DIGITS.sub(lambda digits: english_numbers.cardinal(_ascii_digits(digits.group())), text))
        context = Context()
        for word in reversed(words):
            context = self._read(word, context)
        return "".join(_joined(word) + " " * word[-1].space for word in words).strip()

    def _words(self, text: str) -> list[list[_Part]]:
        """Tokens by their parts; what has no space between is one word, marks apart."""
        tokens = self._tokenize(text)
        words: list[list[_Part]] = []
        for (token, space), tag in zip(tokens, self._tags([token for token, _ in tokens]), strict=True):
            parts = [_Part(part, tag) for part in _PARTS.findall(token)]
            parts[-1].space = space
            for part in parts:
                part.phonemes = _mark(part)
                if part.phonemes is None and words and words[-1][0].phonemes is None and not words[-1][-1].space:
                    words[-1].append(part)
                else:
                    words.append([part])
        return words

    def _read(self, word: list[_Part], context: Context) -> Context:
        """Fill in the phonemes of a word's parts; returns what the word before it is beside."""
        if len(word) > 1:
            return self._read_parts(word, context)
        part = word[0]
        if part.phonemes is None:
            part.phonemes = self._dictionary.phonemes(_plain(part.text), part.tag, context)
        if part.phonemes is None:
            part.phonemes = self._unknown(part.text)
        return _beside(part, context)

    def _read_parts(self, word: list[_Part], context: Context) -> Context:
        """From the end, the longest stretch of parts that the dictionary has; if there is none somewhere, the word is unknown."""
        end = len(word)
        while end:
            start, found = self._longest(word, end, context)
            if found:
                word[start].phonemes = found.phonemes
                for part in word[start + 1 : end]:
                    part.phonemes = ""
                context = _beside(found, context)
                end = start
            else:
                end -= 1
                if not _SILENT.issuperset(word[end].text):
                    word[0].phonemes = self._unknown("".join(part.text for part in word))
                    for part in word[1:]:
                        part.phonemes = ""
                    return context
                word[end].phonemes = ""
        _balance(word)
        return context

    def _longest(self, word: list[_Part], end: int, context: Context) -> tuple[int, _Part | None]:
        for start in range(end):
            whole = _as_one(word[start:end])
            whole.phonemes = self._dictionary.phonemes(_plain(whole.text), whole.tag, context)
            if whole.phonemes is not None:
                return start, whole
        return end, None

    def _unknown(self, text: str) -> str:
        sounds = (
            self._unknown_word(part) if part[0].isalpha() else "".join(_SIGNS.get(sign, "") for sign in part)
            for part in _UNKNOWN_PARTS.findall(text)
        )
        return " ".join(sound for sound in sounds if sound)


def _ascii_digits(digits: str) -> str:
    return "".join(str(int(digit)) for digit in digits)


def _plain(text: str) -> str:
    """As the dictionary writes it."""
    return unicodedata.normalize("NFKC", text.replace("‘", "'").replace("’", "'"))


def _mark(part: _Part) -> str | None:
    """The phonemes of a mark, None of what is a word."""
    if part.tag == ":" and part.text in ("-", "–"):
        return "—"
    if part.tag in _MARK_TAGS and not all("a" <= c.lower() <= "z" for c in part.text):
        return _SOUNDS_OF_TAGS.get(part.tag, "".join(c for c in part.text if c in _MARKS))
    return None


def _as_one(parts: list[_Part]) -> _Part:
    """Parts as one; its part of speech is that of the part with the most letters, capitals twice."""
    weightiest = max(parts, key=lambda part: sum(1 if c == c.lower() else 2 for c in part.text))
    return _Part("".join(part.text for part in parts), weightiest.tag, parts[-1].space)


def _joined(word: list[_Part]) -> str:
    phonemes = ""
    for part in word:
        sounds = part.phonemes or ""
        phonemes += " " + sounds if part.spaced and sounds and phonemes and not phonemes[-1].isspace() else sounds
    return phonemes.translate(_AS_SPOKEN)


def _beside(part: _Part, context: Context) -> Context:
    """What the word before this part is beside: the kind of its first sound, None at a pause; and whether it is "to"."""
    before_vowel = context.before_vowel
    for sound in part.phonemes or "":
        if sound in _PAUSES or sound in VOWELS or sound in CONSONANTS:
            before_vowel = None if sound in _PAUSES else sound in VOWELS
            break
    before_to = part.text in ("to", "To") or (part.text == "TO" and part.tag in ("TO", "IN"))
    return Context(before_vowel, before_to)


def _balance(word: list[_Part]) -> None:
    """Parts of a compound: spaced where they are of different kinds, else the weaker half loses its main stress."""
    text = "".join(part.text for part in word)
    kinds = {c.isalpha() for c in text if c not in _SILENT}
    spaced = "/" in text or len(kinds) > 1
    for part in word[1:]:
        part.spaced = spaced
    stressed = [(MAIN_STRESS in part.phonemes, _weight(part.phonemes), i) for i, part in enumerate(word) if part.phonemes]
    if spaced or len(stressed) < 2:
        return
    if len(stressed) == 2 and len(word[stressed[0][2]].text) == 1:
        weaker = [stressed[1]]
    elif sum(main for main, _, _ in stressed) > (len(stressed) + 1) // 2:
        weaker = sorted(stressed)[: len(stressed) // 2]
    else:
        return
    for _, _, i in weaker:
        word[i].phonemes = weakened(word[i].phonemes or "")


def _weight(phonemes: str) -> int:
    """How long it sounds: diphthongs and affricates count twice."""
    return sum(2 if sound in "AIOQWYʤʧ" else 1 for sound in phonemes)
