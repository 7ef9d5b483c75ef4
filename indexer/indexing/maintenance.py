"""Maintenance of collections: merging segments, and removing files that nothing refers to.

All of it runs under the collection's lease, so that no other writer changes what is being copied. A crash at any
moment leaves either the old generation or the new one, and files that the next sweep removes.
"""

import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from indexer.catalog.erasing import erase_deleted, finish_erasing
from indexer.catalog.leases import Lease
from indexer.catalog.publish import Kept, change_details, forget_old, publish, retire
from indexer.engine.views import SegmentView
from indexer.errors import PurgeIncomplete, SegmentCorrupt, SegmentsUnavailable, StorageFailed, StorageFull
from indexer.indexing.deletion import sweep_deleted
from indexer.indexing.merge_policy import Choice, due, everything, with_dead
from indexer.indexing.new_segment import new_segment
from indexer.segments.folders import final_name
from indexer.segments.layout import WINDOWS
from indexer.segments.merge import Source, merge
from indexer.segments.reader import Segment
from indexer.segments.seal import Derive
from indexer.store import Store
from indexer.types import Generation, LiveSegment
from indexer.words.recipe import has_words, with_words
from models.interruption import until_interrupted

# Scanning segments with fewer live units takes little time.
WORTH_WINDOWS = 100_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Removed:
    """Segments whose files are gone. ``waited_s`` is the grace period that readers had."""

    segments: int
    bytes: int
    waited_s: float


@dataclass(frozen=True, slots=True)
class Purged(Removed):
    """The result of a purge; ``remains`` says where deleted documents are left, and until when. Empty: nowhere."""

    remains: tuple[str, ...] = ()


def sweep(store: Store, held: Lease, withdrawn_s: float | None = None, *, under_way: Collection[str] = ()) -> Kept:
    """Remove the files of segments that were retired a grace period ago, and the remains of killed jobs.

    Segments ``under_way`` stay: the job that holds the lease is having them written, and will publish them. Also erases
    what an earlier purge could not erase, and deletes matches from the catalog that were withdrawn ``withdrawn_s``
    seconds ago, by default as the store says. Returns what the catalog still names.
    """
    sweep_deleted(store, held)
    finish_erasing(store.catalog.database)
    now, withdrawn_s = store.catalog.clock(), store.withdrawn_s if withdrawn_s is None else withdrawn_s
    retired_until, withdrawn_until = (now - timedelta(seconds=age) for age in (store.grace_s, withdrawn_s))
    kept = forget_old(store.catalog, held, retired_until=retired_until, withdrawn_until=withdrawn_until)
    for name in store.segments.names(held.collection_id) - kept.live - kept.retired:
        if final_name(Path(name)).name not in under_way:
            store.segments.remove(held.collection_id, name)
    return kept


def merge_segments(
    store: Store, held: Lease, choose: Choice, stop: Callable[[], bool] = lambda: False, *, windows: bool = True
) -> Generation:
    """Merge what ``choose`` chooses until it chooses nothing; returns the generation then.

    Without ``windows`` none are written, for merges whose results will soon be merged again. Raises ``SegmentCorrupt``
    rather than copy from a segment that is damaged.
    """
    generation = store.catalog.live_generation(held.collection)
    while not stop() and (groups := choose(generation.segments)):
        _merge_group(store, held, generation, groups[0], windows=windows)
        generation = store.catalog.live_generation(held.collection)
    return generation


def add_windows(
    store: Store, held: Lease, stop: Callable[[], bool] = lambda: False, generation: Generation | None = None
) -> None:
    """Rewrite the large segments of a collection too large to scan, with windows; ``generation`` is the live one."""
    generation = generation or store.catalog.live_generation(held.collection)
    if not _is_searched_by_windows(store, generation):
        return
    for live in generation.segments:
        if stop():
            return
        files = _opened(store, held, live).manifest.files
        if live.live_units >= WORTH_WINDOWS and WINDOWS not in files:
            _merge_group(store, held, generation, [live])


def _is_searched_by_windows(store: Store, generation: Generation) -> bool:
    return sum(live.info.units for live in generation.segments) >= store.candidates_from


def _opened(store: Store, held: Lease, live: LiveSegment) -> Segment:
    return store.segments.open(held.collection_id, live.info)


def add_borders(store: Store, held: Lease, stop: Callable[[], bool] = lambda: False) -> None:
    """Rewrite the segments of before version 0.3, which have no borders."""
    generation = store.catalog.live_generation(held.collection)
    for live in generation.segments:
        if stop():
            return
        if not _opened(store, held, live).has_borders:
            _merge_group(store, held, generation, [live])


def tidy(
    store: Store,
    held: Lease,
    stop: Callable[[], bool] = lambda: False,
    *,
    windows: bool = True,
    under_way: Collection[str] = (),
) -> Kept | None:
    """Merge what is due, and sweep, as every writer does after its work; during the work, without ``windows``.

    Segments ``under_way`` are not swept. Returns what the catalog names then. A damaged segment stays as it is. An
    interruption leaves the merges to the next writer. So does a full or failing disk, or a bucket that does not answer:
    these are logged, because the writer's own work is done, and None is returned.
    """
    try:
        with until_interrupted():  # what its writer published is not to seem interrupted
            _merge_due(store, held, stop, windows=windows)
        return sweep(store, held, under_way=under_way)
    except (StorageFull, StorageFailed, SegmentsUnavailable) as error:
        _log.warning("maintenance of %s is left to the next writer: %s", held.collection, error)
        return None


def _merge_due(store: Store, held: Lease, stop: Callable[[], bool], *, windows: bool) -> None:
    try:
        generation = merge_segments(store, held, due, stop, windows=windows)
        if windows:
            add_windows(store, held, stop, generation)
    except SegmentCorrupt as error:
        _log.warning("segments of %s were not merged: %s", held.collection, error)


def add_words(store: Store, held: Lease) -> None:
    """Store the words of a collection that was made without: read its texts, and encode nothing.

    The recipe changes when all segments have words; until then its searches are as before.
    """
    generation = store.catalog.live_generation(held.collection)
    if has_words(generation.recipe):
        return
    recipe = with_words(generation.recipe)
    for live in generation.segments:
        if not has_words(_opened(store, held, live).recipe):
            _merge_group(store, held, replace(generation, recipe=recipe), [live])
    change_details(store.catalog, held, recipe)


def optimize(
    store: Store,
    held: Lease,
    sleep: Callable[[float], None] = time.sleep,
    *,
    words: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Removed:
    """Merge all segments that can be merged, and remove the old ones after the grace period.

    ``words`` adds words to a collection that has none. Once ``stop`` is true, no further merge begins.
    """
    if words:
        add_words(store, held)
    merge_segments(store, held, everything, stop)
    add_borders(store, held, stop)
    add_windows(store, held, stop)
    return _remove_retired(store, held, sleep)


def purge(store: Store, held: Lease, sleep: Callable[[float], None] = time.sleep) -> Purged:
    """Rewrite every segment with deleted documents, remove the old ones after the grace period, and erase deleted rows.

    Withdrawn matches are deleted, too, because they name documents. A reader that has not read of a withdrawal gets
    ``CursorExpired``. Raises ``PurgeIncomplete`` if deleted data is left in the collection's folder, or in its part of
    the bucket.
    """
    merge_segments(store, held, with_dead)
    removed = _remove_retired(store, held, sleep, withdrawn_s=0.0)
    left = erase_deleted(store.catalog.database), store.segments.elsewhere
    _prove(store, held)
    return Purged(removed.segments, removed.bytes, removed.waited_s, tuple(filter(None, left)))


def _remove_retired(
    store: Store, held: Lease, sleep: Callable[[float], None], withdrawn_s: float | None = None
) -> Removed:
    retired = store.catalog.retired_segments(held.collection_id)
    waited = store.grace_s if retired else 0.0
    if waited:
        sleep(waited)
    sweep(store, held, withdrawn_s)
    return Removed(len(retired), sum(info.bytes for info in retired), waited)


def _prove(store: Store, held: Lease) -> None:
    """Check disk and bucket: after a purge there must be only live segments, and only live documents in them."""
    live = store.catalog.live_generation(held.collection).segments
    left = sorted(store.segments.names(held.collection_id) - {segment.info.name for segment in live})
    dead = sum(len(segment.tombstones) for segment in live)
    if left or dead:
        raise PurgeIncomplete(
            f"{dead} deleted documents and the folders {left} are still there",
            hint="Nothing is lost. Run the purge again when no other job writes to the collection.",
        )


def _merge_group(
    store: Store, held: Lease, generation: Generation, group: Sequence[LiveSegment], *, windows: bool = True
) -> None:
    """Replace segments of a generation by one, or by none if nothing lives in them."""
    names = [segment.info.name for segment in group]
    if not any(segment.live_documents for segment in group):
        retire(store.catalog, held, names)
        return
    sources = [_source(store, held, segment) for segment in group]
    large = windows and _is_searched_by_windows(store, generation)
    large = large and sum(live.live_units for live in group) >= WORTH_WINDOWS
    with new_segment(store, held) as temporary:
        info, rows = merge(temporary, generation.recipe, sources, _more(windows=large))
        info = replace(info, name=store.segments.settle(temporary))
        publish(store.catalog, held, info, rows, retires=names)


def _more(*, windows: bool) -> Sequence[Derive]:
    if not windows:
        return ()
    # Imported late: few collections need FAISS.
    from indexer.ann.windows import write_windows

    return (write_windows,)


def _source(store: Store, held: Lease, live: LiveSegment) -> Source:
    # Copied without a check, a flipped bit would get a new checksum and be undetectable.
    with store.segments.held(held.collection_id, live.info, verified=True):
        view = SegmentView(_opened(store, held, live), live.tombstones)
    return Source(view.segment, view.live_documents)
