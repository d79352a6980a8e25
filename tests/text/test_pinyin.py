from __future__ import annotations

import pytest

pytest.importorskip("jieba", reason="the extra convert-kokoro is not installed")
pytest.importorskip("pypinyin", reason="the extra convert-kokoro is not installed")
pytest.importorskip("misaki", reason="the extra convert-kokoro is not installed")

from edge_tts.text.lexicon import Reading
from tests.reading_tables import pinyin_reader

READER = pinyin_reader()


def said(text: str) -> str:
    return " ".join(syllable or "-" for syllable in READER.syllables(text))


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("他慢慢地走", "ta1 man4 man4 de5 zou3"),
        ("跑得快", "pao3 de5 kuai4"),
        ("你得去", "ni2 dei3 qu4"),
        ("还没还钱", "hai2 mei2 huan2 qian2"),
        ("很长", "hen3 chang2"),
        ("长大", "zhang3 da4"),
        ("一起", "yi4 qi3"),
        ("一个", "yi2 ge4"),
        ("第一", "di4 yi1"),
        ("看一看", "kan4 yi5 kan4"),
        ("不是", "bu2 shi4"),
        ("不好", "bu4 hao3"),
        ("你好", "ni2 hao3"),
        ("三只猫", "san1 zhi1 mao1"),
        ("只有", "zhi2 you3"),
        ("数一数", "shu3 yi5 shu3"),
        ("种树", "zhong4 shu4"),
        ("重庆", "chong2 qing4"),
        ("首都，都有", "shou3 du1 - dou1 you3"),
    ],
)
def test_words_around_a_character_tell_its_reading(text: str, reading: str) -> None:
    assert said(text) == reading


def test_a_given_reading_wins_and_keeps_its_tone() -> None:
    assert READER.syllables("朝阳好", [(0, 2, Reading(pinyin=("chao2", "yang2")))])[:2] == ["chao2", "yang2"]
    assert READER.words("我爱朝阳", [(2, 4, Reading(pinyin=("chao2", "yang2")))])[-1] == ("朝阳", ["chao2", "yang2"])


def test_every_character_has_a_place() -> None:
    for text in ("你好，world！", "㐀𠀀嗯", "", "。"):
        assert len(READER.syllables(text)) == len(text)
