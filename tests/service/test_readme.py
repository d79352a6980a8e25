"""What the README says about the service, done literally."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import soundfile

pytest.importorskip("hibari", reason="the tiny voice needs the extra convert-kokoro")

from tests.tiny_voice import VOICES, write_tiny_bundle

README = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
NEEDED = ("socat", "curl", "bash")
pytestmark = [
    pytest.mark.skipif(any(shutil.which(name) is None for name in NEEDED), reason=f"needs {', '.join(NEEDED)}"),
    pytest.mark.skipif(not (Path(sys.executable).parent / "edge-tts").exists(), reason="edge-tts is not installed"),
]


def blocks(mark: str) -> list[str]:
    found = re.findall(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert found, f"the README has no block {mark}"
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A directory in which the README's `serve` line is running, with a voice under the name that its examples use."""
    directory = tmp_path_factory.mktemp("readme")
    bundle = directory / "data" / "edge-tts" / "voices" / "kokoro"
    bundle.mkdir(parents=True)
    write_tiny_bundle(bundle)
    manifest = bundle / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"{VOICES[0].name}"', '"af_heart"'))
    (bundle / "voices" / f"{VOICES[0].name}.npy").rename(bundle / "voices" / "af_heart.npy")
    manifest.write_text(manifest.read_text().replace(f"voices/{VOICES[0].name}.npy", "voices/af_heart.npy"))
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "XDG_DATA_HOME": str(directory / "data"),
        "XDG_CACHE_HOME": str(directory / "cache"),
        "XDG_CONFIG_HOME": str(directory / "config"),
    }
    (serve,) = blocks("serve")
    service = subprocess.Popen(["bash", "-c", f"exec {serve}"], cwd=directory, env=environment)
    until_s = time.monotonic() + 60
    while not (directory / "wyoming.sock").exists():
        assert service.poll() is None and time.monotonic() < until_s
        time.sleep(0.05)
    yield directory, environment
    service.terminate()
    assert service.wait(60) == 0


@pytest.mark.parametrize("number", range(len(blocks("client"))))
def test_every_command_does_what_it_says(place: tuple[Path, dict[str, str]], number: int) -> None:
    directory, environment = place
    script = f"set -euxo pipefail\n{blocks('client')[number]}"
    ran = subprocess.run(["bash", "-c", script], cwd=directory, env=environment, capture_output=True, timeout=120)
    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    for name in re.findall(r"(?:> |-o )(\S+\.(?:wav|flac))", script):
        samples, _ = soundfile.read(directory / name)
        assert len(samples) > 1000, name


@pytest.mark.parametrize("number", range(len(blocks("client-python"))))
def test_every_program_runs(place: tuple[Path, dict[str, str]], number: int) -> None:
    program = blocks("client-python")[number]
    if "openai" in program:
        pytest.importorskip("openai")
    directory, environment = place
    ran = subprocess.run([sys.executable, "-c", program], cwd=directory, env=environment, capture_output=True, timeout=120)
    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
