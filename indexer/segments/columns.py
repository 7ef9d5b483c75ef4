"""Metadata as columns: a key a column, values as canonical JSON, so that equality needs no types."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Bool

from indexer.disk import full_disk_named
from indexer.segments.layout import METADATA_PREFIX
from models.failpoints import failpoint
from models.mapping import mapped_bytes
from models.types import JsonValue, Metadata

# Whole numbers below this are the same as floats.
_EXACT = 2**53


def canonical(value: JsonValue) -> str:
    """One spelling for every JSON value.

    >>> canonical({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def write_table(path: Path, columns: Mapping[str, pa.Array]) -> None:
    """Write columns of one length, in their order."""
    table = pa.table(dict(columns))
    with (
        failpoint("write", path),
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)


def metadata_columns(rows: Sequence[Metadata]) -> dict[str, pa.Array]:
    """A column for every metadata key that occurs."""
    keys = sorted({key for row in rows for key in row})
    return {METADATA_PREFIX + key: _column(key, rows) for key in keys}


def _column(key: str, rows: Sequence[Metadata]) -> pa.Array:
    values = [canonical(row[key]) if key in row else None for row in rows]
    return pa.array(values, pa.string()).dictionary_encode()


def stacked(tables: Sequence[pa.Table], name: str) -> pa.Array:
    """A column of several tables, concatenated."""
    return pa.concat_tables([table.select([name]) for table in tables]).column(name).combine_chunks()


def merged_metadata(tables: Sequence[pa.Table]) -> dict[str, pa.Array]:
    """The metadata columns of several tables, concatenated, without unused keys and values."""
    names = sorted({name for table in tables for name in table.column_names if name.startswith(METADATA_PREFIX)})
    columns = ((name, stacked([_spelt_out(table, name) for table in tables], name)) for name in names)
    # Encoded anew: the old dictionaries hold the values of rows that were left out, too.
    return {name: column.dictionary_encode() for name, column in columns if column.null_count < len(column)}


def _spelt_out(table: pa.Table, name: str) -> pa.Table:
    """A metadata column as plain text; null everywhere where the table has no such column."""
    if name not in table.column_names:
        return pa.table({name: pa.nulls(table.num_rows, pa.string())})
    return pa.table({name: table.column(name).cast(pa.string())})


def read_table(path: Path) -> pa.Table:
    """Map a table into memory; nothing is copied."""
    with full_disk_named():
        content = mapped_bytes(path)
    return pa.ipc.open_file(pa.py_buffer(content)).read_all()


def row_metadata(table: pa.Table, row: int) -> dict[str, JsonValue]:
    """The metadata of one row, as it was given."""
    metadata: dict[str, JsonValue] = {}
    for name in table.column_names:
        if name.startswith(METADATA_PREFIX):
            value = table.column(name)[row].as_py()
            if value is not None:
                metadata[name.removeprefix(METADATA_PREFIX)] = json.loads(value)
    return metadata


def _spellings(value: JsonValue) -> list[str]:
    """The stored forms of an equal value: JSON has one kind of number, Python two forms of whole ones."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _EXACT and value == int(value):
        return [canonical(int(value)), canonical(float(value))]
    return [canonical(value)]


def one_spelling(spelling: str) -> str:
    """The stored form that equal values share; a whole number has two forms.

    >>> one_spelling("3.0"), one_spelling("3.5"), one_spelling('"3.0"')
    ('3', '3.5', '"3.0"')
    """
    return _spellings(json.loads(spelling))[0] if spelling.endswith(".0") else spelling


def rows_holding(table: pa.Table, conditions: Iterable[tuple[str, JsonValue]]) -> Bool[np.ndarray, " rows"]:
    """A mask of the rows that meet all conditions; a key that no row has matches nothing.

    A row meets a condition if its value equals the given one, or is a list with an element that does.
    """
    matches = np.ones(table.num_rows, bool)
    for key, value in conditions:
        name = METADATA_PREFIX + key
        if name not in table.column_names:
            return np.zeros(table.num_rows, bool)
        column = table.column(name).combine_chunks()
        codes = column.indices.fill_null(len(column.dictionary)).to_numpy(zero_copy_only=False)
        matches &= np.append(_holding(column.dictionary, value), False)[codes]
    return matches


def _holding(spellings: pa.StringArray, value: JsonValue) -> Bool[np.ndarray, " values"]:
    """A mask of the stored values that equal a value, or are lists with an element that does."""
    import pyarrow.compute as pc  # only filters need it, and importing it takes as long as a short search

    key = value_key(value)
    held = pc.is_in(spellings, pa.array(_spellings(value), spellings.type)).to_numpy(zero_copy_only=False).copy()
    lists = np.flatnonzero(pc.starts_with(spellings, "[").to_numpy(zero_copy_only=False))
    if len(lists):  # few are parsed: those whose spelling holds the value's
        chosen = pc.match_substring(spellings.take(pa.array(lists)), key).to_numpy(zero_copy_only=False)
        for row in lists[chosen].tolist():
            held[row] |= key in element_keys(spellings[row].as_py())
    return held


def value_key(value: JsonValue) -> str:
    """A spelling that values have in common if, and only if, they are equal.

    >>> value_key(3) == value_key(3.0), value_key(1) == value_key(True)
    (True, False)
    """
    return _spellings(value)[0]


def element_keys(spelling: str) -> list[str]:
    """The keys of the different elements of a stored list, in their order.

    >>> element_keys('["b","a",1,1.0]')
    ['"b"', '"a"', '1']
    """
    return list(dict.fromkeys(map(value_key, json.loads(spelling))))
