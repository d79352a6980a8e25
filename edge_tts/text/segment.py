"""Third step: text -> pieces that are spoken in one go, cut where a speaker would breathe.

Never inside decimals, abbreviations, addresses, quotations or ellipses; crumbs ("Hi.") join their neighbour; what is longer
than the limit is cut at clauses, then at spaces, then anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from edge_tts.text.language import HAN, HANGUL, KANA
from edge_tts.text.patterns import WidePattern

_CLOSERS = "”’」』》）)\\]\"'】〉"
# A full stop ends a sentence before a space, a closing mark or a CJK letter; CJK marks end one anywhere.
_END = re.compile(
    rf"(?P<wide>[。！？]+[。！？!?…]*[{_CLOSERS}]*|；)"
    rf"|(?P<mark>[!?]+[!?.…]*[{_CLOSERS}]*(?=\s|$|[{HAN}{KANA}“「『《（(]))"
    rf"|(?P<stop>(?:\.{{1,10}}|…{{1,10}})[{_CLOSERS}]*(?=\s|$|[{HAN}{KANA}]))"
)
_WORD_BEFORE = re.compile(r"(?:[A-Za-z]\.){1,6}[A-Za-z]?$|[A-Za-z0-9]{1,20}$")
_NEXT_WORD = re.compile(r"\s{0,40}[\"“‘'(（]{0,9}(\S)")
# Before these no sentence ends …
_TITLES = frozenset(
    """
    dr mr mrs ms prof st mt ft gen col capt lt sgt sen rep gov rev hon pres fig figs vol vols pp sec ch eq ref e.g i.e cf vs
    approx al dept univ est jan feb mar apr jun jul aug sept sep oct nov dec mon tue tues wed thu thur thurs fri sat viz messrs
    """.split()
)
# … and before these only where the next word starts one.
_MAY_END = frozenset(
    "etc a.m p.m jr sr inc ltd co corp bros ave rd blvd sq a.k.a u.s u.k u.n e.u b.c a.d ph.d m.d b.a m.a d.c".split()
)
_BEFORE_NUMBER = frozenset("no nos art p para".split())

_ADDRESS = r"(?:https?://|ftp://|www\.)[!-~]{1,2000}|[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9][A-Za-z0-9.-]{1,200}"
_QUOTED = (
    r"“[^“”\n]{0,100}”|「[^「」\n]{0,100}」|『[^『』\n]{0,100}』|《[^《》\n]{0,100}》|（[^（）\n]{0,100}）"
    r"|\([^()\n]{0,100}\)|\[[^\[\]\n]{0,100}\]|(?<!\w)\"[^\"\n]{1,100}\"(?!\w)|(?<!\w)‘[^‘’\n]{1,100}’(?!\w)"
)
_WHOLE = re.compile(rf"{_ADDRESS}|{_QUOTED}", re.ASCII)
# What may still be closed by text to come: quotations, brackets, tags, formulas, addresses.
_OPEN = re.compile(
    r"(?:[“「『《（(\[{][^”」』》）)\]}\n]{0,100}|(?<![\w\"])\"[^\"\n]{0,100}|<[a-zA-Z/!|][^<>]{0,300}"
    r"|\$\$?(?![\s\d])[^$\n]{1,200}"
    r"|(?<![a-z])https?://[!-~]{0,1000})\Z"
)
_NOT_YET = "\0"  # stands for the character that has not arrived
_HIDDEN = (("<!--", "-->"), ("<script", "</script"), ("<style", "</style"))

_CLAUSE = re.compile(r"[，；：、,;:—…)）”」』]+(?![\d”」』)）])\s?")
_JOINED_WEIGHT, _CRUMB_WEIGHT = 80, 12
_WIDE = WidePattern(f"[{HAN}{KANA}{HANGUL}]")
_LINE_END = re.compile(rf"[.。!！?？…,，;；:：、—-][{_CLOSERS}]*$")


def pieces(text: str, limit_characters: int) -> Iterator[str]:
    """The text in pieces of at most `limit_characters`, in order, none blank; found one by one."""
    waiting = ""
    for sentence in _sentences(text):
        for piece in cut(sentence, limit_characters):
            joined = _join(waiting, piece)
            if not waiting or (len(joined) <= limit_characters and _belong_together(waiting, piece)):
                waiting = joined
                continue
            yield waiting
            waiting = piece
    if waiting:
        yield waiting


def cut(text: str, limit_characters: int) -> Iterator[str]:
    """A sentence in parts of at most `limit_characters`: cut at the last clause that fits, else space, else anywhere."""
    text = text.strip()
    start = 0
    while len(text) - start > limit_characters:
        end = _cut_position(text, start, limit_characters)
        part = text[start:end].strip()
        if part:
            yield part
        start = end
    rest = text[start:].strip()
    if rest:
        yield rest


def complete_sentences(buffer: str, limit_characters: int = 400) -> tuple[str, str]:
    """For text that arrives little by little: (what can be spoken now, what may still continue).

    The two always make up the buffer. A remainder without any sentence end gives way at a clause or space once it is longer than
    `limit_characters`.
    """
    known = buffer[: _open_start(buffer)]
    end = 0
    for position in _boundaries(known + (buffer[len(known) : len(known) + 1] or _NOT_YET)):
        end = position
    line = buffer.rfind("\n", 0, len(known)) + 1
    if line > end and (len(buffer[end:line]) < 40 or _LINE_END.search(buffer[max(end,
        line - 20) : line - 1]) or line < len(known)):
        end = line
    while len(buffer) - end > limit_characters:
        end = _cut_position(buffer, end, limit_characters)
    return buffer[:end], buffer[end:]


def _open_start(buffer: str) -> int:
    """Where something starts that text to come may still close; the buffer's length when nothing is open."""
    starts = [len(buffer)]
    opened = _OPEN.search(buffer, max(0, len(buffer) - 2000))
    if opened:
        starts.append(opened.start())
    for opening, closing in _HIDDEN:
        start = buffer.rfind(opening)
        if start > buffer.rfind(closing):
            starts.append(start)
    return min(starts)


def _cut_position(text: str, start: int, limit: int) -> int:
    least = start + limit // 3
    clauses = [match.end() for match in _CLAUSE.finditer(text, least, start + limit)]
    if clauses and clauses[-1] <= start + limit:
        return clauses[-1]
    space = max(text.rfind(" ", least, start + limit + 1), text.rfind("\n", least, start + limit))
    return space + 1 if space >= 0 and space < start + limit else start + limit


def _join(first: str, second: str) -> str:
    if not first:
        return second
    return first + second if _WIDE.match(second) and not first[-1].isascii() else f"{first} {second}"


def _belong_together(first: str, second: str) -> bool:
    weights = _weight(first), _weight(second)
    if bool(_WIDE.search(first)) != bool(_WIDE.search(second)):
        return False
    return min(weights) < _CRUMB_WEIGHT and sum(weights) <= _JOINED_WEIGHT


def _weight(text: str) -> int:
    return len(text) + len(_WIDE.findall(text))


def _sentences(text: str) -> Iterator[str]:
    for line in _lines(text):
        start = 0
        for end in _boundaries(line):
            yield line[start:end].strip()
            start = end
        rest = line[start:].strip()
        if rest:
            yield rest


def _lines(text: str) -> Iterator[str]:
    """Lines, each a sentence of its own, but for the hard-wrapped ones, which go on in the next."""
    start = 0
    waiting = ""
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end].strip()
        start = end + 1
        if waiting and (not line[:1].islower() or not line):
            yield waiting
            waiting = ""
        line = f"{waiting} {line}" if waiting else line
        waiting = ""
        if not line:
            continue
        if len(line) >= 40 and line[-1].isascii() and not _LINE_END.search(line) and len(line) < 10_000:
            waiting = line
            continue
        yield _ended(line)
    if waiting:
        yield _ended(waiting)


def _ended(line: str) -> str:
    """A line without a mark at its end gets one: it is a heading or an item, and a pause follows."""
    if _LINE_END.search(line, max(0, len(line) - 20)):
        return line
    return line + ("。" if _WIDE.search(line, max(0, len(line) - 20)) else ".")


def _boundaries(line: str) -> Iterator[int]:
    """Positions after which a new sentence starts; none at the very end."""
    whole = _WHOLE.finditer(line)
    protected = next(whole, None)
    for match in _END.finditer(line):
        end = match.end()
        while protected and protected.end() < end:
            protected = next(whole, None)
        if protected and protected.start() < end < protected.end():
            continue
        if end >= len(line):
            return
        bracket = match.group()[-1] in "）)】]"
        if bracket and (match.lastgroup == "wide" or _goes_on(line, end)):
            continue
        if match.lastgroup == "stop" and not _ends_sentence(line, match):
            continue
        yield end


def _goes_on(line: str, position: int) -> bool:
    following = _NEXT_WORD.match(line, position)
    return following is not None and following[1].islower()


def _ends_sentence(line: str, match: re.Match[str]) -> bool:
    following = _NEXT_WORD.match(line, match.end())
    next_letter = following[1] if following else ""
    if next_letter == _NOT_YET:
        return False
    if match.group()[0] == "…" or match.group().startswith(".."):
        return next_letter.isupper() or (not next_letter.isascii() and line[match.end() : match.end() + 1].isspace())
    found = _WORD_BEFORE.search(line, max(0, match.start() - 20), match.start())
    if not found:
        return True
    word = found.group().lower()
    if word in _BEFORE_NUMBER:
        return not next_letter.isdigit()
    if word in _TITLES:
        return False
    if word in _MAY_END or "." in word:
        return next_letter.isupper() or not next_letter.isascii()
    initial = len(word) == 1 and found.group().isupper() and word != "i"
    return not initial
