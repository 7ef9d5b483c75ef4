"""Makes segments of documents, in composed generators: split | encode | write.

A segment maker publishes no segments and does not use the catalog, so that it can also run in an actor of a cluster.
"""

import shutil
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf
from typing import Final, Protocol, TypeAlias, runtime_checkable

from indexer.indexing.encode import EncodedDocuments, SplitDocument, encode, split
from indexer.indexing.new_segment import segment_folder
from indexer.segments.folders import new_name
from indexer.segments.storage import Segments
from indexer.segments.writer import SegmentWriter
from indexer.types import DocumentRow, Recipe, SegmentInfo
from models.encoders.base import Encoder
from models.encoders.passes import ForwardPass
from models.types import Document

# Documents with their content hashes.
Hashed: TypeAlias = tuple[Document, str]
# Seconds of work after which a segment is whole: what a killed job loses.
PUBLISH_S: Final = 5.0


@dataclass(slots=True)
class Encoded:
    """Counts to add to the report of a job after documents were encoded."""

    documents: int = 0
    parts: int = 0
    units: int = 0
    unknown_units: int = 0
    encoded: int = 0
    rows: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refused:
    """A document cannot be encoded."""

    document_id: str
    content_hash: str
    reason: str
    characters: int


@dataclass(frozen=True, slots=True)
class Made:
    """A finished segment under its final name; ``rows`` are its documents."""

    info: SegmentInfo
    rows: Sequence[DocumentRow]


Step: TypeAlias = Encoded | Refused | Made


@runtime_checkable
class SegmentMaker(Protocol):
    """Makes segments of documents, here or elsewhere."""

    @property
    def under_way(self) -> Collection[str]:
        """The names of segments that are being made, or were and may not be published yet."""
        ...

    def steps(self, batches: Iterable[Sequence[Hashed]]) -> Generator[Step, None, None]:
        """The outcome of documents, in their order; closing it ends all work."""
        ...


class LocalMaker:
    """Makes the segments of one collection in this process.

    A segment is finished after ``publish_s`` seconds or ``segment_units`` units. The time since the end of the previous
    segment counts, too.
    """

    def __init__(
        self,
        segments: Segments,
        collection_id: str,
        recipe: Recipe,
        encoder: Encoder,
        forward: ForwardPass,
        *,
        segment_units: int = sys.maxsize,
        publish_s: float = inf,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._segments, self._collection_id, self._recipe = segments, collection_id, recipe
        self._encoder, self._forward = encoder, forward
        self._segment_units, self._publish_s, self._clock = segment_units, publish_s, clock
        self._refused: list[Refused] = []
        self.under_way: Collection[str] = ()

    def steps(self, batches: Iterable[Sequence[Hashed]], name: str | None = None) -> Generator[Step, None, None]:
        """Yield the outcome of documents. ``name`` is the name of the segment; give it only if one is to be made."""
        begun = self._clock()
        documents = self._split(batches)
        pools = encode(self._encoder, documents, self._encoder.batch_tokens, self._forward, clock=self._clock)
        for first in pools:
            yield from self._segment(chain([first], pools), name or new_name(), begun)
            begun = self._clock()

    def _split(self, batches: Iterable[Sequence[Hashed]]) -> Iterator[SplitDocument]:
        for batch in batches:
            for item in split(self._encoder, batch, self._recipe.text):
                if item.longest_unit <= self._encoder.window:
                    yield item
                else:
                    self._refused.append(_refused(item, self._encoder.window))

    def _segment(self, pools: Iterator[EncodedDocuments], name: str, begun: float) -> Iterator[Step]:
        """Encode and write one segment; none if it has no documents."""
        self.under_way = (name,)
        with segment_folder(self._segments, self._collection_id, name) as folder:
            with SegmentWriter(folder, self._recipe) as writer:
                for pool in pools:
                    yield _append(writer, pool)
                    yield from self._told()
                    is_due = writer.units >= self._segment_units or self._clock() - begun >= self._publish_s
                    if writer.is_whole and is_due:
                        break
                info = writer.finish() if writer.rows else None
            if info is None:
                shutil.rmtree(folder)
                return
            info = replace(info, name=self._segments.settle(folder))
        yield Made(info, writer.rows)

    def _told(self) -> Iterator[Refused]:
        refused, self._refused = self._refused, []
        return iter(refused)


def _refused(item: SplitDocument, window: int) -> Refused:
    reason = f"one unit has {item.longest_unit} tokens; the encoder reads {window} at once"
    return Refused(item.document.id, item.content_hash, reason, len(item.document.text))


def _append(writer: SegmentWriter, pool: EncodedDocuments) -> Encoded:
    done = Encoded(documents=len(pool.documents), units=len(pool.vectors))
    for item in pool.documents:
        parts = item.part_units
        writer.add_document(item.document, item.content_hash, parts)
        done.parts += len(parts)
        done.encoded += len(item.document.text)
        done.unknown_units += sum(part.unknown for part in parts)
    writer.add_vectors(pool.vectors, pool.rows)
    done.rows = {name: len(rows) for name, rows in pool.rows.items()}
    return done
