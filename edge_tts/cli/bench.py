"""Measure what a voice costs on this machine: loading, the time to the first sound, speed, memory, and where the time goes.

RTF, the real-time factor, is time to speak over seconds of audio: below 1 the speech is ready faster than it is heard. A text of
a length that the voice has not met yet ("new") makes OpenVINO prepare for that length first; the same text again ("repeated")
does not. Medians are shown, with the smallest and the largest of the measurements behind them. All of it takes some minutes;
give the machine nothing else to do meanwhile.

examples:
  edge-tts bench
  edge-tts bench --bundle ./kokoro --lang en --threads 1 --clients 1,8
  edge-tts bench --text article.txt --repeats 3 --json > bench.json
  edge-tts bench --plot bench.png                # needs pip install 'edge-tts-openvino[plot]'
  edge-tts bench --endurance 1000 --plot memory.png
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edge_tts import benchmark, bundle, machine
from edge_tts.benchmark import Endurance, Plan, Report, Spread, Start
from edge_tts.benchmark.texts import PARTS, Text, languages_of
from edge_tts.errors import OptionError
from edge_tts.plots import check_plot
from edge_tts.text import frontend

SCHEMA = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bundle", metavar="DIR", help="a bundle's directory, or the name of an installed one")
    parser.add_argument("--voice", metavar="NAME", help="one of `edge-tts voices`; by default one for each language")
    parser.add_argument("--lang", action="append", choices=sorted(PARTS), help="speak this language only; may be repeated")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="CPU threads (default: all)")
    parser.add_argument("--text", metavar="FILE", help="your own texts, one a line, instead of the built-in ones")
    parser.add_argument("--clients", type=_counts, default=(1, 2, 4), metavar="N,N", help="how many at once (default: 1,2,4)")
    parser.add_argument("--repeats", type=_count, default=5, metavar="N", help="starts, and texts a row (default: %(default)s)")
    parser.add_argument("--budget", type=float, default=60.0, metavar="S",
                        help="a row of texts that takes longer than this ends early (default: %(default)s seconds)")  # fmt: skip
    parser.add_argument("--endurance", type=_count, metavar="N", help="instead: speak N varied texts and watch the memory")
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")
    parser.add_argument("--plot", metavar="PNG", help="draw the figures into this file")


def run(args: argparse.Namespace) -> int:
    if args.plot:
        check_plot(Path(args.plot))
    path = bundle.find(args.bundle)
    manifest = bundle.read_manifest(path)
    spoken = tuple(args.lang) if args.lang else languages_of(manifest.languages)
    given = read_texts(Path(args.text)) if args.text else ()
    plan = Plan(path, spoken, args.threads, args.repeats, args.clients, args.budget, args.voice, given)
    benchmark.check(plan)
    about = {
        "schema": SCHEMA,
        "machine": machine.description("edge-tts-openvino"),
        "bundle": {
            "path": str(path),
            "name": manifest.name,
            "family": manifest.family,
            "recipe": manifest.recipe.get("name", ""),
        },
        "threads": args.threads or machine.processor().cores,
    }
    progress = Progress()
    if args.endurance:
        endurance = benchmark.endure(plan, args.endurance, progress)
        progress.clear()
        data, lines = as_data(about, endurance), endurance_table(about, endurance)
    else:
        report = benchmark.measure(plan, progress)
        progress.clear()
        data, lines = as_data(about, report), table(about, report)
    print(json.dumps(data, ensure_ascii=False, indent=1) if args.json else "\n".join(lines))
    if args.plot:
        plot(data, Path(args.plot))
        print(f"drawn into {args.plot}", file=sys.stderr)
    return 0


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _counts(text: str) -> tuple[int, ...]:
    return tuple(_count(part) for part in text.split(","))


def read_texts(path: Path) -> tuple[Text, ...]:
    """The lines of a file that are not empty."""
    try:
        content, _ = frontend.decode(path.read_bytes())
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror}; give --text a readable file") from None
    found = tuple(Text(line.strip(), path.name, None) for line in content.splitlines() if line.strip())
    if not found:
        raise OptionError(f"{path} is empty; --text wants a text a line")
    return found


class Progress:
    """What is being done, on standard error: one line that changes where that is a terminal, else a line for each thing."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = ""

    def __call__(self, what: str, share: float) -> None:
        if self._terminal:
            print(f"\r\033[K[{share:4.0%}] {what}", end="", file=sys.stderr, flush=True)
        elif what.split(",")[0] != self._last:
            print(f"[{share:4.0%}] {what}", file=sys.stderr, flush=True)
        self._last = what.split(",")[0]

    def clear(self) -> None:
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def as_data(about: dict[str, Any], measured: Report | Endurance) -> dict[str, Any]:
    """The JSON object: what was measured with, then `start`, `rows`, `clients`, `stages` and `memory`, or `endurance`."""
    if isinstance(measured, Endurance):
        return {**about, "endurance": {**asdict(measured), "growth_mb": measured.growth_mb}}
    speaking = measured.speaking
    return {
        **about,
        "start": {"cold": asdict(measured.cold), "warm": {name: asdict(spread) for name, spread in warm(measured).items()}},
        "rows": [asdict(row) for row in speaking.rows],
        "clients": [asdict(row) for row in speaking.clients],
        "stages": speaking.stages,
        "memory": {
            "loaded_mb": warm(measured)["loaded_mb"].median,
            "first_sentence_mb": warm(measured)["spoken_mb"].median,
            "end_mb": speaking.end_mb,
            "end_own_mb": speaking.own_mb,
            "peak_mb": speaking.peak_mb,
        },
    }


def warm(report: Report) -> dict[str, Spread]:
    """Each figure of the starts with a warm cache."""
    return {name: Spread.of(getattr(start, name) for start in report.warm) for name in Start.__dataclass_fields__}


def heading(about: dict[str, Any]) -> Iterator[str]:
    """What was measured, and on what."""
    processor, versions = about["machine"]["processor"], about["machine"]["versions"]
    described = f"{about['bundle']['family']}, recipe {about['bundle']['recipe'] or 'unknown'}"
    yield f"{about['bundle']['name']} ({described}) at {about['bundle']['path']}"
    memory_mb, features = about["machine"]["memory_mb"], " ".join(processor["features"])
    yield f"{processor['name']}, {about['threads']} threads, {memory_mb} MB: {features}"
    yield f"OpenVINO {versions.get('openvino', 'unknown')}, Python {versions['python']}, {about['machine']['system']}"


def table(about: dict[str, Any], report: Report) -> Iterator[str]:
    """The report for a person."""
    yield from heading(about)
    yield ""
    yield f"{'START':30}{'empty cache':>14}{'warm cache':>26}"
    spreads = warm(report)
    for name, label in (
        ("process_s", "process and imports"),
        ("load_s", "load the voice"),
        ("first_audio_s", "first sound after that"),
        ("ready_s", "all of it"),
    ):
        yield f"  {label:28}{getattr(report.cold, name):12.2f} s{seconds(spreads[name]):>26}"
    yield ""
    yield f"{'SPEED':30}{'audio':>8}{'RTF':>28}{'CPU s/s':>9}{'first sound':>28}"
    for row in report.speaking.rows:
        label = f"{row.length} {row.language or ''}, {row.state}"
        rtf = f"{row.rtf.median:.3f} ({row.rtf.low:.3f}-{row.rtf.high:.3f})"
        yield f"  {label:28}{row.audio_s.median:6.1f} s{rtf:>28}{row.cpu.median:9.2f}{seconds(row.first_audio_s):>28}"
    yield ""
    yield f"{'CLIENTS AT ONCE':30}{'audio':>8}{'RTF of all':>28}{'':9}{'first sound':>28}"
    for clients in report.speaking.clients:
        yield f"  {clients.clients:<28}{clients.audio_s:6.1f} s{clients.rtf:28.3f}{'':9}{seconds(clients.first_audio_s):>28}"
    yield ""
    yield f"{'STAGES, ms a second of audio':30}{'new':>8}{'repeated':>12}"
    new, repeated = report.speaking.stages["new"], report.speaking.stages["repeated"]
    for name in {**repeated, **new}:
        yield f"  {name:28}{1e3 * new.get(name, 0.0):8.1f}{1e3 * repeated.get(name, 0.0):12.1f}"
    yield ""
    yield "MEMORY, resident"
    yield f"  loaded {spreads['loaded_mb'].median:.0f} MB, after the first sentence {spreads['spoken_mb'].median:.0f} MB,"
    end_mb, own_mb, peak_mb = report.speaking.end_mb, report.speaking.own_mb, report.speaking.peak_mb
    yield f"  at the end {end_mb:.0f} MB, {own_mb:.0f} MB of it no mapped file; at most {peak_mb:.0f} MB"


def seconds(spread: Spread) -> str:
    return f"{spread.median:.2f} s ({spread.low:.2f}-{spread.high:.2f})"


def endurance_table(about: dict[str, Any], measured: Endurance) -> Iterator[str]:
    """Memory at about ten points."""
    yield from heading(about)
    yield ""
    yield f"{measured.n_texts} texts, {measured.audio_s / 60:.1f} minutes of audio, RTF {measured.rtf:.3f}"
    yield f"{'texts':>8}{'resident':>12}{'no mapped file':>18}"
    step = max(1, len(measured.points) // 10)
    shown = [*measured.points[:-1:step], measured.points[-1]]
    for n, resident_mb, own_mb in shown:
        yield f"{n:8}{resident_mb:9.0f} MB{own_mb:15.0f} MB"
    yield f"grown by {measured.growth_mb:.0f} MB since a tenth of the texts; at most {measured.peak_mb:.0f} MB"


def plot(data: dict[str, Any], path: Path) -> None:
    """Draw what `as_data` gives into a PNG."""
    from matplotlib.figure import Figure  # without pyplot: no display, no state

    figure = Figure(figsize=(13, 9) if "rows" in data else (9, 5), layout="constrained")
    processor = data["machine"]["processor"]
    figure.suptitle(f"{data['bundle']['name']}, {data['threads']} threads of {processor['name']}")
    if "endurance" in data:
        _plot_memory(figure.subplots(), data["endurance"])
    else:
        axes = figure.subplots(2, 2)
        _plot_speed(axes[0][0], data["rows"])
        _plot_first_sound(axes[0][1], data)
        _plot_stages(axes[1][0], data["stages"])
        _plot_start(axes[1][1], data["start"], data["memory"])
    try:
        figure.savefig(path, format="png", dpi=110)
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror}; name a file that can be written") from error


def _plot_memory(axes: Any, endurance: dict[str, Any]) -> None:
    n, resident, own = zip(*endurance["points"], strict=True)
    axes.plot(n, resident, label="resident")
    axes.plot(n, own, label="of it no mapped file")
    axes.set(xlabel="texts spoken", ylabel="MB", ylim=(0, None), title="memory while varied texts are spoken")
    axes.legend()
    axes.grid(alpha=0.3)


def _plot_speed(axes: Any, rows: list[dict[str, Any]]) -> None:
    labels = list(dict.fromkeys(f"{row['length']} {row['language'] or ''}" for row in rows))
    for offset, state in ((-0.2, "new"), (0.2, "repeated")):
        spreads = [row["rtf"] for row in rows if row["state"] == state]
        medians = [spread["median"] for spread in spreads]
        errors = [[s["median"] - s["low"] for s in spreads], [s["high"] - s["median"] for s in spreads]]
        places = [i + offset for i in range(len(spreads))]
        axes.bar(places, medians, width=0.4, yerr=errors, capsize=3, label=f"{state} lengths")
    axes.set_xticks(range(len(labels)), labels)
    axes.set(ylabel="real-time factor", title="speed (below 1 is faster than real time)")
    axes.legend()


def _plot_first_sound(axes: Any, data: dict[str, Any]) -> None:
    bars = [(f"{row['length']} {row['language'] or ''}", row["first_audio_s"]) for row in data["rows"] if row["state"] == "new"]
    bars += [(f"{row['clients']} clients", row["first_audio_s"]) for row in data["clients"]]
    errors = [[s["median"] - s["low"] for _, s in bars], [s["high"] - s["median"] for _, s in bars]]
    axes.barh([label for label, _ in bars], [s["median"] for _, s in bars], xerr=errors, capsize=3)
    axes.invert_yaxis()
    axes.set(xlabel="seconds", title="first sound, new lengths")


def _plot_stages(axes: Any, stages: dict[str, dict[str, float]]) -> None:
    names = list({**stages["repeated"], **stages["new"]})
    for offset, state in ((-0.2, "new"), (0.2, "repeated")):
        places = [i + offset for i in range(len(names))]
        axes.barh(places, [1e3 * stages[state].get(name, 0.0) for name in names], height=0.4, label=f"{state} lengths")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set(xlabel="ms for a second of audio", title="stages")
    axes.legend()


def _plot_start(axes: Any, start: dict[str, Any], memory: dict[str, float]) -> None:
    parts = (("process_s", "process and imports"), ("load_s", "load"), ("first_audio_s", "first sound"))
    left = [0.0, 0.0]
    for name, label in parts:
        values = [start["cold"][name], start["warm"][name]["median"]]
        axes.barh(["empty cache", "warm cache"], values, left=left, label=label)
        left = [a + b for a, b in zip(left, values, strict=True)]
    shown = ", ".join(f"{label} {memory[key]:.0f}" for key, label in (
        ("loaded_mb", "loaded"), ("first_sentence_mb", "first sentence"), ("end_mb", "end"), ("peak_mb", "peak")
    ))  # fmt: skip
    axes.set(xlabel=f"seconds\nresident memory, MB: {shown}", title="start")
    axes.legend()
