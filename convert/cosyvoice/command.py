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
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from tqdm import tqdm

from convert import quantize
from convert.cosyvoice import calibration
from convert.cosyvoice.checkpoint import Checkpoint, load_checkpoint
from convert.cosyvoice.config import CosyVoiceConfig, read_config
from convert.cosyvoice.export import int8_columns, position_tables, stages
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
    parser.add_argument(
        "--steps", type=int, choices=(5, 7, 10), default=10,
        help="steps of the flow's ODE: 10 as in the original; fewer are faster in proportion, less exact (default: %(default)s)",
    )  # fmt: skip
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
        config = read_config(args.checkpoint)  # a wrong directory is told before anything is fetched
        ranks_file = fetch_ranks(args.ranks, Path(scratch))
        if config.lm.n_text_tokens != TextTokenizer.read(ranks_file).n_vocabulary:
            raise BundleError(
                f"{args.checkpoint}: {config.lm.n_text_tokens} text tokens are not those of Whisper's tokenizer; only the "
                "original 50 Hz models are supported"
            )
        manifest = convert(args.checkpoint, stage, RECIPES[args.recipe], args.instruct, ranks_file, args.steps)
    size = sum(entry.size for entry in manifest.files)
    print(f"{args.out}: {len(manifest.voices)} voices, {size / 1e6:.0f} MB, recipe {args.recipe}")
    return 0


def convert(
    directory: Path,
    stage: Path,
    recipe: Recipe,
    instructed: list[tuple[str, str, str]],
    ranks_file: Path,
    n_steps: int = 10,
) -> Manifest:
    """Write a bundle into the empty directory `stage`; `n_steps` are those of the flow's ODE."""
    calibrated = [name for name in GRAPHS if recipe.graphs[name].method == "int8"]
    total = 2 + len(GRAPHS) + (1 + len(calibrated) if calibrated else 0)
    with tqdm(total=total, desc="cosyvoice", unit="step", bar_format="{desc}: {n}/{total} {postfix} [{elapsed}]") as progress:

        def step(label: str) -> None:
            progress.set_postfix_str(label)
            progress.update()

        step("reading the checkpoint")
        manifest = write_uncalibrated(directory, stage, recipe, instructed, ranks_file, step)
        flow = {**manifest.settings["flow"], "n_steps": n_steps}
        manifest = replace(manifest, settings={**manifest.settings, "flow": flow})
        if not calibrated:
            return write_manifest(stage, manifest)
        # The graphs that are to be calibrated are still float: a complete bundle, which speaks the calibration sentences.
        write_manifest(stage, manifest)
        step("speaking calibration sentences")
        samples = calibrate(stage, recipe.calibration_samples)
        for name in calibrated:
            step(f"quantising {name}")
            path = stage / f"{name}.xml"
            quantised = quantize.apply(ov.Core().read_model(path), recipe.graphs[name], samples.pop(name))
            save(quantised, path.with_stem(f"{name}-int8"))
            del quantised
            for suffix in (".xml", ".bin"):
                path.with_stem(f"{name}-int8").with_suffix(suffix).replace(path.with_suffix(suffix))
        return write_manifest(stage, manifest)


def write_uncalibrated(
    directory: Path,
    stage: Path,
    recipe: Recipe,
    instructed: list[tuple[str, str, str]],
    ranks_file: Path,
    step: Callable[[str], None],
) -> Manifest:
    """All parts but the manifest; graphs that need calibration are left float."""
    checkpoint = load_checkpoint(directory)
    for made in stages(checkpoint):
        step(f"building {made.name}")
        graph_recipe = recipe.graphs[made.name]
        model = made.build()
        save(model if graph_recipe.method == "int8" else quantize.apply(model, graph_recipe), stage / f"{made.name}.xml")
        del model
    step("writing tables and voices")
    shutil.copyfile(ranks_file, stage / RANKS_FILE)
    return write_parts(stage, checkpoint, recipe, instructed, provenance(directory))


def save(model: ov.Model, path: Path) -> None:
    """Write an IR with its floats as they are."""
    ov.save_model(model, str(path), compress_to_fp16=False)


def calibrate(bundle: Path, n_sentences: int) -> dict[str, list[quantize.Sample]]:
    """Inputs of the graphs that are calibrated, while the bundle speaks."""
    spoken = calibration.record(bundle, n_sentences)
    return dict(list(tqdm(spoken, total=n_sentences, desc="sentences", leave=False))[-1])


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
    voices = make_voices(checkpoint.speakers, instructed, tokenizer, config.flow.n_mels)
    arrays = tables(checkpoint)
    positions: NDArray[Any] = position_tables(checkpoint.lm)
    if recipe.graphs["speech_lm"].method != "float32":
        positions, arrays["lm.position_scales"] = int8_columns(positions)
    np.savez(directory / "tables.npz", allow_pickle=False, **arrays)
    np.save(directory / "positions.npy", positions, allow_pickle=False)
    (directory / "voices").mkdir()
    for index, voice in enumerate(voices):
        np.savez(directory / "voices" / f"{index}.npz", allow_pickle=False, **voice.arrays)
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
