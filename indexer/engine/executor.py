"""Reading a snapshot: a query of one segment, and the executor that asks every segment and merges.

A query has rounds of statistics, such as the words of all segments together, and then rows. A round gets the total of
the round before. Nothing that crosses segments refers to memory or to open files, so a segment may lie in another
process.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from indexer.engine.member import Member
from indexer.engine.query import Selection
from indexer.engine.views import SegmentView, Views
from models.entry_points import entry_points_of
from models.errors import ExtraMissing, SpanseekError

if TYPE_CHECKING:
    from indexer.segments.manifest import SegmentKey
    from indexer.segments.options import SegmentsOptions

Total = TypeVar("Total")
Rows = TypeVar("Rows")
Item = TypeVar("Item")

# The group of entry points that name executors.
EXECUTORS: Final = "spanseek.executors"

_EVERYTHING: Final = Selection()
_numbers: Final = count()


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """The operator's options: a device of torch's, where segments lie, and the settings of plug-ins by their class."""

    device: str = "auto"
    segments: "SegmentsOptions | None" = None
    settings: Callable[[type[Any]], Any] = lambda kind: kind()


class SegmentQuery(Generic[Total, Rows]):
    """A query of one segment. Picklable; one may answer a batch of requests that share a pass over memory.

    ``rounds`` is the number of rounds of statistics before the rows; most queries have none, and no total.
    """

    @property
    def rounds(self) -> int:
        """The number of rounds of statistics."""
        return 0

    @property
    def is_divisible(self) -> bool:
        """True if the total of some segments suffices for their rows: there may be more, but the same are selected."""
        return False

    def statistics(self, view: "SegmentView", total: Total | None, selection: Selection) -> Total:
        """The statistics of a segment, given the total of the round before; None in the first."""
        raise NotImplementedError

    def total(self, parts: Sequence[Total], selection: Selection) -> Total:
        """Combine the statistics of all segments into what the next round, or the rows, need of them."""
        raise NotImplementedError

    def rows(self, view: "SegmentView", total: Total | None, selection: Selection) -> Rows:
        """The rows of a segment, given the total of the last round."""
        raise NotImplementedError


# A query of any kind.
AnyQuery: TypeAlias = SegmentQuery[Any, Any]


class Memo(dict[str, Any]):
    """The results of a query's round by the segment's name, for the next in the same process.

    It is left out of pickles: there the next round computes it again.
    """

    def once(self, name: str, compute: Callable[[], Item]) -> Item:
        """The value of a segment, computed if it is not there."""
        if name not in self:
            self[name] = compute()
        value: Item = self[name]
        return value

    def __reduce__(self) -> "tuple[type[Memo], tuple[()]]":
        return Memo, ()


@dataclass(frozen=True, slots=True)
class Step:
    """One round's question to every segment: statistics, or at last the rows. Picklable, as its query is.

    All steps of one query have its ``number``.
    """

    query: AnyQuery
    selection: Selection
    total: Any = None
    is_last: bool = True
    number: int = field(default_factory=_numbers.__next__)

    def __call__(self, view: "SegmentView") -> Any:  # noqa: ANN401  each query has its own
        """The answer of a segment."""
        ask = self.query.rows if self.is_last else self.query.statistics
        return ask(view, self.total, self.selection)


@dataclass(frozen=True, slots=True)
class Mapped(Generic[Total, Rows]):
    """The total of the last round, None without one, and the rows of every segment in the snapshot's order."""

    total: Total | None
    parts: list[Rows]

    def total_of(self, request: int) -> Any:  # noqa: ANN401  # each query has its own
        """The total of one request of a batch: its item if the total is a list, else None."""
        return self.total[request] if isinstance(self.total, list) else None

    def of(self, snapshot: Views) -> Iterator[tuple[SegmentView, Rows]]:
        """Yield the view of every segment with its rows."""
        return zip(snapshot.views, self.parts, strict=True)


def in_rounds(
    each: Callable[[Step], list[Any]], query: SegmentQuery[Total, Rows], selection: Selection
) -> Mapped[Total, Rows]:
    """All rounds of a query, given what asks each segment."""
    number, total = next(_numbers), None
    for _ in range(query.rounds):
        total = query.total(each(Step(query, selection, total, False, number)), selection)
    return Mapped(total, each(Step(query, selection, total, True, number)))


class Executor:
    """Asks every segment of a snapshot in this process, one after the other. Others override how.

    The entry points of the group ``spanseek.executors`` name functions of ``ExecutorOptions`` that make executors.
    """

    name = "local"

    @classmethod
    def create(cls, options: ExecutorOptions) -> "Executor":
        """The executor that an operator's settings describe."""
        return cls()

    def map(
        self, snapshot: Views, query: SegmentQuery[Total, Rows], selection: Selection = _EVERYTHING
    ) -> Mapped[Total, Rows]:
        """All rounds of statistics, and the rows. A query is mapped once: it may keep what a round computed."""
        return self.run(snapshot, self.plan(snapshot, query, selection), selection)

    def run(self, snapshot: Views, planned: SegmentQuery[Total, Rows], selection: Selection) -> Mapped[Total, Rows]:
        """The rounds of a planned query."""
        return in_rounds(partial(self.each, snapshot), planned, selection)

    def plan(self, snapshot: Views, query: AnyQuery, selection: Selection) -> AnyQuery:
        """The query to run instead of another one: its rows have the same type, and are the same or nearly so."""
        return query

    def each(self, snapshot: Views, read: Callable[[SegmentView], Item]) -> list[Item]:
        """The results of all segments, in their order."""
        return [read(view) for view in snapshot.views]

    def prepare(self, views: "Iterable[SegmentView]") -> None:
        """Get ready to be asked for views of a snapshot that is about to be opened."""

    @property
    def reads_here(self) -> bool:
        """True if segments are read in this process."""
        return True

    @property
    def reach(self) -> int:
        """A number that grows when segments can no longer be asked, or can be asked again."""
        return 0

    def unreachable(self, key: "SegmentKey") -> SpanseekError | None:
        """The reason why a segment cannot be asked now, while others can; snapshots leave it out. None if it can."""
        return None

    @property
    def unreachable_segments(self) -> int:
        """The number of segments that cannot be asked now."""
        return 0

    def members(self) -> Sequence[Member]:
        """The processes that read for this executor, apart from its own."""
        return ()

    @property
    def held_segments(self) -> int:
        """The number of segments that it keeps copies or indexes of, in memory of its own."""
        return 0

    def health(self) -> str | None:
        """The reason why segments cannot be asked, in a sentence; None if they can. Takes a second at most."""
        return None

    def close(self) -> None:
        """Release what the executor holds."""


def make_executor(name: str, options: ExecutorOptions) -> Executor:
    """The executor of this name; its module is loaded now. Raises ``ExtraMissing`` for one that is not installed.

    >>> make_executor("local", ExecutorOptions()).health() is None
    True
    """
    points = entry_points_of(EXECUTORS)
    if name not in points:
        raise ExtraMissing(f"The engine {name} needs", name)
    executor: Executor = points[name].load()(options)
    return executor
