"""The service itself: it owns the scheduler, the listeners and the list of requests, and answers signals.

    systemd or the configuration -> listeners -> one protocol each -> Speech -> scheduler -> Voice
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Protocol, runtime_checkable

from edge_tts import errors
from edge_tts.bundle import Bundle
from edge_tts.config import Config
from edge_tts.scheduler import Scheduler, SchedulerLimits, VoiceSlot
from edge_tts.service import plain_text, systemd
from edge_tts.service.connection import Outgoing
from edge_tts.service.keepalive import Keepalive
from edge_tts.service.listening import Listener
from edge_tts.service.metrics import Metrics
from edge_tts.service.speech import Speech, SpeechRequest, check_request
from edge_tts.synthesizer import SpeechOptions

logger = logging.getLogger(__name__)

Handler = Callable[["Service", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

# What refusals are called, in answers and in metrics; the first match counts.
REASONS: tuple[tuple[type[errors.EdgeTTSError], str], ...] = (
    (errors.BusyError, "busy"),
    (errors.TooLongError, "too-long"),
    (errors.TooSlowError, "too-slow"),
    (errors.UnknownVoiceError, "unknown-voice"),
    (errors.RequestError, "bad-request"),
    (errors.CancelledError, "cancelled"),
    (errors.ServiceError, "unavailable"),
)


def reason(error: errors.EdgeTTSError) -> str:
    """The one word for an error, the same in every protocol and in the metrics."""
    return next((word for kind, word in REASONS if isinstance(error, kind)), "failed")


class Service:
    """Serves listeners until it is told to stop."""

    def __init__(self, config: Config, slot: VoiceSlot, metrics: Metrics) -> None:
        self.config = config
        self.metrics = metrics
        limits = config.limits
        self.scheduler = Scheduler(slot, SchedulerLimits(limits.requests, limits.buffer_s, config.unload_after_s))
        self._speeches: dict[str, Speech] = {}
        self._numbers = itertools.count(1)
        self._connections: set[object] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.stopping = asyncio.Event()
        self.ready = False
        self._keepalive: Keepalive | None = None
        self._kept_alive: set[int] = set()

    # What protocols use

    @property
    def bundle(self) -> Bundle:
        return self.scheduler.slot.bundle

    def default_request(self) -> SpeechRequest:
        """A request of which nothing was said yet."""
        return SpeechRequest(SpeechOptions(speaker=self.config.voice or None, speed=self.config.speed))

    def check(self, request: SpeechRequest) -> None:
        """Raise what is wrong with the request, before anything was promised for it."""
        check_request(request, self.bundle)
        if request.request_id in self._speeches:
            raise errors.OptionError(f"a request with the id {request.request_id!r} is being spoken; choose another id")

    def open(self, request: SpeechRequest, protocol: str) -> Speech:
        """Admit a request; use the result as a context manager. Raises RequestError or ServiceError."""
        self.check(request)
        request_id = request.request_id or f"{os.getpid()}-{next(self._numbers)}"
        speech = Speech(replace(request, request_id=request_id), self.scheduler, lambda ended: self._ended(ended, protocol))
        self._speeches[request_id] = speech
        self.metrics.queue_depth(len(self._speeches))
        return speech

    @contextlib.contextmanager
    def kept_alive(self, out: Outgoing, silence: bytes) -> Iterator[None]:
        """Have silence written to a connection by another process, as long as this one may be busy loading."""
        number = next(self._numbers)
        try:
            if self._keepalive is None:
                self._keepalive = Keepalive(silence)
            self._keepalive.add(number, out.descriptor)
        except OSError as error:
            logger.warning("clients that wait for the model may give up: %s", error)
            if self._keepalive is not None:
                self._keepalive.close()
                self._keepalive = None
            yield
            return
        keepalive = self._keepalive
        self._kept_alive.add(number)
        try:
            yield
        finally:
            self._kept_alive.discard(number)
            with contextlib.suppress(OSError):
                keepalive.remove(number)
            if not self._kept_alive and self.scheduler.slot.warm:
                keepalive.close()
                self._keepalive = None

    def cancel(self, request_id: str) -> int:
        """Cancel the request of that id; returns how many there were, 0 or 1."""
        speech = self._speeches.get(request_id)
        if speech is None:
            return 0
        speech.cancel()
        return 1

    def refused(self, protocol: str, error: errors.EdgeTTSError) -> str:
        """Account for a request that was not served; returns the reason's word."""
        word = reason(error)
        if not isinstance(error, errors.CancelledError):
            self.metrics.refusal(protocol, word)
            logger.warning("refused: %s", error, extra={"fields": {"protocol": protocol, "reason": word}})
        return word

    def _ended(self, speech: Speech, protocol: str) -> None:
        del self._speeches[speech.request.request_id]
        self.metrics.queue_depth(len(self._speeches))
        times = speech.times
        latency_s = None if times.first_chunk_s is None else times.first_chunk_s - times.submitted_s
        self.metrics.runaways(self.scheduler.slot.counters.get("runaways", 0))
        self.metrics.request(protocol, speech.outcome, latency_s, times.compute_s, times.audio_s)
        logger.info(
            "spoken" if speech.outcome == "done" else speech.outcome,
            extra={
                "fields": {
                    "request_id": speech.request.request_id,
                    "protocol": protocol,
                    "reason": None if speech.error is None else reason(speech.error),
                    "voice": speech.options.speaker,
                    "speed": speech.options.speed,
                    "characters": times.characters,
                    "audio_s": round(times.audio_s, 3),
                    "first_audio_s": None if latency_s is None else round(latency_s, 3),
                    "elapsed_s": round(speech.elapsed_s, 3),
                    "rtf": round(times.compute_s / times.audio_s, 3) if times.audio_s else None,
                    "text": "".join(speech.texts) if self.config.log_text else None,
                }
            },
        )

    # Running

    async def run(self, listeners: dict[str, list[Listener]]) -> None:
        """Serve until `stop`; listeners are closed at the end, those of our own making removed."""
        self.scheduler.start()
        watchdog = asyncio.create_task(self._feed_watchdog())
        servers: list[asyncio.Server] = []
        try:
            # Clients that wait are answered before the model is loaded: socat would give up on a connection without a byte.
            for name, some in listeners.items():
                servers += [await self._listen(name, listener) for listener in some]
            if self.config.load == "eager":
                await asyncio.to_thread(self.scheduler.slot.warm_up)
                self.scheduler.settle()
            # What is there now stays: the collector need not look at it again and again, and keep clients waiting meanwhile.
            gc.freeze()
            self.ready = True
            self._say_ready()
            await self.stopping.wait()
        finally:
            self.ready = False
            systemd.notify(STOPPING=1, STATUS="finishing the sentences that have begun")
            for server in servers:
                server.close()
            await asyncio.to_thread(self.scheduler.stop, self.config.limits.stop_grace_s)
            await self._end_connections()
            watchdog.cancel()
            if self._keepalive is not None:
                self._keepalive.close()
            for some in listeners.values():
                for listener in some:
                    listener.close()
        logger.info("stopped")

    def _say_ready(self) -> None:
        manifest = self.bundle.manifest
        self.metrics.bundle(manifest)
        logger.info("ready", extra={"fields": {"bundle": manifest.name, "family": manifest.family, "load": self.config.load}})
        systemd.notify(READY=1, STATUS=f"speaking with {manifest.name}, {len(manifest.voices)} voices")

    async def reload(self, read: Callable[[], tuple[Config, VoiceSlot]]) -> None:
        """Take over what `read` gives. Requests under way end as they began; an error in it leaves everything as it was."""
        systemd.notify(RELOADING=1, MONOTONIC_USEC=time.monotonic_ns() // 1000)
        try:
            config, slot = await asyncio.to_thread(read)
            if slot.bundle == self.bundle and config.threads == self.config.threads:
                slot = self.scheduler.slot
            elif config.load == "eager":
                await asyncio.to_thread(slot.warm_up)
        except errors.EdgeTTSError as error:
            logger.error("not reloaded, going on as before: %s", error)
        else:
            self.config = config
            limits = config.limits
            self.scheduler.limits = SchedulerLimits(limits.requests, limits.buffer_s, config.unload_after_s)
            self.scheduler.replace(slot)
            self.scheduler.settle()
            logger.info("reloaded")
        self._say_ready()

    async def _feed_watchdog(self) -> None:
        """Tell systemd that all is well, but only while the worker is not stuck in a step: then a restart is the remedy."""
        period_s = systemd.watchdog_s()
        while period_s is not None:
            if self.scheduler.alive and self.scheduler.stuck_for_s() < period_s / 2:
                systemd.notify(WATCHDOG=1)
            await asyncio.sleep(period_s / 4)

    def stop(self) -> None:
        """Begin to stop: no new requests, sentences that have begun come to their end."""
        self.stopping.set()

    async def _listen(self, name: str, listener: Listener) -> asyncio.Server:
        """Serve a protocol on a listener."""
        factory = _protocol_factory(self, name)
        loop = asyncio.get_running_loop()
        if listener.socket.family == socket.AF_UNIX:
            return await loop.create_unix_server(factory, sock=listener.socket)
        return await loop.create_server(factory, sock=listener.socket)

    async def serve_connection(
        self, name: str, handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one connection of a protocol that is written with streams."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await handler(self, reader, writer)
        except Exception:  # a connection's edge: logged, and this client alone is cut off
            logger.exception("a connection failed in an unexpected way", extra={"fields": {"protocol": name}})
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            self.leave(writer)

    def enter(self, connection: object) -> None:
        """Count a connection. Raises BusyError when there are more than the limit; it is to `leave` all the same."""
        self._connections.add(connection)
        self.metrics.connections(len(self._connections))
        limit = self.config.limits.connections
        if len(self._connections) > limit:
            raise errors.BusyError(f"busy: {limit} clients are connected, which is the limit; try again in a moment")

    def leave(self, connection: object) -> None:
        self._connections.discard(connection)
        self.metrics.connections(len(self._connections))

    async def _end_connections(self) -> None:
        """Let connections send what is ready, then cut them off."""
        until_s = time.monotonic() + self.config.limits.stop_grace_s
        for connection in self._connections:
            if isinstance(connection, Closing):
                connection.shutdown()
        while self._connections and time.monotonic() < until_s:
            await asyncio.sleep(0.02)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@runtime_checkable
class Closing(Protocol):
    """A connection that can be asked to end after what it is doing."""

    def shutdown(self) -> None: ...


PROTOCOLS = ("text", "http", "wyoming")


def _protocol_factory(service: Service, name: str) -> Callable[[], asyncio.BaseProtocol]:
    """What makes the protocol object of each connection. Raises MissingExtraError for one that is not installed."""
    if name == "http":
        from edge_tts.service import http

        factory: Callable[[], asyncio.BaseProtocol] = http.protocol_factory(service)
        return factory
    if name == "wyoming":
        from edge_tts.service import wyoming

        limit_bytes = 2 * service.config.limits.text_bytes + 4096  # a text in JSON, and what is around it
        return _stream_factory(service, name, wyoming.serve, lambda: wyoming.BoundedReader(limit_bytes))
    return _stream_factory(service, name, plain_text.serve, asyncio.StreamReader)


def _stream_factory(
    service: Service, name: str, handler: Handler, make_reader: Callable[[], asyncio.StreamReader]
) -> Callable[[], asyncio.BaseProtocol]:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await service.serve_connection(name, handler, reader, writer)

    return lambda: asyncio.StreamReaderProtocol(make_reader(), connected)
