"""The kinds of tasks. One of the core is a function of a ``TaskContext`` that ``KINDS`` and ``KindName`` name.

One of a plug-in is a ``TaskKind`` that an entry point of the group ``spanseek.tasks`` names.

A kind can be killed at any moment and run again: it does what is left. It returns its result as JSON values, looks at
``context.stop`` while it works, and raises ``TaskStopped`` where it ends before its work does.

Modules that take long to import are imported by the kinds that need them: listing tasks needs none.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

from app.answers import json_values
from app.tasks.answers import KindName, Unit
from app.tasks.context import TaskContext, TaskStopped
from indexer.errors import (
    CatalogNotInitialised,
    CatalogUnavailable,
    ClusterBusy,
    CollectionBusy,
    CollectionNotFound,
    LeaseLost,
    ResourcesExhausted,
    SegmentsUnavailable,
    SegmentsUnreachable,
    StorageFailed,
    StorageFull,
    TextNotStored,
)
from models.entry_points import entry_points_of
from models.errors import (
    BackboneMismatch,
    BackboneMissing,
    DeviceMemoryExhausted,
    DeviceUnavailable,
    InvalidInput,
    SpanseekError,
    UnknownEncoder,
)
from models.types import JsonValue

if TYPE_CHECKING:
    from app.collections.jobs import Waiting
    from indexer.indexing.pipeline import IndexReport

_RECORDED_S: Final = 0.25
# Phrases that one pass of a backfill matches; between two passes other writers have their turn.
_PHRASES_AT_ONCE: Final = 64
# Tries without progress after which work that can be started again ends by an unforeseen error: two minutes.
_TRIES: Final = 7
# What a task waits for instead of failing: others, the machine, or the operator.
_PASSING: Final = (
    CatalogNotInitialised,
    CatalogUnavailable,
    ClusterBusy,
    CollectionBusy,
    LeaseLost,
    ResourcesExhausted,
    SegmentsUnavailable,
    StorageFailed,
    SegmentsUnreachable,
    StorageFull,
    BackboneMissing,
    BackboneMismatch,
    DeviceMemoryExhausted,
    DeviceUnavailable,
    UnknownEncoder,
)


def run_upload(context: TaskContext) -> Mapping[str, JsonValue]:
    """Index an upload from its checkpoint on."""
    from app.tasks.uploads import index_upload

    return index_upload(context)


def run_reindex(context: TaskContext) -> Mapping[str, JsonValue]:
    """Bring a collection into another recipe; a cancelled one is as it was."""
    from app.collections.recipes import CollectionOptions
    from app.collections.reindexing import Reindexing
    from indexer.indexing.pipeline import JobHooks

    # None says nothing; it may stand for an option of a plug-in that is no longer installed.
    given = {name: value for name, value in context.options.items() if value is not None}
    job = Reindexing.of(context.services, context.collection, CollectionOptions(**given))
    total = context.services.store.catalog.collection(context.collection).documents
    most = 0

    def progress(report: "IndexReport") -> None:
        nonlocal most
        most = max(most, min(report.documents + report.unchanged + report.skipped, total))
        context.progress(most, total)

    reindexed = job.run(job.documents(), JobHooks(progress, stop=context.stop, busy=context.patience()))
    if reindexed is None:
        raise TaskStopped
    context.progress(total, total)
    return json_values(reindexed)


def undo_reindex(context: TaskContext) -> None:
    """Delete what an unfinished reindexing has built."""
    from app.collections.jobs import built_beside
    from app.collections.service import CollectionService

    with suppress(CollectionNotFound):
        context.services.get(CollectionService).delete(built_beside(context.claim.task.target_id))


def run_optimize(context: TaskContext) -> Mapping[str, JsonValue]:
    """Merge all segments that can be merged."""
    from app.collections.jobs import CollectionJobs

    words = bool(context.options.get("words"))
    optimized = context.services.get(CollectionJobs).optimize(
        context.collection, words=words, waiting=_waiting(context)
    )
    context.check()
    context.progress(1, 1)
    return asdict(optimized)


def run_purge(context: TaskContext) -> Mapping[str, JsonValue]:
    """Erase deleted documents from the disk."""
    from app.collections.jobs import CollectionJobs

    removed = context.services.get(CollectionJobs).purge(context.collection, waiting=_waiting(context))
    context.progress(1, 1)
    return asdict(removed)


def run_backfill(context: TaskContext) -> Mapping[str, JsonValue]:
    """Match saved phrases with the documents that are there, some of them in each pass."""
    from app.collections.jobs import CollectionJobs

    names, present = list(context.options["phrases"]), bool(context.options.get("saved"))
    waiting, jobs = _waiting(context), context.services.get(CollectionJobs)
    counts: dict[str, int] = context.checkpoint.get("counts") or {"added": 0, "withdrawn": 0}
    for first in range(context.claim.task.done, len(names), _PHRASES_AT_ONCE):
        context.check()
        chosen = names[first : first + _PHRASES_AT_ONCE]
        rematched = jobs.backfill(context.collection, chosen, waiting=waiting, present=present)
        counts = {"added": counts["added"] + rematched.added, "withdrawn": counts["withdrawn"] + rematched.withdrawn}
        context.progress(first + len(chosen), len(names), {"counts": dict(counts)})
    return dict(counts)


def run_calibration(context: TaskContext) -> Mapping[str, JsonValue]:
    """Fit a calibration to labels."""
    from app.calibration.answers import CalibrationDescription, FittedCalibration
    from app.calibration.labels import label_from_json
    from app.calibration.metrics import ThresholdTargets
    from app.calibration.service import CalibrationRequest, ThresholdService

    options = context.options
    labels = [label_from_json(label, f"labels[{n}]") for n, label in enumerate(options["labels"])]
    targets = ThresholdTargets(options["precision"], options["recall"])
    request = CalibrationRequest(labels, options["mode"], options["note"], options["activate"], targets)
    calibration, report = context.services.get(ThresholdService).calibrate(context.collection, request)
    context.progress(1, 1)
    return json_values(FittedCalibration(CalibrationDescription.of(calibration), report))


def run_snapshot(context: TaskContext) -> Mapping[str, JsonValue]:
    """Make a snapshot; one of a run that was interrupted is made again."""
    from app.collections.snapshots import SnapshotService

    made = context.services.get(SnapshotService).create(
        context.collection, id=context.claim.task.id, progress=BytesProgress(context)
    )
    return json_values(made)


def run_restore(context: TaskContext) -> Mapping[str, JsonValue]:
    """Restore a snapshot as a new collection; a run that was interrupted has restored nothing."""
    from app.collections.snapshots import SnapshotService

    snapshots, options = context.services.get(SnapshotService), context.options
    path = snapshots.path(context.collection, options["snapshot"])
    restored = snapshots.restore(path, options["name"], BytesProgress(context))
    return {"collection": restored.name, "documents": restored.documents, "units": restored.units}


def run_mine(context: TaskContext) -> Mapping[str, JsonValue]:
    """Mine phrases from the last batch on; from the beginning if the collection has changed."""
    from app.mining.job import Checkpoint, run_mining
    from app.mining.mining import MiningService
    from app.requests import mining_request

    request = replace(mining_request(context.options["request"]), collection=context.collection)

    def progress(done: int, total: int, checkpoint: Checkpoint) -> None:
        context.check()
        counts: dict[str, JsonValue] = {"phrases": done, "hits": checkpoint.hits}
        context.progress(done, total, {"mining": checkpoint.values(), "counts": counts})

    start = Checkpoint(**context.checkpoint.get("mining", {}))
    mining = context.services.get(MiningService).mine(request)
    return json_values(run_mining(mining, context.spool.folder, start, progress=progress))


def _waiting(context: TaskContext) -> "Waiting":
    from app.collections.jobs import Waiting

    return Waiting(context.patience(), context.sleep, context.stop)


class BytesProgress:
    """Progress in bytes, recorded a few times a second; raises ``TaskStopped`` if the task is to end."""

    def __init__(self, context: TaskContext) -> None:
        self._context, self._next = context, 0.0

    def __call__(self, done: int, total: int) -> None:
        self._context.check()
        if time.monotonic() >= self._next or done == total:
            self._context.progress(done, total)
            self._next = time.monotonic() + _RECORDED_S


def _ends_upload(error: BaseException, tries: int) -> bool:
    """True if the upload is refused. No other error ends it: it was promised, and its body is stored nowhere else."""
    return isinstance(error, InvalidInput | CollectionNotFound | TextNotStored)


def _ends_others(error: BaseException, tries: int) -> bool:
    """Tasks that can be started again end by every error but those that pass, or after some tries."""
    return not isinstance(error, _PASSING) and (isinstance(error, SpanseekError) or tries >= _TRIES)


def _nothing(context: TaskContext) -> None:
    """Do nothing: after a cancellation, most kinds leave nothing to remove."""


@dataclass(frozen=True, slots=True)
class TaskKind:
    """A kind of tasks: its name, what it does, what its progress counts, and which errors end it.

    ``ends`` gets an error and the number of tries that failed before; after any other error the task is tried again.
    ``undo`` removes what a cancelled task has made.
    """

    name: KindName
    run: Callable[[TaskContext], Mapping[str, JsonValue]]
    unit: Unit = "steps"
    ends: Callable[[BaseException, int], bool] = _ends_others
    undo: Callable[[TaskContext], None] = _nothing


KINDS: Final[Mapping[str, TaskKind]] = {
    kind.name: kind
    for kind in (
        TaskKind("upload", run_upload, "bytes", _ends_upload),
        TaskKind("reindex", run_reindex, "documents", undo=undo_reindex),
        TaskKind("optimize", run_optimize),
        TaskKind("purge", run_purge),
        TaskKind("backfill", run_backfill),
        TaskKind("calibration", run_calibration),
        TaskKind("snapshot", run_snapshot, "bytes"),
        TaskKind("restore", run_restore, "bytes"),
        TaskKind("mine", run_mine, "phrases"),
    )
}


def kind_named(name: str) -> TaskKind:
    """A kind by name. One that is not installed ends its tasks with an error.

    >>> kind_named("upload").unit, kind_named("brew").unit
    ('bytes', 'steps')
    """
    if name in KINDS:
        return KINDS[name]
    point = entry_points_of("spanseek.tasks").get(name)
    return TaskKind(name, _missing) if point is None else point.load()


def undone() -> tuple[str, ...]:
    """The kinds of which a worker removes what a cancelled task has made."""
    kinds = map(kind_named, (*KINDS, *entry_points_of("spanseek.tasks")))
    return tuple(kind.name for kind in kinds if kind.undo is not _nothing)


def _missing(context: TaskContext) -> Mapping[str, JsonValue]:
    """Fail, for a kind that no installed distribution has."""
    raise InvalidInput(
        f"No task of the kind {context.claim.task.kind} can run here.",
        hint="Install the plug-in that it comes from, and start it again.",
        field="kind",
    )
