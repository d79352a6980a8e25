"""The Wyoming protocol, which Home Assistant speaks: describe, synthesize, synthesize as text comes, ping.

A connection carries any number of requests, one after the other. The events are those of the protocol's own library; importing
this needs the `service` extra.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
from typing import TYPE_CHECKING

from edge_tts import __version__, errors
from edge_tts.audio import AudioChunk, to_pcm16
from edge_tts.errors import MissingExtraError
from edge_tts.service.connection import BLOCK_BYTES, Outgoing
from edge_tts.service.plain_text import MAY_END_SENTENCE
from edge_tts.service.speech import Speech, SpeechRequest, with_option
from edge_tts.text import frontend

try:
    from wyoming.audio import AudioChunk as AudioEvent
    from wyoming.audio import AudioStart, AudioStop
    from wyoming.error import Error
    from wyoming.event import Event, async_read_event, write_event
    from wyoming.info import Attribution, Describe, Info, TtsProgram, TtsVoice
    from wyoming.ping import Ping, Pong
    from wyoming.tts import (
        Synthesize,
        SynthesizeChunk,
        SynthesizeStart,
        SynthesizeStop,
        SynthesizeStopped,
        SynthesizeVoice,
    )
except ImportError as error:
    raise MissingExtraError(f"{error.name}, which speaks the Wyoming protocol,", "service") from None

if TYPE_CHECKING:
    from wyoming.event import Eventable

    from edge_tts.service.server import Service

logger = logging.getLogger(__name__)

_CHECK_EVERY_S = 0.2
# A connection may stay open between requests: Home Assistant pings it.
IDLE_TIMEOUT_S = 3600.0


class BoundedReader(asyncio.StreamReader):
    """Refuses to gather more than `limit_bytes` for one event: the library would wait for any length that is announced."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(limit=limit_bytes)
        self._limit_bytes = limit_bytes

    async def readexactly(self, n: int) -> bytes:
        if not isinstance(n, int) or n > self._limit_bytes:
            raise errors.TooLongError(f"an event announces {n!r} bytes; the limit is {self._limit_bytes}")
        return await super().readexactly(n)


async def serve(service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection until the client leaves."""
    out = Outgoing(writer, service.config.limits.read_timeout_s)
    try:
        service.enter(writer)
        await _Conversation(service, reader, out).run()
    except errors.CancelledError:
        pass
    except errors.EdgeTTSError as error:
        await _send_error(out, service.refused("wyoming", error), error)
    finally:
        await out.close(reader)


async def _send_error(out: Outgoing, reason: str, error: errors.EdgeTTSError) -> None:
    with contextlib.suppress(errors.EdgeTTSError):
        await _send(out, Error(text=str(error), code=reason))


async def _send(out: Outgoing, event: Eventable) -> None:
    """Write an event through the connection's own limits; the framing is the library's."""
    buffer = io.BytesIO()
    write_event(event.event(), buffer)
    await out.write(buffer.getvalue())


class _Conversation:
    """One connection: requests in turn, and the one that text is being gathered for."""

    def __init__(self, service: Service, reader: asyncio.StreamReader, out: Outgoing) -> None:
        self._service = service
        self._reader = reader
        self._out = out

    async def run(self) -> None:
        while (event := await self._next_request()) is not None:
            try:
                await self._answer(event)
            except (errors.CancelledError, errors.TooSlowError):
                raise
            except errors.EdgeTTSError as error:
                # Home Assistant waits for the end of the audio even after an error
                await _send_error(self._out, self._service.refused("wyoming", error), error)
                await _send(self._out, AudioStop())

    async def _next_request(self) -> Event | None:
        """The event that begins a request; None, too, when the service stops meanwhile."""
        reading = asyncio.ensure_future(self._event(IDLE_TIMEOUT_S))
        stopping = asyncio.ensure_future(self._service.stopping.wait())
        try:
            await asyncio.wait((reading, stopping), return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else None
        finally:
            reading.cancel()
            stopping.cancel()

    async def _event(self, timeout_s: float) -> Event | None:
        """The next event; None when the client has left, or sent what is no event."""
        try:
            async with asyncio.timeout(timeout_s):
                return await async_read_event(self._reader)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except TimeoutError:
            raise errors.TooSlowError(f"no event came for {timeout_s:g} s") from None
        except (KeyError, TypeError, AttributeError, UnicodeDecodeError, RecursionError) as error:
            raise errors.OptionError(f"that is no Wyoming event ({type(error).__name__}: {error})") from None

    async def _answer(self, event: Event) -> None:
        try:
            if Describe.is_type(event.type):
                await _send(self._out, info(self._service))
            elif Ping.is_type(event.type):
                await _send(self._out, Pong(text=Ping.from_event(event).text))
            elif Synthesize.is_type(event.type):
                await self._synthesize(Synthesize.from_event(event))
            elif SynthesizeStart.is_type(event.type):
                await self._synthesize_streaming(SynthesizeStart.from_event(event))
            # Other events are not for a text-to-speech service; the protocol has them dropped.
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise errors.OptionError(f"event {event.type!r} is malformed ({type(error).__name__}: {error})") from None

    def _request(self, voice: SynthesizeVoice | None) -> SpeechRequest:
        request = self._service.default_request()
        if voice is not None and (name := voice.speaker or voice.name):
            request = with_option(request, "voice", name)
        elif voice is not None and voice.language:
            request = with_option(request, "lang", voice.language)
        self._service.check(request)
        return request

    async def _synthesize(self, event: Synthesize) -> None:
        if not isinstance(event.text, str):
            raise errors.OptionError("synthesize needs a text")
        self._check_length(len(event.text.encode("utf-8", "replace")))
        with self._service.open(self._request(event.voice), "wyoming") as speech:
            speech.feed(event.text)
            speech.finish()
            await self._deliver(speech)

    async def _synthesize_streaming(self, event: SynthesizeStart) -> None:
        with self._service.open(self._request(event.voice), "wyoming") as speech:
            feeding = asyncio.create_task(self._feed(speech))
            try:
                await self._deliver(speech)
            finally:
                feeding.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await feeding
        await _send(self._out, SynthesizeStopped())

    async def _feed(self, speech: Speech) -> None:
        """Take text up to `synthesize-stop`, and speak each sentence as it is complete."""
        text, n_bytes = "", 0
        try:
            while True:
                event = await self._event(self._service.config.limits.send_timeout_s)
                if event is None:
                    raise errors.CancelledError("the client has left")
                if SynthesizeStop.is_type(event.type):
                    break
                if SynthesizeChunk.is_type(event.type):
                    part = str(event.data.get("text", ""))
                    n_bytes += len(part.encode("utf-8", "replace"))
                    self._check_length(n_bytes)
                    text += part
                    if MAY_END_SENTENCE.search(part):
                        complete, text = frontend.complete_sentences(text)
                        speech.feed(complete)
                # `synthesize` comes, too, for services that know no streaming: the same text again
            speech.feed(text)
            speech.finish()
        except errors.EdgeTTSError as error:
            speech.cancel(error)
        except Exception as error:  # a task's edge: forwarded to the task that waits for the audio
            logger.exception("reading a text failed in an unexpected way")
            speech.cancel(errors.ServiceError(f"unexpected {type(error).__name__}: {error}"))

    def _check_length(self, n_bytes: int) -> None:
        limit = self._service.config.limits.text_bytes
        if n_bytes > limit:
            raise errors.TooLongError(f"the text is longer than {limit} bytes; send it in parts")

    async def _deliver(self, speech: Speech) -> None:
        rate = speech.sample_rate
        await _send(self._out, AudioStart(rate=rate, width=2, channels=1))
        while (chunk := await self._chunk(speech)) is not None:
            data = to_pcm16(chunk.samples)
            for start in range(0, len(data), BLOCK_BYTES):
                await _send(self._out, AudioEvent(rate=rate, width=2, channels=1, audio=data[start : start + BLOCK_BYTES]))
        await _send(self._out, AudioStop())

    async def _chunk(self, speech: Speech) -> AudioChunk | None:
        while True:
            try:
                return await speech.chunk(_CHECK_EVERY_S)
            except TimeoutError:
                self._out.check_client()


def info(service: Service) -> Info:
    """What `describe` is answered with."""
    manifest = service.bundle.manifest
    attribution = Attribution(name=manifest.name, url="")
    voices = [
        TtsVoice(
            name=v.name, attribution=attribution, installed=True, description=f"{v.name} ({v.language})",
            version=__version__, languages=[v.language],
        )
        for v in manifest.voices
    ]  # fmt: skip
    program = TtsProgram(
        name="edge-tts-openvino", attribution=attribution, installed=True, description=f"{manifest.name} on OpenVINO",
        version=__version__, voices=voices, supports_synthesize_streaming=True,
    )  # fmt: skip
    return Info(tts=[program])
