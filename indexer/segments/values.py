"""The different values of metadata by type: a comparison is one operation on arrays, whatever the number of rows."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float, Int, Shaped

from indexer.segments.columns import canonical, value_key
from indexer.segments.kinds import Kind, Path, double, is_number, kind_of
from indexer.segments.layout import METADATA_PREFIX
from indexer.segments.moments import moment_of
from models.types import JsonValue, Metadata

# Paths of a segment whose values are kept; each takes memory as its different values do.
_KEPT: Final = 64


class _Missing:
    """The value at a path that leads nowhere."""


_MISSING: Final = _Missing()


class Values:
    """The different values that a path leads to, one for each stored value, and their members by type.

    The members of a list are its elements, a scalar is its own only member, and an object has none. ``owners`` has the
    stored value of every member.
    """

    def __init__(self, stored: Sequence[JsonValue | _Missing], *, are_dated: bool = True) -> None:
        self.are_dated = are_dated
        members = [list(_members(value)) for value in stored]
        self._members = [member for of_value in members for member in of_value]
        self.owners: Int[np.ndarray, " members"] = np.repeat(np.arange(len(stored)), list(map(len, members)))
        self.present: Bool[np.ndarray, " stored"] = _mask(stored, lambda value: value is not _MISSING)
        self.lists: Bool[np.ndarray, " stored"] = _mask(stored, lambda value: isinstance(value, list))
        self.nulls: Bool[np.ndarray, " stored"] = _mask(stored, lambda value: value is None)
        self._objects: Bool[np.ndarray, " stored"] = _mask(stored, lambda value: isinstance(value, dict))

    def having(self, chosen: Bool[np.ndarray, " members"]) -> Bool[np.ndarray, " stored"]:
        """A mask of the stored values that have a chosen member."""
        held = np.zeros(len(self.present), bool)
        held[self.owners[chosen]] = True
        return held

    @cached_property
    def strings(self) -> pa.StringArray:
        """The members that are strings; null for others."""
        return pa.array([member if isinstance(member, str) else None for member in self._members], pa.string())

    @cached_property
    def spellings(self) -> pa.StringArray:
        """The spellings of members that are neither strings nor objects; equal members have one in common."""
        plain = (member is None or isinstance(member, bool | int | float) for member in self._members)
        keys = [value_key(each) if is_plain else None for each, is_plain in zip(self._members, plain, strict=True)]
        return pa.array(keys, pa.string())

    @cached_property
    def numbers(self) -> Float[np.ndarray, " members"]:
        """The members that are numbers; nan for others."""
        return np.array([double(member) if is_number(member) else np.nan for member in self._members], np.float64)

    @cached_property
    def moments(self) -> Shaped[np.ndarray, " members"]:
        """The members that are dates, or dates with times; not-a-time for others."""
        moments = (moment_of(each) if self.are_dated and isinstance(each, str) else None for each in self._members)
        return np.array(list(moments), "datetime64[us]")

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of the values and of the elements of lists; a date is a string, too."""
        return self.kinds_of(np.ones(len(self.present), bool))

    def kinds_of(self, stored: Bool[np.ndarray, " stored"]) -> frozenset[Kind]:
        """The kinds of some of the values."""
        members = np.flatnonzero(stored[self.owners])
        others: dict[Kind, bool] = {
            "list": bool(self.lists[stored].any()),
            "object": bool(self._objects[stored].any()),
            "date": not bool(np.isnat(self.moments[members]).all()),
        }
        found = {kind_of(self._members[member]) for member in members.tolist()}
        return frozenset(found | {kind for kind, occurs in others.items() if occurs})


class MetadataValues:
    """The metadata of a table's rows by the paths of keys; values are typed when a path is first asked for."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.at: Callable[[Path], Values] = lru_cache(_KEPT)(partial(_values, table))

    @property
    def keys(self) -> list[str]:
        """The first keys of all paths."""
        columns = (name for name in self._table.column_names if name.startswith(METADATA_PREFIX))
        return [name.removeprefix(METADATA_PREFIX) for name in columns]

    def keys_of(self, rows: Bool[np.ndarray, " rows"]) -> list[str]:
        """The first keys that occur in some rows."""
        return [key for key in self.keys if len(self._codes((key,), rows))]

    def paths(self, rows: Bool[np.ndarray, " rows"] | None) -> set[Path]:
        """All paths that occur in some rows, with those within objects; None stands for all rows."""
        all_rows = np.ones(self._table.num_rows, bool)
        return set().union(*(self._paths_of(key, all_rows if rows is None else rows) for key in self.keys))

    def kinds(self, path: Path, rows: Bool[np.ndarray, " rows"] | None = None) -> frozenset[Kind]:
        """The kinds of the values at a path; with a mask, of the values of these rows alone."""
        values = self.at(path)
        if rows is None:
            return values.kinds
        stored = np.zeros(len(values.present), bool)
        stored[self._codes(path, rows)] = True
        return values.kinds_of(stored)

    def _paths_of(self, key: str, rows: Bool[np.ndarray, " rows"]) -> set[Path]:
        column = _column(self._table, (key,))
        if column is None or not len(codes := self._codes((key,), rows)):
            return set()
        spellings = column.dictionary.take(pa.array(codes))
        objects = spellings.filter(pc.starts_with(spellings, "{")).to_pylist()
        return {(key,)}.union(*(_paths_within(value, (key,)) for value in json.loads(f"[{','.join(objects)}]")))

    def _codes(self, path: Path, rows: Bool[np.ndarray, " rows"]) -> Int[np.ndarray, " codes"]:
        """The stored values of some rows."""
        column = _column(self._table, path)
        if column is None:
            return np.zeros(0, np.int64)
        codes: Int[np.ndarray, " codes"] = column.indices.filter(pa.array(rows)).drop_null().unique().to_numpy()
        return codes

    def rows(self, path: Path, chosen: Bool[np.ndarray, " stored"]) -> Bool[np.ndarray, " rows"]:
        """A mask of the rows whose stored value at a path is chosen."""
        column = _column(self._table, path)
        if column is None:
            return np.zeros(self._table.num_rows, bool)
        found: Bool[np.ndarray, " rows"] = np.append(chosen, False)[_codes(column)]
        return found

    def of_rows(
        self, path: Path, rows: Int[np.ndarray, " chosen"]
    ) -> tuple[list[JsonValue], Int[np.ndarray, " chosen"]]:
        """The distinct stored values that some rows have at a path, and for each row the number of its value.

        Where the path leads nowhere, the value is null.
        """
        column = _column(self._table, path)
        if column is None:
            return [None], np.zeros(len(rows), np.int64)
        used, numbers = np.unique(_codes(column)[rows], return_inverse=True)
        spellings = [*column.dictionary.take(pa.array(used[used < len(column.dictionary)])).to_pylist(), "null"]
        values = (_below(value, path[1:]) for value in json.loads(f"[{','.join(spellings)}]"))
        return [None if isinstance(value, _Missing) else value for value in values], numbers.astype(np.int64)


class DocumentIds:
    """The ids of documents in place of metadata. An id that looks like a date is still a plain string."""

    def __init__(self, ids: pa.ChunkedArray) -> None:
        self._ids = ids

    @property
    def keys(self) -> list[str]:
        """An empty list, because ids are not metadata."""
        return []

    def keys_of(self, rows: Bool[np.ndarray, " rows"]) -> list[str]:
        """An empty list, because ids are not metadata."""
        return []

    def paths(self, rows: Bool[np.ndarray, " rows"] | None) -> set[Path]:
        """An empty set, because ids are not metadata."""
        return set()

    def kinds(self, path: Path, rows: Bool[np.ndarray, " rows"] | None = None) -> frozenset[Kind]:
        """Ids are strings."""
        return frozenset({"string"})

    def at(self, path: Path) -> Values:
        """The ids of all documents."""
        return self._values

    def rows(self, path: Path, chosen: Bool[np.ndarray, " stored"]) -> Bool[np.ndarray, " rows"]:
        """Return the mask itself, because every document has an id of its own."""
        return chosen

    def of_rows(
        self, path: Path, rows: Int[np.ndarray, " chosen"]
    ) -> tuple[list[JsonValue], Int[np.ndarray, " chosen"]]:
        """The ids of some documents, and for each of these rows the number of its own."""
        used, numbers = np.unique(rows, return_inverse=True)
        return self._ids.take(pa.array(used)).to_pylist(), numbers.astype(np.int64)

    @cached_property
    def _values(self) -> Values:
        return Values(self._ids.to_pylist(), are_dated=False)


def equal_at(path: Path, one: Metadata, other: Metadata) -> bool:
    """True if a path leads to the same value in the metadata of two rows, or to none in either.

    >>> equal_at(("customer", "id"), {"customer": {"id": 7}}, {"customer": {"id": [7]}})
    False
    """
    first, second = (_below(dict(each), path) for each in (one, other))
    if isinstance(first, _Missing) or isinstance(second, _Missing):
        return first is second
    return canonical(first) == canonical(second)


def _members(value: JsonValue | _Missing) -> Iterator[JsonValue]:
    if isinstance(value, list):
        yield from value
    elif not isinstance(value, _Missing | dict):
        yield value


def _mask(stored: Sequence[object], test: Callable[[object], bool]) -> Bool[np.ndarray, " stored"]:
    return np.fromiter(map(test, stored), bool, len(stored))


def _column(table: pa.Table, path: Path) -> pa.DictionaryArray | None:
    name = METADATA_PREFIX + path[0]
    return table.column(name).combine_chunks() if name in table.column_names else None


def _codes(column: pa.DictionaryArray) -> Int[np.ndarray, " rows"]:
    """The number of every row's stored value; for a row without a value, the number after the last one."""
    codes: Int[np.ndarray, " rows"] = column.indices.fill_null(len(column.dictionary)).to_numpy(zero_copy_only=False)
    return codes


def _values(table: pa.Table, path: Path) -> Values:
    column = _column(table, path)
    spellings = [] if column is None else column.dictionary.to_pylist()
    stored = json.loads(f"[{','.join(spellings)}]")
    return Values([_below(value, path[1:]) for value in stored])


def _paths_within(value: JsonValue, path: Path) -> set[Path]:
    """The path of a value, and those of the values within it."""
    children = value.items() if isinstance(value, dict) else ()
    return {path}.union(*(_paths_within(child, (*path, key)) for key, child in children))


def _below(value: JsonValue, path: Path) -> JsonValue | _Missing:
    """The value that keys lead to within another."""
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return _MISSING
        value = value[key]
    return value
