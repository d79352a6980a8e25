from __future__ import annotations

import pytest

from edge_tts.text.clean import clean


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("你\u200b好\u200d吗\u2060？\ufeff", "你好吗？"),
        ("pro\u00adfi\u00adcient", "proficient"),
        ("你好\x00世界\x07", "你好世界"),
        ("hi \ud83d there \ud83d\ude00", "hi there 😀"),
        ("H̷̢e̴l̵lo̸͓͉", "Hello"),
        ("e\u0301 が", "é が"),
        ("ＡＢ１２，！", "AB12，！"),
        ("ﬁne 𝐁𝐨𝐥𝐝 ㎏ ℃", "fine Bold kg °C"),
        ("٣٤ ४५", "34 45"),
        ("a\u00a0b\u3000c", "a b c"),
        ("m² x³ (a)⁻¹ ²", "m^2 x^3 (a)^-1 2"),
        ("½ 1½", " 1⁄2 1 1⁄2"),
        ("① Ⅳ ㊀", "① Ⅳ 一"),
        ("\u202eabc\u202c", "abc"),
    ],
)
def test_variants_of_characters_become_one(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Line one\\nline two \\u4f60 \\t", "Line one\nline two 你 "),
        ("C:\\new\\table", "C:\\new\\table"),
        ("\\times \\nu \\rho", "\\times \\nu \\rho"),
        ("say \\\"hi\\\"", 'say "hi"'),
        ("\\ud83d", ""),
    ],
)
def test_escapes_that_survived_are_undone_but_paths_and_formulas_are_none(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned
