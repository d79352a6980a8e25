"""What the service counts. With prometheus-client installed it is exposed; without, nothing is kept."""

from __future__ import annotations

from edge_tts.errors import MissingExtraError


class Metrics:
    """Counts nothing; the service runs the same without."""

    def request(
        self, protocol: str, outcome: str, first_audio_s: float | None, compute_s: float, audio_s: float
    ) -> None:
        """A request has ended."""

    def refusal(self, protocol: str, reason: str) -> None:
        """A request was not served."""

    def queue_depth(self, n_requests: int) -> None:
        """Requests being spoken or waiting."""

    def connections(self, n_connections: int) -> None:
        """Clients connected now."""

    def model(self, event: str, seconds: float) -> None:
        """The model was loaded or unloaded."""

    def exposition(self) -> str:
        """All of it in Prometheus's text format."""
        raise MissingExtraError("prometheus-client", "service")
