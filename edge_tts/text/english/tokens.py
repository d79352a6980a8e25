"""English text -> tokens as spaCy's English tokenizer (MIT) makes them, which the tagger was trained on.

Each chunk between spaces: whole if it is a known exception ("can't", "Mr."), else marks are taken off both its ends and what is left
is cut at dashes, slashes and dots within; neighbours that spell an exception are put together again.
"""

from __future__ import annotations

import re

from edge_tts.text.table import Table

_LETTER, _SMALL, _CAPITAL = r"[^\W\d_]", "a-zß-öø-ÿ", "A-ZÀ-ÖØ-Þ"
_QUOTES = "'\"”“`‘´’‚,„»«「」『』（）〔〕【】《》〈〉"
_MARKS = r"…,:;!?¿¡()\[\]{}<>_#*&。？！，、；：～·"
_SIGNS = "™®©°§¶†‡•"
_CURRENCY = "$£€¥฿₽₹₩₪₺₴₦₫₱₲₵₸₼₾₿"
_BEGINNING = re.compile(rf"(?:[§%=—–{_MARKS}{_QUOTES}{_CURRENCY}{_SIGNS}]|\+(?![0-9])|\.\.+|(?:US|C|A)\$)")
_END = re.compile(
    rf"(?:……|[—–{_MARKS}{_QUOTES}{_SIGNS}]|\.\.+|['’][sS]|(?<=°[FfCcKk])\."
    rf"|(?<=[{_SMALL}%²\-+{_MARKS}{_QUOTES}])\.|(?<=[{_CAPITAL}][{_CAPITAL}])\.)$"
)
_WITHIN = re.compile(
    rf"\.\.+|…|[{_SIGNS}]|(?<=[{_SMALL}{_QUOTES}])\.(?=[{_CAPITAL}{_QUOTES}])|(?<={_LETTER}),(?={_LETTER})"
    rf"|(?<=[^\W_])(?:[-–—~]|---?|——)(?={_LETTER})|(?<=[^\W_])[:<>=/](?={_LETTER})"
)
_ADDRESS = re.compile(
    r"^(?:(?:https?|ftp)://|www\.)\S+$|^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$"
    r"|^(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|co|uk|de|fr|info|biz|us|ca|au|tv|me|ly|ai)(?:/\S*)?$",
    re.IGNORECASE,
)


class Tokenizer:
    """Splits English into tokens; the table has the exceptions."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __call__(self, text: str) -> list[tuple[str, bool]]:
        """(token, whether a space follows) in order."""
        tokens: list[tuple[str, bool]] = []
        for chunk in re.finditer(r"\S+", text):
            *others, last = self._chunk(chunk.group())
            tokens += [(token, False) for token in others]
            tokens.append((last, chunk.end() < len(text)))
        return tokens

    def _exception(self, chunk: str) -> list[str] | None:
        parts = self._table.get("split", chunk)
        return parts.split(" ") if parts else None

    def _chunk(self, chunk: str) -> list[str]:
        exception = self._exception(chunk)
        if exception:
            return exception
        before, core, after = self._peeled(chunk)
        tokens = [*before, *((self._exception(core) or self._cut(core)) if core else ()), *after]
        return self._rejoined(tokens)

    def _peeled(self, chunk: str) -> tuple[list[str], str, list[str]]:
        """The marks at the beginning, what they are around, the marks at the end; exceptions are left whole."""
        before: list[str] = []
        after: list[str] = []
        while chunk and not self._exception(chunk):
            match = _BEGINNING.match(chunk)
            beginning = match.end() if match else 0
            if beginning and self._exception(chunk[beginning:]):
                before.append(chunk[:beginning])
                return before, chunk[beginning:], after[::-1]
            match = _END.search(chunk[beginning:])
            end = len(match.group()) if match else 0
            if end and self._exception(chunk[:-end]):
                after.append(chunk[-end:])
                return before, chunk[:-end], after[::-1]
            if not beginning and not end:
                break
            if beginning:
                before.append(chunk[:beginning])
            if end:
                after.append(chunk[-end:])
            chunk = chunk[beginning : len(chunk) - end]
        return before, chunk, after[::-1]

    @staticmethod
    def _cut(core: str) -> list[str]:
        if _ADDRESS.match(core):
            return [core]
        tokens = []
        start = 0
        for match in _WITHIN.finditer(core):
            if match.start() == 0:
                continue
            tokens += [core[start : match.start()], match.group()]
            start = match.end()
        return [token for token in (*tokens, core[start:]) if token]

    def _rejoined(self, tokens: list[str]) -> list[str]:
        """Three or two neighbours that are an exception together, split as that is."""
        result: list[str] = []
        while tokens:
            for n in (3, 2, 1):
                parts = self._exception("".join(tokens[:n])) if 1 < n <= len(tokens) else None
                if parts or n == 1:
                    result += parts or tokens[:1]
                    tokens = tokens[n:]
                    break
        return result
