"""Files mapped into memory without an open descriptor; Python's own mappings keep one each."""

import ctypes
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import UInt8

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


def mapped_bytes(path: Path) -> UInt8[np.ndarray, " bytes"]:
    """The bytes of a file, read-only; they stay readable after it is removed. Raises ``OSError``.

    An empty file, which the operating system refuses to map, is an empty array. Reading pages that a file has no more,
    because it was cut, ends the process by SIGBUS.

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
    return np.asarray(_Pages(address, size))


class _Pages:
    """Mapped pages, which are unmapped with the last array over them."""

    def __init__(self, address: int, size: int) -> None:
        self._address, self._size = address, size
        self.__array_interface__ = {"data": (address, True), "shape": (size,), "typestr": "|u1", "version": 3}

    def __del__(self, unmap: Callable[[int, int], int] = _LIBC.munmap) -> None:
        unmap(self._address, self._size)
