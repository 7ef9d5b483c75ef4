"""The folders of segments that a machine has fetched from a bucket: a bounded cache that its processes share."""

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Final

from indexer.process_folders import process_folder
from indexer.segments.folders import final_name
from indexer.segments.manifest import SegmentKey
from indexer.segments.opened import is_open
from indexer.segments.reader import Segment
from indexer.types import SegmentPlace
from spanseek_bucket.holds import Holds, holds_of

_FETCHING: Final = "fetching"

_log = logging.getLogger(__name__)


class SegmentCache:
    """The cached folders of segments below ``root``, in one folder per collection, of at most ``limit`` bytes in all.

    The least recently used folders are removed first. A folder that any process of the machine holds, or has open, is
    never removed, so that the cache can exceed its limit.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.root = folder / "collections"
        self._folder, self._limit = folder, limit
        self._open: dict[SegmentKey, str] = {}
        self._sizes: dict[Path, int] = {}  # they do not change
        self._lock = Lock()

    @cached_property
    def _holds(self) -> Holds:
        return holds_of(self._folder.absolute())

    def held(self, folder: Path) -> AbstractContextManager[None]:
        """Keep a segment's folder, whether or not it exists yet, under both of its names while the block runs."""
        return self._holds.held(final_name(folder).name)

    @contextmanager
    def filling(self, folder: Path) -> Iterator[Path | None]:
        """Yield a new folder to fill, which then becomes ``folder``; None if somebody else has filled it meanwhile."""
        with self._holds.in_turn(folder.name):
            if folder.exists():
                yield None
                return
            with process_folder(self._folder / _FETCHING) as work:
                new = work / folder.name
                new.mkdir()
                yield new
                folder.parent.mkdir(parents=True, exist_ok=True)
                new.rename(folder)

    def keep(self, segment: Segment) -> Segment:
        """Keep the folder of a segment, which is held now, as long as this process has it open."""
        with self._lock:
            if segment.key not in self._open:
                self._open[segment.key] = segment.folder.name
                self._holds.take(segment.folder.name)
        _touch(segment.folder)
        return segment

    def make_room(self, size: int) -> None:
        """Remove folders until this many bytes more are within the limit."""
        self._release_closed()
        sizes = self._sizes = {folder: self._sizes.get(folder) or _size(folder) for folder in self._folders()}
        excess = sum(sizes.values()) + size - self._limit
        for folder in sorted(sizes, key=_used_at) if excess > 0 else ():
            if excess > 0 and self._removed(folder):
                excess -= sizes[folder]
        if excess > 0 and size:
            _log.warning("the cache of segments is %d bytes above its limit: as much is open", excess)

    def remove(self, folder: Path) -> None:
        """Remove a folder, whoever uses it: mapped files stay readable."""
        shutil.rmtree(folder, ignore_errors=True)

    def sweep(self, named: Callable[[], frozenset[SegmentPlace]]) -> None:
        """Remove folders that nobody holds and that ``named`` does not return; open segments count as used now."""
        self._release_closed()
        for key in list(self._open):
            _touch(key.folder)
        # Names are read after holds: what was written and published in between is held, or named.
        free = [folder for folder in self._folders() if self._is_free(folder)]
        names = named() if free else frozenset()
        for folder in free:
            if SegmentPlace(folder.parent.name, folder.name) not in names:
                self._removed(folder)

    def _folders(self) -> list[Path]:
        return list(self.root.glob("*/*/"))

    def _is_free(self, folder: Path) -> bool:
        with self._holds.alone(final_name(folder).name) as alone:
            return alone

    def _removed(self, folder: Path) -> bool:
        with self._holds.alone(final_name(folder).name) as alone:
            if alone:
                self.remove(folder)
        return alone

    def _release_closed(self) -> None:
        with self._lock:
            for key in [key for key in self._open if not is_open(key)]:
                self._holds.release(self._open.pop(key))


def _touch(folder: Path) -> None:
    with suppress(OSError):  # it was removed, as unneeded ones are
        now = time.time_ns()  # the kernel's own clock stands still for milliseconds
        os.utime(folder, ns=(now, now))


def _used_at(folder: Path) -> int:
    with suppress(OSError):
        return folder.stat().st_mtime_ns
    return 0


def _size(folder: Path) -> int:
    with suppress(OSError):
        return sum(path.stat().st_size for path in folder.iterdir())
    return 0
