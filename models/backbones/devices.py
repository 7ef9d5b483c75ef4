"""The devices of torch: their names, their memory, and tensors on their way to and from them."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from models.errors import DeviceMemoryExhausted, DeviceUnavailable
from models.kernels.products import multiplies_bfloat16

Item = TypeVar("Item")
Result = TypeVar("Result")


class Divisible(Protocol):
    """A list or an array."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Any: ...  # noqa: ANN401  the same type


Items = TypeVar("Items", bound=Divisible)


def resolve_device(name: str) -> torch.device:
    """The device of ``auto``, ``cpu``, ``cuda`` or ``cuda:N``; ``auto`` is a GPU if there is one.

    Raises ``DeviceUnavailable``.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cpu" or (name == "auto" and not count):
        return torch.device("cpu")
    named = re.fullmatch(r"auto|cuda(?::([0-9]+))?", name)
    number = int(named[1] or 0) if named else 0
    if named and number < count:
        return torch.device("cuda", number)
    raise DeviceUnavailable(
        f"This machine has {count or 'no'} CUDA device{'' if count == 1 else 's'}; {name!r} is not available.",
        hint="Use auto, cpu, cuda, or cuda:N with the number of a CUDA device, counted from 0.",
        field="device",
    )


def has_native_bf16(device: torch.device) -> bool:
    """True if bf16 products run in hardware on this device."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return multiplies_bfloat16()


def free_memory(device: torch.device) -> int:
    """The bytes that a GPU can still give to tensors, those that torch keeps for reuse included."""
    free, _ = torch.cuda.mem_get_info(device)
    return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))


def health_of(device: torch.device) -> str | None:
    """The error of a device that takes no data, in a sentence; None if it works."""
    try:
        torch.zeros(1, device=device).item()
    except RuntimeError as error:
        return f"The device {device} does not answer: {str(error).splitlines()[0]}."
    return None


def send(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on a device. Its copy to a GPU is queued there, and the caller does not wait for it."""
    if device.type == "cpu" or tensor.device.type != "cpu":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class Fetched:
    """A tensor on its way from its device to the memory of the host."""

    def __init__(self, tensor: Tensor) -> None:
        self._event: torch.cuda.Event | None = None
        self._host = tensor
        if tensor.device.type != "cpu":
            self._host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            self._host.copy_(tensor, non_blocking=True)
            self._event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._event.record(torch.cuda.current_stream(tensor.device))

    def array(self) -> np.ndarray:
        """The values. Waits for this copy alone, not for what was queued after it."""
        if self._event is not None:
            self._event.synchronize()
        return self._host.numpy()


def ahead(items: Iterable[Item], count: int) -> Iterator[Item]:
    """The same items, with as many more drawn before one is yielded.

    >>> drawn = []
    >>> next(ahead((drawn.append(number) for number in range(9)), 2))
    >>> len(drawn)
    3
    """
    waiting: deque[Item] = deque()
    for item in items:
        waiting.append(item)
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raises ``DeviceMemoryExhausted`` where torch finds too little memory."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise DeviceMemoryExhausted(
            f"The device has too little memory: {str(error).splitlines()[0]}",
            hint="End other processes that use the device, or set SPANSEEK_DEVICE to another one.",
        ) from error


def in_halves(run: Callable[[Items], Result], items: Items) -> list[Result]:
    """The results of a computation for items, halved as often as the memory of the device demands.

    Raises ``DeviceMemoryExhausted`` if a single item is too large.
    """
    if len(items) < 2:
        with memory_errors():
            return [run(items)]
    with suppress(torch.OutOfMemoryError):
        return [run(items)]
    torch.cuda.empty_cache()  # here, because the error held the tensors of the attempt
    middle = len(items) // 2
    return in_halves(run, items[:middle]) + in_halves(run, items[middle:])
