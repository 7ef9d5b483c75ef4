"""All hits of one search, as a stream that can be resumed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from app.answers import to_json
from app.requests import MAX_EXPORT, MAX_JUDGED, SearchRequest
from app.search.answers import ExportEnd, Hit
from app.search.literal import RankedRows
from app.search.request_plan import AnyEncoded
from app.search.service import SearchService, cursor_at_place, encode, filtered, scan
from app.tabular import MEDIA_TYPES, ExportFormat, Format, Kind, csv_pieces, in_json, parquet_pieces, xlsx_pieces
from models.errors import InvalidInput

Items: TypeAlias = Iterator[Hit | ExportEnd]

# Mappings, which hold JSON, come last.
_COLUMNS: Final[Mapping[str, Kind]] = {
    "rank": "int64",
    "score": "float64",
    "raw": "float64",
    "document_id": "string",
    "start": "int64",
    "end": "int64",
    "text": "string",
    "match": "string",
    "polarity": "string",
    "copies": "int64",
    "probability": "float64",
    "verdict": "string",
    "metadata": "string",
    "part_metadata": "string",
}
_MAPPINGS: Final = ("metadata", "part_metadata")
# Hits whose texts are in memory at once.
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Export:
    """The hits of an export, and what is said at its end. ``cursor`` is of the list's beginning.

    An export that was cut off goes on with this cursor, and the rank of the last hit that was read as its offset.
    """

    items: Iterator[Hit | ExportEnd]
    cursor: str | None


def exported(service: SearchService, encoded: AnyEncoded, results: RankedRows) -> Export:
    """Export the results of a request, whose ``top_k`` is the maximum number of hits.

    If the request asks for likely hits, hits are judged when they are taken, and all others are left out. Raises
    ``InvalidInput`` for more hits than can be judged, and for a threshold that only judged hits have.
    """
    request = encoded.prepared.request
    if request.likely and request.top_k > MAX_JUDGED:
        raise InvalidInput(
            f"To find the likely ones of {request.top_k:,} hits, all are judged; at most {MAX_JUDGED:,} are.",
            hint=f"Set limit to {MAX_JUDGED} or less.",
            field="limit",
        )
    if not request.likely:
        encoded.prepared.require_number()
    return Export(_items(service, encoded, results), cursor_at_place(encoded.prepared, 0, judged=True))


def export(service: SearchService, request: SearchRequest, limit: int = MAX_EXPORT) -> Iterator[Hit | ExportEnd]:
    """The first ``limit`` hits of a request, and their number."""
    encoded = encode([service.prepare(replace(request, top_k=limit, verify=None))])
    (results,) = scan(encoded)
    return exported(service, encoded[0], results).items


def _items(service: SearchService, encoded: AnyEncoded, results: RankedRows) -> Iterator[Hit | ExportEnd]:
    prepared, limit = encoded.prepared, encoded.prepared.request.top_k
    count, end = 0, prepared.page.place + limit
    for page in service.pages(encoded, results, limit, _PAGE):
        count += len(page)
        yield from page
    is_whole = len(results) <= end
    yield ExportEnd(
        count,
        is_whole and (results.arranged is None or results.arranged.complete),
        prepared.snapshot.generation.number,
        prepared.threshold,
        prepared.snapshot.damages,
        filtered(prepared.snapshot, prepared.request.filter),
        results.arranged,
        None if is_whole else cursor_at_place(prepared, end, judged=True),
    )


def ndjson(items: Items) -> Iterator[bytes]:
    """Each hit as a line of JSON, and last the end."""
    for item in items:
        yield to_json(item) + b"\n"


def table(items: Items) -> Iterator[bytes]:
    """Hits as rows of CSV."""
    return csv_pieces(tuple(_COLUMNS), _rows(items, []))


def workbook(items: Items) -> Iterator[bytes]:
    """Hits as a workbook of Excel."""
    return xlsx_pieces(tuple(_COLUMNS), _rows(items, []))


def parquet(items: Items) -> Iterator[bytes]:
    """Hits as a Parquet file, whose metadata has the end."""
    ends: list[ExportEnd] = []
    return parquet_pieces(_COLUMNS, _rows(items, ends), lambda: to_json(ends[0]) if ends else None)


FORMATS: Final[dict[Format, ExportFormat[Hit | ExportEnd]]] = {
    "ndjson": ExportFormat(MEDIA_TYPES["ndjson"], ndjson),
    "csv": ExportFormat(MEDIA_TYPES["csv"], table),
    "xlsx": ExportFormat(MEDIA_TYPES["xlsx"], workbook),
    "parquet": ExportFormat(MEDIA_TYPES["parquet"], parquet),
}


def _rows(items: Iterable[Hit | ExportEnd], ends: list[ExportEnd]) -> Iterator[dict[str, Any]]:
    """The hits as rows; the end is added to ``ends``."""
    for item in items:
        if isinstance(item, ExportEnd):
            ends.append(item)
        else:
            row = {name: getattr(item, name) for name in _COLUMNS}
            yield row | {name: in_json(None if row[name] is None else dict(row[name])) for name in _MAPPINGS}
