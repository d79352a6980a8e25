"""Numbers as English words. Everything takes and gives strings, so that length never overflows or rounds."""

from __future__ import annotations

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen".split()
)
_TENS = ["", "", *"twenty thirty forty fifty sixty seventy eighty ninety".split()]
_SCALES = ["", "thousand", "million", "billion", "trillion", "quadrillion"]
_LONGEST = 18
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth"}


def digits(text: str, *, zero: str = "zero") -> str:
    """Digit by digit: "042" -> "zero four two"."""
    return " ".join(zero if c == "0" else _ONES[int(c)] for c in text if c.isdigit())


def cardinal(text: str) -> str:
    """A whole number: "2317" -> "two thousand three hundred seventeen"; past the scale's end digit by digit."""
    number = text.lstrip("0")
    if not number:
        return "zero"
    if len(number) > _LONGEST:
        return digits(text)
    groups = [number[max(0, end - 3) : end] for end in range(len(number), 0, -3)]
    words = []
    for index in range(len(groups) - 1, -1, -1):
        if int(groups[index]):
            words.append(_below_thousand(int(groups[index])))
            words.append(_SCALES[index])
    return " ".join(word for word in words if word)


def _below_thousand(value: int) -> str:
    hundreds, rest = divmod(value, 100)
    words = [f"{_ONES[hundreds]} hundred"] if hundreds else []
    if rest:
        words.append(_below_hundred(rest))
    return " ".join(words)


def _below_hundred(value: int) -> str:
    if value < 20:
        return _ONES[value]
    tens, ones = divmod(value, 10)
    return f"{_TENS[tens]}-{_ONES[ones]}" if ones else _TENS[tens]


def number(text: str) -> str:
    """A number with thousands' commas and decimals: "1,024.50" -> "one thousand twenty-four point five zero"."""
    whole, point, decimals = text.replace(",", "").partition(".")
    words = digits(whole) if len(whole) > 1 and whole[0] == "0" else cardinal(whole or "0")
    return f"{words} point {digits(decimals)}" if point and decimals else words


def ordinal(text: str) -> str:
    """"22" -> "twenty-second"."""
    words = cardinal(text)
    head, separator, last = words.rpartition("-") if "-" in words.rsplit(" ", 1)[-1] else words.rpartition(" ")
    if last in _ORDINALS:
        last = _ORDINALS[last]
    else:
        last = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    return head + separator + last


def year(text: str) -> str:
    """A year: "1907" -> "nineteen oh seven", "2005" -> "two thousand five", "2024" -> "twenty twenty-four"."""
    value = int(text)
    century, rest = divmod(value, 100)
    if len(text) != 4 or (2000 <= value < 2010) or (century % 10 == 0 and rest < 10):
        return cardinal(text)
    if rest == 0:
        return f"{_below_hundred(century)} hundred"
    return f"{_below_hundred(century)} {'oh ' if rest < 10 else ''}{_below_hundred(rest)}"


def decade(text: str) -> str:
    """"1980" -> "nineteen eighties", "90" -> "nineties", "2000" -> "two thousands"."""
    words = year(text) if len(text) == 4 else cardinal(text)
    return words[:-1] + "ies" if words.endswith("y") else words + "s"


def pairs(text: str) -> str:
    """A number in a name, as people say it: "705" -> "seven oh five", "121" -> "one twenty-one", "4090" -> "forty ninety"."""
    if text[0] == "0":
        return digits(text)
    if len(text) == 3:
        head, rest = text[:1], int(text[1:])
        return f"{_ONES[int(head)]} {_tail(rest)}"
    if len(text) == 4:
        if text.endswith("000"):
            return cardinal(text)
        head, rest = text[:2], int(text[2:])
        return f"{_below_hundred(int(head))} {_tail(rest)}"
    return cardinal(text) if len(text) < 3 else digits(text)


def _tail(rest: int) -> str:
    if rest == 0:
        return "hundred"
    return f"oh {_ONES[rest]}" if rest < 10 else _below_hundred(rest)
