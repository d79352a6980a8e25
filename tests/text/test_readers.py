"""Our readers against the libraries whose dictionaries they use: the same words, readings and phonemes, for every text that is here."""

from __future__ import annotations

import ast
import logging
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hibari", reason="the extra convert-kokoro, whose packages are the measure, is not installed")
pytest.importorskip("misaki", reason="the extra convert-kokoro, whose packages are the measure, is not installed")

import jieba
import pypinyin
from hypothesis import example, given, settings
from hypothesis import strategies as st
from misaki.zh import ZHG2P

from convert import readings
from edge_tts.text import frontend
from edge_tts.text.chinese_words import WordSplitter
from edge_tts.text.english import EnglishReader
from edge_tts.text.phonemes import CHINESE_TABLE, ENGLISH_TABLE, script_runs
from edge_tts.text.pinyin import PinyinReader
from edge_tts.text.table import Table
from tests.reading_tables import reading_tables
from tests.text.readings import GIVEN, OWN, cases

TESTS = Path(__file__).parents[1]
ENGLISH = Table(reading_tables() / ENGLISH_TABLE)
CHINESE = Table(reading_tables() / CHINESE_TABLE)
SPLIT = WordSplitter(CHINESE)
PINYIN = PinyinReader(CHINESE)


def unknown(word: str) -> str:
    return f"?{word}?"


@cache
def readers(british: bool) -> tuple[EnglishReader, Any]:
    from hibari.g2p import G2P

    return EnglishReader(ENGLISH, unknown, british=british), G2P(oov=unknown, british=british)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """jieba's, which would else leave a cache in the system's temporary directory."""
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    with tokenizer.get_dict_file() as file:
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(file)
    tokenizer.initialized = True
    return tokenizer


@cache
def runs() -> tuple[tuple[str, bool], ...]:
    """(run, is Han) of all sentences that the front end makes of this project's test texts."""
    texts = [case.text[:2000] for path in (OWN, GIVEN) if path.exists() for case in cases(path)]
    for path in sorted(TESTS.rglob("*.py")):
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        texts += [node.value for node in tree if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    sentences = (sentence.text for text in dict.fromkeys(texts) for sentence in frontend.sentences(text))
    return tuple(dict.fromkeys(run for sentence in sentences for run in script_runs(sentence)))


def rows(table: Table, section: str) -> list[tuple[str, str]]:
    """A table's rows, read as nothing but these tests reads them."""
    blocks = (table._block(number) for number in range(len(table._first)))
    lines = (line for block in blocks for line in block.split("\n") if line.startswith(f"{section} "))
    return [tuple(line.removeprefix(f"{section} ").split("\t")) for line in lines]  # type: ignore[misc]


def assert_english(texts: Iterator[str] | list[str], british: bool) -> None:
    ours, theirs = readers(british)
    wrong = [(text, said, wanted) for text in texts if (said := ours(text)) != (wanted := theirs(text, normalize_text=False))]
    assert wrong[:20] == []


# --- English ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("british", [False, True])
def test_english_sentences_sound_the_same(british: bool) -> None:
    texts = [run.strip() for run, is_han in runs() if not is_han and run.strip()]
    assert len(texts) > 1000
    assert_english(texts, british)


@pytest.mark.parametrize("british", [False, True])
def test_english_words_and_what_is_made_of_them_sound_the_same(british: bool) -> None:
    chance = random.Random(20)
    words = rows(ENGLISH, "gb" if british else "us")
    several = [word for word, sounds in words if sounds.startswith("{")]
    some = [word for word, _ in chance.sample(words, 3000)] + several
    endings = ["'s", "s", "es", "ed", "ing", "'", "s'", "er", "n't", "ies", "-like", "."]
    made = [chance.choice((word, word[:-1])) + chance.choice(endings) for word in some]
    cased = [chance.choice((word.upper(), word.capitalize(), word.title())) for word in made]
    assert_english([*some, *made, *cased], british)


@pytest.mark.parametrize("british", [False, True])
def test_english_words_beside_others_sound_the_same(british: bool) -> None:
    chance = random.Random(21)
    words = [word for word, sounds in rows(ENGLISH, "us") if chance.random() < 0.02 or sounds.startswith("{")]
    common = [word for word, _ in rows(ENGLISH, "known") if word.isalpha()]
    marks = ["", "", "", "", ",", ".", "!", " -", " —", "…", '"', "-", "/", "'s", ")", " (", ":", " &"]
    texts = (
        " ".join(chance.choice(chance.choice((words, common))) + chance.choice(marks) for _ in range(chance.randint(2, 14)))
        for _ in range(1500)
    )
    assert_english(texts, british)


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("abcdeinorst ABDST'’-–—./,!?:;()\"“”&@%#*_…™°áÉß"), max_size=40))
@example("rock-'n'-roll--and U.S.A./the 'tis e.g. (p.m.) www.a.com a@b.co x…y")
def test_any_signs_among_english_letters_sound_the_same(text: str) -> None:
    ours, theirs = readers(False)
    assert ours(text) == theirs(text, normalize_text=False)


def test_digits_that_are_left_are_read_as_numbers() -> None:
    ours, _ = readers(False)
    assert ours("room 12") == ours("room twelve")
    assert ours("٣ items") == ours("three items")


# --- Chinese ------------------------------------------------------------------------------------------------------------


def chinese_texts() -> Iterator[str]:
    chance = random.Random(22)
    yield from (run for run, is_han in runs() if is_han)
    phrases = [phrase for phrase, _ in rows(CHINESE, "reading")]
    words = [beginning + ending for beginning, row in rows(CHINESE, "words") for ending in ("", *row.split(" ")[1::2])]
    some = chance.sample(words, 5000) + chance.sample(phrases, 5000) + [text for text, _ in rows(CHINESE, "alone")]
    yield from some
    han = [chr(code) for code in range(0x4E00, 0xA000)]
    other = [*"，。！？、“”…—·的了一不着地得〇々ABc1", "3.5%", "T恤", "  ", "\r\n", "㐀", "𠀀", "\uf900", "\ue816"]
    for _ in range(3000):
        parts = (chance.choice(chance.choice((some, some, han, other))) for _ in range(chance.randint(2, 12)))
        yield "".join(parts)


def test_chinese_is_split_into_the_same_words(tokenizer: Any) -> None:
    texts = list(chinese_texts())
    assert len(texts) > 12000
    assert [text for text in texts if SPLIT(text) != tokenizer.lcut(text)][:20] == []


def test_chinese_words_have_the_same_syllables(tokenizer: Any) -> None:
    def theirs(word: str) -> list[str | None]:
        style = {"style": pypinyin.Style.TONE3, "neutral_tone_with_five": True}
        return [syllable or None for syllable in pypinyin.lazy_pinyin(word, errors=lambda other: [""] * len(other), **style)]

    texts = {word for text in chinese_texts() for word in (text, *tokenizer.lcut(text))}
    assert [text for text in texts if PINYIN.dictionary(text) != theirs(text)][:20] == []


def test_syllables_have_the_same_phonemes() -> None:
    syllables = {syllable for _, row in rows(CHINESE, "reading") for syllable in row.split(" ")}
    assert len(syllables) > 1200
    for syllable in syllables:
        assert CHINESE.get("syllable", syllable) == ZHG2P.py2ipa(syllable).replace(chr(815), "")


# --- the tables ---------------------------------------------------------------------------------------------------------


def test_the_same_packages_give_the_same_bytes(tmp_path: Path) -> None:
    readings.write(tmp_path / "again")
    for path in reading_tables().iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_family_may_take_one_accent(tmp_path: Path) -> None:
    readings.write_english(tmp_path / "us.table", accents=["us"])
    table = Table(tmp_path / "us.table")
    assert EnglishReader(table, unknown)("Hello, world!") == readers(False)[0]("Hello, world!")
    assert rows(table, "gb") == []


def test_the_shipped_lexicon_is_written_in_numbered_pinyin() -> None:
    from edge_tts.text import lexicon
    from edge_tts.text.data import lines

    assert lexicon.shipped() == lexicon.parse(lines("polyphones.txt"), "the shipped lexicon")
