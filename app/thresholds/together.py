"""Several phrases prepared as searches would be, but all for one snapshot and under one tuning."""

from collections.abc import Sequence
from dataclasses import replace

from app.search.service import Encoded, SearchService
from app.search.types import SearchRequest


def encode_together(service: SearchService, searches: Sequence[SearchRequest]) -> list[Encoded]:
    """The searches with their query vectors; what the first one met holds for all. At least one must be given."""
    first, *others = [service.prepare(search) for search in searches]
    alike = [
        replace(other, snapshot=first.snapshot, tuning=first.tuning, threshold=first.threshold) for other in others
    ]
    return service.encode([first, *alike])
