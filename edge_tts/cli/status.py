"""Show on one screen how a running service is doing, from its metrics."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

from edge_tts.client import Client
from edge_tts.errors import MissingExtraError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--socket", help="plain-text socket of the service (default: the user's, then the system's)")


def run(args: argparse.Namespace) -> int:
    client = Client(args.socket)
    samples = read(client.command("metrics").removeprefix("metrics\n"))
    print(f"edge-tts at {client.path}")
    for label, value in summary(samples, time.time()):
        print(f"  {label:14}{value}")
    return 0


@dataclass(frozen=True)
class Samples:
    """Metrics by name, each a list of labels and value."""

    values: dict[str, list[tuple[dict[str, str], float]]]

    def total(self, name: str, **labels: str) -> float:
        return sum(value for found, value in self.values.get(name, []) if labels.items() <= found.items())

    def by(self, name: str, label: str) -> dict[str, float]:
        sums: dict[str, float] = {}
        for found, value in self.values.get(name, []):
            sums[found[label]] = sums.get(found[label], 0.0) + value
        return sums

    def quantile(self, name: str, q: float) -> float | None:
        """A histogram's quantile: the upper bound of the bucket it falls into; None without observations."""
        buckets = self.by(f"{name}_bucket", "le")
        total = buckets.get("+Inf", 0.0)
        if not total:
            return None
        return next(bound for bound, n in sorted((float(le), n) for le, n in buckets.items()) if n >= q * total)


def read(text: str) -> Samples:
    """Parse Prometheus's text format."""
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        raise MissingExtraError("prometheus-client", "service") from None
    values: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            values.setdefault(sample.name, []).append((sample.labels, sample.value))
    return Samples(values)


def summary(samples: Samples, now_s: float) -> Iterator[tuple[str, str]]:
    """Label and value of each line."""
    for labels, value in samples.values.get("edge_tts_bundle", []):
        if value:
            loaded = "loaded" if samples.total("edge_tts_model_loaded") else "not loaded"
            yield "voice", f"{labels['name']} ({labels['family']}), {loaded}; edge-tts-openvino {labels['version']}"
    yield "up", _duration(now_s - samples.total("edge_tts_start_time_seconds"))
    outcomes = samples.by("edge_tts_requests_total", "outcome")
    yield "requests", ", ".join(f"{int(n)} {outcome}" for outcome, n in sorted(outcomes.items())) or "none yet"
    refusals = samples.by("edge_tts_refusals_total", "reason")
    yield "refused", ", ".join(f"{int(n)} {reason}" for reason, n in sorted(refusals.items())) or "none"
    depth, connections = samples.total("edge_tts_queue_depth"), samples.total("edge_tts_connections")
    yield "now", f"{int(depth)} requests, {int(connections)} connections"
    yield "first audio", _quantiles(samples, "edge_tts_first_audio_seconds", " s")
    yield "RTF", _quantiles(samples, "edge_tts_rtf", "")
    yield "spoken", f"{_duration(samples.total('edge_tts_audio_seconds_total'))} of audio"
    retried = samples.total("edge_tts_runaways_retried_total")
    if retried:
        yield "retried", f"{int(retried)} sentences that did not end"
    yield "memory", f"{samples.total('process_resident_memory_bytes') / 1e6:.0f} MB"


def _quantiles(samples: Samples, name: str, unit: str) -> str:
    median, slowest = samples.quantile(name, 0.5), samples.quantile(name, 0.95)
    return "none yet" if median is None or slowest is None else f"half within {median:g}{unit}, 95 % within {slowest:g}{unit}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if days else f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
