"""What trained listeners' stand-ins say of speech: DNSMOS of its quality, and an embedding of who speaks. Both run offline.

DNSMOS P.835 (Reddy et al. 2022) is three small networks' guess at the mean opinion score, 1 to 5, of speech, background and the
whole; the ONNX file lies in the PyPI package speechmos. Speakers are compared by the generalised end-to-end encoder (Wan et al.
2018) whose weights lie in the PyPI package resemblyzer; of that package only this file is read, so that it can be installed
without the packages that it declares: `pip install --no-deps resemblyzer`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from convert.similarity import RATE_HZ, frames, mel_filters
from edge_tts.errors import MissingExtraError

Samples = NDArray[np.float32]
# Seconds that DNSMOS looks at; speech is repeated until it is that long, and longer speech judged in steps of a second.
_MOS_SAMPLES = int(9.01 * RATE_HZ)
# From the networks' raw numbers to the scale of opinion scores: the published polynomials for speech, background and overall.
_MOS_SCALE = ((-0.08397278, 1.22083953, 0.0052439), (-0.13166888, 1.60915514, -0.39604546), (-0.06766283, 1.11546468, 0.04602535))
# The speaker encoder was trained on speech at this level, in pieces of this many frames.
_LEVEL_DB, _PIECE_FRAMES, _STEP_FRAMES = -30.0, 160, 80


def package_file(package: str, *parts: str) -> Path | None:
    """A data file of an installed package, found without importing it; None when the package is not there."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]).joinpath(*parts)
    return path if path.is_file() else None


class SpeechQuality:
    """DNSMOS P.835."""

    def __init__(self) -> None:
        path = package_file("speechmos", "dnsmos_models", "sig_bak_ovr.onnx")
        if path is None:
            raise MissingExtraError("speechmos, which has the model of DNSMOS,", "evaluate")
        self._model = ov.Core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def __call__(self, samples: Samples) -> tuple[float, float, float]:
        """Opinion scores of speech, background and the whole, for samples at RATE_HZ within -1..1."""
        while len(samples) < _MOS_SAMPLES:
            samples = np.concatenate([samples, samples])
        starts = range(0, (len(samples) // RATE_HZ - 9) * RATE_HZ, RATE_HZ) or range(1)
        pieces = [piece for start in starts if len(piece := samples[start : start + _MOS_SAMPLES]) == _MOS_SAMPLES]
        raw = np.concatenate([self._model(piece[None])[0] for piece in pieces])  # [pieces, 3]
        speech, background, overall = (float(np.polyval(p, raw[:, i]).mean()) for i, p in enumerate(_MOS_SCALE))
        return speech, background, overall


class SpeakerEncoder:
    """An embedding of who speaks; the cosine of two is how alike the speakers are."""

    def __init__(self, weights: Path) -> None:
        import torch

        state = torch.load(str(weights), map_location="cpu", weights_only=True)["model_state"]
        self._lstm = torch.nn.LSTM(40, 256, 3, batch_first=True)
        self._linear = torch.nn.Linear(256, 256)
        for name, module in (("lstm", self._lstm), ("linear", self._linear)):
            module.load_state_dict({key.split(".", 1)[1]: value for key, value in state.items() if key.startswith(f"{name}.")})

    @classmethod
    def installed(cls) -> SpeakerEncoder | str:
        """The encoder, or why there is none."""
        weights = package_file("resemblyzer", "pretrained.pt")
        if weights is None:
            return "resemblyzer, which has a speaker encoder's weights, is not installed: pip install --no-deps resemblyzer"
        if importlib.util.find_spec("torch") is None:
            return "torch, which reads the speaker encoder's weights, is not installed: pip install torch"
        return cls(weights)

    def __call__(self, samples: Samples) -> NDArray[np.float32]:
        """Unit vector [256] for samples at RATE_HZ."""
        import torch

        level_db = 20 * np.log10(max(float(np.sqrt(np.mean(np.square(samples)))), 1e-9))
        loud = samples * 10 ** (max(_LEVEL_DB - level_db, 0.0) / 20)
        power = np.abs(np.fft.rfft(frames(loud, 400, 160) * np.hanning(401)[:-1])) ** 2
        mel = (power @ mel_filters(RATE_HZ, 400, 40).T).astype(np.float32)  # [frames, 40]
        if len(mel) < _PIECE_FRAMES:
            mel = np.pad(mel, [(0, _PIECE_FRAMES - len(mel)), (0, 0)], mode="wrap")
        starts = range(0, len(mel) - _PIECE_FRAMES + 1, _STEP_FRAMES)
        pieces = np.stack([mel[start : start + _PIECE_FRAMES] for start in starts])
        with torch.no_grad():
            _, (hidden, _) = self._lstm(torch.from_numpy(pieces))
            embeddings = torch.relu(self._linear(hidden[-1])).numpy()
        mean = (embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)).mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)


def likeness(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Cosine of two speakers' unit vectors."""
    return float(first @ second)
