"""``/spans``: the best spans of texts that the request contains."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from app.http.auth import CallerDependency
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.texts.requests import SpansRequest
from app.texts.span_answers import SpansAnswer

router = api_router(tags=["search"], responses=problems(401, 403, 422))


@router.post("/spans", response_model=SpansAnswer, summary="Find the best spans of texts that are not indexed")
async def find_spans(body: SpansRequest, caller: CallerDependency, request: Request) -> Response:
    """Find the spans of every given text that mean the same as a phrase. Nothing is stored."""
    caller.require_scope("search", confined=True)  # the texts are the caller's own
    backend = caller.backend
    answer = await backend.spans.find(body, backend.limits.write_deadline_s, request.is_disconnected)
    return await asyncio.to_thread(answer_response, answer)
