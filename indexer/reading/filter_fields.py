"""Checks of a filter expression against the metadata of a snapshot: its keys occur, and their values compare."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Bool

from indexer.engine.executor import SegmentQuery
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.errors import FilterInvalid
from indexer.filters.expression import Comparison, Field, comparisons
from indexer.filters.strings import printed_field
from indexer.segments.kinds import Kind, Level
from indexer.segments.values import DocumentIds, MetadataValues
from models.errors import InvalidInput

_LEVELS: Final[tuple[Level, ...]] = ("document", "part")
_ID: Final = printed_field(Field("id"))
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
    """The keys of documents, if there are any, and the kinds of the values of some fields."""

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


@dataclass(frozen=True, slots=True)
class _PathQuery(SegmentQuery[None, frozenset[Field]]):
    """All fields that occur in reach, also within objects."""

    def rows(self, view: SegmentView, total: None, selection: Selection) -> frozenset[Field]:
        metadata = view.segment.metadata
        rows = {level: view.in_reach(selection.filter, level) for level in _LEVELS}
        return frozenset(Field(level, path) for level in _LEVELS for path in metadata(level).paths(rows[level]))


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
            message, hint = _no_such_key(each.field, snapshot, filter)
            raise FilterInvalid(message, each.place, hint)
        if each.needs and not each.needs & kinds[each.field]:
            raise _incomparable(each, kinds[each.field])


def check_known(snapshot: Snapshot, fields: Iterable[tuple[str, Field]], filter: Filter = Filter()) -> None:
    """Raise ``InvalidInput`` for a field that no document in the filter's reach has. Each field comes with its option.

    As for filters, nothing is refused if something is unknown.
    """
    asked = [(option, field) for option, field in fields if field.level != "id"]
    if not asked or snapshot.damaged:
        return
    nested = tuple(dict.fromkeys(field for _, field in asked if len(field.path) > 1))
    parts = snapshot.map(_FieldQuery(nested), Selection(filter=filter.reach)).parts
    known = frozenset().union(*(part.keys for part in parts))
    known |= {field for row, field in enumerate(nested) if any(part.kinds[row] for part in parts)}
    for option, field in asked if any(part.occur for part in parts) else ():
        if field not in known:
            message, hint = _no_such_key(field, snapshot, filter)
            raise InvalidInput(f"{message}.", hint=hint, field=option)


def _no_such_key(field: Field, snapshot: Snapshot, filter: Filter) -> tuple[str, str]:
    """The message for a field that does not occur, and a hint at the nearest one that does."""
    parts = snapshot.map(_PathQuery(), Selection(filter=filter.reach)).parts
    keys = frozenset().union(*parts)
    name, level = printed_field(field), "part" if field.level == "part" else "document"
    return f"No {level} has the key `{name}`", _nearest(name, sorted(map(printed_field, keys)))


def _nearest(name: str, keys: Sequence[str]) -> str:
    """A hint at the key that is most like a name: all of it, or its last key.

    >>> _nearest("city", ["caller.address.city", "tidy"]), _nearest("idd", ["day"])
    ('Did you mean `caller.address.city`?', 'Did you mean `document.id`?')
    """
    if not keys:
        return "The documents of this collection have no metadata."
    # The names by which a key may have been meant; of two keys with one, the shorter.
    meant = {"id": _ID, _ID: _ID} | {key.rpartition(".")[2]: key for key in sorted(keys, key=len, reverse=True)}
    meant |= {key: key for key in keys}
    nearest = get_close_matches(name, meant, n=1, cutoff=0.7) or get_close_matches(name, keys, n=1, cutoff=0)
    return f"Did you mean `{meant[nearest[0]]}`?"


def _incomparable(comparison: Comparison, kinds: frozenset[Kind]) -> FilterInvalid:
    name, needed = printed_field(comparison.field), " or ".join(sorted(_NAMES[kind] for kind in comparison.needs))
    has = " and ".join(sorted(_NAMES[kind] for kind in kinds))
    return FilterInvalid(
        f"`{comparison.operator}` compares {needed} here, and `{name}` has {has}",
        comparison.place,
        "Compare it with a value of a kind that it has; strings stand in double quotes.",
    )
