"""Several phrases prepared as searches would be, but all for one snapshot and under one tuning."""

from collections.abc import Sequence
from dataclasses import replace

from app.search.service import Prepared, SearchService
from app.search.types import SearchRequest


def prepare_all(service: SearchService, searches: Sequence[SearchRequest]) -> list[Prepared]:
    """The searches, prepared; what the first one met holds for all. At least one must be given."""
    first, *others = [service.prepare(search) for search in searches]
    alike = [
        replace(other, snapshot=first.snapshot, tuning=first.tuning, threshold=first.threshold) for other in others
    ]
    return [first, *alike]
