"""Sockets of our own."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from edge_tts.errors import ServiceError
from edge_tts.service.listening import listen


def test_a_socket_has_the_mode_asked_for_and_vanishes_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "s"
    listener = listen(str(path), mode=0o620)
    assert stat.S_IMODE(path.stat().st_mode) == 0o620
    listener.close()
    assert not path.exists()


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(path))
    listener = listen(str(path))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    listener.close()


def test_a_live_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen(0)
        with pytest.raises(ServiceError, match="another program already listens"):
            listen(str(path))
        waiting = [socket.socket(socket.AF_UNIX) for _ in range(3)]  # its backlog is full now
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(str(path))
        with pytest.raises(ServiceError, match="another program already listens"):
            listen(str(path))
        for client in waiting:
            client.close()
    assert path.is_socket()


def test_two_services_cannot_have_one_path(tmp_path: Path) -> None:
    first = listen(str(tmp_path / "s"))
    with pytest.raises(ServiceError, match="another edge-tts already listens there"):
        listen(str(tmp_path / "s"))
    first.close()
    listen(str(tmp_path / "s")).close()


def test_what_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_text("precious")
    with pytest.raises(ServiceError, match="is no socket"):
        listen(str(path))
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nowhere/s", "no such directory for the socket; make it with: mkdir -p"),
        ("x" * 120, "can have 107 bytes at most"),
    ],
)
def test_an_impossible_path_is_explained(tmp_path: Path, address: str, message: str) -> None:
    with pytest.raises(ServiceError, match=message):
        listen(str(tmp_path / address))


def test_an_unknown_group_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="there is no group 'nobodys-group'"):
        listen(str(tmp_path / "s"), group="nobodys-group")


def test_a_host_and_port_can_be_listened_on(tmp_path: Path) -> None:
    listener = listen("127.0.0.1:0")
    host, port = listener.socket.getsockname()
    assert host == "127.0.0.1" and port > 0
    with pytest.raises(ServiceError, match=f"cannot listen on 127.0.0.1:{port}"):
        listen(f"127.0.0.1:{port}")
    listener.close()


def test_descriptors_are_not_leaked_by_failures(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(ServiceError):
            listen(str(tmp_path / "s"))
    assert len(os.listdir("/proc/self/fd")) == before
