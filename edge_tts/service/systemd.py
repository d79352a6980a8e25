"""What systemd and a service tell each other: handed-over sockets, readiness, that the worker is alive, and the log.

The protocols are those of sd_listen_fds(3), sd_notify(3) and systemd's "Native Journal Protocol"; each is a few lines, while
their bindings need compiling.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import struct

_FIRST_FD = 3


def listening_sockets() -> dict[str, list[socket.socket]]:
    """The sockets that systemd hands over, by FileDescriptorName=. Takes them once: a child process is not to see them."""
    pid = os.environ.pop("LISTEN_PID", "")
    count = os.environ.pop("LISTEN_FDS", "")
    names = os.environ.pop("LISTEN_FDNAMES", "").split(":")
    if pid != str(os.getpid()) or not count.isdigit():
        return {}
    found: dict[str, list[socket.socket]] = {}
    for index in range(int(count)):
        descriptor = _FIRST_FD + index
        os.set_inheritable(descriptor, False)
        name = names[index] if index < len(names) else ""
        found.setdefault(name, []).append(socket.socket(fileno=descriptor))
    return found


def notify(**state: str | int) -> bool:
    """Tell systemd, as `notify(READY=1, STATUS="…")`; False where nobody wants to know."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    message = "\n".join(f"{name}={value}" for name, value in state.items())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        # "@" stands for the NUL byte of an abstract socket's name
        sender.sendto(message.encode(), "\0" + address[1:] if address.startswith("@") else address)
    return True


def watchdog_s() -> float | None:
    """Seconds within which systemd wants to hear from this process; None without a watchdog."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    return int(microseconds) / 1e6 if microseconds.isdigit() and int(microseconds) > 0 else None


_JOURNAL_SOCKET = "/run/systemd/journal/socket"
# Python's levels as those of syslog(3), which the journal's PRIORITY uses
_PRIORITIES = {logging.CRITICAL: 2, logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6, logging.DEBUG: 7}


def logs_to_journal() -> bool:
    """Whether standard error is the journal, which systemd says with JOURNAL_STREAM=device:inode."""
    stream = os.environ.get("JOURNAL_STREAM", "")
    status = os.fstat(2)
    return stream == f"{status.st_dev}:{status.st_ino}" and os.path.exists(_JOURNAL_SOCKET)


class JournalHandler(logging.Handler):
    """Sends records to the journal with their fields apart, so that `journalctl EDGE_TTS_REQUEST_ID=…` finds them."""

    def __init__(self) -> None:
        super().__init__()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            fields = {f"EDGE_TTS_{name.upper()}": value for name, value in log_fields(record).items()}
            self._socket.sendto(
                journal_datagram(
                    {
                        "MESSAGE": self.format(record),
                        "PRIORITY": _PRIORITIES.get(record.levelno, 6),
                        "SYSLOG_IDENTIFIER": "edge-tts",
                        "LOGGER": record.name,
                        **fields,
                    }
                ),
                _JOURNAL_SOCKET,
            )
        except OSError:
            self.handleError(record)

    def close(self) -> None:
        self._socket.close()
        super().close()


def journal_datagram(fields: dict[str, object]) -> bytes:
    """Fields in the journal's native protocol: NAME=value lines, or NAME, length and bytes where a value has several lines."""
    parts: list[bytes] = []
    for name, value in fields.items():
        data = str(value).encode()
        if b"\n" in data:
            parts += [name.encode(), b"\n", struct.pack("<Q", len(data)), data, b"\n"]
        else:
            parts += [name.encode(), b"=", data, b"\n"]
    return b"".join(parts)


def log_fields(record: logging.LogRecord) -> dict[str, object]:
    """What a record says beside its message, given to the logger as `extra={"fields": …}`; None means not known."""
    fields = getattr(record, "fields", {})
    return {name: value for name, value in fields.items() if value is not None and value != ""}


class FieldsFormatter(logging.Formatter):
    """The message, then its fields as name=value, where there is no journal."""

    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={_quoted(value)}" for name, value in log_fields(record).items())
        return f"{super().format(record)} {fields}".rstrip()


def _quoted(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "=\n\t') else text
