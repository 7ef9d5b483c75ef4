"""Files mapped into memory without an open descriptor; Python's own mappings keep one each."""

import ctypes
import mmap
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Shaped, UInt8

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
)
_LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_FAILED: Final = ctypes.c_void_p(-1).value

# As many mappings as Linux allows a process; what is mapped beyond it is not guarded.
_MAPPINGS: Final = 65_536
# First the number of losses, then begin and end of the pages of every guarded mapping: ``models.kernels.bus_errors``
# reads it in a signal handler. No lock: mappings end while the collector runs, in any thread.
GUARDED: Final[Shaped[np.ndarray, "rows 2"]] = np.zeros((1 + _MAPPINGS, 2), np.uint64)
_rows = count(1)
_free: list[int] = []


def lost_pages() -> int:
    """The number of times that pages of guarded mappings were found gone, since a file was cut or could not be read.

    They read as zeros from then on: whoever reads mapped files compares this before and after.
    """
    return int(GUARDED[0, 0])


def mapped_bytes(path: Path, *, guarded: bool = False) -> UInt8[np.ndarray, " bytes"]:
    """The bytes of a file, read-only; they stay readable after it is removed. Raises ``OSError``.

    An empty file, which the operating system refuses to map, is an empty array. Where the process has called
    ``models.kernels.bus_errors.survive_lost_pages``, reading ``guarded`` pages that a cut file has no more gives zeros
    and counts in :func:`lost_pages`. Reading others ends the process.

    >>> mapped_bytes(Path(__file__))[:3].tobytes()
    b'\"\"\"'
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        if not size:
            return np.zeros(0, np.uint8)
        address = _LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
        if address == _FAILED:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
    finally:
        os.close(descriptor)
    return np.asarray(_Pages(address, size, guarded=guarded))


class _Pages:
    """Mapped pages, which are unmapped with the last array over them."""

    def __init__(self, address: int, size: int, *, guarded: bool) -> None:
        self._address, self._size = address, size
        self._row = _guard(address, address + -(-size // mmap.PAGESIZE) * mmap.PAGESIZE) if guarded else 0
        self.__array_interface__ = {"data": (address, True), "shape": (size,), "typestr": "|u1", "version": 3}

    def __del__(self, unmap: Callable[[int, int], int] = _LIBC.munmap) -> None:
        if self._row:
            GUARDED[self._row] = 0
            _free.append(self._row)
        unmap(self._address, self._size)


def _guard(begin: int, end: int) -> int:
    """The row of a mapping; 0 if none is free."""
    try:
        row = _free.pop()
    except IndexError:
        row = next(_rows)
    if row > _MAPPINGS:
        return 0
    GUARDED[row] = begin, end
    return row
