"""Mandarin and Cantonese: numbers, signs, units and short forms -> characters, in the order in which none disturbs another.

Addresses and codes first, then dates, times, money, measures, ranges, expressions, names of models, and last any number left.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from edge_tts.text.normalize import addresses, latin
from edge_tts.text.normalize.chinese_numbers import (
    cardinal,
    digits,
    number,
    phone,
    quantity,
)
from edge_tts.text.normalize.chinese_tables import (
    BARE_UNITS,
    CODE_WORDS,
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    DIGIT_NAMES,
    HYPHEN_NAMES,
    MEASURES,
    ORDINALS,
    PER_LEFT,
    PER_RIGHT,
    PLATE_PROVINCES,
    RATIO_WORDS,
    SCORE_WORDS,
    UNITS,
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

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_NUM = r"(?:\d{1,3}(?:,\d{3}){1,8}|\d{1,60})(?:\.\d{1,40})?"
_START = r"(?<![\d.])(?<!\d,)"  # where a number starts
_DASH = r"\s?(?:[–—―~～]{1,2}|-{1,2})\s?"
_TO = rf"(?:{_DASH}|至|到)"
_SCALE = r"(?:万亿|千万|百万|十万|亿|万|千|億|萬)"
_MEASURE = re.compile(rf"\s?(?:多|余|几)?(?:大|小|整|满|長|长)?(?:{alternatives(MEASURES)})")
_ORDINAL = re.compile(rf"(?:{alternatives(ORDINALS)})")
_COUNTED = [*MEASURES, *PER_LEFT, *CURRENCY_CODES, *"天%月日度点多余"]
_MEASURE_START = re.compile(rf"\s?(?:{alternatives(_COUNTED)})")
_SCORE = re.compile(alternatives(SCORE_WORDS))
_RATIO = re.compile(alternatives(RATIO_WORDS))
_BELOW_ZERO = re.compile("气温|温度|氣溫|溫度|低温|高温|体温|水温|室温|零下|最低|最高|降温|冷|天气|℃")
_DURATION_BEFORE = re.compile(
    r"(?:约|大约|近|将近|共|历时|经过|长达|过去|有|了|花|活|满|超过|不到|至少|最多|仅|用|需要|为期|再|每|隔|前|后|未来|最近"
    r"|几乎|整整|逾|达|迄今|距今|已有|任期|质保|保修|判|刑|徒刑|寿命|连续|只|才|等|差)\s?$"
)
_DURATION_AFTER = re.compile(r"\s?(?:前|后|後|内|來|来|历史|歷史|以上|以下|多|时间|的历史|寿命|左右|之久|老|经验|期|里|间"
                             r"|之内|之后|之前|才|没|不|一遇|国债|有期)")
_YEAR_AFTER = re.compile(
    r"\s?(?:班|财年|学年|年度|届|款|版|赛季|春|秋|夏|冬|世界杯|奥运|中国|全国|北京|上海|巴黎|东京|高考|校招|秋招|春招|春晚"
    r"|欧洲杯|亚运|考研|国考|双11|双十一|[QqHh][1-4](?!\d)|[）)])"
)


def normalize(text: str, *, cantonese: bool = False) -> str:
    """A run of Chinese text, Latin words inside it included, as it is read aloud."""
    traditional = _TRADITIONAL.search(text) or (cantonese and not _SIMPLIFIED.search(text))
    if _has_work(text):
        text = apply(_CANTONESE_RULES if cantonese else _RULES, text)
    text = latin.spell(text, plural="'s", and_word="和")
    return text.translate(_TO_TRADITIONAL) if traditional else text


_WORK = re.compile(r"[A-Za-z\d!-/:-@\[-`{-~①-⓿❶-➓Ⅰ-ⅿ°×÷±√≈≠≤≥⁄π∞‰‱→μΩα-ωΑ-Ω∑∂∈€£￥¥₩₹₽฿₫₿§²³–—―～²㊀-㊉]")


def _has_work(text: str) -> bool:
    return _WORK.search(text) is not None


# Characters that only the traditional script has, and what the rules write, in it.
_TRADITIONAL = re.compile("[們來時個說這對會學國開後過還經長東車馬電話寫讀買賣員錢麼請萬與為從應當關現實體讓將樣點號氣溫領"
                          "獎買價費額張條隻聽見機場總統計畫線給幾兩億負間門問題處頭離開運動報導華灣場顯書區縣廠廣產業發電樓"
                          "雙單層歲緊輕雜誌導師歷]")
_SIMPLIFIED = re.compile("[两万亿点负们说这对时间问没还让给个从东车马门见页风飞鱼讲边学开关电话买卖读写钱几后里系]")
_TO_TRADITIONAL = str.maketrans("点两万亿负减号圆吨摄", "點兩萬億負減號圓噸攝")


def _enclosed(match: re.Match[str]) -> str:
    character = match.group()
    value = number_value(character)
    return cardinal(str(value)) if value is not None else character


def _roman(match: re.Match[str]) -> str:
    return "，".join(cardinal(str(value)) for value in roman_values(match.group()))


def _ascii_roman(match: re.Match[str]) -> str:
    value = roman_value(match[1])
    return cardinal(str(value)) if value else match.group()


def _say(text: str, *, at: re.Match[str] | None = None) -> str:
    """A bare amount, in the light of what stands around it in the match's string."""
    return number(text) if at is None else _in_context(text, at.string[: at.start()], at.string[at.end() :])


def _in_context(text: str, before: str, after: str) -> str:
    plain = text.replace(",", "")
    if plain == "2" or (plain[0] == "2" and plain.strip("0") in ("2",) and len(plain) > 2):
        counted = bool(_MEASURE.match(after)) and not re.search(r"第$|[一二三四五六七八九十百千]$", before)
        if plain == "2" and counted:
            ordinal = _ORDINAL.match(after)
            measure = _MEASURE.match(after)
            counted = not ordinal or (measure is not None and len(measure.group()) > len(ordinal.group()))
            if after.startswith(("两", "兩")):
                counted = False
        if plain == "2":
            return "两" if counted else "二"
    if re.search(r"(?:第|公元前)$", before):
        return number(text)
    return quantity(text) if plain != "2" else number(text)


# --- addresses, codes, phones ---


def _code(match: re.Match[str]) -> str:
    word, between, code = match.groups()
    after = match.string[match.end() :]
    counted = _MEASURE_START.match(after) and not word.endswith(("码", "号", "碼", "號", "位"))
    few = len(re.sub(r"\D", "", code)) < 3 and not word.endswith(("码", "号", "碼", "號", "口令", "位", "窗口"))
    if counted or few or not re.search(r"\d", code):
        return match.group()
    groups = re.split(r"[ -]", code)
    return word + between + "，".join(_spelled(group) for group in groups)


def _spelled(code: str) -> str:
    return digits(re.sub(r"(?<=[A-Za-z])(?=[A-Za-z])", " ", code))


def _phone(match: re.Match[str], *, one: Callable[[str], str]) -> str:
    text = match.group()
    groups = ["转".join(one(part) for part in group.split("转")) for group in re.split(r"[^\d转]+", text) if group]
    return ("加" if text.startswith("+") else "") + "，".join(groups)


def _plate(match: re.Match[str]) -> str:
    return match[1] + _spelled(match[2] + match[3])


# --- dates and times ---


def _joint(match: re.Match[str]) -> str:
    """The word between the ends of a range: 至 where it is written, else 到."""
    return "至" if "至" in match.group() else "到"


def _year(text: str) -> str:
    return digits(text)


def _date(match: re.Match[str]) -> str:
    year, month, day = match.groups()
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return match.group()
    return f"{_year(year)}年{cardinal(month)}月{cardinal(day)}日"


def _year_month(match: re.Match[str]) -> str:
    return f"{_year(match[1])}年{cardinal(match[2])}月"


def _year_of(match: re.Match[str]) -> str:
    """N年: a year of the calendar digit by digit, a duration as an amount."""
    text = match[1]
    before, after = match.string[: match.start()], match.string[match.end() :]
    if re.search(r"公元前?$|西元前?$|前$", before) and len(text) < 4:
        return f"{number(text)}年"
    if len(text) == 4 and "1000" <= text < "3000":
        duration = _DURATION_BEFORE.search(before) or (_DURATION_AFTER.match(after) and text.endswith("00"))
        return f"{quantity(text)}年" if duration and not re.search(r"(?:截至|截止|从|自|到|至|在|于)$",
        before) else f"{digits(text)}年"
    if len(text) == 2 and (text[0] == "0" or re.match(r"\s?\d{1,2}月|初|春|夏|秋|冬|底|末|级|款|出生|生人|毕业|入学|入伍"
                                                      r"|高考|世界杯|奥运", after)):
        return f"{digits(text)}年"
    if len(text) == 2 and text >= "60" and re.search(r"(?:^|[，。、]|我是|他是|她是|于|自从|早在|在)$",
        before) and not _DURATION_AFTER.match(after):
        return f"{digits(text)}年"
    return f"{_in_context(text, before, '年')}年"


def _year_range(match: re.Match[str]) -> str:
    first, first_unit, second, unit = match.groups()
    after = match.string[match.end() :]
    plausible = "1000" <= first < "2200" and first < second < "2200"
    if unit or (plausible and not _MEASURE_START.match(after) and not re.search(r"[$¥￥€£约共]$", match.string[: match.start()])):
        return f"{digits(first)}{first_unit or ''}{_joint(match)}{digits(second)}{unit or ''}"
    return match.group()


def _bare_year(match: re.Match[str]) -> str:
    before, after = match.string[: match.start()], match.string[match.end() :]
    if _YEAR_AFTER.match(after) or (re.search(r"[（(]\s?$", before) and re.match(r"\s?[）)，,]", after)):
        return digits(match.group())
    return match.group()


def _day_range(match: re.Match[str]) -> str:
    month, first, first_unit, second, unit = match.groups()
    return (
        f"{(cardinal(month) + '月') if month else ''}{cardinal(first)}{first_unit or ''}{_joint(match)}{cardinal(second)}"
        f"{unit}"
    )


def _month_range(match: re.Match[str]) -> str:
    first, first_unit, second, unit = match.groups()
    return f"{cardinal(first)}{first_unit or ''}{_joint(match)}{cardinal(second)}{unit}"


def _clock(hour: str, minute: str, second: str | None) -> str:
    words = "两点" if hour.lstrip("0") == "2" else f"{cardinal(hour)}点"
    if minute != "00" or second:
        words += ("零" + cardinal(minute) if minute[0] == "0" else cardinal(minute)) + "分"
        words = words.replace("零零分", "零分")
    if second:
        words += cardinal(second) + "秒"
    return words


_HALF_DAYS = {"a": "上午", "p": "下午"}


def _time(match: re.Match[str]) -> str:
    """Clock times and ranges of them; `16:9` and scores are ratios."""
    hour, minute, second, half = match.group("h", "m", "s", "half")
    to = match["h2"]
    if not to and _is_ratio(match, hour, minute, second):
        return f"{number(hour)}比{number(minute)}"
    words = _clock(hour, minute, second)
    if to:
        words += _joint(match) + _clock(to, match["m2"], match["s2"])
    return _half_day(match, half) + words


def _half_day(match: re.Match[str], half: str | None) -> str:
    if not half or re.search(r"(?:上午|下午|早上|晚上|凌晨|中午|傍晚|上午|夜里|清晨|早晨|午后)\s?$",
        match.string[: match.start()]):
        return ""
    return _HALF_DAYS[half[0].lower()]


def _is_ratio(match: re.Match[str], hour: str, minute: str, second: str | None) -> bool:
    if second or len(hour) > 2 or (hour[0] == "0" and len(hour) > 1):
        return False
    before, after = match.string[max(0, match.start() - 12) : match.start()], match.string[match.end() : match.end() + 6]
    if _RATIO.search(before) or re.match(r"\s?的?(?:比例|比率|配比|屏|画面|宽高比|比分|大比分)", after):
        return True
    score = _SCORE.search(before) or _SCORE.search(after)
    return bool(score) and not re.search(r"(?:时间|于|在|点|上午|下午|晚上|早上|凌晨|中午|今晚|明早|明晚)\s?$", before)


def _short_time(match: re.Match[str]) -> str:
    return _half_day(match, match[2]) + ("两" if match[1] == "2" else cardinal(match[1])) + "点"


def _ratio(match: re.Match[str]) -> str:
    return "比".join(number(part) for part in re.split(r"\s?[:：]\s?", match.group()))


def _score(match: re.Match[str]) -> str:
    """`104-98`: a score where the sentence tells of a match."""
    around = match.string[max(0, match.start() - 25) : match.start()] + match.string[match.end() : match.end() + 15]
    after = match.string[match.end() :]
    if not _SCORE.search(around) or re.match(r"\s?(?:分钟|[岁天年元人名个%月日次倍万章页轮点])", after):
        return match.group()
    return f"{number(match[1])}比{number(match[2])}"


# --- money, measures, percent ---


def _amount(text: str, scale: str | None) -> str:
    """An amount with a scale after it: "1.5", "M" -> 一百五十万."""
    zeros = {"k": 3, "K": 3, "M": 6, "m": 6, "B": 9, "b": 9, "bn": 9, "T": 12}.get(scale or "")
    if zeros is None:
        return (quantity(text) if scale else number(text)) + (scale or "")
    whole, _, decimals = text.replace(",", "").partition(".")
    if len(decimals) > zeros:
        return number(text) + (scale or "")
    return _with_scale(whole + decimals + "0" * (zeros - len(decimals)))


def _with_scale(text: str) -> str:
    return quantity(text.lstrip("0") or "0")


def _money(match: re.Match[str]) -> str:
    minus, sign, first, first_scale, second, second_scale, per = match.groups()
    name = CURRENCY_SIGNS[sign.upper()]
    if name == "元" and re.search("日元|日本|东京|円|大阪|京都", match.string):
        name = "日元"
    words = ("负" if minus else "") + _money_amount(first, first_scale)
    if second:
        words += _joint(match) + _money_amount(second, second_scale)
    return words + name + ("每" if per else "")


def _money_amount(text: str, scale: str | None) -> str:
    words = _amount(text, scale)
    return "两" + words[1:] if words == "二" or words.startswith(("二百", "二千", "二万", "二亿")) else words


def _money_after(match: re.Match[str]) -> str:
    text, scale, sign = match.groups()
    return _money_amount(text, scale) + (CURRENCY_SIGNS.get(sign) or CURRENCY_CODES[sign.upper()])


def _unit_name(unit: str) -> str:
    """`km/h` -> 公里每小时, by its parts."""
    if unit in UNITS:
        return UNITS[unit]
    first, *others = re.split(r"[/·]", unit)
    names = [UNITS.get(first, first)] + [UNITS.get(other, other) for other in others]
    if "/" not in unit:
        return "".join(names)
    if unit.endswith("/s^2"):
        return f"{names[0]}每二次方秒"
    return "每".join(names)


def _signed(minus: str | None, match: re.Match[str], name: str) -> str:
    if not minus:
        return ""
    if name in ("摄氏度", "华氏度", "度") and (name != "度" or _BELOW_ZERO.search(match.string)):
        return "零下"
    return "负"


def _measured(match: re.Match[str]) -> str:
    """A number with a unit, or a range of such."""
    minus, first, first_unit, to_minus, second, scale, unit = match.groups()
    before = match.string[: match.start()]
    letter = len(unit) == 1 and unit.isascii() and unit.isalpha()
    if unit == "x" and re.search(r"[=+^<>≤≥]", match.string):
        return match.group()
    if letter and (re.search(r"[A-Za-z]\s$", before) or (unit in "AJN" and not _ELECTRIC.search(match.string))):
        return match.group()  # a letter: iPhone 5s, 5A景区
    name = _unit_name(unit)
    sign = _signed(minus, match, name)
    words = sign + _counted(first, _unit_name(first_unit) if first_unit else "" if not second else name)
    if first_unit:
        words += _unit_name(first_unit)
    if second:
        other = _signed(to_minus, match, name)
        words += _joint(match) + ("零" if not other and sign == "零下" and second == "0" else other) + (_counted(second,
            name) if second != "0" or not sign else "")
    return words + (scale or "") + name


_ELECTRIC = re.compile(r"电[流压源池路]|充电|功率|保险丝|插座|\dV|\dW|\dmAh|[作受拉推压]力|做功|能量|热量")


def _counted(text: str, name: str) -> str:
    if text == "2" and name and ("A" <= name[0] <= "z" or name.endswith("度")):
        return "二"
    return quantity(text)


def _percent(match: re.Match[str]) -> str:
    minus, first, _, second_minus, second, sign = match.groups()
    name = {"%": "百分之", "‰": "千分之", "‱": "万分之"}[sign]
    plus = {"-": "负", "−": "负", "+": "正", "±": "正负", None: ""}[minus]
    words = plus + name + number(first)
    if second:
        words += _joint(match) + ("负" if second_minus else "") + name + number(second)
    return words


def _fraction(match: re.Match[str]) -> str:
    whole, top, bottom = match.groups()
    words = f"{_part(bottom)}分之{_part(top)}"
    return f"{number(whole)}又{words}" if whole else words


def _part(text: str) -> str:
    return number(text) if text.replace(".", "").isdigit() else text


def _quotient(top: str, bottom: str) -> str:
    """`1/2` in an expression is a fraction, `8/2` a division."""
    proper = 0 < int(top) < int(bottom)
    return f"{number(bottom)}分之{number(top)}" if proper else f"{number(top)}除以{number(bottom)}"


def _slash_fraction(match: re.Match[str]) -> str:
    top, bottom = match.groups()
    if bottom.strip("0") == "" or top[0] == "0" or bottom[0] == "0":
        return match.group()
    return f"{number(bottom)}分之{number(top)}"


# --- ranges, models, expressions, the rest ---


def _range(match: re.Match[str]) -> str:
    ordinal, first, first_scale, first_unit, _, second = match.groups()
    after = match.string[match.end() :]
    before = match.string[: match.start()]
    if ordinal:
        return f"第{number(first)}{first_unit or ''}到第{number(second)}"
    if re.search(r"[A-Za-z][\s-]?$", before) and not first_scale and not _MEASURE_START.match(after):
        return match.group()
    unit = first_unit or after
    low = _in_context(first, before, first_scale or unit)
    high = _in_context(second, "到", after)
    return f"{low}{first_scale or ''}{first_unit or ''}到{high}"


def _hyphen_number(match: re.Match[str]) -> str:
    """A hyphen between a character and a number: a model's name (苏-57) or a minus sign (亏损-120万元)."""
    before, text = match.string[: match.start()], match[1]
    after = match.string[match.end() :]
    if re.search(rf"(?:{alternatives(HYPHEN_NAMES)})$", before):
        return _model_number(text)
    amount = "." in text or len(text) > 3 or _MEASURE_START.match(after) or re.match(rf"{_SCALE}|\s?[%‰°]", after)
    told = re.search(r"(?:为|是|到|至|了|得|比|约|达|近|亏损|余额|利润|增长|增速|下降|变化|变动|差|值|数|分|率|等于|加|减"
                     r"|乘|于|和|或|与|乎)$", before)
    return "负" + _in_context(text, "", after) if amount or told else _model_number(text)


def _model_number(text: str) -> str:
    """A number inside a name: short ones as amounts, long ones and leading zeros digit by digit."""
    whole, point, rest = text.partition(".")
    words = digits(whole) if len(whole) > 2 or (whole[0] == "0" and len(whole) > 1) else cardinal(whole)
    return words + "".join("点" + digits(part) for part in rest.split(".")) if point else words


def _latin_number(match: re.Match[str]) -> str:
    """Latin letters followed by a number, glued, hyphened or spaced: GPT-4o, RTX 4090D, iPhone 16, Qwen2.5."""
    word, joint, text = match.groups()
    after = match.string[match.end() :]
    counted = _MEASURE_START.match(after) or re.match(rf"{_SCALE}", after)
    if joint.isspace() and (counted or "," in text):
        return f"{word} {_in_context(text, '', after)}"
    return f"{word} {_model_number(text)}"


def _number_latin(match: re.Match[str]) -> str:
    return _model_number(match[1])


_OPERATORS = {"+": "加", "-": "减", "−": "减", "×": "乘", "*": "乘", "÷": "除以", "=": "等于", "≠": "不等于", "<": "小于",
    ">": "大于", "≤": "小于等于", "≥": "大于等于", "≈": "约等于", "≡": "恒等于", "±": "正负"}  # fmt: skip
_OPERATOR = re.compile(r"\s?([-+−×*÷=≠<>≤≥≈≡±/])\s?")


def _expression(match: re.Match[str]) -> str:
    """A run of digits, letters and signs: an expression if it has an operator that nothing else has."""
    run = match.group()
    if not re.search(r"[=×÷≠≤≥≈√]|[\d)]\s?\+\s?[\d(a-z]|(?<![\w-])[A-Za-z0-9]{1,3}\s?[<>]\s?[\w-]|\d \* \d|\d \- \d"
                     r"|[a-z]\s?\+\s?[a-z]\b", run):
        return run
    run = re.sub(r"(?<![\d/])(\d{1,6})/(\d{1,6})(?![\d/])", lambda m: _quotient(m[1], m[2]), run)
    run = re.sub(r"(?:(?<=^)|(?<=[=(<>≤≥≈×÷+*/（,]))(\s?)[-−](?=[\d.A-Za-z(])", r"\1负", run)
    run = re.sub(r"(?<=[\d\w)）])\s?/\s?(?=[\w(（])", "除以", run)
    return _OPERATOR.sub(lambda m: _OPERATORS.get(m[1], m.group()), run)


def _power(match: re.Match[str]) -> str:
    base, exponent = match.groups()
    name = {"2": "平方", "3": "立方"}.get(exponent)
    return f"{base}的{name}" if name else (
        f"{base}的"
        f"{'负' + number(exponent[1:]) if exponent[0] == '-' else number(exponent) if exponent[0].isdigit() else exponent}次"
        "方"
    )


def _plus(match: re.Match[str]) -> str:
    text, scale = match.groups()
    return f"{_amount(text, scale)}多"


def _remaining(match: re.Match[str]) -> str:
    """Any number that no other rule has read."""
    text = match.group()
    before, after = match.string[: match.start()], match.string[match.end() :]
    plain = text.replace(",", "")
    if "," not in text and "." not in text:
        if len(text) > 16 or (len(text) > 1 and text[0] == "0"):
            return digits(text)
        if len(text) >= 9 and not _MEASURE_START.match(after):
            return digits(text)
        if text in DIGIT_NAMES and not _MEASURE_START.match(after) and not re.match(r"\s?[倍年米号]", after):
            return digits(text)
        if 3 <= len(text) <= 5 and re.match(r"\s?(?:室|路(?!人)|次列车|次航班|航班|房间|房|教室|宿舍|号房|号楼|国道|高速"
                                            r"|病房|包间|会议室|窗口|公交|线路|专线|热线|寝室)", after):
            return digits(text)
    if plain.count(".") == 1 and len(plain.partition(".")[0]) > 16:
        return digits(plain.replace(".", "点"))
    return _in_context(text, before, after)


def _dotted(match: re.Match[str]) -> str:
    """Versions: 2.3.1 part by part."""
    return "点".join(_version_part(part) for part in match[1].split("."))


def _version_part(part: str) -> str:
    return digits(part) if len(part) > 2 or (part[0] == "0" and len(part) > 1) else cardinal(part)


def _per(match: re.Match[str]) -> str:
    return f"{match[1]}每{_unit_name(match[2])}"


def _bare_unit(match: re.Match[str]) -> str:
    unit = match[1]
    parts = unit.split("/")
    if len(parts) > 1 and (not all(part in UNITS for part in parts) or all(len(part) == 1 and part.isupper() for part in parts)):
        return match.group()
    return _unit_name(unit)


_UNIT_ONE = alternatives(UNITS)
_UNIT = rf"(?:{_UNIT_ONE})(?:[/·](?:{_UNIT_ONE}|{alternatives(PER_RIGHT)})){{0,2}}"
_SIGNS = alternatives(CURRENCY_SIGNS)
_CODES = alternatives(CURRENCY_CODES)

_CONNECT = (
    r"(?:\s?(?:是|为|：|:|叫|係|为：|是：|号码|号|后[一二三四五六七八两\d]位|后几位|尾号|前[一二三四五六七八\d]位|[“\"「]"
    r"|\s)){0,4}\s?"
)


def _build(one: Callable[[str], str]) -> list[Rule]:
    return [
        *(rule(signs, sign) for signs, sign in ((">=", "≥"), ("<=", "≤"), ("!=", "≠"))),
        # Enclosed and roman numbers.
        rule(r"[Ⅰ-ⅿ]{1,8}", _roman),
        rule(r"[①-⓿❶-➓㊀-㊉㉑-㉟㊱-㊿]", _enclosed),
        rule(r"(?<=第)\s?([IVXLC]{1,7})(?=\s?[章节部卷集篇回届季幕代期条款世])", _ascii_roman),
        rule(r"(?<![A-Za-z])(I{1,3}|I?V|VI{1,3}|IX|XI{0,3}|XI?V)(?=型|期|级|类|度|世|卷|部|册)", _ascii_roman),
        # Addresses.
        *addresses.rules("zh"),
        # Codes, plates, phones.
        number_rule(rf"([{PLATE_PROVINCES}])([A-HJ-NP-Z])[·•・\s]?((?=[A-Z0-9]{{0,5}}\d)[A-HJ-NP-Z0-9]{{5,6}})(?![A-Za-z0-9])",
            _plate),
        number_rule(r"(?<![\d.+])\+\d{1,3}[ -]?\(?\d{1,4}\)?(?:[ -]?\d{2,4}){1,4}(?![\d.]\d|\d)", partial(_phone, one=one)),
        number_rule(r"(?<![\d.-])86[ -]1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d)", partial(_phone, one=one)),
        number_rule(r"(?<![\d.])1[3-9]\d([ -]?)\d{4}\1\d{4}(?![\d.]\d|\d)", partial(_phone, one=one)),
        number_rule(r"(?<![\d.])1[3-9]\d \d{3} \d{5}(?!\d)", partial(_phone, one=one)),
        number_rule(r"(?<![\d.])[（(]?0\d{2,3}[)）]?[ -]?\d{3,4}[ -]?\d{4}(?:(?:-|转)\d{1,6})?(?!\d)", partial(_phone, one=one)),
        number_rule(r"(?<![\d.])[48]00[ -]?\d{3}[ -]?\d{4}(?!\d)|(?<![\d.])[48]00[ -]\d{4}[ -]\d{3}(?!\d)", partial(_phone,
            one=one)),
        *([rule(r"(?<![\d.])[2-9]\d{3}[ -]?\d{4}(?!\d|\s?[年元個人蚊])", partial(_phone, one=one))] if one is digits else []),
        number_rule(r"(?<!\d)(?:\d{4}[ -]){3}\d{4}(?:[ -]\d{3})?(?!\d)", partial(_phone, one=digits)),
        number_rule(rf"({alternatives(CODE_WORDS)})({_CONNECT})((?<![\d.])[A-Za-z]{{0,4}}\d[A-Za-z0-9]{{0,40}}(?:[ "
             rf"-][A-Za-z0-9]{{2,10}}|-[A-Za-z0-9](?![A-Za-z0-9])){{0,5}})(?![.,:/]\d)", _code),
        number_rule(r"(?<![\dA-Za-z.])\d{17}[Xx](?![A-Za-z\d])", lambda m: _spelled(m.group())),
        number_rule(r"(?<![\dA-Za-z.])(0\d{1,9}[A-Z])(?![A-Za-z\d])", lambda m: _spelled(m.group())),
        # Names made of digits.
        number_rule(r"双\s?1([12])(?!\d)", lambda m: "双十" + digits(m[1])),
        number_rule(r"(?<!\d)([0-9][05])(?=[后後](?!\d|[的]?[天年月秒]))", lambda m: digits(m[1])),
        number_rule(r"(?<![\d.])(618|315|520|521|996|007|985|211|404|1024|110|119|120|122|12306|12315|12345|10086|10010"
             r"|95588)(?=大促|活动|晚会|工作制|高校|大学|工程|购物节|年中|程序员节|急救|报警|火警|救护|期间|促销|热线|窗口"
             r"|客服|指挥|错误|院校|平台|网站|官网)", lambda m: digits(m[1])),
        number_rule(r"(?<!\d)0([1-9])(?=[月日号號])", r"\1"),
        # Dates.
        number_rule(r"(?<![\d./])(\d{4})\s?[-/.]\s?(0?[1-9]|1[0-2])\s?[-/.]\s?(3[01]|[12]\d|0?[1-9])(?!\d|[./]\d"
             r"|-\d{1,2}(?!\d))[日号]?", _date),
        number_rule(r"(?<![\d./-])((?:19|20)\d\d)[-/.](0[1-9]|1[0-2])(?![\d./-]|\s?[%元倍个])月?", _year_month),
        number_rule(rf"(?<![\d.])(\d{{4}})(年)?{_TO}(\d{{4}})(?!\d|\.\d)(年)?", _year_range),
        number_rule(rf"(?<![\d.])(?:(\d{{1,2}})月)?(\d{{1,2}})(日|号|號)?{_TO}(\d{{1,2}})(日|号|號)(?![楼线院厅])", _day_range),
        number_rule(rf"(?<![\d.])(\d{{1,2}})(月)?{_TO}(\d{{1,2}})(月)(?!球)", _month_range),
        number_rule(r"(?<![\d.,])(\d{2})(?=年代)", lambda m: digits(m[1]) if m[1][0] == "0" else cardinal(m[1])),
        number_rule(r"(?<![\d.,])(\d{1,4})\s?年(?!级)", _year_of),
        number_rule(r"(?<![\d.,])(\d{4})(?=年代)", lambda m: digits(m[1])),
        number_rule(r"(?<![\d.,A-Za-z-])(?<![A-Za-z] )(?:19|20)\d\d(?![\d.,:%]|\s?[A-Za-z])", _bare_year),
        # Clock times, ratios, scores.
        number_rule(rf"(?<![\d.:])(?P<h>[01]?\d|2[0-4]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d))?(?:{_TO}(?P<h2>[01]?\d"
             r"|2[0-4]):(?P<m2>[0-5]\d)(?::(?P<s2>[0-5]\d))?)?(?![\d:])分?(?:\s?(?P<half>[AaPp])\.?[Mm]\.?(?![A-Za-z]))?", _time),
        number_rule(r"(?<![\d.:])(1[0-2]|[1-9])\s?([AaPp])\.?[Mm]\b\.?", _short_time),
        number_rule(r"(?<![\d.:])\d{1,6}(?:\.\d{1,4})?(?:\s?[:：]\s?\d{1,6}(?:\.\d{1,4})?){1,4}(?![\d:])", _ratio),
        number_rule(r"(?<![\d.-])(\d{1,3})\s?[-–—]\s?(\d{1,3})(?![\d.-])", _score),
        number_rule(r"(?<![\d.])2(?=\s?点(?!\d))(?!\s?点[零〇])", "两"),
        number_rule(r"(?<![\d.])(\d{1,2})点(\d{1,2})(?=分|$|[^\d.%])(?!%)",
        lambda m: f"{'两' if m[1] == '2' else cardinal(m[1])}点"
                  f"{('零' if m[2][0] == '0' and len(m[2]) > 1 else '') + cardinal(m[2])}"),
        # Money.
        number_rule(rf"(?:(?<![\w)）])([-−]))?({_SIGNS})\s?({_NUM})\s?({_SCALE}"
             rf"|[kKMmBT](?![A-Za-z]))?(?:{_TO}(?:{_SIGNS})?\s?({_NUM})\s?({_SCALE}"
             rf"|[kKMmBT](?![A-Za-z]))?)?(\s?/(?=[{_HAN}A-Za-z]))?", _money, re.IGNORECASE),
        number_rule(rf"(?<![A-Za-z])({_CODES})\s?({_NUM})\s?({_SCALE})?(?!\s?[A-Za-z\d])", lambda m: _money_amount(m[2],
        m[3]) + CURRENCY_CODES[m[1].upper()]),
        number_rule(rf"{_START}({_NUM})\s?({_SCALE})?\s?([€£₩₹₽฿₫]|(?:{_CODES})(?![A-Za-z]))", _money_after),
        # Percent.
        number_rule(rf"(?:(?<![A-Za-z\d.)）%])([-−+±]))?{_START}({_NUM})(%|‰)?(?:{_TO}(-)?({_NUM}))?\s?([%‰‱])", _percent),
        # Fractions.
        rule(r"(?:(?<![\d.])(\d{1,6})\s)?\s?(?<![\d.])(\w{1,20}|[πα-ω])⁄(\w{1,20}|[πα-ω])", _fraction),
        number_rule(r"(?<![\d./])(\d{2,3})/(\d{2,3})(?=\s?(?:mmHg|毫米汞柱))", lambda m: f"{cardinal(m[1])}比{cardinal(m[2])}"),
        number_rule(r"(?<![\w.^])(\d{1,20}(?:\.\d{1,20})?)\^\(?(-?\d{1,4})\)?", _power),
        rule(rf"(?<=次方)\s?({_UNIT})(?![A-Za-z\d^])", lambda m: _unit_name(m[1])),
        number_rule(r"(?<=\d)(V|W|kg|cm|mm|m|mAh|Ah|GB)(?=\d{1,6}(?:\.\d{1,3})?(?:V|W|A|kg|cm|mm|m|mAh|Ah|GB)(?![A-Za-z]))",
            r"\1，"),
        # Numbers with units.
        number_rule(rf"(?:(?<![A-Za-z\d.)）°])([-−]))?(?<![A-Za-z]){_START}({_NUM})\s?({_UNIT_ONE})?(?:(?:{_TO})(-)?({_NUM}))\s?("
             rf"{_SCALE})?\s?({_UNIT})(?![A-Za-z\d^])", _measured),
        number_rule(rf"(?:(?<![A-Za-z\d.)）°])([-−])|(?<![A-Za-z-])){_START}({_NUM})()()()\s?({_SCALE})?\s?({_UNIT})(?![A-Za-"
                    r"z\d^])",
        _measured),
        rule(rf"({alternatives(PER_LEFT)})/({_UNIT_ONE}|{alternatives(PER_RIGHT)})(?![A-Za-z\d])", _per),
        rule(r"(?<=[卡克元升次米焦])/(?=\d|[一二两三四五六七八九十百千])", "每"),
        rule(rf"(?<=[{_HAN}每])/({alternatives(BARE_UNITS)})(?![A-Za-z\d])", lambda m: "每" + _unit_name(m[1])),
        rule(rf"(?<![A-Za-z0-9./])((?:{_UNIT_ONE})(?:/(?:{_UNIT_ONE})){{1,2}})(?![A-Za-z0-9/])", _bare_unit),
        rule(rf"(?<![A-Za-z0-9./-])(?<![A-Za-z] )({alternatives(BARE_UNITS)})(?![A-Za-z0-9/]| [A-Za-z])", _bare_unit),
        rule(rf"(?<=[\d{_HAN}])\s?°(?!C|F)", "度"),
        number_rule(r"(?<=[^\w])-(\d{1,3}(?:\.\d{1,3})?)(?=\s?度)|(?<=[温达到为至降])-(\d{1,3}(?:\.\d{1,3})?)(?=\s?度)",
        lambda m: ("零下" if _BELOW_ZERO.search(m.string) else "负") + number(m[1] or m[2])),
        number_rule(rf"{_START}({_NUM})\s?({_SCALE})?\+(?!\s?[\d=(A-Za-z])", _plus),
        # Expressions and powers.
        rule(r"[\d.,A-Za-z()（）√π^\s+\-−×*÷=≠<>≤≥≈≡±/%⁄α-ω]{3,400}", _expression),
        rule(r"([\d.]{1,40}|[A-Za-z)）π一-龥])\^\(?(-?\d{1,4}|[A-Za-z]{1,2})\)?", _power),
        rule(r"≤", "小于等于"), rule(r"≥", "大于等于"), rule(r"≈", "约等于"), rule(r"≠", "不等于"), rule(r"±", "正负"),
        rule("√", "根号"),
        rule(r"(?<=[\d\w)）一-龥])\s?×\s?(?=[\w(（一-龥])", "乘"), rule(r"÷", "除以"), rule("∞", "无穷大"), rule("π", "派"),
        rule(r"(?<=[\w一-龥])\s?=\s?(?=[\w一-龥-])", "等于"),
        rule(r"(?<![\w<])\s?>\s?(?=[\d零一二两三四五六七八九十百负])|(?<=\w)\s?>\s?(?=\w)", "大于"),
        rule(r"(?<![\w>])\s?<\s?(?=[\d零一二两三四五六七八九十百负])|(?<=\w)\s?<\s?(?=\w)", "小于"),
        number_rule(r"(?<![\d.])(\d{1,6})/(\d{1,6})(?![\d/]|\.\d)", _slash_fraction),
        # Ranges.
        number_rule(rf"(?:(第)\s?)?{_START}({_NUM})\s?({_SCALE})?([章节页条回集届名位层级期卷课元天岁次个人分年月日周楼号点时])?"
             rf"{_DASH}(第)?({_NUM})(?![\d.-]\d|\d)", _range),
        # Names with numbers.
        number_rule(r"(?<![\d.])v(\d{1,5}(?:\.\d{1,5}){1,4})", lambda m: "V" + _dotted(m), re.IGNORECASE),
        number_rule(r"(?<![\d.])(\d{1,5}(?:\.\d{1,5}){2,5})(?![\d])", _dotted),
        rule(r"(?<=[点分时日号月])\s?[-~–—]\s?(?=[上下中晚早凌次翌当明]|零?[一二两三四五六七八九十])", "到"),
        number_rule(r"(?<=波音|空客|麦道|宝马|奥迪|标致|奔驰)(\d{3})(?!\d|[.,]\d|\s?[架辆台元万个])", lambda m: digits(m[1])),
        number_rule(rf"(?<=[{_HAN}])-(\d{{1,12}}(?:\.\d{{1,6}})?)", _hyphen_number),
        number_rule(r"([A-Za-z]{1,30})(\s?-?\s?)(?<![A-Za-z] -)(\d{1,3}(?:,\d{3}){1,3}|\d{1,20}(?:\.\d{1,6})?)(?![\d])",
            _latin_number),
        number_rule(r"(?<![\d.])(\d{1,20}(?:\.\d{1,6})?)(?=[A-Za-z])", _number_latin),
        number_rule(rf"(?<![\w)）{_HAN}])[-−](?=\d)", "负"),
        number_rule(rf"(?<![\w)）{_HAN}])\+(?=\d)", "正"),
        number_rule(r"(?<![\d.])\.(?=\d)", "零点"),
        number_rule(_NUM, _remaining),
        # Signs that are left.
        rule(r"(?<=C)#", " sharp"), rule(r"(?<=C)\+\+", "加加"),
        rule(r"#(?=\w)|＃", ""), rule(r"@", "艾特"),
        rule(rf"(?<=[\w{_HAN}])\s?\+\s?(?=[\w{_HAN}])", "加"),
        rule(rf"(?<=[{_HAN}])\+", "加"),
        rule("%", "百分号"), rule("§", "第"), rule("α", "阿尔法"), rule("β", "贝塔"), rule("γ", "伽马"), rule("δ", "德尔塔"),
        rule("Δ", "德尔塔"), rule("λ", "兰姆达"), rule("μ", "缪"), rule("σ", "西格玛"), rule("[Ωω]", "欧米伽"), rule("θ",
        "西塔"), rule("φ", "斐"), rule("ε", "艾普西隆"), rule("ρ", "柔"), rule("∑", "求和"), rule("∈", "属于"),
    ]  # fmt: skip


_RULES = _build(phone)
_CANTONESE_RULES = _build(digits)
