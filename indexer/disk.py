"""Recognise a full or failing disk, a quota and other limits of the machine among errors of the operating system."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from indexer.errors import CatalogReadOnly, ResourcesExhausted, StorageFailed, StorageFull
from models.errors import InvalidInput, SpanseekError

# A quota and a limit on file sizes are shortages of room, too.
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# Of this process, of the machine, of mappings, and of threads.
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}


@contextmanager
def full_disk_named() -> Iterator[None]:
    """Raise errors of the machine as ``StorageFull``, ``StorageFailed``, ``CatalogReadOnly``, ``ResourcesExhausted``.

    >>> with full_disk_named():
    ...     raise OSError(errno.ENOSPC, "No space left on device", "vectors.i8")
    Traceback (most recent call last):
    indexer.errors.StorageFull: There is no room to write vectors.i8: No space left on device
    """
    try:
        yield
    except OSError as error:
        named = shortage(error) or _failure(error)
        if named is None:
            raise
        raise named from error


def named_error(error: BaseException) -> SpanseekError | None:
    """The error with a code that an error of the machine stands for: of the disk, of memory, descriptors or threads.

    >>> named_error(OSError(errno.EMFILE, "Too many open files")).code, named_error(KeyError("a"))
    ('resources_exhausted', None)
    """
    if isinstance(error, SpanseekError):
        return error
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:  # of a temporary database
        return storage_full("a temporary file", str(error))
    if isinstance(error, MemoryError):
        return _exhausted("memory")
    return shortage(error) or _failure(error) if isinstance(error, OSError) else None


def shortage(error: OSError) -> SpanseekError | None:
    """The error for a shortage of the operating system; None for any other error."""
    where, reason = error.filename or "a file", error.strerror or str(error)
    if error.errno == errno.EROFS:
        return CatalogReadOnly(
            f"The data folder is read-only: {where} cannot be written",
            hint="Make it writable, or send writes to a server that can write.",
        )
    if error.errno in _EXHAUSTED:
        return _exhausted(reason)
    return storage_full(where, reason) if error.errno in _FULL else None


def _failure(error: OSError) -> StorageFailed | None:
    """The error for a disk that fails. Where a published file is read it is none of these: the file is damaged then."""
    if error.errno != errno.EIO:
        return None
    return StorageFailed(
        f"The disk failed at {error.filename or 'a file'}: {error.strerror}",
        hint="Look at the machine's log, and mend or replace the disk; then do the same again. What was published is "
        "kept, and `spanseek verify` says whether it is whole.",
    )


def path_refused(error: OSError) -> InvalidInput:
    """The error for a path of the caller's that the operating system refuses.

    >>> str(path_refused(FileExistsError(errno.EEXIST, "File exists", "calls.csv")))
    'calls.csv cannot be used: File exists.'
    """
    return InvalidInput(
        f"{error.filename} cannot be used: {error.strerror}.",
        hint="Name another path, or look at what is there and who may read and write it.",
        field="path",
    )


def _exhausted(what: str | None) -> ResourcesExhausted:
    return ResourcesExhausted(
        f"The process has reached a limit of the machine: {what}.",
        hint="Send less at once. For files raise `ulimit -n`, or lower SPANSEEK_CONNECTION_LIMIT; for mappings raise "
        "vm.max_map_count, or lower SPANSEEK_OPEN_SEGMENTS; or give the process more memory.",
    )


def storage_full(where: object, reason: str) -> StorageFull:
    """The error for something that cannot be written for want of room."""
    return StorageFull(
        f"There is no room to write {where}: {reason}",
        hint="Free some space, or raise the quota or the limit on file sizes, and do the same again. "
        "What was published is kept, and what was not is removed.",
    )
