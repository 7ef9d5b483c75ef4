"""A CUDA device that computes on the processor: real numbers, tensors that know their device, and one queue of work.

``FakeCuda`` refuses what a GPU refuses: to mix tensors of two devices, and to read a tensor of the device as an array.
A copy to pinned memory of the host is done when somebody waits for it, and not before: who reads it too early reads
zeros. ``waits`` has for every wait the work that was queued behind what it waited for. It does not run kernels: their
rounding, their speed and their errors, it cannot show.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

GPU = torch.device("cuda", 0)
_DEVICE = Tensor.device.__get__
_IS_CUDA = Tensor.is_cuda.__get__
_TO_HOST = (Tensor.cpu, Tensor.item, Tensor.tolist)
# What takes tensors of two devices: copies, and indexes that lie on the host.
_MIXES = (
    Tensor.copy_,
    Tensor.__getitem__,
    Tensor.__setitem__,
    torch._has_compatible_shallow_copy_type,
)


@dataclass
class Queue:
    """The work of the device, numbered, and copies to the host that nobody has waited for."""

    queued: int = 0
    waits: list[int] = field(default_factory=list)
    copies: list[tuple[int, Callable[[], object]]] = field(default_factory=list)

    def wait(self, position: int) -> None:
        """Do the copies up to a position."""
        self.waits.append(self.queued - position)
        due = [copy for at, copy in self.copies if at <= position]
        self.copies = [(at, copy) for at, copy in self.copies if at > position]
        for copy in due:
            copy()


class FakeCuda(TorchFunctionMode):
    """Runs what is asked of ``cuda`` on the processor, while it is entered. ``sent`` has every tensor sent there."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue()
        self.sent: list[Tensor] = []
        self.largest = 0
        self.free, self.reserved, self.allocated = 2**34, 0, 0
        self.count = 1
        self.emptied = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.device:
            return func(*args, **kwargs)
        if func == _DEVICE and _is_there(args[0]):
            return GPU
        if func == _IS_CUDA and _is_there(args[0]):
            return True
        if func is Tensor.pin_memory:
            return args[0]
        if func is Tensor.numpy and _is_there(args[0]):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        if func is Tensor.copy_ and kwargs.get("non_blocking") and _is_there(args[1]) and not _is_there(args[0]):
            self.queue.queued += 1
            source = args[1].clone()
            self.queue.copies.append((self.queue.queued, torch.inference_mode()(lambda: args[0].copy_(source))))
            return args[0]
        if func in _TO_HOST and any(map(_is_there, args)):
            self.queue.wait(self.queue.queued)
            return args[0].clone() if func is Tensor.cpu else func(*args, **kwargs)
        return self._run(func, args, kwargs)

    def _run(self, func: Any, args: Any, kwargs: Any) -> Any:
        named = [each for each in (*args, *kwargs.values()) if isinstance(each, torch.device | str)]
        is_sent = any(str(each).startswith("cuda") for each in named)
        is_pinned = kwargs.pop("pin_memory", False)
        tensors = [each for each in _flat((args, kwargs)) if isinstance(each, Tensor)]
        there = [each for each in tensors if _is_there(each)]
        others = [each for each in tensors if not _is_there(each) and each.dim()]
        if there and others and func not in _MIXES:
            raise RuntimeError(f"Expected all tensors to be on the same device: {getattr(func, '__name__', func)}")
        result = func(*(_on_host(each) for each in args), **{name: _on_host(each) for name, each in kwargs.items()})
        if is_pinned:
            return result.zero_()
        if is_sent and func is Tensor.to:
            self.sent.append(args[0])
        returns = func is Tensor.to and any(str(each).startswith("cpu") for each in named)
        if args and result is args[0] and (returns or (is_sent and func is Tensor.to)):
            result = args[0].clone()
        stays = bool(there) and not returns
        if is_sent or (stays and func is not Tensor.copy_) or (func is Tensor.copy_ and _is_there(args[0])):
            made = [each for each in _flat(result) if isinstance(each, Tensor)]
            self.queue.queued += bool(made)
            for each in made:
                each.on_fake_cuda = True  # type: ignore[attr-defined]
                self.largest = max(self.largest, each.untyped_storage().nbytes())
        return result

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Replace what is asked of ``torch.cuda``."""
        queue = self.queue

        class Event:
            def __init__(self, **_: Any) -> None:
                self._at = 0

            def record(self, stream: Any = None) -> None:
                self._at = queue.queued

            def synchronize(self) -> None:
                queue.wait(self._at)

        def emptied() -> None:
            self.emptied += 1

        replaced = {
            "is_available": lambda: True,
            "device_count": lambda: self.count,
            "current_device": lambda: 0,
            "mem_get_info": lambda device=None: (self.free, 2**34),
            "memory_reserved": lambda device=None: self.reserved,
            "memory_allocated": lambda device=None: self.allocated,
            "empty_cache": emptied,
            "get_device_capability": lambda device=None: (9, 0),
            "current_stream": lambda device=None: SimpleNamespace(synchronize=lambda: queue.wait(queue.queued)),
            "synchronize": lambda device=None: queue.wait(queue.queued),
            "Event": Event,
        }
        for name, value in replaced.items():
            patch.setattr(torch.cuda, name, value)
        to = torch.nn.Module.to

        def moved(module: torch.nn.Module, device: Any) -> torch.nn.Module:
            """Mark parameters in place: setting their data is nothing that this mode is told of."""
            moved = to(module, _on_host(device))
            for each in (*moved.parameters(), *moved.buffers()) if str(device).startswith("cuda") else ():
                each.on_fake_cuda = True  # type: ignore[attr-defined]
            return moved

        patch.setattr(torch.nn.Module, "to", moved)


def _is_there(value: Any) -> bool:
    return isinstance(value, Tensor) and getattr(value, "on_fake_cuda", False)


def _on_host(value: Any) -> Any:
    if isinstance(value, torch.device | str) and str(value).startswith("cuda"):
        return torch.device("cpu")
    return value


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [each for part in value for each in _flat(part)]
    return [value]
