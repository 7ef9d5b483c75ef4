"""The metadata of a collection: every key, its values, and how many documents have each."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import Literal

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from indexer.engine.executor import SegmentQuery
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.segments.columns import element_keys, one_spelling
from indexer.segments.kinds import Kind
from indexer.segments.layout import METADATA_PREFIX
from models.types import JsonValue

Level = Literal["document", "part"]
_Field = tuple[Level, str]


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value, and how many documents have it, or a list that holds it."""

    value: JsonValue
    documents: int


@dataclass(frozen=True, slots=True)
class FieldCounts:
    """A key of the metadata of documents or of parts: how many values it has, and the most frequent of them.

    ``types`` are the kinds of its values, and of the elements of lists; strings that read as dates are also dates.
    """

    level: Level
    name: str
    distinct: int
    values: tuple[ValueCount, ...]
    types: tuple[Kind, ...]


def metadata_counts(snapshot: Snapshot, filter: Filter, limit: int) -> tuple[FieldCounts, ...]:
    """The keys in order, of documents first, each with its ``limit`` most frequent values.

    The count of a value is the number of documents that pass the filter with this value in place of its own for the
    key.
    Of values of parts, a document counts once, however many of its parts have the value.
    """
    parts = snapshot.map(_ValueCounts(), Selection(filter=filter)).parts
    counts: defaultdict[_Field, Counter[str]] = defaultdict(Counter)
    kinds: defaultdict[_Field, set[Kind]] = defaultdict(set)
    for part in parts:
        for field, (values, of_values) in part.items():
            counts[field].update(values)
            kinds[field].update(of_values)
    return tuple(
        _most_frequent(*field, values, sorted(kinds[field]), limit)
        for field, values in sorted(counts.items())
        if values
    )


@dataclass(frozen=True, slots=True)
class _ValueCounts(SegmentQuery[None, dict[_Field, tuple[Counter[str], frozenset[Kind]]]]):
    """The documents of every value of every key, by the value's spelling, and the kinds of the key's values."""

    def rows(
        self, view: SegmentView, total: None, selection: Selection
    ) -> dict[_Field, tuple[Counter[str], frozenset[Kind]]]:
        return {
            (level, name): (
                Counter(dict(_of_view(view, _rest(selection.filter, level, name), level, name))),
                view.segment.metadata(level).kinds((name,), view.in_reach(selection.filter, level)),
            )
            for level, name in _fields(view)
        }


def _fields(view: SegmentView) -> Iterator[tuple[Level, str]]:
    tables: tuple[tuple[Level, pa.Table], ...] = (
        ("document", view.segment.document_table),
        ("part", view.segment.part_table),
    )
    for level, table in tables:
        for column in table.column_names:
            if column.startswith(METADATA_PREFIX):
                yield level, column.removeprefix(METADATA_PREFIX)


def _rest(filter: Filter, level: Level, name: str) -> Filter:
    """A filter without its condition for one key; its expression stays."""
    document, part = (
        _without(filter.document, level == "document", name),
        _without(filter.part, level == "part", name),
    )
    return replace(filter, document=document, part=part)


def _without(conditions: Mapping[str, JsonValue], is_level: bool, name: str) -> dict[str, JsonValue]:
    return {key: value for key, value in conditions.items() if not (is_level and key == name)}


def _of_view(view: SegmentView, filter: Filter, level: Level, name: str) -> Iterator[tuple[str, int]]:
    segment = view.segment
    table = segment.document_table if level == "document" else segment.part_table
    if METADATA_PREFIX + name not in table.column_names:
        return
    values = _values(table.column(METADATA_PREFIX + name).combine_chunks())
    count = len(values.spellings)
    if level == "document":
        _, numbers = values.of(np.flatnonzero(view.passing_documents(filter)))
    else:
        rows = np.flatnonzero(view.passing_parts(filter))
        owners, numbers = values.of(rows)
        pairs = np.unique(segment.part_document[rows][owners].astype(np.int64) * count + numbers)
        numbers = pairs % count
    documents = np.bincount(numbers, minlength=count)
    for number in np.flatnonzero(documents).tolist():
        yield values.spellings[number], int(documents[number])


@dataclass(frozen=True, slots=True)
class _Values:
    """The different values of a column, lists by their elements.

    ``codes`` has the stored value of every row, ``sizes`` how many values each stored one stands for, and ``members``
    their numbers, one stored value after the other.
    """

    spellings: list[str]
    codes: Int[np.ndarray, " rows"]
    sizes: Int[np.ndarray, " stored"]
    members: Int[np.ndarray, " members"]

    def of(self, rows: Int[np.ndarray, " chosen"]) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
        """Pairs of a position in ``rows`` and the number of a value that this row has."""
        codes = self.codes[rows]
        sizes = self.sizes[codes]
        starts = (np.cumsum(self.sizes) - self.sizes)[codes]
        owners = np.repeat(np.arange(len(rows)), sizes)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return owners, self.members[np.repeat(starts, sizes) + within]


def _values(column: pa.DictionaryArray) -> _Values:
    numbers: dict[str, int] = {}
    stored = [_keys(spelling) for spelling in column.dictionary.to_pylist()]
    members = [numbers.setdefault(key, len(numbers)) for keys in stored for key in keys]
    sizes = [*(len(keys) for keys in stored), 0]  # the last one: rows without a value
    codes = column.indices.fill_null(len(stored)).to_numpy(zero_copy_only=False)
    return _Values(list(numbers), codes, np.array(sizes, np.int64), np.array(members, np.int64))


def _keys(spelling: str) -> list[str]:
    return element_keys(spelling) if spelling.startswith("[") else [one_spelling(spelling)]


def _most_frequent(level: Level, name: str, counts: Counter[str], types: Sequence[Kind], limit: int) -> FieldCounts:
    first = nsmallest(limit, counts.items(), key=lambda item: (-item[1], item[0]))
    values = tuple(ValueCount(json.loads(spelling), documents) for spelling, documents in first)
    return FieldCounts(level, name, len(counts), values, tuple(types))
