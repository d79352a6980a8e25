"""Where a bundle's graphs spend their time, by type of operation, as the CPU plugin counts it itself.

    python -m tests.bench.profile BUNDLE [--text TEXT] [--threads N] [--top N]

Counting slows the graphs down a little, so read shares, not totals.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edge_tts import models
from edge_tts.bundle import open_bundle
from edge_tts.engine import Engine, EngineOptions, Graph, Session
from edge_tts.synthesizer import Voice

# "graph", "operation", "kernel", "ms", "calls", "share"
Row = dict[str, Any]
TEXT = "The old captain opened the window and looked out over the harbour before the rain began."


@dataclass
class Counts:
    """Milliseconds and executions by (graph, type of operation, kernel)."""

    ms: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def add(self, graph: str, request: Any) -> None:
        for node in request.get_profiling_info():
            if node.real_time.total_seconds() > 0:
                key = (graph, node.node_type, node.exec_type)
                self.ms[key] += 1e3 * node.real_time.total_seconds()
                self.calls[key] += 1

    def clear(self) -> None:
        self.ms.clear()
        self.calls.clear()


class ProfiledEngine(Engine):
    """Compiles graphs that count their operations' time into `counts`."""

    def __init__(self, threads: int) -> None:
        super().__init__(EngineOptions(threads=threads))  # no cache: a graph from one does not count
        self.counts = Counts()

    def compile(self, xml: Path, **properties: Any) -> Graph:
        graph = super().compile(xml, **{**properties, "PERF_COUNT": True})
        profiled = ProfiledGraph(graph.name, graph.compiled)
        profiled.counts = self.counts
        return profiled


class _Counting:
    """Adds the operations of each call to `counts`, which whoever makes it sets."""

    counts: Counts
    name: str
    _request: Any

    def __call__(self, **inputs: Any) -> dict[str, Any]:
        results = super().__call__(**inputs)  # type: ignore[misc]
        self.counts.add(self.name.removesuffix(".xml"), self._request)
        return results


class ProfiledSession(_Counting, Session):
    pass


class ProfiledGraph(_Counting, Graph):
    def session(self) -> Session:
        session = ProfiledSession(self.name, self.compiled, self._lock)
        session.counts = self.counts
        return session


def profile(path: Path, text: str, threads: int) -> list[Row]:
    """Rows of the text's second reading, ms for a second of audio."""
    opened = open_bundle(path, verify=False)
    engine = ProfiledEngine(threads)
    voice = Voice(opened, models.load(opened, engine))
    for _ in range(2):
        engine.counts.clear()
        audio_s = sum(chunk.duration_s for chunk in voice.synthesize(text, seed=1))
    return rows_of(engine.counts, audio_s)


def rows_of(counts: Counts, seconds: float) -> list[Row]:
    """What was counted, the costliest first; ms are divided by `seconds`."""
    total_ms = sum(counts.ms.values())
    return [
        {
            "graph": graph,
            "operation": operation,
            "kernel": kernel,
            "ms": round(ms / seconds, 3),
            "calls": counts.calls[graph, operation, kernel],
            "share": round(ms / total_ms, 4),
        }
        for (graph, operation, kernel), ms in counts.ms.most_common()
    ]


def table(rows: list[Row], top: int) -> str:
    """The costliest rows."""
    lines = [f"{'graph':16}{'operation':28}{'kernel':32}{'ms/s':>8}{'calls':>8}{'share':>8}"]
    for row in rows[:top]:
        label = f"{row['graph']:16}{row['operation']:28}{row['kernel']:32}"
        lines.append(f"{label}{row['ms']:8.2f}{row['calls']:8}{row['share']:8.1%}")
    rest = rows[top:]
    lines.append(f"{len(rest)} more kinds: {sum(row['ms'] for row in rest):.2f} ms/s, {sum(row['share'] for row in rest):.1%}")
    return "\n".join(lines)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--text", default=TEXT)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--top", type=int, default=16, help="rows (default: %(default)s)")
    args = parser.parse_args()
    print(table(profile(args.bundle, args.text, args.threads), args.top))
    return 0


if __name__ == "__main__":
    sys.exit(main())
