"""A service in a thread of the test, on Unix sockets in the test's directory, speaking with the spelling voice."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from edge_tts import config as configuration
from edge_tts.config import Config
from edge_tts.scheduler import VoiceSlot
from edge_tts.service import listening
from edge_tts.service.metrics import create as create_metrics
from edge_tts.service.server import PROTOCOLS, Service
from tests.spelling_voice import SpellingModel, spelling_bundle, spelling_voice


@dataclass
class Running:
    """A service that runs; `path` is its plain-text socket."""

    service: Service
    model: SpellingModel
    directory: Path
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def socket(self, name: str = "text") -> Path:
        return self.directory / f"{name}.sock"

    @property
    def path(self) -> Path:
        return self.socket("text")

    def connect(self, name: str = "text") -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(20)
        client.connect(str(self.socket(name)))
        return client

    def ask(self, data: bytes, *, close_sending: bool = True) -> bytes:
        """Send, close the sending side, and read to the end."""
        with self.connect() as client:
            client.sendall(data)
            if close_sending:
                client.shutdown(socket.SHUT_WR)
            return read_all(client)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.service.stop)


def read_all(client: socket.socket) -> bytes:
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b"".join(parts)


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a service with a model and options as in the configuration file; it ends with the test."""
    running: list[tuple[Running, threading.Thread]] = []

    def start_one(model: SpellingModel | None = None, toml: str = "") -> Running:
        directory = tmp_path / f"service{len(running)}"
        directory.mkdir()
        model = model or SpellingModel()
        config: Config = configuration.parse(toml, "test.toml")
        metrics = create_metrics()
        slot = VoiceSlot(spelling_bundle(), lambda: spelling_voice(model), metrics.model)
        one = Running(Service(config, slot, metrics), model, directory)
        listeners = {name: [listening.listen(str(one.socket(name)))] for name in PROTOCOLS}
        thread = threading.Thread(target=lambda: one.loop.run_until_complete(one.service.run(listeners)), daemon=True)
        thread.start()
        running.append((one, thread))
        deadline_s = time.monotonic() + 10
        while not one.service.ready and thread.is_alive() and time.monotonic() < deadline_s:
            time.sleep(0.005)
        return one

    yield start_one
    for one, thread in running:
        one.model.may_go_on.set()
        if thread.is_alive():
            one.stop()
        thread.join(20)
        assert not thread.is_alive(), "the service did not stop"
        one.loop.close()
