"""Pages of files that were read are let go of, and come back with what was in them."""

from __future__ import annotations

import mmap
import os
import re
from pathlib import Path

import pytest

from edge_tts import memory

SIZE = 8 << 20


def resident_bytes(name: str) -> int:
    total, counts = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            counts = line.endswith(name)
        elif counts and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


def on_a_disk(path: Path) -> bool:
    """Whether the pages of this file have anywhere to go: those of a tmpfs are memory and nothing else."""
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    places = [(mount[1], mount[2]) for mount in mounts if path.is_relative_to(mount[1])]
    return max(places, key=lambda place: len(place[0]))[1] not in ("tmpfs", "ramfs")


def test_pages_of_files_with_the_suffix_are_dropped_and_come_back(tmp_path: Path) -> None:
    if not on_a_disk(tmp_path):
        pytest.skip("the temporary directory is memory, whose pages cannot be dropped")
    contents = bytes(range(256)) * (SIZE // 256)
    for name in ("weights.blob", "others.dat"):
        with (tmp_path / name).open("wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
    with (tmp_path / "weights.blob").open("rb") as one, (tmp_path / "others.dat").open("rb") as other:
        blob = mmap.mmap(one.fileno(), 0, prot=mmap.PROT_READ)
        data = mmap.mmap(other.fileno(), 0, prot=mmap.PROT_READ)
        assert blob[:] == contents and data[:] == contents
        assert resident_bytes("weights.blob") == resident_bytes("others.dat") == SIZE
        memory.page_out({".blob"})
        assert resident_bytes("weights.blob") < SIZE // 8
        assert resident_bytes("others.dat") == SIZE
        assert blob[:] == contents
        blob.close()
        data.close()


def test_mapped_files_are_found_by_suffix(tmp_path: Path) -> None:
    path = tmp_path / "with a space.bin"
    path.write_bytes(b"x" * 5000)
    with path.open("rb") as file:
        before = len(memory.mapped_files({".bin"}))
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        ranges = memory.mapped_files({".bin"})
        assert len(ranges) == before + 1 and all(end - start >= 4096 for start, end in ranges)
        mapped.close()
        assert len(memory.mapped_files({".bin"})) == before
