from __future__ import annotations

import random
import re

import pytest

from edge_tts.text.normalize import (
    chinese,
    chinese_numbers,
    english,
    english_numbers,
    japanese,
    korean,
    latin,
    normalize,
)
from edge_tts.text.normalize.rules import roman_value
from tests.text.readings import OWN, cases

RANDOM = random.Random(7)
NUMBERS = [*range(0, 1200), *(RANDOM.randrange(10 ** RANDOM.randrange(4, 13)) for _ in range(3000))]


def test_chinese_numbers_are_those_of_cn2an() -> None:
    cn2an = pytest.importorskip("cn2an", reason="cn2an, to compare with, is not installed")
    wrong = [(n, chinese_numbers.cardinal(str(n)), cn2an.an2cn(n)) for n in NUMBERS]
    assert [w for w in wrong if w[1] != w[2].removeprefix("一") and w[1] != w[2]] == []


def test_english_numbers_add_up_to_what_they_were() -> None:
    assert [n for n in NUMBERS if _value(english_numbers.cardinal(str(n))) != n] == []


def _value(words: str) -> int:
    """The number that English words say, found the other way round than they were made."""
    small = {word: n for n, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
    small |= {f"{stem}teen": n for stem, n in zip("thir four fif six seven eigh nine".split(), range(13, 20), strict=True)}
    small |= {f"{stem}ty": 10 * n for stem, n in zip("twen thir for fif six seven eigh nine".split(), range(2, 10), strict=True)}
    total = group = 0
    for word in words.replace("-", " ").split():
        if word in small:
            group += small[word]
        elif word == "hundred":
            group *= 100
        else:
            total += group * {"thousand": 10**3, "million": 10**6, "billion": 10**9}[word]
            group = 0
    return total + group


def test_numbers_beyond_every_scale_are_read_digit_by_digit() -> None:
    for read in (chinese_numbers.number, english_numbers.number, japanese.number, korean.number):
        assert read("9" * 5000)
    assert chinese_numbers.number("12345678901234567") == "一二三四五六七八九零一二三四五六七"


@pytest.mark.parametrize(
    ("text", "words"),
    [("10", "十"), ("110", "一百一十"), ("1005", "一千零五"), ("10050", "一万零五十"), ("100000000", "一亿"), ("1000000000000",
        "一万亿"), ("1230000000000", "一万二千三百亿")],
)
def test_chinese_zeros_stand_where_they_belong(text: str, words: str) -> None:
    assert chinese_numbers.cardinal(text) == words


@pytest.mark.parametrize(("text", "words"), [("1907", "nineteen oh seven"), ("2005", "two thousand five"), ("2024",
    "twenty twenty-four"), ("1900", "nineteen hundred"), ("2000", "two thousand")])
def test_english_years(text: str, words: str) -> None:
    assert english_numbers.year(text) == words


@pytest.mark.parametrize(("text", "counter", "kana"), [("3", "本", "さんぼん"), ("1", "人", "ひとり"), ("20", "日", "はつか"),
    ("10", "分", "じゅっぷん"), ("600", "円", "ろっぴゃくえん"), ("4", "月", "しがつ"), ("8", "歳", "はっさい"), ("9", "つ",
    "ここのつ")])
def test_japanese_counters_merge_with_their_number(text: str, counter: str, kana: str) -> None:
    assert japanese.counted(text, counter) == kana


@pytest.mark.parametrize(("value", "words"), [(1, "한"), (12, "열두"), (20, "스무"), (21, "스물한"), (99, "아흔아홉")])
def test_korean_native_numbers(value: int, words: str) -> None:
    assert korean.native(value) == words


@pytest.mark.parametrize(("letters", "value"), [("IV", 4), ("XII", 12), ("MCMXCIV", 1994), ("MIX", 1009), ("IIII", None), ("VX",
    None), ("", None)])
def test_only_well_formed_roman_numerals_are_numbers(letters: str, value: int | None) -> None:
    assert roman_value(letters) == value


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("FBI NASA CD MIX", "F B I NASA C D MIX"),
        ("STOP! DO NOT GO IN", "STOP! DO NOT GO IN"),
        ("ChatGPT iPhone macOS YouTube", "Chat G P T iPhone mac O S YouTube"),
        ("GPUs and PCs", "G P U's and P C's"),
        ("U.S.A. now", "U S A now"),
        ("html pdf cat", "h t m l p d f cat"),
        ("AT&T", "A T and T"),
    ],
)
def test_initialisms_are_spelled_and_words_are_not(text: str, spelled: str) -> None:
    assert latin.spell(text, plural="'s", and_word=" and ") == spelled


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ('他说"I have 3 cats"然后走了2步。', "zh", "他说 I have three cats 然后走了两步。"),
        ("The year 三国第2年 had 3 parts.", "en", "The year 三国第二年 had three parts."),
        ("我用GPT-4写了3页。", "zh", "我用G P T 四写了三页。"),
    ],
)
def test_digits_are_read_in_the_language_around_them(text: str, language: str, words: str) -> None:
    assert normalize(text, language) == words


def test_rules_that_want_a_digit_match_nothing_without_one() -> None:
    texts = [re.sub("[0-9]", random.Random(1).choice("a点 "), case.text) for case in cases(OWN)]
    for language_rules in (english._RULES, chinese._RULES, chinese._CANTONESE_RULES):
        for rule in language_rules:
            if rule.needs_digit:
                assert not any(rule.pattern.search(text) for text in texts), rule.pattern.pattern
