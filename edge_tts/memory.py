"""Giving memory back to the system: what glibc keeps of freed blocks, and pages of files that were read once.

Where a system has neither call, nothing happens.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from pathlib import Path

_MADV_PAGEOUT = 21  # Linux 5.4: drop clean pages of files, whoever reads them again gets them from the file


def trim_heap() -> None:
    """Ask glibc to return freed memory; other C libraries have no such call and do without."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def page_out(suffixes: Collection[str]) -> None:
    """Let go of the pages of mapped files with these suffixes. They come back, from the file, when they are read again."""
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if advise is None:
        return
    for start, end in mapped_files(suffixes):
        advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_PAGEOUT)


def mapped_files(suffixes: Collection[str]) -> list[tuple[int, int]]:
    """Address ranges at which files with these suffixes are mapped into this process."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    ranges = []
    for line in lines:
        fields = line.split(maxsplit=5)  # addresses, permissions, offset, device, inode, path
        if len(fields) == 6 and Path(fields[5]).suffix in suffixes:
            start, _, end = fields[0].partition("-")
            ranges.append((int(start, 16), int(end, 16)))
    return ranges
