"""Pins: hard links to the files of segments, so that merges may remove the segments while they are copied."""

import shutil
from pathlib import Path

from indexer.segments.manifest import check_sizes, read_manifest


def pin(segment: Path, target: Path, sha256: str) -> None:
    """Hard-link the files of a segment; copy them where the file system has no hard links.

    Raises ``FileNotFoundError`` or ``SegmentCorrupt`` where files are missing.
    """
    if not target.exists():
        target.mkdir(parents=True)
        for path in segment.iterdir():
            _link(path, target / path.name)
    check_sizes(target, read_manifest(target, sha256))


def _link(path: Path, target: Path) -> None:
    try:
        target.hardlink_to(path)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(path, target)
