"""Queueing, reading and cancelling tasks, and receiving the bodies of uploads."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, get_args

from app.cursors import cursor_at, position_of
from app.tasks.answers import KindName, TaskDescription, TaskPage
from app.tasks.kinds import KINDS, UNDONE
from app.tasks.spool import BodyWriter, Format, Spool
from indexer.catalog.tasks import (
    STATUSES,
    ClaimLost,
    NewTask,
    Status,
    Task,
    add_task,
    cancel_task,
    forget_task,
    get_task,
    grow_task,
    list_tasks,
    new_task_id,
    received,
)
from indexer.errors import TaskNotFound, TextNotStored
from indexer.store import Store
from indexer.types import Collection
from models.errors import InvalidInput
from models.types import JsonValue

MAX_LISTED = 1000
# Bytes of a body between two looks at the backlog.
_GROWTH: Final = 8 * 2**20
# Seconds between two signs of life of a body that arrives slowly.
_RENEWAL_S: Final = 60.0


class TaskService:
    """The tasks of one store. ``backlog`` is how many bytes those that have not ended may hold together.

    ``queued`` is called when a task can run.
    """

    def __init__(self, store: Store, *, backlog: int, queued: Callable[[], object] = lambda: None) -> None:
        self._store = store
        self.backlog = backlog
        self.queued = queued

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
            _refuse_texts(collection, options)
        return self._queue(NewTask(kind, collection, target.id, options, size))

    def add_restore(self, collection: str, snapshot: str, name: str) -> TaskDescription:
        """Queue the restoring of a snapshot, whose collection need not exist. Raises ``TaskBacklogFull``."""
        return self._queue(NewTask("restore", collection, "", {"snapshot": snapshot, "name": name}))

    def _queue(self, new: NewTask) -> TaskDescription:
        task = add_task(self._store.catalog, new_task_id(), new, limit=self.backlog)
        self.queued()
        return described(task)

    def begin_upload(
        self,
        collection: str,
        format: Format,
        announced: int,
        *,
        packed: bool = False,
        table: Mapping[str, JsonValue] | None = None,
    ) -> "Upload":
        """Receive a body; ``table`` says how one of CSV is read, as ``ReadOptions`` do.

        Raises ``CollectionNotFound``, ``TextNotStored`` for a collection that does not store texts, and
        ``TaskBacklogFull`` if what is announced is too much.
        """
        target = self._store.catalog.collection(collection)
        _require_stored_texts(target)
        id = new_task_id()
        new = NewTask("upload", collection, target.id, bytes=announced)
        add_task(self._store.catalog, id, new, limit=self.backlog, status="receiving")
        body = {"format": format, "packed": packed, "table": dict(table or {})}
        return Upload(self, self._store, id, body, target_id=target.id, announced=announced, limit=self.backlog)

    def get(self, id: str, is_visible: Callable[[str], bool] = lambda name: True) -> TaskDescription:
        """A task as it is now. Raises ``TaskNotFound``."""
        return described(self._visible(id, is_visible))

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
        if not 1 <= limit <= MAX_LISTED:
            raise InvalidInput(f"A page cannot have {limit} tasks.", hint=f"1 to {MAX_LISTED}.", field="limit")
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
        task = cancel_task(self._store.catalog, id, undone=UNDONE)
        if task.status == "cancelled":
            self.spool(id).remove_body()
        else:
            self.queued()
        return described(task)

    def results(self, id: str, is_visible: Callable[[str], bool] = lambda name: True) -> Iterator[bytes]:
        """The results of an upload by line, in NDJSON, up to the last published line."""
        task = self._visible(id, is_visible)
        return self.spool(id).read_results(int(task.checkpoint.get("results", 0)))

    def _visible(self, id: str, is_visible: Callable[[str], bool]) -> Task:
        task = get_task(self._store.catalog, id)
        if task.status == "receiving" or not is_visible(task.collection):
            raise TaskNotFound(f"There is no task {id[:80]!r}", hint="List the tasks; old ones are forgotten.")
        return task


class Upload:
    """A body that arrives, piece by piece. It becomes a task when it is whole and on the disk, or leaves nothing."""

    def __init__(
        self,
        service: TaskService,
        store: Store,
        id: str,
        options: dict[str, Any],
        *,
        target_id: str,
        announced: int,
        limit: int,
    ) -> None:
        self._service, self._catalog, self.id, self._target_id = service, store.catalog, id, target_id
        self._options, self._limit = options, limit
        self._counted, self._renewed = announced, time.monotonic()
        self._spool = service.spool(id)
        path = self._spool.body(options["format"], packed=options["packed"])
        self._body = BodyWriter(path, packed=options["packed"])

    def write(self, piece: bytes) -> None:
        """Take a piece. Raises ``TaskBacklogFull``, ``StorageFull``, and ``InvalidInput`` for damaged gzip."""
        self._body.write(piece)
        if self._body.bytes > self._counted or time.monotonic() - self._renewed > _RENEWAL_S:
            if self._body.bytes > self._counted:
                self._counted = self._body.bytes + _GROWTH
            self._renewed = time.monotonic()
            grow_task(self._catalog, self.id, self._counted, limit=self._limit)

    def finish(self) -> TaskDescription:
        """Queue the task: from here on it is promised.

        Raises as :meth:`write`, and ``TextNotStored`` and ``CollectionNotFound`` as when it began.
        """
        self._body.finish()
        if not self._body.text_bytes:
            raise InvalidInput("The body holds no document.", hint="Send at least one.", field="body")
        # Progress counts the bytes of the text of NDJSON, and of the file of CSV.
        total = self._body.text_bytes if self._options["format"] == "ndjson" else self._body.bytes
        # The collection may have given its texts up since the body began to arrive.
        _require_stored_texts(self._catalog.by_id(self._target_id))
        task = received(self._catalog, self.id, self._body.bytes, total, self._options)
        self._service.queued()
        return described(task)

    def abandon(self) -> None:
        """Leave nothing of it."""
        self._body.close()
        self._spool.remove()
        with suppress(ClaimLost):
            forget_task(self._catalog, self.id)


def _require_stored_texts(target: Collection) -> None:
    """Refuse to spool texts of a collection that stores none."""
    if not target.recipe.stores_text:
        raise TextNotStored(
            f"The collection {target.name!r} does not store texts, and uploads of any number wait on the disk.",
            hint="Send documents to `POST /collections/NAME/documents`, or use `spanseek index`.",
            field="collection",
        )


def _refuse_texts(collection: str, options: Mapping[str, JsonValue]) -> None:
    """Refuse labels by text, which would wait in the catalog."""
    labels: Any = options.get("labels") or ()
    if any(label.get("text") is not None for label in labels):
        raise TextNotStored(
            f"The collection {collection!r} does not store texts, and tasks wait in the catalog with their labels.",
            hint="Send the labels to `POST /admin/collections/NAME/calibrations`, or name spans instead of texts.",
            field="labels",
        )


def spool_root(store: Store) -> Path:
    """The folder of the files of all tasks."""
    return store.data_dir / "tasks"


def described(task: Task) -> TaskDescription:
    """A task as an answer."""
    return TaskDescription.of(task, KINDS[task.kind].unit)
