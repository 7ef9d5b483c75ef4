"""Documents to unit vectors: split, plan windows, one forward pass each, vectors back in order.

Windows are gathered in pools, so that those of a batch are of one length, and leave a pool in the order in which they
came. Memory is that of a pool and of one document's tokens.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from indexer.segments.writer import PartUnits
from indexer.windows import plan
from models.encoders.base import Encoder, tokenize_units
from models.ops.pooling import pool
from models.tokens import UnitTokens, end_to_end, unit_shares
from models.types import Document, UnitVectors

# Batches a pool holds: enough for windows of one length to find each other, few enough to fit beside the model.
_BATCHES_A_POOL = 8


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document, what identifies its content, and the units and tokens of its parts."""

    document: Document
    content_hash: str
    parts: tuple[UnitTokens, ...]

    @property
    def longest_unit(self) -> int:
        """Tokens of the unit that has most of them."""
        return max((int((part.last - part.first).max(initial=0)) for part in self.parts), default=0)

    @property
    def part_units(self) -> list[PartUnits]:
        """The units of every part, as the segment writer takes them."""
        return [PartUnits(part.spans, int(np.count_nonzero(part.unknown))) for part in self.parts]


@dataclass(frozen=True, slots=True)
class EncodedDocuments:
    """Documents, and the vectors of the units that come next: those of these documents, or of one begun before."""

    documents: list[SplitDocument]
    vectors: UnitVectors


@dataclass(slots=True)
class _Pool:
    """Documents and windows that wait to be encoded together."""

    documents: list[SplitDocument] = field(default_factory=list)
    windows: list[UnitTokens] = field(default_factory=list)
    tokens: int = 0


def split(encoder: Encoder, documents: Sequence[tuple[Document, str]]) -> Iterator[SplitDocument]:
    """Units and tokens of documents, each given with its content hash; their parts are tokenized together."""
    parts = iter(tokenize_units(encoder, [part.text for document, _ in documents for part in document.parts]))
    for document, content_hash in documents:
        yield SplitDocument(document, content_hash, tuple(next(parts) for _ in document.parts))


def encode(encoder: Encoder, documents: Iterable[SplitDocument], batch_tokens: int) -> Iterator[EncodedDocuments]:
    """Unit vectors of documents, in order; one forward pass a window."""
    for waiting in _pools(encoder, documents, _BATCHES_A_POOL * batch_tokens):
        yield EncodedDocuments(waiting.documents, _unit_vectors(encoder, waiting.windows, batch_tokens))


def _pools(encoder: Encoder, documents: Iterable[SplitDocument], budget: int) -> Iterator[_Pool]:
    """Pools of about ``budget`` tokens; they end with a document unless it is very long."""
    waiting = _Pool()
    for document in documents:
        waiting.documents.append(document)
        for part in document.parts:
            for window in _windows(part, encoder.window):
                waiting.windows.append(window)
                waiting.tokens += len(window.tokens)
                if waiting.tokens >= 2 * budget:
                    yield waiting
                    waiting = _Pool()
        # A document without units weighs something too, or millions of them would wait together.
        waiting.tokens += 1
        if waiting.tokens >= budget:
            yield waiting
            waiting = _Pool()
    yield waiting


def _windows(part: UnitTokens, limit: int) -> Iterator[UnitTokens]:
    """For every window of a part the units that are stored from it, and the tokens that are read in it."""
    for window in plan(part, limit):
        read = slice(int(part.first[window.seen.start]), int(part.last[window.seen.end - 1]))
        yield part.cut(slice(window.kept.start, window.kept.end), read)


def _unit_vectors(encoder: Encoder, windows: Sequence[UnitTokens], batch_tokens: int) -> UnitVectors:
    lengths = [len(window.tokens) for window in windows]
    batches = list(batches_of(sorted(range(len(windows)), key=lengths.__getitem__), lengths, batch_tokens))
    outputs = encoder.forward([windows[number].tokens.ids for number in batch] for batch in batches)
    bounds = list(accumulate(map(len, windows), initial=0))
    vectors = np.empty((bounds[-1], encoder.dim), np.float32)
    for batch, tokens in zip(batches, outputs, strict=True):
        joined = end_to_end([windows[number] for number in batch])
        rows = np.concatenate([np.arange(bounds[number], bounds[number + 1]) for number in batch])
        vectors[rows] = pool(np.concatenate(tokens), *unit_shares(joined, 0, len(joined)))
    return vectors


def batches_of(order: Iterable[int], lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Cut windows, sorted by rising length, into batches of at most ``batch_tokens`` tokens with padding.

    >>> list(batches_of([2, 0, 1], [3, 4, 2], 6))
    [[2, 0], [1]]
    """
    batch: list[int] = []
    for number in order:
        if batch and (len(batch) + 1) * lengths[number] > batch_tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
