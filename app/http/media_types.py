"""The format of an answer that a request prefers, by its header ``Accept``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from app.http.problems import NotAcceptable
from app.tabular import ExportFormat, Format

Item = TypeVar("Item")

_SCHEMAS: Mapping[Format, dict[str, str]] = {
    "ndjson": {"type": "string"},
    "csv": {"type": "string"},
    "xlsx": {"type": "string", "format": "binary"},
    "parquet": {"type": "string", "format": "binary"},
}


def content_of(formats: Mapping[Format, ExportFormat[Item]]) -> dict[str, Any]:
    """The ``content`` of an answer in one of several formats, for the OpenAPI document."""
    return {each.media_type: {"schema": _SCHEMAS[name]} for name, each in formats.items()}


def preferred_format(accept: str | None, formats: Mapping[Format, ExportFormat[Item]]) -> ExportFormat[Item]:
    """The format that ``Accept`` ranks highest; the first without it. Raises ``NotAcceptable`` if it has none."""
    of = {each.media_type: each for each in formats.values()}
    return of[preferred(accept, list(of))]


def preferred(accept: str | None, media_types: Sequence[str]) -> str:
    """The media type that ``Accept`` ranks highest; of equals the first. Raises ``NotAcceptable`` if it has none.

    >>> preferred("text/csv;q=0.5, application/*", ["application/x-ndjson", "text/csv"])
    'application/x-ndjson'
    >>> preferred(None, ["application/x-ndjson", "text/csv"])
    'application/x-ndjson'
    """
    ranges = list(_ranges(accept or "*/*"))
    best = max(media_types, key=lambda media_type: _quality(media_type, ranges))
    if _quality(best, ranges) <= 0:
        raise NotAcceptable(media_types)
    return best


def _ranges(accept: str) -> Iterator[tuple[str, float]]:
    """The media ranges of a header with their qualities; those that cannot be read are left out."""
    for item in accept.lower().split(","):
        media_range, *parameters = (each.strip() for each in item.split(";"))
        quality = next((each.removeprefix("q=") for each in parameters if each.startswith("q=")), "1")
        try:
            yield media_range, float(quality)
        except ValueError:
            continue


def _quality(media_type: str, ranges: Iterable[tuple[str, float]]) -> float:
    """The quality of the most specific range that holds a media type; 0 without one."""
    kind = media_type.partition("/")[0]
    of = dict(ranges)
    return next((of[name] for name in (media_type, f"{kind}/*", "*/*") if name in of), 0.0)
