"""A random CosyVoice of the smallest sizes, made on the spot: needs no download, speaks noise."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

from convert.cosyvoice.command import convert
from convert.cosyvoice.config import (
    CosyVoiceConfig,
    EncoderConfig,
    EstimatorConfig,
    FlowConfig,
    SamplingConfig,
    SpeechLMConfig,
    VocoderConfig,
)
from convert.cosyvoice.modules import Flow, SpeechLM, Vocoder
from convert.cosyvoice.recipes import RECIPES
from edge_tts.text.tokenizer import special_tokens
from tests.cosyvoice_standin import write_checkpoint
from tests.tiny_cosyvoice_ranks import N_RANKS, write_ranks

N_SPEECH_TOKENS = 64
_LEVELS = ((1, 3, 5), (1, 3, 5), (1, 3, 5))
CONFIG = CosyVoiceConfig(
    sample_rate=22050,
    lm=SpeechLMConfig(
        n_text_tokens=N_RANKS + len(special_tokens()),
        n_speech_tokens=N_SPEECH_TOKENS,
        speaker_size=192,
        text_encoder=EncoderConfig(16, 32, 2, 2, 48, causal=True, legacy_input=False, conformer=True),
        decoder=EncoderConfig(32, 32, 2, 2, 48, causal=True, legacy_input=True, conformer=False),
        sampling=SamplingConfig(0.8, 25, 10, 0.1),
    ),
    flow=FlowConfig(
        n_speech_tokens=N_SPEECH_TOKENS,
        n_mels=80,
        speaker_size=192,
        token_rate_hz=50,
        encoder=EncoderConfig(32, 32, 1, 2, 48, causal=False, legacy_input=False, conformer=True),
        n_regulator_convolutions=4,
        estimator=EstimatorConfig(320, 80, (16, 16), head_size=16, n_heads=1, n_blocks=1, n_mid_blocks=1),
        guidance=0.7,
        cosine_schedule=True,
    ),
    vocoder=VocoderConfig(80, 32, 8, 0.1, 0.003, 10.0, (8, 8), (16, 16), 16, 4, (3, 7, 11), _LEVELS, (7, 11), _LEVELS[:2],
                          0.1, 0.99, 32),
)  # fmt: skip


def write_tiny_checkpoint(directory: Path) -> None:
    """The official directory layout with random weights of `CONFIG`'s sizes."""
    with torch.device("meta"):
        networks = {"llm": SpeechLM(CONFIG.lm), "flow": Flow(CONFIG.flow), "hift": Vocoder(CONFIG.vocoder)}
    table = {name: {key: list(value.shape) for key, value in net.state_dict().items()} for name, net in networks.items()}
    write_checkpoint(table, directory, seed=1)


def write_tiny_bundle(
    checkpoint: Path,
    directory: Path,
    recipe: str,
    instructed: tuple[tuple[str, str, str], ...] = (),
    n_steps: int = 10,
) -> None:
    """A bundle of the checkpoint at `directory`, which must be empty."""
    with tempfile.TemporaryDirectory() as scratch:
        ranks = Path(scratch) / "ranks.tiktoken"
        write_ranks(ranks)
        convert(checkpoint, directory, RECIPES[recipe], list(instructed), ranks, n_steps)
