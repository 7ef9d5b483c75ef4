"""Metadata as columns: a key a column, values as canonical JSON, so that equality needs no types."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool

from indexer.segments.layout import METADATA_PREFIX
from models.types import JsonValue, Metadata

# Whole numbers below this are the same as floats.
_EXACT = 2**53


def canonical(value: JsonValue) -> str:
    """One spelling for every JSON value.

    >>> canonical({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def write_table(path: Path, columns: Mapping[str, pa.Array], metadata: Sequence[Metadata]) -> None:
    """Write fixed columns and, after them, one column for every metadata key that occurs."""
    keys = sorted({key for row in metadata for key in row})
    table = pa.table(dict(columns) | {METADATA_PREFIX + key: _column(key, metadata) for key in keys})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _column(key: str, metadata: Sequence[Metadata]) -> pa.Array:
    values = [canonical(row[key]) if key in row else None for row in metadata]
    return pa.array(values, pa.string()).dictionary_encode()


def read_table(path: Path) -> pa.Table:
    """Map a table into memory; nothing is copied."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def row_metadata(table: pa.Table, row: int) -> dict[str, JsonValue]:
    """The metadata of one row, as it was given."""
    found: dict[str, JsonValue] = {}
    for name in table.column_names:
        if name.startswith(METADATA_PREFIX):
            value = table.column(name)[row].as_py()
            if value is not None:
                found[name.removeprefix(METADATA_PREFIX)] = json.loads(value)
    return found


def _spellings(value: JsonValue) -> list[str]:
    """How an equal value may have been written: JSON has one kind of number, Python spells whole ones in two ways."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _EXACT and value == int(value):
        return [canonical(int(value)), canonical(float(value))]
    return [canonical(value)]


def rows_equal(table: pa.Table, wanted: Iterable[tuple[str, JsonValue]]) -> Bool[np.ndarray, " rows"]:
    """Which rows have all the wanted values; a key that no row has matches nothing."""
    matches = np.ones(table.num_rows, bool)
    for key, value in wanted:
        name = METADATA_PREFIX + key
        if name not in table.column_names:
            return np.zeros(table.num_rows, bool)
        equal = pc.is_in(table.column(name).combine_chunks().cast(pa.string()), pa.array(_spellings(value)))
        matches &= equal.to_numpy(zero_copy_only=False)
    return matches
