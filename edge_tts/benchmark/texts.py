"""Texts to measure with: as many different ones as are asked for, of three lengths, the same ones for the same seed.

They are put together of parts, so that nearly every text has a length of its own: a graph that was never given a length before
has more work with it. No digits, so that spoken and heard text compare.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

LENGTHS = ("short", "medium", "long")
# Sentences of a long text.
_LONG_SENTENCES = 5


@dataclass(frozen=True)
class Text:
    """A text of one of LENGTHS, or of another group that a user's file makes; language: primary subtag, None tells by script."""

    text: str
    length: str
    language: str | None


@dataclass(frozen=True)
class Parts:
    """who, does, what, when: joined in this order by `space`, ended by `stop`. A short text is who and does."""

    who: tuple[str, ...]
    does: tuple[str, ...]
    what: tuple[str, ...]
    when: tuple[str, ...]
    space: str
    stop: str


PARTS = {
    "en": Parts(
        (
            "the old captain", "my sister", "a patient teacher", "our neighbour", "the village doctor", "nobody", "a tall stranger",
            "the boy from the bakery", "every passenger", "the young gardener and her brother", "she", "the night watchman",
        ),
        (
            "smiled", "waited", "came home", "went down to the river", "opened the window", "sat by the fire",
            "wrote a long letter", "looked out over the harbour", "was listening", "told us the story again", "sang quietly",
        ),
        (
            "with a lamp in one hand", "without a word", "as if it were summer", "and closed the heavy wooden door",
            "for the sake of the children", "with bread, cheese and a bottle of milk", "on the other side of the bridge",
            "because the road was flooded", "and thought about the journey to the mountains",
        ),
        (
            "before the rain began", "late in the evening", "while everybody was asleep", "on the last day of the year",
            "until the first train arrived at the station", "after dinner", "when the bells of the church were ringing",
            "again", "long before anybody else had noticed what was going on",
        ),
        " ",
        ".",
    ),
    "zh": Parts(
        ("我", "小明", "妈妈和爸爸", "那位老医生", "隔壁的邻居", "年轻的老师", "图书馆里的学生", "大家", "他的朋友", "船长"),
        ("笑了", "回家了", "在等车", "打开了窗户", "去公园散步", "写了一封很长的信", "给我们讲了一个故事", "看着窗外的雨", "做好了晚饭"),
        (
            "，什么也没有说", "，心里非常高兴", "，然后轻轻地关上了门", "，因为外面下着大雨", "，手里拿着一本旧书", "，还买了面包和牛奶",
            "，准备明天一早就出发", "，想起了小时候住过的地方",
        ),
        ("，天已经黑了", "，已经很晚了", "，那时候大家都还在睡觉", "，这是今年的最后一天", "，直到第一班火车到站", "，春天快要来了", "，又一次"),
        "",
        "。",
    ),
    "yue": Parts(
        ("我", "阿明", "媽咪同爸爸", "嗰位老醫生", "隔離鄰居", "年輕老師", "圖書館啲學生", "大家"),
        ("笑咗", "返咗屋企", "等緊巴士", "打開咗個窗", "去公園散步", "寫咗一封好長嘅信", "講咗個故事畀我哋聽", "煮好咗晚飯"),
        ("，乜都冇講", "，心裏面好開心", "，然後輕輕關咗道門", "，因為出面落緊大雨", "，手上攞住本舊書", "，仲買咗麵包同牛奶"),
        ("，天已經黑晒", "，已經好夜", "，嗰陣大家都仲瞓緊", "，今日係今年最後一日", "，直到第一班火車到站", "，春天就快到"),
        "",
        "。",
    ),
    "ja": Parts(
        ("わたしは", "妹は", "年をとった船長は", "となりの人は", "若い先生は", "図書館の学生は", "みんなは", "友だちは"),
        ("家に帰りました", "バスを待っていました", "公園を散歩しました", "長い話をしてくれました", "古い本を買いました", "晩ごはんを作りました"),
        ("、雨の中をゆっくりと", "、何も言わずに", "、手紙を読みながら", "、小さな声で歌いながら", "、一人で窓の外を見て"),
        ("、もう夜でした", "、それは今年の最後の日でした", "、まだみんな眠っていました", "、春がすぐそこまで来ていました", "、雨が降っていたからです"),
        "",
        "。",
    ),
    "ko": Parts(
        ("나는", "여동생은", "늙은 선장은", "옆집 사람은", "젊은 선생님은", "도서관의 학생들은", "모두가", "친구는"),
        ("집에 돌아왔습니다", "버스를 기다렸습니다", "공원을 산책했습니다", "긴 이야기를 들려주었습니다", "낡은 책을 샀습니다", "저녁을 만들었습니다"),
        (", 빗속에서 천천히", ", 아무 말 없이", ", 편지를 읽으며", ", 작은 목소리로 노래하며", ", 혼자서 창밖을 보다가"),
        ("이미 밤이었습니다", "올해의 마지막 날이었습니다", "모두 아직 자고 있었습니다", "봄이 가까이 와 있었습니다", "비가 내리고 있었습니다"),
        " ",
        ".",
    ),
}  # fmt: skip


def languages_of(languages: tuple[str, ...]) -> tuple[str, ...]:
    """Those that there are texts in; English where there is none of them, for a voice that reads whatever it is given."""
    return tuple(language for language in languages if language in PARTS) or ("en",)


def texts(language: str, length: str, n: int, seed: int = 0) -> list[Text]:
    """`n` different texts; ValueError for more than there are short ones."""
    parts = PARTS[language]
    if n > len(parts.who) * len(parts.does):
        raise ValueError(f"there are not {n} different texts")
    rng = random.Random(f"{language} {length} {seed}")
    found: dict[str, None] = {}  # in order
    while len(found) < n:
        found.setdefault(_text(parts, length, rng))
    return [Text(text, length, language) for text in found]


def varied(languages: tuple[str, ...], n: int, seed: int = 0) -> Iterator[Text]:
    """`n` texts of all lengths, half of them medium, in the languages in turn; the same one seldom comes twice."""
    rng = random.Random(seed)
    for i in range(n):
        language, length = languages[i % len(languages)], rng.choice(("short", "medium", "medium", "long"))
        yield Text(_text(PARTS[language], length, rng), length, language)


def _text(parts: Parts, length: str, rng: random.Random) -> str:
    n = _LONG_SENTENCES if length == "long" else 1
    return parts.space.join(_sentence(parts, rng, whole=length != "short") for _ in range(n))


def _sentence(parts: Parts, rng: random.Random, *, whole: bool) -> str:
    columns = (parts.who, parts.does, parts.what, parts.when) if whole else (parts.who, parts.does)
    chosen = [rng.choice(column) for column in columns]
    text = parts.space.join(chosen).replace(" ,", ",")
    return text[:1].upper() + text[1:] + parts.stop
