"""A small process that keeps clients waiting while a model loads.

Loading reads dictionaries in single calls that hold the interpreter's lock, each for up to half a second on a small machine,
and socat gives up after half a second without a byte. So while there is no model yet, the silence before the first sound is
written by another process: this file, run as a script that imports next to nothing. It is handed the connections, and gives
one back by saying that it has stopped writing to it.
"""

import os
import select
import socket
import sys
import time

PERIOD_S = 0.2
_ADD, _REMOVE = b"+", b"-"


class Keepalive:
    """The process, seen from the service. Raises OSError when it has died."""

    def __init__(self, silence: bytes) -> None:
        import subprocess

        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-I", "-S", __file__, str(len(silence))]
            self._process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL)

    def add(self, number: int, descriptor: int) -> None:
        """Write silence to this connection from now on; it is called `number` from here."""
        socket.send_fds(self._channel, [_ADD + str(number).encode()], [descriptor])

    def remove(self, number: int) -> None:
        """Stop that; when this returns, all that will be written was. Takes as long as a message there and back."""
        self._channel.send(_REMOVE + str(number).encode())
        self._channel.recv(64)

    def close(self) -> None:
        """End the process, which the closed channel tells to leave."""
        self._channel.close()
        self._process.wait()


def main() -> None:
    """Serve the channel on standard input until it is closed."""
    channel = socket.socket(fileno=os.dup(0))
    silence = bytes(int(sys.argv[1]))
    held: dict[bytes, socket.socket] = {}
    next_s = time.monotonic()
    while True:
        if not select.select([channel], [], [], max(0.0, next_s - time.monotonic()))[0]:
            for connection in held.values():
                _pad(connection, silence)
            next_s = time.monotonic() + PERIOD_S
            continue
        message, descriptors, _, _ = socket.recv_fds(channel, 64, 1)
        if not message:
            return
        number = message[1:]
        if message[:1] == _ADD:
            held[number] = socket.socket(fileno=descriptors[0])
            _pad(held[number], silence)
        else:
            held.pop(number).close()
            channel.send(number)


def _pad(connection: socket.socket, silence: bytes) -> None:
    """Write silence where there is room for all of it; the service itself notices a client that has left."""
    try:
        if select.select([], [connection], [], 0)[1]:
            connection.sendall(silence, socket.MSG_NOSIGNAL)
    except OSError:
        pass


if __name__ == "__main__":
    main()
