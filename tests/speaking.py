"""What a voice says of a text, as one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from edge_tts.synthesizer import Voice


def spoken(voice: Voice, text: str, **options: Any) -> np.ndarray:
    parts = [chunk.samples for chunk in voice.synthesize(text, **options)]
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)
