"""``/search``: spans that mean the same as an origin phrase."""

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.responses import answer_response
from app.http.schemas import BatchBody, SearchBody
from app.search.types import SearchAnswer, SearchAnswers
from models.errors import InvalidInput

router = APIRouter(
    prefix="/search", tags=["search"], responses=problems(400, 401, 403, 404, 409, 413, 422, 429, 503, 504, 507)
)


@router.post("", response_model=SearchAnswer, summary="Find the spans that mean the same as a phrase")
async def search(body: SearchBody, caller: CallerDependency) -> Response:
    """Find the spans of a collection that are most similar to a text or a vector, best first."""
    caller.require("search", body.collection)
    backend = caller.backend
    return answer_response(await backend.search.search(body.request(), backend.limits.deadline_s))


@router.post("/batch", response_model=SearchAnswers, summary="Ask several queries at once")
async def search_batch(body: BatchBody, caller: CallerDependency) -> Response:
    """Answer several queries together, which is faster than one by one. If one is invalid, all fail."""
    backend = caller.backend
    if len(body.queries) > backend.limits.batch:
        raise InvalidInput(
            f"The batch has {len(body.queries)} queries; at most {backend.limits.batch} are answered at once.",
            hint="Send them in several batches.",
            field="queries",
        )
    for number, query in enumerate(body.queries):
        caller.require("search", query.collection, f"queries[{number}].collection")
    requests = [query.request() for query in body.queries]
    answers = await backend.search.search_all(requests, backend.limits.deadline_s)
    return await asyncio.to_thread(answer_response, SearchAnswers(tuple(answers)))
