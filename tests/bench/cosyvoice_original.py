"""The original's cost beside ours: a plain torch float32 port of its algorithm, alternating with a bundle in one run.

    python -m tests.bench.cosyvoice_original CHECKPOINT_DIR BUNDLE [--rounds N] [--json FILE]

The port does what the original does and no more: at every decode step each of the LM's layers multiplies the vectors of all
2T - 1 positions by `linear_pos`, the flow takes ten Euler steps of batch 2 over the whole block, and the vocoder runs the torch
modules. Printed are medians by stage, their ratios with the spread over the rounds, and the sum for ten seconds of audio; then
what only ours does (four sequences at once, sentences as a request speaks them), and where its time goes, by operation.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from convert.cosyvoice.checkpoint import load_checkpoint
from convert.cosyvoice.modules import EncoderLayer, Estimator, SpeechLM, Vocoder, sinusoidal_positions
from edge_tts.bundle import Bundle, VoiceEntry, open_bundle
from edge_tts.engine import Engine
from edge_tts.models.cosyvoice.flow import Condition
from edge_tts.models.cosyvoice.model import CosyVoiceModel, load
from tests.bench import profile
from tests.bench.cosyvoice import speak

POSITIONS = (50, 250, 480)
FRAMES = 430
AUDIO_S = 10.0
OF_FOUR = "LM token, 4 at once"
_STEPS = 6


class OriginalDecoder:
    """A decode step with a cache as the original takes it."""

    def __init__(self, lm: SpeechLM, n_cached: int) -> None:
        config = lm.config.decoder
        self.lm, self.n_heads = lm, config.n_heads
        shape = (1, config.n_heads, n_cached, config.size // config.n_heads)
        self.caches = [(torch.randn(shape), torch.randn(shape)) for _ in lm.llm.encoders]

    def step(self, token: int) -> Tensor:
        """Log-probabilities after one more token: [classes]."""
        encoder = self.lm.llm
        x = encoder.embed(self.lm.speech_embedding(torch.tensor([[token]]))) * encoder.config.size**0.5
        n_keys = self.caches[0][0].shape[2] + 1
        positions = sinusoidal_positions(torch.arange(n_keys - 1, -n_keys, -1), encoder.config.size)
        for index, layer in enumerate(encoder.encoders):
            x = self._layer(index, layer, x, positions)
        return torch.log_softmax(self.lm.llm_decoder(encoder.after_norm(x)[0, -1]), dim=-1)

    def _layer(self, index: int, layer: EncoderLayer, x: Tensor, positions: Tensor) -> Tensor:
        attention, (norm_attention, norm_feed_forward) = layer.self_attn, layer.norms()
        normed = norm_attention(x)
        query, key, value = (
            linear(normed).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for linear in (attention.linear_q, attention.linear_k, attention.linear_v)
        )
        before = self.caches[index]
        key, value = torch.cat([before[0], key], dim=2), torch.cat([before[1], value], dim=2)
        self.caches[index] = key, value
        p = attention.linear_pos(positions).unflatten(-1, (self.n_heads, -1)).permute(1, 2, 0)  # all of them, every time
        by_key = (query + attention.pos_bias_u[:, None]) @ key.transpose(-2, -1)
        by_distance = ((query + attention.pos_bias_v[:, None]) @ p)[..., : key.shape[2]]  # the rest are of keys that are to come
        scores = torch.softmax((by_key + by_distance) * attention.head_size**-0.5, dim=-1)
        x = x + attention.linear_out((scores @ value).transpose(1, 2).flatten(2))
        return x + layer.feed_forward(norm_feed_forward(x))


def original_stages(directory: Path) -> dict[str, Callable[[], float]]:
    """By stage what takes its time, in seconds: of a decode step, or of a second of audio."""
    checkpoint = load_checkpoint(directory)
    lm, estimator, vocoder = checkpoint.lm, checkpoint.flow.decoder.estimator, checkpoint.vocoder

    def step(position: int) -> float:
        decoder = OriginalDecoder(lm, position)
        return timed(lambda: decoder.step(1), _STEPS)

    stages: dict[str, Callable[[], float]] = {f"LM step at {n}": lambda n=n: step(n) for n in POSITIONS}
    seconds = FRAMES * 256 / 22050
    stages["flow, 10 steps"] = lambda: 10 * timed(lambda: _original_direction(estimator), 1) / seconds
    stages["vocoder"] = lambda: timed(lambda: _original_waveform(vocoder), 1) / seconds
    return stages


def _original_direction(estimator: Estimator) -> Tensor:
    x = torch.randn(2, 80, FRAMES)
    return estimator(x, x, torch.randn(2, estimator.in_channels), torch.randn(2, 80), x)


def _original_waveform(vocoder: Vocoder) -> Tensor:
    return vocoder.waveform(torch.randn(1, 80, FRAMES), 0.1 * torch.randn(1, FRAMES * 256))


def our_stages(model: CosyVoiceModel) -> dict[str, Callable[[], float]]:
    """The same of a bundle."""
    rng = np.random.default_rng(0)
    seconds = FRAMES * 256 / model.sample_rate

    def noise(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    def step(position: int) -> float:
        decoding = model.lm.decode([noise(position, model.lm.tables.speech.shape[1])])
        return timed(lambda: decoding.step([1]), _STEPS)

    stages: dict[str, Callable[[], float]] = {f"LM step at {n}": lambda n=n: step(n) for n in POSITIONS}
    condition, mel = Condition(noise(80, FRAMES), noise(80), np.zeros((80, FRAMES), np.float32)), noise(80, FRAMES)
    excitation = 0.1 * noise(FRAMES * 256)
    stages["flow, 10 steps"] = lambda: timed(lambda: model.flow.solve(mel, condition, lambda: False), 1) / seconds
    stages["vocoder"] = lambda: timed(lambda: model.vocoder.waveform(mel, excitation), 1) / seconds
    four = [noise(100, model.lm.tables.speech.shape[1])] * 4

    def a_token_of_four() -> float:
        decoding = model.lm.decode(four)
        return timed(lambda: decoding.step([1] * 4), _STEPS) / 4

    stages[OF_FOUR] = a_token_of_four
    return stages


def spoken(model: CosyVoiceModel, voice: VoiceEntry) -> dict[str, float]:
    """What only a whole request shows: seconds for a second of audio, and to the first sound."""
    alone, paragraph = speak(model, voice, 1, AUDIO_S), speak(model, voice, 4, AUDIO_S / 2)
    return {
        "one sentence": alone.wall_s / alone.audio_s,
        "a paragraph": paragraph.wall_s / paragraph.audio_s,
        "first sound": alone.first_s,
    }


def profile_of(bundle: Bundle) -> list[profile.Row]:
    """Rows by operation of a sentence of five seconds, its second reading, ms for a second of audio."""
    engine = profile.ProfiledEngine(0)
    model, voice = load(bundle, engine), bundle.manifest.voices[0]
    for _ in range(2):
        engine.counts.clear()
        audio_s = speak(model, voice, 1, AUDIO_S / 2).audio_s
    return profile.rows_of(engine.counts, audio_s)


def timed(run: Callable[[], object], times: int) -> float:
    """Median seconds of a call, after one to warm up."""
    walls = []
    for _ in range(times + 1):
        began = time.perf_counter()
        run()
        walls.append(time.perf_counter() - began)
    return float(np.median(walls[1:]))


def ten_seconds(stages: dict[str, float]) -> float:
    """Seconds for ten seconds of audio: 500 tokens, their flow and their vocoder."""
    steps = np.interp(np.arange(500), POSITIONS, [stages[f"LM step at {n}"] for n in POSITIONS])
    return float(steps.sum()) + AUDIO_S * (stages["flow, 10 steps"] + stages["vocoder"])


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT_DIR")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    args = parser.parse_args()
    bundle = open_bundle(args.bundle, verify=False)
    model = load(bundle, Engine())
    sides = {"original": original_stages(args.checkpoint), "ours": our_stages(model)}
    rounds: list[dict[str, dict[str, float]]] = []
    with torch.inference_mode():
        for _ in range(args.rounds):
            found: dict[str, dict[str, float]] = {side: {} for side in sides}
            for stage in sides["ours"]:
                for side, stages in sides.items():
                    if stage in stages:
                        found[side][stage] = stages[stage]()
            for times in found.values():
                times["10 s of audio"] = ten_seconds(times)
            found["ours"] |= spoken(model, bundle.manifest.voices[0])
            rounds.append(found)
    print(f"{'stage':16}  {'original':>10}  {'ours':>10}  ratio (spread)")
    for stage in rounds[0]["original"]:
        theirs, ours = (np.array([found[side][stage] for found in rounds]) for side in ("original", "ours"))
        ratios = theirs / ours
        unit, scale = ("ms", 1e3) if stage.startswith("LM") else ("s", 1.0)
        print(
            f"{stage:16}  {scale * np.median(theirs):7.2f} {unit:2}  {scale * np.median(ours):7.2f} {unit:2}  "
            f"{np.median(ratios):5.1f} ({ratios.min():.1f}-{ratios.max():.1f})"
        )
    for stage in [stage for stage in rounds[0]["ours"] if stage not in rounds[0]["original"]]:
        print(f"{stage:20} {np.median([found['ours'][stage] for found in rounds]):7.3f} s")
    del model, sides
    operations = profile_of(bundle)
    print(profile.table(operations, 16))
    if args.json:
        args.json.write_text(json.dumps({"rounds": rounds, "profile": operations}, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
