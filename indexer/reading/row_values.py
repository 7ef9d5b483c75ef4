"""The documents and the metadata of spans, many at once: what results are sorted, grouped and counted by."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from jaxtyping import Int

from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import Snapshot
from indexer.filters.expression import Field
from indexer.segments.reader import Segment
from models.types import JsonValue

Key = TypeVar("Key")
# A document of a snapshot: its segment, and its number there.
DocumentNumber = tuple[str, int]


def documents_of(snapshot: Snapshot, rows: Sequence[SpanRow]) -> list[DocumentNumber]:
    """The document of every span."""
    documents: dict[int, DocumentNumber] = {}
    for segment, places, parts in _by_segment(snapshot, rows):
        name = segment.folder.name
        numbers = segment.part_document[parts].tolist()
        documents |= {place: (name, number) for place, number in zip(places, numbers, strict=True)}
    return [documents[place] for place in range(len(rows))]


def values_of(snapshot: Snapshot, rows: Sequence[SpanRow], field: Field, read: Callable[[JsonValue], Key]) -> list[Key]:
    """Apply ``read`` to every span's value of a field, or to null if it has none.

    For a field of parts, this is the value of the span's part. Each distinct value of a segment is read once.
    """
    keys: dict[int, Key] = {}
    for segment, places, parts in _by_segment(snapshot, rows):
        owners = parts if field.level == "part" else segment.part_document[parts]
        stored, numbers = segment.metadata(field.level).of_rows(field.path, owners)
        made = [read(value) for value in stored]
        keys |= {place: made[number] for place, number in zip(places, numbers.tolist(), strict=True)}
    return [keys[place] for place in range(len(rows))]


def texts_of(snapshot: Snapshot, rows: Sequence[SpanRow]) -> list[str]:
    """The text of every span. They are read in the order in which they are stored, a frame of text once."""
    texts = dict.fromkeys(rows, "")
    for row in sorted(texts):
        place = snapshot.scored(row).place
        texts[row] = place.text(place.span)
    return [texts[row] for row in rows]


def _by_segment(
    snapshot: Snapshot, rows: Sequence[SpanRow]
) -> Iterator[tuple[Segment, list[int], Int[np.ndarray, " spans"]]]:
    """The spans of every segment: their places among the rows, and their parts."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        places[row.segment].append(place)
    for name, of_segment in places.items():
        segment = snapshot.segment(name)
        starts = np.array([rows[place].start for place in of_segment], np.int64)
        yield segment, of_segment, np.searchsorted(segment.part_units, starts, side="right") - 1
