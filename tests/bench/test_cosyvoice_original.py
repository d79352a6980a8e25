"""The port of the original that ours is timed against computes what the original does."""

from pathlib import Path

import torch

from convert.cosyvoice.checkpoint import load_checkpoint
from tests.bench.cosyvoice_original import OriginalDecoder


def test_a_step_of_the_original_has_the_log_probabilities_of_the_whole(tiny_cosyvoice_checkpoint: Path) -> None:
    lm = load_checkpoint(tiny_cosyvoice_checkpoint).lm
    tokens = [3, 1, 4, 1, 5]
    with torch.inference_mode():
        decoder = OriginalDecoder(lm, 0)
        stepwise = torch.stack([decoder.step(token) for token in tokens])
        prefix = lm.speech_embedding(torch.tensor([tokens[:1]]))
        whole = lm.log_probabilities(prefix, torch.tensor(tokens[1:]))
    torch.testing.assert_close(stepwise, whole, rtol=0, atol=1e-4)
