"""The whole front end: a text -> the sentences to be spoken, each step a pure function of its own module.

decode -> clean -> strip markup -> words of the lexicon set aside -> sentences -> each normalised in its language -> lengths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from edge_tts.text import Sentence, WordReading, markup, segment
from edge_tts.text import language as languages
from edge_tts.text.clean import clean, decode
from edge_tts.text.lexicon import (
    Lexicon,
    Reading,
    character,
    homophones,
    numbered_pinyin,
    parse_reading,
)
from edge_tts.text.normalize import normalize
from edge_tts.text.segment import complete_sentences

__all__ = ["Sentence", "complete_sentences", "decode", "main_language", "primary_subtag", "respelled", "sentences"]

# Words whose reading is given stand as one private character each while the rules work around them.
_FIRST_PLACEHOLDER, _LAST_PLACEHOLDER = 0xF0000, 0xFFFFD
_FIRST = chr(_FIRST_PLACEHOLDER)
_PLACEHOLDER = re.compile("[\U000f0000-\U000ffffd]")
_LANGUAGE_SAMPLE_CHARACTERS = 2000


def primary_subtag(tag: str) -> str:
    """The language of a BCP 47 tag: "en-US" -> "en"; "cmn-Hans" and "zh" are one, so are "zh-HK" and "yue"."""
    parts = tag.replace("_", "-").lower().split("-")
    if parts[0] == "zh" and {"hk", "yue"} & set(parts[1:]):
        return "yue"
    return "zh" if parts[0] == "cmn" else parts[0]


def main_language(text: str) -> str:
    """The primary subtag of the language that most of the text's beginning is in: "en", "zh", "yue", "ja" or "ko"."""
    return languages.main_language(markup.strip(clean(text[:_LANGUAGE_SAMPLE_CHARACTERS]), lambda word, reading: word))


def sentences(
    text: str, *, language: str | None = None, limit_characters: int = 200, lexicon: Lexicon | None = None, rules: bool = True
) -> Iterator[Sentence]:
    """Sentences of at most `limit_characters`, in order, each made when it is asked for; none for text without words.

    language: primary subtag of the language that the text is in; None tells each sentence's by its script
    lexicon: readings that win over the voice's own
    rules: whether numbers, signs and short forms become words here; otherwise the voice's own reader sees them as they are
    """
    lexicon = lexicon or Lexicon()
    aside = _Aside()
    text = markup.strip(clean(markup.without_faces(text)), aside.inline)
    text = aside.words_of(lexicon, text)
    document_language = language or languages.main_language(text[:_LANGUAGE_SAMPLE_CHARACTERS])
    for piece in segment.pieces(text, limit_characters):
        if not any(c.isalnum() or c >= _FIRST for c in piece):
            continue  # marks and signs alone say nothing
        piece_language = language or (languages.main_language(piece) if languages.has_letters(piece) else document_language)
        for part in _spoken_parts(piece, piece_language, limit_characters) if rules else [" ".join(piece.split())]:
            sentence = aside.restored(part, piece_language, lexicon)
            if any(c.isalnum() for c in sentence.text):
                yield sentence


def _spoken_parts(piece: str, language: str, limit_characters: int, cuts: int = 8) -> Iterator[str]:
    """The piece as it is spoken; where words have made it too long, in parts, each read on its own, cut `cuts` times at most."""
    spoken = normalize(piece, language)
    if len(spoken) <= limit_characters:
        yield spoken
        return
    for part in segment.cut(spoken, limit_characters):
        if cuts:
            yield from _spoken_parts(part, language, limit_characters, cuts - 1)
        else:
            yield part


def respelled(sentence: Sentence) -> str:
    """The sentence's text for a voice that reads text, not phonemes: words given in pinyin as homophones."""
    text = sentence.text
    for word in reversed(sentence.readings):
        if word.reading.pinyin:
            text = text[: word.start] + homophones(word.reading.pinyin) + text[word.end :]
    return text


@dataclass
class _Aside:
    """The words of one text that are set aside, by the placeholder that stands for each."""

    words: list[tuple[str, Reading]] = field(default_factory=list)

    def inline(self, word: str, reading: str) -> str:
        """What stands in the text for an inline form; a form that makes no sense is its word alone."""
        try:
            if word:
                return self._placed(word, parse_reading(word, reading))
            syllable = numbered_pinyin(reading)
            return self._placed(character(syllable), Reading(pinyin=(syllable,)))
        except ValueError:
            return word

    def words_of(self, lexicon: Lexicon, text: str) -> str:
        """The text with the lexicon's words that normalising would change set aside."""
        if lexicon.other_words is None:
            return text
        return lexicon.other_words.sub(lambda match: self._placed(match.group(), lexicon.reading(match.group())), text)

    def _placed(self, word: str, reading: Reading) -> str:
        if reading.spelling:
            return clean(reading.spelling)
        if not word or _FIRST_PLACEHOLDER + len(self.words) > _LAST_PLACEHOLDER:
            return word
        self.words.append((word, reading))
        return chr(_FIRST_PLACEHOLDER + len(self.words) - 1)

    def restored(self, part: str, language: str, lexicon: Lexicon) -> Sentence:
        """The sentence with its words back in place, and where each of them is."""
        text = ""
        readings = []
        start = 0
        for match in _PLACEHOLDER.finditer(part):
            word, reading = self.words[ord(match.group()) - _FIRST_PLACEHOLDER]
            text += part[start : match.start()]
            readings.append(WordReading(len(text), len(text) + len(word), reading))
            text += word
            start = match.end()
        text += part[start:]
        taken = [(word.start, word.end) for word in readings]
        for begin, end, reading in lexicon.han_matches(text):
            if all(end <= a or begin >= b for a, b in taken):
                readings.append(WordReading(begin, end, reading))
        return Sentence(text, language, tuple(sorted(readings, key=lambda word: word.start)))
