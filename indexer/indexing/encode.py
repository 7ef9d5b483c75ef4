"""Documents to unit vectors and rows of representations: split, plan windows, one forward pass each, back in order.

Windows are gathered in pools, so that a batch has windows of one length, and leave a pool in the order in which they
came. Memory holds a pool and one document's tokens. A pool takes two seconds: a job publishes whole pools.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from indexer.indexing.windows import plan
from indexer.representations.base import EncodedWindow, Rows
from indexer.representations.registry import representation
from indexer.segments.writer import PartUnits
from models.encoders.base import Encoder, tokenize_units
from models.encoders.passes import ForwardPass, UnitPass, WindowOutputs
from models.interruption import checked
from models.ops.batching import length_batches
from models.ops.pooling import pool
from models.text.tokens import UnitTokens, end_to_end, unit_shares
from models.text.units import NEWEST, TextForm
from models.types import Document, UnitVectors

# Batches per pool: enough to group windows of similar length, few enough to fit in memory beside the model.
_BATCHES_A_POOL = 8
# Bytes of the vectors of a pool, whatever its batches hold: on a GPU one batch has as many tokens as 16 on a CPU.
_POOL_BYTES = 2**30
# Those of the first one, which shows how fast the encoder is.
_FIRST_BATCHES = 1
# Seconds in which a pool is encoded, and after which one is not filled further.
_POOL_S = 2.0


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document, its content hash, the units and tokens of its parts, and how its text is read."""

    document: Document
    content_hash: str
    parts: tuple[UnitTokens, ...]
    form: TextForm = NEWEST

    @property
    def longest_unit(self) -> int:
        """The number of tokens of the longest unit."""
        return max((int((part.last - part.first).max(initial=0)) for part in self.parts), default=0)

    @property
    def part_units(self) -> list[PartUnits]:
        """The units of every part, for the segment writer."""
        return [PartUnits(part.spans, int(np.count_nonzero(part.unknown))) for part in self.parts]


@dataclass(frozen=True, slots=True)
class EncodedDocuments:
    """Documents, and the vectors of the next units, which belong to these documents or to one that began earlier.

    ``rows`` has the rows of every representation for these units, by name.
    """

    documents: list[SplitDocument]
    vectors: UnitVectors
    rows: Mapping[str, Rows] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Window:
    """The units that are stored from a window, the tokens read in it, its part's text and where that starts."""

    units: UnitTokens
    text: str
    part_start: int
    form: TextForm

    def __len__(self) -> int:
        return len(self.units)


@dataclass(slots=True)
class _Pool:
    """Documents and windows to be encoded together."""

    documents: list[SplitDocument] = field(default_factory=list)
    windows: list[_Window] = field(default_factory=list)
    tokens: int = 0
    begun: float = 0.0


@dataclass(slots=True)
class _Pace:
    """The tokens of the next pool: as many as the encoder reads in ``_POOL_S`` seconds, between two limits."""

    least: int
    most: int
    clock: Callable[[], float]
    tokens: int

    def encoded(self, tokens: int, seconds: float) -> None:
        self.tokens = round(min(max(tokens * _POOL_S / max(seconds, 1e-9), self.least), self.most))

    def is_full(self, pool: _Pool) -> bool:
        return pool.tokens >= self.tokens or self.clock() - pool.begun >= _POOL_S


def split(
    encoder: Encoder, documents: Sequence[tuple[Document, str]], form: TextForm = NEWEST
) -> Iterator[SplitDocument]:
    """Units and tokens of documents, each given with its content hash; their parts are tokenized together."""
    parts = iter(tokenize_units(encoder, [part.text for document, _ in documents for part in document.parts], form))
    for document, content_hash in documents:
        yield SplitDocument(document, content_hash, tuple(next(parts) for _ in document.parts), form)


def encode(
    encoder: Encoder,
    documents: Iterable[SplitDocument],
    batch_tokens: int,
    forward: ForwardPass | None = None,
    *,
    batches: int = _BATCHES_A_POOL,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[EncodedDocuments]:
    """Encode documents: yield unit vectors in order, and rows of representations. Each window takes one forward pass.

    Without ``forward``, the encoder's own pass is used, which yields only unit vectors. One result has about as many
    documents as take two seconds, and at most about ``batches`` batches, or a gigabyte of vectors.
    """
    forward = forward or UnitPass(encoder)
    # A pool is closed at twice the tokens of its pace, at the latest.
    most = min(batches * batch_tokens, _POOL_BYTES // (2 * 4 * encoder.dim))
    least = min(batch_tokens, most)
    pace = _Pace(least, most, clock, min(_FIRST_BATCHES, batches) * least)
    for waiting in _pools(encoder, documents, pace):
        begun = clock()
        encoded = _encode_pool(encoder, waiting, batch_tokens, forward)
        pace.encoded(waiting.tokens, clock() - begun)
        yield encoded


def _pools(encoder: Encoder, documents: Iterable[SplitDocument], pace: _Pace) -> Iterator[_Pool]:
    """Pools of about the tokens of a pace; they end with a document unless it is very long."""
    waiting = _Pool()
    for document in documents:
        waiting.begun = waiting.begun or pace.clock()
        waiting.documents.append(document)
        for window in _windows(document, encoder.window):
            waiting.windows.append(window)
            waiting.tokens += len(window.units.tokens)
            if waiting.tokens >= 2 * pace.tokens:
                yield waiting
                waiting = _Pool(begun=pace.clock())
        # Documents without units count, too, so that a pool cannot hold millions of them.
        waiting.tokens += 1
        if pace.is_full(waiting):
            yield waiting
            waiting = _Pool()
    yield waiting


def _windows(document: SplitDocument, limit: int) -> Iterator[_Window]:
    """The windows of a document: units that are stored, and tokens that are read."""
    start = 0
    for part, units in zip(document.document.parts, document.parts, strict=True):
        for window in plan(units, limit):
            read = slice(int(units.first[window.seen.start]), int(units.last[window.seen.end - 1]))
            yield _Window(
                units.cut(slice(window.stored.start, window.stored.end), read), part.text, start, document.form
            )
        start += len(part.text) + 1


def _encode_pool(encoder: Encoder, waiting: _Pool, batch_tokens: int, forward: ForwardPass) -> EncodedDocuments:
    windows = waiting.windows
    lengths = [len(window.units.tokens) for window in windows]
    batches = list(length_batches(lengths, batch_tokens))
    token_ids = ([windows[number].units.tokens.ids for number in batch] for batch in checked(batches))
    bounds = list(accumulate(map(len, windows), initial=0))
    vectors = np.empty((bounds[-1], encoder.dim), np.float32)
    rows: dict[str, dict[int, Rows]] = {name: {} for name in forward.details}
    for batch, outputs in zip(batches, forward.forward(token_ids), strict=True):
        joined = end_to_end([windows[number].units for number in batch])
        units = np.concatenate([np.arange(bounds[number], bounds[number + 1]) for number in batch])
        tokens = np.concatenate([output.vectors for output in outputs])
        vectors[units] = pool(tokens, *unit_shares(joined, 0, len(joined)))
        for number, output in zip(batch, outputs, strict=True):
            for name, of_name in _rows(windows[number], bounds[number], output, forward).items():
                rows[name][number] = of_name
    return EncodedDocuments(waiting.documents, vectors, {name: _joined(name, rows[name], forward) for name in rows})


def _rows(window: _Window, first_unit: int, output: WindowOutputs, forward: ForwardPass) -> dict[str, Rows]:
    """The rows of every representation for a window; none if no unit is stored from it."""
    if not len(window):
        return {}
    encoded = {
        name: EncodedWindow(
            window.units,
            window.text,
            window.part_start,
            first_unit,
            output.vectors,
            output.others.get(name),
            window.form,
        )
        for name in forward.details
    }
    return {name: representation(name).rows(of_name) for name, of_name in encoded.items()}


def _joined(name: str, rows: Mapping[int, Rows], forward: ForwardPass) -> Rows:
    """The rows of all windows, in the order of their windows."""
    return representation(name).join([rows[number] for number in sorted(rows)], forward.details[name])
