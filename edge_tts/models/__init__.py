"""Model families behind one small interface; each loads only when a bundle of its family is opened."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from edge_tts.audio import AudioChunk
from edge_tts.bundle import Bundle, VoiceEntry
from edge_tts.errors import BundleError
from edge_tts.text import Sentence

if TYPE_CHECKING:
    from edge_tts.engine import Engine

# family name in the manifest -> module with `load(bundle, engine) -> Model`
FAMILIES = {
    "kokoro": "edge_tts.models.kokoro",
    "hibari": "edge_tts.models.hibari",
    "piper": "edge_tts.models.piper",
    "cosyvoice": "edge_tts.models.cosyvoice.model",
}


@dataclass(frozen=True)
class Delivery:
    """How a request's sentences are to be spoken.

    voice: the speaker, already resolved
    speed: 0.5 (slow) to 2.0 (fast)
    seed: makes sampled speech and noise repeatable; None draws anew
    rehearsed: nobody listens: a model whose speech has no length of its own may stop as soon as every stage has run
    """

    voice: VoiceEntry
    speed: float = 1.0
    seed: int | None = None
    rehearsed: bool = False


class Model(Protocol):
    """A loaded model. It keeps no state of a request: `speak`'s generator does, and closing that ends the work."""

    @property
    def sample_rate(self) -> int: ...

    @property
    def limit_characters(self) -> int:
        """The longest sentence, in characters of text, that `speak` should be given."""
        ...

    def speak(
        self, sentences: Iterator[Sentence], delivery: Delivery, cancelled: Callable[[], bool]
    ) -> Iterator[AudioChunk]:
        """Speak the sentences in order, each chunk as soon as it is ready; `cancelled` is asked between model steps."""
        ...


def load(bundle: Bundle, engine: Engine) -> Model:
    """Load the bundle's model; BundleError for a family that this version does not know."""
    family = bundle.manifest.family
    if family not in FAMILIES:
        known = ", ".join(sorted(FAMILIES))
        raise BundleError(f"{bundle.path}: unknown family {family!r} (this version knows: {known}); update edge-tts-openvino")
    module = importlib.import_module(FAMILIES[family])
    model: Model = module.load(bundle, engine)
    return model
