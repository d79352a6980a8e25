"""Every command that the README shows is run, as it stands there.

A comment before a code block says how: `setup` and `test` are CI's own commands; `run` and `client` blocks are run in order, in one
directory, by a shell that finds the installed voice; `python` and `client-python` are run as programs; `serve` is left running
for the blocks after it. tests/service/test_readme.py does the same with what the protocols promise.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import soundfile

from tests.real.conftest import ROOT

_BLOCK = re.compile(r"(?:^<!-- (?P<kind>[\w-]+) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.M | re.S)
_SHELL, _PYTHON = {"run", "client"}, {"python", "client-python"}
# Run by CI itself (setup, test), or by tests that need more than a voice: a manager of units, a package, a checkpoint, other voices.
_RUN_ELSEWHERE = {"setup", "test", "units", "deb", "cosyvoice", "families"}


def blocks() -> list[tuple[str, str]]:
    """(kind, code) of every block of the README, in order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [(match["kind"] or "", match["code"]) for match in _BLOCK.finditer(text)]


def test_every_block_of_the_readme_says_how_it_is_tested() -> None:
    known = {"serve"} | _SHELL | _PYTHON | _RUN_ELSEWHERE
    untold = [code for kind, code in blocks() if kind not in known]
    assert not untold


def test_ci_runs_the_two_commands_of_the_readme() -> None:
    kinds = [kind for kind, _ in blocks()]
    assert kinds.count("setup") == 1 and kinds.count("test") == 1
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "block setup" in script and "block test" in script


@pytest.fixture(scope="module")
def home(int8_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the voice where it is looked for, the project's commands first on PATH, and a loudspeaker that goes nowhere."""
    home = tmp_path_factory.mktemp("home")
    voices = home / ".local" / "share" / "edge-tts" / "voices"
    voices.mkdir(parents=True)
    (voices / "kokoro").symlink_to(int8_bundle)
    (home / "kokoro").symlink_to(int8_bundle)
    (home / ".asoundrc").write_text("pcm.!default { type null }\n", encoding="utf-8")
    return home


@pytest.fixture(scope="module")
def shell_environment(home: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "HOME": str(home), "PATH": path, "XDG_CACHE_HOME": str(ROOT / ".cache" / "xdg"), "XDG_RUNTIME_DIR": str(home)}


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_the_commands_of_the_readme_work(home: Path, shell_environment: dict[str, str], stack: ExitStack) -> None:
    for kind, code in blocks():
        if kind in _SHELL:
            done = subprocess.run(
                ["bash", "-eu", "-o", "pipefail", "-c", code], cwd=home, env=shell_environment, capture_output=True, timeout=300
            )
            assert done.returncode == 0, f"{code}\n{done.stderr.decode()}"
        elif kind in _PYTHON:
            subprocess.run([sys.executable, "-c", code], cwd=home, env=shell_environment, check=True, timeout=300)
        elif kind == "serve":
            serve(code, home, shell_environment, stack)
    for name in ("morning.wav", "nihao.flac", "story.wav", "out.wav"):
        assert soundfile.info(home / name).duration > 0.5, name


def serve(code: str, home: Path, environment: dict[str, str], stack: ExitStack) -> None:
    """Start a server that the blocks after this one talk to, and end it with the test."""
    command = code.strip()
    socket = home / re.findall(r"--socket (\S+)", command)[0]
    server = subprocess.Popen(["bash", "-euc", f"exec {command}"], cwd=home, env=environment)

    def stop() -> None:
        server.terminate()
        assert server.wait(30) == 0

    stack.callback(stop)
    deadline = time.monotonic() + 120
    while not socket.exists():
        assert server.poll() is None and time.monotonic() < deadline, f"{command} did not start"
        time.sleep(0.1)


def test_speech_can_be_played(home: Path, shell_environment: dict[str, str]) -> None:
    """Through the real aplay, into a null device."""
    for command in ('edge-tts say "Good morning." | aplay -q', 'edge-tts say --play "Good morning."'):
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", command], cwd=home, env=shell_environment, capture_output=True, timeout=120
        )
        assert done.returncode == 0, done.stderr.decode()
