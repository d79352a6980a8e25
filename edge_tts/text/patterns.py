"""Patterns that are compiled when a text first needs them.

A class of all Chinese characters takes milliseconds to compile, and a text in plain ASCII needs none of those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any


class LazyPattern:
    """A pattern with the methods of `re.Pattern` that are used here."""

    def __init__(self, written: str) -> None:
        self._written = written

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern itself."""
        return re.compile(self._written)

    def _cannot_match(self, text: str) -> bool:
        return False

    def match(self, text: str) -> re.Match[str] | None:
        return None if self._cannot_match(text) else self.compiled.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return None if self._cannot_match(text) else self.compiled.fullmatch(text)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        return None if self._cannot_match(text) else self.compiled.search(text, start)

    def findall(self, text: str) -> list[Any]:
        return [] if self._cannot_match(text) else self.compiled.findall(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return iter(()) if self._cannot_match(text) else self.compiled.finditer(text)

    def split(self, text: str) -> list[str | Any]:
        return [text] if self._cannot_match(text) else self.compiled.split(text)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        return text if self._cannot_match(text) else self.compiled.sub(replacement, text)


class WidePattern(LazyPattern):
    """A pattern whose every match holds, or stands beside, a character outside ASCII, so that ASCII texts need not be tried."""

    def _cannot_match(self, text: str) -> bool:
        return text.isascii()
