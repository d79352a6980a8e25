"""Schedule, block overlap and speed change, without the graphs where numpy can tell; with them for the overlap."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edge_tts.bundle import open_bundle
from edge_tts.engine import Engine
from edge_tts.errors import CancelledError
from edge_tts.models.cosyvoice.flow import (
    OVERLAP_TOKENS,
    FlowSettings,
    FlowStream,
    SpeedChange,
)
from edge_tts.models.cosyvoice.model import CosyVoiceModel, load

SETTINGS = FlowSettings(10, 0.7, True, 50, 22050, 256, 80)


@pytest.fixture(scope="module")
def model(tiny_cosyvoice_bundle: Path) -> CosyVoiceModel:
    return load(open_bundle(tiny_cosyvoice_bundle), Engine())


def test_the_schedule_is_the_references_to_the_last_bit(cosyvoice_reference: Path) -> None:
    np.testing.assert_array_equal(SETTINGS.schedule(), np.load(cosyvoice_reference / "goldens.npz")["flow.sft.t_span"])


def test_steps_cover_the_time_from_zero_to_one() -> None:
    times, lengths = zip(*SETTINGS.steps(), strict=True)
    assert times[0] == 0 and len(times) == 10
    assert sum(lengths) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("n_steps", [5, 7])
def test_fewer_steps_are_some_of_the_times_of_32_and_denser_at_the_start(n_steps: int) -> None:
    few = replace(SETTINGS, n_steps=n_steps).schedule()
    all_of_them = replace(SETTINGS, n_steps=32).schedule()
    assert len(few) == n_steps + 1 and few[0] == 0 and few[-1] == pytest.approx(1.0, abs=1e-6)
    assert set(few) <= set(all_of_them)
    assert (np.diff(few) > 0).all() and few[1] < few[-1] - few[-2]


def test_twenty_tokens_are_thirty_four_frames() -> None:
    assert SETTINGS.frames_of(OVERLAP_TOKENS) == 34


def test_overlapping_frames_keep_their_noise_and_condition(model: CosyVoiceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    solve = model.flow.solve
    monkeypatch.setattr(model.flow, "solve", lambda noise, c, cancelled: given.append((noise, c)) or solve(noise, c, cancelled))
    tokens = list(np.random.default_rng(0).integers(0, 64, 200))
    stream = FlowStream(model.flow, model.voice("中文女").flow, np.random.default_rng(1), lambda: False)
    pieces = [stream.push(tokens[a:b], final=b == 200) for a, b in ((0, 60), (40, 140), (120, 200))]
    n = stream.overlap_frames
    for (noise, before), (next_noise, after) in itertools.pairwise(given):
        np.testing.assert_array_equal(noise[:, -n:], next_noise[:, :n])
        np.testing.assert_array_equal(before.mu[:, -n:], after.mu[:, :n])
    total = sum(piece.shape[1] for piece in pieces)
    assert abs(total - SETTINGS.frames_of(200)) <= 2  # every join may round a frame away


def test_a_cancelled_request_stops_between_two_steps(model: CosyVoiceModel) -> None:
    asked = iter([False, False, True])
    stream = FlowStream(model.flow, model.voice("中文女").flow, np.random.default_rng(1), lambda: next(asked))
    with pytest.raises(CancelledError):
        stream.push([1] * 30, final=True)
    assert next(asked, "used up") == "used up"


def test_speed_leaves_the_frames_alone_at_one() -> None:
    mel = np.random.default_rng(0).normal(size=(80, 40)).astype(np.float32)
    np.testing.assert_array_equal(SpeedChange(1.0, 80).push(mel, final=True), mel)


@pytest.mark.parametrize("speed", [0.5, 0.8, 1.25, 2.0])
def test_speed_interpolates_linearly_and_in_pieces_as_in_one(speed: float) -> None:
    mel = np.random.default_rng(0).normal(size=(3, 101)).astype(np.float32)
    whole = SpeedChange(speed, 3).push(mel, final=True)
    assert whole.shape[1] == int(101 / speed)
    position = (np.arange(whole.shape[1]) + 0.5) * speed - 0.5
    np.testing.assert_allclose(whole, [np.interp(position, np.arange(101), row) for row in mel], atol=1e-5)
    change = SpeedChange(speed, 3)
    cuts = [0, 1, 2, 30, 31, 80, 101]
    pieces = [change.push(mel[:, a:b], final=b == 101) for a, b in itertools.pairwise(cuts)]
    np.testing.assert_allclose(np.concatenate(pieces, axis=1), whole, atol=1e-6)
