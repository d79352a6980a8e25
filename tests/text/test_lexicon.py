from __future__ import annotations

from pathlib import Path

import pytest

from edge_tts.errors import OptionError
from edge_tts.text import lexicon
from edge_tts.text.lexicon import Lexicon, Reading


def test_a_line_is_a_word_and_its_reading() -> None:
    words = lexicon.parse(["# towns", "重庆 = chóng qìng  # not zhòng", "kubectl\tcube control", "", "C# = C sharp",
        "Ng = /ˈɪŋ/"], "test")
    assert words.entries == {
        "重庆": Reading(pinyin=("chong2", "qing4")),
        "kubectl": Reading(spelling="cube control"),
        "C#": Reading(spelling="C sharp"),
        "Ng": Reading(phonemes="ˈɪŋ"),
    }


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("重庆", "is not `word = reading`"),
        ("重庆 =", "no reading"),
        ("重庆 = chóng", "1 syllables for 2 characters"),
        ("重庆 = chong9 qing4", None),
        ("重庆 = chxng2 qing4", "no such syllable"),
        ("Ng = /ŋ", "between two slashes"),
    ],
)
def test_a_wrong_line_is_named_with_its_fault(line: str, complaint: str | None) -> None:
    if complaint is None:
        assert lexicon.parse([line], "test").entries["重庆"].spelling
        return
    with pytest.raises(OptionError, match=f"test, line 1.*{complaint}"):
        lexicon.parse([line], "test")


@pytest.mark.parametrize(
    ("written", "numbered"), [("chóng", "chong2"), ("LÜ4", "lü4"), ("lǜ", "lü4"), ("lv4", "lü4"), ("nu:3", "nü3"), ("de",
    "de5"), ("hello", "hello")]
)
def test_pinyin_may_be_written_in_several_ways(written: str, numbered: str) -> None:
    assert lexicon.numbered_pinyin(written) == numbered


def test_the_longest_word_wins() -> None:
    words = lexicon.parse(["人参 = rén shēn", "人参加 = rén cān jiā"], "test")
    assert [(a, b) for a, b, _ in words.han_matches("一人参加人参展")] == [(1, 4), (4, 6)]


def test_latin_words_match_whole_and_by_their_case() -> None:
    words = lexicon.parse(["sql = sequel", "US = you ess"], "test")
    assert words.other_words is not None
    assert [m.group() for m in words.other_words.finditer("SQL sqlite mysql US us 用SQL写")] == ["SQL", "US", "SQL"]
    assert words.reading("SQL").spelling == "sequel"


def test_a_later_lexicon_wins_over_an_earlier() -> None:
    first, second = (lexicon.parse([line], "test") for line in ("a = one", "a = two"))
    assert (first | second).entries["a"].spelling == "two"
    assert Lexicon() | first is first
    assert first | Lexicon() is first


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="No such file"):
        lexicon.load(tmp_path / "none.txt")
    (tmp_path / "latin1.txt").write_bytes(b"caf\xe9 = x")
    with pytest.raises(OptionError, match="UTF-8"):
        lexicon.load(tmp_path / "latin1.txt")


def test_the_users_lexicon_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert lexicon.user_lexicon().entries == {}
    (tmp_path / "edge-tts").mkdir()
    (tmp_path / "edge-tts" / "lexicon.txt").write_text("宕机 = dàng jī\n", encoding="utf-8")
    assert "宕机" in lexicon.user_lexicon().entries


def test_the_shipped_lexicon_is_sound() -> None:
    assert len(lexicon.shipped().entries) > 800
    assert all(reading.pinyin for reading in lexicon.shipped().entries.values())


def test_homophones_sound_alike() -> None:
    pypinyin = pytest.importorskip("pypinyin", reason="the extra convert-kokoro is not installed")
    for syllable in ("chong2", "qing4", "lü4", "zhang3", "hang2"):
        assert pypinyin.lazy_pinyin(lexicon.homophones([syllable]), style=pypinyin.Style.TONE3, v_to_u=True) == [syllable]
