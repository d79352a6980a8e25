"""The systemd units: verified, scored, and run by a systemd manager in namespaces of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edge_tts.audio import WAV_HEADER_BYTES
from edge_tts.service import units
from tests.service.in_namespace import SENTENCE
from tests.spelling_voice import read_back, write_spelling_bundle

PROJECT = Path(__file__).parent.parent.parent
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")

# What a test must change: its files lie where the hardening hides them, it has no group edge-tts, and it runs the test's voice.
SERVICE_CHANGES = f"""\
[Service]
DynamicUser=no
User=
ProtectHome=no
PrivateTmp=no
Environment=PYTHONPATH={PROJECT}
ExecStart=
ExecStart={sys.executable} -m tests.spelling_cli serve
WatchdogSec=3
"""
SOCKET_CHANGES = """\
[Socket]
SocketGroup=
ListenStream=
ListenStream=%t/edge-tts/text.sock
"""


def write_units(directory: Path, *, user: bool) -> list[Path]:
    directory.mkdir(parents=True)
    paths = []
    for name, text in units.units(user=user, bundle_bytes=100_000_000).items():
        (directory / name).write_text(text)
        paths.append(directory / name)
    return paths


@needs_systemd
@pytest.mark.parametrize("user", [False, True])
def test_systemd_accepts_the_units(tmp_path: Path, user: bool) -> None:
    paths = write_units(tmp_path / "units", user=user)
    command = ["systemd-analyze", "verify", "--man=no", *(["--user"] if user else []), *map(str, paths)]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    checked = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    ours = [line for line in checked.stderr.splitlines() if "edge-tts" in line]
    assert checked.returncode == 0 and not ours, checked.stderr


@needs_systemd
def test_the_service_is_exposed_to_little(tmp_path: Path) -> None:
    write_units(tmp_path / "units", user=False)
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=10", str(tmp_path / "units" / "edge-tts.service")]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stdout[-300:]  # the threshold is ten times the score that is shown: 1.0


def test_no_placeholder_is_left_and_python_may_have_a_space_in_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/my python/bin/python")
    for user in (False, True):
        for name, text in units.units(user=user, bundle_bytes=100_000_000).items():
            assert "@" not in text.replace("@system-service", "").replace("@privileged @resources", ""), name
        service = units.units(user=user, bundle_bytes=0)["edge-tts.service"]
        assert 'ExecStart="/opt/my python/bin/python" -m edge_tts serve' in service


def can_have_a_manager() -> bool:
    programs = all(shutil.which(name) for name in ("unshare", "systemctl", "socat")) and Path("/lib/systemd/systemd").exists()
    if not programs or os.geteuid() != 0:
        return False
    return subprocess.run(["unshare", "-m", "-p", "-f", "--mount-proc", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not can_have_a_manager(), reason="needs root, unshare, socat and systemd")
def test_the_service_lives_through_a_day_under_systemd(tmp_path: Path) -> None:
    write_spelling_bundle(tmp_path / "data" / "edge-tts" / "voices" / "spelling", step_s=0.3, n_chunks=4)
    directory = tmp_path / "config" / "systemd" / "user"
    write_units(directory, user=False)  # the system's units: their hardening is what is to be tried
    for name, text in (("edge-tts.service", SERVICE_CHANGES), ("edge-tts.socket", SOCKET_CHANGES)):
        (directory / f"{name}.d").mkdir()
        (directory / f"{name}.d" / "test.conf").write_text(text)
    command = ["unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child", sys.executable, "-m", "tests.service.in_namespace"]
    ran = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=180, cwd=PROJECT)
    assert ran.returncode == 0, ran.stderr[-2000:]
    seen = json.loads(ran.stdout)

    def heard(name: str) -> str:
        wav = bytes.fromhex(seen[name])
        assert wav[:4] == b"RIFF", name
        return read_back(wav[WAV_HEADER_BYTES:])

    assert seen["before"] == "inactive"
    assert heard("activated") == "Hello from nothing."
    assert seen["status"]["NoNewPrivs"] == "1" and seen["status"]["Seccomp"] == "2"
    assert int(seen["status"]["CapEff"], 16) == 0 and seen["own_network"]
    assert heard("after_reload") == "Hello after reload." and seen["same_process"]
    assert heard("after_kill") == "Hello after death."
    assert heard("after_watchdog") == "Hello after the watchdog."
    assert heard("stopped") == SENTENCE
    assert seen["after_stop"] == "inactive" and seen["result"] == "success" and seen["socket_stands"]
    assert heard("again") == "Hello again."
