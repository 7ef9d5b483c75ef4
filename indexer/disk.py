"""Recognise a full disk, a quota and a limit on file sizes among the errors of the operating system."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from indexer.errors import CatalogReadOnly, StorageFull

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def full_disk_named() -> Iterator[None]:
    """Turn errors of a disk without room into ``StorageFull``, and of a read-only one into ``CatalogReadOnly``.

    >>> with full_disk_named():
    ...     raise OSError(errno.ENOSPC, "No space left on device", "vectors.i8")
    Traceback (most recent call last):
    indexer.errors.StorageFull: There is no room to write vectors.i8: No space left on device
    """
    try:
        yield
    except OSError as error:
        if error.errno == errno.EROFS:
            raise CatalogReadOnly(
                f"The data folder is read-only: {error.filename or 'a file'} cannot be written",
                hint="Make it writable, or send writes to a server that can write.",
            ) from error
        if error.errno not in _FULL:
            raise
        raise storage_full(error.filename or "a file", error.strerror or str(error)) from error


def storage_full(where: object, reason: str) -> StorageFull:
    """The error for something that cannot be written for want of room."""
    return StorageFull(
        f"There is no room to write {where}: {reason}",
        hint="Free some space, or raise the quota or the limit on file sizes, and do the same again. "
        "What was published is kept, and what was not is removed.",
    )
