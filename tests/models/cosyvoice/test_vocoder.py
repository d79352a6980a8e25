"""A waveform made in pieces is the waveform made at once; joins of blocks do not click."""

from pathlib import Path

import numpy as np
import pytest

from edge_tts.bundle import open_bundle
from edge_tts.engine import Engine
from edge_tts.models.cosyvoice.flow import FlowStream
from edge_tts.models.cosyvoice.model import CosyVoiceModel, load
from edge_tts.models.cosyvoice.vocoder import VocoderStream


@pytest.fixture(scope="module")
def model(tiny_cosyvoice_bundle: Path) -> CosyVoiceModel:
    return load(open_bundle(tiny_cosyvoice_bundle), Engine())


def in_pieces(model: CosyVoiceModel, mel: np.ndarray, cuts: list[int]) -> list[np.ndarray]:
    stream = VocoderStream(model.vocoder, np.random.default_rng(5), len(mel))
    ends = [*cuts, mel.shape[1]]
    return [stream.push(mel[:, a:b], final=b == mel.shape[1]) for a, b in zip([0, *cuts], ends, strict=True)]


@pytest.mark.parametrize("cuts", [[60], [1, 2, 3, 50, 90], [34, 68, 102, 136], [10, 11, 149]])
def test_joined_pieces_equal_the_whole(model: CosyVoiceModel, cuts: list[int]) -> None:
    mel = np.random.default_rng(2).normal(0, 2, (80, 150)).astype(np.float32)
    (whole,) = in_pieces(model, mel, [])
    assert len(whole) == 150 * 256
    joined = np.concatenate(in_pieces(model, mel, cuts))
    np.testing.assert_allclose(joined, whole, atol=2e-5 * max(1.0, float(np.abs(whole).max())))


def test_the_context_is_no_larger_than_it_must_be(model: CosyVoiceModel) -> None:
    mel = np.random.default_rng(2).normal(0, 2, (80, 120)).astype(np.float32)
    changed = mel.copy()
    changed[:, 60:] += 1.0
    (before,), (after,) = in_pieces(model, mel, []), in_pieces(model, changed, [])
    # The change is heard through f0 and through the generator, but no earlier than the context says.
    first = int(np.flatnonzero(np.abs(before - after) > 1e-6)[0]) // 256
    reach = model.vocoder.settings.context_frames + 5
    assert 60 - reach <= first < 60


def test_frames_are_held_back_only_as_far_as_they_can_still_change(model: CosyVoiceModel) -> None:
    mel = np.random.default_rng(2).normal(0, 2, (80, 100)).astype(np.float32)
    first = in_pieces(model, mel, [60])[0]
    assert len(first) == (60 - 5 - model.vocoder.settings.context_frames) * 256


def test_no_join_of_blocks_steps_further_than_the_signal_itself(model: CosyVoiceModel) -> None:
    tokens = list(np.random.default_rng(0).integers(0, 64, 260))
    flow = FlowStream(model.flow, model.voice("中文女").flow, np.random.default_rng(1), lambda: False)
    vocoder = VocoderStream(model.vocoder, np.random.default_rng(2), 80)
    pieces = []
    for a, b in ((0, 60), (40, 140), (120, 260)):
        pieces.append(vocoder.push(flow.push(tokens[a:b], final=b == 260), final=b == 260))
    steps = np.abs(np.diff(np.concatenate(pieces)))
    joins = np.cumsum([len(piece) for piece in pieces])[:-1] - 1
    inside = np.delete(steps, joins)
    assert len(joins) == 2
    assert steps[joins].max() <= np.quantile(inside, 0.999)


def test_loud_magnitudes_are_limited(model: CosyVoiceModel) -> None:
    mel = np.full((80, 40), 60.0, np.float32)
    (samples,) = in_pieces(model, mel, [])
    assert np.abs(samples).max() <= 0.99 + 1e-6 and np.isfinite(samples).all()
