"""What the quantiser is shown: the inputs that the model's own graphs get while they speak real sentences."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from edge_tts.bundle import open_bundle
from edge_tts.engine import Engine, Graph
from edge_tts.models import Delivery
from edge_tts.models.cosyvoice.model import LMSettings, load
from edge_tts.models.cosyvoice.sampling import RunawayLimits
from edge_tts.text import Sentence

Sample = dict[str, NDArray[Any]]
# (language, text); every speaker of the checkpoint speaks some of them in turn
SENTENCES = (
    ("zh", "今天天气很好，我们一起去公园散步吧。"),
    ("en", "The quick brown fox jumps over the lazy dog."),
    ("zh", "请把窗户关上，外面风太大了，好吗？"),
    ("en", "She opened the letter slowly, afraid of what it might say."),
    ("ja", "明日は雨が降るでしょう。"),
    ("ko", "오늘은 날씨가 맑습니다."),
    ("yue", "我哋聽日去飲茶。"),
    ("zh", "火车将在三分钟后到达，请乘客们站在黄线以内。"),
)
# Of the steps of one mel that the estimator sees; neighbours differ little.
_STEPS_KEPT = (0, 2, 5, 8)


class _Recorder:
    """A graph that remembers the inputs of its calls."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.calls: list[Sample] = []

    def __call__(self, **inputs: NDArray[Any]) -> dict[str, NDArray[Any]]:
        self.calls.append({name: array.copy() for name, array in inputs.items()})
        return self._graph(**inputs)


def record(bundle_path: Path, n_sentences: int) -> Iterator[dict[str, list[Sample]]]:
    """After each sentence: the inputs so far of the estimator and of the vocoder of the bundle, which must be float still."""
    bundle = open_bundle(bundle_path, verify=False)
    model = load(bundle, Engine())
    flow: Any = model.flow  # a recorder stands in for each of two graphs
    generator: Any = model.vocoder
    estimator, vocoder = _Recorder(flow.estimator), _Recorder(generator.generator)
    flow.estimator, generator.generator = estimator, vocoder
    # Enough tokens of each sentence, and no second try: what is said does not matter here.
    model.lm_settings = LMSettings(min_ratio=3.0, max_ratio=6.0)
    model.runaway_limits = RunawayLimits(attempts=1)
    speakers = itertools.cycle(bundle.manifest.voices)
    n_steps = model.flow.settings.n_steps
    for seed, (language, text) in enumerate(SENTENCES[:n_sentences]):
        for _ in model.speak(iter([Sentence(text, language)]), Delivery(next(speakers), seed=seed), lambda: False):
            pass
        steps = [call for i, call in enumerate(estimator.calls) if i % n_steps in _STEPS_KEPT]
        yield {"estimator": steps, "vocoder": vocoder.calls}
