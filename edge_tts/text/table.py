"""A dictionary in a file: one read-only table of text, of which only the rows that are asked for ever come into memory.

The rows are sorted and lie in blocks of a few kilobytes, each compressed by itself; an index of the blocks' first keys says where a
row must be. Opening reads the index alone; a look-up takes microseconds where its block is among those used last, else some tens.
Reading (the runtime) and writing (the converter) are both here, so that they cannot drift apart.
"""

from __future__ import annotations

import json
import os
import struct
import weakref
import zlib
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path

from edge_tts.errors import BundleError

_MAGIC = b"EDGETTS1"
_HEADER = struct.Struct("<8sQ")  # magic, where the index begins; the index ends with the file
_BLOCK_CHARACTERS = 4096
_BLOCKS_IN_MEMORY = 128  # a megabyte or two
_REMEDY = "make the bundle again with `python -m convert`, or copy it again from where it came"


class Table:
    """The rows of a table file by section and key. May be shared by threads. BundleError when the file is no table."""

    def __init__(self, path: Path | str) -> None:
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise BundleError(f"{path}: {error.strerror}; {_REMEDY}") from None
        weakref.finalize(self, os.close, self._file)
        try:
            magic, where = _HEADER.unpack(os.pread(self._file, _HEADER.size, 0))
            if magic != _MAGIC:
                raise ValueError("it begins otherwise")
            index = os.pread(self._file, os.fstat(self._file).st_size - where, where)
            self._first, starts = json.loads(zlib.decompress(index))
        except (OSError, ValueError, TypeError, OverflowError, struct.error, zlib.error) as error:
            raise BundleError(f"{path} is no table that this version reads ({error}); {_REMEDY}") from None
        # Not a method, or the table would hold itself, and its file open, until garbage is collected.
        self._block = lru_cache(_BLOCKS_IN_MEMORY)(partial(_read_block, path, self._file, starts))

    def get(self, section: str, key: str) -> str | None:
        """The value of a row, None where there is no such row."""
        row = f"{section} {key}"
        number = bisect_right(self._first, row) - 1
        if number < 0:
            return None
        block = self._block(number)
        start = block.find(f"\n{row}\t")
        if start < 0:
            return None
        start += len(row) + 2
        return block[start : block.index("\n", start)]


def _read_block(path: Path | str, file: int, starts: list[int], number: int) -> str:
    start, end = starts[number : number + 2]
    try:
        return zlib.decompress(os.pread(file, end - start, start)).decode()
    except (OSError, ValueError, zlib.error) as error:
        raise BundleError(f"{path} is damaged ({error}); {_REMEDY}") from None


def write_table(path: Path, rows: Iterable[tuple[str, str, str]]) -> None:
    """Write (section, key, value) rows, in any order, each key once; the same rows give the same bytes.

    Neither tabs nor line ends may be in them, nor spaces in a section's name.
    """
    sorted_rows = sorted((f"{section} {key}", value) for section, key, value in rows)
    first: list[str] = []
    starts = [_HEADER.size]
    with path.open("wb") as file:
        file.write(_HEADER.pack(_MAGIC, 0))
        for block in _blocks(sorted_rows):
            first.append(block[0][0])
            text = "\n" + "".join(f"{key}\t{value}\n" for key, value in block)
            starts.append(starts[-1] + file.write(zlib.compress(text.encode(), 9)))
        file.write(zlib.compress(json.dumps([first, starts], ensure_ascii=False, separators=(",", ":")).encode(), 9))
        file.seek(0)
        file.write(_HEADER.pack(_MAGIC, starts[-1]))


def _blocks(rows: list[tuple[str, str]]) -> Iterable[list[tuple[str, str]]]:
    block: list[tuple[str, str]] = []
    characters = 0
    for key, value in rows:
        if block and block[-1][0] == key:
            raise ValueError(f"the row {key!r} is there twice")
        if any(mark in key + value for mark in "\t\n"):
            raise ValueError(f"the row {key!r} has a tab or a line end in it")
        if characters > _BLOCK_CHARACTERS:
            yield block
            block, characters = [], 0
        block.append((key, value))
        characters += len(key) + len(value) + 2
    if block:
        yield block
