"""All hits of one search, as lines."""

from collections.abc import Iterator
from dataclasses import replace

from app.answers import to_json
from app.requests import MAX_EXPORT, MAX_JUDGED, SearchRequest
from app.search.answers import ExportEnd
from app.search.literal import Found
from app.search.service import Encoded, SearchService, degraded, filtered
from app.search.types import Hit
from models.errors import InvalidInput

# Hits whose texts are in memory at once.
_PAGE = 500


def exported(service: SearchService, encoded: Encoded, results: Found, limit: int) -> Iterator[Hit | ExportEnd]:
    """The first ``limit`` hits, best first, and their number; ``results`` has one more, if there is one.

    Of a request for likely hits these are judged as they are taken, and the others left out. Raises ``InvalidInput``
    for more than can be judged, and for a threshold that only judged hits have.
    """
    if encoded.prepared.request.likely and limit > MAX_JUDGED:
        raise InvalidInput(
            f"To find the likely ones of {limit:,} hits, all are judged; at most {MAX_JUDGED:,} are.",
            hint=f"Set limit to {MAX_JUDGED} or less.",
            field="limit",
        )
    encoded.prepared.require_number()
    return _exported(service, encoded, results, limit)


def _exported(service: SearchService, encoded: Encoded, results: Found, limit: int) -> Iterator[Hit | ExportEnd]:
    count = 0
    for page in service.pages(encoded, results, limit, _PAGE):
        count += len(page)
        yield from page
    prepared = encoded.prepared
    snapshot = prepared.snapshot
    complete = len(results) <= limit
    left = filtered(snapshot, prepared.request.filter)
    yield ExportEnd(count, complete, snapshot.generation.number, prepared.threshold, degraded(snapshot), left)


def export(service: SearchService, request: SearchRequest, limit: int = MAX_EXPORT) -> Iterator[Hit | ExportEnd]:
    """The first ``limit`` hits of a request, and their number."""
    encoded = service.encode([service.prepare(replace(request, top_k=limit + 1, verify=None))])
    (results,) = service.scan(encoded)
    return exported(service, encoded[0], results, limit)


def export_lines(items: Iterator[Hit | ExportEnd]) -> Iterator[bytes]:
    """Each item as a line of JSON."""
    for item in items:
        yield to_json(item) + b"\n"
