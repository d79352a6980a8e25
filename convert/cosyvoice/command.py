"""Make a voice bundle of CosyVoice-300M (SFT, base or Instruct), 22.05 kHz, from the official checkpoint's directory.

Needed in CHECKPOINT_DIR: cosyvoice.yaml, llm.pt, flow.pt, hift.pt, and spk2info.pt with the speakers. The tokenizer's ranks are
taken from the installed package openai-whisper, else fetched from PyPI with pip, else given with --ranks. The bundle appears at
--out whole or not at all; one that is already there is replaced only then.

examples:
  python -m convert cosyvoice CosyVoice-300M-SFT --out voices/cosyvoice
  python -m convert cosyvoice CosyVoice-300M-SFT --out voices/cosyvoice-f32 --recipe float32
  python -m convert cosyvoice CosyVoice-300M-Instruct --out voices/instruct \\
      --instruct "cheerful=中文女:A cheerful girl who speaks fast."
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from tqdm import tqdm

from convert import quantize
from convert.cosyvoice import calibration
from convert.cosyvoice.checkpoint import Checkpoint, load_checkpoint
from convert.cosyvoice.config import CosyVoiceConfig
from convert.cosyvoice.export import position_tables, stages
from convert.cosyvoice.ranks import FILE_NAME as RANKS_FILE
from convert.cosyvoice.ranks import PACKAGE, fetch_ranks
from convert.cosyvoice.recipes import DEFAULT, GRAPHS, RECIPES, properties
from convert.cosyvoice.voices import default_voices, make_voices
from convert.quantize import Recipe
from edge_tts.bundle import Manifest, sha256, staged_directory, write_manifest
from edge_tts.errors import BundleError
from edge_tts.text.tokenizer import TextTokenizer

LANGUAGES = ("zh", "en", "ja", "yue", "ko")
_CHECKPOINT_FILES = ("cosyvoice.yaml", "llm.pt", "flow.pt", "hift.pt", "spk2info.pt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT_DIR", help="the official checkpoint's directory")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the bundle is to be")
    parser.add_argument("--recipe", choices=sorted(RECIPES), default=DEFAULT, help="quantisation recipe (default: %(default)s)")
    parser.add_argument("--ranks", type=Path, metavar="FILE", help=f"{RANKS_FILE}, or a wheel or source archive of {PACKAGE}")
    parser.add_argument(
        "--instruct", type=instructed_voice, action="append", default=[], metavar="NAME=SPEAKER:INSTRUCTION",
        help="add a voice that follows an instruction (for CosyVoice-300M-Instruct); may be repeated",
    )  # fmt: skip


def instructed_voice(text: str) -> tuple[str, str, str]:
    """`NAME=SPEAKER:INSTRUCTION` in its three parts."""
    name, equals, rest = text.partition("=")
    speaker, colon, instruction = rest.partition(":")
    if not (equals and colon and name and speaker and instruction):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SPEAKER:INSTRUCTION")
    return name, speaker, instruction


def run(args: argparse.Namespace) -> int:
    """Convert, and say what came out."""
    with tempfile.TemporaryDirectory(prefix="edge-tts-") as scratch, staged_directory(args.out) as stage:
        manifest = convert(args.checkpoint, Path(scratch), stage, RECIPES[args.recipe], args.instruct, args.ranks)
    size = sum(entry.size for entry in manifest.files)
    print(f"{args.out}: {len(manifest.voices)} voices, {size / 1e6:.0f} MB, recipe {args.recipe}")
    return 0


def convert(
    directory: Path,
    scratch: Path,
    stage: Path,
    recipe: Recipe,
    instructed: list[tuple[str, str, str]],
    ranks: Path | None,
) -> Manifest:
    """Write a bundle into the empty directory `stage`; `scratch` is for what is not kept."""
    total = len(GRAPHS) * (2 if recipe.calibration_samples else 1) + 3
    with tqdm(total=total, desc="cosyvoice", unit="step", bar_format="{desc}: {n}/{total} {postfix} [{elapsed}]") as progress:

        def step(label: str) -> None:
            progress.set_postfix_str(label)
            progress.update()

        step("reading the checkpoint")
        ranks_file = fetch_ranks(ranks, scratch)
        checkpoint = load_checkpoint(directory)
        float_bundle = scratch / "float"
        target = float_bundle if recipe.calibration_samples else stage
        target.mkdir(exist_ok=True)
        for made in stages(checkpoint):
            step(f"building {made.name}")
            model = made.build()
            if not recipe.calibration_samples:
                model = quantize.apply(model, recipe.graphs[made.name])
            save(model, target / f"{made.name}.xml")
            del model
        step("writing tables and voices")
        shutil.copyfile(ranks_file, target / RANKS_FILE)
        manifest = write_parts(target, checkpoint, recipe, instructed, provenance(directory))
        if not recipe.calibration_samples:
            return write_manifest(stage, manifest)
        write_manifest(float_bundle, manifest)
        del checkpoint
        step("speaking calibration sentences")
        samples = calibrate(float_bundle, recipe.calibration_samples)
        core = ov.Core()
        for name in GRAPHS:
            step(f"quantising {name}")
            model = core.read_model(float_bundle / f"{name}.xml")
            save(quantize.apply(model, recipe.graphs[name], samples.get(name, ())), stage / f"{name}.xml")
            del model
        copy_parts(float_bundle, stage)
        return write_manifest(stage, manifest)


def save(model: ov.Model, path: Path) -> None:
    """Write an IR with its floats as they are."""
    ov.save_model(model, str(path), compress_to_fp16=False)


def calibrate(float_bundle: Path, n_sentences: int) -> dict[str, list[quantize.Sample]]:
    """Inputs of the graphs that are calibrated, spoken by the float bundle."""
    spoken = calibration.record(float_bundle, n_sentences)
    return list(tqdm(spoken, total=n_sentences, desc="sentences", leave=False))[-1]


def copy_parts(source: Path, target: Path) -> None:
    """Everything of a bundle but its graphs and its manifest."""
    for path in source.iterdir():
        if path.is_dir():
            shutil.copytree(path, target / path.name)
        elif path.suffix not in (".xml", ".bin", ".json"):
            shutil.copyfile(path, target / path.name)


def write_parts(
    directory: Path,
    checkpoint: Checkpoint,
    recipe: Recipe,
    instructed: list[tuple[str, str, str]],
    origin: dict[str, Any],
) -> Manifest:
    """Write tables and voices into `directory`; returns the manifest, which is still to be written."""
    config = checkpoint.config
    tokenizer = TextTokenizer.read(directory / RANKS_FILE)
    if tokenizer.n_vocabulary != config.lm.n_text_tokens:
        raise BundleError(
            f"the checkpoint has {config.lm.n_text_tokens} text tokens, its tokenizer {tokenizer.n_vocabulary}; "
            "only the original 50 Hz models, which use Whisper's tokenizer, are supported"
        )
    voices = make_voices(checkpoint.speakers, instructed, tokenizer, config.flow.n_mels)
    np.savez(directory / "tables.npz", **tables(checkpoint))
    # Half precision keeps 11 bits of products that are at most about 10: enough beside weights of 8 bits.
    positions = position_tables(checkpoint.lm)
    half = recipe.graphs["speech_lm"].method != "float32"
    np.save(directory / "positions.npy", positions.astype(np.float16) if half else positions, allow_pickle=False)
    (directory / "voices").mkdir()
    for index, voice in enumerate(voices):
        np.savez(directory / "voices" / f"{index}.npz", **voice.arrays)
    return Manifest(
        family="cosyvoice",
        name="cosyvoice-300m",
        sample_rate=config.sample_rate,
        languages=LANGUAGES,
        voices=tuple(voice.entry for voice in voices),
        default_voices=default_voices(voices),
        recipe=recipe.as_data(),
        provenance=origin,
        settings=settings(config, recipe),
    )


def tables(checkpoint: Checkpoint) -> dict[str, np.ndarray]:
    """What the runtime looks up or multiplies outside the graphs."""
    lm, flow, merge = checkpoint.lm, checkpoint.flow, checkpoint.vocoder.m_source.l_linear
    return {
        "lm.speech": lm.speech_embedding.weight.numpy(),
        "lm.control": lm.llm_embedding.weight.numpy(),
        "lm.speaker_weight": lm.spk_embed_affine_layer.weight.numpy(),
        "lm.speaker_bias": lm.spk_embed_affine_layer.bias.numpy(),
        "flow.speaker_weight": flow.spk_embed_affine_layer.weight.numpy(),
        "flow.speaker_bias": flow.spk_embed_affine_layer.bias.numpy(),
        "vocoder.merge_weight": merge.weight[0].numpy(),
        "vocoder.merge_bias": merge.bias[0].numpy(),
    }


def settings(config: CosyVoiceConfig, recipe: Recipe) -> dict[str, Any]:
    """The manifest's settings, one section for each of the runtime's settings types."""
    sampling, flow, vocoder = config.lm.sampling, config.flow, config.vocoder
    hop_length = int(np.prod(vocoder.upsample_rates)) * vocoder.hop_length
    return {
        "properties": properties(recipe),
        # As the original: at least 2 and at most 20 speech tokens for a text token.
        "lm": {"min_ratio": 2.0, "max_ratio": 20.0},
        "sampling": asdict(sampling),
        "flow": {
            "n_steps": 10,
            "guidance": flow.guidance,
            "cosine_schedule": flow.cosine_schedule,
            "token_rate_hz": flow.token_rate_hz,
            "sample_rate": config.sample_rate,
            "hop_length": hop_length,
            "n_mels": flow.n_mels,
        },
        "vocoder": {
            "sample_rate": config.sample_rate,
            "n_harmonics": vocoder.n_harmonics,
            "source_amplitude": vocoder.source_amplitude,
            "voiced_noise": vocoder.voiced_noise,
            "voiced_threshold_hz": vocoder.voiced_threshold_hz,
            "n_fft": vocoder.n_fft,
            "hop_length": vocoder.hop_length,
            "limit": vocoder.limit,
            "upsample_rates": list(vocoder.upsample_rates),
            "kernels": list(vocoder.kernels),
            "source_kernels": list(vocoder.source_kernels),
            "dilations": list(max((*vocoder.dilations, *vocoder.source_dilations), key=sum)),
        },
    }


def provenance(directory: Path) -> dict[str, Any]:
    """Hashes of the checkpoint's files and versions of the tools."""
    found = [directory / name for name in _CHECKPOINT_FILES if (directory / name).is_file()]
    return {
        "sources": [{"part": path.name, "origin": directory.absolute().name, "sha256": sha256(path)} for path in found],
        "tools": {tool: version(tool) for tool in ("openvino", "nncf", "torch", "numpy")},
    }
