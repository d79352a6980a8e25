"""The process that keeps clients waiting while this one is too busy to."""

from __future__ import annotations

import os
import socket
import time

import pytest

from edge_tts.service.keepalive import PERIOD_S, Keepalive

SILENCE = bytes(960)


def received(client: socket.socket, seconds: float) -> bytes:
    data = b""
    until_s = time.monotonic() + seconds
    while (left_s := until_s - time.monotonic()) > 0:
        client.settimeout(left_s)
        try:
            data += client.recv(65536)
        except TimeoutError:
            break
    return data


def test_silence_comes_while_this_process_does_nothing() -> None:
    ours, client = socket.socketpair()
    ours.setblocking(False)  # as asyncio's are
    keepalive = Keepalive(SILENCE)
    keepalive.add(1, ours.fileno())
    data = received(client, 5 * PERIOD_S)
    assert len(data) >= 3 * len(SILENCE) and not data.strip(b"\0")
    keepalive.remove(1)
    received(client, 0.01)
    assert received(client, 3 * PERIOD_S) == b""
    ours.send(b"sound")
    assert client.recv(10) == b"sound"
    keepalive.close()
    ours.close()
    assert client.recv(10) == b"", "nobody else holds the connection"
    client.close()


def test_only_whole_samples_are_written_and_a_full_connection_is_left_alone() -> None:
    ours, client = socket.socketpair()
    ours.setblocking(False)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    keepalive = Keepalive(SILENCE)
    keepalive.add(1, ours.fileno())
    time.sleep(10 * PERIOD_S)
    keepalive.remove(1)
    assert len(received(client, 0.1)) % len(SILENCE) == 0
    keepalive.close()
    ours.close()
    client.close()


def test_a_client_that_leaves_does_not_disturb_the_others() -> None:
    pairs = [socket.socketpair() for _ in range(3)]
    keepalive = Keepalive(SILENCE)
    for number, (ours, _) in enumerate(pairs):
        ours.setblocking(False)
        keepalive.add(number, ours.fileno())
    pairs[0][1].close()
    time.sleep(2 * PERIOD_S)
    assert received(pairs[1][1], 2 * PERIOD_S)
    for number in range(3):
        keepalive.remove(number)
    keepalive.close()
    for pair in pairs:
        for each in pair:
            each.close()


def test_a_dead_process_is_an_error_and_not_a_hang() -> None:
    ours, client = socket.socketpair()
    keepalive = Keepalive(SILENCE)
    keepalive._process.kill()
    keepalive._process.wait()
    with pytest.raises(OSError):
        keepalive.add(1, ours.fileno())
    keepalive.close()
    ours.close()
    client.close()


def test_the_process_leaves_with_its_channel() -> None:
    keepalive = Keepalive(SILENCE)
    pid = keepalive._process.pid
    keepalive.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
