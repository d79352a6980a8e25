"""`python -m edge_tts say` as people call it: in a process of its own, with files, pipes and signals."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile

from edge_tts import Voice, audio, cli, load_voice
from edge_tts.bundle import Bundle

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "edge_tts", "say")
LONG = "This is a sentence that takes a while to speak, and it is followed by many others of its kind. " * 1000


@pytest.fixture
def environment(own_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The test's home, but compiled graphs are kept from one test to the next."""
    cache = tmp_path_factory.getbasetemp() / "say-cache"
    return {**os.environ, "HOME": str(own_home), "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT)}


@dataclass(frozen=True)
class Done:
    """How a call ended."""

    returncode: int
    stdout: bytes
    stderr: bytes


@pytest.fixture
def say(
    tiny_bundle: Bundle,
    tiny_voice: Voice,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> Say:
    """Run `say` in this process, in an empty directory, with the synthetic voice that is loaded already."""
    monkeypatch.chdir(tmp_path)

    def load(path: Path, **options: object) -> Voice:
        return tiny_voice if path == tiny_bundle.path else load_voice(path)

    monkeypatch.setattr("edge_tts.cli.say.load_voice", load)

    def run(*arguments: str, text: bytes = b"", bundle: str = str(tiny_bundle.path)) -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        try:
            status = cli.main(["say", *arguments, *(["--bundle", bundle] if bundle else [])])
        except SystemExit as exit_:
            status = int(exit_.code or 0)
        return Done(status, *capsysbinary.readouterr())

    return run


Say = Callable[..., Done]


@pytest.fixture
def start(environment: dict[str, str], tiny_bundle: Bundle, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start `say` with the synthetic voice; what still runs is ended with the test."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*COMMAND, *arguments, "--bundle", str(tiny_bundle.path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=tmp_path,
            preexec_fn=_heed_interrupts,
        )  # fmt: skip
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def _heed_interrupts() -> None:
    """A shell starts background jobs, and so a test run in the background, deaf to SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def seconds_of(data: bytes) -> float:
    read, rate = soundfile.read(io.BytesIO(data))
    assert rate in (24000, 48000) and np.abs(read).max() > 0
    return len(read) / rate


@pytest.mark.parametrize("audio_format", sorted(audio.MEDIA_TYPES))
def test_the_files_ending_names_the_format(say: Say, tmp_path: Path, audio_format: str) -> None:
    done = say("Hello, 世界.", "-o", f"out.{audio_format}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    data = (tmp_path / f"out.{audio_format}").read_bytes()
    if audio_format == "pcm":
        assert len(data) % 2 == 0 and len(data) > 10_000
    else:
        kinds = {"wav": "WAV", "flac": "FLAC", "ogg": "OGG", "opus": "OGG", "mp3": "MPEG"}
        assert soundfile.info(io.BytesIO(data)).format.startswith(kinds[audio_format][:2])
        assert seconds_of(data) > 0.2
    assert [path.name for path in tmp_path.iterdir()] == [f"out.{audio_format}"]


def test_the_option_wins_over_the_ending(say: Say, tmp_path: Path) -> None:
    assert say("Hello.", "-o", "out.wav", "--format", "flac").returncode == 0
    assert (tmp_path / "out.wav").read_bytes()[:4] == b"fLaC"


def test_a_wav_file_has_its_true_length_and_a_pipe_the_same_audio(say: Say, tmp_path: Path) -> None:
    assert say("Hello there.", "-o", "out.wav").returncode == 0
    file, pipe = (tmp_path / "out.wav").read_bytes(), say("Hello there.").stdout
    assert int.from_bytes(file[40:44], "little") == len(file) - 44
    assert pipe[44:] == file[44:]
    assert say("Hello there.", "-o", "-").stdout == pipe


def test_text_comes_from_standard_input(say: Say) -> None:
    assert say(text=b"Hello there.").stdout == say("Hello there.").stdout


def test_input_that_is_not_utf8_is_spoken_with_a_warning(say: Say, caplog: pytest.LogCaptureFixture) -> None:
    done = say(text=b"Hello \xff\xfe there. \x00 Good.")
    assert done.returncode == 0 and seconds_of(done.stdout) > 0.2
    assert "not all UTF-8" in caplog.text


@pytest.mark.parametrize("text", ["", " ", "...", "，。"])
def test_text_without_words_is_a_file_without_audio(say: Say, tmp_path: Path, text: str) -> None:
    assert say(text, "-o", "out.wav").returncode == 0
    assert (tmp_path / "out.wav").read_bytes() == audio.wav_header(24000, 0)


def test_speed_and_voice_change_the_audio(say: Say) -> None:
    plain, slow, other = say("Hello there."), say("Hello there.", "--speed", "0.5"), say("Hello there.", "--voice", "bm_tiny")
    assert seconds_of(slow.stdout) > 1.5 * seconds_of(plain.stdout)
    assert other.stdout != plain.stdout


def test_verbose_reports_the_real_time_factor(say: Say) -> None:
    done = say("Hello.", "-v")
    assert b"first audio" in done.stderr and re.search(rb"RTF \d", done.stderr)


# --- mistakes -----------------------------------------------------------------------------------------------------------


def test_without_a_bundle_the_message_is_the_command_that_makes_one(say: Say, own_home: Path) -> None:
    done = say("Hello.", bundle="")
    if Path("/var/lib/edge-tts/voices").exists() or Path("/usr/share/edge-tts/voices").exists():
        pytest.skip("a voice is installed on this machine")
    target = own_home / ".local/share/edge-tts/voices/kokoro"
    assert done.returncode == 66 and done.stdout == b""
    assert done.stderr.decode().rstrip().endswith(f"python -m convert kokoro --out {target}")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["Hi.", "--voice", "nobody"], 2, "unknown voice 'nobody'; this bundle has: af_tiny, bm_tiny, zf_tiny"),
        (["Hi.", "--speed", "9"], 2, "speed 9.0 is outside 0.5-2.0"),
        (["Hi.", "--speed", "nan"], 2, "speed nan is outside"),
        (["Hi.", "--speed", "fast"], 2, "invalid float value: 'fast'"),
        (["Hi.", "--format", "aac"], 2, "invalid choice: 'aac'"),
        (["Hi.", "-o", "no/such/directory.wav"], 2, "its directory does not exist"),
        (["Hi.", "-o", "x.wav", "--play"], 2, "--play and --output exclude each other"),
        (["Hi.", "--bundle", "./nowhere"], 66, "no such voice bundle"),
        (["Hi.", "--bundle", "nobody"], 66, "no voice bundle named 'nobody'"),
        (["Hi.", "-o", "/"], 2, "/ is a directory; name a file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_mistake_is_a_line_and_a_status(
    say: Say, tiny_bundle: Bundle, tmp_path: Path, arguments: list[str], status: int, message: str
) -> None:
    done = say(*arguments, bundle="" if "--bundle" in arguments else str(tiny_bundle.path))
    assert done.returncode == status, done.stderr
    assert message in done.stderr.decode() and b"Traceback" not in done.stderr
    assert done.stdout == b"" and list(tmp_path.iterdir()) == []


def test_playing_without_a_player_says_what_to_install(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = say("Hi.", "--play")
    assert done.returncode == 69 and b"alsa-utils" in done.stderr


def test_playing_gives_a_player_the_pcm(say: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "aplay").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\nexec cat > {tmp_path}/played\n')
    (commands / "aplay").chmod(0o755)
    monkeypatch.setenv("PATH", str(commands), prepend=":")
    assert say("Hello there.", "--play").returncode == 0
    assert (tmp_path / "played").read_bytes() == say("Hello there.", "--format", "pcm").stdout
    assert (tmp_path / "arguments").read_text() == "-q -t raw -f S16_LE -c 1 -r 24000\n"


def test_a_player_that_fails_is_an_error(say: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, script in (("aplay", "cat > /dev/null; exit 3"), ("aplay", "exit 3")):
        (commands / name).write_text(f"#!/bin/sh\n{script}\n")
        (commands / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(commands), prepend=":")
        done = say("Hello there. " * 20, "--play")
        assert done.returncode == 69 and b"aplay ended with status 3; try -o FILE" in done.stderr


# --- pipes and signals --------------------------------------------------------------------------------------------------


def test_a_process_of_its_own_speaks_from_a_pipe_to_a_pipe(say: Say, start: Callable[..., subprocess.Popen[bytes]]) -> None:
    out, errors = start().communicate("Hello there. 你好。".encode(), timeout=120)
    assert errors == b"" and out == say("Hello there. 你好。").stdout


def test_a_reader_that_leaves_ends_the_speaking_quietly(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start(LONG)
    assert process.stdout is not None and process.stderr is not None
    assert len(process.stdout.read(1000)) == 1000
    process.stdout.close()
    assert process.wait(30) == 128 + signal.SIGPIPE
    assert process.stderr.read() == b""


def test_an_interrupt_stops_at_once(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start(LONG)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(1000)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and errors == b""


def test_an_interrupted_file_is_not_left_behind(start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path) -> None:
    (tmp_path / "old.wav").write_bytes(b"old")
    process = start(LONG, "-o", "old.wav")
    assert process.stderr is not None
    maps = Path(f"/proc/{process.pid}/maps")
    deadline_s = time.monotonic() + 60
    while "libopenvino_intel_cpu_plugin" not in maps.read_text() and time.monotonic() < deadline_s:
        time.sleep(0.02)
    time.sleep(1)  # somewhere between loading and speaking
    process.send_signal(signal.SIGINT)
    sent_s = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and errors == b""
    assert time.monotonic() - sent_s < 10  # compiling a graph cannot be broken off
    assert [path.name for path in tmp_path.iterdir()] == ["old.wav"]
    assert (tmp_path / "old.wav").read_bytes() == b"old"
