"""Whether a filter expression suits the metadata of a snapshot: its keys occur, and their values compare."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Bool

from indexer.engine.executor import SegmentQuery
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.errors import FilterInvalid
from indexer.filters.expression import Comparison, Field, comparisons
from indexer.filters.strings import printed_field
from indexer.segments.kinds import Kind, Level
from indexer.segments.values import DocumentIds, MetadataValues
from models.errors import InvalidInput

_LEVELS: Final[tuple[Level, ...]] = ("document", "part")
_NAMES: Final[dict[Kind, str]] = {
    "null": "null",
    "boolean": "true or false",
    "number": "numbers",
    "string": "strings",
    "date": "dates",
    "list": "lists",
    "object": "objects",
}


class _Fields(NamedTuple):
    """Whether there are documents, their keys, and for some fields the kinds of their values."""

    occur: bool
    keys: frozenset[Field]
    kinds: tuple[frozenset[Kind], ...]


@dataclass(frozen=True, slots=True)
class _FieldQuery(SegmentQuery[None, _Fields]):
    """The kinds of the values that fields have, by segments; none where a field does not occur in reach."""

    fields: tuple[Field, ...]

    def rows(self, view: SegmentView, total: None, selection: Selection) -> _Fields:
        metadata = view.segment.metadata
        rows = {level: view.in_reach(selection.filter, level) for level in (*_LEVELS, "id")}
        occur = rows["document"] is None or bool(rows["document"].any())
        keys = frozenset(Field(level, (key,)) for level in _LEVELS for key in keys_in(metadata(level), rows[level]))
        return _Fields(
            occur, keys, tuple(metadata(field.level).kinds(field.path, rows[field.level]) for field in self.fields)
        )


def keys_in(metadata: MetadataValues | DocumentIds, rows: Bool[np.ndarray, " rows"] | None) -> list[str]:
    """The keys that occur in some rows; None stands for all."""
    return metadata.keys if rows is None else metadata.keys_of(rows)


def check_fields(snapshot: Snapshot, filter: Filter) -> None:
    """Raise ``FilterInvalid`` for a key that no document has, and for values that do not compare with any of its.

    Keys and values are those in the filter's reach. Nothing is refused where something is unknown: in an empty
    collection, and in one with damaged segments.
    """
    if filter.expression is None or snapshot.damaged:
        return
    asked = [each for each in comparisons(filter.expression) if each.field.level != "id"]
    fields = tuple(dict.fromkeys(each.field for each in asked))
    parts = snapshot.map(_FieldQuery(fields), Selection(filter=filter.reach)).parts
    if not any(part.occur for part in parts):
        return
    kinds = {field: frozenset().union(*(part.kinds[row] for part in parts)) for row, field in enumerate(fields)}
    for each in asked:
        if not kinds[each.field]:
            raise _unknown(each, sorted({printed_field(key) for part in parts for key in part.keys}))
        if each.needs and not each.needs & kinds[each.field]:
            raise _incomparable(each, kinds[each.field])


def check_known(snapshot: Snapshot, fields: Iterable[tuple[str, Field]], filter: Filter = Filter()) -> None:
    """Raise ``InvalidInput`` for a field that no document in the filter's reach has; an option names each.

    As of filters, nothing is refused where something is unknown.
    """
    asked = [(option, field) for option, field in fields if field.level != "id"]
    is_known = bool(asked) and not snapshot.damaged
    parts = snapshot.map(_FieldQuery(()), Selection(filter=filter.reach)).parts if is_known else []
    keys = frozenset().union(*(part.keys for part in parts))
    for option, field in asked if any(part.occur for part in parts) else ():
        if Field(field.level, field.path[:1]) not in keys:
            message, hint = _no_such_key(field, sorted(map(printed_field, keys)))
            raise InvalidInput(f"{message}.", hint=hint, field=option)


def _unknown(comparison: Comparison, keys: Sequence[str]) -> FilterInvalid:
    message, hint = _no_such_key(comparison.field, keys)
    return FilterInvalid(message, comparison.place, hint)


def _no_such_key(field: Field, keys: Sequence[str]) -> tuple[str, str]:
    """What is wrong with a field, and the nearest key that occurs."""
    name, level = printed_field(field), "part" if field.level == "part" else "document"
    nearest = get_close_matches(name, keys, n=1, cutoff=0) if keys else []
    hint = f"Did you mean `{nearest[0]}`?" if nearest else "The documents of this collection have no metadata."
    return f"No {level} has the key `{name}`", hint


def _incomparable(comparison: Comparison, kinds: frozenset[Kind]) -> FilterInvalid:
    name, needed = printed_field(comparison.field), " or ".join(sorted(_NAMES[kind] for kind in comparison.needs))
    has = " and ".join(sorted(_NAMES[kind] for kind in kinds))
    return FilterInvalid(
        f"`{comparison.operator}` compares {needed} here, and `{name}` has {has}",
        comparison.place,
        "Compare it with a value of a kind that it has; strings stand in double quotes.",
    )
