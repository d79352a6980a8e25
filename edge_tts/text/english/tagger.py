"""Parts of speech of English tokens (Penn Treebank tags), by an averaged perceptron whose weights are a table's rows.

Words that are nearly always one tag have it in the table; for the others the weights of what the word and its neighbours look like add up.
"""

from __future__ import annotations

from functools import lru_cache, partial

from edge_tts.text.table import Table

_START, _END = ("-START2-", "-START-"), ("-END-", "-END2-")
_WEIGHT_UNIT = 10  # the table's whole numbers are tenths
_FEATURES_IN_MEMORY = 2048


class Tagger:
    """Tags tokens by the table's weights."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._tags = (table.get("tagger", "tags") or "").split(" ")
        self._weights = lru_cache(_FEATURES_IN_MEMORY)(partial(_read_weights, table))

    def __call__(self, words: list[str]) -> list[str]:
        """A tag for each word of a sentence."""
        around = [*_START, *map(self._known, words), *_END]
        tags = list(_START)
        for i, word in enumerate(words):
            tags.append(self._table.get("tag", word) or self._likeliest(_features(i, word, around, tags[-1], tags[-2])))
        return tags[len(_START) :]

    def _known(self, word: str) -> str:
        """A word as the features name it; a rare one by its shape."""
        name = _name(word)
        return f"<{_shape(word)}>" if self._table.get("known", name) is None else name

    def _likeliest(self, features: tuple[str, ...]) -> str:
        scores: dict[int, float] = {}
        for feature in features:
            for tag, weight in self._weights(feature):
                scores[tag] = scores.get(tag, 0) + weight
        if not scores:
            return "NN"
        return max((scores.get(i, 0), tag) for i, tag in enumerate(self._tags))[1]


def _read_weights(table: Table, feature: str) -> tuple[tuple[int, float], ...]:
    """(tag's number, weight) of a feature."""
    numbers = (table.get("weights", feature) or "").split()
    return tuple((int(tag), int(tenths) / _WEIGHT_UNIT) for tag, tenths in zip(numbers[::2], numbers[1::2], strict=True))


def _features(i: int, word: str, around: list[str], previous: str, before_previous: str) -> tuple[str, ...]:
    """What is looked at for the word `i`: itself, its ends and shape, the two tags before it, two words on each side."""
    before2, before, this, after, after2 = around[i : i + 5]
    return (
        "b",
        f"s3={word[-3:]}",
        f"p1={word[0]}",
        f"w={this}",
        f"sh={_shape(word)}",
        "i0" if i == 0 else "i+",
        f"t-1={previous}",
        f"t-2={before_previous}",
        f"t-12={previous},{before_previous}",
        f"w-1={before}",
        f"s3-1={before[-3:]}",
        f"w-2={before2}",
        f"w+1={after}",
        f"s3+1={after[-3:]}",
        f"w+2={after2}",
    )


def _name(word: str) -> str:
    if "-" in word and word[0] != "-":
        return "!HYPHEN"
    if word.isdigit() and len(word) == 4:
        return "!YEAR"
    return "!DIGITS" if word[0].isdigit() else word.lower()


def _shape(word: str) -> str:
    if word.isalpha():
        if word.islower():
            return "x"
        if word.isupper():
            return "XX" if len(word) > 1 else "X1"
        return "Xx" if word[0].isupper() and word[1:].islower() else "xX"
    if word.isdigit():
        return "d"
    return "".join("d" if c.isdigit() else "x" if c.isalpha() else c for c in word[:4])
