"""The interface of engines: a selection in, scored spans out."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from indexer.arrays import SpanTerms
from indexer.engine.query import Selection
from indexer.engine.snapshot import Place, Snapshot
from models.types import CharSpan, QueryVectors, UnitSpan


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """A span with its exact cosine. ``place`` gives its text and metadata.

    What it says of the document is looked up when it is read: most candidates are never shown.
    """

    cosine: float
    place: Place

    @property
    def document_id(self) -> str:
        """The document's id."""
        return self.place.document_id

    @property
    def span(self) -> CharSpan:
        """Its characters in the document."""
        return self.place.span

    @property
    def units(self) -> UnitSpan:
        """Its units in the document."""
        return self.place.units

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
