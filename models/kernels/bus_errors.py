"""SIGBUS of pages that a file has no more, because it was cut while it is mapped: they become zeros, and are counted.

A handler runs in the middle of any instruction of any thread. It may call no Python, and is compiled here: where the
address lies in a guarded mapping, zeros are mapped from its page to the end of the mapping, and the instruction is
done again. Any other address ends the process, as ever.
"""

import ctypes
import mmap
import signal
import struct
import sys
from typing import Final

from llvmlite import binding

from models.mapping import GUARDED

# As Linux numbers them, on all processors that it shares with numba: of siginfo_t, sigaction and mmap.
_ADDRESS_AT, _SIGINFO = 2, 4
_ZEROS: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10  # at this address

_HANDLER: Final = f"""
declare i64 @mmap(i64, i64, i32, i32, i32, i64)
declare i64 @signal(i32, i64)

define void @lost(i32 %signal, i64* %info, i8* %context) {{
begin:
  %at = getelementptr i64, i64* %info, i64 {_ADDRESS_AT}
  %address = load i64, i64* %at
  %page = and i64 %address, -{mmap.PAGESIZE}
  %table = inttoptr i64 {GUARDED.ctypes.data} to i64*
  br label %row
row:
  %number = phi i64 [2, %begin], [%next, %other]
  %first = getelementptr i64, i64* %table, i64 %number
  %start = load volatile i64, i64* %first
  %behind = add i64 %number, 1
  %second = getelementptr i64, i64* %table, i64 %behind
  %end = load volatile i64, i64* %second
  %above = icmp uge i64 %page, %start
  %below = icmp ult i64 %page, %end
  %inside = and i1 %above, %below
  br i1 %inside, label %found, label %other
other:
  %next = add i64 %number, 2
  %more = icmp ult i64 %next, {GUARDED.size}
  br i1 %more, label %row, label %die
found:
  %size = sub i64 %end, %page
  %made = call i64 @mmap(i64 %page, i64 %size, i32 {mmap.PROT_READ}, i32 {_ZEROS}, i32 -1, i64 0)
  %whole = icmp eq i64 %made, %page
  br i1 %whole, label %count, label %die
count:
  %before = atomicrmw add i64* %table, i64 1 seq_cst
  ret void
die:
  %old = call i64 @signal(i32 %signal, i64 0)
  ret void
}}
"""


class _Action(ctypes.Structure):
    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_byte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_engines: list[binding.ExecutionEngine] = []  # they own the code


def survive_lost_pages() -> bool:
    """Let the process survive pages of guarded mappings that are gone; True where that is possible."""
    if not sys.platform.startswith("linux") or struct.calcsize("P") != 8:
        return False
    if not _engines:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        target = binding.Target.from_default_triple().create_target_machine()
        engine = binding.create_mcjit_compiler(binding.parse_assembly(_HANDLER), target)
        engine.finalize_object()
        _engines.append(engine)
    action = _Action(handler=_engines[0].get_function_address("lost"), flags=_SIGINFO)
    return not ctypes.CDLL(None).sigaction(int(signal.SIGBUS), ctypes.byref(action), None)
