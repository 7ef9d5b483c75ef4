"""The interface of engines: a selection in, scored spans out."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from indexer.arrays import SpanTerms
from indexer.engine.query import Selection
from indexer.engine.snapshot import Place, Snapshot
from models.types import CharSpan, QueryVectors, UnitSpan


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """A span with its exact cosine. ``place`` gives its text and metadata."""

    document_id: str
    span: CharSpan
    units: UnitSpan
    cosine: float
    place: Place

    @property
    def order(self) -> tuple[float, str, int]:
        """Sorts the best first: by falling cosine (so by falling raw), then document id, then start."""
        return -self.cosine, self.document_id, self.span.start


@runtime_checkable
class Engine(Protocol):
    """Exact search over a snapshot."""

    @property
    def name(self) -> str:
        """The name in settings and benchmarks."""

    def search(
        self, snapshot: Snapshot, queries: QueryVectors, selection: Selection, terms: SpanTerms | None = None
    ) -> list[list[ScoredSpan]]:
        """For every unit-length query its selected spans, best first: by cosine, and its terms if any."""
