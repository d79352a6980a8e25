"""What the service counts, under the names that `/metrics` and `edge-tts status` show.

`Metrics` counts nothing, so that the plain socket needs no extra; `create` gives one that does where prometheus-client is there.
"""

from __future__ import annotations

import time

from edge_tts import __version__
from edge_tts.bundle import Manifest
from edge_tts.errors import MissingExtraError

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Latencies of interest run from a cached phrase on a desktop to a queue of others on a small box.
_FIRST_AUDIO_BUCKETS_S = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
# 1.0 is where speech stops being faster than its own playing.
_RTF_BUCKETS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0)


class Metrics:
    """Counts nothing; the service runs the same without."""

    def request(self, protocol: str, outcome: str, first_audio_s: float | None, compute_s: float, audio_s: float) -> None:
        """A request has ended: done, cancelled or failed."""

    def refusal(self, protocol: str, reason: str) -> None:
        """A request, or the rest of one, was not served."""

    def queue_depth(self, n_requests: int) -> None:
        """Requests being spoken or waiting."""

    def connections(self, n_connections: int) -> None:
        """Clients connected now."""

    def model(self, event: str, seconds: float) -> None:
        """The model was loaded ("load") or unloaded ("unload"), and how long that took."""

    def runaways(self, n_since_load: int) -> None:
        """How many sentences whose sampling did not end were spoken again since the model was loaded."""

    def bundle(self, manifest: Manifest) -> None:
        """The bundle that requests are spoken with from now on."""

    def exposition(self) -> str:
        """All of it in Prometheus's text format. Raises MissingExtraError."""
        raise MissingExtraError("prometheus-client", "service")


def create() -> Metrics:
    """Metrics that count, if prometheus-client is installed."""
    try:
        return PrometheusMetrics()
    except ImportError:
        return Metrics()


class PrometheusMetrics(Metrics):
    """Counts with the official client, in a registry of its own, with the process's memory beside it. May be used by threads."""

    def __init__(self) -> None:
        from prometheus_client import (
            CollectorRegistry,
            Counter,
            Gauge,
            Histogram,
            ProcessCollector,
        )

        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._registry = registry
        self._requests = Counter(
            "edge_tts_requests", "Requests that ended, by outcome", ["protocol", "outcome"], registry=registry
        )
        self._refusals = Counter("edge_tts_refusals", "Requests refused or cut off", ["protocol", "reason"], registry=registry)
        self._queue_depth = Gauge("edge_tts_queue_depth", "Requests being spoken or waiting", registry=registry)
        self._connections = Gauge("edge_tts_connections", "Clients connected", registry=registry)
        self._first_audio = Histogram(
            "edge_tts_first_audio_seconds", "From a request's admission to its first sound", ["protocol"],
            buckets=_FIRST_AUDIO_BUCKETS_S, registry=registry,
        )  # fmt: skip
        self._rtf = Histogram(
            "edge_tts_rtf", "Compute time over audio time of a request", buckets=_RTF_BUCKETS, registry=registry
        )
        self._audio = Counter("edge_tts_audio_seconds", "Audio spoken", registry=registry)
        self._compute = Counter("edge_tts_compute_seconds", "Time spent speaking it", registry=registry)
        self._runaways = Counter(
            "edge_tts_runaways_retried", "Sentences spoken again because they did not end", registry=registry
        )
        self._runaways_since_load = 0
        self._model_events = Counter("edge_tts_model_events", "Loads and unloads of the model", ["event"], registry=registry)
        self._model_loaded = Gauge("edge_tts_model_loaded", "1 while the model is in memory", registry=registry)
        self._model_load = Gauge("edge_tts_model_load_seconds", "What the last load took", registry=registry)
        self._bundle = Gauge("edge_tts_bundle", "The voice bundle in use", ["name", "family", "version"], registry=registry)
        started = Gauge("edge_tts_start_time_seconds", "When the service started, since the epoch", registry=registry)
        started.set(time.time())

    def request(self, protocol: str, outcome: str, first_audio_s: float | None, compute_s: float, audio_s: float) -> None:
        self._requests.labels(protocol, outcome).inc()
        if first_audio_s is not None:
            self._first_audio.labels(protocol).observe(first_audio_s)
        if outcome == "done" and audio_s > 0:
            self._rtf.observe(compute_s / audio_s)
        self._audio.inc(audio_s)
        self._compute.inc(compute_s)

    def refusal(self, protocol: str, reason: str) -> None:
        self._refusals.labels(protocol, reason).inc()

    def queue_depth(self, n_requests: int) -> None:
        self._queue_depth.set(n_requests)

    def connections(self, n_connections: int) -> None:
        self._connections.set(n_connections)

    def model(self, event: str, seconds: float) -> None:
        self._model_events.labels(event).inc()
        self._model_loaded.set(event == "load")
        if event == "load":
            self._model_load.set(seconds)

    def runaways(self, n_since_load: int) -> None:
        before = self._runaways_since_load if n_since_load >= self._runaways_since_load else 0
        self._runaways.inc(n_since_load - before)
        self._runaways_since_load = n_since_load

    def bundle(self, manifest: Manifest) -> None:
        self._bundle.clear()
        self._bundle.labels(manifest.name, manifest.family, __version__).set(1)

    def exposition(self) -> str:
        from prometheus_client import generate_latest

        return generate_latest(self._registry).decode()
