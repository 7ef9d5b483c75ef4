"""Maintenance of collections: merging segments, and removing files that nothing refers to.

All of it runs under the collection's lease, so that no other writer changes what is being copied. A crash at any
moment leaves either the old generation or the new one, and files that the next sweep removes.
"""

import logging
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from indexer.catalog.leases import Lease
from indexer.catalog.matches import forget_withdrawn
from indexer.catalog.publish import change_details, forget_retired, publish, retire
from indexer.engine.snapshot import SegmentView
from indexer.errors import PurgeIncomplete, SegmentCorrupt, StorageFull
from indexer.indexing.merge_policy import Choice, due, everything, with_dead
from indexer.indexing.new_segment import new_segment
from indexer.segments.folders import settle
from indexer.segments.layout import WINDOWS
from indexer.segments.manifest import damages
from indexer.segments.merge import Source, merge
from indexer.segments.opened import open_segment
from indexer.segments.seal import Derive
from indexer.store import Store
from indexer.types import LiveSegment, Recipe
from indexer.words.recipe import has_words, with_words

# Scanning segments with fewer live units takes little time.
WORTH_WINDOWS = 100_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Removed:
    """Segments whose files are gone. ``waited_s`` is the grace period that readers had."""

    segments: int
    bytes: int
    waited_s: float


def sweep(store: Store, held: Lease) -> None:
    """Remove the files of segments that were retired a grace period ago, and the remains of killed jobs.

    Also deletes old withdrawn matches from the catalog.
    """
    catalog = store.catalog
    forget_withdrawn(catalog, held, catalog.clock() - timedelta(seconds=store.withdrawn_s))
    forget_retired(catalog, held, catalog.clock() - timedelta(seconds=store.grace_s))
    collection = catalog.collection(held.collection)
    live = (segment.info for segment in catalog.live_generation(held.collection).segments)
    named = {info.name for info in (*live, *catalog.retired_segments(collection))}
    for folder in store.folder(collection).glob("*/"):
        if folder.name not in named:
            _remove(folder)


def merge_segments(
    store: Store, held: Lease, choose: Choice, stop: Callable[[], bool] = lambda: False, *, windows: bool = True
) -> int:
    """Merge what ``choose`` chooses until it chooses nothing, and return how many segments were replaced.

    Without ``windows`` none are written, for merges whose results will soon be merged again. Raises ``SegmentCorrupt``
    rather than copy from a segment that is damaged.
    """
    replaced = 0
    while not stop() and (groups := choose(store.catalog.live_generation(held.collection).segments)):
        _merge_group(store, held, groups[0], windows=windows)
        replaced += len(groups[0])
    return replaced


def add_windows(store: Store, held: Lease, stop: Callable[[], bool] = lambda: False) -> None:
    """Rewrite the large segments of a collection too large to scan, with windows."""
    collection = store.catalog.collection(held.collection)
    if collection.units < store.candidates_from:
        return
    for live in store.catalog.live_generation(held.collection).segments:
        if stop():
            return
        path = store.folder(collection) / live.info.name
        files = open_segment(path, live.info.manifest_sha256).manifest.files
        if live.live_units >= WORTH_WINDOWS and WINDOWS not in files:
            _merge_group(store, held, [live])


def add_borders(store: Store, held: Lease, stop: Callable[[], bool] = lambda: False) -> None:
    """Rewrite the segments of before version 0.3, which have no borders."""
    folder = store.folder(store.catalog.collection(held.collection))
    for live in store.catalog.live_generation(held.collection).segments:
        if stop():
            return
        if not open_segment(folder / live.info.name, live.info.manifest_sha256).has_borders:
            _merge_group(store, held, [live])


def tidy(store: Store, held: Lease, stop: Callable[[], bool] = lambda: False, *, windows: bool = True) -> None:
    """Merge what is due, and sweep, as every writer does when its work is done; without ``windows`` in the midst of it.

    A damaged segment stays as it is, and a full disk leaves the work to the next writer. Both are logged: the writer's
    own work is done.
    """
    try:
        _merge_due(store, held, stop, windows=windows)
        sweep(store, held)
    except StorageFull as error:
        _log.warning("maintenance of %s is left to the next writer: %s", held.collection, error)


def _merge_due(store: Store, held: Lease, stop: Callable[[], bool], *, windows: bool) -> None:
    try:
        merge_segments(store, held, due, stop, windows=windows)
        if windows:
            add_windows(store, held, stop)
    except SegmentCorrupt as error:
        _log.warning("segments of %s were not merged: %s", held.collection, error)


def add_words(store: Store, held: Lease) -> None:
    """Store the words of a collection that was made without: read its texts, and encode nothing.

    The recipe changes when all segments have words; until then its searches are as before.
    """
    collection = store.catalog.collection(held.collection)
    if has_words(collection.recipe):
        return
    recipe = with_words(collection.recipe)
    for live in store.catalog.live_generation(held.collection).segments:
        path = store.folder(collection) / live.info.name
        if not has_words(open_segment(path, live.info.manifest_sha256).recipe):
            _merge_group(store, held, [live], recipe)
    change_details(store.catalog, held, recipe.details)


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


def purge(store: Store, held: Lease, sleep: Callable[[float], None] = time.sleep) -> Removed:
    """Rewrite every segment with deleted documents, and remove the old ones after the grace period.

    Raises ``PurgeIncomplete`` if deleted data is left on the disk.
    """
    merge_segments(store, held, with_dead)
    removed = _remove_retired(store, held, sleep)
    store.catalog.database.scrub()
    _prove(store, held)
    return removed


def _remove_retired(store: Store, held: Lease, sleep: Callable[[float], None]) -> Removed:
    retired = store.catalog.retired_segments(store.catalog.collection(held.collection))
    waited = store.grace_s if retired else 0.0
    if waited:
        sleep(waited)
    sweep(store, held)
    return Removed(len(retired), sum(info.bytes for info in retired), waited)


def _prove(store: Store, held: Lease) -> None:
    """Check the disk: after a purge there must be only live segments, and only live documents in them."""
    live = store.catalog.live_generation(held.collection).segments
    folders = {folder.name for folder in store.folder(store.catalog.collection(held.collection)).glob("*/")}
    left = sorted(folders - {segment.info.name for segment in live})
    dead = sum(len(segment.tombstones) for segment in live)
    if left or dead:
        raise PurgeIncomplete(
            f"{dead} deleted documents and the folders {left} are still there",
            hint="Nothing is lost. Run the purge again when no other job writes to the collection.",
        )


def _merge_group(
    store: Store, held: Lease, group: Sequence[LiveSegment], recipe: Recipe | None = None, *, windows: bool = True
) -> None:
    names = [segment.info.name for segment in group]
    if not any(segment.live_documents for segment in group):
        retire(store.catalog, held, names)
        return
    collection = store.catalog.collection(held.collection)
    folder = store.folder(collection)
    sources = [_source(folder, segment) for segment in group]
    is_searched_by_windows = windows and collection.units >= store.candidates_from
    large = is_searched_by_windows and sum(live.live_units for live in group) >= WORTH_WINDOWS
    with new_segment(store, held) as temporary:
        info, rows = merge(temporary, recipe or collection.recipe, sources, _more(windows=large))
        info = replace(info, name=settle(temporary).name)
        publish(store.catalog, held, info, rows, retires=names)


def _more(*, windows: bool) -> Sequence[Derive]:
    if not windows:
        return ()
    # Imported late: few collections need FAISS.
    from indexer.ann.windows import write_windows

    return (write_windows,)


def _source(folder: Path, live: LiveSegment) -> Source:
    path, sha256 = folder / live.info.name, live.info.manifest_sha256
    # Copied without a check, a flipped bit would get a new checksum and be undetectable.
    for damage in damages(path, sha256):
        raise SegmentCorrupt(damage, hint="Restore the segment from a backup, or index its documents again.")
    view = SegmentView(open_segment(path, sha256), live.tombstones)
    return Source(view.segment, view.live_documents)


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        _log.warning("%s is no longer needed and could not be removed: %s", folder, error)
