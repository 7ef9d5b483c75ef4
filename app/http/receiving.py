"""Receiving uploads to the disk, and waiting for tasks, without blocking the event loop."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from fastapi import Request
from pydantic_core import from_json, to_json

from app.answers import ItemError
from app.collections.documents import WrittenDocument, WrittenDocuments
from app.http.backend import Backend
from app.http.pools import Pool
from app.http.problems import BodyTooLarge, UnsupportedMediaType, media_type_of, unsupported
from app.http.uploads import Entry
from app.search.errors import QueueFull
from app.tasks.answers import TaskDescription
from app.tasks.service import TaskService, Upload
from app.tasks.spool import Ending
from indexer.catalog.names import is_document_id
from indexer.sources.formats import HINT, READERS, kind_of, unread
from indexer.sources.records import is_packed
from models.errors import InvalidInput
from models.types import Document, JsonValue

_PIECE: Final = 2**20
_FORMATS: Final[dict[str, Ending]] = {"application/x-ndjson": "ndjson", "text/csv": "csv"}
_HINT: Final = "Send application/x-ndjson or text/csv, with Content-Encoding: gzip if it is packed."


async def receive_upload(
    request: Request, backend: Backend, collection: str, table: Mapping[str, JsonValue]
) -> TaskDescription:
    """Receive a whole body and queue its task; a body that is cut off leaves nothing.

    ``table`` says how a body of CSV is read.

    Raises ``UnsupportedMediaType``, ``InvalidInput``, ``QueueFull``, ``TaskBacklogFull`` and ``StorageFull``.
    """
    media_type = media_type_of(request.headers.get("content-type", ""))
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if media_type not in _FORMATS or encoding not in ("gzip", "identity"):
        raise unsupported(media_type if media_type not in _FORMATS else f"Content-Encoding: {encoding}", _HINT)
    announced = _announced(request, backend.get(TaskService).backlog)
    packed = encoding == "gzip"
    upload = backend.get(TaskService).upload(collection, _FORMATS[media_type], announced, packed=packed, table=table)
    return await _received(request, backend, upload)


async def receive_file(
    request: Request, backend: Backend, collection: str, name: str, options: Mapping[str, JsonValue]
) -> TaskDescription:
    """Receive a file as it is, and queue its task. Its name says how it is read, and is nowhere a path.

    Raises ``UnsupportedMediaType`` for a name whose ending has no reader, and else as :func:`receive_upload`.
    """
    if not is_document_id(name):
        raise InvalidInput("The name cannot be an id.", hint="Use 1 to 512 characters without NUL.", field="name")
    kind = kind_of(Path(name))
    if kind not in READERS:
        hint = f"{reason}." if (reason := unread(kind)) else HINT
        raise UnsupportedMediaType(f"Files that end in {kind!r} are not read.", hint=hint, field="name")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise unsupported(f"Content-Encoding: {request.headers['content-encoding']}", "Send the file as it is.")
    announced, packed = _announced(request, backend.get(TaskService).backlog), is_packed(name)
    upload = backend.get(TaskService).upload(collection, kind[1:], announced, packed=packed, table=options, name=name)
    return await _received(request, backend, upload)


def _announced(request: Request, most: int) -> int:
    length = request.headers.get("content-length", "")
    announced = int(length) if length.isdigit() else 0
    if announced > most:
        raise BodyTooLarge(f"An upload may have {most:,} bytes.", hint="Send it in several parts.")
    return announced


async def _received(request: Request, backend: Backend, upload: Upload) -> TaskDescription:
    with backend.arrivals.taken():
        try:
            await backend.receiving.run(upload.begin)
            await _write(request, upload, backend.receiving)
            return await backend.receiving.run(upload.finish)
        except BaseException:
            await asyncio.shield(backend.receiving.run(upload.abandon))
            raise


async def _write(request: Request, upload: Upload, pool: Pool) -> None:
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        pieces.append(piece)
        size += len(piece)
        if size >= _PIECE:
            await pool.run(partial(upload.write, b"".join(pieces)))
            pieces, size = [], 0
    await pool.run(partial(upload.write, b"".join(pieces)))


async def task_or_wait(backend: Backend, id: str, seconds: float, is_visible: Callable[[str], bool]) -> TaskDescription:
    """The task, once it has ended or the time is up. Raises ``TaskNotFound``, and ``QueueFull`` if too many wait."""
    task = await backend.watching.run(partial(backend.get(TaskService).get, id, is_visible))
    return await backend.watch.wait(task, min(seconds, backend.limits.write_deadline_s))


async def followed(backend: Backend, task: TaskDescription, seconds: float) -> TaskDescription:
    """A task that was just queued, once it has ended, or the time is up, or at once if too many wait already."""
    try:
        return await backend.watch.wait(task, min(seconds, backend.limits.write_deadline_s))
    except QueueFull:
        return task


async def upload_as_task(
    backend: Backend, collection: str, items: Sequence[Entry]
) -> WrittenDocuments | TaskDescription:
    """Index documents as a task: their results if it is done in time, else the task, which goes on."""
    tasks = backend.get(TaskService)
    with backend.arrivals.taken():
        task = await backend.receiving.run(partial(_queue, tasks, collection, items))
    task = await followed(backend, task, backend.limits.write_deadline_s)
    if task.status != "done" or task.result is None:
        return task
    results = await backend.watching.run(lambda: b"".join(tasks.results(task.id)).splitlines())
    answers = iter(_answer(from_json(line)) for line in results)
    written = [
        next(answers) if isinstance(item, Document) else WrittenDocument.refused(item.id, item.error) for item in items
    ]
    return WrittenDocuments(tuple(written), task.result["generation"])


def _queue(tasks: TaskService, collection: str, items: Iterable[Entry]) -> TaskDescription:
    upload = tasks.upload(collection, "ndjson")
    try:
        upload.begin()
        for item in items:
            if isinstance(item, Document):
                upload.write(to_json(_value(item)) + b"\n")
        return upload.finish()
    except BaseException:
        upload.abandon()
        raise


def _value(document: Document) -> dict[str, object]:
    parts = [{"text": part.text, "metadata": part.metadata} for part in document.parts]
    return {"id": document.id, "parts": parts, "metadata": document.metadata}


def _answer(value: dict[str, Any]) -> WrittenDocument:
    error = value.get("error")
    return WrittenDocument(value["id"], value["status"], None if error is None else ItemError(**error))
