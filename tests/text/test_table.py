"""Tables on disk against the dictionaries that they were made of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_tts.errors import BundleError
from edge_tts.text.table import Table, write_table

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n"), max_size=8)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(TEXT, TEXT, max_size=60), st.lists(TEXT, max_size=20), st.integers(1, 400))
def test_it_answers_as_a_dictionary_does(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[str, str], others: list[str], copies: int
) -> None:
    path = tmp_path_factory.mktemp("table") / "a.table"
    many = {f"{i} {key}": value for key, value in entries.items() for i in range(copies)}
    write_table(path, [*(("some", key, value) for key, value in many.items()), ("other", "x", "y")])
    table = Table(path)
    assert all(table.get("some", key) == value for key, value in many.items())
    for key in [*others, *entries, "x"]:
        assert table.get("some", key) == many.get(key)
        assert table.get("none", key) is None


def test_its_file_is_closed_with_it(tmp_path: Path) -> None:
    write_table(tmp_path / "a", [("a", "k", "v")])
    before = len(os.listdir("/proc/self/fd"))
    table = Table(tmp_path / "a")
    assert table.get("a", "k") == "v" and len(os.listdir("/proc/self/fd")) == before + 1
    del table
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_same_rows_in_any_order_give_the_same_bytes(tmp_path: Path) -> None:
    rows = [("words", str(i), "x" * i) for i in range(500)]
    write_table(tmp_path / "a", rows)
    write_table(tmp_path / "b", rows[::-1])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("row", [("a", "k\t", "v"), ("a", "k", "v\n")])
def test_rows_that_could_not_be_found_again_are_refused(tmp_path: Path, row: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError, match="tab or a line end"):
        write_table(tmp_path / "a", [row])


def test_a_row_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="twice"):
        write_table(tmp_path / "a", [("a", "k", "v"), ("a", "k", "w")])


def test_what_is_no_table_is_a_clear_error(tmp_path: Path) -> None:
    good = tmp_path / "good"
    write_table(good, [("words", str(i), str(i) * 20) for i in range(3000)])
    data = good.read_bytes()
    bad = tmp_path / "bad"
    for content in (b"", b"short", b"EDGETTS1" + b"\xff" * 40, data[:-9], b"x" + data[1:]):
        bad.write_bytes(content)
        with pytest.raises(BundleError, match=r"bad is no table that this version reads .*python -m convert"):
            Table(bad)
    with pytest.raises(BundleError, match="missing: No such file"):
        Table(tmp_path / "missing")
    bad.write_bytes(data[:100] + bytes(300) + data[400:])
    with pytest.raises(BundleError, match="bad is damaged"):
        Table(bad).get("words", "1")
