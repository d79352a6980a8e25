"""Fourth step: numbers, signs, units and short forms -> the words a reader says."""

from __future__ import annotations


def normalize(text: str, language: str) -> str:
    return text
