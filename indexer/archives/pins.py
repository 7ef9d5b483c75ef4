"""Pins: hard links to the files of segments, so that merges may remove the segments while they are copied."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from indexer.segments.manifest import check_sizes, read_manifest


@contextmanager
def process_folder(parent: Path) -> Iterator[Path]:
    """A name for a folder below ``parent``, removed at the end. Names of processes that are gone are removed first."""
    parent.mkdir(parents=True, exist_ok=True)
    for stale in parent.iterdir():
        if not psutil.pid_exists(int(stale.name.partition("-")[0])):
            shutil.rmtree(stale, ignore_errors=True)
    mine = parent / f"{os.getpid()}-{secrets.token_hex(4)}"
    try:
        yield mine
    finally:
        shutil.rmtree(mine, ignore_errors=True)


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
