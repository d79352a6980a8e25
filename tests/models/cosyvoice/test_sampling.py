"""Nucleus, repetition-aware draws, and the signs of a runaway."""

from pathlib import Path

import numpy as np
import pytest

from edge_tts.models.cosyvoice.sampling import (
    RunawayLimits,
    SamplingSettings,
    draw,
    find_runaway,
    log_softmax,
    nucleus,
)

SETTINGS = SamplingSettings()


def test_candidates_are_those_of_the_reference(cosyvoice_reference: Path) -> None:
    goldens = np.load(cosyvoice_reference / "goldens.npz")
    for i in range(4):
        np.testing.assert_array_equal(nucleus(goldens[f"sampling.{i}.log_probs"], SETTINGS), goldens[f"sampling.{i}.nucleus"])


def test_there_is_a_candidate_even_when_the_first_fills_the_nucleus() -> None:
    assert nucleus(np.log([0.97, 0.01, 0.02]), SETTINGS).tolist() == [0]


def test_the_nucleus_is_the_fewest_tokens_that_reach_top_p() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        log_probs = log_softmax(rng.normal(0, 2, 40))
        kept = nucleus(log_probs, SamplingSettings(top_p=0.8, top_k=40))
        probabilities = np.exp(log_probs)
        assert probabilities[kept].sum() >= 0.8 > probabilities[kept[:-1]].sum()
        assert probabilities[kept].min() >= np.delete(probabilities, kept).max()


def test_draws_follow_the_probabilities_of_the_nucleus() -> None:
    log_probs, rng = np.log([0.5, 0.25, 0.15, 0.1]), np.random.default_rng(3)
    drawn = np.bincount([draw(log_probs, [], SETTINGS, rng) for _ in range(20000)], minlength=4) / 20000
    np.testing.assert_allclose(drawn, [5 / 9, 2.5 / 9, 1.5 / 9, 0], atol=0.015)  # 0.5 + 0.25 < 0.8: three candidates


def test_a_token_of_the_last_ten_is_drawn_again_from_all_others() -> None:
    log_probs, rng = np.log([0.9, 0.06, 0.04]), np.random.default_rng(3)
    assert {draw(log_probs, [5, 0, 6], SETTINGS, rng) for _ in range(200)} == {1, 2}
    assert draw(log_probs, [0, *range(5, 15)], SETTINGS, rng) == 0  # eleven tokens ago no longer counts


def test_forbidden_classes_are_never_drawn() -> None:
    log_probs, rng = np.array([-np.inf, -0.1, -3.0]), np.random.default_rng(3)
    assert all(draw(log_probs, [1], SETTINGS, rng) != 0 for _ in range(200))


def test_the_same_seed_draws_the_same() -> None:
    log_probs = log_softmax(np.random.default_rng(1).normal(size=100))
    first, second = ([draw(log_probs, [], SETTINGS, np.random.default_rng(9)) for _ in range(5)] for _ in range(2))
    assert first == second


def test_a_loop_is_found_whatever_its_period() -> None:
    start = list(np.random.default_rng(0).integers(0, 4096, 60))
    for period in (1, 2, 7, 25):
        loop = list(range(period)) * 100
        tokens = start + loop
        found = next((i for i in range(1, len(tokens)) if find_runaway(tokens[:i], RunawayLimits())), None)
        assert found is not None and found <= len(start) + 75 + period
        runaway = find_runaway(tokens[:found], RunawayLimits())
        assert runaway is not None and abs(runaway.good_tokens - len(start)) <= period + 1


def test_a_long_silence_is_found_though_it_never_repeats_exactly() -> None:
    tokens = list(np.random.default_rng(0).integers(0, 3, 300))
    runaway = find_runaway(tokens[:100], RunawayLimits())
    assert runaway is not None and runaway.reason == "stuck"


@pytest.mark.parametrize("n", [0, 1, 74, 75, 99, 100, 1000])
def test_ordinary_speech_is_no_runaway(n: int) -> None:
    assert find_runaway(list(np.random.default_rng(n).integers(0, 60, n)), RunawayLimits()) is None
