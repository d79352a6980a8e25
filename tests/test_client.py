"""The client for Python programs, against a service in a thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from edge_tts import client as client_module
from edge_tts.audio import WAV_HEADER_BYTES
from edge_tts.client import Client
from edge_tts.errors import BusyError, RequestError, ServiceError, TooLongError
from tests.service.conftest import Start, start  # noqa: F401
from tests.spelling_voice import SpellingModel, read_back


def test_a_program_speaks_and_asks(start: Start) -> None:  # noqa: F811
    running = start()
    client = Client(running.path)
    assert read_back(b"".join(client.speak("Hello.", voice="ann", speed=1.5))[WAV_HEADER_BYTES:]) == "Hello."
    assert client.command("ping") == "pong"
    assert client.command("voices").splitlines()[1].startswith("ann\t")
    assert client.command("cancel id=none") == "cancelled=0"


def test_refusals_are_the_errors_they_are(start: Start) -> None:  # noqa: F811
    running = start(SpellingModel(step_s=0.2), "[limits]\ntext_bytes = 100\nrequests = 1\n")
    client = Client(running.path)
    with pytest.raises(RequestError, match="this bundle has: ann, li"):
        list(client.speak("Hello.", voice="nobody"))
    with pytest.raises(TooLongError, match="longer than 100 bytes"):
        list(client.speak("x" * 200))
    speaking = client.speak("A sentence to wait for. " * 4)
    next(speaking)
    with pytest.raises(BusyError):
        list(client.speak("Me too."))
    speaking.close()


def test_a_program_that_stops_listening_frees_the_worker(start: Start) -> None:  # noqa: F811
    running = start(SpellingModel(step_s=0.05))
    speaking = Client(running.path).speak("A long story. " * 200)
    next(speaking)
    speaking.close()
    assert read_back(b"".join(Client(running.path).speak("Next.", format="pcm"))) == "Next."
    assert running.model.n_steps < 60


def test_a_service_that_is_not_there_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServiceError, match="does the service run"):
        Client(tmp_path / "none.sock").command("ping")
    monkeypatch.setattr(client_module, "default_paths", lambda: [tmp_path / "a", tmp_path / "b"])
    with pytest.raises(ServiceError, match=r"no service found at .*/a, .*/b; start one with `edge-tts serve`"):
        Client()
