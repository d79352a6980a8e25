"""Speak through a running service, over its plain-text socket.

    from edge_tts.client import Client

    with open("hello.wav", "wb") as file:
        file.writelines(Client("/run/edge-tts/text.sock").speak("Hello.", voice="af_heart"))
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from edge_tts.errors import (
    BusyError,
    CancelledError,
    EdgeTTSError,
    RequestError,
    ServiceError,
    TooLongError,
    TooSlowError,
)

PROTOCOL = "edge-tts/1"
_BLOCK_BYTES = 16_384
_ERRORS: dict[str, type[EdgeTTSError]] = {
    "busy": BusyError,
    "too-long": TooLongError,
    "too-slow": TooSlowError,
    "unknown-voice": RequestError,
    "bad-request": RequestError,
    "cancelled": CancelledError,
}


def default_paths() -> list[Path]:
    """Where a service listens by default: the user's own, then the system's."""
    runtime_dir = os.environ.get("XDG_RUNTIME_DIR")
    own = [Path(runtime_dir) / "edge-tts" / "text.sock"] if runtime_dir else []
    return [*own, Path("/run/edge-tts/text.sock")]


def default_path() -> Path:
    """The first default path that is there; ServiceError when none is."""
    for path in default_paths():
        if path.exists():
            return path
    looked = ", ".join(str(path) for path in default_paths())
    raise ServiceError(f"no service found at {looked}; start one with `edge-tts serve`, or say where it is with --socket PATH")


class Client:
    """One service. Every call is a connection of its own; calls may come from several threads.

    timeout_s: longest wait for anything from the service. A service that is at work sends something much sooner.
    """

    def __init__(self, path: Path | str | None = None, *, timeout_s: float = 60.0) -> None:
        self.path = Path(path) if path is not None else default_path()
        self.timeout_s = timeout_s

    def speak(self, text: str, **options: str | float) -> Iterator[bytes]:
        """The audio of `text` as it comes. Options are those of a request line: voice, speed, format, lang, seed, priority, id.

        Raises the RequestError that the service answers with, or ServiceError when it cannot be reached or breaks off.
        """
        words = "".join(f" {name}={value}" for name, value in options.items() if value is not None)
        return self._exchange(f"{PROTOCOL}{words}\n{text}")

    def command(self, words: str) -> str:
        """The answer to a request line that asks for something else than speech: "ping", "voices", "metrics", "cancel id=…"."""
        answer = b"".join(self._exchange(f"{PROTOCOL} {words}\n")).decode()
        return answer.removeprefix(f"{PROTOCOL} ok ").rstrip("\n")

    def _exchange(self, request: str) -> Iterator[bytes]:
        with self._connected() as connection:
            sending = threading.Thread(target=_send, args=(connection, request.encode()), daemon=True)
            sending.start()
            try:
                yield from self._answer(connection)
            except TimeoutError:
                raise ServiceError(f"{self.path}: the service has been silent for {self.timeout_s:g} s") from None
            except OSError as error:
                raise ServiceError(f"{self.path}: the service broke off: {error.strerror or error}") from None
            finally:
                connection.shutdown(socket.SHUT_RDWR)
                sending.join()

    def _connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(self.timeout_s)
        try:
            connection.connect(str(self.path))
        except OSError as error:
            connection.close()
            remedy = "is your user in the socket's group?" if isinstance(error, PermissionError) else "does the service run?"
            raise ServiceError(f"{self.path}: {error.strerror or error}; {remedy}") from None
        return connection

    def _answer(self, connection: socket.socket) -> Iterator[bytes]:
        head = b""
        mark = f"{PROTOCOL} error ".encode()
        while len(head) < len(mark):
            block = connection.recv(_BLOCK_BYTES)
            if not block:
                break
            head += block
        if head.startswith(mark):
            while block := connection.recv(_BLOCK_BYTES):
                head += block
            word, _, message = head[len(mark) :].decode("utf-8", "replace").strip().partition(" ")
            raise _ERRORS.get(word, ServiceError)(message)
        if head:
            yield head
        while block := connection.recv(_BLOCK_BYTES):
            yield block


def _send(connection: socket.socket, data: bytes) -> None:
    """Send and close the sending side; whoever reads the answer learns why that did not work."""
    try:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass
