"""Texts of the kinds that people report as read wrong: the given ones, where they lie beside the project, and our own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from edge_tts.text import frontend
from tests.text.readings import GIVEN, OWN, Case, cases, misses

AIMS = {"zh+mixed": 0.95, "en": 0.95, "others": 0.80}
given = pytest.mark.skipif(not GIVEN.exists(), reason=f"{GIVEN} is not there")


@pytest.fixture(scope="module")
def kana() -> Callable[[str], str]:
    """Hiragana of Japanese text, by an analyser that the project does not use."""
    tokenizer = pytest.importorskip("janome.tokenizer",
        reason="janome, which reads kanji for this test, is not installed").Tokenizer()

    def read(text: str) -> str:
        katakana = "".join(
            token.surface if token.reading == "*" or not re.search("[一-鿿]", token.surface) else token.reading
            for token in tokenizer.tokenize(text)
        )
        return "".join(chr(ord(c) - 0x60) if "ァ" <= c <= "ヶ" else c for c in katakana)

    return read


@pytest.mark.parametrize("path", [pytest.param(GIVEN, marks=given, id="given"), pytest.param(OWN, id="own")])
def test_texts_are_read_as_people_read_them(
    path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    some = [case for case in cases(path) if case.readings]
    reader = request.getfixturevalue("kana") if any(case.lang == "ja" for case in some) else None
    counts, wrong = misses(some, reader)
    with capsys.disabled():
        _print(path, counts, wrong)
    for group, aim in AIMS.items():
        total = sum(n for (g, _), n in counts.items() if g == group)
        right = total - sum(case.group == group for case, _ in wrong)
        assert right >= aim * total, f"{group}: {right} of {total}"


def _print(path: Path, counts: Counter[tuple[str, str]], wrong: list[tuple[Case, str]]) -> None:
    lost = Counter((case.group, case.kind) for case, _ in wrong)
    print(f"\n{path.name}")
    for group in AIMS:
        kinds = {kind: n for (g, kind), n in sorted(counts.items()) if g == group}
        total, missed = sum(kinds.values()), sum(lost[group, kind] for kind in kinds)
        print(f"  {group}: {total - missed}/{total}: " + ", ".join(f"{k} {n - lost[group, k]}/{n}" for k, n in kinds.items()))
    for case, got in wrong:
        print(f"  {case.id} {case.kind}: {case.text!r}\n    wanted {case.readings[0]!r}\n    got    {got!r}")


@given
@pytest.mark.parametrize("case", [c for c in cases(GIVEN) if not c.readings] if GIVEN.exists() else [], ids=lambda case: case.id)
def test_a_hostile_text_is_answered_and_the_next_one_unaffected(case: Case) -> None:
    for sentence in frontend.sentences(case.text):
        assert 0 < len(sentence.text) <= 200
        assert not re.search(r"[\d<>|*_#]", sentence.text)
    assert [s.text for s in frontend.sentences("It is 5 pm.")] == ["It is five p m."]


@pytest.mark.parametrize("path", [pytest.param(GIVEN, marks=given, id="given"), pytest.param(OWN, id="own")])
def test_characters_of_several_readings_get_the_right_one(path: Path) -> None:
    pytest.importorskip("jieba", reason="the extra convert-kokoro is not installed")
    pytest.importorskip("misaki", reason="the extra convert-kokoro is not installed")
    from tests.reading_tables import pinyin_reader

    reader = pinyin_reader()
    wrong = []
    for case in cases(path):
        if not case.readings or not re.search(r"\[[a-z]+\d\]", case.readings[0]):
            continue
        wanted = [syllable for _, syllable in re.findall(r"(.)(?:\[([a-z]+\d)\])?", case.readings[0])]
        got = []
        for sentence in frontend.sentences(case.text, language="zh"):
            given = [(word.start, word.end, word.reading) for word in sentence.readings]
            got += reader.syllables(sentence.text, given)
        wrong += [(case.text, w, g) for w, g in zip(wanted, got, strict=False) if w and w != g]
    assert wrong == []
