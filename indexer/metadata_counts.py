"""The metadata of a collection: every key, its values, and how many documents have each."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Literal

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int

from indexer.document_rows import passing
from indexer.engine.query import Filter
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.segments.columns import one_spelling, rows_equal
from indexer.segments.layout import METADATA_PREFIX
from models.types import JsonValue

Level = Literal["document", "part"]


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value, and how many documents have it."""

    value: JsonValue
    documents: int


@dataclass(frozen=True, slots=True)
class FieldCounts:
    """A key of the metadata of documents or of parts: how many values it has, and the most frequent of them."""

    level: Level
    name: str
    distinct: int
    values: tuple[ValueCount, ...]


def metadata_counts(snapshot: Snapshot, filter: Filter, limit: int) -> tuple[FieldCounts, ...]:
    """The keys in order, those of documents first, each with its ``limit`` most frequent values.

    The count of a value is the number of documents that pass the filter with this value in place of its own for the
    key.
    Of values of parts, a document counts once, however many of its parts have the value.
    """
    fields = sorted({field for view in snapshot.views for field in _fields(view)})
    counts = ((level, name, _of_field(snapshot, filter, level, name)) for level, name in fields)
    return tuple(_most_frequent(level, name, values, limit) for level, name, values in counts if values)


def _fields(view: SegmentView) -> Iterator[tuple[Level, str]]:
    tables: tuple[tuple[Level, pa.Table], ...] = (
        ("document", view.segment.document_table),
        ("part", view.segment.part_table),
    )
    for level, table in tables:
        for column in table.column_names:
            if column.startswith(METADATA_PREFIX):
                yield level, column.removeprefix(METADATA_PREFIX)


def _of_field(snapshot: Snapshot, filter: Filter, level: Level, name: str) -> Counter[str]:
    """The documents of every value of one key, by the value's spelling."""
    rest = Filter(_without(filter.document, level == "document", name), _without(filter.part, level == "part", name))
    counts: Counter[str] = Counter()
    for view in snapshot.views:
        for spelling, documents in _of_view(view, rest, level, name):
            counts[spelling] += documents
    return counts


def _without(conditions: Mapping[str, JsonValue], is_level: bool, name: str) -> dict[str, JsonValue]:
    return {key: value for key, value in conditions.items() if not (is_level and key == name)}


def _of_view(view: SegmentView, filter: Filter, level: Level, name: str) -> Iterator[tuple[str, int]]:
    segment = view.segment
    table = segment.document_table if level == "document" else segment.part_table
    if METADATA_PREFIX + name not in table.column_names:
        return
    spellings, codes = _coded(table.column(METADATA_PREFIX + name).combine_chunks())
    if level == "document":
        rows = passing(view, filter) & (codes >= 0)
        documents = np.bincount(codes[rows], minlength=len(spellings))
    else:
        documents = _documents_of_parts(view, filter, codes, len(spellings))
    for code in np.flatnonzero(documents).tolist():
        yield spellings[code], int(documents[code])


def _coded(column: pa.DictionaryArray) -> tuple[list[str], Int[np.ndarray, " rows"]]:
    """The different values of a column, and the number of each row's; -1 without a value."""
    numbers: dict[str, int] = {}
    own = [numbers.setdefault(one_spelling(spelling), len(numbers)) for spelling in column.dictionary.to_pylist()]
    codes = column.indices.fill_null(len(own)).to_numpy(zero_copy_only=False)
    return list(numbers), np.array([*own, -1])[codes]


def _documents_of_parts(
    view: SegmentView, filter: Filter, codes: Int[np.ndarray, " parts"], values: int
) -> Int[np.ndarray, " values"]:
    """The documents with a part that passes the filter and has each value."""
    segment = view.segment
    documents: Bool[np.ndarray, " documents"] = passing(view, Filter(filter.document))
    rows = documents[segment.part_document] & rows_equal(segment.part_table, filter.part.items()) & (codes >= 0)
    pairs = np.unique(segment.part_document[rows].astype(np.int64) * values + codes[rows])
    return np.bincount(pairs % values, minlength=values)


def _most_frequent(level: Level, name: str, counts: Counter[str], limit: int) -> FieldCounts:
    first = nsmallest(limit, counts.items(), key=lambda item: (-item[1], item[0]))
    values = tuple(ValueCount(json.loads(spelling), documents) for spelling, documents in first)
    return FieldCounts(level, name, len(counts), values)
