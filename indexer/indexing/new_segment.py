"""The folder of a segment from its first byte until it is published, and its removal where writing fails."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from indexer.catalog.leases import Lease
from indexer.disk import full_disk_named
from indexer.errors import StorageFull
from indexer.segments.folders import final_name, new_folder
from indexer.store import Store
from models.errors import SpanseekError


@contextmanager
def new_segment(store: Store, held: Lease) -> Iterator[Path]:
    """A folder to write a segment to, which the block publishes under its final name.

    A failure to write leaves nothing. Raises ``StorageFull`` where there is no room: a segment that is whole
    and could not be published is then removed as well, because the next job, which would, may need its room to begin.
    """
    folder = new_folder(store.folder_of(held.collection_id))
    try:
        with full_disk_named(), store.segments.writing(folder):
            yield folder
    except StorageFull:
        shutil.rmtree(folder, ignore_errors=True)
        _remove_unpublished(store, held, final_name(folder).name)
        raise
    except (Exception, KeyboardInterrupt):
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _remove_unpublished(store: Store, held: Lease, name: str) -> None:
    """Remove a segment that is whole, but only if the catalog answers and does not name it."""
    with suppress(SpanseekError):
        live = store.catalog.live_generation(held.collection).segments
        if name not in {segment.info.name for segment in live}:
            store.segments.remove(held.collection_id, name)
