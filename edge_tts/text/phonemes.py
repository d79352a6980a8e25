"""Text -> the phonemes that Kokoro was trained on (misaki's alphabet), each run of a script by its own language's library.

hibari reads English with a dictionary, a tagger and, for words it does not know, a small network that the caller runs. misaki
reads Chinese through jieba's words and pypinyin's readings. Both load at the first run of their language.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Any

from edge_tts.errors import MissingExtraError

log = logging.getLogger(__name__)

# Han characters with the punctuation that belongs to them, kana and hangul apart; everything else goes to English.
_HAN = r"\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_CJK_PUNCTUATION = r"、，。！？：；．…—«»《》「」『』【】（）“”‘’·～"
_RUN = re.compile(rf"[{_HAN}][{_HAN}{_CJK_PUNCTUATION}\s]*|[^{_HAN}]+")
_IS_HAN = re.compile(rf"[{_HAN}]")
_SPEAKABLE_ELSEWHERE = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff\u02b0-\u02ff\u0250-\u02af\u0300-\u036f]")
# Full-width marks in a run that English reads.
_WESTERN_PUNCTUATION = str.maketrans("、，。！？：；．「」『』【】（）《》～", ",,.!?:;.\"\"\"\"()()\"\"~")

UnknownWord = Callable[[str, bool], str]


class Phonemizer:
    """Sentences to phonemes.

    unknown_word: (word, british) -> phonemes, for English words in no dictionary
    """

    def __init__(self, unknown_word: UnknownWord) -> None:
        self._unknown_word = unknown_word

    def __call__(self, text: str, *, british: bool = False) -> str:
        """Phonemes of a normalised sentence, scripts mixed as they come; letters of other scripts are dropped and logged."""
        parts = [self._chinese(run) if is_han else self._english(run, british) for run, is_han in script_runs(text)]
        return " ".join(part for part in parts if part)

    def _chinese(self, run: str) -> str:
        return _zh_phonemes(run)

    def _english(self, run: str, british: bool) -> str:
        dropped = {c for c in run if _SPEAKABLE_ELSEWHERE.match(c) and not _LATIN.match(c)}
        if dropped:
            log.warning("dropped letters that this voice cannot read: %s", " ".join(sorted(dropped)[:20]))
            run = "".join(c for c in run if c not in dropped)
        g2p = self._british if british else self._american
        phonemes: str = g2p(run.translate(_WESTERN_PUNCTUATION).strip(), normalize_text=False)
        return phonemes

    @cached_property
    def _american(self) -> Any:
        return _hibari(lambda word: self._unknown_word(word, False), british=False)

    @cached_property
    def _british(self) -> Any:
        return _hibari(lambda word: self._unknown_word(word, True), british=True)


def script_runs(text: str) -> Iterator[tuple[str, bool]]:
    """(run, is Han) of a text, in order and without loss; punctuation goes with the Han run before it."""
    for match in _RUN.finditer(text):
        run = match.group()
        yield run, bool(_IS_HAN.match(run))


def _hibari(unknown_word: Callable[[str], str], *, british: bool) -> Any:
    try:
        from hibari.g2p import G2P
    except ImportError:
        raise MissingExtraError("hibari-tts, which reads English,", "kokoro") from None
    return G2P(oov=unknown_word, british=british)


@lru_cache(maxsize=1)
def _misaki() -> Any:
    """misaki's Chinese reader, its word segmenter kept from talking and from a shared temporary directory."""
    try:
        import jieba
        from misaki.zh import ZHG2P
    except ImportError:
        raise MissingExtraError("misaki, which reads Chinese,", "kokoro") from None
    jieba.setLogLevel(logging.WARNING)
    return ZHG2P


def _zh_phonemes(run: str) -> str:
    """Phonemes of a run of Chinese; misaki's own number reading is not wanted, the text is normalised already."""
    reader = _misaki()
    text = reader.map_punctuation(run)
    phonemes: str = reader.legacy_call(text) if text else ""
    return phonemes
