"""Answers about tasks."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from app.answers import described, optional
from indexer.catalog.tasks import Status, Task
from models.entry_points import entry_points_of

_CORE: Final = ("upload", "reindex", "optimize", "purge", "backfill", "calibration", "snapshot", "restore", "mine")
if TYPE_CHECKING:
    KindName: TypeAlias = str
else:
    KindName = Literal[(*_CORE, *entry_points_of("spanseek.tasks"))]
Unit: TypeAlias = Literal["bytes", "documents", "phrases", "steps"]


@dataclass(frozen=True, slots=True)
class LineError:
    """An invalid line of an upload."""

    line: Annotated[int, described("The line, from 1; of CSV the row after the header, from 1.")]
    id: Annotated[str | None, described("The document's id; null without a valid one.")]
    code: Annotated[str, described("A stable error code.")]
    detail: str


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """The error that ended a task."""

    code: Annotated[str, described("A stable error code.")]
    detail: str
    hint: str


@dataclass(frozen=True, slots=True)
class TaskWaiting:
    """The error that a queued task waits for to pass: it is tried again, and loses nothing."""

    code: Annotated[str, described("A stable error code.")]
    detail: str
    hint: str
    since: Annotated[datetime, described("Since when it has made no progress.")]
    next_try: Annotated[datetime, described("When it is tried again; the pauses grow from a second to five minutes.")]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a task: only what is published counts."""

    done: int
    total: Annotated[int | None, described("Null while it is unknown.")]
    unit: Annotated[Unit, described("What `done` and `total` count.")]


@dataclass(frozen=True, slots=True)
class TaskDescription:
    """A task: its status, how far it is, and its outcome."""

    id: str
    kind: str
    collection: str
    status: Status
    progress: Progress
    counts: Annotated[dict[str, int], described("Of an upload: lines by result, up to the last published one.")]
    errors: Annotated[tuple[LineError, ...], described("The first 100 errors by line; all are in its results.")]
    result: Annotated[dict[str, Any] | None, described("The outcome, once it is done; its fields depend on the kind.")]
    cancel_requested: bool
    starts: Annotated[int, described("How often it was started; more than once where it was interrupted.")]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: Annotated[TaskFailure | None, optional("Absent unless it failed, or waits after an error.")] = None
    waiting: Annotated[TaskWaiting | None, optional("Absent unless it waits after an error.")] = None

    @classmethod
    def of(cls, task: Task, unit: Unit) -> "TaskDescription":
        """A task as an answer."""
        return cls(
            id=task.id,
            kind=task.kind,
            collection=task.collection,
            status=task.status,
            progress=Progress(task.done, task.total, unit),
            counts=dict(task.checkpoint.get("counts", {})),
            errors=tuple(LineError(**each) for each in task.checkpoint.get("errors", ())),
            result=None if task.result is None else dict(task.result),
            cancel_requested=task.cancelled,
            starts=task.starts,
            created_at=task.created_at,
            started_at=task.started_at,
            finished_at=task.finished_at,
            error=None if task.error is None else TaskFailure(**task.error),
            waiting=_waiting(task),
        )

    @property
    def has_ended(self) -> bool:
        """True if nothing changes any more."""
        return self.status in ("done", "failed", "cancelled")


def _waiting(task: Task) -> TaskWaiting | None:
    if task.status != "queued" or task.error is None or task.retry_at is None:
        return None
    return TaskWaiting(**task.error, since=task.waiting_since or task.created_at, next_try=task.retry_at)


@dataclass(frozen=True, slots=True)
class TaskPage:
    """A page of tasks, the newest first."""

    tasks: tuple[TaskDescription, ...]
    cursor: Annotated[str | None, described("The cursor of the next page; null at the end.")]
