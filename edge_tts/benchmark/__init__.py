"""What a voice costs on this machine: time to load, time to the first sound, speed, memory, and where the time goes.

Everything is measured in processes of its own, so that memory and loading are a voice's and nothing else's. A length that the
graphs have not met costs more than one that they have, so each text is spoken twice: "new", and "repeated" later on. Nothing is
printed here.
"""

from __future__ import annotations

import itertools
import multiprocessing
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from edge_tts import stages
from edge_tts.benchmark.texts import LENGTHS, Text, texts, varied
from edge_tts.bundle import open_bundle
from edge_tts.errors import EdgeTTSError, EngineError
from edge_tts.machine import process_memory
from edge_tts.scheduler import Priority, Scheduler, SchedulerLimits, VoiceSlot
from edge_tts.synthesizer import SpeechOptions, Voice, load_voice

T = TypeVar("T")
# Told what is being done, and how far it is: from 0 to 1
Progress = Callable[[str, float], None]
# Texts, of the same length as those before, that each of several clients has spoken at once.
_CLIENT_LENGTH = "medium"
_SEEDS = itertools.count(1000)
OTHER_STAGE = "other"


@dataclass(frozen=True)
class Plan:
    """What is measured.

    threads: CPU threads, 0 for all; repeats: starts, and texts of a length and language; clients: how many at once, in turn
    budget_s: a row of texts ends early, after two texts at least, once it has taken this long
    texts: a user's own instead of those of `benchmark.texts`
    """

    bundle: Path
    languages: tuple[str, ...]
    threads: int = 0
    repeats: int = 5
    clients: tuple[int, ...] = (1, 2, 4)
    budget_s: float = 60.0
    speaker: str | None = None
    texts: tuple[Text, ...] = ()

    def rows(self) -> dict[tuple[str | None, str], list[Text]]:
        """Texts by language and length."""
        rows: dict[tuple[str | None, str], list[Text]] = {}
        if self.texts:
            for text in self.texts:
                rows.setdefault((text.language, text.length), []).append(text)
        else:
            for language, length in itertools.product(self.languages, LENGTHS):
                rows[language, length] = texts(language, length, self.repeats)
        return rows


@dataclass(frozen=True)
class Spread:
    """The median of some measurements, the smallest and the largest, and how many they are."""

    median: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        found = sorted(values)
        return cls(round(statistics.median(found), 4), round(found[0], 4), round(found[-1], 4), len(found))


@dataclass(frozen=True)
class Start:
    """One start of a process: seconds until it could begin to load, to load, and to the first sound of a short text then.

    ready_s: all of them together; *_mb: resident memory after loading and after that sentence
    """

    process_s: float
    load_s: float
    first_audio_s: float
    ready_s: float
    loaded_mb: float
    spoken_mb: float


@dataclass(frozen=True)
class Spoken:
    """One text: seconds of audio, of wall-clock and of processor time, and until the first chunk."""

    audio_s: float
    wall_s: float
    cpu_s: float
    first_audio_s: float
    stages: dict[str, float] = field(default_factory=dict)

    @property
    def rtf(self) -> float:
        return self.wall_s / self.audio_s


@dataclass(frozen=True)
class Row:
    """Texts of one language and length, all spoken for the first time ("new") or again ("repeated")."""

    language: str | None
    length: str
    state: str
    audio_s: Spread
    rtf: Spread
    cpu: Spread
    first_audio_s: Spread


@dataclass(frozen=True)
class ClientsRow:
    """`clients` at once: wall-clock time over the audio of all of them, and the time until each one's first sound."""

    clients: int
    audio_s: float
    rtf: float
    first_audio_s: Spread


@dataclass(frozen=True)
class Speaking:
    """What one process measured that loaded the voice and spoke everything.

    stages: "new" and "repeated" -> stage -> seconds of it for a second of audio
    """

    rows: tuple[Row, ...]
    clients: tuple[ClientsRow, ...]
    stages: dict[str, dict[str, float]]
    end_mb: float
    peak_mb: float
    own_mb: float


@dataclass(frozen=True)
class Report:
    """cold: the first start, with an empty cache of compiled graphs; warm: those after it."""

    cold: Start
    warm: tuple[Start, ...]
    speaking: Speaking


@dataclass(frozen=True)
class Endurance:
    """Many texts in one process: resident memory (MB) at some of them, and the speed of the whole."""

    n_texts: int
    audio_s: float
    rtf: float
    points: tuple[tuple[int, float, float], ...]  # (texts spoken so far, resident, of it no mapped file)
    peak_mb: float

    @property
    def growth_mb(self) -> float:
        """Resident memory at the end against the first tenth's end."""
        settled = next(point for point in self.points if point[0] * 10 >= self.n_texts)
        return round(self.points[-1][1] - settled[1], 1)


def measure(plan: Plan, progress: Progress) -> Report:
    """Everything, a process after the other. Raises EdgeTTSError for what a voice raises, EngineError when a process dies."""
    n_steps = plan.repeats + 2

    def step(i: int, label: str) -> Progress:
        return lambda what, share: progress(f"{label}{what}", (i + share) / n_steps)

    with tempfile.TemporaryDirectory(prefix="edge-tts-bench-") as cache:
        cold = in_a_process(start, plan, Path(cache), time.monotonic(), progress=step(0, "start with an empty cache"))
        warm = [
            in_a_process(start, plan, Path(cache), time.monotonic(), progress=step(1 + i, "start")) for i in range(plan.repeats)
        ]
        speaking = in_a_process(speak_all, plan, Path(cache), progress=step(n_steps - 1, ""))
    return Report(cold, tuple(warm), speaking)


def start(plan: Plan, cache: Path, began_s: float, progress: Progress) -> Start:
    """Load the voice and speak a short text, as a new process does. began_s: when it was started, on the monotonic clock."""
    progress("", 0.0)
    entered_s = time.monotonic()
    voice = load_voice(plan.bundle, threads=plan.threads, cache_dir=cache)
    loaded_s = time.monotonic()
    loaded_mb = process_memory().resident_mb
    spoken = speak(voice, next(iter(plan.rows().values()))[0], plan.speaker)
    first_s = loaded_s + spoken.first_audio_s
    return Start(
        process_s=entered_s - began_s,
        load_s=loaded_s - entered_s,
        first_audio_s=spoken.first_audio_s,
        ready_s=first_s - began_s,
        loaded_mb=loaded_mb,
        spoken_mb=process_memory().resident_mb,
    )


def speak_all(plan: Plan, cache: Path, progress: Progress) -> Speaking:
    """Every row of the plan, then the clients."""
    voice = load_voice(plan.bundle, threads=plan.threads, cache_dir=cache)
    voice.warm_up()  # dictionaries, which only the first sentence ever pays for
    rows: list[Row] = []
    spent: dict[str, list[Spoken]] = {"new": [], "repeated": []}
    planned = plan.rows()
    n_steps = 2 * len(planned) + len(plan.clients)
    for (language, length), row_texts in planned.items():
        chosen = row_texts
        for state, found in spent.items():
            progress(f"{length} texts{f' ({language})' if language else ''}, {state} lengths", len(rows) / n_steps)
            spoken = within_budget((speak(voice, text, plan.speaker) for text in chosen), plan.budget_s)
            chosen = chosen[: len(spoken)]
            found += spoken
            rows.append(row(language, length, state, spoken))
    clients: list[ClientsRow] = []
    for n in plan.clients:
        progress(f"{n} clients", (len(rows) + len(clients)) / n_steps)
        clients.append(speak_together(voice, plan, n))
    memory = process_memory()
    shares = {state: stage_shares(found) for state, found in spent.items()}
    return Speaking(tuple(rows), tuple(clients), shares, memory.resident_mb, memory.peak_mb, memory.own_mb)


def within_budget(spoken: Iterator[Spoken], budget_s: float) -> list[Spoken]:
    """As many as fit, at least two if there are two."""
    found: list[Spoken] = []
    for one in spoken:
        found.append(one)
        if len(found) >= 2 and sum(each.wall_s for each in found) > budget_s:
            break
    return found


def speak(voice: Voice, text: Text, speaker: str | None = None) -> Spoken:
    """Speak a text to nobody. EngineError for one that makes no sound, which has no real-time factor."""
    audio_s = first_s = 0.0
    with stages.recording() as recorded:
        began_s, cpu_s = time.perf_counter(), time.process_time()
        for chunk in voice.synthesize(text.text, language=text.language, speaker=speaker):
            first_s = first_s or time.perf_counter() - began_s
            audio_s += chunk.duration_s
        wall_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    if not audio_s:
        raise EngineError(f"this voice has nothing to say for {text.text[:60]!r}; give other texts with --text")
    return Spoken(audio_s, wall_s, cpu_s, first_s, recorded.seconds)


def row(language: str | None, length: str, state: str, spoken: Sequence[Spoken]) -> Row:
    """What those texts took."""
    return Row(
        language=language,
        length=length,
        state=state,
        audio_s=Spread.of(each.audio_s for each in spoken),
        rtf=Spread.of(each.rtf for each in spoken),
        cpu=Spread.of(each.cpu_s / each.audio_s for each in spoken),
        first_audio_s=Spread.of(each.first_audio_s for each in spoken),
    )


def stage_shares(spoken: Sequence[Spoken]) -> dict[str, float]:
    """Seconds of each stage for a second of audio, the most costly first, and the rest as `OTHER_STAGE`."""
    audio_s = sum(each.audio_s for each in spoken)
    sums: dict[str, float] = {}
    for each in spoken:
        for name, seconds in each.stages.items():
            sums[name] = sums.get(name, 0.0) + seconds
    sums[OTHER_STAGE] = sum(each.wall_s for each in spoken) - sum(sums.values())
    return {name: round(sums[name] / audio_s, 5) for name in sorted(sums, key=lambda name: -sums[name])}


def speak_together(voice: Voice, plan: Plan, n: int) -> ClientsRow:
    """A new text for each of `n` clients, through the scheduler as a service has them."""
    language, given = plan.languages[0], [text.text for text in plan.texts]
    wanted = given or [text.text for text in texts(language, _CLIENT_LENGTH, n, seed=next(_SEEDS))]
    scheduler = Scheduler(VoiceSlot(voice.bundle, lambda: voice), SchedulerLimits(max_jobs=n, buffer_s=1e6))
    changed = threading.Event()
    began_s = time.monotonic()
    jobs = []
    for text in itertools.islice(itertools.cycle(wanted), n):
        job = scheduler.submit(SpeechOptions(speaker=plan.speaker), Priority.NORMAL, changed.set)
        job.feed(text)
        job.finish()
        jobs.append(job)
    scheduler.start()
    while not all(job.ended for job in jobs):
        changed.wait()
        changed.clear()
    wall_s = time.monotonic() - began_s
    scheduler.stop()
    for job in jobs:
        if job.error is not None:
            raise job.error
    audio_s = sum(job.times.audio_s for job in jobs)
    first_s = [job.times.first_chunk_s - began_s for job in jobs if job.times.first_chunk_s is not None]
    return ClientsRow(n, round(audio_s, 2), round(wall_s / audio_s, 4), Spread.of(first_s))


def endure(plan: Plan, n: int, progress: Progress) -> Endurance:
    """Speak `n` varied texts, or as many from the plan's own, in one process."""
    with tempfile.TemporaryDirectory(prefix="edge-tts-bench-") as cache:
        return in_a_process(speak_many, plan, n, Path(cache), progress=progress)


def speak_many(plan: Plan, n: int, cache: Path, progress: Progress) -> Endurance:
    """As `endure`, in this process."""
    voice = load_voice(plan.bundle, threads=plan.threads, cache_dir=cache)
    wanted = itertools.islice(itertools.cycle(plan.texts), n) if plan.texts else varied(plan.languages, n)
    points = []
    audio_s = wall_s = 0.0
    every = max(1, n // 200)
    for i, text in enumerate(wanted, start=1):
        spoken = speak(voice, text, plan.speaker)
        audio_s, wall_s = audio_s + spoken.audio_s, wall_s + spoken.wall_s
        if i % every == 0 or i in (1, n):
            memory = process_memory()
            points.append((i, memory.resident_mb, memory.own_mb))
            progress(f"{i} of {n} texts, {memory.resident_mb:.0f} MB", i / n)
    return Endurance(n, round(audio_s, 1), round(wall_s / audio_s, 4), tuple(points), process_memory().peak_mb)


def in_a_process(function: Callable[..., T], *arguments: Any, progress: Progress) -> T:
    """`function(*arguments, progress)` in a new process; its result, or its error raised here."""
    context = multiprocessing.get_context("spawn")  # a fork would share what is loaded here
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(theirs, function, arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        while True:
            kind, content = ours.recv()
            if kind == "progress":
                progress(*content)
            elif kind == "error":
                raise _again(*content)
            else:
                result: T = content
                return result
    except EOFError:
        process.join()
        status = process.exitcode or 0
        ended = f"by signal {-status}" if status < 0 else f"with status {status}"
        raise EngineError(
            f"the process that measures ended {ended}; if the system took its memory away, `journalctl -k` says so"
        ) from None
    finally:
        process.terminate()
        process.join()
        ours.close()


def _run(channel: Connection, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt goes to the parent, which ends this process
    with suppress(BrokenPipeError):
        try:
            result = function(*arguments, lambda what, share: channel.send(("progress", (what, share))))
        except EdgeTTSError as error:
            channel.send(("error", (type(error), str(error))))
        else:
            channel.send(("result", result))


def _again(kind: type[EdgeTTSError], message: str) -> EdgeTTSError:
    """An error of another process: constructors of some kinds do not take the message."""
    error = kind.__new__(kind)
    error.args = (message,)
    return error


def check(plan: Plan) -> None:
    """BundleError or UnknownVoiceError before anything is measured."""
    bundle = open_bundle(plan.bundle)
    if plan.speaker is not None:
        bundle.voice(plan.speaker)
