"""Reading a snapshot: a query of one segment, and the executor that asks every segment and merges.

A query has rounds of statistics, such as the words of all segments together, and then rows. A round gets the total of
the round before. Nothing that crosses segments refers to memory or to open files, so a segment may lie in another
process.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from indexer.engine.query import Selection

if TYPE_CHECKING:
    from indexer.engine.snapshot import SegmentView, Snapshot

Total = TypeVar("Total")
Rows = TypeVar("Rows")
Item = TypeVar("Item")

# The group of entry points that name executors.
EXECUTORS: Final = "spanseek.executors"

_EVERYTHING: Final = Selection()


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """The operator's options: a device of torch's, and the memory for materialised spans."""

    device: str = "auto"
    materialized_bytes: int = 4 * 2**30


class SegmentQuery(Generic[Total, Rows]):
    """A query of one segment. Picklable; one may answer a batch of requests that share a pass over memory.

    ``rounds`` is the number of rounds of statistics before the rows; most queries have none, and no total.
    """

    @property
    def rounds(self) -> int:
        """The number of rounds of statistics."""
        return 0

    def statistics(self, view: "SegmentView", total: Total | None, selection: Selection) -> Total:
        """The statistics of a segment, given the total of the round before; None in the first."""
        raise NotImplementedError

    def total(self, parts: Sequence[Total], selection: Selection) -> Total:
        """The statistics of all segments together: what the next round, or the rows, need of them."""
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
class Mapped(Generic[Total, Rows]):
    """The total of the last round, None without one, and the rows of every segment in the snapshot's order."""

    total: Total | None
    parts: list[Rows]

    def total_of(self, request: int) -> Any:  # noqa: ANN401  # each query has its own
        """The total of one request of a batch: a list has an item for each, others have nothing."""
        return self.total[request] if isinstance(self.total, list) else None

    def of(self, snapshot: "Snapshot") -> "Iterator[tuple[SegmentView, Rows]]":
        """The rows with their segments, to read from those what is shown."""
        return zip(snapshot.views, self.parts, strict=True)


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
        self, snapshot: "Snapshot", query: SegmentQuery[Total, Rows], selection: Selection = _EVERYTHING
    ) -> Mapped[Total, Rows]:
        """All rounds of statistics, and the rows. A query is mapped once: it may keep what a round computed."""
        planned: SegmentQuery[Total, Rows] = self.plan(snapshot, query, selection)
        total: Total | None = None
        for _ in range(planned.rounds):
            parts = self.each(snapshot, partial(planned.statistics, total=total, selection=selection))
            total = planned.total(parts, selection)
        return Mapped(total, self.each(snapshot, partial(planned.rows, total=total, selection=selection)))

    def plan(self, snapshot: "Snapshot", query: AnyQuery, selection: Selection) -> AnyQuery:
        """The query that stands for another here: with rows of the same kind, which hold the same or nearly."""
        return query

    def each(self, snapshot: "Snapshot", read: "Callable[[SegmentView], Item]") -> list[Item]:
        """The results of all segments, in their order."""
        return [read(view) for view in snapshot.views]

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
    """The executor of this name; its module is loaded now.

    >>> make_executor("local", ExecutorOptions()).health() is None
    True
    """
    (entry_point,) = entry_points(group=EXECUTORS, name=name)
    executor: Executor = entry_point.load()(options)
    return executor
