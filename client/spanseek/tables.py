"""Documents of what a program has at hand: frames of pandas and polars, Arrow tables, lists of texts or of rows.

Frames are read in slices: memory holds one slice as Python objects, however long the frame is.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from spanseek.errors import ColumnMissing, SpanseekError
from spanseek.values import filled, is_missing

_SLICE: Final = 4096
_OWN: Final = frozenset({"id", "text", "parts", "metadata"})


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table: of texts, of ids, of the order of parts, and of metadata (None: all others).

    Rows with the same id are the parts of one document if ``part`` names a column.
    """

    text: str = "text"
    id: str | None = None
    part: str | None = None
    metadata: Sequence[str] | None = None

    @property
    def are_named(self) -> bool:
        """True if any was named."""
        return self != Columns()


def documents_of(data: Any, columns: Columns) -> Iterator[dict[str, object]]:  # noqa: ANN401
    """The documents of a table, as the API takes them.

    A text without an id gets one that follows from the text: added again, it is unchanged, not double.

    >>> [document["text"] for document in documents_of(["Late again.", "Thanks."], Columns())]
    ['Late again.', 'Thanks.']
    """
    if columns.part is not None:
        return _grouped(data, columns)
    return (_document(row, columns) for row in rows_of(data))


def rows_of(data: Any, order: Sequence[str] = ()) -> Iterable[Mapping[str, object]]:  # noqa: ANN401
    """The rows of a table, of a column or list of texts, or of one object; sorted by two columns, of ids and of parts,
    if these are named, with empty cells last.

    Raises ``SpanseekError`` for what has none.
    """
    library = type(data).__module__.partition(".")[0]
    if hasattr(data, "to_frame"):  # a series of pandas or polars
        data = data.to_frame("text")
    if library == "pandas":
        frame = _sorted_frame(data, order) if order else data
        slices = (frame.iloc[start : start + _SLICE] for start in range(0, len(frame), _SLICE))
        return (row for part in slices for row in part.to_dict("records"))
    if library == "polars":
        frame = data.collect() if hasattr(data, "collect") else data
        if order:
            _require(order, frame.columns)
            frame = frame.sort(order, maintain_order=True, nulls_last=True)
        return frame.iter_rows(named=True, buffer_size=_SLICE)
    if library == "pyarrow" and not hasattr(data, "schema"):  # an array
        data = (each.as_py() for each in data)
    if hasattr(data, "__arrow_c_stream__"):
        return _arrow_rows(data, order)
    rows = map(_row, _listed(data))
    return _sorted_rows(rows, *order) if order else rows


def _sorted_frame(data: Any, order: Sequence[str]) -> Any:  # noqa: ANN401  a frame of pandas
    """A frame in the order of ids and parts; ids of several types are compared as texts."""
    _require(order, data.columns)

    def key(column: Any) -> Any:  # noqa: ANN401  a series of pandas
        is_mixed = column.name == order[0] and column.dtype == object
        return column.map(_id_text, na_action="ignore") if is_mixed else column

    with _order_of(order[1]):
        return data.sort_values(list(order), kind="stable", key=key)


def _sorted_rows(rows: Iterable[Mapping[str, object]], id: str, part: str) -> list[Mapping[str, object]]:
    def key(row: Mapping[str, object]) -> tuple[str, bool, Any]:
        number = _cell(row, part)
        return _id_text(_cell(row, id)), is_missing(number), 0 if is_missing(number) else number

    with _order_of(part):
        return sorted(rows, key=key)


@contextmanager
def _order_of(part: str) -> Iterator[None]:
    try:
        yield
    except TypeError as error:
        raise SpanseekError(f"The column {part!r} gives the parts no order: give all numbers, or all texts.") from error


def _listed(data: Any) -> Iterable[object]:  # noqa: ANN401
    if isinstance(data, Mapping):
        return [data]
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise SpanseekError(f"{type(data).__name__} has no rows: give a file as a Path, and texts as a list.")
    return data


def _row(value: object) -> Mapping[str, object]:
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, Mapping):
        return value
    raise SpanseekError(f"A row is a text or an object, such as a dict, and not {type(value).__name__}.")


def _arrow_rows(data: Any, order: Sequence[str]) -> Iterator[dict[str, object]]:  # noqa: ANN401
    import pyarrow

    if order:
        table = pyarrow.table(data)
        _require(order, table.column_names)
        ordered = table.sort_by([(name, "ascending") for name in order])
        batches: Iterable[Any] = ordered.to_batches(max_chunksize=_SLICE)
    else:
        batches = pyarrow.RecordBatchReader.from_stream(data)
    for batch in batches:
        for start in range(0, batch.num_rows, _SLICE):
            yield from batch.slice(start, _SLICE).to_pylist()


def _document(row: Mapping[str, object], columns: Columns) -> dict[str, object]:
    if not columns.are_named and row.keys() <= _OWN and ("text" in row or "parts" in row):
        rest = {name: value for name, value in row.items() if name != "id"}
        return {"id": _id(row, columns, str(rest)), **rest}
    text = _text(row, columns)
    return {"id": _id(row, columns, text), "text": text, "metadata": _metadata(row, columns)}


def _grouped(data: Any, columns: Columns) -> Iterator[dict[str, object]]:  # noqa: ANN401
    """The documents of rows that are parts."""
    if columns.id is None:
        raise ColumnMissing("Parts belong to documents: name the column of ids, too (id=...).")
    if isinstance(data, Iterator):
        raise ColumnMissing("Rows of parts are read twice: give a frame, a table or a list, not an iterator.")
    order = (columns.id, str(columns.part))
    of_parts = _different(rows_of(data, order), columns)
    for id, rows in groupby(rows_of(data, order), key=lambda row: _own_id(row, columns)):
        metadata: dict[str, object] = {}
        parts = []
        for row in rows:
            values = _metadata(row, columns)
            metadata = {name: value for name, value in values.items() if name not in of_parts} | metadata
            own = {name: value for name, value in values.items() if name in of_parts}
            parts.append({"text": _text(row, columns), "metadata": {order[1]: row[order[1]]} | own})
        yield {"id": id, "parts": parts, "metadata": metadata}


def _different(rows: Iterable[Mapping[str, object]], columns: Columns) -> set[str]:
    """The columns whose values differ within any document: metadata of parts, in all documents."""
    seen: defaultdict[str, dict[str, object]] = defaultdict(dict)
    different: set[str] = set()
    for row in rows:
        first = seen[_own_id(row, columns)]
        values = _metadata(row, columns)
        different |= {name for name, value in values.items() if first.setdefault(name, value) != value}
    return different


def _metadata(row: Mapping[str, object], columns: Columns) -> dict[str, object]:
    if columns.metadata is not None:
        return filled({name: _cell(row, name) for name in columns.metadata})
    taken = {columns.text, columns.id or "id", columns.part}
    rest = {name: value for name, value in row.items() if name not in taken}
    own = rest.get("metadata")
    if isinstance(own, Mapping):
        del rest["metadata"]
        rest |= own
    return filled(rest)


def _text(row: Mapping[str, object], columns: Columns) -> str:
    value = filled({"text": _cell(row, columns.text)}).get("text", "")
    return str(value)


def _id(row: Mapping[str, object], columns: Columns, text: str) -> str:
    """The id of a row; without one that of its text."""
    value = row.get("id") if columns.id is None else _cell(row, columns.id)
    if is_missing(value):
        return text_id(text)
    return _id_text(value)


def _id_text(value: object) -> str:
    """An id as a text. A whole number is one, too, where pandas has made it a float."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _own_id(row: Mapping[str, object], columns: Columns) -> str:
    """The id of a row that is a part. Raises ``SpanseekError`` if it has none."""
    if columns.id is None or is_missing(_cell(row, columns.id)):
        raise SpanseekError(f"A part has no {columns.id!r}: every part names the document that it belongs to.")
    return _id(row, columns, "")


def text_id(text: str) -> str:
    """The id of a text that has none: the same for the same text.

    >>> text_id("Late again.")[:8]
    'bb6f7f70'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _cell(row: Mapping[str, object], name: str) -> object:
    _require([name], row)
    return row[name]


def _require(names: Iterable[str], columns: Collection[object]) -> None:
    """Raise ``ColumnMissing`` unless there are columns of these names."""
    for name in names:
        if name not in columns:
            raise ColumnMissing(f"There is no column {name!r}; there are {', '.join(map(str, columns))}.")
