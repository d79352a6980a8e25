"""What systemd and a service tell each other: handed-over sockets, readiness, and that the worker is alive.

The protocols are those of sd_listen_fds(3) and sd_notify(3); both are a few lines, and their bindings need compiling.
"""

from __future__ import annotations

import os
import socket

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
