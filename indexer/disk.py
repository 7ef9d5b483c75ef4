"""The disk: a full or failing one, a quota and other limits of the machine among errors of the operating system.

Also folders on network mounts, whose files are not to be mapped into memory.
"""

import errno
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from indexer.errors import CatalogReadOnly, ResourcesExhausted, StorageFailed, StorageFull
from models.errors import InvalidInput, SpanseekError

# A quota and a limit on file sizes are shortages of room, too.
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# Of this process, of the machine, of mappings, and of threads.
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
_MOUNTS: Final = Path("/proc/self/mounts")
_NETWORK: Final = {"afs", "beegfs", "ceph", "cifs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
_LOCAL_FUSE: Final = {"fuse.fuse-overlayfs", "fuse.gocryptfs", "fuse.mergerfs", "fuse.ntfs-3g"}


def require_local(folder: Path, mounts: Path | None = None) -> None:
    """Raise ``InvalidInput`` for a folder of a network mount, as Linux lists them.

    When a server of files goes away, or cuts a file, reading mapped pages of it ends the process.
    """
    mounts = mounts or _MOUNTS
    if not mounts.exists():
        return
    kind, at = _mounted(folder.resolve(), mounts.read_text())
    if kind in _NETWORK or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE):
        raise InvalidInput(
            f"{folder} is on a network mount ({kind} at {at}), where files may vanish while they are mapped.",
            hint="Share segments by SPANSEEK_SEGMENTS_URL, such as file:///mnt/segments on that mount, and put "
            "SPANSEEK_SEGMENTS_CACHE on a local disk; or set SPANSEEK_NETWORK_MOUNTS=true at your own risk.",
            field="data_dir",
        )


def _mounted(folder: Path, mounts: str) -> tuple[str, Path]:
    """The type and the place of the mount that holds a folder; the last one of those at one place counts.

    >>> _mounted(Path("/data/a b/c"), "disk / ext4 rw 0 0\\nhost:/x /data/a\\\\040b nfs4 rw 0 0")
    ('nfs4', PosixPath('/data/a b'))
    """
    kind, at = "", Path("/")
    for line in mounts.splitlines():
        _, place, type_of_it = line.split(" ")[:3]
        mount = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), place))
        if folder.is_relative_to(mount) and len(mount.parts) >= len(at.parts):
            kind, at = type_of_it, mount
    return kind, at


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
    except (OSError, MemoryError) as error:
        named = named_error(error)
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
    return shortage(error) or _failure(error)


def shortage(error: BaseException) -> SpanseekError | None:
    """The error for a shortage of the machine, which may pass; None for any other error."""
    if isinstance(error, ResourcesExhausted | StorageFull):
        return error
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:  # of a temporary database
        return storage_full("a temporary file", str(error))
    if isinstance(error, MemoryError):
        return _exhausted("memory")
    if not isinstance(error, OSError):
        return None
    where, reason = error.filename or "a file", error.strerror or str(error)
    if error.errno == errno.EROFS:
        return CatalogReadOnly(
            f"The data folder is read-only: {where} cannot be written",
            hint="Make it writable, or send writes to a server that can write.",
        )
    if error.errno in _EXHAUSTED:
        return _exhausted(reason)
    return storage_full(where, reason) if error.errno in _FULL else None


def _failure(error: BaseException) -> StorageFailed | None:
    """The error for a disk that fails. Where a published file is read it is none of these: the file is damaged then."""
    if not isinstance(error, OSError) or error.errno != errno.EIO:
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
