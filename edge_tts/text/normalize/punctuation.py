"""Last step of normalising: only letters, spaces and the marks at which a voice pauses are left."""

from __future__ import annotations

import re
import unicodedata

from edge_tts.text.language import HAN, KANA
from edge_tts.text.patterns import WidePattern

_CJK = f"{HAN}{KANA}"
_APOSTROPHE = re.compile(r"(?<=[A-Za-zÀ-ɏ])[’'´ʼ](?=[A-Za-zÀ-ɏ])|(?<=[sSnN])[’'](?= [a-z])|(?<![^\s“\"(])[’'](?=(?:tis|twas"
                         r"|em|cause|til|bout|round|n)\b)")
_CJK_COMMA, _CJK_STOP = "，", "。"
# Marks -> the one of its kind; brackets, dashes and ellipses are pauses.
_MARKS = str.maketrans(
    {
        **dict.fromkeys("（）()[]【】〔〕〖〗{}—―–‥…⋯;|・•\n\u2e3a", ","), **dict.fromkeys("“”‘’\"'「」『』《》〈〉«»‹›´", " "),
        "；": "；", "¡": " ", "¿": " ", "‽": "?",
    }
)  # fmt: skip
_JOINS = re.compile(r"(?<=[A-Za-zÀ-ɏ])-(?=[A-Za-zÀ-ɏ])")
_SPACED_DASH = re.compile(r"\s-{1,3}\s|-{2,3}")
_QUOTED_PAUSE = re.compile("》\\s?《|」\\s?「|”\\s?“")
_PAUSES = re.compile(r" ?[,，、;；:：.。!！?？][ ,，、;；:：.。!！?？]*")  # single spaces only, by then
_STRENGTH = {mark: strength for strength, marks in enumerate(("，,、", "；;：:", "。.", "！!", "？?")) for mark in marks}
_TO_CJK = str.maketrans(",;:.!?", "，；：。！？")
_TO_LATIN = str.maketrans("，、；：。！？", ",,;:.!?")
_CJK_SPACE = WidePattern(f"(?<=[{_CJK}]) (?=[{_CJK}])")
_SPACES = re.compile(r"\s+")
_IS_CJK = WidePattern(f"[{_CJK}]")
_LAST_LETTER = "\U000effff"  # beyond are the placeholders of words, in any script


def plain(text: str, language: str) -> str:
    """The text in letters, single spaces and pause marks: those of CJK text after CJK letters, ASCII ones elsewhere."""
    text = _QUOTED_PAUSE.sub("，" if language in ("zh", "yue", "ja") else ", ", text)
    text = _APOSTROPHE.sub("\u02bc", text)
    text = _SPACED_DASH.sub(",", _JOINS.sub(" ", text))
    text = text.translate(_MARKS)
    text = "".join(c if c in _KEPT else _kept(c) for c in text)
    text = _SPACES.sub(" ", text).strip()
    text = _PAUSES.sub(_pause, text)
    if language != "ko":
        text = _CJK_SPACE.sub(_cjk_space, text)
    return text.strip(" ").replace("\u02bc", "'")


_KEPT = frozenset("，、；：。！？,;:.!? \u02bcabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _kept(character: str) -> str:
    return character if unicodedata.category(character)[0] in "LM" or "\U000f0000" <= character <= "\U000ffffd" else " "


def _pause(match: re.Match[str]) -> str:
    """The strongest of the marks that stand together, in the script of what stands before it; none at the start."""
    text = match.string
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    if not match.start():
        return ""
    mark = max(match.group().replace(" ", ""), key=lambda c: _STRENGTH[c])
    wide = _IS_CJK.match(before) or _IS_CJK.match(after) or (before > _LAST_LETTER and _IS_CJK.search(text))
    if wide:
        return mark if mark == "、" else mark.translate(_TO_CJK)
    return mark.translate(_TO_LATIN) + (" " if after else "")


def _cjk_space(match: re.Match[str]) -> str:
    """A space between phrases is a pause; between single characters it is only spacing."""
    text, position = match.string, match.start()
    before, after = text[max(0, position - 2) : position], text[position + 1 : position + 3]
    spaced = len(before) < 2 or len(after) < 2 or not before.isalpha() or not after.isalpha()
    return "" if spaced else "，"
