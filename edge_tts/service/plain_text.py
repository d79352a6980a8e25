"""The plain-text protocol: UTF-8 in, audio out, so that `echo "Hello." | socat - UNIX-CONNECT:PATH > out.wav` speaks.

A connection carries one request. Its text may begin with a request line, `edge-tts/1 name=value …`; without one the defaults
hold. Complete sentences are spoken while the rest is still coming. The text ends where the client closes its sending side, or
at a pause after a newline. The audio begins with its header as soon as there is a word to speak; until the first sound, and
between sentences, a little silence now and then keeps clients from giving up (socat waits half a second); inside a sentence
the last samples so far do, one by one. What cannot be
spoken is answered with a line `edge-tts/1 error REASON MESSAGE` as long as no audio was sent; after that the connection just
ends and the reason is in the log.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import logging
import re
import time
from typing import TYPE_CHECKING

from edge_tts import errors
from edge_tts.audio import AudioChunk, Encoder, silence_pcm16
from edge_tts.config import Limits
from edge_tts.service.connection import BLOCK_BYTES, Outgoing
from edge_tts.service.speech import Speech, SpeechRequest, with_option
from edge_tts.text import frontend

if TYPE_CHECKING:
    from edge_tts.service.server import Service

logger = logging.getLogger(__name__)

PROTOCOL = "edge-tts/1"
_PREFIX = b"edge-tts/"
MAX_LINE_BYTES = 1024
# socat gives up after half a second without a byte; a fifth leaves room for a busy machine.
PAD_EVERY_S = 0.2
PAD_S = 0.02
# Inside a sentence silence would be heard. So the end of what there is fills the time, a sample at a time: for a minute or two.
HELD_S = 0.03
_SAMPLE_BYTES = 2
# What a sentence can end with; without one of these nothing is complete.
MAY_END_SENTENCE = re.compile(r"[.!?…。！？；;\n]")


async def serve(service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection; returns when it has ended. Never raises what the client alone is to blame for."""
    out = Outgoing(writer, service.config.limits.read_timeout_s)
    try:
        service.enter(writer)
        await _Conversation(service, Incoming(reader, service.config.limits), out).run()
    except errors.EdgeTTSError as error:
        reason = service.refused("text", error)
        if not out.begun:
            with contextlib.suppress(errors.EdgeTTSError):
                await out.write(f"{PROTOCOL} error {reason} {error}\n".encode())
    finally:
        await out.close(reader)


class Incoming:
    """The client's bytes as text, within limits of size and time."""

    def __init__(self, reader: asyncio.StreamReader, limits: Limits) -> None:
        self._reader = reader
        self._limits = limits
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ends_line = False
        self._n_bytes = 0
        self._began_s = time.monotonic()
        self._head = b""
        self.ended = False

    async def request_line(self) -> str | None:
        """The request line without its newline, or None where the text has none. Raises RequestError."""
        while _PREFIX.startswith(self._head[: len(_PREFIX)]) and b"\n" not in self._head and not self.ended:
            if len(self._head) > MAX_LINE_BYTES:
                break
            self._head += await self._bytes()
        if not self._head.startswith(_PREFIX):
            return None
        line, _, self._head = self._head.partition(b"\n")
        if len(line) > MAX_LINE_BYTES:
            raise errors.OptionError(f"the request line is longer than {MAX_LINE_BYTES} bytes")
        return line.decode("utf-8", "replace").rstrip("\r")

    async def read(self) -> str:
        """More text; "" when it has `ended`. Raises TooLongError or TooSlowError."""
        while True:
            data, self._head = self._head, b""
            if not data and not self.ended:
                data = await self._bytes()
            if data:
                self._ends_line = data.endswith(b"\n")
                self._n_bytes += len(data)
                if self._n_bytes > self._limits.text_bytes:
                    raise errors.TooLongError(f"the text is longer than {self._limits.text_bytes} bytes; send it in parts")
            text = self._decoder.decode(data, final=self.ended)
            if text or self.ended:
                return text

    async def _bytes(self) -> bytes:
        """What came next; b"" at the end of the text."""
        limits = self._limits
        gap_s = limits.idle_gap_s if self._ends_line else limits.send_timeout_s
        left_s = self._began_s + limits.send_total_s - time.monotonic()
        try:
            async with asyncio.timeout(min(gap_s, max(left_s, 0.0))):
                data = await self._reader.read(BLOCK_BYTES)
        except TimeoutError:
            if not self._ends_line or left_s < gap_s:
                raise errors.TooSlowError(
                    f"no text came for {gap_s:g} s (or not all within {limits.send_total_s:g} s); "
                    "end it with a newline, or by closing the sending side"
                ) from None
            data = b""
        self.ended = not data
        return data


class _Conversation:
    """One request: its line, its text, its audio."""

    def __init__(self, service: Service, incoming: Incoming, out: Outgoing) -> None:
        self._service = service
        self._incoming = incoming
        self._out = out

    async def run(self) -> None:
        line = await self._incoming.request_line()
        words = _words(line)
        if words and "=" not in words[0]:
            await self._command(words)
            return
        request = self._service.default_request()
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                raise errors.OptionError(f"{word!r} is no option; write it as name=value")
            request = with_option(request, name, value)
        self._service.check(request)
        await self._speak(request)

    async def _command(self, words: list[str]) -> None:
        """Answer a request line that asks for something else than speech."""
        match words:
            case ["ping"]:
                answer = "pong"
            case ["voices"]:
                lines = [f"{v.name}\t{v.language}\t{v.license}\t{v.description}" for v in self._service.bundle.manifest.voices]
                answer = "\n".join([f"{len(lines)} voices", *lines])
            case ["cancel", name] if name.startswith("id="):
                answer = f"cancelled={self._service.cancel(name.removeprefix('id='))}"
            case ["metrics"]:
                answer = "metrics\n" + self._service.metrics.exposition().rstrip("\n")
            case _:
                known = "ping, voices, metrics, cancel id=NAME, or name=value options"
                raise errors.OptionError(f"unknown request {' '.join(words)!r}; there are: {known}")
        await self._out.write(f"{PROTOCOL} ok {answer}\n".encode())

    async def _speak(self, request: SpeechRequest) -> None:
        encoder = Encoder(request.audio_format, self._service.bundle.manifest.sample_rate)
        text = await self._first_words()
        if self._incoming.ended and not text.strip():
            await self._out.write(encoder.finish())
            return
        with self._service.open(request, "text") as speech:
            if _has_words(text):
                await self._out.write(encoder.begin())
            feeding = asyncio.create_task(_feed(speech, self._incoming, text))
            try:
                await self._deliver(speech, encoder)
            finally:
                feeding.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await feeding

    async def _deliver(self, speech: Speech, encoder: Encoder) -> None:
        """Send the audio as it comes, silence where none is due yet, and where none may be, the last bit little by little."""
        pad = silence_pcm16(speech.sample_rate, PAD_S) if encoder.pads else b""
        n_held = len(silence_pcm16(speech.sample_rate, HELD_S))
        chunk, held = await self._chunk(speech, encoder, pad), b""
        while chunk is not None:
            held += await _encoded(encoder, chunk)
            if pad and not chunk.pause_may_follow:
                await self._out.write(held[:-n_held])
                chunk, held = await self._continuation(speech, held[-n_held:])
            else:
                await self._out.write(held)
                chunk, held = await self._chunk(speech, encoder, pad), b""
        await self._out.write(held + await _encoded(encoder, None))

    async def _chunk(self, speech: Speech, encoder: Encoder, pad: bytes) -> AudioChunk | None:
        """The next chunk; while it does not come, `pad` is sent in its place, by whoever will have the time for it."""
        if pad and not speech.warm:
            await self._out.write(encoder.begin())
            with self._service.kept_alive(self._out, pad):
                return await self._awaited(speech, encoder, b"")
        return await self._awaited(speech, encoder, pad)

    async def _awaited(self, speech: Speech, encoder: Encoder, pad: bytes) -> AudioChunk | None:
        while True:
            try:
                return await speech.chunk(PAD_EVERY_S)
            except TimeoutError:
                self._out.check_client()
                if pad:
                    await self._out.write(encoder.begin() + pad)

    async def _continuation(self, speech: Speech, held: bytes) -> tuple[AudioChunk | None, bytes]:
        """The next chunk, and what then is left of `held`, of which a sample goes out whenever a client might give up."""
        while True:
            try:
                return await speech.chunk(PAD_EVERY_S), held
            except TimeoutError:
                self._out.check_client()
                await self._out.write(held[:_SAMPLE_BYTES])
                held = held[_SAMPLE_BYTES:]

    async def _first_words(self) -> str:
        """The text up to where it is known to hold words, so that a header is not sent for nothing."""
        text = await self._incoming.read()
        while not self._incoming.ended and not _has_words(text):
            text += await self._incoming.read()
        return text


def _words(line: str | None) -> list[str]:
    """The words of a request line after the protocol's name; OptionError when that is another one."""
    if line is None:
        return []
    protocol, *words = line.split() or [""]
    if protocol != PROTOCOL:
        raise errors.OptionError(f"unknown protocol {protocol!r}; this service speaks {PROTOCOL}")
    return words


def _has_words(text: str) -> bool:
    return any(c.isalnum() for c in text)


async def _feed(speech: Speech, incoming: Incoming, text: str) -> None:
    """Give the text to the speech, a complete sentence as soon as it is one."""
    try:
        part = text
        while not incoming.ended:
            if MAY_END_SENTENCE.search(part):  # a look at the whole text for every part would cost the square of its length
                complete, text = frontend.complete_sentences(text)
                speech.feed(complete)
            part = await incoming.read()
            text += part
        speech.feed(text)
        speech.finish()
    except errors.EdgeTTSError as error:
        speech.cancel(error)
    except ConnectionError:
        speech.cancel(errors.CancelledError("the client has left"))
    except Exception as error:  # a task's edge: forwarded to the task that waits for the audio
        logger.exception("reading a text failed in an unexpected way")
        speech.cancel(errors.ServiceError(f"unexpected {type(error).__name__}: {error}"))


async def _encoded(encoder: Encoder, chunk: AudioChunk | None) -> bytes:
    """The chunk's bytes, or the file's end; a compressed format takes its time over them, so in a thread."""
    if chunk is None:
        return await asyncio.to_thread(encoder.finish)
    return encoder.add(chunk) if encoder.pads else await asyncio.to_thread(encoder.add, chunk)
