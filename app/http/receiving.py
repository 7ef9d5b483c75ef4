"""Receiving uploads to the disk, and waiting for tasks, without blocking the event loop."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from fastapi import Request
from pydantic_core import from_json, to_json

from app.answers import ItemError
from app.collections.documents import WrittenDocument, WrittenDocuments
from app.http.problems import BodyTooLarge, media_type_of, unsupported
from app.http.uploads import Entry
from app.tasks.answers import TaskDescription
from app.tasks.service import TaskService, Upload
from app.tasks.spool import Format
from models.types import Document, JsonValue

_PIECE: Final = 2**20
_FORMATS: Final[dict[str, Format]] = {"application/x-ndjson": "ndjson", "text/csv": "csv"}
_HINT: Final = "Send application/x-ndjson or text/csv, with Content-Encoding: gzip if it is packed."
_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.25


async def receive_upload(
    request: Request, tasks: TaskService, collection: str, table: Mapping[str, JsonValue]
) -> TaskDescription:
    """Receive a whole body and queue its task; a body that is cut off leaves nothing.

    ``table`` says how a body of CSV is read.

    Raises ``UnsupportedMediaType``, ``InvalidInput``, ``TaskBacklogFull`` and ``StorageFull``.
    """
    media_type = media_type_of(request.headers.get("content-type", ""))
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if media_type not in _FORMATS or encoding not in ("gzip", "identity"):
        raise unsupported(media_type if media_type not in _FORMATS else f"Content-Encoding: {encoding}", _HINT)
    length = request.headers.get("content-length", "")
    announced = int(length) if length.isdigit() else 0
    if announced > tasks.backlog:
        raise BodyTooLarge(f"An upload may have {tasks.backlog:,} bytes.", hint="Send it in several parts.")
    upload = tasks.upload(collection, _FORMATS[media_type], announced, packed=encoding == "gzip", table=table)
    try:
        await asyncio.to_thread(upload.begin)
        await _write(request, upload)
        return await asyncio.to_thread(upload.finish)
    except BaseException:
        await asyncio.shield(asyncio.to_thread(upload.abandon))
        raise


async def _write(request: Request, upload: Upload) -> None:
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        pieces.append(piece)
        size += len(piece)
        if size >= _PIECE:
            await asyncio.to_thread(upload.write, b"".join(pieces))
            pieces, size = [], 0
    await asyncio.to_thread(upload.write, b"".join(pieces))


async def wait_for_task(
    tasks: TaskService, id: str, seconds: float, is_visible: Callable[[str], bool] = lambda name: True
) -> TaskDescription:
    """The task, once it has ended or the time is up. Raises ``TaskNotFound``."""
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + seconds, _FIRST_PAUSE_S
    while True:
        task = await asyncio.to_thread(tasks.get, id, is_visible)
        left = end - loop.time()
        if task.has_ended or left <= 0:
            return task
        await asyncio.sleep(min(pause, left))
        pause = min(2 * pause, _LONGEST_PAUSE_S)


async def upload_as_task(
    tasks: TaskService, collection: str, items: Sequence[Entry], seconds: float
) -> WrittenDocuments | TaskDescription:
    """Index documents as a task: their results if it is done in time, else the task, which goes on."""
    task = await asyncio.to_thread(_queue, tasks, collection, items)
    task = await wait_for_task(tasks, task.id, seconds)
    if task.status != "done" or task.result is None:
        return task
    results = await asyncio.to_thread(lambda: b"".join(tasks.results(task.id)).splitlines())
    answers = iter(_answer(from_json(line)) for line in results)
    written = [next(answers) if isinstance(item, Document) else _refused(item) for item in items]
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


def _refused(item: Entry) -> WrittenDocument:
    if isinstance(item, Document):
        raise AssertionError("a document was not refused")
    return WrittenDocument.refused(item.id, item.error)
