"""Queueing, reading and cancelling tasks, and receiving the bodies of uploads."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, Self, get_args

from app.cursors import check_limit, cursor_at, position_of
from app.mining.tables import TableName, table_of
from app.services import Services
from app.tabular import Format
from app.tasks.answers import KindName, TaskDescription, TaskPage
from app.tasks.kinds import kind_named, undone
from app.tasks.spool import BodyWriter, Ending, Spool
from indexer.catalog.tasks import (
    STATUSES,
    NewTask,
    Status,
    Task,
    add_task,
    cancel_task,
    forget_task,
    get_task,
    get_tasks,
    grow_task,
    list_tasks,
    new_task_id,
    received,
)
from indexer.errors import TaskNotFound, TaskUnfinished, TextNotStored
from indexer.store import Store
from indexer.types import Collection
from models.errors import InvalidInput, SpanseekError
from models.types import JsonValue

_SEE_TASK: Final = "`GET /tasks/{id}?wait=60` waits for it, and says what it has met."
# Bytes of a body between two looks at the backlog.
_GROWTH: Final = 8 * 2**20
# Seconds between two signs of life of a body that arrives slowly.
_RENEWAL_S: Final = 60.0


class TaskService:
    """The tasks of one store. ``backlog`` is how many bytes those that have not ended may hold together.

    ``queued`` is called when a task can run, and ``ended`` when a worker of this process has ended one.
    """

    def __init__(self, store: Store, *, backlog: int) -> None:
        self._store = store
        self.backlog = backlog
        self.queued: Callable[[], object] = _nobody
        self.ended: Callable[[], object] = _nobody
        self._abandoned: set[str] = set()

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store, backlog=services.settings.task_backlog_bytes)

    def spool(self, id: str) -> Spool:
        """The files of a task."""
        return Spool(spool_root(self._store) / id)

    def add(self, kind: KindName, collection: str, options: Mapping[str, JsonValue], size: int = 0) -> TaskDescription:
        """Queue a task.

        Raises ``CollectionNotFound``, ``TextNotStored`` for labels by text of a collection that does not store texts,
        and ``TaskBacklogFull``.
        """
        target = self._store.catalog.collection(collection)
        if not target.recipe.stores_text:
            _refuse_texts(kind, collection, options)
        return self._queue(NewTask(kind, collection, target.id, options, size))

    def add_restore(self, collection: str, snapshot: str, name: str) -> TaskDescription:
        """Queue the restoring of a snapshot, whose collection need not exist. Raises ``TaskBacklogFull``."""
        return self._queue(NewTask("restore", collection, "", {"snapshot": snapshot, "name": name}))

    def _queue(self, new: NewTask) -> TaskDescription:
        task = add_task(self._store.catalog, new_task_id(), new, limit=self.backlog)
        self.queued()
        return described(task)

    def upload(
        self,
        collection: str,
        format: Ending,
        announced: int = 0,
        *,
        packed: bool = False,
        table: Mapping[str, JsonValue] | None = None,
        name: str = "",
    ) -> "Upload":
        """A body that is about to arrive; ``table`` says how one of CSV is read, as ``ReadOptions`` do.

        ``name`` is that of a file, which is read as `spanseek index` reads it.
        """
        body = {"format": format, "packed": packed, "table": dict(table or {}), "name": name}
        return Upload(self, self._store, collection, body, announced)

    def forget(self, id: str) -> None:
        """Remove a body that was not accepted, and return its bytes to the backlog; as soon as the catalog answers."""
        self._abandoned.add(id)
        self.forget_abandoned()

    def forget_abandoned(self) -> None:
        """Forget the bodies that could not be forgotten while the catalog did not answer."""
        for id in tuple(self._abandoned):
            forget_task(self._store.catalog, id)
            # Not before: if its row was queued after all, it is still promised.
            self.spool(id).remove()
            self._abandoned.discard(id)

    def get(self, id: str, is_visible: Callable[[str], bool] = lambda name: True) -> TaskDescription:
        """A task as it is now. Raises ``TaskNotFound``."""
        return described(self._visible(id, is_visible))

    def described(self, ids: Iterable[str]) -> dict[str, TaskDescription]:
        """The tasks of these ids that are there."""
        return {task.id: described(task) for task in get_tasks(self._store.catalog, ids)}

    def list(
        self,
        limit: int = 100,
        cursor: str | None = None,
        *,
        collections: Sequence[str] | None = None,
        kinds: Sequence[KindName] = (),
        statuses: Sequence[Status] = (),
    ) -> TaskPage:
        """At most ``limit`` tasks, the newest first, of these collections, kinds and statuses."""
        check_limit(limit)
        for field, values, known in (("kind", kinds, get_args(KindName)), ("status", statuses, STATUSES)):
            for value in values:
                if value not in known:
                    raise InvalidInput(
                        f"There is no {field} {value[:80]!r}.", hint=f"There is: {', '.join(known)}.", field=field
                    )
        (before,) = position_of(cursor, "tasks", "", ("~",))
        tasks = list_tasks(
            self._store.catalog, limit + 1, before, collections=collections, kinds=kinds, statuses=statuses
        )
        page = tuple(map(described, tasks[:limit]))
        return TaskPage(page, cursor_at("tasks", "", page[-1].id) if len(tasks) > limit else None)

    def cancel(self, id: str, is_visible: Callable[[str], bool] = lambda name: True) -> TaskDescription:
        """Cancel a task: a queued one now, a running one soon; what it published stays. Raises ``TaskNotFound``."""
        self._visible(id, is_visible)
        task = cancel_task(self._store.catalog, id, undone=undone())
        if task.status == "cancelled":
            self.spool(id).remove_body()
        else:
            self.queued()
        return described(task)

    def results(self, id: str, is_visible: Callable[[str], bool] = lambda name: True) -> Iterator[bytes]:
        """The results of an upload by line, in NDJSON, up to the last published line."""
        task = self._visible(id, is_visible)
        return self.spool(id).read_results(int(task.checkpoint.get("results", 0)))

    def table(self, id: str, table: TableName, is_visible: Callable[[str], bool]) -> tuple[Path, Format]:
        """The file of a table of a mining, and its form. Raises ``TaskNotFound`` and ``TaskUnfinished``."""
        task = self._visible(id, is_visible)
        if task.kind != "mine":
            raise TaskNotFound(f"There is no mining {id[:80]!r}", hint="List the tasks of kind mine.")
        if task.status in ("failed", "cancelled"):
            raise TaskUnfinished(f"The task is {task.status} and has no tables.", hint="Send the mining again.")
        if task.status != "done" or task.result is None:
            raise TaskUnfinished(f"The task is {task.status}; its tables are there once it is done.", hint=_SEE_TASK)
        form: Format = task.result["format"]
        return table_of(self.spool(id).folder, table, form), form

    def _visible(self, id: str, is_visible: Callable[[str], bool]) -> Task:
        task = get_task(self._store.catalog, id)
        if task.status == "receiving" or not is_visible(task.collection):
            raise TaskNotFound(f"There is no task {id[:80]!r}", hint="List the tasks; old ones are forgotten.")
        return task


class Upload:
    """A body that arrives, piece by piece. It becomes a task when it is whole and on the disk, or leaves nothing.

    Call ``begin``, ``write`` and ``finish``, and ``abandon`` if any of them fails, or may still run.
    """

    def __init__(
        self, service: TaskService, store: Store, collection: str, options: dict[str, Any], announced: int
    ) -> None:
        self.id = new_task_id()
        self._service, self._catalog, self._collection, self._options = service, store.catalog, collection, options
        self._counted, self._renewed = announced, time.monotonic()
        self._is_known, self._lock, self._resources = False, Lock(), ExitStack()

    def begin(self) -> None:
        """Announce the body, and make its file.

        Raises ``CollectionNotFound``, ``TextNotStored`` for a collection that does not store texts, and
        ``TaskBacklogFull`` if what is announced is too much.
        """
        with self._lock:
            self._service.forget_abandoned()
            target = self._catalog.collection(self._collection)
            _require_stored_texts(target)
            self._target_id, self._is_known = target.id, True  # even if the catalog does not answer in the end
            new = NewTask("upload", self._collection, target.id, bytes=self._counted)
            add_task(self._catalog, self.id, new, limit=self._service.backlog, status="receiving")
            path = self._service.spool(self.id).body(self._options["format"], packed=self._options["packed"])
            self._body = self._resources.enter_context(closing(BodyWriter(path, packed=self._options["packed"])))

    def write(self, piece: bytes) -> None:
        """Take a piece. Raises ``TaskBacklogFull``, ``StorageFull``, and ``InvalidInput`` for damaged gzip."""
        with self._lock:
            self._body.write(piece)
            if self._body.bytes > self._counted or time.monotonic() - self._renewed > _RENEWAL_S:
                if self._body.bytes > self._counted:
                    self._counted = self._body.bytes + _GROWTH
                self._renewed = time.monotonic()
                grow_task(self._catalog, self.id, self._counted, limit=self._service.backlog)

    def finish(self) -> TaskDescription:
        """Queue the task: from here on it is promised.

        Raises as :meth:`write`, and ``TextNotStored`` and ``CollectionNotFound`` as when it began.
        """
        with self._lock:
            self._body.finish()
            if not self._body.text_bytes:
                raise InvalidInput("The body holds no document.", hint="Send at least one.", field="body")
            # Progress counts the bytes of the text of lines, and else of the file.
            are_lines = self._options["format"] == "ndjson" and not self._options["name"]
            total = self._body.text_bytes if are_lines else self._body.bytes
            # The collection may have given its texts up since the body began to arrive.
            _require_stored_texts(self._catalog.by_id(self._target_id))
            task = received(self._catalog, self.id, self._body.bytes, total, self._options)
        self._service.queued()
        return described(task)

    def abandon(self) -> None:
        """Remove all that the upload has left, once a step in progress has ended."""
        with self._lock:
            with suppress(OSError):  # what is not written yet may find no room
                self._resources.close()
            if self._is_known:
                with suppress(SpanseekError):  # it is forgotten when the catalog answers
                    self._service.forget(self.id)


def _require_stored_texts(target: Collection) -> None:
    """Refuse to spool texts of a collection that stores none."""
    if not target.recipe.stores_text:
        raise TextNotStored(
            f"The collection {target.name!r} does not store texts, and uploads of any number wait on the disk.",
            hint="Send documents to `POST /collections/NAME/documents`, or use `spanseek index`.",
            field="collection",
        )


def _refuse_texts(kind: KindName, collection: str, options: Mapping[str, JsonValue]) -> None:
    """Refuse labels by text, which would wait in the catalog, and hits with restored texts, which would on the disk."""
    if kind == "mine":
        raise TextNotStored(
            f"The collection {collection!r} does not store texts, and the hits of a task wait on the disk.",
            hint="Use `spanseek mine`, or `POST /search/export` for each phrase.",
            field="collection",
        )
    labels: Any = options.get("labels") or ()
    if any(label.get("text") is not None for label in labels):
        raise TextNotStored(
            f"The collection {collection!r} does not store texts, and tasks wait in the catalog with their labels.",
            hint="Send the labels to `POST /admin/collections/NAME/calibrations`, or name spans instead of texts.",
            field="labels",
        )


def _nobody() -> None:
    """Do nothing: nobody is to be told."""


def spool_root(store: Store) -> Path:
    """The folder of the files of all tasks."""
    return store.data_dir / "tasks"


def described(task: Task) -> TaskDescription:
    """A task as an answer."""
    return TaskDescription.of(task, kind_named(task.kind).unit)
