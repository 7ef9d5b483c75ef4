"""The folder of a segment from its first byte until it is published, and its removal where writing fails."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from indexer.catalog.leases import Lease
from indexer.disk import full_disk_named
from indexer.errors import StorageFull
from indexer.segments.folders import new_folder, new_name
from indexer.segments.storage import Segments
from indexer.store import Store
from models.errors import SpanseekError


@contextmanager
def new_segment(store: Store, held: Lease) -> Iterator[Path]:
    """Yield a folder to write a segment to, which the block publishes under its final name.

    A failure to write leaves nothing. :func:`publishing` says what a failure to publish leaves.
    """
    name = new_name()
    with publishing(store, held, lambda: [name]), segment_folder(store.segments, held.collection_id, name) as folder:
        yield folder


@contextmanager
def segment_folder(segments: Segments, collection_id: str, name: str) -> Iterator[Path]:
    """A folder to write a segment to, which the block settles under this name; a failure to write leaves nothing.

    Raises ``StorageFull`` where there is no room.
    """
    folder = new_folder(segments.root / collection_id, name)
    try:
        with full_disk_named(), segments.writing(folder):
            yield folder
    except (Exception, KeyboardInterrupt, GeneratorExit):
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def publishing(store: Store, held: Lease, names: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Remove finished segments that the block could not publish for lack of room; then raise ``StorageFull``.

    The next job would remove them, too, but it may need their room in order to begin.
    """
    try:
        with full_disk_named():
            yield
    except StorageFull:
        _remove_unpublished(store, held, names())
        raise


def _remove_unpublished(store: Store, held: Lease, names: Iterable[str]) -> None:
    """Remove segments that are whole, but only if the catalog answers and does not name them."""
    with suppress(SpanseekError):
        live = {segment.info.name for segment in store.catalog.live_generation(held.collection).segments}
        for name in set(names) - live:
            store.segments.remove(held.collection_id, name)
