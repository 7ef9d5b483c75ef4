"""The kinds of tasks. To add one, write a function of a ``TaskContext`` and name it in ``KINDS``.

A kind can be killed at any moment and run again: it does what is left. It returns its result as JSON values, looks at
``context.stop`` while it works, and raises ``TaskStopped`` where it ends before its work does.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Final, TypeAlias

from app.answers import json_values
from app.calibration.answers import CalibrationDescription, FittedCalibration
from app.calibration.labels import label_from_json
from app.calibration.metrics import ThresholdTargets
from app.calibration.service import CalibrationRequest
from app.collections.service import CollectionOptions
from app.tasks.context import TaskContext, TaskStopped
from app.tasks.uploads import run_upload
from indexer.catalog.leases import lease
from indexer.errors import CollectionBusy
from indexer.indexing.maintenance import optimize, purge
from indexer.indexing.matching import rematch
from indexer.indexing.pipeline import IndexReport, JobHooks
from models.types import JsonValue

_RECORDED_S: Final = 0.25

Kind: TypeAlias = Callable[[TaskContext], Mapping[str, JsonValue]]


def run_reindex(context: TaskContext) -> Mapping[str, JsonValue]:
    """Bring a collection into another recipe; a cancelled one is as it was."""
    job = context.services.reindexing(context.collection, CollectionOptions(**context.options))
    total = context.services.store.catalog.collection(context.collection).documents
    most = 0

    def progress(report: IndexReport) -> None:
        nonlocal most
        most = max(most, min(report.documents + report.unchanged + report.skipped, total))
        context.progress(most, total)

    try:
        reindexed = job.run(job.documents(), JobHooks(progress, stop=context.stop, busy=context.busy))
    except CollectionBusy:  # it waited for another writer until it was stopped
        reindexed = None
    if reindexed is None:
        if context.cancelled.is_set():
            context.services.collections.delete(job.target)
        raise TaskStopped
    context.progress(total, total)
    return json_values(reindexed)


def run_optimize(context: TaskContext) -> Mapping[str, JsonValue]:
    """Merge all segments that can be merged."""
    store = context.services.store
    with lease(store.catalog, context.collection, again=context.busy) as held:
        words = bool(context.options.get("words"))
        removed = optimize(store, held, context.sleep, words=words, stop=context.stop)
        context.check()
        after = store.catalog.collection(context.collection)
    context.progress(1, 1)
    return asdict(removed) | {"segments_left": after.segments, "bytes_left": after.bytes}


def run_purge(context: TaskContext) -> Mapping[str, JsonValue]:
    """Erase deleted documents from the disk."""
    store = context.services.store
    with lease(store.catalog, context.collection, again=context.busy) as held:
        removed = purge(store, held, context.sleep)
    context.progress(1, 1)
    return asdict(removed)


def run_backfill(context: TaskContext) -> Mapping[str, JsonValue]:
    """Match saved phrases with the documents that are there, one phrase after the other."""
    store, names = context.services.store, list(context.options["phrases"])
    counts: dict[str, int] = context.checkpoint.get("counts") or {"added": 0, "withdrawn": 0}
    for number in range(context.claim.task.done, len(names)):
        context.check()
        with lease(store.catalog, context.collection, again=context.busy) as held:
            rematched = rematch(store, held, [names[number]])
        counts = {"added": counts["added"] + rematched.added, "withdrawn": counts["withdrawn"] + rematched.withdrawn}
        context.progress(number + 1, len(names), {"counts": dict(counts)})
    return dict(counts)


def run_calibration(context: TaskContext) -> Mapping[str, JsonValue]:
    """Fit a calibration to labels."""
    options = context.options
    labels = [label_from_json(label, f"labels[{n}]") for n, label in enumerate(options["labels"])]
    targets = ThresholdTargets(options["precision"], options["recall"])
    request = CalibrationRequest(labels, options["mode"], options["note"], options["activate"], targets)
    calibration, report = context.services.thresholds.calibrate(context.collection, request)
    context.progress(1, 1)
    return json_values(FittedCalibration(CalibrationDescription.of(calibration), report))


def run_snapshot(context: TaskContext) -> Mapping[str, JsonValue]:
    """Make a snapshot; one of a run that was interrupted is made again."""
    made = context.services.snapshots.create(
        context.collection, id=context.claim.task.id, progress=BytesProgress(context)
    )
    return json_values(made)


def run_restore(context: TaskContext) -> Mapping[str, JsonValue]:
    """Restore a snapshot as a new collection; a run that was interrupted has restored nothing."""
    snapshots, options = context.services.snapshots, context.options
    path = snapshots.path(context.collection, options["snapshot"])
    restored = snapshots.restore(path, options["name"], BytesProgress(context))
    return {"collection": restored.name, "documents": restored.documents, "units": restored.units}


class BytesProgress:
    """Progress in bytes, recorded a few times a second; raises ``TaskStopped`` if the task is to end."""

    def __init__(self, context: TaskContext) -> None:
        self._context, self._next = context, 0.0

    def __call__(self, done: int, total: int) -> None:
        self._context.check()
        if time.monotonic() >= self._next or done == total:
            self._context.progress(done, total)
            self._next = time.monotonic() + _RECORDED_S


KINDS: Final[Mapping[str, Kind]] = {
    "upload": run_upload,
    "reindex": run_reindex,
    "optimize": run_optimize,
    "purge": run_purge,
    "backfill": run_backfill,
    "calibration": run_calibration,
    "snapshot": run_snapshot,
    "restore": run_restore,
}
