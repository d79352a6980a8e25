"""Make a voice bundle of a Piper voice: any language, one speaker or many, from the two files that such a voice is.

Its text is read by espeak-ng, as the voice was trained, which needs the extra `piper` (or Debian's libespeak-ng1) here and where
it speaks; a voice whose phonemes are text needs neither. The licence is the voice's own: see its MODEL_CARD, and say it with
--license.

examples:
  python -m convert piper en_US-joe-medium.onnx
  python -m convert piper de_DE-thorsten-medium.onnx --config thorsten.json --out voices/thorsten --license CC0-1.0
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from tqdm import tqdm

from convert.piper.graphs import Graphs, read
from convert.quantize import GraphRecipe, Recipe
from edge_tts.bundle import Manifest, VoiceEntry, open_bundle, search_path, sha256, staged_directory, write_manifest
from edge_tts.engine import Engine
from edge_tts.errors import BundleError
from edge_tts.models.piper import PHONEME_TYPES, PiperModel
from edge_tts.text import Sentence, frontend

_NAMES = ("text", "flow", "vocoder")
DEFAULT = "float32"
RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("float32", {name: GraphRecipe("float32") for name in _NAMES}),
    )
}  # fmt: skip
# Spoken to find how loud the voice is; a voice of another language reads them with its accent, which does.
SENTENCES = (
    "The quick brown fox jumps over the lazy dog.",
    "Is anybody there? Please answer me!",
    "Seven thousand people watched the final match.",
    "Oh no, I have forgotten my umbrella again.",
    "Thick fog covered the whole valley this morning.",
)
_SEED, _LOUDEST, _PROBED_SPEAKERS = 7, 0.95, 4
# Longer than any vocoder's context; the file of a voice says nothing of it, so it is measured.
_PROBE_FRAMES, _HEARD = 96, 1e-4


@dataclass(frozen=True)
class VoiceConfig:
    """The voice's JSON configuration, as far as a bundle needs it."""

    name: str
    sample_rate: int
    language: str
    settings: dict[str, Any]

    @classmethod
    def of(cls, path: Path, name: str) -> VoiceConfig:
        """Read it; BundleError names what is missing, or what this version does not do."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise BundleError(f"{path}: {error.strerror}; give the voice's configuration with --config") from None
        except ValueError as error:
            raise BundleError(f"{path}: is no JSON ({error})") from None
        try:
            phoneme_type = data.get("phoneme_type", "espeak")
            if phoneme_type not in PHONEME_TYPES:
                raise BundleError(f"{path}: phoneme type {phoneme_type!r} is not one of {', '.join(PHONEME_TYPES)}")
            inference, espeak_voice = data.get("inference", {}), str(data.get("espeak", {}).get("voice", ""))
            speakers = {str(speaker): int(i) for speaker, i in data.get("speaker_id_map", {}).items()}
            if int(data.get("num_speakers", 1)) > 1 and not speakers:
                speakers = {f"speaker-{i}": i for i in range(int(data["num_speakers"]))}
            settings = {
                "phoneme_ids": {str(phoneme): list(map(int, ids)) for phoneme, ids in data["phoneme_id_map"].items()},
                "phoneme_type": phoneme_type,
                "espeak_voice": espeak_voice,
                "clusters": ["".join(cluster) for cluster in data.get("vowel_clusters") or ()],
                "speakers": speakers,
                "noise_scale": float(inference.get("noise_scale", 0.667)),
                "noise_w": float(inference.get("noise_w", 0.8)),
                "length_scale": float(inference.get("length_scale", 1.0)),
            }
            language = str(data.get("language", {}).get("code") or espeak_voice or "und").replace("_", "-")
            return cls(name, int(data["audio"]["sample_rate"]), language, settings)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BundleError(f"{path}: is no configuration of a Piper voice ({error!r})") from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="VOICE.onnx", help="the voice")
    parser.add_argument("--config", type=Path, metavar="FILE", help="its configuration (default: VOICE.onnx.json)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"the bundle's place (default: {search_path()[0]}/ and the file's name)"
    )
    parser.add_argument("--license", default="LicenseRef-unknown", metavar="SPDX", help="the voice's licence, for the manifest")
    parser.add_argument("--recipe", choices=sorted(RECIPES), default=DEFAULT, help="quantisation recipe (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Convert, and say what came out."""
    if not args.model.is_file():
        raise BundleError(f"{args.model}: no such file")
    name = args.model.name.removesuffix(".onnx")
    config = VoiceConfig.of(args.config or args.model.with_name(args.model.name + ".json"), name)
    out = args.out or search_path()[0] / name
    with staged_directory(out) as stage:
        manifest = convert(args.model, config, stage, RECIPES[args.recipe], args.license)
    size = sum(entry.size for entry in manifest.files)
    print(f"{out}: {len(manifest.voices)} voices, {manifest.voices[0].language}, {size / 1e6:.0f} MB, recipe {args.recipe}")
    return 0


def convert(model: Path, config: VoiceConfig, stage: Path, recipe: Recipe, license_: str) -> Manifest:
    """Write a bundle into the empty directory `stage`."""
    with tqdm(total=4, desc="piper", unit="step", bar_format="{desc}: {n}/{total} {postfix} [{elapsed}]") as progress:

        def step(label: str) -> None:
            progress.set_postfix_str(label)
            progress.update()

        step("cutting the graph")
        graphs = read(model)
        step("measuring the vocoder")
        hop_length, context = vocoder_reach(graphs.vocoder)
        measured = {"hop_length": hop_length, "context_frames": context, "gain": 1.0}
        source = {"part": "voice", "origin": model.name, "sha256": sha256(model)}
        manifest = _manifest(config, measured, license_, source, RECIPES["float32"])
        step("listening to the voice")
        _write(stage, graphs, manifest)
        measured["gain"] = gain(stage)
        step("writing the bundle")
        return write_manifest(stage, _manifest(config, measured, license_, source, recipe))


def _write(directory: Path, graphs: Graphs, manifest: Manifest) -> None:
    for name, graph in graphs.items():
        ov.save_model(graph, str(directory / f"{name}.xml"), compress_to_fp16=False)
    write_manifest(directory, manifest)


def _manifest(
    config: VoiceConfig, measured: dict[str, Any], license_: str, source: dict[str, str], recipe: Recipe
) -> Manifest:
    names = list(config.settings["speakers"]) or [config.name]
    return Manifest(
        family="piper",
        name=config.name,
        sample_rate=config.sample_rate,
        languages=(frontend.primary_subtag(config.language),),
        voices=tuple(VoiceEntry(name, config.language, license_) for name in names),
        default_voices={"": names[0]},
        recipe=recipe.as_data(),
        provenance={"sources": [source], "tools": {tool: version(tool) for tool in ("openvino", "nncf", "numpy", "onnx")}},
        settings={**config.settings, **measured},
    )


def vocoder_reach(vocoder: ov.Model) -> tuple[int, int]:
    """(samples per frame, how many frames away a frame is heard), measured: random frames, one of them changed."""
    compiled = ov.Core().compile_model(vocoder, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    channels = vocoder.input("latent").get_partial_shape()[1].get_length()
    rng = np.random.default_rng(_SEED)
    latent = rng.standard_normal((1, channels, _PROBE_FRAMES)).astype(np.float32)
    changed = latent.copy()
    middle = _PROBE_FRAMES // 2
    changed[:, :, middle] += 1
    speaker = {"speaker": np.zeros(1, np.int64)} if len(vocoder.inputs) > 1 else {}
    waves = [compiled({"latent": given, **speaker})["waveform"].ravel().copy() for given in (latent, changed)]
    hop_length, rest = divmod(len(waves[0]), _PROBE_FRAMES)
    if rest:
        raise BundleError(f"the vocoder makes {len(waves[0])} samples of {_PROBE_FRAMES} frames, which is no whole number each")
    differs = np.flatnonzero(np.abs(waves[0] - waves[1]) > _HEARD * np.abs(waves[0]).max())
    if not len(differs):
        raise BundleError("the vocoder does not listen to its input")
    before = middle - differs[0] // hop_length
    after = differs[-1] // hop_length - middle
    reach = int(max(before, after)) + 1
    if reach >= middle:
        raise BundleError("the vocoder listens further than a window can reach")
    return hop_length, reach


def gain(bundle_path: Path) -> float:
    """What brings the loudest sample of the sample sentences near one."""
    bundle = open_bundle(bundle_path, verify=False)
    model = PiperModel(bundle, Engine())
    names = [voice.name for voice in bundle.manifest.voices]
    peaks = [
        float(np.abs(samples).max())
        for name in names[:: max(1, len(names) // _PROBED_SPEAKERS)]
        for latent in latents(model, name)
        for samples, _ in model.waveform(latent, name)
    ]
    loudest = max(peaks, default=0.0)
    return _LOUDEST / loudest if loudest > 1e-3 else 1.0


def latents(model: PiperModel, voice: str) -> Iterator[Any]:
    """What the vocoder is given for the sample sentences."""
    rng = np.random.default_rng(_SEED)
    for text in SENTENCES:
        for ids in map(model.token_ids, model.phonemes(Sentence(text, "en"))):
            if ids:
                yield model.latent(ids, voice, 1.0, rng)
