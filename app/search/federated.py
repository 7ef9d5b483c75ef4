"""One search over several collections of one encoder, whose scores compare."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from app.requests import SearchRequest
from app.search.answers import CollectionsAnswer, Hit, SearchAnswer, SearchedCollection
from app.search.mode import available_mode
from app.search.service import SearchService
from app.search.verification.ordering import order_of
from models.errors import InvalidInput, SpanseekError


def requests_of(service: SearchService, request: SearchRequest, collections: Sequence[str]) -> list[SearchRequest]:
    """The request for each of the collections, each for a page that begins with the first hit.

    Raises ``InvalidInput`` for one that is named twice, or that scores by another encoder than the first.
    """
    first: str | None = None
    names: set[str] = set()
    for number, collection in enumerate(collections):
        field = f"collections[{number}]"
        try:
            name, recipe = service.recipe(collection)
        except SpanseekError as error:
            raise located(error, number) from error
        mode = available_mode(service.modes, request.mode, collection, recipe)
        fingerprint = mode.fingerprint(recipe)
        if name in names:
            raise InvalidInput(f"The collection {collection} is named twice.", hint="Name it once.", field=field)
        if first is not None and fingerprint != first:
            raise InvalidInput(
                f"The scores of {collection} do not compare with those of {collections[0]}: the encoders differ.",
                hint="Search them by one request each, or reindex one of them.",
                field=field,
            )
        first = fingerprint
        names.add(name)
    most = request.top_k + request.offset
    verify = -(-request.read // len(collections))  # each takes its share of verification
    return [replace(request, collection=name, top_k=most, offset=0, verify=verify) for name in collections]


def located(error: SpanseekError, number: int) -> SpanseekError:
    """An error of one of the collections, which names it in the list if it named the collection."""
    if error.field != "collection":
        return error
    located = copy(error)  # a lane may give one error to many callers
    located.field = f"collections[{number}]"
    return located


def merged(request: SearchRequest, collections: Sequence[str], answers: Sequence[SearchAnswer]) -> CollectionsAnswer:
    """The best hits of all answers: exact ones, likely ones, then the others (``rank_key``).

    Equal ones are in the order of collections, then of hits.
    """
    hits: list[Hit] = [
        replace(hit, collection=name) for name, answer in zip(collections, answers, strict=True) for hit in answer.hits
    ]
    best = sorted(hits, key=order_of)[request.offset : request.offset + request.top_k]
    ranked = tuple(replace(hit, rank=rank) for rank, hit in enumerate(best, request.offset + 1))
    searched = tuple(
        SearchedCollection(
            name,
            answer.generation,
            answer.threshold,
            answer.degraded,
            answer.filtered,
            answer.total,
            answer.verified,
            answer.likely,
        )
        for name, answer in zip(collections, answers, strict=True)
    )
    return CollectionsAnswer(ranked, searched, max(answer.took_ms for answer in answers))


def search_several(service: SearchService, request: SearchRequest, collections: Sequence[str]) -> CollectionsAnswer:
    """Search several collections together."""
    return merged(request, collections, service.search(*requests_of(service, request, collections)))
