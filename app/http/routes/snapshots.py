"""``/admin/collections/{collection}/snapshots``: snapshots in the data folder."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import ConfigDict, Field
from starlette.responses import FileResponse, Response

from app.collections.snapshots import SnapshotDescription, SnapshotList, SnapshotService
from app.http.auth import CallerDependency, in_pool
from app.http.openapi import api_router, file_of, problems
from app.http.receiving import followed
from app.http.responses import answer_response
from app.requests import Body, CollectionName
from app.tasks.answers import TaskDescription
from app.tasks.service import TaskService

router = api_router(
    prefix="/admin/collections/{collection}/snapshots", tags=["snapshots"], responses=problems(401, 403, 404, 422)
)
Name = Annotated[CollectionName, Path(description="The collection, also one that was deleted.")]
Id = Annotated[str, Path(description="The snapshot's id.", max_length=200)]
Wait = Annotated[float, Query(ge=0, le=60, description="Seconds to wait for its end before the answer.")]
_WRITE = problems(400, 409, 413, 507)


class RestoreSnapshotBody(Body):
    """The name of the collection to make."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "calls-restored"}]})

    name: CollectionName | None = Field(
        None, description="A new name; by default the name of the snapshot's collection."
    )


@router.get("", response_model=SnapshotList, summary="List snapshots")
def list_snapshots(collection: Name, caller: CallerDependency) -> Response:
    """List the snapshots of a collection in the data folder, the newest first."""
    caller.require("admin", collection)
    return answer_response(caller.backend.get(SnapshotService).list(collection))


@router.post("", status_code=202, response_model=TaskDescription, summary="Make a snapshot", responses=_WRITE)
async def create_snapshot(collection: Name, caller: CallerDependency, wait: Wait = 0) -> Response:
    """Queue a task that makes a snapshot while the collection is searched and written to."""
    caller.require("admin", collection)
    backend = caller.backend
    task = await backend.write(lambda: backend.get(TaskService).add("snapshot", collection, {}))
    return answer_response(await followed(backend, task, wait), 202)


@router.get(
    "/{id}",
    response_class=Response,
    summary="Download a snapshot",
    responses={200: {"content": file_of("application/x-tar"), "description": "The file of the snapshot"}},
)
def download_snapshot(collection: Name, id: Id, caller: CallerDependency) -> Response:
    """Send the file of a snapshot, which `spanseek snapshot restore` reads; ranges are supported."""
    caller.require("admin", collection)
    path = caller.backend.get(SnapshotService).path(collection, id)
    return FileResponse(path, media_type="application/x-tar", filename=f"{collection}-{id}.tar")


@router.delete("/{id}", response_model=SnapshotDescription, summary="Delete a snapshot")
@in_pool
def delete_snapshot(collection: Name, id: Id, caller: CallerDependency) -> Response:
    """Delete the file of a snapshot; the answer says what it held."""
    caller.require("admin", collection)
    snapshots = caller.backend.get(SnapshotService)
    description = snapshots.get(collection, id)
    snapshots.delete(collection, id)
    return answer_response(description)


@router.post("/{id}/restore", status_code=202, response_model=TaskDescription, summary="Restore", responses=_WRITE)
async def restore_snapshot(
    collection: Name, id: Id, body: RestoreSnapshotBody, caller: CallerDependency, wait: Wait = 0
) -> Response:
    """Queue a task that restores a snapshot as a new collection, with thresholds, phrases and calibrations."""
    name = body.name or collection
    caller.require("admin", collection)
    if body.name is not None:
        caller.require_name(name, "name")
    backend = caller.backend

    def queue() -> TaskDescription:
        backend.get(SnapshotService).get(collection, id)
        return backend.get(TaskService).add_restore(collection, id, name)

    return answer_response(await followed(backend, await backend.write(queue), wait), 202)
