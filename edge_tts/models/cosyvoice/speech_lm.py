"""Text tokens -> speech tokens: the text encoder, the prefix, and batched decoding over one KV cache.

Sequences of a batch have prefixes of different lengths: shorter ones are padded on the left, where no query may look. Attention
knows positions by distance only, so that the padding changes nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from edge_tts.engine import Graph, Session

Array = NDArray[np.float32]
# Columns of the position table are handed to the graph for this many positions more at a time.
_TABLE_STEP = 128
_FORBIDDEN = np.float32(-1e9)  # finite: a row of padding, all of whose keys are forbidden, must not become NaN


@dataclass(frozen=True, eq=False)
class LMTables:
    """What is looked up outside the graphs.

    speech: [speech tokens, size] embeddings; control: [2, size] start of sequence and task
    speaker_weight [size, speaker size], speaker_bias [size]: projection of a speaker embedding
    positions: [layers, heads, head size, max_positions + 1] products of positions by falling distance, a column of zeros behind;
        may be memory-mapped, and int8
    position_scales: [layers, heads, 1, max_positions + 1] what int8 columns are multiplied with; None when they are float
    """

    speech: Array
    control: Array
    speaker_weight: Array
    speaker_bias: Array
    positions: NDArray[np.float32] | NDArray[np.int8]
    position_scales: Array | None = None

    def position_columns(self, layer: int, n: int) -> Array:
        """The last `n` columns of a layer's table and its column of zeros, a new array: [heads, head size, n + 1]."""
        columns = slice(self.max_positions - n, None)
        table = self.positions[layer, ..., columns].astype(np.float32, order="C")
        if self.position_scales is not None:
            table *= self.position_scales[layer, ..., columns]
        return table

    @property
    def max_positions(self) -> int:
        """How many positions, prefix and speech tokens together, a sentence can have."""
        return int(self.positions.shape[3]) - 1


@dataclass(frozen=True, eq=False)
class EncodedText:
    """hidden: [1, n, size] after the encoder; projected: [1, n, size] as the decoder reads it."""

    hidden: Array
    projected: Array


class SpeechLM:
    """The two graphs of the language model. Keeps no state of a request; `Decoding` does."""

    def __init__(self, text_encoder: Graph, decoder: Graph, tables: LMTables) -> None:
        self._text_encoder = text_encoder
        self._decoder = decoder
        self.tables = tables

    @property
    def end_of_speech(self) -> int:
        """The class that ends a sentence: one more than the last speech token."""
        return len(self.tables.speech)

    def encode_text(self, tokens: Sequence[int]) -> EncodedText:
        """Text tokens [n], a prompt's first."""
        outputs = self._text_encoder(tokens=np.asarray(tokens, dtype=np.int64)[None])
        return EncodedText(outputs["hidden"], outputs["projected"])

    def project_speaker(self, embedding: Array) -> Array:
        """[speaker size] -> [size]."""
        return project_unit(embedding, self.tables.speaker_weight, self.tables.speaker_bias)

    def prefix(self, text: Array, speaker: Array | None, prompt_tokens: Sequence[int]) -> Array:
        """What the decoder reads before its first token: [positions, size].

        text: [n, size] projected; speaker: [speaker size] or None; prompt_tokens: speech tokens of a prompt
        """
        sos, task = self.tables.control[:1], self.tables.control[1:2]
        speaker_row = [] if speaker is None else [self.project_speaker(speaker)[None]]
        return np.concatenate([sos, *speaker_row, text, task, self.embed(prompt_tokens)])

    def embed(self, tokens: Sequence[int]) -> Array:
        """Speech tokens [n] -> [n, size]."""
        return self.tables.speech[np.asarray(tokens, dtype=np.int64)]

    def decode(self, prefixes: Sequence[Array]) -> Decoding:
        """Begin decoding after each of the prefixes, as one batch."""
        return Decoding(self._decoder.session(), self, prefixes)


class Decoding:
    """Sequences being decoded together. `logits` are those after the last position of each: [sequences, classes]."""

    def __init__(self, session: Session, lm: SpeechLM, prefixes: Sequence[Array]) -> None:
        self._session, self._lm = session, lm
        lengths = np.array([len(prefix) for prefix in prefixes])
        n = int(lengths.max())
        self._padding = n - lengths  # [sequences] positions on the left that no query may look at
        self._positions = self._table_positions = 0
        embeddings = np.zeros((len(prefixes), n, prefixes[0].shape[1]), np.float32)
        for row, prefix in zip(embeddings, prefixes, strict=True):
            row[n - len(prefix) :] = prefix
        self.logits = self._run(embeddings, np.arange(len(prefixes), dtype=np.int32))

    @property
    def positions_left(self) -> int:
        """How many more tokens the position table has room for."""
        return self._lm.tables.max_positions - self._positions

    def step(self, tokens: Sequence[int], rows: Sequence[int] | None = None) -> None:
        """Add one token to each sequence, or to those at `rows` (which then are the sequences) and drop the others."""
        kept = np.arange(len(self._padding)) if rows is None else np.asarray(rows)
        self._padding = self._padding[kept]
        self.logits = self._run(self._lm.embed(tokens)[:, None], kept.astype(np.int32))

    def _run(self, embeddings: Array, beam_idx: NDArray[np.int32]) -> Array:
        self._positions += embeddings.shape[1]
        bias = attention_bias(self._padding, embeddings.shape[1], self._positions)
        if self._positions > self._table_positions:
            self._widen_table()
        logits: Array = self._session(embeddings=embeddings, bias=bias, beam_idx=beam_idx)["logits"]
        return logits

    def _widen_table(self) -> None:
        """Hand the columns for the next positions to the graph, which keeps them: cheaper than cutting them at every step."""
        tables = self._lm.tables
        self._table_positions = min(-(-self._positions // _TABLE_STEP) * _TABLE_STEP, tables.max_positions)
        for layer in range(len(tables.positions)):
            self._session.keep(f"positions.{layer}", tables.position_columns(layer, self._table_positions))


def attention_bias(padding: NDArray[np.int64], n: int, total: int) -> Array:
    """0 where the last `n` of `total` positions may look, a large negative number elsewhere: [sequences, 1, n, total].

    padding: [sequences] positions on the left that are none
    """
    keys = np.arange(total)
    hidden = keys[None, None, :] < padding[:, None, None]  # [sequences, 1, total]
    if n > 1:
        hidden = hidden | (keys[None, None, :] > np.arange(total - n, total)[None, :, None])
    return np.where(hidden, _FORBIDDEN, np.float32(0.0))[:, None]


def project_unit(embedding: Array, weight: Array, bias: Array) -> Array:
    """A linear layer on the vector at unit length: [n] -> [m]."""
    unit = embedding / max(float(np.linalg.norm(embedding)), 1e-12)
    return np.asarray(weight @ unit + bias, dtype=np.float32)
