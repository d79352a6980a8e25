from __future__ import annotations

import subprocess
import sys
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_tts.text import Sentence, frontend
from edge_tts.text.lexicon import Lexicon, Reading, parse

PIECES = (
    "1 2 10 100 2024 3.5 , . / - – ~ : % ° ℃ $ € ¥ + = × ² ½ ① Ⅳ km kg m h A B GPT AI No. Dr. e.g. the of in 年 月 日 号 "
    "点 第 两 个 元 万 "
    "你好 重庆 。 ， ！ “ ” ( ) （ ） [ ] < > <b> </b> <|zh|> ** _ ` # \n | & @ x.com http://a.b a@b.co ' ’ \\ { } 😀 か "
    "日本 한 개 번 é ß ﬁ Ａ １ "
    "\u200b \u0301 \ud83d v1.2 1/2 5' 6\" am pm st nd th s"
).split(" ")
TEXTS = st.one_of(
    st.lists(st.one_of(st.sampled_from(PIECES), st.sampled_from([" ", ""])), max_size=14).map("".join),
    st.text(max_size=60),
    st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "M", "Z", "C"]), max_size=40),
)
LANGUAGES = st.sampled_from([None, "zh", "en", "ja", "ko", "yue", "fr"])


def texts(text: str, **options: object) -> list[str]:
    return [sentence.text for sentence in frontend.sentences(text, **options)]  # type: ignore[arg-type]


def letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


@settings(max_examples=400, deadline=None)
@given(TEXTS, LANGUAGES, st.sampled_from([20, 200]))
def test_any_text_becomes_letters_and_pauses_and_stays_what_it_became(text: str, language: str | None, limit: int) -> None:
    for sentence in frontend.sentences(text, language=language, limit_characters=limit):
        assert sentence.text.strip() and len(sentence.text) <= limit
        assert not [c for c in sentence.text if unicodedata.category(c)[0] not in "LM" and c not in " '，。！？：；、,.!?;:"]
        again = " ".join(texts(sentence.text, language=sentence.language))
        assert letters(again) == letters(sentence.text)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_can_be_spoken_or_are_silent(data: bytes) -> None:
    text, replaced = frontend.decode(data)
    assert replaced >= 0
    list(frontend.sentences(text))


def test_invalid_bytes_are_counted_and_a_byte_order_mark_is_dropped() -> None:
    assert frontend.decode(b"\xef\xbb\xbfhi") == ("hi", 0)
    assert frontend.decode(b"hi \xff\xfe there") == ("hi \ufffd\ufffd there", 2)
    assert frontend.decode("\ufffd".encode()) == ("\ufffd", 0)


def test_the_first_sentence_does_not_wait_for_the_rest() -> None:
    long = "It is 5 pm. " + "He has 3,000 dogs and 2.5 cats. " * 500
    start = time.perf_counter()
    everything = frontend.sentences(long)
    first = next(everything)
    first_s = time.perf_counter() - start
    for _ in everything:
        pass
    whole_s = time.perf_counter() - start
    assert first.text.startswith("It is five p m.")
    assert first_s < whole_s / 5


@pytest.mark.parametrize(
    ("tag", "language"), [("en-US", "en"), ("zh_CN", "zh"), ("cmn-Hans-CN", "zh"), ("zh-HK", "yue"), ("yue", "yue"), ("JA", "ja")]
)
def test_a_language_tag_is_brought_to_its_language(tag: str, language: str) -> None:
    assert frontend.primary_subtag(tag) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Hello there", "en"),
        ("你好", "zh"),
        ("我用ChatGPT写信给朋友", "zh"),
        ("The word 三国 means three kingdoms.", "en"),
        ("<p class='x'>你好</p>", "zh"),
        ("请发到zhang.san@example.com", "zh"),
        ("今日は晴れです", "ja"),
        ("東京駅", "ja"),
        ("안녕하세요 hello", "ko"),
        ("你哋去邊度", "yue"),
        ("", "en"),
    ],
)
def test_a_text_tells_its_language(text: str, language: str) -> None:
    assert frontend.main_language(text) == language


def test_sentences_of_several_languages_each_have_their_own() -> None:
    spoken = list(frontend.sentences("He is 25 years old today.\n他今年已经25岁了。\n今日は3月です。\n저는 25살입니다."))
    assert [(s.language, s.text) for s in spoken] == [
        ("en", "He is twenty five years old today."),
        ("zh", "他今年已经二十五岁了。"),
        ("ja", "今日はさんがつです。"),
        ("ko", "저는 스물다섯 살입니다."),
    ]


def test_a_limit_holds_after_numbers_have_become_words() -> None:
    spoken = texts("99999999999 " * 30, limit_characters=100)
    assert max(map(len, spoken)) <= 100
    assert letters("".join(spoken)).count("ninetyninebillion") == 30


def test_an_inline_form_gives_one_word_its_reading() -> None:
    (sentence,) = frontend.sentences("{重庆|chóng qìng}有2座桥。重庆很大。")
    assert sentence.text == "重庆有两座桥。重庆很大。"
    assert [(w.start, w.end, w.reading) for w in sentence.readings] == [(0, 2, Reading(pinyin=("chong2", "qing4")))]


def test_inline_phonemes_and_spellings_are_obeyed() -> None:
    (sentence,) = frontend.sentences("{Nguyen|/wˈɪn/} likes {SQL|sequel}.")
    assert sentence.text == "Nguyen likes sequel."
    assert sentence.readings[0].reading.phonemes == "wˈɪn"


def test_an_inline_form_that_makes_no_sense_is_its_word() -> None:
    assert texts("{重庆|chóng}好") == ["重庆好。"]
    assert letters("".join(texts("{a|/x} {b} {c|"))) == "abc"


def test_a_lone_syllable_is_spoken_by_a_character() -> None:
    (sentence,) = frontend.sentences("这根绳子<chang2>五米。")
    assert sentence.text == "这根绳子长五米。"
    assert sentence.readings[0].reading.pinyin == ("chang2",)


def test_a_lexicon_wins_over_the_rules() -> None:
    words = parse(["kubectl = cube control", "GPT-4o = /ʤˌi pˌi tˌi fˈɔɹ ˈO/", "朝阳 = cháo yáng"], "test")
    spoken = list(frontend.sentences("Kubectl runs GPT-4o.\n我住朝阳。", lexicon=words))
    assert spoken[0].text == "cube control runs GPT-4o."
    assert spoken[0].readings[0].reading.phonemes.startswith("ʤ")
    assert spoken[1].readings[0].reading.pinyin == ("chao2", "yang2")


def test_a_voice_that_reads_text_gets_homophones() -> None:
    (sentence,) = frontend.sentences("这根绳子<chang2>五米。")
    assert frontend.respelled(sentence) == "这根绳子常五米。"
    assert frontend.respelled(Sentence("好。", "zh")) == "好。"


def test_private_characters_of_a_text_cannot_stand_for_words() -> None:
    assert texts("\U000f0000好{重庆|chóng qìng}") == ["好重庆。"]


def test_an_empty_lexicon_is_no_lexicon() -> None:
    assert texts("Hi", lexicon=Lexicon()) == ["Hi."]


def test_speaking_a_language_loads_only_its_own_rules() -> None:
    code = """
import sys
from edge_tts.text import frontend
list(frontend.sentences("It costs $5."))
loaded = [m for m in sys.modules if m.split(".")[0] in ("jieba", "pypinyin", "misaki", "hibari", "numpy")]
loaded += [m for m in sys.modules if m.endswith((".chinese", ".japanese", ".korean"))]
sys.exit(" ".join(loaded) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
