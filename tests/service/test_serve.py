"""`edge-tts serve` as a process, with a synthetic Kokoro voice: real graphs, real socat."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from edge_tts.audio import WAV_HEADER_BYTES
from edge_tts.client import Client
from edge_tts.errors import RequestError

pytest.importorskip("hibari", reason="the tiny voice needs the extra convert-kokoro")

from tests.tiny_voice import write_tiny_bundle

PROJECT = Path(__file__).parent.parent.parent


class Served:
    """A service as a process of its own."""

    def __init__(self, directory: Path, bundle: Path, *options: str) -> None:
        self.path = directory / "text.sock"
        self.log = directory / "log"
        command = [sys.executable, "-m", "edge_tts", "serve", "--bundle", str(bundle), "--socket", str(self.path), *options]
        environment = {**os.environ, "XDG_CACHE_HOME": str(directory / "cache"), "PYTHONPATH": str(PROJECT)}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, cwd=directory, stderr=log, env=environment)

    def wait_for(self, words: str, seconds: float = 60) -> None:
        until_s = time.monotonic() + seconds
        while words not in self.log.read_text():
            assert self.process.poll() is None or words in self.log.read_text(), self.log.read_text()
            assert time.monotonic() < until_s, self.log.read_text()
            time.sleep(0.02)

    def wait_for_socket(self) -> None:
        until_s = time.monotonic() + 60
        while not self.path.exists():
            assert self.process.poll() is None and time.monotonic() < until_s, self.log.read_text()
            time.sleep(0.01)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tiny")
    write_tiny_bundle(directory)
    return directory


@pytest.fixture
def served(tmp_path: Path, bundle: Path) -> Iterator[Served]:
    one = Served(tmp_path, bundle)
    one.wait_for_socket()
    yield one
    one.process.terminate()
    assert one.process.wait(60) == 0, one.log.read_text()
    assert "Traceback" not in one.log.read_text(), one.log.read_text()
    assert not one.path.exists()


@pytest.mark.skipif(shutil.which("socat") is None, reason="socat is not installed")
def test_socat_gets_speech_even_while_the_model_loads(served: Served, tmp_path: Path) -> None:
    out = tmp_path / "out.wav"
    # A socket that is there before the model is: this request comes while it loads.
    text = "Hello there. 你好，世界。".encode()
    out.write_bytes(subprocess.run(["socat", "-", f"UNIX-CONNECT:{served.path}"], input=text, stdout=subprocess.PIPE).stdout)
    samples, rate = soundfile.read(out)
    assert rate == 24000
    assert np.abs(samples).max() > 0.001
    served.wait_for("spoken")


def test_clients_speak_at_once_with_their_own_voices(served: Served) -> None:
    served.wait_for("ready")

    def spoken_by(voice: str) -> bytes:
        return b"".join(Client(served.path).speak("Hello, my friend.", voice=voice, seed=1))

    alone = {voice: spoken_by(voice) for voice in ("af_tiny", "bm_tiny")}
    together: dict[int, bytes] = {}

    def speak(number: int, voice: str) -> None:
        together[number] = spoken_by(voice)

    voices = ["af_tiny", "bm_tiny"] * 4
    clients = [threading.Thread(target=speak, args=each) for each in enumerate(voices)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert alone["af_tiny"] != alone["bm_tiny"]
    for number, voice in enumerate(voices):
        assert sound_of(together[number]) == sound_of(alone[voice])


def test_a_cosyvoice_bundle_is_served_like_any_other(tiny_cosyvoice_bundle: Path, tmp_path: Path) -> None:
    served = Served(tmp_path, tiny_cosyvoice_bundle)
    served.wait_for("ready")
    for text, language in (("Hello.", "en"), ("你好。", "zh")):
        assert sound_of(b"".join(Client(served.path).speak(text, lang=language, voice="中文女", seed=1)))
    served.process.terminate()
    assert served.process.wait(60) == 0, served.log.read_text()
    assert "Traceback" not in served.log.read_text(), served.log.read_text()


def sound_of(wav: bytes) -> bytes:
    """Without the silence that is sent while nothing is ready."""
    return wav[WAV_HEADER_BYTES:].strip(b"\0")


def test_a_new_configuration_is_taken_over_without_dropping_a_request(tmp_path: Path, bundle: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[limits]\ntext_bytes = 100000\n")
    served = Served(tmp_path, bundle, "--config", str(config))
    served.wait_for("ready")
    long = Client(served.path).speak("This goes on and on. " * 60)
    first = next(long)
    config.write_text('voice = "bm_tiny"\n[limits]\ntext_bytes = 30\n')
    served.process.send_signal(signal.SIGHUP)
    served.wait_for("reloaded")
    with pytest.raises(RequestError, match="longer than 30 bytes"):
        list(Client(served.path).speak("x" * 50))
    rest = b"".join(long)
    assert len(first + rest) > 24000
    config.write_text("vioce = 3\n")
    served.process.send_signal(signal.SIGHUP)
    served.wait_for("not reloaded, going on as before")
    assert Client(served.path).command("ping") == "pong"
    served.process.terminate()
    assert served.process.wait(60) == 0
    lines = served.log.read_text().splitlines()
    assert sum("spoken" in line for line in lines) == 1


def test_lazy_loading_waits_for_a_request_and_unloads_when_idle(tmp_path: Path, bundle: Path) -> None:
    served = Served(tmp_path, bundle, "--load", "lazy", "--unload-after-s", "0.3")
    served.wait_for("ready")

    def loaded() -> bool:
        return "edge_tts_model_loaded 1.0" in Client(served.path).command("metrics")

    pytest.importorskip("prometheus_client")
    assert not loaded()
    assert len(b"".join(Client(served.path).speak("Hello."))) > WAV_HEADER_BYTES
    until_s = time.monotonic() + 20
    while loaded() and time.monotonic() < until_s:
        time.sleep(0.1)
    assert not loaded()
    assert len(b"".join(Client(served.path).speak("Hello again."))) > WAV_HEADER_BYTES
    served.process.terminate()
    assert served.process.wait(60) == 0


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_damaged_bundle_ends_the_service_with_a_reason(tmp_path: Path, bundle: Path, damage: str) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(bundle, broken)
    file = broken / "decoder.bin"
    if damage == "missing":
        file.unlink()
    else:
        data = bytearray(file.read_bytes())
        data[100] ^= 1
        file.write_bytes(data)
    served = Served(tmp_path, broken)
    assert served.process.wait(60) == 66
    assert "decoder.bin" in served.log.read_text()
    assert not served.path.exists()


def test_a_voice_of_the_configuration_must_exist(tmp_path: Path, bundle: Path) -> None:
    served = Served(tmp_path, bundle, "--voice", "nobody")
    assert served.process.wait(60) == 2
    assert "unknown voice 'nobody'; this bundle has: af_tiny" in served.log.read_text()


def test_speaking_through_the_service_loads_no_conversion_tools(served: Served) -> None:
    served.wait_for("ready")
    list(Client(served.path).speak("Hello. 你好。"))
    mapped = Path(f"/proc/{served.process.pid}/maps").read_text()
    assert "openvino" in mapped
    for name in ("torch", "nncf", "onnxruntime", "/onnx/"):
        assert name not in mapped
