"""English words -> phonemes: a dictionary, readings by part of speech and neighbours, and the endings that words take.

Dictionary, rules and alphabet are misaki's (Apache-2.0): a capital letter is a diphthong or "the letter's name", ˈ and ˌ are stress.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache, partial

from edge_tts.text.table import Table

MAIN_STRESS, SIDE_STRESS = "ˈ", "ˌ"
VOWELS = frozenset("AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ")
CONSONANTS = frozenset("bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ")
_FLAPS_T = frozenset("AIOWYiuæɑəɛɪɹʊʌ")  # after these, American t before a vowel is ɾ
_STRESSES = frozenset(MAIN_STRESS + SIDE_STRESS)
_LETTERS = re.compile(r"[A-Za-z]+")
_SIGN_NAMES = {"%": "percent", "&": "and", "+": "plus", "@": "at"}
_WORDS_IN_MEMORY = 2048
# How a word is stressed: as the dictionary has it, or with capitals, which say that it is a name or is meant to stand out.
_CAPITALISED, _ALL_CAPITALS = 0.5, 2
_WEAKENED = -0.5

Sounds = str | dict[str, str | None]


@dataclass(frozen=True)
class Context:
    """What a word is beside: before_vowel is None before a pause and at the end; before_to, before the word "to"."""

    before_vowel: bool | None = None
    before_to: bool = False


@dataclass(frozen=True)
class _Word:
    """A word as it is asked for: its part of speech, stress (None: the dictionary's) and neighbours."""

    tag: str
    stress: float | None
    context: Context


class Dictionary:
    """The words of one accent."""

    def __init__(self, table: Table, *, british: bool) -> None:
        self._british = british
        self._row = lru_cache(_WORDS_IN_MEMORY)(partial(_read_row, table, "gb" if british else "us"))

    def phonemes(self, word: str, tag: str, context: Context) -> str | None:
        """Phonemes of a word of that part of speech (Penn Treebank tag), None if neither it nor what it is made from is there."""
        stress = None if word == word.lower() else _ALL_CAPITALS if word == word.upper() else _CAPITALISED
        asked = _Word(tag, stress, context)
        special = self._special(word, asked)
        if special is not None:
            return special
        word = self._in_small_letters(word, asked)
        if self._is_known(word):
            return self._looked_up(word, asked)
        if word.endswith("s'") and self._is_known(f"{word[:-2]}'s"):
            return self._looked_up(f"{word[:-2]}'s", asked)
        if word.endswith("'") and self._is_known(word[:-1]):
            return self._looked_up(word[:-1], asked)
        return self._with_ending(word, asked, stress_ing=True)

    # --- rows -----------------------------------------------------------------------------------------------------------

    def _checked(self, word: str) -> Sounds | None:
        """Sounds of a word from the checked part; it answers for its other case, too, where that has no row of its own."""
        return next((sounds for sounds, checked in map(self._row, _cases(word)) if checked), None)

    def _unchecked(self, word: str) -> Sounds | None:
        return next((sounds for sounds, checked in map(self._row, _cases(word)) if sounds is not None and not checked), None)

    def _has(self, word: str) -> bool:
        return any(self._row(form)[0] is not None for form in _cases(word))

    def _is_known(self, word: str) -> bool:
        """Whether the word can be read without taking it apart: in the dictionary, or letters that are spelled."""
        if self._has(word) or word in _SIGN_NAMES:
            return True
        if not _LETTERS.fullmatch(word):
            return False
        return word[1:] == word[1:].upper()

    # --- reading --------------------------------------------------------------------------------------------------------

    def _looked_up(self, word: str, asked: _Word) -> str | None:
        """The dictionary's phonemes, spelled out where it has none and for names that it does not stress."""
        is_name = None
        if word == word.upper() and self._checked(word) is None:
            word = word.lower()
            is_name = asked.tag == "NNP"
        sounds = self._checked(word)
        if sounds is None and not is_name:
            sounds = self._unchecked(word)
        phonemes = _of_tag(sounds, asked) if isinstance(sounds, dict) else sounds
        if phonemes is None or (is_name and MAIN_STRESS not in phonemes):
            spelled = self._spelled(word)
            if spelled is not None:
                return spelled
        return None if phonemes is None else _stressed(phonemes, asked.stress)

    def _spelled(self, word: str) -> str | None:
        """Letter by letter, the last one stressed."""
        names = [self._checked(letter.upper()) for letter in word if letter.isalpha()]
        if not all(isinstance(name, str) for name in names):
            return None
        return MAIN_STRESS.join(_stressed("".join(map(str, names)), 0).rsplit(SIDE_STRESS, 1))

    def _special(self, word: str, asked: _Word) -> str | None:
        """Words whose sounds hang on what they are beside, and signs."""
        tag, context = asked.tag, asked.context
        if tag == "ADD" and word in (".", "/"):
            return self._looked_up("dot" if word == "." else "slash", _Word("", _WEAKENED, context))
        if word in _SIGN_NAMES:
            return self._looked_up(_SIGN_NAMES[word], _Word("", None, context))
        if "." in word.strip(".") and word.replace(".", "").isalpha() and max(map(len, word.split("."))) < 3:
            return self._spelled(word)
        if tag == "IN" and word.lower() in ("vs", "vs."):
            return self._looked_up("versus", _Word("", None, context))
        if word in ("a", "A"):
            return "ɐ" if tag == "DT" else "ˈA"
        if word == "I" and tag == "PRP":
            return SIDE_STRESS + "I"
        name = word.lower()
        if word not in (name, name.capitalize(), name.upper()) or name not in _FUNCTION_WORDS:
            return None
        return self._function_word(word, name, asked)

    def _function_word(self, word: str, name: str, asked: _Word) -> str | None:
        tag, before_vowel = asked.tag, asked.context.before_vowel
        capitals = word == name.upper()
        if name == "am":
            if tag.startswith("NN"):
                return self._spelled(word)
            weak = before_vowel is not None and word == "am" and not (asked.stress and asked.stress > 0)
            return "ɐm" if weak else self._plainly("am")
        if name == "an":
            return self._spelled(word) if capitals and tag.startswith("NN") else "ɐn"
        if name == "by" and _kind(tag) == "ADV":
            return "bˈI"
        if name == "to" and (not capitals or tag in ("TO", "IN")):
            return self._plainly("to") if before_vowel is None else "tʊ" if before_vowel else "tə"
        if name == "in" and (not capitals or tag != "NNP"):
            return (MAIN_STRESS if before_vowel is None or tag != "IN" else "") + "ɪn"
        if name == "the" and (not capitals or tag == "DT"):
            return "ði" if before_vowel else "ðə"
        if name == "used":
            return self._plainly("used", "VBD" if tag in ("VBD", "JJ") and asked.context.before_to else "DEFAULT")
        return None

    def _plainly(self, word: str, tag: str = "DEFAULT") -> str | None:
        sounds = self._checked(word)
        return sounds.get(tag) if isinstance(sounds, dict) else sounds

    def _in_small_letters(self, word: str, asked: _Word) -> str:
        """The word in small letters if its capitals mean nothing: it is there only so, and is no short name."""
        small = word.lower()
        capital_is_style = word == word.upper() or word[1:] == word[1:].lower()
        if word == small or len(word) < 2 or not word.replace("'", "").isalpha() or not capital_is_style:
            return word
        if (asked.tag == "NNP" and len(word) < 8) or self._has(word):
            return word
        return small if self._has(small) or self._with_ending(small, asked) else word

    # --- endings --------------------------------------------------------------------------------------------------------

    def _with_ending(self, word: str, asked: _Word, *, stress_ing: bool = False) -> str | None:
        """Phonemes of a known word with -s, -ed or -ing.

        stress_ing: words in -ing get a side stress if they have none
        """
        stem = self._stem_of_s(word)
        sounds = self._and_s(self._looked_up(stem, asked)) if stem else None
        if not sounds:
            stem = self._stem_of_ed(word)
            sounds = self._and_ed(self._looked_up(stem, asked)) if stem else None
        if not sounds:
            stem = self._stem_of_ing(word)
            if stress_ing and asked.stress is None:
                asked = _Word(asked.tag, _CAPITALISED, asked.context)
            sounds = self._and_ing(self._looked_up(stem, asked)) if stem else None
        return sounds

    def _first_known(self, *stems: str | None) -> str | None:
        return next((stem for stem in stems if stem and self._is_known(stem)), None)

    def _stem_of_s(self, word: str) -> str | None:
        if len(word) < 3 or not word.endswith("s"):
            return None
        long = len(word) > 4
        return self._first_known(
            None if word.endswith("ss") else word[:-1],
            word[:-2] if word.endswith("'s") or (long and word.endswith("es") and not word.endswith("ies")) else None,
            word[:-3] + "y" if long and word.endswith("ies") else None,
        )

    def _stem_of_ed(self, word: str) -> str | None:
        if len(word) < 4 or not word.endswith("d"):
            return None
        return self._first_known(
            None if word.endswith("dd") else word[:-1],
            word[:-2] if len(word) > 4 and word.endswith("ed") and not word.endswith("eed") else None,
        )

    def _stem_of_ing(self, word: str) -> str | None:
        if len(word) < 5 or not word.endswith("ing"):
            return None
        long = len(word) > 5
        doubled = long and re.search(r"([bcdgklmnprstvxz])\1ing$|cking$", word)
        return self._first_known(word[:-3] if long else None, word[:-3] + "e", word[:-4] if doubled else None)

    def _and_s(self, stem: str | None) -> str | None:
        if not stem:
            return None
        if stem[-1] in "ptkfθ":
            return stem + "s"
        return stem + self._weak_vowel + "z" if stem[-1] in "szʃʒʧʤ" else stem + "z"

    def _and_ed(self, stem: str | None) -> str | None:
        if not stem:
            return None
        if stem[-1] in "pkfθʃsʧ":
            return stem + "t"
        if stem[-1] == "d":
            return stem + self._weak_vowel + "d"
        if stem[-1] != "t":
            return stem + "d"
        if self._british or len(stem) < 2:
            return stem + "ɪd"
        return stem[:-1] + "ɾᵻd" if stem[-2] in _FLAPS_T else stem + "ᵻd"

    def _and_ing(self, stem: str | None) -> str | None:
        if not stem or (self._british and stem[-1] in "əː"):
            return None
        if not self._british and stem[-1] == "t" and stem[-2:-1] in _FLAPS_T:
            return stem[:-1] + "ɾɪŋ"
        return stem + "ɪŋ"

    @property
    def _weak_vowel(self) -> str:
        return "ɪ" if self._british else "ᵻ"


def _read_row(table: Table, accent: str, word: str) -> tuple[Sounds | None, bool]:
    """A row's sounds, and whether they are checked ones."""
    row = table.get(accent, word)
    if row is None:
        return None, False
    if row.startswith("~"):
        return row[1:], False
    return (json.loads(row) if row.startswith("{") else row), True


_FUNCTION_WORDS = frozenset(("am", "an", "by", "to", "in", "the", "used"))


def _cases(word: str) -> tuple[str, ...]:
    """A word, and it in the other case: small letters for capitalised and the other way round; nothing for other mixtures."""
    small = word.lower()
    capitalised = small.capitalize()
    if len(word) < 2 or small == capitalised or word not in (small, capitalised):
        return (word,)
    return (word, capitalised if word == small else small)


def _kind(tag: str) -> str:
    """The kind of word that a tag belongs to, as the dictionary has it."""
    for prefixes, kind in ((("VB",), "VERB"), (("NN",), "NOUN"), (("ADV", "RB"), "ADV"), (("ADJ", "JJ"), "ADJ")):
        if tag.startswith(prefixes):
            return kind
    return tag


def _of_tag(sounds: dict[str, str | None], asked: _Word) -> str | None:
    """Of several readings the one for a pause after it, for the part of speech, or for all others."""
    if asked.context.before_vowel is None and "None" in sounds:
        return sounds["None"]
    tag = asked.tag if asked.tag in sounds else _kind(asked.tag)
    return sounds.get(tag, sounds["DEFAULT"])


def weakened(phonemes: str) -> str:
    """Phonemes whose main stress has become a side stress."""
    return _stressed(phonemes, _WEAKENED)


def _stressed(phonemes: str, stress: float | None) -> str:
    """Phonemes stressed more (0 to 2) or less (-0.5 to 0); None leaves them as they are."""
    has_main, has_side = MAIN_STRESS in phonemes, SIDE_STRESS in phonemes
    if stress is None:
        return phonemes
    if has_main and stress in (0, -0.5):
        return phonemes.replace(SIDE_STRESS, "").replace(MAIN_STRESS, SIDE_STRESS)
    if not has_main and has_side and stress >= 1:
        return phonemes.replace(SIDE_STRESS, MAIN_STRESS)
    if not has_main and not has_side and stress >= 0:
        return _before_vowel(MAIN_STRESS if stress > 1 else SIDE_STRESS, phonemes)
    return phonemes


def _before_vowel(mark: str, phonemes: str) -> str:
    """A stress mark put before the first vowel; nothing is stressed without one."""
    first = next((i for i, sound in enumerate(phonemes) if sound in VOWELS), None)
    return phonemes if first is None else phonemes[:first] + mark + phonemes[first:]
