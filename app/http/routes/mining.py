"""``/mine``: all hits of thousands of phrases, as a task."""

from typing import Annotated, Any

from fastapi import Path, Request
from pydantic_core import from_json
from starlette.responses import FileResponse, Response

from app.http.auth import CallerDependency, in_pool
from app.http.openapi import api_router, file_of, problems
from app.http.responses import answer_response
from app.mining.mining import MiningService
from app.mining.tables import TableName, check_format
from app.requests import MiningRequest
from app.tabular import MEDIA_TYPES
from app.tasks.answers import TaskDescription
from app.tasks.service import TaskService

router = api_router(prefix="/mine", tags=["search"], responses=problems(401, 403, 404, 409, 422))
Id = Annotated[str, Path(description="The task's id.", max_length=200)]
Table = Annotated[TableName, Path(description="`hits`, their `counts`, or `copies`, the near-copies of the phrases.")]

_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The table, in the form that was asked for",
        "content": {
            media_type: {"schema": {"type": "string"}} if form in ("ndjson", "csv") else file_of(media_type)[media_type]
            for form, media_type in MEDIA_TYPES.items()
        },
    }
}


@router.post("", status_code=202, response_model=TaskDescription, summary="Mine phrases", responses=problems(507))
async def mine(body: MiningRequest, request: Request, caller: CallerDependency) -> Response:
    """Queue a task that finds all hits above a threshold of up to 10,000 phrases, from few passes over memory.

    The key needs the scopes search and index: by the latter tasks are seen.
    """
    caller.require("search", body.collection)
    caller.require("index", body.collection)
    check_format(body.format)
    raw, backend = await request.body(), caller.backend

    def add() -> TaskDescription:
        backend.get(MiningService).check(body)
        return backend.get(TaskService).add("mine", body.collection, {"request": from_json(raw)}, len(raw))

    return answer_response(await backend.write(add), 202)


@router.get("/{id}/{table}", response_class=Response, summary="Read a table of a mining", responses=_FILE)
@in_pool
def get_mined(id: Id, table: Table, caller: CallerDependency) -> Response:
    """Send a table of a mining that is done; ranges are supported."""
    caller.require_scope("search")
    caller.require_scope("index")
    path, form = caller.backend.get(TaskService).table(
        id, table, lambda name: caller.may("search", name) and caller.may("index", name)
    )
    return FileResponse(path, media_type=MEDIA_TYPES[form], filename=f"{table}-{id}.{form}")
