"""Numbers as Chinese words. Everything takes and gives strings, so that length never overflows or rounds."""

from __future__ import annotations

DIGITS = "零一二三四五六七八九"
_SMALL_UNITS = ("", "十", "百", "千")
_BIG_UNITS = ("", "万", "亿", "万亿")
_LONGEST = 16


def digits(text: str) -> str:
    """Digit by digit; everything else stays: "10-9" -> "一零-九"."""
    return "".join(DIGITS[ord(c) - 48] if "0" <= c <= "9" else c for c in text)


def phone(text: str) -> str:
    """Digit by digit as on the telephone, where 1 is 幺."""
    return digits(text).replace("一", "幺")


def cardinal(text: str) -> str:
    """A whole number: "10050" -> "一万零五十"; past the scale's end digit by digit."""
    number = text.lstrip("0")
    if not number:
        return "零"
    if len(number) > _LONGEST:
        return digits(text)
    groups = [number[max(0, end - 4) : end] for end in range(len(number), 0, -4)]
    words = ""
    gap = False
    for index in range(len(groups) - 1, -1, -1):
        group = groups[index]
        if int(group) == 0:
            gap = True
            continue
        if words and (gap or group[0] == "0"):
            words += "零"
        words += _below_ten_thousand(group) + _BIG_UNITS[index]
        gap = False
    if len(groups) == 4 and int(groups[2]) == 0:
        words = words.replace("万亿", "万亿", 1)
    elif len(groups) == 4:
        words = words.replace("万亿", "万", 1)
    return words.removeprefix("一") if words.startswith("一十") else words


def _below_ten_thousand(group: str) -> str:
    words = ""
    gap = False
    for position, digit in enumerate(group):
        if digit == "0":
            gap = bool(words)
            continue
        if gap:
            words += "零"
            gap = False
        words += DIGITS[int(digit)] + _SMALL_UNITS[len(group) - 1 - position]
    return words


def number(text: str) -> str:
    """A number with thousands' commas and decimals: "1,024.50" -> "一千零二十四点五零"; a code's leading zeros stay."""
    whole, point, decimals = text.replace(",", "").partition(".")
    words = digits(whole) if len(whole) > 1 and whole[0] == "0" else cardinal(whole or "0")
    return f"{words}点{digits(decimals)}" if point and decimals else words


def quantity(text: str) -> str:
    """How many there are of something: as `number`, but 2 is 两, also before 百, 千, 万, 亿 at the start."""
    words = number(text)
    if words == "二":
        return "两"
    return "两" + words[1:] if words[0] == "二" and words[1:2] in ("百", "千", "万", "亿") else words
