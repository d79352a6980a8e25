"""Japanese: numbers with their counters -> kana, because the sounds of the two merge (600円 ろっぴゃくえん, 3本 さんぼん).

Kanji that are no counter stay: their reading is for whoever turns text into sounds.
"""

from __future__ import annotations

import re

from edge_tts.text.normalize import latin
from edge_tts.text.normalize.rules import Rule, alternatives, apply, number_value, rule

_DIGITS = ["ぜろ", "いち", "に", "さん", "よん", "ご", "ろく", "なな", "はち", "きゅう"]
_HUNDREDS = {3: "さんびゃく", 6: "ろっぴゃく", 8: "はっぴゃく", 1: "ひゃく"}
_THOUSANDS = {3: "さんぜん", 8: "はっせん", 1: "せん"}
_BIG = ["", "まん", "おく", "ちょう"]
_LONGEST = 16

# Counter -> (kana, how its sound and the number's merge).
_COUNTERS = {
    **{c: (k, "k") for c, k in {"回": "かい", "個": "こ", "箇所": "かしょ", "か所": "かしょ", "ヶ所": "かしょ",
    "カ所": "かしょ", "か月": "かげつ", "ヶ月": "かげつ", "カ月": "かげつ", "ヵ月": "かげつ", "か国": "かこく",
    "ヶ国": "かこく", "カ国": "かこく", "件": "けん", "軒": "けん", "課": "か", "曲": "きょく", "校": "こう", "機": "き",
    "球": "きゅう", "巻": "かん", "階": "かい", "階建て": "かいだて"}.items()},
    **{c: (k, "s") for c, k in {"歳": "さい", "才": "さい", "冊": "さつ", "週間": "しゅうかん", "週": "しゅう", "頭": "とう",
    "点": "てん", "通": "つう", "足": "そく", "社": "しゃ", "種類": "しゅるい", "章": "しょう", "世紀": "せいき", "席": "せき",
    "周": "しゅう", "着": "ちゃく", "丁目": "ちょうめ", "世帯": "せたい", "センチ": "センチ", "トン": "トン", "隻": "せき",
    "セット": "セット", "ページ": "ページ", "ポイント": "ポイント", "キロ": "キロ", "カップ": "カップ"}.items()},
    **{c: (k, "h") for c, k in {"本": "ほん", "杯": "はい", "匹": "ひき", "泊": "はく", "発": "はつ", "票": "ひょう",
    "分": "ふん", "分間": "ふんかん", "歩": "ほ", "拍": "はく", "品": "ひん"}.items()},
    **{c: (k, "") for c, k in {"円": "えん", "枚": "まい", "台": "だい", "番": "ばん", "番目": "ばんめ", "番線": "ばんせん",
    "度": "ど", "倍": "ばい", "号": "ごう", "号室": "ごうしつ", "号車": "ごうしゃ", "名": "めい", "秒": "びょう", "年": "ねん",
    "年間": "ねんかん", "年生": "ねんせい", "年代": "ねんだい", "時": "じ", "時間": "じかん", "時半": "じはん", "月": "がつ",
    "日": "にち", "日間": "にちかん", "人": "にん", "人前": "にんまえ", "つ": "つ", "万": "まん", "億": "おく", "兆": "ちょう",
    "語": "ご", "問": "もん", "代": "だい", "割": "わり", "位": "い", "両": "りょう", "行": "ぎょう", "部": "ぶ",
    "部屋": "へや", "面": "めん", "文字": "もじ", "倍速": "ばいそく", "ドル": "ドル", "ユーロ": "ユーロ",
    "メートル": "メートル", "グラム": "グラム", "リットル": "リットル", "パーセント": "パーセント", "次": "じ", "等": "とう",
    "畳": "じょう", "輪": "りん", "学期": "がっき", "級": "きゅう"}.items()},
}  # fmt: skip
_UNITS = {
    "km": "キロメートル", "cm": "センチメートル", "mm": "ミリメートル", "m": "メートル", "kg": "キログラム", "mg": "ミリグラム",
    "g": "グラム", "ml": "ミリリットル", "mL": "ミリリットル", "L": "リットル", "t": "トン", "%": "パーセント",
    "％": "パーセント", "°C": "ど", "°": "ど",
    "km/h": "キロメートル毎時", "m^2": "平方メートル", "km^2": "平方キロメートル", "m^3": "立方メートル", "GB": "ギガバイト",
    "MB": "メガバイト", "TB": "テラバイト", "KB": "キロバイト", "kW": "キロワット", "W": "ワット", "V": "ボルト",
    "Hz": "ヘルツ", "kHz": "キロヘルツ", "MHz": "メガヘルツ", "GHz": "ギガヘルツ", "kcal": "キロカロリー",
    "hPa": "ヘクトパスカル", "dB": "デシベル", "‰": "パーミル",
}  # fmt: skip
_CURRENCIES = {"¥": "えん", "￥": "えん", "$": "ドル", "US$": "ドル", "€": "ユーロ", "£": "ポンド", "₩": "ウォン"}
_DAYS = {1: "ついたち", 2: "ふつか", 3: "みっか", 4: "よっか", 5: "いつか", 6: "むいか", 7: "なのか", 8: "ようか",
    9: "ここのか", 10: "とおか", 14: "じゅうよっか", 20: "はつか", 24: "にじゅうよっか"}  # fmt: skip
_THINGS = ["", "ひとつ", "ふたつ", "みっつ", "よっつ", "いつつ", "むっつ", "ななつ", "やっつ", "ここのつ"]
_LETTERS = dict(
    zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "エー ビー シー ディー イー エフ ジー エイチ アイ ジェー ケー エル エム エヌ オー ピー キュー アール エス ティー "
        "ユー ブイ ダブリュー エックス ワイ ゼット".split(), strict=True)
)  # fmt: skip
_HARDENED = {"は": ("ぱ", "ば"), "ひ": ("ぴ", "び"), "ふ": ("ぷ", "ぶ"), "へ": ("ぺ", "べ"), "ほ": ("ぽ", "ぼ")}
_NUM = r"(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,40})(?:\.\d{1,20})?"


def normalize(text: str) -> str:
    """Japanese text with its numbers in kana, its initialisms in katakana letters."""
    text = apply(_RULES, text)
    text = latin.spell(text, plural="ズ", and_word="アンド")
    return re.sub(r"(?<![A-Za-z])[A-Z](?: [A-Z])*(?![A-Za-z])", lambda m: "".join(_LETTERS[c] for c in m.group() if c != " "),
    text)


def digits(text: str) -> str:
    """Digit by digit; other characters are dropped."""
    return "".join(_DIGITS[int(c)] for c in text if c.isdigit())


def cardinal(text: str) -> str:
    """A whole number in kana: "600" -> "ろっぴゃく"; past the scale's end digit by digit."""
    number = text.lstrip("0")
    if not number:
        return _DIGITS[0]
    if len(number) > _LONGEST:
        return digits(number)
    groups = [number[max(0, end - 4) : end] for end in range(len(number), 0, -4)]
    words = ""
    for index in range(len(groups) - 1, -1, -1):
        value = int(groups[index])
        if value:
            group = _below_ten_thousand(value)
            if index and group == "せん":
                group = "いっせん"
            words += _merged(group, "ちょう") + "ちょう" if index == 3 else group + _BIG[index]
    return words


def _below_ten_thousand(value: int) -> str:
    thousands, rest = divmod(value, 1000)
    hundreds, rest = divmod(rest, 100)
    tens, ones = divmod(rest, 10)
    words = _THOUSANDS.get(thousands, _DIGITS[thousands] + "せん") if thousands else ""
    words += _HUNDREDS.get(hundreds, _DIGITS[hundreds] + "ひゃく") if hundreds else ""
    words += ("" if tens == 1 else _DIGITS[tens]) + "じゅう" if tens else ""
    return words + (_DIGITS[ones] if ones else "")


def _merged(words: str, kind: str) -> str:
    """The number's end before a counter: いち -> いっ, ろく -> ろっ, はち -> はっ, じゅう -> じゅっ."""
    changes = {"いち": "いっ", "はち": "はっ", "じゅう": "じゅっ"}
    if kind in ("k", "h"):
        changes |= {"ろく": "ろっ", "ひゃく": "ひゃっ", "びゃく": "びゃっ", "ぴゃく": "ぴゃっ"}
    for end, merged in changes.items():
        if words.endswith(end):
            return words.removesuffix(end) + merged
    return words


def number(text: str) -> str:
    """A number with decimals: "3.14" -> "さんてんいちよん"."""
    whole, point, decimals = text.replace(",", "").partition(".")
    if len(whole) > 1 and whole[0] == "0":
        return digits(whole)
    words = cardinal(whole or "0")
    return f"{_merged(words, 's')}てん{digits(decimals)}" if point and decimals else words


def counted(text: str, counter: str) -> str:
    """A number with its counter in kana: ("3", "本") -> "さんぼん"."""
    plain = text.replace(",", "")
    value = int(plain) if plain.isdigit() and len(plain) < 16 else -1
    kana, kind = _COUNTERS[counter]
    if counter in ("日", "日間") and value in _DAYS:
        return ("いちにち" if counter == "日間" and value == 1 else _DAYS[value]) + kana.removeprefix("にち")
    if counter == "つ" and 0 < value < 10:
        return _THINGS[value]
    if counter == "人" and value in (1, 2):
        return "ひとり" if value == 1 else "ふたり"
    words = number(text)
    if value < 0:
        return words + kana
    last = value % 10
    if counter in ("月", "時", "時間", "時半", "年", "年間", "年生", "人", "人前", "円") and last == 4 and value % 100 != 40:
        words = words.removesuffix("よん") + ("し" if counter == "月" else "よ")
    if counter in ("月", "時", "時間", "時半") and last == 7:
        words = words.removesuffix("なな") + "しち"
    if counter in ("月", "時", "時間", "時半") and last == 9:
        words = words.removesuffix("きゅう") + "く"
    if not kind:
        return words + kana
    if counter in ("階", "軒", "足") and last == 3:
        return words + {"階": "がい", "軒": "げん", "足": "ぞく"}[counter]
    merged = _merged(words, kind)
    if kind == "h":
        hard, soft = _HARDENED[kana[0]]
        if merged != words or (counter in ("分", "分間", "泊", "発") and last in (3, 4)):
            kana = hard + kana[1:]
        elif last == 3 or words.endswith(("せん", "まん")):
            kana = soft + kana[1:]
    return merged + kana


def _time(match: re.Match[str]) -> str:
    hour, minute = match.groups()
    return counted(hour, "時") + (counted(str(int(minute)), "分") if int(minute) else "")


def _date(match: re.Match[str]) -> str:
    year, month, day = match.groups()
    return counted(year, "年") + counted(str(int(month)), "月") + counted(str(int(day)), "日")


def _counted(match: re.Match[str]) -> str:
    minus, text, counter = match.groups()
    return ("マイナス" if minus else "") + counted(text, counter)


def _measured(match: re.Match[str]) -> str:
    minus, text, unit = match.groups()
    return ("マイナス" if minus else "") + number(text) + _UNITS[unit]


def _phone(match: re.Match[str]) -> str:
    return "の".join(digits(group) for group in re.split(r"[-\s()]+", match.group()) if group)


def _enclosed(match: re.Match[str]) -> str:
    value = number_value(match.group())
    return cardinal(str(value)) if value is not None else match.group()


_COUNTER = alternatives(_COUNTERS)
_RULES: list[Rule] = [
    rule(r"[①-⓿❶-➓Ⅰ-ⅻ]", _enclosed),
    rule(r"(?<![\d.])0\d{1,4}[-\s(]\d{1,4}[-\s)]\d{3,4}(?!\d)|(?<!\d)0[789]0\d{8}(?!\d)", _phone),
    rule(r"(?<![\d./-])(\d{4})[-/.](0?[1-9]|1[0-2])[-/.](3[01]|[12]\d|0?[1-9])(?![\d./-])", _date),
    rule(r"(?<![\d:.])([01]?\d|2[0-4]):([0-5]\d)(?![\d:])", _time),
    rule(rf"(?:(?<!\w)([-−]))?(US\$|[¥￥$€£₩])\s?({_NUM})\s?(万|億|兆)?",
    lambda m: ("マイナス" if m[1] else "") + (counted(m[3], m[4]) if m[4] else number(m[3])) + _CURRENCIES[m[2]]),
    rule(rf"(?<![\d.])({_NUM})\s?[~–—-]\s?(?={_NUM})", lambda m: number(m[1]) + "から"),
    rule(rf"(?<=から)({_NUM})({_COUNTER})", lambda m: counted(m[1], m[2])),
    rule(r"(?<![\d./])(\d{1,6})[/⁄](\d{1,6})(?![\d/])", lambda m: f"{cardinal(m[2])}ぶんの{cardinal(m[1])}"),
    rule(rf"(?:(?<!\w)([-−]))?(?<![\d.])({_NUM})\s?({alternatives(_UNITS)})(?![A-Za-z])", _measured),
    rule(rf"(?:(?<!\w)([-−]))?(?<![\d.])({_NUM})\s?({_COUNTER})", _counted),
    rule(r"(?<=[A-Za-z])-(?=\d)", ""),
    rule(rf"(?<!\w)[-−](?={_NUM})", "マイナス"),
    rule(r"(?<![\d.])(\d{1,5}(?:\.\d{1,5}){2,5})(?!\d)", lambda m: "てん".join(cardinal(part) for part in m[1].split("."))),
    rule(_NUM, lambda m: number(m.group())),
    rule(r"\s?\+\s?", "プラス"), rule("[×]", "かける"), rule("÷", "わる"), rule("=", "イコール"), rule("%", "パーセント"),
    rule("@", "アットマーク"),
]  # fmt: skip
