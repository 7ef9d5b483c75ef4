"""Reading requests: the options that a mode accepts, given vectors, lengths of spans, and queries without meaning."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NoReturn

import numpy as np
from jaxtyping import Float32

from app.requests import SearchRequest, SpanChoice
from app.search.mode import AnyMode
from indexer.types import Recipe
from models.errors import InvalidInput
from models.ops.similarity import normalize
from models.text.words import words
from models.types import SpanBounds

# Sounds of hesitation in English, German, French and Spanish, folded.
_FILLERS: Final = frozenset(
    ["ah", "ahem", "äh", "ähm", "eh", "ehm", "em", "er", "erm", "euh", "hm", "hmm", "mhm", "mm"]
) | {
    "uh",
    "uhm",
    "um",
    "umm",
}


def read_request(mode: AnyMode, request: SearchRequest, recipe: Recipe) -> object:
    """The request as its mode reads it. Raises ``InvalidInput`` for an option that the mode does not accept."""
    check_accepted(mode, request)
    return mode.read(request, recipe)


def check_accepted(mode: AnyMode, request: SearchRequest) -> None:
    """Raise ``InvalidInput``, with the field, for the first option that the mode does not accept."""
    for refusal in _refusals(mode, request):
        raise refusal


def _refusals(mode: AnyMode, request: SearchRequest) -> Iterator[InvalidInput]:
    accepts, spans, noun = mode.accepts, request.spans, f"{mode.presented.unit}s"
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


def query_vector(request: SearchRequest, dim: int) -> Float32[np.ndarray, " dim"]:
    """The vector of a request, at length 1. Raises ``InvalidInput`` for a wrong dimension, NaN, infinity and zero.

    >>> query_vector(SearchRequest("calls", vector=(3e200, 4e200)), 2).tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    vector = np.array(request.vector, np.float64)
    if vector.shape != (dim,):
        raise InvalidInput(
            f"The vector has {vector.size} numbers; the collection's vectors have {dim}.",
            field="vector",
        )
    if not np.isfinite(vector).all():
        raise InvalidInput("The vector holds a number that is not finite.", field="vector")
    largest = np.abs(vector).max()
    if largest == 0:
        raise InvalidInput("The vector is zero and has no direction.", field="vector")
    # Scaled first, so that the squares of very large or small numbers neither overflow nor vanish.
    return normalize(vector / largest).astype(np.float32)


def check_span_choice(spans: SpanChoice, bounds: SpanBounds) -> None:
    """Raise ``InvalidInput`` for lengths that the collection's spans do not have; whole spans may have any."""
    given = [units for units in (spans.min_units, spans.max_units) if units is not None]
    if given != sorted(given) or any(units < 1 for units in given):
        _refuse_lengths("min_units must be at least 1, and at most max_units")
    if spans.boundaries == "any" and not all(bounds.shortest <= units <= bounds.longest for units in given):
        _refuse_lengths(f"the spans of this collection have {bounds.shortest} to {bounds.longest} units")


def _refuse_lengths(reason: str) -> NoReturn:
    raise InvalidInput(
        f"These lengths of spans cannot be searched: {reason}.",
        hint="Choose other lengths, or whole clauses, sentences or parts, which may have any.",
        field="spans",
    )


def notice_of(text: str | None) -> str | None:
    """The notice for a query without words; None for all others.

    >>> notice_of("."), notice_of("cancel, um")
    ('The query holds no words: its signs are searched for.', None)
    >>> notice_of("Um... uh")
    'The query holds only fillers: its hits have no meaning in common.'
    """
    if text is None:
        return None
    found = words(text)
    if not found:
        return "The query holds no words: its signs are searched for."
    if _FILLERS.issuperset(found):
        return "The query holds only fillers: its hits have no meaning in common."
    return None
