"""All hits of one search, as lines."""

from collections.abc import Iterator
from dataclasses import replace

from app.answers import to_json
from app.requests import MAX_EXPORT, SearchRequest
from app.search.answers import ExportEnd
from app.search.literal import Found
from app.search.service import Encoded, SearchService, degraded, filtered
from app.search.types import Hit

# Hits whose texts are in memory at once.
_PAGE = 500


def exported(service: SearchService, encoded: Encoded, results: Found, limit: int) -> Iterator[Hit | ExportEnd]:
    """The first ``limit`` hits, best first, and their number; ``results`` has one more, if there is one."""
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
    encoded = service.encode([service.prepare(replace(request, top_k=limit + 1))])
    (results,) = service.scan(encoded)
    return exported(service, encoded[0], results, limit)


def export_lines(items: Iterator[Hit | ExportEnd]) -> Iterator[bytes]:
    """Each item as a line of JSON."""
    for item in items:
        yield to_json(item) + b"\n"
