"""The tables that text is read with, made once from the installed packages and kept in the checkout's ignored cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

from convert import readings
from edge_tts.text import phonemes, table
from edge_tts.text.phonemes import CHINESE_TABLE, ENGLISH_TABLE, Phonemizer, UnknownWord
from edge_tts.text.pinyin import PinyinReader

ROOT = Path(__file__).parents[1]
PACKAGES = sorted({package for _, package in readings.ENGLISH_SOURCES + readings.CHINESE_SOURCES})


def reading_tables() -> Path:
    """The directory that they are in, as `convert.readings` writes it."""
    digest = hashlib.sha256()
    for source in (readings.__file__, table.__file__, phonemes.__file__, str(ROOT / "edge_tts/text/data/syllables.tsv")):
        digest.update(Path(source).read_bytes())
    digest.update(" ".join(f"{package}={version(package)}" for package in PACKAGES).encode())
    target = ROOT / ".cache" / "readings" / digest.hexdigest()[:12]
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=target.parent))
        try:
            readings.write(scratch / "made")
            os.rename(scratch / "made", target)
        finally:
            shutil.rmtree(scratch)
    return target


def phonemizer(unknown_word: UnknownWord) -> Phonemizer:
    tables = reading_tables()
    return Phonemizer(unknown_word, english=tables / ENGLISH_TABLE, chinese=tables / CHINESE_TABLE)


def pinyin_reader() -> PinyinReader:
    return PinyinReader(table.Table(reading_tables() / CHINESE_TABLE))
