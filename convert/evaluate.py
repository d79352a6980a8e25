"""Judge a voice bundle against its float32 original: what its recipe costs in intelligibility, time, pitch, spectrum and quality.

Both bundles say the same sentences. Whisper-base writes down what it hears (words of English, characters of Chinese); the
sentences' durations, f0 and mel spectra are compared, frame by frame after pairing the frames in time; DNSMOS guesses the opinion
score; and a speaker encoder, where it is installed, tells how alike the speakers are. Nothing is downloaded.

examples:
  python -m convert kokoro --recipe float32 --out voices/kokoro-float32
  python -m convert evaluate voices/kokoro --against voices/kokoro-float32
  python -m convert evaluate voices/kokoro --against voices/kokoro-float32 --json --plot evaluation.png
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from convert.listening import RATE_HZ, Listener, error_rate, resampled
from convert.opinion import SpeakerEncoder, SpeechQuality, likeness
from convert.sentences import CHINESE, ENGLISH
from convert.similarity import difference
from edge_tts.audio import concatenate
from edge_tts.bundle import read_manifest
from edge_tts.errors import BundleError
from edge_tts.plots import check_plot
from edge_tts.synthesizer import load_voice

SENTENCES = {"en": ENGLISH, "zh": CHINESE}
# What a project's default recipe may lose against float32.
MAX_ERROR_LOSS, MAX_DURATION_CHANGE, MAX_MOS_LOSS = 0.01, 0.03, 0.1
_SEED = 1


class Said(NamedTuple):
    """One sentence and its language."""

    text: str
    language: str


@dataclass(frozen=True)
class Reading:
    """How one bundle said a sentence. mos: opinion scores of speech, background and the whole."""

    heard: str
    errors: float
    duration_s: float
    mos: tuple[float, float, float]


@dataclass(frozen=True)
class Judgement:
    """One sentence of both bundles, and how they differ.

    f0_cents: None for a sentence without a voiced frame in both; speaker: cosine, None where it was not measured
    """

    text: str
    language: str
    reference: Reading
    judged: Reading
    duration: float
    mel_db: float
    f0_cents: float | None
    voicing: float
    speaker: float | None


@dataclass(frozen=True)
class Evaluation:
    """All sentences; speaker_skipped: why speakers were not compared, empty when they were."""

    sentences: tuple[Judgement, ...]
    speaker_skipped: str

    def error_rates(self, language: str | None = None) -> tuple[float, float]:
        """Of the float and the judged bundle, over all words (English) and characters (Chinese)."""
        chosen = [each for each in self.sentences if language in (None, each.language)]
        said = [each.text for each in chosen]
        return error_rate(said, [e.reference.heard for e in chosen]), error_rate(said, [e.judged.heard for e in chosen])

    @property
    def languages(self) -> list[str]:
        return list(dict.fromkeys(each.language for each in self.sentences))

    def mean(self, measure: Callable[[Judgement], float | None]) -> float:
        """Over all sentences that have it; at least one must."""
        return float(np.mean([value for each in self.sentences if (value := measure(each)) is not None]))

    def summary(self) -> dict[str, float]:
        """The figures of the whole; losses are positive when the judged bundle is worse."""
        reference, judged = self.error_rates()
        found = {"error_rate": judged, "error_loss": judged - reference}
        for language in self.languages:
            found[f"error_rate_{language}"] = self.error_rates(language)[1]
        found["duration_change_max"] = max(abs(each.duration) for each in self.sentences)
        found["duration_change_mean"] = self.mean(lambda each: abs(each.duration))
        found["mel_db"] = self.mean(lambda each: each.mel_db)
        if any(each.f0_cents is not None for each in self.sentences):
            found["f0_cents"] = self.mean(lambda each: each.f0_cents)
        found["voicing"] = self.mean(lambda each: each.voicing)
        found["mos"] = self.mean(lambda each: each.judged.mos[2])
        found["mos_loss"] = self.mean(lambda each: each.reference.mos[2] - each.judged.mos[2])
        if not self.speaker_skipped:
            found["speaker"] = self.mean(lambda each: each.speaker)
        return {name: round(value, 5) for name, value in found.items()}

    def failures(self) -> list[str]:
        """Where the judged bundle is worse than a default recipe may be."""
        found = self.summary()
        limits = (
            ("error_loss", MAX_ERROR_LOSS, "the error rate rises"),
            ("duration_change_max", MAX_DURATION_CHANGE, "a sentence's duration changes"),
            ("mos_loss", MAX_MOS_LOSS, "the opinion score falls"),
        )
        return [f"{what} by {found[name]:.3f}; {limit} is allowed" for name, limit, what in limits if found[name] > limit]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="the voice to judge")
    parser.add_argument("--against", type=Path, required=True, metavar="FLOAT_BUNDLE", help="the same voice by recipe float32")
    parser.add_argument("--speaker", metavar="NAME", help="a voice of both (default: each language's own)")
    parser.add_argument("--sentences", type=int, metavar="N", help="the first N of each language only")
    parser.add_argument("--listener", type=Path, default=Path("~/.cache/edge-tts/whisper-base"), metavar="DIR",
                        help="where Whisper is put together, once (default: %(default)s)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw the figures into this file")


def run(args: argparse.Namespace) -> int:
    """Judge, print, draw. Status 0 whatever the judgement is; a program reads it from --json."""
    if args.plot is not None:
        check_plot(args.plot)
    listener = Listener(args.listener.expanduser())
    evaluation = evaluate(args.bundle, args.against, listener, speaker=args.speaker, n_sentences=args.sentences)
    recipes = {str(path): read_manifest(path).recipe.get("name", "") for path in (args.against, args.bundle)}
    data = as_data(evaluation, recipes)
    print(json.dumps(data, ensure_ascii=False, indent=1) if args.json else "\n".join(table(evaluation, recipes)))
    if args.plot is not None:
        plot(evaluation, recipes, args.plot)
        print(f"drawn into {args.plot}", file=sys.stderr)
    return 0


def evaluate(
    judged: Path, reference: Path, listener: Listener, *, speaker: str | None = None, n_sentences: int | None = None
) -> Evaluation:
    """Have both bundles speak, one after the other, and compare."""
    languages = [language for language in read_manifest(judged).languages if language in SENTENCES]
    if not languages:
        raise BundleError(f"{judged}: it speaks none of the languages that are listened to ({', '.join(SENTENCES)})")
    said = [Said(text, language) for language in languages for text in SENTENCES[language][:n_sentences]]
    with tqdm(total=4 * len(said), desc="evaluate", bar_format="{desc}: {n}/{total} {postfix} [{elapsed}]") as progress:
        spoken = [list(_counted(progress, path.name, speak(path, said, speaker))) for path in (reference, judged)]
        quality, encoder = SpeechQuality(), SpeakerEncoder.installed()
        readings = [
            list(_counted(progress, "listening", (read(listener, quality, *pair) for pair in zip(said, samples, strict=True))))
            for samples in spoken
        ]
    judgements = tuple(
        judge(sentence, (readings[0][i], readings[1][i]), (spoken[0][i], spoken[1][i]), encoder)
        for i, sentence in enumerate(said)
    )
    return Evaluation(judgements, encoder if isinstance(encoder, str) else "")


def _counted(progress: Any, label: str, items: Iterator[Any]) -> Iterator[Any]:
    progress.set_postfix_str(label)
    for item in items:
        progress.update()
        yield item


def speak(path: Path, said: Sequence[Said], speaker: str | None) -> Iterator[NDArray[np.float32]]:
    """Each sentence by that bundle, at the listener's rate."""
    voice = load_voice(path)
    for text, language in said:
        chunks = voice.synthesize(text, language=language, speaker=speaker, seed=_SEED)
        samples = concatenate(chunks, voice.sample_rate)
        if not len(samples):
            raise BundleError(f"{path}: it says nothing for {text!r}")
        yield resampled(samples, voice.sample_rate)


def read(listener: Listener, quality: SpeechQuality, said: Said, samples: NDArray[np.float32]) -> Reading:
    """What was heard of a sentence, and how good it sounded."""
    heard = listener.heard(samples, said.language)
    return Reading(heard, error_rate([said.text], [heard]), len(samples) / RATE_HZ, quality(np.clip(samples, -1, 1)))


def judge(
    said: Said,
    readings: tuple[Reading, Reading],
    samples: tuple[NDArray[np.float32], NDArray[np.float32]],
    encoder: SpeakerEncoder | str,
) -> Judgement:
    """One sentence of both bundles, the float one first."""
    found = difference(*samples)
    speaker = None if isinstance(encoder, str) else likeness(encoder(samples[0]), encoder(samples[1]))
    f0_cents = None if np.isnan(found.f0_cents) else found.f0_cents
    return Judgement(*said, *readings, found.duration, found.mel_db, f0_cents, found.voicing, speaker)


def as_data(evaluation: Evaluation, recipes: dict[str, str]) -> dict[str, Any]:
    """The JSON object: `bundles` (path -> recipe, the float one first), `summary`, `failures`, `sentences`."""
    return {
        "schema": 1,
        "bundles": recipes,
        "summary": evaluation.summary(),
        "failures": evaluation.failures(),
        "speaker_skipped": evaluation.speaker_skipped,
        "sentences": [asdict(each) for each in evaluation.sentences],
    }


def table(evaluation: Evaluation, recipes: dict[str, str]) -> Iterator[str]:
    """A line a sentence, their means, and the verdict."""
    (reference_path, reference), (path, judged) = recipes.items()
    yield f"{path} (recipe {judged}) against {reference_path} (recipe {reference})"
    yield f"{'errors':>14}{'duration':>10}{'mel dB':>8}{'f0 cents':>10}{'voicing':>9}{'DNSMOS':>14}{'speaker':>9}"
    for each in evaluation.sentences:
        yield f"{_cells(each)}  {each.text}"
        for kind, reading in (("float", each.reference), ("judged", each.judged)):
            if reading.errors:
                yield f"{'':74}  {kind} was heard as: {reading.heard}"
    found = evaluation.summary()
    yield ""
    for language in evaluation.languages:
        rates = evaluation.error_rates(language)
        yield f"error rate, {language}: {rates[0]:.1%} -> {rates[1]:.1%}"
    yield f"duration: mean change {found['duration_change_mean']:.2%}, largest {found['duration_change_max']:.2%}"
    yield f"mel distance {found['mel_db']:.2f} dB, f0 {_or_dash(found.get('f0_cents'), '.1f')} cents"
    yield f"voicing differs in {found['voicing']:.1%} of the frames"
    yield f"DNSMOS {found['mos'] + found['mos_loss']:.2f} -> {found['mos']:.2f}"
    yield f"speaker similarity {found['speaker']:.3f}" if "speaker" in found else f"skipped: {evaluation.speaker_skipped}"
    yield from (f"WORSE THAN ALLOWED: {failure}" for failure in evaluation.failures())


def _cells(each: Judgement) -> str:
    errors = f"{each.reference.errors:.0%} -> {each.judged.errors:.0%}"
    mos = f"{each.reference.mos[2]:.2f} -> {each.judged.mos[2]:.2f}"
    f0, speaker = _or_dash(each.f0_cents, ".1f"), _or_dash(each.speaker, ".3f")
    return f"{errors:>14}{each.duration:>+10.2%}{each.mel_db:>8.2f}{f0:>10}{each.voicing:>9.1%}{mos:>14}{speaker:>9}"


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def plot(evaluation: Evaluation, recipes: dict[str, str], path: Path) -> None:
    """A panel a measure, a bar a sentence, the mean as a line, into a PNG."""
    from matplotlib.figure import Figure

    sentences = evaluation.sentences
    panels: list[tuple[str, list[float]]] = [
        ("errors more than float", [each.judged.errors - each.reference.errors for each in sentences]),
        ("duration change, %", [100 * each.duration for each in sentences]),
        ("mel distance, dB", [each.mel_db for each in sentences]),
        ("f0 difference, cents", [each.f0_cents or 0.0 for each in sentences]),
        ("DNSMOS less float's", [each.judged.mos[2] - each.reference.mos[2] for each in sentences]),
    ]
    if not evaluation.speaker_skipped:
        panels.append(("speaker similarity", [each.speaker or 0.0 for each in sentences]))
    figure = Figure(figsize=(12, 8), layout="constrained")
    figure.suptitle(" against ".join(f"{Path(name).name} ({recipe})" for name, recipe in reversed(recipes.items())))
    for axes, (title, values) in zip(figure.subplots(2, 3).flat, panels, strict=False):
        axes.bar(range(len(values)), values, color=[f"C{evaluation.languages.index(each.language)}" for each in sentences])
        axes.axhline(float(np.mean(values)), color="black", linewidth=0.8)
        axes.set(title=f"{title} (mean {np.mean(values):.3g})", xlabel=f"sentence ({', then '.join(evaluation.languages)})")
    figure.savefig(path, format="png", dpi=110)
