"""All hits of one search, as a stream that can be resumed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.requests import MAX_EXPORT, MAX_JUDGED, SearchRequest
from app.search.answers import ExportEnd
from app.search.literal import Found
from app.search.service import Encoded, SearchService, cursor_at_place, encode, filtered, scan
from app.search.types import Hit
from models.errors import InvalidInput

# Hits whose texts are in memory at once.
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Export:
    """The hits of an export, and what is said at its end. ``cursor`` is of the list's beginning.

    An export that was cut off goes on with this cursor, and the rank of the last hit that was read as its offset.
    """

    items: Iterator[Hit | ExportEnd]
    cursor: str | None


def exported(service: SearchService, encoded: Encoded, results: Found) -> Export:
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


def _items(service: SearchService, encoded: Encoded, results: Found) -> Iterator[Hit | ExportEnd]:
    prepared, limit = encoded.prepared, encoded.prepared.request.top_k
    count, end = 0, prepared.start.place + limit
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
