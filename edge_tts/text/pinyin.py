"""Chinese characters -> pinyin with tone numbers: the dictionary's words and readings, lexicons, context, and tone sandhi.

The dictionary's readings are pypinyin's (MIT), in a table that `convert.readings` makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from edge_tts.text.chinese_words import WordSplitter
from edge_tts.text.lexicon import Lexicon, Reading, shipped
from edge_tts.text.patterns import LazyPattern
from edge_tts.text.table import Table

# Characters that phrases are made of: the dictionary's phrases never reach across others.
_HAN = LazyPattern(
    "([\u3007\u3400-\u4dbf\u4e00-\u9fff\ue815-\ue864\uf900-\ufaff\U00020000-\U0002a6df\U0002a703-\U0002b81d\U0002b825-\U0002bf6e"
    "\U0002c029-\U0002ce93\U0002d016\U0002d11b-\U0002ebd9\U0002f80a-\U0002fa1f\U00030000-\U00032389]+)"
)
_LONGEST_PHRASE = 20
_NUMERALS = "零一二两三四五六七八九十百千万亿几"
_SUBJECTS = frozenset(
    "我 你 他 她 它 您 咱 谁 我们 你们 他们 她们 咱们 大家 就 都 也 总 还 可 必 非 先 又 只 准 这 那 今天 明天 现在 人 "
    "肯定 一定 至少 起码 恐怕".split()
)
_HEADS = "校班部家市省县局院会社队船学生成增助特首见酋兄师道乡镇村区州科处厅署行"  # before 长 as a title

_IN_GROUP = re.compile(r"\((\w)\)")
# Characters whose reading hangs on what stands beside them; the group is the character.
_CONTEXT = [
    (_IN_GROUP.findall(pattern)[0], pattern, reading)
    for pattern, reading in (
        (rf"(?<![{_HEADS}])(长)(?=[约为达有]?[{_NUMERALS}]+(?:点|米|公里|厘米|毫米|千米|里|尺|丈|寸|英尺|英里|公分|年|天|多"
         r"|余|个))", "chang2"),
        (r"(?<=[很太最更多好极挺颇甚身全总较么样这那细越])(长)(?![大高辈老子官者])", "chang2"),
        (r"(?<=[助见滋疯])(长)(?![短度期久途远])", "zhang3"),
        (r"(还)(?=[了完清给过]?[你我他她它]?的?(?:钱|款|债|贷|账|本息|利息|书|清|给))", "huan2"),
        (rf"(还)(?=了[我你他她它]?[{_NUMERALS}])", "huan2"),
        (rf"(?<=[{_NUMERALS}这那每某])(只)(?![是有能要会好不])", "zhi1"),
        (rf"(?<=[{_NUMERALS}这那每某各哪多])(种)", "zhong3"),
        (r"(?<=[么能要会去来在可])(种)(?=[，。？！]|$)", "zhong4"),
        (rf"(?<![{_NUMERALS}这那每某各哪多])(种)(?=[了上满着下]?(?:树|花|菜|地|田|草|瓜|豆|果|粮|水稻|小麦|玉米|庄稼|土豆|茶))",
        "zhong4"),
        (r"(数)(?=[了一]?数|不清|不过来|得清|到[一二三四五六七八九十百千]|钱|星星|羊|清楚)", "shu3"),
        (r"(?<=数[一了])(数)", "shu3"),
        (r"(量)(?=了?一?量|体温|血压|身高|尺寸|体重)", "liang2"),
        (r"(教)(?=[我你他她它咱](?:们|的)?|孩子|学生|英语|数学|语文|[了过会])", "jiao1"),
        (r"(重)(?=[新做写来建启组返复申试开装](?!要))", "chong2"),
        (r"(中)(?=[了过]?(?:大奖|头奖|彩票|奖|毒|弹|计|招|枪|标|暑))", "zhong4"),
        (r"(背)(?=[着了上]?(?:书包|背包|行李|孩子|包|黑锅))", "bei1"),
        (r"(?<=[没有抽得])(空)(?=[吗呢吧再来去就的，。？！]|$)", "kong4"),
        (r"(倒)(?=[了杯满掉上]?(?:水|茶|酒|垃圾|退|车|计时|数|影|立))", "dao4"),
        (r"(?<=[摔跌晕推病卧打压击])(倒)", "dao3"),
        (r"(似)(?=的)", "shi4"),
        (r"(?<=[一-龥])(?<![不值获取赢所我你他她它们就都也总还可必非])(得)(?=[很快慢太真更最非好多起住见完清高远])", "de5"),
        (r"(?<=[一两三四五六七八九十几每这那第])(行)(?=[字代诗泪文数列，。])", "hang2"),
        (r"(为)(?=[了何啥你我他她您谁此])", "wei4"),
        (r"(?<=[称认成以作变视评选定设誉化命名分])(为)", "wei2"),
        (r"(朝)(?=[着我你他她前后左右东西南北这那])", "chao2"),
        (r"(差)(?=[一两三四五六七八九十几点得不]|劲|评|生)", "cha4"),
        (r"(?<=[请放休病事年产婚寒暑度])(假)|(假)(?=期|日)", "jia4"),
        (r"(应)(?=[付聘邀战])", "ying4"),
        (r"(调)(?=[查研到派度])", "diao4"),
        (r"(?<=[首京成故古建定])(都)(?![是有不没会要能在很])|(都)(?=市|城)", "du1"),
        (r"(?<=[得不])(了)(?=[的，。！？吗]|$)", "liao3"),
    )
]  # fmt: skip


class PinyinReader:
    """Reads Chinese by the table's dictionaries."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._split = WordSplitter(table)

    def words(self, text: str, readings: Sequence[tuple[int, int, Reading]] = ()) -> list[tuple[str, list[str | None]]]:
        """The text's words in order, each with its characters' syllables ("chong2"), None where a character is none of Han.

        Tone sandhi is applied.
        readings: (start, end, reading) of words of this text whose pinyin is given; they win over the shipped lexicon
        """
        said, spans = self._citation(text)
        fixed = _fix(said, shipped(), text)
        for character, pattern, reading in _CONTEXT:
            for match in re.finditer(pattern, text) if character in text else ():
                position = match.start(match.lastindex or 1)
                if position not in fixed:
                    said[position] = reading
        for start, end, given in readings:
            if given.pinyin:
                said[start:end] = [_ascii(syllable) for syllable in given.pinyin]
                spans = _as_word(spans, start, end)
        _sandhi(text, said, spans, {i for start, end, _ in readings for i in range(start, end)})
        return [(text[start:end], said[start:end]) for start, end in spans]

    def syllables(self, text: str, readings: Sequence[tuple[int, int, Reading]] = ()) -> list[str | None]:
        """As `words`, one syllable or None for each character of the text."""
        return [syllable for _, word in self.words(text, readings) for syllable in word]

    def sounds(self, syllable: str) -> str:
        """Phonemes of a syllable in misaki's alphabet; "" for one that Mandarin has not."""
        return self._table.get("syllable", syllable) or ""

    def dictionary(self, word: str) -> list[str | None]:
        """A word's syllables as the dictionary has them: of the longest phrases in it, left to right, and of characters."""
        said: list[str | None] = []
        for i, part in enumerate(_HAN.split(word)):
            said += self._phrases(part) if i % 2 else [None] * len(part)
        return said

    def _phrases(self, han: str) -> Iterator[str | None]:
        start = 0
        while start < len(han):
            rest = han[start:]
            phrase, spoken = self._longest_phrase(rest)
            if phrase and len(spoken) == len(phrase):
                yield from spoken
                start += len(phrase)
                continue
            end = len(han) if self._table.get("alone", rest) is not None else start + 1
            yield from (self._table.get("reading", character) for character in han[start:end])
            start = end

    def _longest_phrase(self, text: str) -> tuple[str, list[str]]:
        for end in range(min(len(text), _LONGEST_PHRASE), 1, -1):
            spoken = self._table.get("reading", text[:end])
            if spoken:
                return text[:end], spoken.split(" ")
        return "", []

    def _citation(self, text: str) -> tuple[list[str | None], list[tuple[int, int]]]:
        """Dictionary readings, particles told from full words; and where the words stand."""
        said: list[str | None] = []
        spans: list[tuple[int, int]] = []
        previous = ""
        for word in self._split(text):
            start = len(said)
            spans.append((start, start + len(word)))
            spoken = self.dictionary(word)
            following = text[start + len(word) : start + len(word) + 1]
            if word == "地" and len(previous) > 1 and following.isalpha():
                spoken = ["de5"]
            elif word == "得":
                spoken = ["dei3" if not previous.isalpha() or previous in _SUBJECTS else "de5"]
            elif word == "着" and previous.isalpha():
                spoken = ["zhe5"]
            said += spoken
            previous = word
        return said, spans


def _ascii(syllable: str) -> str:
    return syllable.replace("ü", "v")  # as pypinyin and misaki write it


def _fix(said: list[str | None], lexicon: Lexicon, text: str) -> set[int]:
    fixed: set[int] = set()
    for start, end, reading in lexicon.han_matches(text):
        said[start:end] = [_ascii(syllable) for syllable in reading.pinyin]
        fixed.update(range(start, end))
    return fixed


def _as_word(spans: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """The segmentation with start..end as one word."""
    kept = [(a, min(b, start)) for a, b in spans if a < start] + [(start, end)] + [(max(a, end), b) for a, b in spans if b > end]
    return [(a, b) for a, b in kept if a < b]


def _sandhi(text: str, said: list[str | None], spans: list[tuple[int, int]], given: set[int]) -> None:
    """一 and 不 before the tones that change them; third tones before third tones, inside words and after short ones."""
    for i, character in enumerate(text):
        following = said[i + 1] if i + 1 < len(said) else None
        if i in given or said[i] is None:
            continue
        if character == "不" and said[i] == "bu4" and following and following[-1] == "4":
            said[i] = "bu2"
        elif character == "一" and said[i] in ("yi1", "yi2", "yi4"):
            said[i] = _yi(text, i, following)
    ends = {end - 1: start for start, end in spans}
    citation = list(said)
    for i in range(len(said) - 1):
        this, following = citation[i], citation[i + 1]
        if i in given or this is None or following is None or this[-1] != "3" or following[-1] != "3":
            continue
        if i not in ends or ends[i] == i:  # inside a word, or a word of one syllable
            said[i] = this[:-1] + "2"


def _yi(text: str, i: int, following: str | None) -> str:
    before, after = text[i - 1 : i], text[i + 1 : i + 2]
    if not following or before == "第" or (before and before in _NUMERALS[:-1]) or after in "一二三四五六七八九零〇十点月日号楼":
        return "yi1"
    if before and before == after:  # 看一看
        return "yi5"
    return "yi2" if following[-1] == "4" or (after == "个" and following[-1] == "5") else "yi4"
