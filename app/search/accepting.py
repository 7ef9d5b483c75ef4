"""The options that a mode accepts, checked for all modes in one place."""

from collections.abc import Iterator
from dataclasses import replace

from app.requests import SearchRequest, SpanChoice
from app.search.mode import AnyMode
from indexer.types import Recipe
from models.errors import InvalidInput


def read_request(mode: AnyMode, request: SearchRequest, recipe: Recipe) -> object:
    """The request as its mode reads it. Raises ``InvalidInput`` for an option that the mode does not accept."""
    check_accepted(mode, request)
    return mode.read(request, recipe)


def check_accepted(mode: AnyMode, request: SearchRequest) -> None:
    """Raise ``InvalidInput``, with the field, for the first option that the mode does not accept."""
    for refusal in _refusals(mode, request):
        raise refusal


def _refusals(mode: AnyMode, request: SearchRequest) -> Iterator[InvalidInput]:
    accepts, spans, noun = mode.accepts, request.spans, f"{mode.unit}s"
    if request.text is None and not accepts.vector:
        yield _refused(mode, "reads words, which a vector does not have", "Give a text", "vector")
    if request.stemming and not accepts.stemming:
        yield _refused(mode, "compares meanings, which have no stems", "Leave stemming out", "stemming")
    if request.group_by is not None and request.group_by not in accepts.grouping:
        yield _refused(mode, f"finds {noun}, which cannot be grouped by {request.group_by}", "Leave it out", "group_by")
    if spans.boundaries not in accepts.boundaries:
        wholes = f"finds no whole {spans.boundaries}s"
        yield _refused(mode, wholes, "Leave boundaries out", "spans")
    if not accepts.lengths and replace(spans, boundaries="any") != SpanChoice():
        yield _refused(mode, f"finds whole {noun} of any length", "Leave lengths out", "spans")
    if request.context and not accepts.context:
        yield _refused(mode, f"finds whole {noun}, which have no context", "Leave context out", "context")
    if request.query_units is not None and (request.text is not None or not accepts.query_units):
        yield _refused(mode, "takes the units of a vector alone, if any", "Leave query_units out", "query_units")


def _refused(mode: AnyMode, reason: str, instead: str, field: str) -> InvalidInput:
    return InvalidInput(f"Mode {mode.name} {reason}.", hint=f"{instead}, or search in another mode.", field=field)
