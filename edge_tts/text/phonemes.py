"""Text -> the phonemes that Kokoro was trained on (misaki's alphabet), each run of a script by its own language's reader.

English is read with a dictionary, a tagger and, for words it does not know, a small network that the caller runs; Chinese by words
and their pinyin. The tables of both lie in the voice's bundle, made by `convert.readings`, and are opened at the first run of
their language.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from edge_tts.stages import stage
from edge_tts.text import WordReading
from edge_tts.text.english import EnglishReader
from edge_tts.text.lexicon import Reading
from edge_tts.text.patterns import LazyPattern, WidePattern
from edge_tts.text.pinyin import PinyinReader
from edge_tts.text.table import Table

log = logging.getLogger(__name__)

# Han characters with the punctuation that belongs to them, kana and hangul apart; everything else goes to English.
_HAN = r"\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_CJK_PUNCTUATION = r"、，。！？：；．…—«»《》「」『』【】（）“”‘’·～"
_RUN = LazyPattern(rf"[{_HAN}][{_HAN}{_CJK_PUNCTUATION}\s]*|[^{_HAN}]+")
_IS_HAN = WidePattern(rf"[{_HAN}]")
_SPEAKABLE_ELSEWHERE = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff\u02b0-\u02ff\u0250-\u02af\u0300-\u036f]")
# Full-width marks in a run that English reads.
_WESTERN_PUNCTUATION = str.maketrans("、，。！？：；．「」『』【】（）《》～", ",,.!?:;.\"\"\"\"()()\"\"~")

# Marks of Chinese as the voice knows them; the spaces beside them are made single later.
_CHINESE_MARKS = str.maketrans(
    {"、": ", ", "，": ", ", "。": ". ", "．": ". ", "！": "! ", "：": ": ", "；": "; ", "？": "? ", "（": " (", "）": ") "}
    | dict.fromkeys("«《「【", " “")
    | dict.fromkeys("»》」】", "” ")
)

# Letters that stand alone, as the front end spells initialisms.
_LETTER_NAMES = dict(
    zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "ˈA bˈi sˈi dˈi ˈi ˈɛf ʤˈi ˈAʧ ˈI ʤˈA kˈA ˈɛl ˈɛm ˈɛn ˈO pˈi kjˈu ˈɑɹ ˈɛs tˈi jˈu vˈi dˈʌbᵊlju ˈɛks wˈI zˈi".split(),
        strict=True,
    )
)
# word -> (what stands before it, what after it, how it is read then); "" is anything.
_HETERONYMS = {
    "lead": [
        ("", r" (?:pipe|pencil|paint|acid|poison|bullet|weight|shot|glass|crystal|ore|mine|batter|apron|solder|roof"
             r"|foil|level)", "lˈɛd"),
        (r"\b(?:made of|heavy as|of|contains?|like) ", r"(?: and| in| is| or|[.,;!?]|$)", "lˈɛd"),
    ],
    "object": [(r"\b(?:I|we|you|they|will|not|to|may|might|would|n't) ", r"(?! of| in| is| was)", "əbʤˈɛkt")],
    "tear": [
        (r"\b(?:to|they|will|don't|not|and|can|could|would) ", "", "tˈɛɹ"),
        ("", r" (?:it|the|apart|down|up|off|open|his|her|my|your|into)\b", "tˈɛɹ"),
    ],
    "tears": [("", r" (?:it|the|apart|down|up|off|open|his|her|my|your)\b", "tˈɛɹz")],
    "bow": [
        (r"\b(?:to|a deep|a low|take a|took a|must|and) ", r"(?! tie| and arrow)", "bˈW"),
        ("", r" (?:to|down|before|low)\b", "bˈW"),
        (r"\bship's ", "", "bˈW"),
    ],
    "bass": [
        (r"\b(?:a|caught a|striped|sea|big|largemouth) ", r"(?! guitar| player| drum| line| clef| voice| note| singer)",
        "bˈæs"),
        ("", r" (?:fish|boat|lake|swam|pond)", "bˈæs"),
    ],
    "row": [(r"\b(?:terrible|blazing|furious|awful|noisy) ", r"(?! of)", "ɹˈW")],
    "sow": [(r"\b(?:the|a|old|fat|mother) ", r"(?: and| with| had| has| fed| is| was|[.,;!?]|$)", "sˈW")],
    "dove": [
        (r"\b(?:he|she|I|we|they|who|and|then) ", r"(?= (?:in|into|off|under|down|deep|for|straight)\b)", "dˈOv"),
        ("", r" (?:into|off|under|headfirst)\b", "dˈOv"),
    ],
    "wound": [
        (r"\b(?:he|she|I|we|they|road|path|river|then|and|was|had) ",
        r" (?:the|up|it|around|through|along|down|his|her|tight)", "wˈWnd")
    ],
    "sewer": [(r"\b(?:skilled|a good|fast) ", "", "sˈOəɹ")],
    "does": [(r"\b(?:the|two|three|four|several|many|some|bucks and) ", r"(?: are| were| ran| and| graz|[.,;!?]|$)", "dˈOz")],
}  # fmt: skip
_GIVEN = re.compile(
    r"(?<![\w'])(?P<letters>(?:[A-Z](?: [A-Z])+|[a-z](?: [a-z])+)(?:'?s)?|A)(?![\w'])|\b(?i:" + "|".join(_HETERONYMS) + r")\b"
)
_TITLE_CASE = re.compile(r"[A-Z][a-z]+ $")

UnknownWord = Callable[[str, bool], str]
ENGLISH_TABLE, CHINESE_TABLE = "english.table", "chinese.table"  # as bundles name them


def ids_of(phonemes: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Ids of the phonemes; those outside the vocabulary are dropped and logged."""
    unknown = sorted({p for p in phonemes if p not in vocabulary})
    if unknown:
        log.warning("dropped phonemes outside the vocabulary: %s", " ".join(unknown))
    return [vocabulary[p] for p in phonemes if p in vocabulary]


class Phonemizer:
    """Sentences to phonemes. May be shared by threads.

    unknown_word: (word, british) -> phonemes, for English words in no dictionary
    english, chinese: the tables' files; without the Chinese one Han characters are dropped and logged
    """

    def __init__(self, unknown_word: UnknownWord, english: Path, chinese: Path | None = None) -> None:
        self._unknown_word = unknown_word
        self._english_path = english
        self._chinese_path = chinese

    @stage("phonemes")
    def __call__(self, text: str, *, british: bool = False, readings: Sequence[WordReading] = ()) -> str:
        """Phonemes of a normalised sentence, scripts mixed as they come; letters of other scripts are dropped and logged.

        readings: words of this text whose reading a lexicon or the text itself gives
        """
        parts = []
        for run, start, kind in _runs(text, readings):
            if isinstance(kind, WordReading):
                parts.append(kind.reading.phonemes)
            elif kind == "han" and self._pinyin:
                inside = [r for r in readings if r.reading.pinyin and start <= r.start and r.end <= start + len(run)]
                parts.append(_chinese(self._pinyin, run, [(r.start - start, r.end - start, r.reading) for r in inside]))
            elif kind == "han":
                _log_dropped(c for c in run if _IS_HAN.match(c))
            else:
                parts.append(self._english(run, british))
        return " ".join(part for part in parts if part)

    def _english(self, run: str, british: bool) -> str:
        dropped = {c for c in run if _SPEAKABLE_ELSEWHERE.match(c) and not _LATIN.match(c)}
        if dropped:
            _log_dropped(dropped)
            run = "".join(c for c in run if c not in dropped)
        read = self._british if british else self._american
        phonemes = ""
        for part, given in english_parts(run.translate(_WESTERN_PUNCTUATION).strip(), british=british):
            phonemes += given or (read(part) if part.strip() else "")
            if part[-1:] == " ":
                phonemes += " "
        return re.sub(r" +", " ", phonemes).strip()

    @cached_property
    def _american(self) -> EnglishReader:
        return EnglishReader(self._english_table, lambda word: self._unknown_word(word, False))

    @cached_property
    def _british(self) -> EnglishReader:
        return EnglishReader(self._english_table, lambda word: self._unknown_word(word, True), british=True)

    @cached_property
    def _english_table(self) -> Table:
        return Table(self._english_path)

    @cached_property
    def _pinyin(self) -> PinyinReader | None:
        return None if self._chinese_path is None else PinyinReader(Table(self._chinese_path))


def _chinese(reader: PinyinReader, run: str, readings: Sequence[tuple[int, int, Reading]]) -> str:
    """Phonemes of a run of Chinese, words apart."""
    parts = []
    for word, syllables in reader.words(run, readings):
        sounds = "".join(reader.sounds(syllable) for syllable in syllables if syllable)
        parts.append(" " + sounds if sounds else word.translate(_CHINESE_MARKS).strip() + " ")
    return re.sub(r" +(?=[,.!?;:])", "", re.sub(r" {2,}", " ", "".join(parts))).strip()


def _log_dropped(letters: Iterable[str]) -> None:
    log.warning("dropped letters that this voice cannot read: %s", " ".join(sorted(set(letters))[:20]))


def english_parts(text: str, *, british: bool = False) -> Iterator[tuple[str, str]]:
    """(part, phonemes or "") of English text: spelled letters and words that context tells have theirs given here.

    The dictionary takes the letter A for the article, and reads some words of two readings by their commoner one.
    """
    start = 0
    for match in _GIVEN.finditer(text):
        given = _letters(match, british=british) if match["letters"] else _heteronym(match)
        if not given:
            continue
        if match.start() > start:
            yield text[start : match.start()], ""
        space = " " if text[match.end() : match.end() + 1] == " " else ""
        yield match.group() + space, given
        start = match.end()
    if start < len(text):
        yield text[start:], ""


def _letters(match: re.Match[str], *, british: bool) -> str:
    letters = match["letters"]
    before, after = match.string[: match.start()], match.string[match.end() :]
    title = _TITLE_CASE.search(before) and re.match(r" [A-Z][a-z]", after)
    if letters == "A" and (not before or before.rstrip()[-1:] in ".!?:" or title):
        return ""  # the article
    plural = letters[-1] == "s" and letters[-2:-1] not in ("", " ")
    names = letters[:-1].rstrip("'").split() if plural else letters.split()
    spoken = ("zˈɛd" if british and name in "Zz" else _LETTER_NAMES[name.upper()] for name in names)
    return " ".join(spoken) + ("z" if plural else "")


def _heteronym(match: re.Match[str]) -> str:
    before, after = match.string[: match.start()], match.string[match.end() :]
    for words_before, words_after, sound in _HETERONYMS[match.group().lower()]:
        if re.search(rf"(?:{words_before})$", before[-30:], re.IGNORECASE) and re.match(words_after, after, re.IGNORECASE):
            return sound
    return ""


def _runs(text: str, readings: Sequence[WordReading]) -> Iterator[tuple[str, int, str | WordReading]]:
    """(run, where it starts, "han" or "other" or the phonemes given for it), in order and without loss."""
    start = 0
    for given in [*(r for r in readings if r.reading.phonemes), None]:
        position = start
        for run, is_han in script_runs(text[start : given.start if given else len(text)]):
            yield run, position, "han" if is_han else "other"
            position += len(run)
        if given:
            yield text[given.start : given.end], given.start, given
            start = given.end


def script_runs(text: str) -> Iterator[tuple[str, bool]]:
    """(run, is Han) of a text, in order and without loss; punctuation goes with the Han run before it."""
    if text and text.isascii():
        yield text, False
        return
    for match in _RUN.finditer(text):
        run = match.group()
        yield run, bool(_IS_HAN.match(run))
