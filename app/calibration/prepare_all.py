"""Prepare several phrases for one snapshot and one tuning."""

from collections.abc import Sequence
from dataclasses import replace

from app.requests import SearchRequest
from app.search.request_plan import AnyPrepared
from app.search.service import SearchService


def prepare_all(
    service: SearchService, searches: Sequence[SearchRequest], *, check_filter: bool = True
) -> list[AnyPrepared]:
    """The prepared searches, all with the snapshot, tuning and threshold of the first. At least one is required."""
    first, *others = [service.prepare(search, check_filter=check_filter) for search in searches]
    shared = [
        replace(other, snapshot=first.snapshot, tuning=first.tuning, threshold=first.threshold) for other in others
    ]
    return [first, *shared]
