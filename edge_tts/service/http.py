"""The HTTP protocol, in the shape of OpenAI's speech endpoint.

    POST   /v1/audio/speech         text in JSON -> audio, streamed as it is spoken
    DELETE /v1/audio/speech/{id}    cancel a request
    GET    /v1/audio/voices, /v1/models, /healthz, /readyz, /metrics

Errors are JSON in OpenAI's form. Importing this needs the `service` extra; the routes are Starlette's, HTTP itself is uvicorn's.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edge_tts import errors
from edge_tts.audio import (
    MEDIA_TYPES,
    AudioChunk,
    Encoder,
    check_format,
    concatenate,
    encode,
)
from edge_tts.errors import MissingExtraError
from edge_tts.service.metrics import CONTENT_TYPE
from edge_tts.service.speech import Speech, SpeechRequest, with_option

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route
    from uvicorn.protocols.http.h11_impl import H11Protocol
    from uvicorn.server import ServerState
except ImportError as error:
    raise MissingExtraError(f"{error.name}, which speaks HTTP,", "service") from None

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from edge_tts.service.server import Service

logger = logging.getLogger(__name__)

# OpenAI's names, which clients send without being asked; beside them the bundle's own name is accepted.
MODEL_ALIASES = ("tts-1", "tts-1-hd", "gpt-4o-mini-tts")
# A voice that stands for none: OpenAI's clients insist on naming one.
AUTO_VOICE = "auto"
FIELDS = (
    "model", "input", "voice", "response_format", "speed", "stream", "stream_format", "instructions",
    "language", "seed", "priority", "id",
)  # fmt: skip
# Formats whose files are wrong, or not there, before the end: sent whole unless streaming is asked for.
WHOLE_BY_DEFAULT = ("wav", "flac")
STATUS = {
    "busy": 503, "unavailable": 503, "too-long": 413, "too-slow": 408, "unknown-voice": 400, "bad-request": 400,
    "cancelled": 409, "unknown-model": 404, "failed": 500,
}  # fmt: skip
# JSON may write a character of three bytes as \uXXXX; and there are the other fields.
_JSON_BYTES_PER_TEXT_BYTE, _JSON_OTHER_BYTES = 2, 4096


class UnknownModelError(errors.RequestError):
    """The request names a model that this service is not."""


@dataclass(frozen=True)
class SpeechBody:
    """A speech request's JSON, checked."""

    request: SpeechRequest
    text: str
    stream: bool


def parse_body(data: bytes, default: SpeechRequest, models: tuple[str, ...]) -> SpeechBody:
    """The request that JSON `data` makes of the default one. Raises RequestError."""
    try:
        body = json.loads(data)
    except ValueError as error:
        raise errors.OptionError(f"the body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise errors.OptionError("the body must be a JSON object with an input")
    for name in body:
        if name not in FIELDS:
            raise errors.OptionError(f"unknown field {name!r}; choose from: {', '.join(FIELDS)}")
    text = body.get("input")
    if not isinstance(text, str):
        raise errors.OptionError("input must be the text to speak")
    model = body.get("model")
    if model is not None and model not in models:
        raise UnknownModelError(f"unknown model {model!r}; choose from: {', '.join(models)}")
    if body.get("stream_format", "audio") != "audio":
        raise errors.OptionError("stream_format can only be audio")
    audio_format = check_format(str(body.get("response_format", "mp3")))
    stream = body.get("stream", audio_format not in WHOLE_BY_DEFAULT)
    if not isinstance(stream, bool):
        raise errors.OptionError("stream must be true or false")
    request = with_option(default, "format", audio_format)
    for field, option in (("speed", "speed"), ("language", "lang"), ("seed", "seed"), ("priority", "priority"), ("id", "id")):
        if body.get(field) is not None:
            request = with_option(request, option, str(body[field]))
    voice = body.get("voice")
    if isinstance(voice, dict):
        voice = voice.get("id")
    if voice is not None and voice != AUTO_VOICE:
        request = with_option(request, "voice", str(voice))
    return SpeechBody(request, text, stream)


class SpeechResponse(Response):
    """Speaks while it is sent; a client that hangs up cancels, one that takes no audio for too long is cut off."""

    def __init__(self, service: Service, body: SpeechBody) -> None:
        super().__init__()
        self._service = service
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._service.open(self._body.request, "http") as speech:
            watching = asyncio.create_task(_cancel_on_hang_up(speech, receive))
            try:
                speech.feed(self._body.text)
                speech.finish()
                first = await speech.chunk()
                if self._body.stream:
                    await self._stream(speech, first, send)
                else:
                    await self._whole(speech, first, send)
            finally:
                watching.cancel()

    async def _whole(self, speech: Speech, chunk: AudioChunk | None, send: Send) -> None:
        chunks: list[AudioChunk] = []
        while chunk is not None:
            chunks.append(chunk)
            chunk = await speech.chunk()
        audio_format = self._body.request.audio_format
        data = await asyncio.to_thread(
            lambda: encode(concatenate(chunks, speech.sample_rate), speech.sample_rate, audio_format)
        )
        await self._start(speech, send, length=len(data))
        await send({"type": "http.response.body", "body": data})

    async def _stream(self, speech: Speech, chunk: AudioChunk | None, send: Send) -> None:
        encoder = Encoder(self._body.request.audio_format, speech.sample_rate)
        await self._start(speech, send)
        while chunk is not None:
            data = await asyncio.to_thread(encoder.add, chunk)
            await send({"type": "http.response.body", "body": data, "more_body": True})
            chunk = await speech.chunk()
        await send({"type": "http.response.body", "body": encoder.finish()})

    async def _start(self, speech: Speech, send: Send, length: int | None = None) -> None:
        headers = [
            (b"content-type", MEDIA_TYPES[self._body.request.audio_format].encode()),
            (b"x-request-id", speech.request.request_id.encode()),
        ]
        if self._body.request.audio_format == "pcm":
            headers.append((b"x-sample-rate", str(speech.sample_rate).encode()))
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _cancel_on_hang_up(speech: Speech, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    speech.cancel(errors.CancelledError("the client has left"))


class Application:
    """The routes of one service, as an ASGI application."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.asgi = Starlette(
            routes=[
                Route("/v1/audio/speech", self.speech, methods=["POST"]),
                Route("/v1/audio/speech/{id}", self.cancel, methods=["DELETE"]),
                Route("/v1/audio/voices", self.voices),
                Route("/v1/models", self.models),
                Route("/healthz", self.health),
                Route("/readyz", self.readiness),
                Route("/metrics", self.metrics),
            ],
            exception_handlers={errors.EdgeTTSError: self.refuse},
        )

    async def speech(self, request: Request) -> Response:
        service = self._service
        names = (service.bundle.manifest.name, *MODEL_ALIASES)
        body = parse_body(await self._read(request), service.default_request(), names)
        if len(body.text.encode("utf-8", "replace")) > service.config.limits.text_bytes:
            raise errors.TooLongError(f"the input is longer than {service.config.limits.text_bytes} bytes; send it in parts")
        service.check(body.request)
        return SpeechResponse(service, body)

    async def _read(self, request: Request) -> bytes:
        """The body, within limits of size and time."""
        limits = self._service.config.limits
        limit = _JSON_BYTES_PER_TEXT_BYTE * limits.text_bytes + _JSON_OTHER_BYTES
        data = bytearray()
        try:
            async with asyncio.timeout(limits.send_total_s):
                async for part in _parts(request, limits.send_timeout_s):
                    data += part
                    if len(data) > limit:
                        raise errors.TooLongError(f"the body is longer than {limit} bytes; send the text in parts")
        except TimeoutError:
            raise errors.TooSlowError("the body did not come in time") from None
        except ClientDisconnect:
            raise errors.CancelledError("the client has left") from None
        return bytes(data)

    async def cancel(self, request: Request) -> Response:
        n_cancelled = self._service.cancel(request.path_params["id"])
        return JSONResponse({"cancelled": n_cancelled}, status_code=200 if n_cancelled else 404)

    async def voices(self, request: Request) -> Response:
        voices = self._service.bundle.manifest.voices
        return JSONResponse(
            {
                "voices": [
                    {"id": v.name, "name": v.name, "language": v.language, "license": v.license, "description": v.description}
                    for v in voices
                ]
            }
        )

    async def models(self, request: Request) -> Response:
        names = (self._service.bundle.manifest.name, *MODEL_ALIASES)
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "edge-tts-openvino"} for name in names]
        return JSONResponse({"object": "list", "data": data})

    async def health(self, request: Request) -> Response:
        """Whether the worker lives and is not stuck."""
        scheduler = self._service.scheduler
        healthy = scheduler.alive and scheduler.stuck_for_s() < STUCK_S
        return PlainTextResponse("ok\n" if healthy else "stuck\n", status_code=200 if healthy else 503)

    async def readiness(self, request: Request) -> Response:
        """Whether a request would be spoken at once, without waiting for a model to load."""
        ready = self._service.ready
        return PlainTextResponse("ready\n" if ready else "not ready\n", status_code=200 if ready else 503)

    async def metrics(self, request: Request) -> Response:
        return Response(self._service.metrics.exposition(), headers={"content-type": CONTENT_TYPE})

    async def refuse(self, request: Request, error: Exception) -> Response:
        """An error in OpenAI's form."""
        assert isinstance(error, errors.EdgeTTSError)
        word = self._service.refused("http", error)
        if isinstance(error, UnknownModelError):
            word = "unknown-model"
        if isinstance(error, MissingExtraError):
            word = "unavailable"
        status = STATUS[word]
        kind = "invalid_request_error" if status < 500 else "server_error"
        return JSONResponse(
            {"error": {"message": str(error), "type": kind, "param": None, "code": word.replace("-", "_")}},
            status_code=status,
            headers={"retry-after": "1"} if status == 503 else None,
        )


# No step of a model takes as long on a machine that is of any use.
STUCK_S = 60.0


async def _parts(request: Request, timeout_s: float) -> AsyncIterator[bytes]:
    """The body's parts; TimeoutError when the next does not come."""
    stream = aiter(request.stream())
    while True:
        try:
            yield await asyncio.wait_for(anext(stream), timeout_s)
        except StopAsyncIteration:
            return


class Protocol(H11Protocol):
    """uvicorn's HTTP/1.1 with what it lacks: connections that send nothing, or take nothing, are cut off."""

    def __init__(self, service: Service, config: uvicorn.Config) -> None:
        super().__init__(config=config, server_state=ServerState(), app_state={})
        self._service = service
        self._unsent = 0
        self._progress_s = time.monotonic()
        self._checks: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        try:
            self._service.enter(self)
        except errors.BusyError as error:
            self._service.refused("http", error)
            body = json.dumps({"error": {"message": str(error), "type": "server_error", "param": None, "code": "busy"}}).encode()
            transport.write(
                b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-type: application/json\r\n"
                b"connection: close\r\ncontent-length: " + str(len(body)).encode() + b"\r\n\r\n" + body
            )
            transport.close()
            return
        self._check()

    def connection_lost(self, exc: Exception | None) -> None:
        self._service.leave(self)
        if self._checks is not None:
            self._checks.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._progress_s = time.monotonic()
        super().data_received(data)

    def _check(self) -> None:
        """Once a second: has the client taken anything, or sent anything, where that is what is waited for?"""
        limits = self._service.config.limits
        now_s = time.monotonic()
        unsent = self.transport.get_write_buffer_size()
        speaking = self.cycle is not None and not self.cycle.response_complete
        if unsent != self._unsent or (speaking and not unsent):
            self._progress_s = now_s
        self._unsent = unsent
        if now_s - self._progress_s > (limits.read_timeout_s if unsent else limits.send_timeout_s):
            message = "the client took no audio" if unsent else "the client sent no request"
            self._service.refused("http", errors.TooSlowError(message))
            self.transport.abort()
        else:
            self._checks = self.loop.call_later(1.0, self._check)


def protocol_factory(service: Service) -> Any:
    """What makes the protocol object of each connection."""
    app = Application(service).asgi
    config = uvicorn.Config(
        app, http=Protocol, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False, date_header=False
    )
    config.load()
    return lambda: Protocol(service, config)
