"""Make a voice bundle of hibari: English, 24 kHz, for the slowest boxes.

The voice "heart" comes with the PyPI package hibari-tts (in the extra `convert-kokoro`); its publisher's other voices are files
of their own, which --voice adds: am_fenrir, am_fable, bf_emma and so on.

examples:
  python -m convert hibari
  python -m convert hibari --out voices/hibari
  python -m convert hibari --out voices/hibari --voice bf_emma.int8.onnx
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import openvino as ov
from openvino.tools.ovc import convert_model
from tqdm import tqdm

from convert import readings
from convert.hibari import graph
from convert.kokoro.sources import PHONEMES_PACKAGE, Source, installed_file, package_origin, unknown_word_reader
from convert.quantize import GraphRecipe, Recipe
from edge_tts.bundle import Manifest, VoiceEntry, search_path, sha256, staged_directory, write_manifest
from edge_tts.errors import BundleError

SAMPLE_RATE, N_FFT, HOP_LENGTH = 24000, 1200, 300
DEFAULT = "weights"
# int8 arithmetic (NNCF, matrices only) was measured and left out: on a CPU without VNNI it took as long, 0.013 s a second of
# audio, and was twice as far from the original's log-magnitudes (0.10 against 0.04 on the decoder alone).
RECIPES = {
    "weights": Recipe("weights", {"voice": GraphRecipe("weights")}),
    "float32": Recipe("float32", {"voice": GraphRecipe("float32")}),
}


@dataclass(frozen=True)
class VoiceFile:
    """One voice: its file, what is known of it, and whether it speaks British English."""

    path: Path
    entry: VoiceEntry
    british: bool
    source: Source


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default_out = search_path()[0] / "hibari"
    parser.add_argument("--out", type=Path, default=default_out, metavar="DIR", help="the bundle's place (default: %(default)s)")
    parser.add_argument("--voice", type=Path, action="append", default=[], metavar="FILE", help="add a voice of hibari's (.onnx)")
    parser.add_argument("--recipe", choices=sorted(RECIPES), default=DEFAULT, help="quantisation recipe (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Convert, and say what came out."""
    with staged_directory(args.out) as stage:
        manifest = convert(stage, RECIPES[args.recipe], args.voice)
    size = sum(entry.size for entry in manifest.files)
    names = ", ".join(voice.name for voice in manifest.voices)
    print(f"{args.out}: {names}, {size / 1e6:.0f} MB, recipe {args.recipe}")
    return 0


def convert(stage: Path, recipe: Recipe, further: Iterable[Path]) -> Manifest:
    """Write a bundle into the empty directory `stage`."""
    voices = voice_files(further)
    sources = [voice.source for voice in voices]
    (stage / "voices").mkdir()
    for voice in tqdm(voices, desc="hibari", unit="voice"):
        model = graph.read(voice.path, integer_weights=recipe.name == "weights")
        ov.save_model(model, str(stage / "voices" / f"{voice.entry.name}.xml"), compress_to_fp16=False)
    accents = {"gb" if voice.british else "us": voice.british for voice in voices}
    readings.write(stage, accents=accents, chinese=False)
    sources += [Source(part, package_origin(package)) for part, package in readings.ENGLISH_SOURCES]
    for accent, british in sorted(accents.items(), reverse=True):
        onnx, alphabet, source = unknown_word_reader(british)
        ov.save_model(convert_model(str(onnx)), str(stage / f"unknown-words-{accent}.xml"), compress_to_fp16=True)
        shutil.copyfile(alphabet, stage / f"unknown-words-{accent}.json")
        sources.append(source)
    return write_manifest(stage, _manifest(voices, sources, recipe))


def voice_files(further: Iterable[Path]) -> list[VoiceFile]:
    """The package's voice and the given ones; those that the package lists are known by their hashes."""
    table = json.loads(installed_file(PHONEMES_PACKAGE, "hibari", "assets", "voices.json").read_text(encoding="utf-8"))
    origin = package_origin(PHONEMES_PACKAGE)
    packaged = next(about["file"] for about in table.values() if about.get("bundled"))
    own = installed_file(PHONEMES_PACKAGE, "hibari", "assets", packaged)
    voices = [_voice(own, table, origin)]
    for path in further:
        if not path.is_file():
            raise BundleError(f"{path}: no such file of a voice")
        voice = _voice(path, table, path.name)
        if any(voice.entry.name == other.entry.name for other in voices):
            raise BundleError(f"{path}: there is a voice {voice.entry.name!r} already; rename the file")
        voices.append(voice)
    return voices


def _voice(path: Path, table: dict[str, dict[str, object]], origin: str) -> VoiceFile:
    digest = sha256(path)
    name = next((name for name, about in table.items() if about.get("sha256") == digest or about["file"] == path.name), "")
    about = table.get(name, {})
    british = bool(about.get("british", False))
    name = name or path.name.split(".")[0]
    entry = VoiceEntry(name, "en-GB" if british else "en-US", "Apache-2.0", str(about.get("gender", "")))
    return VoiceFile(path, entry, british, Source(f"voice {name}", origin, digest))


def _manifest(voices: list[VoiceFile], sources: list[Source], recipe: Recipe) -> Manifest:
    vocabulary = installed_file(PHONEMES_PACKAGE, "hibari", "assets", "vocab.json")
    sources = [*sources, Source("vocabulary", package_origin(PHONEMES_PACKAGE), sha256(vocabulary))]
    return Manifest(
        family="hibari",
        name="hibari",
        sample_rate=SAMPLE_RATE,
        languages=("en",),
        voices=tuple(voice.entry for voice in voices),
        default_voices={"": voices[0].entry.name},
        recipe=recipe.as_data(),
        provenance={
            "sources": [asdict(source) for source in sources],
            "tools": {tool: version(tool) for tool in ("openvino", "numpy", "onnx")},
        },
        settings={
            "vocabulary": json.loads(vocabulary.read_text(encoding="utf-8")),
            "n_fft": N_FFT,
            "hop_length": HOP_LENGTH,
        },
    )
