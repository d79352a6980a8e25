"""A real speech-dispatcher with a real spd-say, playing into a null sound card."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edge_tts.cli import main
from tests.service.test_endurance import PROJECT
from tests.spelling_voice import write_spelling_bundle

NEEDED = ("speech-dispatcher", "spd-say", "socat", "aplay")
pytestmark = pytest.mark.skipif(
    any(shutil.which(name) is None for name in NEEDED), reason=f"needs {', '.join(NEEDED)} (and speech-dispatcher-audio-plugins)"
)

SPEECHD = """\
LogLevel 3
LogDir "{directory}"
AudioOutputMethod "alsa"
CommunicationMethod "unix_socket"
DefaultLanguage "en-US"
AddModule "edge-tts" "sd_generic" "edge-tts.conf"
DefaultModule edge-tts
"""
NULL_SOUND_CARD = "pcm.!default { type null }\nctl.!default { type null }\n"


@pytest.fixture
def spoken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """A service and a speech-dispatcher; gives the service's log of requests."""
    bundle = write_spelling_bundle(tmp_path / "spelling", step_s=0.2)
    runtime = tmp_path / "runtime"
    (runtime / "edge-tts").mkdir(parents=True)
    (tmp_path / "asound.conf").write_text(NULL_SOUND_CARD)
    (tmp_path / "speechd.conf").write_text(SPEECHD.format(directory=tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("ALSA_CONFIG_PATH", f"/usr/share/alsa/alsa.conf:{tmp_path}/asound.conf")
    monkeypatch.setenv("SPEECHD_ADDRESS", f"unix_socket:{tmp_path}/speechd.sock")
    made = ["install-unit", "--user", "--speech-dispatcher", "--bundle", str(bundle), "--directory", str(tmp_path / "modules")]
    assert main(made) == 0
    log = tmp_path / "log"
    serve = [sys.executable, "-m", "tests.spelling_cli", "serve", "--bundle", str(bundle), "--log-text"]
    with log.open("wb") as sink:
        service = subprocess.Popen(serve, cwd=PROJECT, stderr=sink, env={**os.environ, "PYTHONPATH": str(PROJECT)})
    places = ["-C", str(tmp_path), "-L", str(tmp_path), "-S", f"{tmp_path}/speechd.sock", "-P", f"{tmp_path}/pid"]
    dispatcher = subprocess.Popen(["speech-dispatcher", "-s", "-c", "unix_socket", *places], stderr=subprocess.DEVNULL)
    until_s = time.monotonic() + 20
    while not ((tmp_path / "speechd.sock").exists() and b"ready" in log.read_bytes()):
        assert time.monotonic() < until_s and dispatcher.poll() is None, "speech-dispatcher or the service did not start"
        time.sleep(0.05)

    def requests() -> list[str]:
        return [line for line in log.read_text().splitlines() if "request_id" in line]

    yield requests
    for process in (dispatcher, service):
        process.terminate()
        process.wait(20)


def say(*arguments: str) -> None:
    subprocess.run(["spd-say", *arguments], check=True, timeout=30)


def test_spd_say_speaks_with_voice_and_rate(spoken: Callable[[], list[str]]) -> None:
    say("-w", "It's the \"reader\": $HOME `ls` %s.")
    say("-w", "-r", "100", "-l", "zh", "你好。")
    say("-w", "-r", "-50", "Slowly.")
    first, second, third = spoken()
    assert "spoken" in first and "voice=ann speed=1.0" in first
    assert r"It's the \"reader\": $HOME `ls` %s." in first
    assert "voice=li speed=2.0" in second and "你好。" in second
    assert "voice=ann speed=0.75" in third


def test_cancelling_speech_cancels_the_request(spoken: Callable[[], list[str]]) -> None:
    say("A long sentence that is still being spoken when somebody presses a key.")
    time.sleep(0.1)
    say("-C")
    until_s = time.monotonic() + 10
    while not spoken() and time.monotonic() < until_s:
        time.sleep(0.05)
    say("-w", "Next.")
    assert "Next." in spoken()[-1] and "spoken" in spoken()[-1]
