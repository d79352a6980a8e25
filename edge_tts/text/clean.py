"""First step: bytes -> text -> text without invisible, broken or merely typographic variants of characters.

What a character means is kept: `½`, `²`, `①` and `Ⅳ` reach the language's rules, Chinese punctuation stays Chinese.
"""

from __future__ import annotations

import re
import unicodedata

from edge_tts.text.markup import LATEX_COMMANDS

_NEWLINES = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
# Marks that do not compose with their letter: stacked decoration, keycaps, variation selectors.
_STRAY_MARKS = re.compile(r"[\u0300-\u0344\u0346-\u036f\u0488\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe2"
                          r"0-\ufe2f]")
_NOT_PLAIN = re.compile(r"[^\n\x20-\x7e\u4e00-\u9fff\u3041-\u3096\u30a1-\u30fe\uac00-\ud7a3，。！？：；、（）“”‘’《》…—]")
# A backslash that survived double escaping; a Windows path or a LaTeX command is none.
_ESCAPE = re.compile(r"\b[A-Za-z]:\\\S*|\\(?:u([0-9a-fA-F]{4})|([A-Za-z]{1,20})|([\"'/]))")
_SUPERSCRIPT = re.compile(r"[⁰¹²³⁴-⁹⁺⁻ⁿ]+")
_SUPERSCRIPT_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_SPACES = re.compile(r"[^\S\n]+")

# Full-width punctuation is not a variant in Chinese or Japanese but the mark itself.
_KEPT = set("，。！？：；、（）…‥“”‘’「」『』【】〈〉《》〔〕—–―·・％‰⁺⁻ⁿ")
_REPLACED = {
    "〜": "~", "～": "~", "∼": "~", "﹣": "-", "‐": "-", "‑": "-", "‒": "-", "−": "-", "⁃": "-",
    "％": "%", "﹪": "%", "℃": "°C", "℉": "°F", "㎡": "m²", "㎢": "km²", "㎠": "cm²", "㎟": "mm²", "㎥": "m³", "㎤": "cm³",
    "㎦": "km³",
    "㏎": "km", "㎧": "m/s", "㎨": "m/s²", "㎞": "km", "µ": "μ", "º": "°", "˚": "°",
    "™": "", "®": "", "©": "", "ʼ": "’", "＇": "'", "＂": '"', "´": "’", "‛": "‘", "‟": "“", "„": "“",
    "№": "No. ", "⋯": "…", "︰": "：", "﹕": "：", "∶": ":", "∕": "/", "✕": "×", "✖": "×",
    "⩽": "≤", "⩾": "≥", "≦": "≤", "≧": "≥", "⁓": "~", "　": " ", "｡": "。", "､": "、",
}  # fmt: skip


def decode(data: bytes) -> tuple[str, int]:
    """UTF-8 -> (text, number of invalid sequences that became U+FFFD); a byte order mark is dropped. Never raises."""
    text = data.decode("utf-8-sig", errors="replace")
    return text, text.count("\ufffd") - data.count(b"\xef\xbf\xbd")


def clean(text: str) -> str:
    """The text in composed characters, lines ended by \\n, nothing invisible."""
    text = _NEWLINES.sub("\n", text)
    if _SURROGATES.search(text):
        text = _SURROGATES.sub("", text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore"))
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        text = _STRAY_MARKS.sub("", text)
        text = unicodedata.normalize("NFC", _NOT_PLAIN.sub(_plain, text))
        text = _SUPERSCRIPT.sub(_superscript, text)
    else:
        text = _NOT_PLAIN.sub(_plain, text)
    return _SPACES.sub(" ", text)


def _unescaped(match: re.Match[str]) -> str:
    code, letters, quote = match.groups()
    if code:
        character = chr(int(code, 16))
        return "" if _SURROGATES.match(character) else character
    if quote:
        return quote
    if letters and letters not in LATEX_COMMANDS and letters[0] in "nrt":
        return (" " if letters[0] == "t" else "\n") + letters[1:]
    return match.group()


def _superscript(match: re.Match[str]) -> str:
    before = match.string[match.start() - 1 : match.start()]
    plain = match.group().translate(_SUPERSCRIPT_DIGITS)
    return "^" + plain if before.isalnum() or before in (")", "）") else plain


def _plain(match: re.Match[str]) -> str:
    character = match.group()
    if character in _REPLACED:
        return _REPLACED[character]
    if character in _KEPT:
        return character
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category in ("Cc", "Cf", "Co", "Cn", "Cs"):
        return " " if character == "\t" else ""
    if category in ("Zs", "Zl", "Zp"):
        return " "
    if category in ("No", "Nl") and not _is_kanji_number(character):
        return _fraction(character)
    return unicodedata.normalize("NFKC", character)


def _is_kanji_number(character: str) -> bool:
    return "\u3220" <= character <= "\u3250" or "\u3280" <= character <= "\u32b0" or "\u3358" <= character <= "\u3370"


def _fraction(character: str) -> str:
    """`½` -> ` 1⁄2` with the fraction slash that no date or path has; subscripts -> digits; ① and Ⅳ stay."""
    plain = unicodedata.normalize("NFKC", character)
    if "⁄" in plain:
        return " " + plain
    return plain if "\u2080" <= character <= "\u2089" else character
