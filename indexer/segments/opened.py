"""Opened segments, shared by all snapshots of the process, and the quarantine of damaged ones.

Files that are parsed are verified when a segment is opened. The large ones, which hold nearly all bytes, follow in a
thread of low priority, so that the first search need not wait. A damaged segment stays in quarantine until its files
change on disk.
"""

import logging
import math
import time
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TypeAlias
from weakref import WeakValueDictionary, ref

from indexer.errors import ResourcesExhausted, SegmentCorrupt
from indexer.segments.manifest import SegmentKey, verify_files
from indexer.segments.reader import Segment
from models.priority import lower_priority

# Name, time of the last change, size and inode of every file of a folder.
_Stamp: TypeAlias = tuple[tuple[str, int, int, int], ...]

# Until a segment is verified again for which no file could be opened.
RETRY_S = 5.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Quarantined:
    """The damage of a segment, the state of its files when it was found, and when it is checked again in any case."""

    error: SegmentCorrupt
    stamp: _Stamp
    until: float


# Weak: a retired segment is unmapped, and its space on the disk free, when the last snapshot lets go of it.
_opened: WeakValueDictionary[SegmentKey, Segment] = WeakValueDictionary()
_quarantine: dict[SegmentKey, _Quarantined] = {}
_opening = Lock()


def open_segment(folder: Path, manifest_sha256: str) -> Segment:
    """Open a segment, or share the one that is open already: it never changes.

    Raises ``SegmentCorrupt`` for a damaged one, and without reading it again while its files stay as they are.
    """
    key = SegmentKey(folder, manifest_sha256)
    with _opening:
        if error := _quarantined(key):
            raise error
        segment = _opened.get(key)
        if segment is None:
            segment = _opened[key] = _open(key)
            _verifier.submit(segment)
        return segment


def is_quarantined(key: SegmentKey) -> bool:
    """True if a segment is in quarantine; it is released when its files have changed."""
    return damage_of(key) is not None


def damage_of(key: SegmentKey) -> SegmentCorrupt | None:
    """The error of a segment in quarantine."""
    with _opening:
        return _quarantined(key)


def is_open(key: SegmentKey) -> bool:
    """True if this process has a segment open."""
    return key in _opened


def forget_segment(key: SegmentKey) -> None:
    """Forget an opened segment, so that the next caller opens it anew: its files are about to be replaced."""
    with _opening:
        _quarantine.pop(key, None)
        _opened.pop(key, None)


def quarantined_in(folder: Path) -> tuple[str, ...]:
    """The damage of all segments in quarantine below a folder, one sentence each."""
    with _opening:
        errors = [_quarantined(key) for key in list(_quarantine) if folder in key.folder.parents]
    return tuple(sorted(str(error) for error in errors if error))


def is_readable(segment: Segment) -> bool:
    """True if an opened segment has no known damage, and files of the right sizes.

    Reading a mapped file beyond its end would kill the process.
    """
    if error := segment.wrong_size():
        isolate(segment.key, error)
    return not is_quarantined(segment.key)


def verify(segment: Segment) -> None:
    """Verify the large files of an opened segment, and put it into quarantine if one is damaged."""
    try:
        verify_files(segment.folder, segment.manifest, large=True)
    except SegmentCorrupt as error:
        isolate(segment.key, error)


def _open(key: SegmentKey) -> Segment:
    try:
        return Segment(*key)
    except SegmentCorrupt as error:
        isolate(key, error)
        raise


def isolate(key: SegmentKey, error: SegmentCorrupt, for_s: float = math.inf) -> None:
    """Put a segment into quarantine, until its files change or the time is over."""
    _log.error("segment left out of searches: %s", error)
    _quarantine[key] = _Quarantined(error, _stamp(key.folder), time.monotonic() + for_s)


def _quarantined(key: SegmentKey) -> SegmentCorrupt | None:
    entry = _quarantine.get(key)
    if entry and (entry.stamp != _stamp(key.folder) or time.monotonic() >= entry.until):
        del _quarantine[key]
        _opened.pop(key, None)  # it maps the files as they were
        return None
    return entry.error if entry else None


def _stamp(folder: Path) -> _Stamp:
    try:
        stats = [(path.name, path.stat()) for path in sorted(folder.iterdir())]
    except OSError:
        return ()
    return tuple((name, stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in stats)


class _Verifier:
    """Verifies the large files of opened segments, one after the other, in a thread of low priority."""

    def __init__(self) -> None:
        self._segments: SimpleQueue[ref[Segment]] = SimpleQueue()
        self._started = False

    def submit(self, segment: Segment) -> None:
        """Verify a segment soon; callers hold the lock."""
        self._segments.put(ref(segment))
        if not self._started:
            self._started = True
            Thread(target=self._run, name="verify-segments", daemon=True).start()

    def _run(self) -> None:
        lower_priority()
        while True:
            segment = self._segments.get()()
            if segment is not None:
                self._verify(segment)
            del segment  # else the files of the last one stayed mapped

    def _verify(self, segment: Segment) -> None:
        try:
            verify(segment)
        except ResourcesExhausted as error:
            _log.warning("%s is verified later: %s", segment.folder, error)
            time.sleep(RETRY_S)
            self._segments.put(ref(segment))


_verifier = _Verifier()
