"""Chinese text -> words: the most frequent way through a dictionary, and a hidden Markov model for what no dictionary has.

The dictionary, the model and the method are jieba's (MIT): of all ways to cut a stretch, the one whose words' frequencies have the
largest product; characters that stay alone beside each other are then grouped by the likeliest sequence of the states begin, middle,
end and single. The table is made by `convert.readings`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from math import log
from typing import Any

from edge_tts.text.patterns import LazyPattern
from edge_tts.text.table import Table

_STRETCH = LazyPattern(r"([\u4e00-\u9fd5a-zA-Z0-9+#&._%-]+)")
_APART = re.compile(r"\r\n|.", re.DOTALL)  # what stands between stretches, a character each
_HAN = LazyPattern(r"([\u4e00-\u9fd5]+)")
_LATIN = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")
_STATES = "BMES"  # begin, middle and end of a word; a word by itself
_BEFORE = {"B": "ES", "M": "MB", "E": "BM", "S": "SE"}
_NEVER = -3.14e100  # the log probability of what was not seen


class WordSplitter:
    """Splits Chinese into words by the table's dictionary."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __call__(self, text: str) -> list[str]:
        """The words of a text, in order and without loss; signs and spaces are words of their own."""
        words: list[str] = []
        for i, part in enumerate(_STRETCH.split(text)):
            words += self._words(part) if i % 2 else _APART.findall(part)
        return words

    def _words(self, stretch: str) -> Iterator[str]:
        single = ""
        for start, end in self._best_cut(stretch):
            if end - start == 1:
                single += stretch[start]
                continue
            yield from self._grouped(single)
            single = ""
            yield stretch[start:end]
        yield from self._grouped(single)

    def _best_cut(self, stretch: str) -> Iterator[tuple[int, int]]:
        """Where the words of the likeliest cut stand; ties go to the longer word."""
        best: list[tuple[float, int]] = [(0.0, 0)] * (len(stretch) + 1)  # from each place on: log probability, the word's end
        for start in range(len(stretch) - 1, -1, -1):
            words = self._words_at(stretch, start) or [(start + 1, 1)]
            best[start] = max((log(frequency) - self._log_total + best[end][0], end) for end, frequency in words)
        start = 0
        while start < len(stretch):
            end = best[start][1]
            yield start, end
            start = end

    def _words_at(self, stretch: str, start: int) -> list[tuple[int, int]]:
        """(end, frequency) of the dictionary's words that begin at a place."""
        row = self._table.get("words", stretch[start])
        found = [(start + 1, int(row))] if row else []
        pair = stretch[start : start + 2]
        row = self._table.get("words", pair) if len(pair) == 2 else None
        if row:
            frequency, *longer = row.split(" ")
            if frequency != "0":
                found.append((start + 2, int(frequency)))
            for ending, frequency in zip(longer[::2], longer[1::2], strict=True):
                if stretch.startswith(ending, start + 2):
                    found.append((start + 2 + len(ending), int(frequency)))
        return found

    def _grouped(self, single: str) -> Iterator[str]:
        """Characters that the dictionary left alone, as the words that they probably are."""
        if len(single) < 2 or any(end == len(single) for end, _ in self._words_at(single, 0)):
            yield from single
            return
        for i, part in enumerate(_HAN.split(single)):
            if i % 2:
                yield from self._guessed(part)
            else:
                yield from filter(None, _LATIN.split(part))

    def _guessed(self, characters: str) -> Iterator[str]:
        """Words that end where the likeliest states say so."""
        begin = 0
        for i, state in enumerate(self._likeliest_states(characters), start=1):
            if state in "ES":
                yield characters[begin:i]
                begin = i

    def _likeliest_states(self, characters: str) -> str:
        start, transitions = self._states
        emitted = self._emissions(characters[0])
        scores = {state: start[state] + emitted[state] for state in _STATES}
        origins: list[dict[str, str]] = []
        for character in characters[1:]:
            emitted = self._emissions(character)
            arrivals = {
                state: max(
                    (scores[before] + transitions[before].get(state, _NEVER) + emitted[state], before)
                    for before in _BEFORE[state]
                )
                for state in _STATES
            }
            scores = {state: score for state, (score, _) in arrivals.items()}
            origins.append({state: before for state, (_, before) in arrivals.items()})
        path = max("ES", key=lambda state: (scores[state], state))
        for origin in reversed(origins):
            path = origin[path[0]] + path
        return path

    def _emissions(self, character: str) -> dict[str, float]:
        row = self._table.get("states", character)
        values = row.split(" ") if row else "----"
        return {state: _NEVER if value == "-" else float(value) for state, value in zip(_STATES, values, strict=True)}

    @cached_property
    def _states(self) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        model: dict[str, Any] = json.loads(self._table.get("states", "") or "{}")
        return model["start"], model["transitions"]

    @cached_property
    def _log_total(self) -> float:
        return log(int(self._table.get("words", "") or 1))
