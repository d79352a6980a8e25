"""The default voice is understood: through the socket with real socat, int8 against float, in both languages."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from convert.evaluate import MAX_DURATION_CHANGE, MAX_ERROR_LOSS, MAX_MOS_LOSS, evaluate, table
from convert.listening import Listener, error_rate, missed_rate
from convert.sentences import CHINESE, ENGLISH
from tests.real.conftest import ROOT
from tests.real.sentences import MIXED

SENTENCES = {"en": ENGLISH, "zh": CHINESE, "mixed": MIXED}
LISTENER_LANGUAGE = {"en": "en", "zh": "zh", "mixed": "zh"}
MAX_ENGLISH_ERROR, MAX_CHINESE_ERROR = 0.06, 0.10


@pytest.fixture(scope="module")
def socket_path(int8_bundle: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("service") / "speech.sock"
    command = [sys.executable, "-m", "edge_tts", "serve", "--bundle", str(int8_bundle), "--socket", str(path)]
    server = subprocess.Popen(command, cwd=ROOT, env=environment)
    deadline = time.monotonic() + 120
    while not path.exists():
        assert server.poll() is None and time.monotonic() < deadline, "the server did not start"
        time.sleep(0.1)
    yield path
    server.terminate()
    assert server.wait(30) == 0


def spoken_by_socat(text: str, socket: Path, wav: Path) -> Path:
    """The one-liner of the README, with socat's default options."""
    with wav.open("wb") as out:
        subprocess.run(["socat", "-", f"UNIX-CONNECT:{socket}"], input=text.encode(), stdout=out, check=True, timeout=300)
    return wav


@pytest.fixture(scope="module")
def heard(socket_path: Path, listener: Listener, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the listener wrote down of every sentence."""
    directory = tmp_path_factory.mktemp("spoken")
    result: dict[str, list[str]] = {}
    for kind, sentences in SENTENCES.items():
        wavs = [spoken_by_socat(text, socket_path, directory / f"{kind}{i}.wav") for i, text in enumerate(sentences)]
        result[kind] = [listener.transcribe(wav, LISTENER_LANGUAGE[kind]) for wav in wavs]
    return result


def test_english_through_the_socket_is_understood(heard: dict[str, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    rate = error_rate(list(ENGLISH), heard["en"])
    show(capsys, f"English word error rate {rate:.1%}", ENGLISH, heard["en"])
    assert rate <= MAX_ENGLISH_ERROR


def test_chinese_through_the_socket_is_understood(heard: dict[str, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    rate = error_rate(list(CHINESE), heard["zh"])
    show(capsys, f"Chinese character error rate {rate:.1%}", CHINESE, heard["zh"])
    assert rate <= MAX_CHINESE_ERROR


def test_mixed_sentences_keep_both_their_languages(heard: dict[str, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    """The Chinese around an English word is heard as said; the word itself is often written in characters by Chinese ears."""
    rate = missed_rate([han(text) for text in MIXED], [han(text) for text in heard["mixed"]])
    show(capsys, f"Mixed sentences, Chinese characters missed {rate:.1%}", MIXED, heard["mixed"])
    assert rate <= MAX_CHINESE_ERROR


def han(text: str) -> str:
    return "".join(c for c in text if "\u4e00" <= c <= "\u9fff")


def test_the_default_recipe_holds_float_quality(
    int8_bundle: Path, float_bundle: Path, listener: Listener, capsys: pytest.CaptureFixture[str]
) -> None:
    """A point of error rate, 3 % of any sentence's duration, 0.1 of DNSMOS are what it may lose."""
    evaluation = evaluate(int8_bundle, float_bundle, listener)
    assert len(evaluation.sentences) == len(ENGLISH) + len(CHINESE)
    show(capsys, "\n".join(table(evaluation, {str(float_bundle): "float32", str(int8_bundle): "int8"})))
    assert (MAX_ERROR_LOSS, MAX_DURATION_CHANGE, MAX_MOS_LOSS) == (0.01, 0.03, 0.1)
    assert evaluation.failures() == []
    found = evaluation.summary()
    assert found["error_loss"] <= 0.01 and found["duration_change_max"] <= 0.03 and found["mos_loss"] <= 0.1


def spoken_by_python(texts: list[str], bundle: Path, directory: Path, environment: dict[str, str]) -> list[Path]:
    """Each text in a WAV, by a process of its own through the Python API, which also must load no training framework."""
    directory.mkdir()
    program = """
import json, sys
import numpy as np, soundfile
from edge_tts import load_voice

voice = load_voice(sys.argv[1])
for i, text in enumerate(json.load(sys.stdin)):
    samples = np.concatenate([chunk.samples for chunk in voice.synthesize(text)])
    soundfile.write(f"{sys.argv[2]}/{i:02}.wav", samples, voice.sample_rate)
heavy = {"torch", "nncf", "onnx", "onnxruntime", "convert"} & set(sys.modules)
assert not heavy, f"the runtime loaded {heavy}"
"""
    command = [sys.executable, "-c", program, str(bundle), str(directory)]
    subprocess.run(command, input=json.dumps(texts), text=True, env=environment, check=True, timeout=900)
    return sorted(directory.glob("*.wav"))


def test_speech_is_clean(int8_bundle: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """No clipping, no clicks, no long silence, no sound without end: what a listener's eye would catch in the waveform."""
    for wav in spoken_by_python([ENGLISH[0], CHINESE[0], MIXED[0]], int8_bundle, tmp_path / "clean", environment):
        samples, rate = soundfile.read(wav, dtype="float32")
        assert 0.05 < np.abs(samples).max() < 1.0
        assert np.abs(np.diff(samples)).max() < 0.5
        level = np.sqrt(np.convolve(samples**2, np.ones(rate // 50) / (rate // 50), mode="same"))
        spoken = np.flatnonzero(level > 0.01)
        assert spoken[0] < 0.8 * rate and len(samples) - spoken[-1] < 1.2 * rate
        assert np.diff(spoken).max() < 0.8 * rate
        assert abs(samples.mean()) < 0.01


def show(capsys: pytest.CaptureFixture[str], line: str, said: tuple[str, ...] = (), heard: list[str] | None = None) -> None:
    """Print figures past pytest's capture, so that a run's log holds them."""
    with capsys.disabled():
        print(f"\n{line}")
        for text, transcript in zip(said, heard or [], strict=False):
            if error_rate([text], [transcript]) > 0:
                print(f"   said  {text}\n   heard {transcript}")
