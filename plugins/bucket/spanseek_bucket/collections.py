"""Whole collections in a bucket, and the marks of those that are being deleted or restored.

A mark is an object beside the collections. Other machines cannot see whether the process that restores a collection
still runs. So it renews its mark regularly, and counts as gone when the mark is old.
"""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from indexer.errors import SegmentsUnavailable
from indexer.heartbeat import beating
from spanseek_bucket.objects import Bucket
from spanseek_bucket.upload import upload

_MARKS: Final = "marks"
_DELETED: Final = ".deleted"
_RESTORING: Final = ".restoring"
_BEAT_S: Final = 30.0
# Without a beat for so long, the process that restores is taken for gone.
SILENT: Final = timedelta(seconds=600)

_log = logging.getLogger(__name__)


class BucketCollections:
    """The collections of a bucket, and of the cache ``root``."""

    def __init__(self, bucket: Bucket, root: Path) -> None:
        self._bucket, self._root = bucket, root

    @contextmanager
    def placing(self, segments: Path, id: str, work: Path) -> Iterator[Callable[[], None]]:
        """Upload the segments under a mark that is renewed meanwhile; the last step does nothing."""
        mark = f"{_MARKS}/{id}{_RESTORING}"
        self._bucket.put(mark, b"")
        try:
            with beating(lambda: self._beat(mark), every=_BEAT_S):
                for folder in sorted(segments.glob("*/")):
                    upload(self._bucket, folder, id, folder.name)
                yield lambda: None
        except BaseException:
            with suppress(SegmentsUnavailable):  # else it is swept when the mark is old
                self.mark(id)
                self._bucket.remove_object(mark)
            raise
        self._bucket.remove_object(mark)

    def mark(self, id: str) -> None:
        """Write the mark of a deleted collection."""
        self._bucket.put(f"{_MARKS}/{id}{_DELETED}", b"")

    def unmark(self, id: str) -> None:
        """Remove the marks of the collection."""
        for kind in (_RESTORING, _DELETED):
            self._bucket.remove_object(f"{_MARKS}/{id}{kind}")

    def marked(self) -> list[str]:
        """The ids of the marked collections, without those that are being restored now."""
        ages = self._bucket.ages(_MARKS)
        restored = _restored_now(ages)
        return sorted({name.partition(".")[0] for name in ages} - restored)

    def ids(self) -> list[str]:
        """The ids of the collections that have objects, without those that are being restored now."""
        ids = self._bucket.folders("collections")
        return sorted(set(ids) - _restored_now(self._bucket.ages(_MARKS)))

    def erase(self, id: str) -> None:
        """Remove the collection from the cache of this machine and from the bucket, its marks last."""
        shutil.rmtree(self._root / id, ignore_errors=True)
        try:
            self._bucket.remove(f"collections/{id}")
            self.unmark(id)
        except SegmentsUnavailable as error:
            _log.warning("the files of a deleted collection were not removed: %s", error)

    def _beat(self, mark: str) -> bool:
        with suppress(SegmentsUnavailable):
            self._bucket.put(mark, b"")
        return True


def _restored_now(ages: dict[str, timedelta]) -> set[str]:
    beats = {name.removesuffix(_RESTORING): age for name, age in ages.items() if name.endswith(_RESTORING)}
    return {id for id, age in beats.items() if age < SILENT}
