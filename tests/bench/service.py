"""Measures a real `edge-tts serve`: the time until it is ready, and its memory while it speaks one varied text after another.

    python -m tests.bench.service BUNDLE [--requests N] [--starts N] [--rest S] [--plot PNG] [--json FILE]

READY is when a process with a warm cache tells its service manager so. Resident memory is read after each request, and at the end
once more when the service has rested. --plot draws it over the requests.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edge_tts.audio import WAV_HEADER_BYTES
from edge_tts.benchmark import Spread
from edge_tts.benchmark.texts import PARTS, varied
from edge_tts.bundle import read_manifest
from edge_tts.client import Client
from edge_tts.machine import ProcessMemory, process_memory
from edge_tts.plots import check_plot

ROOT = Path(__file__).parents[2]
# What systemd/edge-tts.service sets for the process.
_UNIT_ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "131072"}
_LOG_SHOWN = 2000  # characters of its end, where the service fails
_READY_WITHIN_S = 180.0
# Growth is counted from here on: what a model does for the first time, it has done by then.
SETTLED = 200
_SHOWN = 500  # points of a picture


@dataclass(frozen=True)
class Serving:
    """A service that is ready. ready_s: from the process's start."""

    client: Client
    pid: int
    ready_s: float

    @property
    def memory(self) -> ProcessMemory:
        return process_memory(Path(f"/proc/{self.pid}/status"))


@contextmanager
def serving(bundle: Path, directory: Path) -> Iterator[Serving]:
    """A service with that voice, whose socket, cache and log are in `directory`; ended afterwards."""
    path = directory / "text.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices, (directory / "log").open("wb") as log:
        notices.bind(str(directory / "notify.sock"))
        environment = {
            **os.environ,
            **_UNIT_ENVIRONMENT,
            "PYTHONPATH": str(ROOT),
            "NOTIFY_SOCKET": str(directory / "notify.sock"),
            "CACHE_DIRECTORY": str(directory / "cache"),
        }
        command = [sys.executable, "-m", "edge_tts", "serve", "--bundle", str(bundle), "--socket", str(path)]
        began_s = time.monotonic()
        process = subprocess.Popen(command, stderr=log, env=environment, cwd=ROOT)
        try:
            try:
                _wait_until_ready(process, notices, began_s)
            except RuntimeError as error:
                raise RuntimeError(f"{error}: {(directory / 'log').read_text()[-_LOG_SHOWN:]}") from None
            yield Serving(Client(path), process.pid, time.monotonic() - began_s)
        finally:
            process.terminate()
            process.wait(60)
            (directory / "notify.sock").unlink()


def _wait_until_ready(process: subprocess.Popen[bytes], notices: socket.socket, began_s: float) -> None:
    while time.monotonic() < began_s + _READY_WITHIN_S:
        if select.select([notices], [], [], 0.05)[0]:
            if b"READY=1" in notices.recv(65_536):
                return
        elif process.poll() is not None:
            raise RuntimeError(f"edge-tts serve ended with status {process.returncode}")
    raise RuntimeError(f"edge-tts serve was not ready after {_READY_WITHIN_S:g} s")


def measure(
    bundle: Path, n_requests: int, n_starts: int, rest_s: float, progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """READY of `n_starts` starts with a warm cache, and the memory of the last one over `n_requests` requests."""
    languages = tuple(language for language in read_manifest(bundle).languages if language in PARTS)
    with tempfile.TemporaryDirectory(prefix="edge-tts-bench-") as scratch:
        directory = Path(scratch)
        with serving(bundle, directory):
            pass  # fills the cache
        ready_s = []
        for _ in range(n_starts - 1):
            with serving(bundle, directory) as service:
                ready_s.append(service.ready_s)
        with serving(bundle, directory) as service:
            ready_s.append(service.ready_s)
            ready = service.memory
            after: list[ProcessMemory] = []
            audio_bytes, began_s = 0, time.monotonic()
            for done, text in enumerate(varied(languages, n_requests), start=1):
                options = {"lang": text.language} if text.language else {}
                audio = sum(map(len, service.client.speak(text.text, **options))) - WAV_HEADER_BYTES
                if audio <= 0:
                    raise RuntimeError(f"no audio for {text.text!r}")
                audio_bytes += audio
                after.append(service.memory)
                progress(done)
            took_s = time.monotonic() - began_s
            time.sleep(rest_s)
            rested = service.memory
    return {
        "ready_s": asdict(Spread.of(ready_s)),
        "requests": n_requests,
        "wall_s": round(took_s, 1),
        "audio_mb": round(audio_bytes / 1e6, 1),
        "ready_mb": asdict(ready),
        "end_mb": asdict(after[-1]) if after else asdict(ready),
        "rested_mb": asdict(rested),
        "growth": growth([memory.resident_mb for memory in after]),
        "points": [(i, m.resident_mb, m.own_mb) for i, m in enumerate(after, start=1) if i % max(1, n_requests // _SHOWN) == 0],
    }


def growth(resident_mb: Sequence[float]) -> float | None:
    """How much larger the median of the last tenth is than that of the hundred after the first SETTLED; None for too few."""
    if len(resident_mb) < SETTLED + 200:
        return None
    settled, last = resident_mb[SETTLED : SETTLED + 100], resident_mb[-len(resident_mb) // 10 :]
    return round(Spread.of(last).median / Spread.of(settled).median - 1, 4)


def lines(name: str, found: dict[str, Any]) -> Iterator[str]:
    """The figures for a person."""
    ready = found["ready_s"]
    yield f"{name}: READY after {ready['median']:.2f} s ({ready['low']:.2f}-{ready['high']:.2f}, {ready['n']} starts, warm cache)"
    steps = ", ".join(
        f"{label} {found[key]['resident_mb']:.0f} ({found[key]['own_mb']:.0f} of it no mapped file)"
        for key, label in (("ready_mb", "ready"), ("end_mb", f"after {found['requests']} texts"), ("rested_mb", "rested"))
    )
    yield f"{name}: resident MB: {steps}; at most {found['rested_mb']['peak_mb']:.0f}"
    if found["growth"] is not None:
        yield f"{name}: resident memory grew by {found['growth']:+.1%} after the first {SETTLED} texts"


def draw(name: str, found: dict[str, Any], path: Path) -> None:
    """Resident memory over the requests."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 4), layout="constrained")
    numbers, resident, own = zip(*found["points"], strict=True)
    axes.plot(numbers, resident, label="resident")
    axes.plot(numbers, own, label="of it no mapped file")
    axes.axhline(found["rested_mb"]["resident_mb"], linestyle=":", label="resident, rested")
    axes.set(xlabel="texts spoken", ylabel="MB", ylim=(0, None), title=f"{name}: memory of the service, varied texts")
    axes.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--requests", type=int, default=60, metavar="N", help="varied texts to speak (default: %(default)s)")
    parser.add_argument("--starts", type=int, default=5, metavar="N", help="starts to time (default: %(default)s)")
    parser.add_argument("--rest", type=float, default=25.0, metavar="S", help="pause before the last look (default: %(default)s)")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw the memory over the texts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    args = parser.parse_args(argv)
    if args.plot:
        check_plot(args.plot)

    def progress(done: int) -> None:
        print(f"\r\033[K{done} of {args.requests} texts", end="" if done < args.requests else "\n", file=sys.stderr, flush=True)

    found = measure(args.bundle, args.requests, args.starts, args.rest, progress)
    manifest = read_manifest(args.bundle)
    print("\n".join(lines(manifest.name, found)))
    if args.plot and found["points"]:
        draw(manifest.name, found, args.plot)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
