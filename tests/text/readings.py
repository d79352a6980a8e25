"""What the reading tests share: cases, what is spoken for one, and how two readings are compared."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edge_tts.text import frontend

GIVEN = Path(__file__).resolve().parents[3] / "shared" / "reference" / "text" / "cases.jsonl"
OWN = Path(__file__).with_name("cases.jsonl")
_ANNOTATION = re.compile(r"\[[a-z]+\d?\]")


@dataclass(frozen=True)
class Case:
    """A text and the readings that are right for it; none for a text that has only to be survived."""

    id: str
    lang: str
    kind: str
    text: str
    readings: tuple[str, ...]

    @property
    def group(self) -> str:
        return {"zh": "zh+mixed", "mixed": "zh+mixed", "en": "en"}.get(self.lang, "others")


def cases(path: Path) -> list[Case]:
    return [_case(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _case(data: dict[str, Any]) -> Case:
    text, reading = data["text"], data["expect_reading"]
    times = 1
    if "gen" in data:
        times = data["gen"]["times"]
        text = data["gen"].get("prefix", "") + data["gen"]["unit"] * times
    if "raw_bytes_hex" in data:
        text = frontend.decode(bytes.fromhex(data["raw_bytes_hex"]))[0]
    readings = () if reading is None else tuple(r * times for r in (reading, *data.get("accept", ())))
    return Case(data["id"], data["lang"], data["kind"], text, readings)


def key(reading: str) -> str:
    """A reading without marks, case and spaces; 幺 is 一."""
    plain = unicodedata.normalize("NFC", _ANNOTATION.sub("", reading)).casefold().replace("幺", "一")
    return "".join(c for c in plain if c.isalnum())


def spoken(text: str, language: str | None) -> str:
    return " ".join(sentence.text for sentence in frontend.sentences(text, language=language))


def misses(some: Iterable[Case], kana: Callable[[str], str] | None) -> tuple[Counter[tuple[str, str]], list[tuple[Case, str]]]:
    """How many cases there are by group and kind, and those read wrong, each with its reading.

    kana: reads Japanese, so that kanji can be compared with kana
    """
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    for case in some:
        counts[case.group, case.kind] += 1
        got = spoken(case.text, None if case.lang == "mixed" else case.lang)
        heard, wanted = key(got), [key(reading) for reading in case.readings]
        if case.lang == "ja" and kana and heard not in wanted:
            heard, wanted = key(kana(heard)), [key(kana(reading)) for reading in wanted]
        if heard not in wanted:
            wrong.append((case, got))
    return counts, wrong
