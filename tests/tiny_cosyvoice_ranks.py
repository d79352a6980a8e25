"""A tokenizer's ranks file of single bytes, for tests without Whisper's own."""

from __future__ import annotations

import base64
from pathlib import Path

N_RANKS = 256


def write_ranks(path: Path) -> None:
    """A rank for every byte, none for a pair."""
    lines = [base64.b64encode(bytes([i])) + b" " + str(i).encode() for i in range(N_RANKS)]
    path.write_bytes(b"\n".join(lines) + b"\n")
