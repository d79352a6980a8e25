"""`python -m convert evaluate`, with the synthetic voice and a listener that is told what to hear."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

for package in ("faster_whisper", "jiwer", "scipy", "zhconv", "speechmos"):
    pytest.importorskip(package, reason="the evaluate extra is not installed")
from convert import evaluate as evaluation_module
from convert import opinion
from convert.__main__ import main
from convert.evaluate import Evaluation, Judgement, Reading, evaluate, table
from convert.opinion import SpeechQuality
from edge_tts.bundle import Bundle
from tests.tiny_voice import write_tiny_bundle


class ToldListener:
    """Hears what it is told, in turn."""

    def __init__(self, *transcripts: str) -> None:
        self.transcripts = list(transcripts)
        self.lengths: list[int] = []

    def heard(self, samples: np.ndarray, language: str) -> str:
        self.lengths.append(len(samples))
        return self.transcripts[(len(self.lengths) - 1) % len(self.transcripts)]


@pytest.fixture(autouse=True)
def no_speaker_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opinion, "package_file", lambda *names: None if names[0] == "resemblyzer" else PACKAGE_FILE(*names))


PACKAGE_FILE = opinion.package_file


def sentence(**changes: object) -> Judgement:
    reading = Reading("good morning", 0.0, 1.0, (3.0, 4.0, 3.0))
    same = Judgement("Good morning", "en", reading, reading, 0.0, 0.0, 0.0, 0.0, None)
    return replace(same, **changes)


def test_a_voice_is_as_good_as_itself(tiny_bundle: Bundle) -> None:
    listener = ToldListener("the weather")
    found = evaluate(tiny_bundle.path, tiny_bundle.path, listener, n_sentences=1)
    assert [each.language for each in found.sentences] == ["en", "zh"]
    summary = found.summary()
    names = ("error_loss", "duration_change_max", "mel_db", "voicing", "mos_loss")
    assert {summary[name] for name in names} == {0.0} and summary.get("f0_cents", 0.0) == 0.0
    assert summary["error_rate_en"] == pytest.approx(0.8) and summary["error_rate_zh"] == 1.0
    assert 1.0 <= summary["mos"] <= 5.0
    assert found.failures() == [] and "pip install --no-deps resemblyzer" in found.speaker_skipped
    assert listener.lengths[0] == listener.lengths[2]


def test_another_voice_is_told_apart(tiny_bundle: Bundle, tmp_path: Path) -> None:
    other = write_tiny_bundle(tmp_path / "other", seed=9)
    found = evaluate(other.path, tiny_bundle.path, ToldListener("the weather"), n_sentences=1)
    assert found.summary()["mel_db"] > 3.0


@pytest.mark.parametrize(
    ("changes", "failure"),
    [
        ({"judged": Reading("good evening", 0.5, 1.0, (3.0, 4.0, 3.0))}, "the error rate rises by 0.500; 0.01 is allowed"),
        ({"duration": -0.031}, "a sentence's duration changes by 0.031"),
        ({"judged": Reading("good morning", 0.0, 1.0, (3.0, 4.0, 2.8))}, "the opinion score falls by 0.200"),
    ],
)
def test_what_is_worse_than_allowed_is_named(changes: dict[str, object], failure: str) -> None:
    found = Evaluation((sentence(**changes),), "skipped")
    assert len(found.failures()) == 1 and found.failures()[0].startswith(failure)


def test_what_is_a_little_worse_is_not() -> None:
    little = sentence(duration=0.029, judged=Reading("good morning", 0.0, 1.0, (3.0, 4.0, 2.91)))
    assert Evaluation((little,), "skipped").failures() == []
    better = sentence(reference=Reading("good evening", 0.5, 1.0, (3.0, 4.0, 2.0)))
    assert Evaluation((better,), "skipped").failures() == []


def test_the_command_prints_json_and_draws(
    tiny_bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(evaluation_module, "Listener", lambda directory: ToldListener("the weather"))
    picture = tmp_path / "evaluation.png"
    command = ["evaluate", str(tiny_bundle.path), "--against", str(tiny_bundle.path), "--sentences", "1"]
    assert main([*command, "--json", "--plot", str(picture)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["bundles"] == {str(tiny_bundle.path): "float32"} and len(data["sentences"]) == 2
    assert data["sentences"][0]["judged"]["heard"] == "the weather" and data["failures"] == []
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_a_sentence_without_pitch_leaves_no_gap_in_the_figures() -> None:
    silent = Evaluation((sentence(f0_cents=None),), "skipped")
    assert "f0_cents" not in silent.summary() and "f0 - cents" in "\n".join(table(silent, {"a": "float32", "b": "int8"}))
    both = Evaluation((sentence(f0_cents=None), sentence(f0_cents=4.0)), "skipped")
    assert both.summary()["f0_cents"] == 4.0
    assert "NaN" not in json.dumps(evaluation_module.as_data(silent, {"a": "float32", "b": "int8"}))


def test_the_table_shows_every_sentence_and_the_verdict() -> None:
    worse = sentence(judged=Reading("good evening", 0.5, 1.0, (3.0, 4.0, 2.0)), speaker=0.9)
    lines = "\n".join(table(Evaluation((worse,), ""), {"float": "float32", "small": "int8"}))
    assert "small (recipe int8) against float (recipe float32)" in lines
    assert "0% -> 50%" in lines and "judged was heard as: good evening" in lines and "speaker similarity 0.900" in lines
    assert lines.count("WORSE THAN ALLOWED") == 2


def test_a_mistake_is_told_before_anything_is_spoken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "nowhere", "--against", "nowhere", "--plot", str(tmp_path / "no" / "x.png")]) == 1
    assert "its directory does not exist" in capsys.readouterr().err


def test_speech_quality_equals_the_models_own_runtime() -> None:
    """The same file by ONNX Runtime and the published polynomials, for lengths below and above its window of 9.01 s."""
    onnxruntime = pytest.importorskip("onnxruntime")
    path = PACKAGE_FILE("speechmos", "dnsmos_models", "sig_bak_ovr.onnx")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    for n in (30_000, 16_000 * 11 + 5):
        t = np.arange(n) / 16000
        samples = (0.2 * np.sin(2 * np.pi * (200 + 50 * np.sin(3 * t)) * t) + 0.01 * rng.standard_normal(n)).astype(np.float32)
        longer = samples
        while len(longer) < 144160:
            longer = np.concatenate([longer, longer])
        pieces = [longer[s : s + 144160] for s in range(0, len(longer) - 144160 + 1, 16000)]
        raw = np.stack([session.run(None, {"input_1": piece[None]})[0][0] for piece in pieces[: len(longer) // 16000 - 9 or 1]])
        expected = np.mean(-0.06766283 * raw[:, 2] ** 2 + 1.11546468 * raw[:, 2] + 0.04602535)
        assert SpeechQuality()(samples)[2] == pytest.approx(expected, abs=2e-3)
    quiet, noisy = (0.1 * rng.standard_normal(160000).astype(np.float32) * level for level in (0.001, 1.0))
    assert SpeechQuality()(noisy)[1] < SpeechQuality()(quiet)[1]


def test_the_speaker_encoder_knows_a_pitch_from_another(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    weights = PACKAGE_FILE("resemblyzer", "pretrained.pt")
    if weights is None:
        pytest.skip("resemblyzer is not installed: pip install --no-deps resemblyzer")
    encoder = opinion.SpeakerEncoder(weights)
    t = np.arange(32000) / 16000

    def voice(hz: float) -> np.ndarray:
        return sum(np.sin(2 * np.pi * k * hz * t) / k for k in range(1, 15)).astype(np.float32) * 0.1

    low, low_again, high = encoder(voice(110)), encoder(voice(112)), encoder(voice(240))
    assert np.linalg.norm(low) == pytest.approx(1.0, abs=1e-5)
    assert opinion.likeness(low, low_again) > opinion.likeness(low, high) + 0.1
