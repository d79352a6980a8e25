"""Batched decoding over one cache against decoding alone."""

from pathlib import Path

import numpy as np
import pytest

from edge_tts.bundle import open_bundle
from edge_tts.engine import Engine
from edge_tts.models.cosyvoice.model import CosyVoiceModel, load
from edge_tts.models.cosyvoice.speech_lm import attention_bias


@pytest.fixture(scope="module")
def model(tiny_cosyvoice_bundle: Path) -> CosyVoiceModel:
    return load(open_bundle(tiny_cosyvoice_bundle), Engine())


def alone(model: CosyVoiceModel, prefix: np.ndarray, tokens: list[int]) -> np.ndarray:
    decoding = model.lm.decode([prefix])
    rows = [decoding.logits[0]]
    for token in tokens:
        decoding.step([token])
        rows.append(decoding.logits[0])
    return np.stack(rows)


def prefixes(model: CosyVoiceModel) -> list[np.ndarray]:
    speaker = np.random.default_rng(1).normal(size=192).astype(np.float32)
    texts = ("Hello there, how are you?", "Yes.", "今天天气很好。")
    return [model.lm.prefix(model.lm.encode_text(list(text.encode())).projected[0], speaker, []) for text in texts]


def test_sequences_of_a_batch_do_not_meet(model: CosyVoiceModel) -> None:
    given, tokens = prefixes(model), np.random.default_rng(2).integers(0, 64, (3, 140)).tolist()
    decoding = model.lm.decode(given)
    logits = [decoding.logits]
    for step in zip(*tokens, strict=True):
        decoding.step(list(step))
        logits.append(decoding.logits)
    for row, (prefix, own) in enumerate(zip(given, tokens, strict=True)):
        np.testing.assert_allclose(np.stack(logits)[:, row], alone(model, prefix, own), atol=2e-5)


def test_sequences_that_end_leave_the_others_as_they_were(model: CosyVoiceModel) -> None:
    given, rng = prefixes(model), np.random.default_rng(3)
    tokens = rng.integers(0, 64, (3, 12)).tolist()
    decoding = model.lm.decode(given)
    for i in range(5):
        decoding.step([row[i] for row in tokens])
    decoding.step([tokens[0][5], tokens[2][5]], rows=[0, 2])
    for i in range(6, 9):
        decoding.step([tokens[0][i], tokens[2][i]])
    decoding.step([tokens[2][9]], rows=[1])
    np.testing.assert_allclose(decoding.logits[0], alone(model, given[2], tokens[2][:10])[-1], atol=2e-5)


def test_going_on_from_a_longer_prefix_is_going_on_step_by_step(model: CosyVoiceModel) -> None:
    prefix, tokens = prefixes(model)[0], [3, 9, 27, 5]
    again = model.lm.decode([np.concatenate([prefix, model.lm.embed(tokens)])])
    np.testing.assert_allclose(again.logits[0], alone(model, prefix, tokens)[-1], atol=2e-5)


def test_no_query_looks_at_padding_or_ahead() -> None:
    bias = attention_bias(np.array([0, 2]), 3, 4)
    assert bias.shape == (2, 1, 3, 4)
    np.testing.assert_array_equal(bias[0, 0] == 0, [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]])
    np.testing.assert_array_equal(bias[1, 0] == 0, [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]])
