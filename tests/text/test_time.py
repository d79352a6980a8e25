"""No pattern takes more than linear time: each meets 100,000 characters of the flood that is worst for it."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator

import pytest

import edge_tts.text
from edge_tts.text import frontend
from edge_tts.text.normalize.rules import Rule
from edge_tts.text.patterns import LazyPattern

FLOODS = [
    *"1 a A . , - / : ; < > & [ ( { * _ ` ~ = $ \\ # | @ % ° ^ + ' \" 你 。 … “ 「 （ 年 第 ① Ⅳ 😀 \u0301 ⁄".split(" "),
    *"1, 1. 1- 1/ 1: 1~ 1% 1年 1月 ¥1 a. a- a@ a1 A. a/ <a </ <!-- &a; [( ]( ** ``` ~~ $a \\( \\frac{ http:// a@a. www. "
     "C:\\ 验证码1 km/ 12:30- 2024/".split(" "),
    *["1 ", "a ", " ", "\n", "1 1 ", "a, ", "\n- ", "\n1. ", "\n| ", "January 1 ", "Pope I ", "<s a=1 ", "{a|", "data:a/a;a=",
    "GPT-1", "1️😊"],
]
# These see one sentence at a time.
READERS = tuple(f"edge_tts.text.{name}" for name in ("phonemes", "pinyin", "english", "chinese_words"))
LIMIT_S = 10.0  # a quadratic pattern takes minutes


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every pattern of the front end, those in tables of rules too, by where it stands."""
    seen = set()
    for module in pkgutil.walk_packages(edge_tts.text.__path__, "edge_tts.text."):
        if module.name.startswith(READERS):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for index, item in enumerate(value if isinstance(value, list) else [value]):
                pattern = item.pattern if isinstance(item, Rule) else item[0] if isinstance(item, tuple) and item else item
                pattern = pattern.compiled if isinstance(pattern, LazyPattern) else pattern
                if isinstance(pattern, re.Pattern) and pattern not in seen:
                    seen.add(pattern)
                    yield f"{module.name.removeprefix('edge_tts.text.')}.{name}[{index}]", pattern


def search_s(pattern: re.Pattern[str], flood: str, characters: int) -> float:
    text = (flood * (characters // len(flood) + 1))[:characters]
    start = time.perf_counter()
    for _ in pattern.finditer(text):
        pass
    return time.perf_counter() - start


@pytest.mark.parametrize("pattern", [pytest.param(pattern, id=name) for name, pattern in patterns()])
def test_a_pattern_takes_linear_time(pattern: re.Pattern[str]) -> None:
    worst = max(FLOODS, key=lambda flood: search_s(pattern, flood, 1000))
    assert search_s(pattern, worst, 100_000) < LIMIT_S


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_does_not_hold_up_its_first_sentence(flood: str) -> None:
    text = (flood * (100_000 // len(flood) + 1))[:100_000]
    start = time.perf_counter()
    next(frontend.sentences(text), None)
    frontend.complete_sentences(text)
    assert time.perf_counter() - start < LIMIT_S
