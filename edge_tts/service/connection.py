"""The sending side of a connection: blocks, back-pressure, and noticing that nobody listens any more."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket

from edge_tts.errors import CancelledError, TooSlowError

BLOCK_BYTES = 16_384
# After the last byte the rest of what the client still sends is read away for so long, because closing a Unix socket with
# unread data makes the client's next write fail before it has read the answer.
LINGER_S = 1.0
_UNWANTED_BYTES = 1_048_576  # at a time: whatever there is


class Outgoing:
    """Writes to a client that may be slow, or gone. Raises TooSlowError for the first, CancelledError for the second."""

    def __init__(self, writer: asyncio.StreamWriter, read_timeout_s: float) -> None:
        self._writer = writer
        self._read_timeout_s = read_timeout_s
        self._socket: socket.socket = writer.get_extra_info("socket")
        self._poll = select.poll()
        self._poll.register(self._socket.fileno(), 0)  # an empty mask still reports a hang-up
        self.begun = False
        # `drain` then means that the kernel has it all, so that the keep-alive process cannot write into the middle of a block.
        writer.transport.set_write_buffer_limits(high=0)

    @property
    def descriptor(self) -> int:
        return self._socket.fileno()

    def check_client(self) -> None:
        """CancelledError when the client has closed both directions: asyncio stops watching after the end of its text."""
        if self._writer.transport.is_closing() or self._poll.poll(0):
            raise CancelledError("the client has left")

    async def write(self, data: bytes) -> None:
        """Send `data` in blocks, as fast as the client takes it."""
        for start in range(0, len(data), BLOCK_BYTES):
            self.check_client()
            self.begun = True
            self._writer.write(data[start : start + BLOCK_BYTES])
            if not self._writer.transport.get_write_buffer_size():
                continue  # the kernel has taken it all
            try:
                async with asyncio.timeout(self._read_timeout_s):
                    await self._writer.drain()
            except TimeoutError:
                raise TooSlowError(f"the client took no audio for {self._read_timeout_s:g} s") from None
            except ConnectionError:
                raise CancelledError("the client has left") from None

    async def close(self, reader: asyncio.StreamReader) -> None:
        """End the reply, let the client take what is under way, and close; never raises."""
        with contextlib.suppress(OSError, TimeoutError, RuntimeError):
            if self._writer.can_write_eof() and not self._writer.transport.is_closing():
                self._writer.write_eof()
            async with asyncio.timeout(LINGER_S):
                while await reader.read(_UNWANTED_BYTES):
                    pass
        self._writer.close()
        try:
            async with asyncio.timeout(self._read_timeout_s):
                await self._writer.wait_closed()
        except TimeoutError:
            self._writer.transport.abort()
        except OSError:
            pass  # it left while we were closing
