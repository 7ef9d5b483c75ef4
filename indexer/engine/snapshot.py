"""An opened, unchanging view of one generation of a collection."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from indexer.engine.executor import Executor, Mapped, Rows, SegmentQuery, Total
from indexer.engine.place import Place, ScoredSpan, StoredTexts, Texts, TextsOf
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRow
from indexer.engine.views import SegmentView, Views
from indexer.errors import SegmentCorrupt, TextNotStored
from indexer.segments.manifest import SegmentKey
from indexer.segments.opened import is_quarantined, is_readable
from indexer.segments.reader import Segment
from indexer.segments.storage import Segments
from indexer.types import Generation, Recipe
from models.errors import SpanseekError
from models.types import UnitSpan


@dataclass(frozen=True, slots=True)
class DamagedSegment:
    """A segment that a snapshot leaves out: in quarantine, or out of its executor's reach."""

    key: SegmentKey
    error: SpanseekError


class Snapshot(Views):
    """All live segments of one generation, opened. A search uses one snapshot from start to end.

    ``damaged`` are the segments that it lacks. ``executor`` alone loops over ``views``. ``reach`` is the executor's as
    of when it was asked which segments it can read. ``texts`` restores those that are not stored.
    """

    def __init__(
        self,
        generation: Generation,
        views: Iterable[SegmentView],
        damaged: Iterable[DamagedSegment] = (),
        executor: Executor | None = None,
        reach: int | None = None,
        texts: TextsOf | None = None,
    ) -> None:
        self.generation = generation
        self.views = tuple(views)
        self.damaged = tuple(damaged)
        self._executor = executor or Executor()
        self._reach = self._executor.reach if reach is None else reach
        self._texts_of = texts
        self._views = {view.name: view for view in self.views}
        self._segments = {name: view.segment for name, view in self._views.items()}

    @property
    def recipe(self) -> Recipe:
        """The recipe of all of its segments."""
        return self.generation.recipe

    @property
    def stores_text(self) -> bool:
        """True if its segments store the texts of its documents."""
        return self.recipe.stores_text

    @cached_property
    def texts(self) -> Texts:
        """The texts of its documents: stored, or restored from vectors where the collection does not store them."""
        return StoredTexts() if self.stores_text or self._texts_of is None else self._texts_of(self.recipe)

    def require_texts(self, reason: str, hint: str, field: str | None = None) -> None:
        """Raise ``TextNotStored``, for this reason, unless its segments store the texts."""
        if not self.stores_text:
            raise TextNotStored(reason, hint=hint, field=field)

    @property
    def collection(self) -> str:
        """The collection's own name, if it has one."""
        return self.generation.collection

    @property
    def units(self) -> int:
        """The number of units of its segments, deleted documents included."""
        return sum(segment.manifest.units for segment in self._segments.values())

    def map(self, query: SegmentQuery[Total, Rows], selection: Selection = Selection()) -> Mapped[Total, Rows]:
        """The results of a query in all segments."""
        return self._executor.map(self, query, selection)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its segments, in order."""
        return tuple(self._segments)

    def read_by(self, executor: Executor) -> "Snapshot":
        """The same segments, read by another executor."""
        return Snapshot(self.generation, self.views, self.damaged, executor, texts=self._texts_of)

    def without_caches(self) -> "Snapshot":
        """The same segments, read by the same executor, in views that have computed nothing yet."""
        views = (SegmentView(view.segment, view.tombstones) for view in self.views)
        return Snapshot(self.generation, views, self.damaged, self._executor, texts=self._texts_of)

    def segment(self, name: str) -> Segment:
        """The segment of this name."""
        return self._segments[name]

    def view(self, name: str) -> SegmentView:
        """The segment of this name, less its tombstones."""
        return self._views[name]

    def document_id(self, row: SpanRow) -> str:
        """The id of the document of a span."""
        segment = self._segments[row.segment]
        return segment.document_id(int(segment.part_document[segment.part_of(row.start)]))

    def scored(self, row: SpanRow, *, exact: bool = False) -> ScoredSpan:
        """A span at its place."""
        place = Place.at(self._segments[row.segment], UnitSpan(row.start, row.end))
        return ScoredSpan(row.cosine, place, exact)

    @property
    def is_out_of_reach(self) -> bool:
        """True if its executor has lost or found segments since it was opened."""
        return self._reach != self._executor.reach

    def is_outdated(self) -> bool:
        """True if one of its segments is damaged, or one that it lacks may be whole again, since it was opened."""
        quarantined = (each.key for each in self.damaged if isinstance(each.error, SegmentCorrupt))
        return (
            self.is_out_of_reach
            or not all(map(is_readable, self._segments.values()))
            or not all(map(is_quarantined, quarantined))
        )

    def has_quarantined(self) -> bool:
        """True if damage of one of its segments has become known; their files may have been removed since."""
        return any(is_quarantined(segment.key) for segment in self._segments.values())

    @property
    def damages(self) -> tuple[str, ...] | None:
        """The damage of the segments that it lacks; None if it has all."""
        return tuple(str(segment.error) for segment in self.damaged) or None

    def require_complete(self) -> None:
        """Raise ``SegmentCorrupt``, or ``SegmentsUnreachable``, if a segment is missing."""
        for segment in self.damaged:
            raise segment.error


def open_snapshot(
    segments: Segments, generation: Generation, executor: Executor | None = None, texts: TextsOf | None = None
) -> Snapshot:
    """Open every segment of a generation; segments opened before are shared.

    Damaged segments, and those out of the executor's reach, are left out. Raises the error of one if nothing else is
    left.
    """
    executor = executor or Executor()
    reach, views = executor.reach, list[SegmentView]()
    damaged: list[DamagedSegment] = []
    id = generation.collection_id
    for live in generation.segments:
        key = SegmentKey(segments.root / id / live.info.name, live.info.manifest_sha256)
        if error := executor.unreachable(key):
            damaged.append(DamagedSegment(key, error))
            continue
        try:
            views.append(SegmentView(segments.open(id, live.info), live.tombstones))
        except SegmentCorrupt as corrupt:
            damaged.append(DamagedSegment(key, corrupt))
    executor.prepare(views)
    snapshot = Snapshot(generation, views, damaged, executor, reach, texts)
    if not views:
        snapshot.require_complete()
    return snapshot
