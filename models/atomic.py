"""Files and folders that last: what these functions have done survives a crash and a power failure, or is as before.

A file is on the disk when it was synced itself, and its folder too: the entry of the file is the folder's.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from models.failpoints import failpoint

_PARTIAL: Final = ".partial-"
# The pattern of the names of files that ``replacing`` writes to, which a process that is killed leaves.
PARTIAL_FILES: Final = f"*{_PARTIAL}*"


def fsync(path: Path) -> None:
    """Force a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fsync_open(descriptor, path)
    finally:
        os.close(descriptor)


def fsync_open(descriptor: int, path: Path) -> None:
    """Force an open file to the disk."""
    with failpoint("fsync", path):
        os.fsync(descriptor)


def fsync_tree(folder: Path) -> None:
    """Force all that lies in a folder to the disk, with its entries."""
    for path in folder.iterdir():
        fsync_tree(path) if path.is_dir() else fsync(path)
    fsync(folder)


def rename(path: Path, target: Path) -> None:
    """Rename a file or a folder, which is synced already, for good."""
    with failpoint("rename", target):
        path.replace(target)
    fsync(target.parent)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, for good. One that is there stays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     make_folder(Path(parent) / "a" / "b")
    ...     (Path(parent) / "a" / "b").is_dir()
    True
    """
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    fsync(folder.parent)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to; on exit, the file is synced and renamed to ``path``: readers see old or new, no part.

    After an error ``path`` is unchanged, and the partial file is removed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as partial:
    ...         _ = partial.write_text("whole")
    ...     [(each.name, each.read_text()) for each in Path(folder).iterdir()]
    [('a.txt', 'whole')]
    """
    partial = path.with_name(f"{path.name}{_PARTIAL}{secrets.token_hex(4)}")
    try:
        yield partial
        fsync(partial)
        rename(partial, path)
    finally:
        partial.unlink(missing_ok=True)
