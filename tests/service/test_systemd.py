"""The protocols of systemd: handed-over sockets, notifications, watchdog, journal."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edge_tts.service import systemd

PROJECT = Path(__file__).parent.parent.parent
CHILD = """
import os, sys
from edge_tts.service import systemd
taken = systemd.listening_sockets()
print({name: [os.path.basename(s.getsockname()) for s in some] for name, some in taken.items()})
print([s.get_inheritable() for some in taken.values() for s in some], "LISTEN_FDS" in os.environ, systemd.listening_sockets())
"""


@pytest.mark.skipif(shutil.which("systemd-socket-activate") is None, reason="systemd is not installed")
def test_sockets_are_taken_over_by_name(tmp_path: Path) -> None:
    paths = [tmp_path / "text.sock", tmp_path / "http.sock"]
    listen = [word for path in paths for word in ("-l", str(path))]
    activate = ["systemd-socket-activate", *listen, "--fdname=text:http", "-E", f"PYTHONPATH={PROJECT}"]
    command = [*activate, sys.executable, "-c", CHILD]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    until_s = time.monotonic() + 10
    while not paths[1].exists() and time.monotonic() < until_s:
        time.sleep(0.02)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(paths[0]))
        out, _ = process.communicate(timeout=30)
    first, second = out.splitlines()
    assert first == "{'text': ['text.sock'], 'http': ['http.sock']}"
    assert second == "[False, False] False {}"


@pytest.mark.parametrize("pid", ["", "1", "x"])
def test_sockets_meant_for_another_process_are_not_taken(monkeypatch: pytest.MonkeyPatch, pid: str) -> None:
    monkeypatch.setenv("LISTEN_PID", pid)
    monkeypatch.setenv("LISTEN_FDS", "1")
    assert systemd.listening_sockets() == {}


@pytest.mark.parametrize("abstract", [False, True])
def test_notifications_arrive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, abstract: bool) -> None:
    name = f"edge-tts-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind("\0" + name if abstract else name)
        monkeypatch.setenv("NOTIFY_SOCKET", "@" + name if abstract else name)
        assert systemd.notify(READY=1, STATUS="all is well")
        assert receiver.recv(100) == b"READY=1\nSTATUS=all is well"


def test_without_systemd_nobody_is_notified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert not systemd.notify(READY=1)


@pytest.mark.parametrize(
    ("microseconds", "pid", "seconds"),
    [("3000000", None, 3.0), ("3000000", "1", None), ("0", None, None), ("x", None, None), (None, None, None)],
)
def test_the_watchdogs_period_is_read(
    monkeypatch: pytest.MonkeyPatch, microseconds: str | None, pid: str | None, seconds: float | None
) -> None:
    for name, value in (("WATCHDOG_USEC", microseconds), ("WATCHDOG_PID", pid)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert systemd.watchdog_s() == seconds


def test_the_journals_datagram_keeps_lines_apart() -> None:
    data = systemd.journal_datagram({"MESSAGE": "one\ntwo", "PRIORITY": 6})
    assert data == b"MESSAGE\n" + struct.pack("<Q", 7) + b"one\ntwo\nPRIORITY=6\n"


def test_records_go_to_the_journal_with_their_fields(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(str(tmp_path / "journal"))
        monkeypatch.setattr(systemd, "_JOURNAL_SOCKET", str(tmp_path / "journal"))
        logger = logging.Logger("edge_tts.test")
        with contextlib.closing(systemd.JournalHandler()) as handler:
            logger.addHandler(handler)
            logger.warning("spoken", extra={"fields": {"request_id": "a1", "rtf": 0.25, "text": None}})
        lines = journal.recv(1000).decode().splitlines()
    assert "MESSAGE=spoken" in lines and "PRIORITY=4" in lines
    assert "EDGE_TTS_REQUEST_ID=a1" in lines and "EDGE_TTS_RTF=0.25" in lines
    assert not any(line.startswith("EDGE_TTS_TEXT") for line in lines)


def test_records_without_a_journal_are_one_line_each() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(systemd.FieldsFormatter("%(levelname)s %(message)s"))
    logger = logging.Logger("edge_tts.test")
    logger.addHandler(handler)
    logger.info("spoken", extra={"fields": {"request_id": "a1", "text": 'two\nlines "quoted"', "reason": ""}})
    assert stream.getvalue() == 'INFO spoken request_id=a1 text="two\\nlines \\"quoted\\""\n'
