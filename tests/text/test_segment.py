from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_tts.text.segment import complete_sentences, cut, pieces

LONG = "This sentence is long enough to stand on its own"


@pytest.mark.parametrize(
    "whole",
    [
        "It costs 3.50 dollars at most today.",
        "Dr. Lee met Mr. Fox and St. Mary at 5 p.m. sharp.",
        "Pack fruit, e.g. pears, i.e. the green ones, etc. and more.",
        "See https://example.com/a.b?c=d, and www.example.com for it.",
        "Write to a.b@c.de or J. K. Rowling about No. 5 of vol. 3 now.",
        "他说：“走吧。我们回家！我不想再等了。”",
        "他（其实是她。我们都知道！）已经离开了这里。",
        "He said (see below. It is short.) that all was well.",
        "我……不知道该怎么说……你先说吧好不好。",
        "Well... maybe we should think it over again today.",
    ],
)
def test_nothing_is_cut_inside(whole: str) -> None:
    assert list(pieces(whole, 200)) == [whole]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"{LONG}. {LONG}! {LONG}?", [f"{LONG}.", f"{LONG}!", f"{LONG}?"]),
        ("这是一个完整的句子。那是另外一个句子！还有第三个句子？", ["这是一个完整的句子。", "那是另外一个句子！",
        "还有第三个句子？"]),
        (f"{LONG}\nand {LONG}", [f"{LONG} and {LONG}."]),
        ("Apples and all\nPears and more", ["Apples and all.", "Pears and more."]),
        (f"He lives in the U.S. {LONG}.", ["He lives in the U.S.", f"{LONG}."]),
        (f'He said "go. now." {LONG}.', ['He said "go. now."', f"{LONG}."]),
    ],
)
def test_sentences_part_at_their_ends(text: str, parts: list[str]) -> None:
    assert list(pieces(text, 200)) == parts


def test_crumbs_join_their_neighbour() -> None:
    assert list(pieces("Hi. How are you today, my friend? Ok.", 200)) == ["Hi. How are you today, my friend? Ok."]
    assert len(list(pieces("行\n" * 1000, 200))) < 60


def test_long_sentences_part_at_clauses_then_spaces_then_anywhere() -> None:
    clauses = ", ".join(["one two three four five"] * 20)
    assert all(part.endswith(",") for part in list(cut(clauses, 100))[:-1])
    words = "word " * 100
    assert all(part.endswith("word") for part in cut(words, 97))
    assert [len(part) for part in cut("a" * 450, 200)] == [200, 200, 50]
    assert "1,234,567" in " ".join(cut("x " * 40 + "1,234,567 " + "y " * 40, 85))


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab 1.,。！？，\n“”\"()…Dr.", max_size=400), st.integers(5, 60))
def test_no_letter_is_lost_and_every_limit_holds(text: str, limit: int) -> None:
    parts = list(pieces(text, limit))
    assert all(0 < len(part) <= limit for part in parts)
    assert [c for c in "".join(parts) if c.isalnum()] == [c for c in text if c.isalnum()]


@pytest.mark.parametrize(
    ("buffer", "complete"),
    [
        ("Hello. ", ""),
        ("Hello. How", "Hello."),
        ("Hello! ", "Hello!"),
        ("你好。", "你好。"),
        ("今天。明天", "今天。"),
        ("It costs $3.", ""),
        ("Dr. Lee", ""),
        ("No. 5 is", ""),
        ("他说：“走吧。", ""),
        ("他说：“走吧。”便", "他说：“走吧。”"),
        ("line\n", "line\n"),
        ("First. <b", "First."),
        ("<script>var a. b. c", ""),
        ("See https://a.b/c.d", ""),
    ],
)
def test_text_that_arrives_little_by_little_is_spoken_as_soon_as_it_is_sure(buffer: str, complete: str) -> None:
    now, rest = complete_sentences(buffer)
    assert now.strip() == complete.strip()
    assert now + rest == buffer


def test_text_without_marks_does_not_wait_for_ever() -> None:
    now, rest = complete_sentences("word " * 200)
    assert now + rest == "word " * 200
    assert len(rest) <= 400


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab 1.,。！？\n“”\"(<>$[{|", max_size=300))
def test_what_is_complete_and_what_remains_make_up_the_buffer(buffer: str) -> None:
    now, rest = complete_sentences(buffer)
    assert now + rest == buffer
