"""Arrays of a safetensors file, memory-mapped: pages are read on first use."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from models.mapping import mapped_bytes

_KINDS = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.uint16,  # numpy has none: see _floats
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U8": np.uint8,
    "BOOL": np.bool_,
}


def read_tensors(path: Path) -> dict[str, Shaped[np.ndarray, "..."]]:
    """The arrays of a file by name, read-only; bfloat16 becomes float32. Raises ``ValueError`` for a truncated file."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        described = file.read(length)
    if len(described) < length:
        raise ValueError(f"{path} ends within its header")
    header: dict[str, dict[str, Any]] = json.loads(described)
    header.pop("__metadata__", None)
    if 8 + length + max((each["data_offsets"][1] for each in header.values()), default=0) > path.stat().st_size:
        raise ValueError(f"{path} ends within its tensors")
    mapped = mapped_bytes(path)[8 + length :]
    return {name: _array(mapped, **each) for name, each in header.items()}


def _array(
    mapped: Shaped[np.ndarray, " bytes"], *, dtype: str, shape: list[int], data_offsets: list[int]
) -> Shaped[np.ndarray, "..."]:
    if dtype not in _KINDS:
        raise ValueError(f"tensors of type {dtype} are not supported")
    array: Shaped[np.ndarray, "..."] = mapped[slice(*data_offsets)].view(_KINDS[dtype]).reshape(shape)
    return _floats(array) if dtype == "BF16" else array


def _floats(halves: Shaped[np.ndarray, "..."]) -> Shaped[np.ndarray, "..."]:
    """Float32 numbers from their upper halves (bfloat16).

    >>> _floats(np.array([0x3FC0], np.uint16)).tolist()
    [1.5]
    """
    return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)
