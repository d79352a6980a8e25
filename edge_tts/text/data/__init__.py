"""The front end's tables, as tab-separated text beside this module."""

from __future__ import annotations

from importlib import resources


def lines(name: str) -> list[str]:
    """The lines of a table, comments left out; a `#` at a line's start begins one."""
    text = (resources.files(__name__) / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("# ")]


def table(name: str) -> list[list[str]]:
    """The rows of a table, each a list of its fields."""
    return [line.split("\t") for line in lines(name)]
