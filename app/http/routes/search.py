"""``/search``: spans that mean the same as an origin phrase."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from fastapi import Request
from pydantic import ValidationError
from starlette.responses import Response

from app.http.auth import Caller, CallerDependency, not_found_for
from app.http.field_errors import field_errors
from app.http.media_types import content_of, preferred_format
from app.http.openapi import api_router, problems
from app.http.problems import is_of_server
from app.http.responses import CURSOR_HEADER, answer_response, cursor_header, stream_response
from app.http.schemas import BadQuery, BatchBody
from app.requests import CollectionsRequest, ExportRequest, SearchRequest, with_verification
from app.search.answers import CollectionsAnswer, FailedQuery, QueryError, SearchAnswer, SearchAnswers
from app.search.export import FORMATS
from indexer.errors import CollectionNotFound
from models.errors import InvalidInput, SpanseekError
from models.text.checks import printable

router = api_router(prefix="/search", tags=["search"], responses=problems(401, 403, 404, 409, 422, 507))


@router.post(
    "",
    response_model=SearchAnswer,
    summary="Find the spans that mean the same as a phrase",
    responses=problems(410),
)
async def search(body: SearchRequest, caller: CallerDependency) -> Response:
    """Find the spans of a collection that are most similar to a text or a vector, best first."""
    request = confined(caller, body)
    backend = caller.backend
    return answer_response(await backend.search.search(with_verification(request), backend.limits.deadline_s))


@router.post("/batch", response_model=SearchAnswers, summary="Ask several queries at once")
async def search_batch(body: BatchBody, caller: CallerDependency) -> Response:
    """Answer several queries together, which is faster than one by one. A query that is invalid gets an error."""
    backend = caller.backend
    if len(body.queries) > backend.limits.batch:
        raise InvalidInput(
            f"The batch has {len(body.queries)} queries; at most {backend.limits.batch} are answered at once.",
            hint="Send them in several batches.",
            field="queries",
        )
    requests = [_request_or_error(query, caller) for query in body.checked()]
    good = [request for request in requests if isinstance(request, SearchRequest)]
    answers = iter(await backend.search.search_each(good, backend.limits.deadline_s))
    results = [next(answers) if isinstance(request, SearchRequest) else request for request in requests]
    for result in results:
        if isinstance(result, SpanseekError) and is_of_server(result):
            raise result
    return await asyncio.to_thread(_batch_response, results, caller)


@router.post("/collections", response_model=CollectionsAnswer, summary="Search several collections")
async def search_collections(body: CollectionsRequest, caller: CallerDependency) -> Response:
    """Find the best hits of several collections of one encoder, in one list."""
    for number, collection in enumerate(body.collections):
        caller.confine("search", collection, field=f"collections[{number}]")
    backend = caller.backend
    first = with_verification(confined(caller, body.first()))
    answer = await backend.search.search_several(first, body.collections, backend.limits.deadline_s)
    return await asyncio.to_thread(answer_response, answer)


@router.post(
    "/export",
    response_class=Response,
    summary="Read all hits of a query",
    responses={
        200: {
            "content": content_of(FORMATS),
            "description": "All hits",
            "headers": cursor_header("send it with the `rank` of the last hit as `offset`"),
        },
        **problems(406, 410),
    },
)
async def export_hits(body: ExportRequest, caller: CallerDependency, request: Request) -> Response:
    """Stream all hits of a query, all of one generation, in the format that `Accept` names; NDJSON without it.

    The last line of NDJSON, and the metadata `spanseek` of Parquet, say how many there are.
    """
    search = confined(caller, body.search())
    format = preferred_format(request.headers.get("accept"), FORMATS)
    backend = caller.backend
    export = await backend.search.export(search, backend.limits.write_deadline_s)
    headers = {CURSOR_HEADER: export.cursor} if export.cursor else {}
    return stream_response(format.pieces(export.items), format.media_type, headers)


def confined(caller: Caller, request: SearchRequest) -> SearchRequest:
    """A search of the documents that the caller may know of. Raises the errors of :meth:`Caller.confine`."""
    return replace(request, filter=caller.confine("search", request.collection, request.filter))


def _request_or_error(query: SearchRequest | BadQuery, caller: Caller) -> SearchRequest | SpanseekError:
    if isinstance(query, BadQuery):
        return _refusal(query.error)
    try:
        return confined(caller, query)
    except CollectionNotFound as error:
        return error


def _refusal(error: ValidationError | InvalidInput) -> InvalidInput:
    """The error of an invalid query, which names the first of the fields that are."""
    if isinstance(error, InvalidInput):
        return error
    name, message = next(field_errors(error.errors()))
    return InvalidInput(f"{name}: {message}", hint="/docs says what each field may be.", field=name)


def _batch_response(results: Sequence[SearchAnswer | SpanseekError], caller: Caller) -> Response:
    answers = (_failed(result, caller) if isinstance(result, SpanseekError) else result for result in results)
    return answer_response(SearchAnswers(tuple(answers)))


def _failed(error: SpanseekError, caller: Caller) -> FailedQuery:
    shown = not_found_for(caller.key, error) if isinstance(error, CollectionNotFound) else error
    field = None if shown.field is None else printable(shown.field)
    return FailedQuery(QueryError(shown.code, printable(str(shown)), printable(shown.hint), field))
