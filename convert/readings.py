"""The tables that English and Chinese are read with, made from the dictionaries of published packages.

English: hibari's dictionaries (misaki's), tagger and tokenizer rules. Chinese: jieba's words and the model of its hidden states,
pypinyin's readings, misaki's phonemes of each syllable. The packages are needed here, not where the tables are read.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from edge_tts.errors import MissingExtraError
from edge_tts.text.data import table
from edge_tts.text.phonemes import CHINESE_TABLE, ENGLISH_TABLE
from edge_tts.text.table import write_table

Row = tuple[str, str, str]
ACCENTS = ("us", "gb")
# What is taken, and from which package; for a bundle's manifest.
ENGLISH_SOURCES = (("English dictionary, tagger, tokens", "hibari-tts"),)
CHINESE_SOURCES = (
    ("Chinese words", "jieba"),
    ("Chinese readings", "pypinyin"),
    ("phonemes of Chinese syllables", "misaki"),
)
NOTICE = "NOTICE.txt"
_NOTICE_HEAD = "What the .table files beside this one hold is from these packages:\n\n"
_ENGLISH_NOTICE = """\
hibari-tts, Copyright Maureese Williams, Apache License 2.0. In it: misaki's English dictionaries, by hexgrad, Apache License 2.0;
spaCy's exceptions of the English tokenizer, Copyright ExplosionAI GmbH, spaCy GmbH, Matthew Honnibal, MIT License, below.
"""
_CHINESE_NOTICE = """\
misaki, by hexgrad, Apache License 2.0. In it: pinyin-to-ipa, Copyright Stefan Taubert, MIT License, below.
jieba, Copyright (c) 2013 Sun Junyi, MIT License, below.
pypinyin, Copyright (c) 2016 mozillazg, 闲耘, MIT License, below.
"""
_LICENCES = """
The Apache License 2.0 is at https://www.apache.org/licenses/LICENSE-2.0. The MIT License:

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify,
merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def write(directory: Path, *, accents: Iterable[str] = ACCENTS, chinese: bool = True) -> None:
    """Write the tables, and a notice of where they are from, into a directory, which is made if need be."""
    directory.mkdir(exist_ok=True)
    write_english(directory / ENGLISH_TABLE, accents)
    if chinese:
        write_chinese(directory / CHINESE_TABLE)
    notice = _NOTICE_HEAD + _ENGLISH_NOTICE + (_CHINESE_NOTICE if chinese else "") + _LICENCES
    (directory / NOTICE).write_text(notice, encoding="utf-8")


def write_english(path: Path, accents: Iterable[str] = ACCENTS) -> None:
    """Write the table of `edge_tts.text.english`, with the dictionaries of these accents."""
    rows = [*_tagger(_asset("tagger.json.gz")), *_tokens(_asset("tokenizer_exceptions.json"))]
    for accent in accents:
        gold, silver = (_asset(f"lexicon_{accent}_{part}.json.gz") for part in ("gold", "silver"))
        rows += _words(accent, gold, silver)
    write_table(path, rows)


def write_chinese(path: Path) -> None:
    """Write the table of `edge_tts.text.chinese_words` and `edge_tts.text.pinyin`."""
    readings = dict(_readings())
    rows = [*_segments(), *_hidden_states(), *(("reading", key, value) for key, value in readings.items())]
    rows += [("alone", prefix, "") for prefix in _read_alone(readings)]
    rows += _syllables({syllable for value in readings.values() for syllable in value.split()})
    write_table(path, rows)


def _asset(name: str) -> Any:
    try:
        data = (resources.files("hibari") / "assets" / name).read_bytes()
    except ModuleNotFoundError:
        raise MissingExtraError("hibari-tts, whose dictionary reads English,", "convert-kokoro") from None
    return json.loads(gzip.decompress(data) if name.endswith(".gz") else data)


# --- English ------------------------------------------------------------------------------------------------------------


def _words(accent: str, gold: dict[str, Any], silver: dict[str, Any]) -> Iterator[Row]:
    """A word's phonemes: checked ones as they are, or as JSON by part of speech; `~` before those made by rule."""
    for word, sounds in gold.items():
        yield accent, word, sounds if isinstance(sounds, str) else json.dumps(sounds, ensure_ascii=False)
    for word, sounds in silver.items():
        if word not in gold:
            yield accent, word, f"~{sounds}"


def _tagger(model: dict[str, Any]) -> Iterator[Row]:
    """The tags' names; a word's one tag; the words that features name; a feature's weights in tenths by tag's number."""
    tags = model["tags"]
    number = {tag: i for i, tag in enumerate(tags)}
    yield "tagger", "tags", " ".join(tags)
    for word, tag in model["tagdict"].items():
        yield "tag", word, tag
    for word in model["vocab"]:
        yield "known", word, ""
    for feature, weights in model["weights"].items():
        tenths = {number[tag]: round(weight * 10) for tag, weight in weights.items()}
        if any(tenths[number[tag]] / 10 != weight for tag, weight in weights.items()):
            raise ValueError(f"the tagger's weights of {feature!r} are no tenths any more")
        yield "weights", feature, " ".join(f"{tag} {weight}" for tag, weight in tenths.items())


def _tokens(exceptions: dict[str, list[str]]) -> Iterator[Row]:
    """Chunks that are split in a way of their own; those with spaces in them are none."""
    for chunk, parts in exceptions.items():
        if not any(c.isspace() for c in chunk):
            yield "split", chunk, " ".join(parts)


# --- Chinese ------------------------------------------------------------------------------------------------------------


def _jieba() -> Any:
    try:
        import jieba
        import jieba.finalseg
    except ImportError:
        raise MissingExtraError("jieba, whose dictionary splits Chinese into words,", "convert-kokoro") from None
    return jieba


def _segments() -> Iterator[Row]:
    """How frequent a character is as a word; and of the words that begin with the same two characters, by what follows them."""
    jieba = _jieba()
    with jieba.dt.get_dict_file() as file:
        frequencies, total = jieba.Tokenizer.gen_pfdict(file)
    yield "words", "", str(total)
    longer: dict[str, dict[str, int]] = defaultdict(dict)
    for word, frequency in frequencies.items():
        if frequency and len(word) == 1:
            yield "words", word, str(frequency)
        elif frequency:
            longer[word[:2]][word[2:]] = frequency
    for beginning, endings in longer.items():
        others = " ".join(f"{ending} {frequency}" for ending, frequency in sorted(endings.items()) if ending)
        yield "words", beginning, f"{endings.get('', 0)} {others}".rstrip()


def _hidden_states() -> Iterator[Row]:
    """The model that groups characters into words that are in no dictionary: log probabilities, of each character by state."""
    model = _jieba().finalseg
    yield "states", "", json.dumps({"start": model.start_P, "transitions": model.trans_P}, sort_keys=True)
    characters = sorted({character for emitted in model.emit_P.values() for character in emitted})
    for character in characters:
        values = (model.emit_P[state].get(character) for state in "BMES")
        yield "states", character, " ".join("-" if value is None else repr(value) for value in values)


def _pypinyin() -> Any:
    try:
        from pypinyin import constants
    except ImportError:
        raise MissingExtraError("pypinyin, whose dictionary reads Chinese,", "convert-kokoro") from None
    return constants


def _readings() -> Iterator[tuple[str, str]]:
    """The syllables of characters and phrases, with tone numbers; characters without Chinese readings left out."""
    dictionary = _pypinyin()
    for character, options in ((chr(code), options) for code, options in dictionary.PINYIN_DICT.items()):
        if dictionary.RE_HANS.match(character):
            yield character, _numbered(options.split(",")[0])
    for phrase, syllables in dictionary.PHRASES_DICT.items():
        if len(phrase) > 1 and dictionary.RE_HANS.match(phrase):
            if len(syllables) != len(phrase):
                raise ValueError(f"pypinyin has {len(syllables)} syllables for {phrase!r}")
            yield phrase, " ".join(_numbered(options[0]) for options in syllables)


@cache
def _numbered(syllable: str) -> str:
    """`zhòng` -> `zhong4`, as pypinyin itself does."""
    from pypinyin import Style
    from pypinyin.converter import UltimateConverter

    converter = UltimateConverter(neutral_tone_with_five=True)
    return str(converter.convert_style("", syllable, style=Style.TONE3, strict=True))


def _read_alone(readings: dict[str, str]) -> Iterator[str]:
    """Beginnings of phrases that, alone, pypinyin reads character by character, whatever phrases are in them."""
    phrases = _pypinyin().PHRASES_DICT
    beginnings = {phrase[:end] for phrase in phrases for end in range(3, len(phrase))} - phrases.keys()
    for text in sorted(beginnings):
        begins_with_phrase = any(text[:end] in phrases for end in range(1, len(text)))
        inside = any(text[i:end] in readings for i in range(1, len(text)) for end in range(i + 2, len(text) + 1))
        if inside and not begins_with_phrase:
            yield text


def _syllables(spoken: set[str]) -> Iterator[Row]:
    """The phonemes of every syllable that the dictionaries have, and of all that a lexicon may give, in all tones."""
    try:
        from misaki.zh import ZHG2P
    except ImportError:
        raise MissingExtraError("misaki, whose phonemes the voice speaks,", "convert-kokoro") from None
    written = {f"{syllable[:-1]}{tone}".replace("ü", "v") for syllable, *_ in table("syllables.tsv") for tone in "12345"}
    for syllable in sorted(spoken | written):
        try:
            sounds = ZHG2P.py2ipa(syllable)
        except ValueError:
            continue
        yield "syllable", syllable, sounds.replace("\u032f", "")  # no mark under the weak part of a diphthong
