from __future__ import annotations

import pytest

from edge_tts.text.clean import clean
from edge_tts.text.markup import strip, without_faces


def stripped(text: str) -> str:
    bare = strip(clean(without_faces(text)), lambda word, reading: f"{word}={reading}")
    return " ".join(bare.split())


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("**Note:** use _care_ and `ls -l`.", "Note: use care and ls -l."),
        ("# Title #\n## Two", "Title Two"),
        ("- a\n* b\n+ [x] c\n• d", "a b c d"),
        ("1. a\n2) b", "1、a 2、b"),
        ("*注意** 不要", "注意 不要"),
        ("> quoted\n>> twice", "quoted twice"),
        ("[text](http://x.y/z \"t\") ![alt](a.png) [ref][1]", "text alt ref"),
        ("| a | b |\n|---|:-:|\n| c | d |", "a，b c，d"),
        ("---\n***\n===", ""),
        ("```python\nx = 1\n```", "x = 1"),
        ("~~old~~ ==new==", "old new"),
        ("3*4 and a * b and f*ck", "3×4 and a×b and fck"),
        ("file_1.txt snake_case __init__", "file_1.txt snake_case init"),
    ],
)
def test_markdown_leaves_its_text(text: str, bare: str) -> None:
    assert stripped(text) == bare


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("<p>One</p><p>Two <b>b</b></p>", "One Two b"),
        ("<script>alert(1)</script>Hello<style>p {}</style>", "Hello"),
        ("a<!-- hidden -->b", "a b"),
        ("你好<break time=\"500ms\"/>再见", "你好，再见"),
        ("A&amp;B&lt;C&gt; &#65;&nbsp;&x;", "A&B（C） A"),
        ("若a<b则停", "若a<b则停"),
        ("a<b and c>d", "a<b and c>d"),
        ("<!DOCTYPE a [<!ENTITY x \"lol\">]><speak>&x;</speak>", ""),
        ("<https://a.b/c>", "https://a.b/c"),
    ],
)
def test_html_leaves_its_text(text: str, bare: str) -> None:
    assert stripped(text) == bare


@pytest.mark.parametrize(
    "text",
    ["<|zh|>", "<|endoftext|>", "<<|zh|>|zh|>", "[laugh]", "[uv_break]", "[S1]", "<laughter>", "</s>", "[INST]",
        "😀👨‍👩‍👧🇨🇳👍🏽", "(＾ω＾)", "(╯°□°）╯︵", "T_T :-)", "♪★", "data:image/png;base64,iVBORw0KGgo="],
)
def test_control_tags_and_pictures_leave_nothing_to_say(text: str) -> None:
    assert not any(c.isalnum() for c in stripped(text).replace("zh", ""))


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("$n^2$", "n^2"),
        ("$\\frac{1}{2}$ \\times 3", "1⁄2 × 3"),
        ("\\(a \\leq b\\)", "a ≤ b"),
        ("It costs $5 and $6.", "It costs $5 and $6."),
        ("US$5", "US$5"),
    ],
)
def test_latex_becomes_signs_and_money_stays(text: str, bare: str) -> None:
    assert stripped(text) == bare


def test_inline_readings_are_handed_over() -> None:
    assert stripped("{重庆|chóng qìng}在<chang2>江") == "重庆=chóng qìng在=chang2江"
