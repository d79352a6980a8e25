"""Korean: numbers -> Hangul, native ones before counters (3개 세 개), Sino-Korean ones elsewhere; initialisms by letter names."""

from __future__ import annotations

import re

from edge_tts.text.normalize import latin
from edge_tts.text.normalize.rules import Rule, alternatives, apply, number_value, rule

_DIGITS = "영일이삼사오육칠팔구"
_SMALL = ["", "십", "백", "천"]
_BIG = ["", "만", "억", "조"]
_LONGEST = 16
_ONES = ["", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉"]
_TENS = ["", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"]
_COUNTERS = "개월수 개 명 사람 마리 권 살 시간 시 잔 병 장 대 번째 번 그루 송이 켤레 벌 달 가지 군데 곳 채 척 자루 조각 쌍 통 그릇 접시 갑 줄 배 모금 걸음 분께 포기 방울 판 끼 차례 바퀴 곡 팀 돌".split()
# These take Sino-Korean numbers though they start like a counter above.
_SINO = "개월 개국 개년 시리즈 대학 번호 번지 번길 장관 배럴 통신 판매 분기 분 초 년 월 일 원 층 호 도 주 인분 점 위 급 등 회 편 부 세대 학년 킬로 미터 퍼센트 달러 명시".split()
_UNITS = {
    "km": "킬로미터", "cm": "센티미터", "mm": "밀리미터", "m": "미터", "kg": "킬로그램", "mg": "밀리그램", "g": "그램", "ml": "밀리리터", "mL": "밀리리터", "L": "리터", "t": "톤", "%": "퍼센트", "‰": "퍼밀", "°C": "도", "°": "도",
    "km/h": "킬로미터 퍼 아워", "m^2": "제곱미터", "km^2": "제곱킬로미터", "m^3": "세제곱미터", "GB": "기가바이트", "MB": "메가바이트", "TB": "테라바이트", "kW": "킬로와트", "W": "와트", "V": "볼트", "Hz": "헤르츠", "MHz": "메가헤르츠", "GHz": "기가헤르츠", "kcal": "킬로칼로리", "dB": "데시벨",
}  # fmt: skip
_CURRENCIES = {"₩": "원", "$": "달러", "US$": "달러", "€": "유로", "£": "파운드", "¥": "엔"}
_LETTERS = dict(
    zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "에이 비 씨 디 이 에프 지 에이치 아이 제이 케이 엘 엠 엔 오 피 큐 알 에스 티 유 브이 더블유 엑스 와이 제트".split(), strict=True)
)  # fmt: skip
_NUM = r"(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,40})(?:\.\d{1,20})?"


def normalize(text: str) -> str:
    """Korean text with its numbers, signs and initialisms in Hangul."""
    text = apply(_RULES, text)
    text = latin.spell(text, plural="즈", and_word=" 앤드 ")
    return re.sub(r"(?<![A-Za-z])[A-Z](?: [A-Z])*(?![A-Za-z])", lambda m: "".join(_LETTERS[c] for c in m.group() if c != " "), text)


def digits(text: str, *, zero: str = "영") -> str:
    """Digit by digit; other characters are dropped."""
    return "".join(zero if c == "0" else _DIGITS[int(c)] for c in text if c.isdigit())


def cardinal(text: str) -> str:
    """A whole number in Sino-Korean: "12345" -> "만이천삼백사십오"; past the scale's end digit by digit."""
    number = text.lstrip("0")
    if not number:
        return "영"
    if len(number) > _LONGEST:
        return digits(number)
    groups = [number[max(0, end - 4) : end] for end in range(len(number), 0, -4)]
    words = ""
    for index in range(len(groups) - 1, -1, -1):
        group = groups[index]
        said = "".join(
            ("" if digit == "1" and position < len(group) - 1 else _DIGITS[int(digit)]) + _SMALL[len(group) - 1 - position]
            for position, digit in enumerate(group)
            if digit != "0"
        )
        if said:
            words += ("" if said == "일" and index == 1 and not words else said) + _BIG[index]
    return words


def native(value: int) -> str:
    """A native number as it stands before a counter, 1 to 99: 12 -> "열두", 20 -> "스무"."""
    tens, ones = divmod(value, 10)
    return "스무" if value == 20 else _TENS[tens] + _ONES[ones]


def number(text: str) -> str:
    """A number with decimals: "3.5" -> "삼점오"."""
    whole, point, decimals = text.replace(",", "").partition(".")
    if len(whole) > 1 and whole[0] == "0":
        return digits(whole, zero="공")
    words = cardinal(whole or "0")
    return f"{words}점{digits(decimals)}" if point and decimals else words


def _counted(match: re.Match[str]) -> str:
    text, counter = match.groups()
    value = int(text)
    if counter == "번째" and value == 1:
        return "첫 번째"
    if (counter == "번" and re.search(r"(?:버스|국도|노선|문항|채널|비밀|등|출구)\s?$", match.string[: match.start()])) or (re.match(r"\s(?:출구|버스|문제|트랙|국도|타자|선수|홀|방|플랫폼)", match.string[match.end() :]) and counter == "번"):
        return f"{cardinal(text)} {counter}"
    if not 0 < value < 100:
        return f"{cardinal(text)} {counter}"
    return f"{native(value)} {counter}"


def _month(match: re.Match[str]) -> str:
    return {"6": "유", "10": "시"}.get(match[1].lstrip("0"), cardinal(match[1])) + "월"


def _time(match: re.Match[str]) -> str:
    hour, minute = int(match[1]), match[2]
    hours = native(hour) if 0 < hour <= 12 else cardinal(match[1])
    return f"{hours} 시" + (f" {cardinal(minute)} 분" if minute != "00" else "")


def _date(match: re.Match[str]) -> str:
    month = {"6": "유", "10": "시"}.get(match[2].lstrip("0"), cardinal(match[2]))
    return f"{cardinal(match[1])}년 {month}월 {cardinal(match[3])}일"


def _enclosed(match: re.Match[str]) -> str:
    value = number_value(match.group())
    return cardinal(str(value)) if value is not None else match.group()


_RULES: list[Rule] = [
    rule(r"[①-⓿❶-➓Ⅰ-ⅻ]", _enclosed),
    rule(r"(?<![\d.])0\d{1,3}[-\s)]\d{3,4}[-\s]\d{4}(?!\d)|(?<!\d)01\d{8,9}(?!\d)", lambda m: ", ".join(digits(g, zero="공") for g in re.split(r"\D+", m.group()) if g)),
    rule(r"(?<![\d./-])(\d{4})[-/.]\s?(0?[1-9]|1[0-2])[-/.]\s?(3[01]|[12]\d|0?[1-9])(?![\d/-])", _date),
    rule(r"(?<![\d:.])([01]?\d|2[0-4]):([0-5]\d)(?![\d:])", _time),
    rule(r"(?<!\d)(\d{1,2})월", _month),
    rule(rf"(US\$|[₩$€£¥])\s?({_NUM})\s?(만|억|조)?", lambda m: number(m[2]) + (m[3] or "") + _CURRENCIES[m[1]]),
    rule(rf"(?<![\d.])({_NUM})\s?[~–—-]\s?(?={_NUM})", lambda m: number(m[1]) + "에서 "),
    rule(r"(?<![\d./])(\d{1,6})[/⁄](\d{1,6})(?![\d/])", lambda m: f"{cardinal(m[2])}분의 {cardinal(m[1])}"),
    rule(rf"(?:(?<!\w)([-−]))?(?<![\d.])({_NUM})\s?({alternatives(_UNITS)})(?![A-Za-z])", lambda m: ("마이너스 " if m[1] and "도" not in _UNITS[m[3]] else "영하 " if m[1] else "") + number(m[2]) + _UNITS[m[3]]),
    rule(rf"(?<![\d.,])(\d{{1,15}})\s?(?!(?:{alternatives(_SINO)}))({alternatives(_COUNTERS)})", _counted),
    rule(r"(?<=[A-Za-z])-(?=\d)", ""),
    rule(rf"(?<!\w)[-−](?={_NUM})", "마이너스 "),
    rule(r"(?<![\d.])(\d{1,5}(?:\.\d{1,5}){2,5})(?!\d)", lambda m: "점".join(cardinal(part) for part in m[1].split("."))),
    rule(_NUM, lambda m: number(m.group())),
    rule(r"\s?\+\s?", " 더하기 "), rule("×", " 곱하기 "), rule("÷", " 나누기 "), rule(r"\s?=\s?", "는 "), rule("%", "퍼센트"), rule("@", " 골뱅이 "),
]  # fmt: skip
