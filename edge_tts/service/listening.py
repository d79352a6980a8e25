"""Sockets of our own, for when systemd hands over none: made without a race, never in the place of a live one."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import socket
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from edge_tts.errors import ServiceError

BACKLOG = 128
# sun_path holds 108 bytes with the terminating zero
MAX_PATH_BYTES = 107


@dataclass(frozen=True)
class Listener:
    """A listening socket. `path` and `lock` are None for one that systemd owns, or that is no Unix socket."""

    socket: socket.socket
    path: Path | None = None
    lock: int | None = None

    def close(self) -> None:
        """Stop listening; a socket file of our own is removed before its lock is let go."""
        if self.path is not None:
            with suppress(FileNotFoundError):
                self.path.unlink()
        self.socket.close()
        if self.lock is not None:
            os.close(self.lock)


def listen(address: str, *, mode: int = 0o660, group: str = "") -> Listener:
    """Listen on a Unix socket's path, or on HOST:PORT. Raises ServiceError that names what is in the way."""
    host, colon, port = address.rpartition(":")
    if colon and "/" not in address and port.isdigit():
        return _listen_tcp(host.strip("[]"), int(port))
    return _listen_unix(Path(address), mode, group)


def _listen_tcp(host: str, port: int) -> Listener:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return Listener(socket.create_server((host, port), family=family, backlog=BACKLOG))
    except OSError as error:
        raise ServiceError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None


def _listen_unix(path: Path, mode: int, group: str) -> Listener:
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise ServiceError(f"{path}: a Unix socket's path can have {MAX_PATH_BYTES} bytes at most; choose a shorter one")
    lock = _lock(path)
    try:
        _clear(path)
        return Listener(_bound(path, mode, group), path, lock)
    except BaseException:
        os.close(lock)
        raise


def _lock(path: Path) -> int:
    """Lock a file beside the socket: two services that start at once must not both take the path for stale."""
    where = path.with_name(path.name + ".lock")
    try:
        lock = os.open(where, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        raise ServiceError(f"{path.parent}: no such directory for the socket; make it with: mkdir -p {path.parent}") from None
    except OSError as error:
        raise ServiceError(f"{where}: {error.strerror}; choose a path in a directory that this user may write to") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise ServiceError(f"{path}: another edge-tts already listens there; stop it, or choose another path") from None
    return lock


def _clear(path: Path) -> None:
    """Remove a socket that nobody listens on; anything else is left alone and in the way."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise ServiceError(f"{path} exists and is no socket; remove it, or choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as error:
            if error.errno != errno.EAGAIN:  # EAGAIN: its backlog is full, so somebody listens
                raise ServiceError(f"{path}: {error.strerror}; remove it, or choose another path") from None
    raise ServiceError(f"{path}: another program already listens there; stop it, or choose another path")


def _bound(path: Path, mode: int, group: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    mask = os.umask(0o177)  # nobody else gets in before the group is set
    try:
        made.bind(str(path))
        if group:
            shutil.chown(path, group=group)
        path.chmod(mode)
        made.listen(BACKLOG)
    except (OSError, LookupError) as error:
        made.close()
        reason = error.strerror if isinstance(error, OSError) else f"there is no group {group!r}"
        raise ServiceError(f"{path}: {reason}") from None
    finally:
        os.umask(mask)
    return made
