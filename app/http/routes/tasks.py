"""``/tasks``: start long work, watch it and cancel it; and uploads of any size, which become tasks."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import Body as RequestBody
from fastapi import Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse

from app.answers import described
from app.cursors import MAX_LISTED
from app.http.auth import Caller, CallerDependency, in_pool
from app.http.openapi import LINES, api_router, problems
from app.http.receiving import receive_file, receive_upload, task_or_wait
from app.http.responses import answer_response
from app.http.routes.calibrations import CalibrateBody
from app.http.routes.collections import RecipeBody
from app.http.schemas import CollectionPath
from app.requests import Body, CollectionName
from app.tasks.answers import KindName, TaskDescription, TaskPage
from app.tasks.service import TaskService
from indexer.catalog.phrases import require_phrases
from indexer.catalog.tasks import Status
from models.types import JsonValue

router = api_router(tags=["tasks"], responses=problems(401, 403, 422))
Id = Annotated[str, Path(description="The task's id.", max_length=200)]
Wait = Annotated[float, Query(ge=0, le=60, description="Seconds to wait for its end before the answer.")]
_Column = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
_READ = problems(404)
_WRITE = problems(404, 409, 507)


class _TaskBody(Body):
    collection: CollectionName = Field(description="The collection, or an alias.")


class TableQuery(BaseModel):
    """Options for reading a body of CSV; absent fields are detected."""

    model_config = ConfigDict(extra="forbid")

    id_column: _Column | None = Field(None, description="Column of ids; `id` without it.")
    text_column: _Column | None = Field(None, description="Column of texts; `text` without it.")
    part_column: _Column | None = Field(
        None, description="Rows of one id are the parts of one document, in this order."
    )
    metadata_columns: list[_Column] | None = Field(None, description="Columns of metadata; all others without it.")
    row_ids: _Column | None = Field(
        None, description="Make ids of this name and the row's number, such as `notes.csv:7`."
    )
    delimiter: Annotated[str, StringConstraints(min_length=1, max_length=1)] | None = Field(
        None, description="The sign between cells; detected without it."
    )
    quote: Annotated[str, StringConstraints(pattern=r"^(none|.)$")] | None = Field(
        None, description='The sign around cells, `"` without it; `none` for tables without quoting.'
    )
    typed: bool = Field(True, description="Read columns of numbers and of true and false as such.")

    def options(self) -> dict[str, JsonValue]:
        """The options that differ from their defaults."""
        return self.model_dump(exclude_defaults=True)


class FileQuery(TableQuery):
    """The name of a file, and options for reading it; absent fields are detected."""

    name: _Column = Field(
        description="Its name, which says by its ending what it is; the id of a file that is one document.",
        examples=["offer.pdf"],
    )
    encoding: _Column | None = Field(None, description="Encoding of tables and texts, as Python names it.")
    records: _Column | None = Field(None, description="Field of a JSON object that holds the records.")
    comments: bool = Field(False, description="Read comments of documents and slides, and notes stuck to a PDF.")

    def options(self) -> dict[str, JsonValue]:
        """The reading options that differ from their defaults."""
        return self.model_dump(exclude_defaults=True, exclude={"name"})


@dataclass(frozen=True, kw_only=True)
class ReindexTask(RecipeBody):
    """Bring a collection into another recipe; absent fields stay as they are."""

    kind: Literal["reindex"]
    collection: Annotated[CollectionName, described("The collection, or an alias.")]

    def options(self) -> dict[str, JsonValue]:
        """The options of the task."""
        return asdict(self.recipe())


class OptimizeTask(_TaskBody):
    """Merge the segments of a collection into as few as possible."""

    kind: Literal["optimize"]
    words: bool = Field(False, description="Add words to a collection that has none.")

    def options(self) -> dict[str, JsonValue]:
        """The options of the task."""
        return {"words": self.words}


class PurgeTask(_TaskBody):
    """Erase deleted and replaced documents from the disk."""

    kind: Literal["purge"]

    def options(self) -> dict[str, JsonValue]:
        """The options of the task."""
        return {}


class BackfillTask(_TaskBody):
    """Match saved phrases with the documents that are there."""

    kind: Literal["backfill"]
    phrases: list[str] = Field(min_length=1, max_length=20_000, description="The names of saved phrases.")

    def options(self) -> dict[str, JsonValue]:
        """The options of the task."""
        return {"phrases": list(self.phrases)}


class CalibrationTask(CalibrateBody):
    """Fit a calibration to labels."""

    kind: Literal["calibration"]
    collection: CollectionName = Field(description="The collection, or an alias.")

    def options(self) -> dict[str, JsonValue]:
        """The options of the task. Raises ``LabelsRefused`` for an invalid label."""
        self.request()
        return self.model_dump(exclude={"kind", "collection"})


NewTaskBody: TypeAlias = Annotated[
    ReindexTask | OptimizeTask | PurgeTask | BackfillTask | CalibrationTask,
    RequestBody(discriminator="kind", examples=[{"kind": "optimize", "collection": "sample"}]),
]
_QUEUED: dict[int | str, dict[str, Any]] = {202: {"model": TaskDescription, "description": "Accepted"}}
_SENT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {
                "schema": {"type": "string", "description": "A document a line; with Content-Encoding: gzip, packed."},
                "example": '{"id": "call-17", "text": "I want to cancel."}\n',
            },
            "text/csv": {
                "schema": {"type": "string", "description": "A row a document, or a part of one."},
                "example": "id,text,kind\ncall-17,I want to cancel.,call\n",
            },
        },
    }
}

_SENT_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "format": "binary", "description": "The bytes of the file."},
                "example": "I want to cancel.",
            }
        },
    }
}


@router.post(
    "/collections/{collection}/documents/import",
    tags=["documents"],
    status_code=202,
    response_model=TaskDescription,
    openapi_extra=_SENT,
    summary="Upload documents of any number",
    responses=problems(404, 409, 507),
)
async def import_documents(
    collection: CollectionPath,
    request: Request,
    caller: CallerDependency,
    table: Annotated[TableQuery, Query()],
) -> Response:
    """Receive documents as a stream, to the disk, and index them as a task: what is accepted will be indexed."""
    caller.require("index", collection)
    return answer_response(await receive_upload(request, caller.backend, collection, table.options()), 202)


@router.post(
    "/collections/{collection}/files",
    tags=["documents"],
    status_code=202,
    response_model=TaskDescription,
    openapi_extra=_SENT_FILE,
    summary="Upload a file of any format",
    responses=problems(404, 409, 507),
)
async def add_file(
    collection: CollectionPath, request: Request, caller: CallerDependency, file: Annotated[FileQuery, Query()]
) -> Response:
    """Receive a file as it is, and read and index it as a task: PDF, Office, e-mail, tables, text and others."""
    caller.require("index", collection)
    return answer_response(await receive_file(request, caller.backend, collection, file.name, file.options()), 202)


@router.post("/tasks", status_code=202, response_model=TaskDescription, summary="Start a task", responses=_WRITE)
@in_pool
def create_task(body: NewTaskBody, caller: CallerDependency) -> Response:
    """Queue long work. Tasks of one collection run one after the other, in their order."""
    caller.require("index" if body.kind == "backfill" else "admin", body.collection)
    if isinstance(body, BackfillTask):
        require_phrases(caller.backend.store.catalog, body.collection, body.phrases)
    size = len(to_json(body))
    return answer_response(caller.backend.get(TaskService).add(body.kind, body.collection, body.options(), size), 202)


@router.get("/tasks", response_model=TaskPage, summary="List tasks")
def list_tasks(
    caller: CallerDependency,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="Maximum number of tasks.")] = 100,
    cursor: Annotated[str | None, Query(description="The `cursor` of the previous page.")] = None,
    collection: Annotated[
        list[CollectionName] | None, Query(description="Only of this collection; repeat for several.")
    ] = None,
    kind: Annotated[list[KindName] | None, Query(description="Only of this kind; repeat for several.")] = None,
    status: Annotated[list[Status] | None, Query(description="Only of this status; repeat for several.")] = None,
) -> Response:
    """List the tasks of the collections that the caller may write to, the newest first."""
    caller.require_scope("index")
    visible = None if caller.key is None else caller.key.collections
    names = visible if collection is None else [name for name in collection if caller.may("index", name)]
    page = caller.backend.get(TaskService).list(
        limit, cursor, collections=names, kinds=kind or (), statuses=status or ()
    )
    return answer_response(page)


@router.get("/tasks/{id}", response_model=TaskDescription, summary="See a task", responses=_READ)
async def get_task(id: Id, caller: CallerDependency, wait: Wait = 0) -> Response:
    """Read a task's status, progress, counts and errors; with `wait`, once it has ended or the time is up."""
    caller.require_scope("index")
    return answer_response(await task_or_wait(caller.backend, id, wait, _visible(caller)))


@router.get(
    "/tasks/{id}/results",
    response_class=Response,
    summary="Read the results of an upload, line by line",
    responses={
        200: {"content": LINES, "description": "A result a line"},
        **_READ,
    },
)
async def get_task_results(id: Id, caller: CallerDependency) -> Response:
    """One result for each line, up to the last published one: `line`, `id`, `status` and, if it failed, `error`."""
    caller.require_scope("index")
    backend = caller.backend
    results = await backend.watching.run(partial(backend.get(TaskService).results, id, _visible(caller)))
    return StreamingResponse(results, media_type="application/x-ndjson")


@router.post("/tasks/{id}/cancel", response_model=TaskDescription, summary="Cancel a task", responses=_READ)
@in_pool
def cancel_task(id: Id, caller: CallerDependency) -> Response:
    """Cancel a task: at once while it waits, soon while it runs. What it has published stays."""
    caller.require_scope("index")
    return answer_response(caller.backend.get(TaskService).cancel(id, _visible(caller)))


def _visible(caller: Caller) -> Callable[[str], bool]:
    return lambda collection: caller.may("index", collection)
