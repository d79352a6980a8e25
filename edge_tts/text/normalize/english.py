"""English: numbers, signs, units and short forms -> words, in the order in which one must not disturb the other."""

from __future__ import annotations

import re

from edge_tts.text.normalize import addresses, latin
from edge_tts.text.normalize.english_numbers import (
    cardinal,
    decade,
    digits,
    number,
    ordinal,
    pairs,
    year,
)
from edge_tts.text.normalize.english_tables import (
    ABBREVIATIONS,
    AMOUNT_BEFORE,
    BEFORE_NAME,
    BEFORE_NUMBER,
    CURRENCIES,
    DAYS_SHORT,
    IRREGULAR_PLURALS,
    MONTH_SHORT,
    MONTHS,
    NOT_PLURALS,
    NUMBERED,
    NUMBERED_PLACES,
    PER,
    REGNAL,
    SCALES,
    SPELLED_FRACTIONS,
    TIGHT_UNITS,
    UNITS,
    WITHOUT_STOP,
    YEAR_BEFORE,
)
from edge_tts.text.normalize.rules import (
    Rule,
    alternatives,
    apply,
    number_rule,
    number_value,
    roman_value,
    roman_values,
    rule,
)

_NUM = r"(?:\d{1,3}(?:,\d{3}){1,8}|\d{1,60})(?:\.\d{1,40})?|\.\d{1,40}"
_START = r"(?<![\d.])(?<!\d,)"
_DASH = r"\s?[-–—―~]\s?"
_MONTH = alternatives([*MONTHS, *(m.lower() for m in MONTHS), *(m.title() for m in MONTH_SHORT), *MONTH_SHORT])
_HUNDRED_SCALE = r"(?:hundred|thousand|million|billion|trillion)"


def normalize(text: str) -> str:
    """A run of English text as it is read aloud."""
    text = apply(_RULES, text)
    return latin.spell(text, plural="'s", and_word=" and ")


# --- enclosed, roman ---


def _enclosed(match: re.Match[str]) -> str:
    value = number_value(match.group())
    return f" {cardinal(str(value))} " if value is not None else match.group()


def _roman_character(match: re.Match[str]) -> str:
    return f" {' '.join(cardinal(str(value)) for value in roman_values(match.group()))} "


def _roman(match: re.Match[str]) -> str:
    """`Pius XII`, `Chapter IV`; words made of roman letters stay words."""
    word, letters = match.groups()
    value = roman_value(letters)
    if not value:
        return match.group()
    if word.lower() in REGNAL and (len(letters) > 1 or letters in "VX" or _ends_or_verb(match)):
        return f"{word} the {ordinal(str(value)).title()}"
    if word.lower() in NUMBERED and (letters != "I" or word[0].isupper() or _ends_or_verb(match)):
        return f"{word} {cardinal(str(value))}"
    if word[0].isupper() and not word.isupper() and len(letters) > 1 and set(letters) <= set("IVX"):
        return f"{word} {cardinal(str(value))}"
    return match.group()


def _ends_or_verb(match: re.Match[str]) -> bool:
    return re.match(r"\s?(?:$|[.,;:!?)’']|of\b|was\b|is\b|and\b|reigned\b|ruled\b|died\b|became\b|had\b|married\b|in\b|to\b"
                    r"|who\b)", match.string[match.end() :]) is not None


# --- dates and times ---


def _date(month: int, day: str, year_text: str | None) -> str:
    words = f"{MONTHS[month - 1]} {ordinal(day)}"
    return f"{words}, {year(year_text)}" if year_text else words


def _date_year_first(match: re.Match[str]) -> str:
    return _date(int(match[2]), match[3], match[1])


def _date_slashed(match: re.Match[str]) -> str:
    """`05/01/2026`: month first, unless only the second number can be the month."""
    first, second, year_text = match.groups()
    if len(year_text) == 2:
        year_text = ("20" if int(year_text) < 50 else "19") + year_text
    month, day = (int(first), second) if int(first) <= 12 else (int(second), first)
    if not (1 <= month <= 12 and 1 <= int(day) <= 31):
        return match.group()
    return _date(month, day, year_text)


def _month_number(name: str) -> int:
    short = name.lower().rstrip(".")
    if short in MONTH_SHORT:
        return MONTH_SHORT[short]
    return [month.lower() for month in MONTHS].index(short) + 1


def _month_day(match: re.Match[str]) -> str:
    name, day, to_day, year_text = match.groups()
    if not 1 <= int(day) <= 31:
        return match.group()
    words = f"{MONTHS[_month_number(name) - 1]} {ordinal(day)}"
    if to_day:
        words += f" to {ordinal(to_day)}"
    return f"{words}, {year(year_text)}" if year_text else words


def _day_month(match: re.Match[str]) -> str:
    day, name, year_text = match.groups()
    if not 1 <= int(day) <= 31:
        return match.group()
    article = "" if re.search(r"\b[Tt]he\s$", match.string[: match.start()]) else "the "
    words = f"{article}{ordinal(day)} of {MONTHS[_month_number(name) - 1]}"
    return f"{words}, {year(year_text)}" if year_text else words


def _month_year(match: re.Match[str]) -> str:
    return f"{MONTHS[_month_number(match[1]) - 1]} {year(match[2])}"


def _short_month(match: re.Match[str]) -> str:
    return MONTHS[MONTH_SHORT[match[1].lower()] - 1] + " "


_HALVES = {"a": " a m", "p": " p m"}


def _half(text: str | None) -> str:
    return _HALVES[text[0].lower()] if text else ""


def _clock(hour: str, minute: str | None, half: str | None) -> str:
    if minute is None or (minute == "00" and half):
        return cardinal(hour) + _half(half)
    if minute == "00":
        value = int(hour)
        return "midnight" if hour in ("00", "24") else f"{cardinal(hour)} o'clock" if value <= 12 else f"{cardinal(hour)} hundred"
    tail = f"oh {cardinal(minute)}" if minute[0] == "0" else cardinal(minute)
    lead = "zero" if hour in ("0", "00") else cardinal(hour)
    return f"{lead} {tail}{_half(half)}"


def _time(match: re.Match[str]) -> str:
    hour, minute, second, half, hour2, minute2, half2 = match.group("h", "m", "s", "half", "h2", "m2", "half2")
    if second:
        return (
            f"{cardinal(hour)} {'oh ' if minute[0] == '0' and minute != '00' else ''}{cardinal(minute)} and "
            f"{cardinal(second)} second{'s' if int(second) != 1 else ''}{_half(half)}"
        )
    words = _clock(hour, minute, half)
    if hour2:
        words += f" to {_clock(hour2, minute2, half2)}"
    return words + _stop(match)


def _hour_only(match: re.Match[str]) -> str:
    hour, half, to, to_half = match.groups()
    words = cardinal(hour) + _half(half)
    if to:
        words += f" to {cardinal(to)}{_half(to_half)}"
    return words + _stop(match)


def _stop(match: re.Match[str]) -> str:
    """The full stop of `a.m.` ends the sentence too where nothing or a capital follows."""
    rest = match.string[match.end() :].strip()
    return "." if match.group().endswith(".") and (not rest or rest[0].isupper()) else ""


def _to(match: re.Match[str]) -> str:
    return " to ".join(number(part) for part in match.groups())


# --- money, units, percent, fractions ---


def _money(match: re.Match[str]) -> str:
    minus, sign, text, scale, text2, scale2, per = match.groups()
    words = "minus " if minus else ""
    if text2:
        words += f"{_scaled(text, scale or '')} to "
        text, scale = text2, scale2
    words += _money_words(text, scale, sign)
    return words + (f" per {PER.get(per[1:].strip(), per[1:].strip())}" if per else "")


def _money_after(match: re.Match[str]) -> str:
    text, scale, sign = match.groups()
    return _money_words(text, scale, sign)


def _scaled(text: str, scale: str) -> str:
    scale = scale.strip()
    return f"{number(text)} {SCALES.get(scale, scale.lower())}".strip()


def _money_words(text: str, scale: str | None, sign: str) -> str:
    one, many, part, parts = CURRENCIES[sign if sign in CURRENCIES else sign.upper()]
    if scale:
        return f"{_scaled(text, scale)} {many}"
    whole, _, decimals = text.replace(",", "").partition(".")
    if part and len(decimals) == 2:
        cents = int(decimals)
        small = f"{cardinal(decimals)} {part if cents == 1 else parts}"
        if whole.strip("0") == "":
            return small if cents else f"zero {many}"
        big = f"{cardinal(whole)} {one if whole == '1' else many}"
        return f"{big} and {small}" if cents else big
    return f"{number(text)} {one if text == '1' else many}"


def _inches(match: re.Match[str]) -> str:
    """`15" screen`, unless the mark closes a quotation."""
    if match.string[: match.start()].count('"') % 2:
        return match.group()
    return f"{number(match[1])} {'inch' if match[1] == '1' or match.string[match.end() :][:1] == ' ' else 'inches'}"


def _measured(match: re.Match[str]) -> str:
    minus, first, first_unit, second, scale, gap, unit = match.groups()
    base, *pers = unit.split("/")
    after = match.string[match.end() :]
    if gap and not pers and base in TIGHT_UNITS and not (base in _LOOSE_AT_END and re.match(r"[.,;!?)]|$", after)):
        return match.group()
    before = match.string[: match.start()]
    if base in _LETTERS_FIRST and not pers and not (_ELECTRIC.search(match.string) if base in "AV" else False):
        return match.group()
    if len(base) == 1 and re.search(r"(?:[a-z][A-Z][A-Za-z]*|[A-Z]{2,}|Galaxy|Pixel|Model|Mate)\s$",
        before) and not pers:  # a model: iPhone 5s
        return match.group()
    names = UNITS[base]
    text = second or first
    one = (text.lstrip("0") or "0") == "1" and not scale
    name = names[0] if one else names[1]
    if (gap == "-" and not second) or (first_unit is None and re.match(r"-[a-z]", after)):
        name = names[0]
    words = "minus " if minus else ""
    words += f"{number(first)} to {number(second)}" if second else number(first)
    if scale:
        words += f" {scale.strip()}"
    return " ".join([words, name, *(f"per {PER.get(per, UNITS.get(per, (per,))[0])}" for per in pers)])


# Capitals that after a number are more often a letter (seat 12A, 7B model) than a unit.
_LETTERS_FIRST = frozenset("ABKNJ")
# … and these with a space before them only where nothing follows: "it took 12 s."
_LOOSE_AT_END = frozenset("smghL")
_ELECTRIC = re.compile(r"\d\s?(?:m?V|W|m?Ah)\b|\b(?:fuse|current|charger|amps?|volts?|battery|circuit|breaker)\b")


def _bare_unit(match: re.Match[str]) -> str:
    base, *pers = match[1].split("/")
    if base not in UNITS or not all(per in PER for per in pers):
        return match.group()
    return " ".join([UNITS[base][1], *(f"per {PER[per]}" for per in pers)])


def _percent(match: re.Match[str]) -> str:
    minus, first, second, sign = match.groups()
    words = {"-": "minus ", "−": "minus ", "+": "plus ", "±": "plus or minus "}.get(minus or "", "")
    words += f"{number(first)} to {number(second)}" if second else number(first)
    return words + (" percent" if sign == "%" else " per mille")


def _fraction_words(top: str, bottom: str) -> str:
    value = int(bottom)
    if value in SPELLED_FRACTIONS:
        one, many = SPELLED_FRACTIONS[value]
    else:
        one = ordinal(bottom)
        many = one + "s"
    return f"{cardinal(top)} {one if top == '1' else many}"


def _ratio_words(top: str, bottom: str) -> str:
    if 0 < int(top) < int(bottom):
        return "one half" if (top, bottom) == ("1", "2") else _fraction_words(top, bottom)
    return f"{cardinal(top)} over {cardinal(bottom)}"


def _fraction(match: re.Match[str]) -> str:
    whole, top, bottom = match.groups()
    if not (top.isdigit() and bottom.isdigit()) or len(bottom) > 6:
        return f"{number(top) if top.isdigit() else top} over {number(bottom) if bottom.isdigit() else bottom}"
    if bottom in ("0", "1"):
        return f"{cardinal(top)} over {cardinal(bottom)}"
    words = _fraction_words(top, bottom)
    if whole:
        words = f"{cardinal(whole)} and {'a ' + words[4:] if top == '1' else words}"
    elif top == "1" and bottom == "2":
        words = "one half"
    return words


def _slash(match: re.Match[str]) -> str:
    """`3/4` is a fraction, `12/25` a day, `24/7` a way of speaking."""
    whole, top, bottom = match.groups()
    a, b = int(top), int(bottom)
    if whole is None and (top, bottom) in (("24", "7"), ("9", "11"), ("20", "20"), ("50", "50")):
        return f"{cardinal(top)} {cardinal(bottom)}"
    if top[0] == "0" or (1 <= a <= 12 and 12 < b <= 31 and b not in (16, 20) and whole is None) or (re.search(r"\bon\s$",
        match.string[: match.start()]) and a <= 12 and b <= 31):
        if 1 <= a <= 12 and 1 <= b <= 31:
            return _date(a, bottom, None)
    if a < b and (b <= 20 or b in (25, 32, 64, 50, 100, 1000)) and b > 1:
        prefix = f"{cardinal(whole)} and " if whole else ""
        words = _fraction_words(top, bottom)
        return prefix + ("a " + words[4:] if whole and top == "1" else words)
    over = " over " if b and a >= b else " out of "
    return (f"{cardinal(whole)} " if whole else "") + cardinal(top) + over + cardinal(bottom)


# --- phones, names, years ---


def _phone(match: re.Match[str]) -> str:
    groups = re.findall(r"\d+", match.group())
    words = []
    for group in groups:
        toll_free = len(group) in (3, 4) and group.endswith("800") and group in ("800", "1800")
        words.append("one eight hundred" if group == "1800" else "eight hundred" if toll_free else digits(group))
    return ("plus " if match.group().startswith("+") else "") + ", ".join(words)


def _code(match: re.Match[str]) -> str:
    return match[1] + digits(match[2])


def _decade(match: re.Match[str]) -> str:
    return decade(next(group for group in match.groups() if group))


def _range(match: re.Match[str]) -> str:
    first, second = match.groups()
    if _is_year(first) and _is_year(second) and first < second:
        return f"{year(first)} to {year(second)}"
    if _is_year(first) and len(second) == 2 and second > first[2:] and _year_before(match):
        return f"{year(first)} to {cardinal(second)}"
    return f"{number(first)} to {number(second)}"


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdigit() and "1000" <= text < "2100"


def _word_before(match: re.Match[str]) -> str:
    found = re.search(r"([A-Za-z]+)[.,]?['’(\s]*$", match.string[max(0, match.start() - 30) : match.start()])
    return found[1].lower() if found else ""


def _year_before(match: re.Match[str]) -> bool:
    return _word_before(match) in YEAR_BEFORE


def _score(match: re.Match[str]) -> str:
    return f"{cardinal(match[1])} to {cardinal(match[2])}"


def _year_or_number(match: re.Match[str]) -> str:
    """A bare number of four digits: a year unless it counts something."""
    text = match.group()
    after = match.string[match.end() :]
    following = re.match(r"\s([a-z]+)", after)
    word = following[1] if following else ""
    plural = len(word) > 3 and word.endswith("s") and not word.endswith("ss") and word not in NOT_PLURALS
    counts = word in IRREGULAR_PLURALS or plural
    before = _word_before(match)
    if re.search(r"\bQ[1-4] $", match.string[: match.start()]):
        return year(text)
    if before in NUMBERED_PLACES:
        return pairs(text)
    if before in YEAR_BEFORE and not (counts and word not in ("games", "olympics", "elections", "championships")):
        return year(text)
    if not counts and "1900" <= text < "2100" and before not in AMOUNT_BEFORE:
        return year(text)
    return number(text)


def _glued_number(match: re.Match[str]) -> str:
    """Letters and digits that touch or are hyphened: B7, 705A, COVID-19, GPT-4o, F-16."""
    before, text, after = match.groups()
    words = _name_number(text)
    head = f"{before.rstrip('-')} " if before else ""
    return f"{head}{words}{' ' if after else ''}"


def _name_number(text: str) -> str:
    whole, point, rest = text.partition(".")
    words = "double oh seven" if text == "007" else pairs(whole)
    return f"{words} point {digits(rest)}" if point and rest else words


def _spaced_name_number(match: re.Match[str]) -> str:
    """A name in capitals, then three or four digits: RTX 4090, Boeing 737."""
    return f"{match[1]} {pairs(match[2])}"


def _version(match: re.Match[str]) -> str:
    prefix, text = match.groups()
    parts = " point ".join(
        cardinal(part) if len(part) < 3 and (part == "0" or part[0] != "0") else digits(part) for part in text.split(".")
    )
    return f"{'version ' if prefix else ''}{parts}"


def _times(match: re.Match[str]) -> str:
    return f"{number(match[1])} times"


def _remaining(match: re.Match[str]) -> str:
    text = match.group()
    plain = text.replace(",", "")
    if len(plain) > 18 or (len(text) > 1 and text[0] == "0" and "." not in text):
        return "double oh seven" if text == "007" else digits(text)
    return number(text)


# --- signs and short forms ---

_OPERATORS = {
    "+": "plus", "-": "minus", "−": "minus", "–": "minus", "×": "times", "*": "times", "÷": "divided by", "/": "over",
    "=": "equals", "≠": "is not equal to",
    "<": "is less than", ">": "is greater than", "≤": "is less than or equal to", "≥": "is greater than or equal to",
    "≈": "is approximately", "±": "plus or minus",
}  # fmt: skip
_MATH_RUN = re.compile(r"[\d.,A-Za-z()^\s+\-−×*÷=≠<>≤≥≈±/⁄π√%α-ω]{3,400}")


def _expression(match: re.Match[str]) -> str:
    """A run of digits, single letters and signs; an expression if it has a sign that prose has not."""
    run = match.group()
    if not re.search(r"[=×÷≠≤≥≈±√]|[\w)]\s?[<>]\s?[\w-]|\d\s?\+\s?\w|\w\s\+\s\w|\d\s[-−–]\s\d|\^", run):
        return run
    if "=" in run:
        run = re.sub(r"(?<![\d/])(\d{1,4})/(\d{1,4})(?![\d/])", lambda m: _ratio_words(m[1], m[2]), run)
    run = re.sub(r"(?<=[\w)])\s?([=≠<>≤≥≈])\s?[-−](?=[\d.A-Za-z(])", lambda m: f" {_OPERATORS[m[1]]} minus ", run)
    run = re.sub(r"(?<=[\d)])\s?([-−–])\s?(?=[\d(])|(?<=\b[A-Za-z\d])\s?([-−])\s?(?=[A-Za-z\d]\b)", " minus ",
    run) if re.search(r"[=×÷+≈≤≥]|\d\s[-−–]\s\d", run) else run
    run = re.sub(r"(?<=[\w)])\s?/\s?(?=[\d(])", " over ", run) if "=" in run else run
    if "=" in run:
        run = run.replace("(", " ").replace(")", " ")
    return re.sub(r"\s?([+×*÷=≠<>≤≥≈±])\s?", lambda m: f" {_OPERATORS[m[1]]} ", run)


def _power(match: re.Match[str]) -> str:
    exponent = match[1]
    name = {"2": "squared", "3": "cubed"}.get(exponent)
    if name:
        return f" {name}"
    spoken = f"minus {number(exponent[1:])}" if exponent[0] == "-" else number(exponent) if exponent.isdigit() else exponent
    return f" to the power of {spoken}"


def _abbreviation(match: re.Match[str]) -> str:
    short = match[1]
    key = short.lower()
    dotted = match.group().endswith(".")
    rest = match.string[match.end() :]
    if not dotted and (key not in WITHOUT_STOP or (short.isupper() and len(short) > 1)):
        return match.group()
    if short.isupper() and len(short) > 1 and key in ("st", "co", "ft", "mt", "ms", "ed", "col", "no", "sat"):
        return match.group()
    before_number = re.match(r"\s?(?:\d|[IVX]+\b)", rest) is not None
    before_name = re.match(r"\s?[A-Z]", rest) is not None
    name_before = re.search(r"(?:[A-Z][A-Za-z]*|\d(?:st|nd|rd|th))\s$", match.string[: match.start()]) is not None
    if key in ("dr", "st") and name_before and (not before_name or re.search(r"\b\d+\w*\s(?:[A-Z]\w*\s)+$",
        match.string[: match.start()])):
        return ("Drive" if key == "dr" else "Street") + _end(match)
    if key == "ms" and not before_name and not dotted:
        return match.group()
    if key in BEFORE_NUMBER and not before_number and key not in BEFORE_NAME:
        return match.group()
    if key in BEFORE_NAME and not before_name:
        return match.group()
    if key == "co" and not name_before:
        return match.group()
    if key in ("max", "min", "avg", "temp") and dotted and re.match(r"\s[a-z]", rest) and not re.search(r"\d\s?$",
        match.string[: match.start()]):
        return ABBREVIATIONS[key].capitalize() if short[0].isupper() else ABBREVIATIONS[key]
    if key in ("ed", "est", "temp", "max", "min", "info", "p", "ft", "oz", "lb", "lbs", "ext",
        "sec") and not before_number and not before_name:
        return match.group()
    if key == "no" and not before_number:
        return match.group()
    return ABBREVIATIONS[key] + _end(match)


def _end(match: re.Match[str]) -> str:
    rest = match.string[match.end() :].strip("\"”’') ")
    return "." if match.group().endswith(".") and not rest else ""


def _weekday(match: re.Match[str]) -> str:
    return DAYS_SHORT[match[1].lower()] + (match[2] or "")


def _weekdays(match: re.Match[str]) -> str:
    return f"{DAYS_SHORT[match[1].lower()]} to {DAYS_SHORT[match[2].lower()]}"


def _months(match: re.Match[str]) -> str:
    return f"{MONTHS[_month_number(match[1]) - 1]} to {MONTHS[_month_number(match[2]) - 1]}"


_UNIT_ONE = alternatives(UNITS)
_PER_ONE = alternatives([*PER])
_SIGN = alternatives([name for name in CURRENCIES if not name.isalpha()])
_CODE_NAME = alternatives([name for name in CURRENCIES if name.isalpha() and len(name) == 3])
_SCALE = rf"(?:[kKmMbBtT]|bn|mn|tn)(?![A-Za-z])|\s{_HUNDRED_SCALE}s?\b"
_HALF = r"[AaPp]\.?\s?[Mm]\b\.?"

_RULES: list[Rule] = [
    rule(">=", "≥"), rule("<=", "≤"), rule("!=", "≠"),
    rule(r"[Ⅰ-ⅿ]{1,8}", _roman_character),
    rule(r"[①-⓿❶-➓]", _enclosed),
    *addresses.rules("en"),
    # Short forms.
    rule(r"\b[Nn]o\.\s?(?=\d)|#\s?(?=\d)|№\s?", "number "),
    rule(r"\b(?:e\.g|eg)\.(?=[\s,]|$),?", "for example,"), rule(r"\bi\.e\.(?=[\s,]|$),?", "that is,"),
    rule(rf"\b({alternatives(sorted(key for key in ABBREVIATIONS if key not in ('e.g', 'i.e', 'eg', 'ie')))})(?:\.(?!\w)"
         r"|(?![\w.'’-]))", _abbreviation, re.IGNORECASE),
    rule(r"\bPh\.\s?D\b\.?", "P h D"),
    rule(r"(?<![\w/])w/o(?!\w)", "without"), rule(r"(?<![\w/])w/(?=\s|[a-z])", "with "), rule(r"\bb/c\b", "because"),
    # Phones and codes.
    number_rule(r"(?<![\d.])\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]\d{2,4}){1,4}(?!\d)|(?<![\d.+])\+\d{7,15}(?!\d)",
    _phone),
    number_rule(r"(?<![\d.])(?:1[ -])?\(\d{3}\) ?\d{3}[ .-]\d{4}(?!\d)", _phone),
    number_rule(r"(?<![\d.-])(?:1[ .-])?\d{3}([ .-])\d{3}\1\d{4}(?![\d-])", _phone),
    number_rule(r"(?<![\d.-])1?800[ -]\d{3}[ -]\d{3,4}(?!\d)|(?<![\d.-])0\d{2,4}[ -]\d{3,4}[ -]?\d{3,4}(?!\d)", _phone),
    number_rule(r"(?<![\d.-])\d{3}-\d{2}-\d{4}(?![\d-])|(?<!\d)\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?!\d)", _phone),
    number_rule(r"(?<![\d.-])\d{3}-\d{4}(?![\d-])|(?<![\d.,$-])\d{3,4} \d{3} \d{3,4}(?![\d,.]\d|\d)", _phone),
    number_rule(r"(\b(?:[Cc]all|[Dd]ial|[Tt]ext|[Rr]ing|PIN|[Cc]ode|[Pp]assword|[Pp]asscode|[Zz]ip|ZIP|OTP)(?: code| number| is| "
         r"was| to|:| at)?\s)(\d{3,12})(?![\d.,:/%]\d|\d|-|\s(?:times|people|ways|customers|friends))", _code),
    # Dates.
    number_rule(r"(?<![\d./])(\d{4})[-/.](0?[1-9]|1[0-2])[-/.](3[01]|[12]\d|0?[1-9])(?!\d|[./]\d|-\d{1,2}(?!\d))",
        _date_year_first),
    rule(rf"(?<=[a-z])\s?[-–]\s?(?=(?:{alternatives(MONTHS)}) [a-z])", " to "),
    number_rule(r"(?<![\d./-])(\d{1,2})[/-](\d{1,2})[/-](\d{4}|\d{2})(?![\d]|[./-]\d)", _date_slashed),
    number_rule(r"(?<![\d./-])(\d{1,2})\.(\d{1,2})\.(\d{4})(?![\d]|[./-]\d)", _date_slashed),
    number_rule(rf"\b({_MONTH})\.?\s(\d{{1,2}})(?:st|nd|rd|th)?(?:{_DASH}(\d{{1,2}})(?:st|nd|rd"
                rf"|th)?)?(?:,?\s(\d{{4}})(?![\d,.:]\d"
         rf"|\d))?(?![\d:/%]|st|nd|rd|th|[.,]\d|\s?(?:{_HALF}))", _month_day),
    number_rule(rf"(?<![\d.,/$-])(\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?({_MONTH})\b\.?(?:,?\s(\d{{4}})(?![\d,.:]\d|\d))?",
        _day_month),
    number_rule(rf"\b({_MONTH})\.?,?\s((?:1[1-9]|20)\d\d)(?![\d,.:]\d|\d|-\d)", _month_year),
    rule(r"\b(Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.\s", _short_month),
    rule(r"\b(Mon|Tues?|Wed|Thurs?|Thu|Fri|Sat|Sun)\.?\s?[-–]\s?(Mon|Tues?|Wed|Thurs?|Thu|Fri|Sat|Sun)\b", _weekdays),
    rule(r"\b(Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)[-–](Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b", _months),
    rule(r"\b(Mon|Tues?|Wed|Thurs?|Thu|Fri|Sat|Sun)\.(?=\s[a-z\d]|,|\s[A-Z][a-z]{2}\b)()", _weekday),
    rule(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)(,)(?=\s(?:[A-Z]|\d))", _weekday),
    # Times.
    number_rule(rf"(?<![\d.:])(?P<h>[01]?\d|2[0-4]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d))?(?:\s?(?P<half>{_HALF}))?(?:{_DASH}(?P<"
                r"h2>[01]"
         rf"?\d|2[0-4])(?::(?P<m2>[0-5]\d))?(?:\s?(?P<half2>{_HALF}))?)?(?![\d:])", _time),
    number_rule(rf"(?<![\d.:])(1[0-2]|[1-9])(?:\s?({_HALF}))?{_DASH}(1[0-2]|[1-9])\s?({_HALF})", _hour_only),
    number_rule(rf"(?<![\d.:])(1[0-2]|[1-9])\s?({_HALF})()()", _hour_only),
    number_rule(r"(?<![\d.:])(\d{1,4}):(\d{1,4})(?![\d:])", _to),
    # Money.
    number_rule(rf"(?:(?<![\w)])([-−]))?({_SIGN})\s?({_NUM})({_SCALE})?(?:{_DASH}(?:{_SIGN})?({_NUM})({_SCALE})?)?(\s?/\s?(?:"
         rf"{_PER_ONE})\b)?", _money),
    number_rule(rf"(?<![A-Za-z])({_CODE_NAME})\s({_NUM})({_SCALE})?(?!\s?[A-Z\d])", lambda m: _money_words(m[2], m[3], m[1])),
    number_rule(rf"{_START}({_NUM})({_SCALE})?\s?([€£¥₩₹₽¢]|(?:{_CODE_NAME})\b)", _money_after),
    # Percent, fractions.
    number_rule(rf"(?:(?<![\w)])([-−+±]))?{_START}({_NUM})\s?%?(?:{_DASH}({_NUM}))?\s?([%‰])", _percent),
    rule(r"(?:(?<![\d.])(\d{1,6})\s{1,2})?\s?(?<![\d.])([A-Za-z\d]{1,20})⁄([A-Za-z\d]{1,20})", _fraction),
    # Decades, before seconds.
    number_rule(r"(?<![\w.])((?:1[1-9]|20)\d0)['’]?s\b", _decade),
    number_rule(r"(?<![\w.])['’]([1-9]0)['’]?s\b|(?<=\b[Tt]he )([1-9]0)['’]?s\b|(?<=\b(?:her|his|mid) )([1-9]0)['’]?s\b"
         r"|(?<=\bearly )([1-9]0)['’]?s\b", _decade),
    number_rule(r"(?<=\b(?:my|in) )([2-9]0)['’]?s\b|(?<=\b(?:late) )([1-9]0)['’]?s\b|(?<=mid-)([1-9]0)['’]?s\b", _decade),
    # Units.
    number_rule(r"(?<![\w.])(\d{1,2})'\s?(\d{1,2})(?:\"|''|”)",
    lambda m: f"{cardinal(m[1])} {'foot' if m[1] == '1' else 'feet'} {cardinal(m[2])} {'inch' if m[2] == '1' else 'inches'}"),
    number_rule(r"(?<![\w.])(\d{1,3}(?:\.\d)?)\"(?=[\s,.;)]|$)", _inches),
    number_rule(rf"(?:(?<![\w)])([-−]))?(?<![A-Za-z]){_START}({_NUM})(?:\s?({_UNIT_ONE}))?(?:(?:{_DASH}|\sto\s)({_NUM}))()(\s"
         rf"|-)?((?:{_UNIT_ONE})(?:/(?:{_PER_ONE})){{0,2}})(?![A-Za-z\d^])", _measured),
    number_rule(rf"(?:(?<![\w)])([-−]))?(?<![A-Za-z]){_START}({_NUM})()()(\s{_HUNDRED_SCALE})?(\s"
         rf"|-)?((?:{_UNIT_ONE})(?:/(?:{_PER_ONE})){{0,2}})(?![A-Za-z\d^])", _measured),
    rule(rf"(?<![\w/])((?:{_UNIT_ONE})/(?:{_PER_ONE})(?:/(?:{_PER_ONE}))?)(?![\w/])", _bare_unit),
    rule(r"(?<![\w/-])(kg|km|cm|mm|mph|kWh|GHz|MHz|kHz|Mbps|Gbps|mAh|kPa|m\^2|m\^3|km\^2)(?![\w/])", _bare_unit),
    number_rule(r"(?<![\w.])(\d{1,6}(?:\.\d{1,3})?)\s?[x×]\s?(\d{1,6}(?:\.\d{1,3})?)(?:\s?[x×]\s?(\d{1,6}))?(?![\w=])(?!\s?=)",
    lambda m: " by ".join(number(g) for g in m.groups() if g)),
    number_rule(r"(?<![\w.])(\d{1,6}(?:\.\d{1,3})?)[x×](?![\w]|\s?[-+=*/^])", _times),
    # Expressions.
    Rule(_MATH_RUN, _expression),
    rule(r"(?<=[\w)])\^\(?(-?\d{1,4}|[A-Za-z]{1,2})\)?", _power),
    rule("≤", " less than or equal to "), rule("≥", " greater than or equal to "), rule("≈", " approximately "), rule("≠",
    " not equal to "), rule("±", " plus or minus "),
    rule("√", " the square root of "), rule("∞", " infinity "), rule("π", " pi "), rule("÷", " divided by "),
    rule(r"(?<=\w)\s?×\s?(?=\w)", " times "),
    rule(r"(?<=\w)\s?=\s?(?=\w)", " equals "), rule(r"(?<=\w)\s>\s(?=\w)|(?<!\w)>(?=\s?\d)", " greater than "),
    rule(r"(?<=\w)\s<\s(?=\w)|(?<!\w)<(?=\s?\d)", " less than "),
    # Ordinals, decades, ranges, years.
    number_rule(r"(?<![\w.])(\d{1,18})(?:st|nd|rd|th)\b", lambda m: ordinal(m[1])),
    number_rule(r"(?<=[\s(])['’](\d\d)(?![\d\w])", lambda m: "oh " + cardinal(m[1]) if m[1][0] == "0" else cardinal(m[1])),
    number_rule(r"(?<![\d./])(?:(\d{1,4})\s)?(?<![\d./])(\d{1,4})/(\d{1,4})(?![\d/]|\.\d)", _slash),
    number_rule(r"(?<![\w.,-])(7[0-8]7)-([1-9]\d0)(?!\d)", lambda m: f"{pairs(m[1])} {pairs(m[2])}"),
    number_rule(rf"(?<![\w.,-])({_NUM})\s?[-–—~]\s?({_NUM})(?![\d\w.-]*[A-Za-z\d])", _range),
    number_rule(r"(?<![\w.,:$-])(?:1\d|20)\d\d(?![\d\w]|[.,:]\d|\s?%)", _year_or_number),
    # Names with numbers.
    number_rule(r"\b([Vv](?:ersion\s|er\.?\s)?)(\d{1,5}(?:\.\d{1,5}){1,5})(?![\d])", _version),
    number_rule(r"(?<![\d.])()(\d{1,5}(?:\.\d{1,5}){2,5})(?!\d)", _version),
    number_rule(r"(?<![\d.])([A-Za-z]{1,30}-?)(\d{1,20}(?:\.\d{1,6})?)(?!\d)([A-Za-z])?",
        lambda m: _glued_number(m) + (m[3] or "")),
    number_rule(r"(?<![\d.])()(\d{1,20}(?:\.\d{1,6})?)(?=[A-Za-z])()", lambda m: _name_number(m[2]) + " "),
    number_rule(r"(?<![\w.])()(\d{1,20})-?(?=[A-Z])()", lambda m: _name_number(m[2]) + " "),
    number_rule(r"\b([A-Z][A-Z\d]{1,9}|Boeing|Airbus|Ryzen|Radeon|Snapdragon|Room|room|Flight|flight|Suite|Route|Highway"
         r"|Interstate|Area|Gate|Bus) (\d{3,4})(?![\d\w]|[.,:/%-]\d)", _spaced_name_number),
    # Numbers that are left.
    number_rule(r"(?<![\w.)])[-−–](?=\.?\d)", "minus "),
    number_rule(r"(?<![\w)])\+(?=\d)", "plus "),
    number_rule(r"(?<=\d)\+(?!\w)", " plus"),
    # Roman numerals after a name.
    rule(r"(?<![A-Za-z])([A-Za-z]{2,14})\s([IVXLC]{1,7})(?![A-Za-z'’])(?!\.[A-Za-z])", _roman),
    number_rule(_NUM, _remaining),
    # Signs that are left.
    rule(r"(?<=\bC)#", " sharp"), rule(r"(?<=\bC)\+\+", " plus plus"), rule(r"(?<=[\s(])@(?=\w)|(?<=\w)\s?@\s?(?=\w)", " at "),
    rule(r"(?<!\w)#(?=[A-Za-z])", "hashtag "),
    rule(r"(?<=[\w)])\s?\+\s?(?=[\w(])", " plus "), rule(r"(?<=\w)\+(?!\w)", " plus"), rule("%", " percent"), rule("§",
    " section "), rule(r"°", " degrees"),
    rule(r"\s~\s?(?=\w)", " about "), rule("α", " alpha "), rule("β", " beta "), rule("γ", " gamma "), rule("[δΔ]", " delta "),
    rule("λ", " lambda "), rule("μ", " mu "), rule("σ", " sigma "), rule("[ωΩ]", " omega "), rule("θ", " theta "), rule("φ",
    " phi "), rule("ε", " epsilon "), rule("ρ", " rho "), rule("∑", " the sum of "),
]  # fmt: skip

