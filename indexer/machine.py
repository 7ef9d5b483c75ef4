"""What runs this process: the kernel, which containers of a host share, the processes it sees, which they do not, and
the device that its settings name.
"""

from pathlib import Path
from typing import Final

import psutil

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_PID_NAMESPACE: Final = Path("/proc/self/ns/pid")

_device = "auto"


def use_device(name: str) -> None:
    """Name the device of this process's jobs, as the settings do. Jobs that build indexes use no other GPU."""
    global _device
    _device = name


def device_in_use() -> str:
    """The name of the device that jobs of this process use; ``auto`` unless another was named."""
    return _device


def boot() -> str:
    """The start of the kernel, in eight hexadecimal digits."""
    try:
        return _BOOT_ID.read_text()[:8]
    except OSError:
        return f"{int(psutil.boot_time()) & 0xFFFFFFFF:08x}"


def pid_namespace() -> str:
    """The start of the kernel and the namespace in which this process's pid counts.

    >>> pid_namespace() == pid_namespace()
    True
    """
    try:
        return f"{boot()}.{_PID_NAMESPACE.stat().st_ino:x}"
    except OSError:  # a system without such namespaces
        return f"{boot()}.0"
