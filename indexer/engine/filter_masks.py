"""Masks of the documents and parts of a segment that pass a filter: the one place that evaluates filters.

A comparison is evaluated on the different values of its field, and looked up for every row. It is false of a row
without the key; ``not`` of it is true there.
"""

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final, cast

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int

from indexer.engine.query import Filter
from indexer.filters.expression import And, Comparison, Expression, Not, Or
from indexer.segments.columns import metadata_columns, rows_holding, value_key
from indexer.segments.kinds import Level, double, is_number
from indexer.segments.moments import moment_of
from indexer.segments.reader import Segment
from indexer.segments.values import DocumentIds, MetadataValues, Values
from models.types import JsonValue, Metadata

_ARRAYS: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_STRINGS: Final = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}


class _Unstored:
    """The metadata of documents that are in no segment, without their parts."""

    def __init__(self, documents: MetadataValues, ids: DocumentIds) -> None:
        self._documents, self._ids = documents, ids
        self.part_document: Int[np.ndarray, " parts"] = np.zeros(0, np.int64)

    def metadata(self, level: Level) -> MetadataValues | DocumentIds:
        """The metadata of the documents, whatever is asked of parts, or their ids."""
        return self._ids if level == "id" else self._documents


def documents_passing(segment: Segment, filter: Filter) -> Bool[np.ndarray, " documents"]:
    """A mask of the documents that pass; conditions on parts must be met by at least one part."""
    return segment.recent_masks.get(("documents", filter.key), lambda: _documents(segment, filter))


def parts_passing(segment: Segment, filter: Filter) -> Bool[np.ndarray, " parts"]:
    """A mask of the parts that pass, of documents that do."""
    return segment.recent_masks.get(("parts", filter.key), lambda: _parts(segment, filter))


def _documents(segment: Segment, filter: Filter) -> Bool[np.ndarray, " documents"]:
    if not filter.asks_parts:
        mask = rows_holding(segment.document_table, filter.document.items())
        return mask & _expressions(segment, filter, "document")
    passing = np.zeros(segment.manifest.documents, bool)
    passing[segment.part_document[parts_passing(segment, filter)]] = True
    return passing


def _parts(segment: Segment, filter: Filter) -> Bool[np.ndarray, " parts"]:
    documents = rows_holding(segment.document_table, filter.document.items())
    mask = documents[segment.part_document] & rows_holding(segment.part_table, filter.part.items())
    return mask & _expressions(segment, filter, "part")


def _expressions(segment: Segment, filter: Filter, of: Level) -> Bool[np.ndarray, " rows"] | bool:
    """A mask of the documents, or parts, that both expressions are true of; True without any."""
    masks = (_mask(segment, each, of) for each in (filter.expression, filter.always) if each is not None)
    return reduce(operator.and_, masks, True)


def _mask(segment: Segment | _Unstored, expression: Expression, of: Level) -> Bool[np.ndarray, " rows"]:
    """A mask of the documents, or parts, that an expression is true of."""
    match expression:
        case And(children):
            return reduce(operator.and_, (_mask(segment, child, of) for child in children))
        case Or(children):
            return reduce(operator.or_, (_mask(segment, child, of) for child in children))
        case Not(child):
            return ~_mask(segment, child, of)
        case Comparison(field):
            metadata = segment.metadata(field.level)
            rows = metadata.rows(field.path, holding(metadata.at(field.path), expression))
            return rows[segment.part_document] if of == "part" and field.level != "part" else rows


def documents_holding(
    expression: Expression, ids: Sequence[str], metadata: Sequence[Metadata]
) -> Bool[np.ndarray, " documents"]:
    """A mask of documents that are not stored, by their ids and metadata, that an expression about them is true of."""
    table = pa.table({"id": pa.array(ids, pa.string()), **metadata_columns(metadata)})
    return _mask(_Unstored(MetadataValues(table), DocumentIds(table.column("id"))), expression, "document")


def holding(values: Values, comparison: Comparison) -> Bool[np.ndarray, " stored"]:
    """A mask of the stored values that a comparison is true of; of a list, where it is of one of its elements."""
    wanted = comparison.values
    match comparison.operator:
        case "exists":
            return values.present
        case "is null":
            return values.nulls
        case "=" | "in":
            return values.having(_equal(values, wanted))
        case "!=":
            return values.present & ~values.having(_equal(values, wanted))
        case "contains" | "contains any":
            return values.lists & values.having(_equal(values, wanted))
        case "contains all":
            return reduce(operator.and_, (values.having(_equal(values, [one])) for one in wanted), values.lists)
        case "starts with":
            return values.having(_computed("starts_with", values.strings, wanted[0]))
        case ordering:
            return values.having(_ordered(values, ordering, wanted[0]))


def _equal(values: Values, wanted: Sequence[JsonValue]) -> Bool[np.ndarray, " members"]:
    """A mask of the members that equal one of several values; dates and times that are one moment are equal."""
    strings = [value for value in wanted if isinstance(value, str)]
    others = [value_key(value) for value in wanted if not isinstance(value, str)]
    moments = [moment for moment in map(moment_of, strings) if moment is not None]
    equal = np.zeros(len(values.owners), bool)
    if strings:
        equal |= _computed("is_in", values.strings, pa.array(strings, pa.string()))
    if others:
        equal |= _computed("is_in", values.spellings, pa.array(others, pa.string()))
    if moments:
        equal |= np.isin(values.moments, np.array(moments, "datetime64[us]"))
    return equal


def _ordered(values: Values, ordering: str, bound: JsonValue) -> Bool[np.ndarray, " members"]:
    """A mask of the members of the bound's kind that are in an order with it: moments, else strings, or numbers."""
    if is_number(bound):
        return _ARRAYS[ordering](values.numbers, double(bound))
    moment = moment_of(cast("str", bound))
    if moment is not None and values.are_dated:
        return _ARRAYS[ordering](values.moments, np.datetime64(moment, "us"))
    return _computed(_STRINGS[ordering], values.strings, bound)


def _computed(function: str, members: pa.Array, argument: object) -> Bool[np.ndarray, " members"]:
    """The answer of a function of pyarrow for members; null passes nothing."""
    import pyarrow.compute as pc  # only filters need it, and importing it takes as long as a short search

    compute: Callable[..., pa.BooleanArray] = getattr(pc, function)
    return compute(members, argument).fill_null(False).to_numpy(zero_copy_only=False)
