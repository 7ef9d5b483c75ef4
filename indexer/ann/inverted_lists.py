"""FAISS inverted lists with codes of four bits: compact approximate search of directions."""

import hashlib
import logging
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import faiss
import numpy as np
from jaxtyping import Float32, UInt8

from indexer.errors import SegmentCorrupt
from indexer.machine import device_in_use
from indexer.segments.reader import Segment

# The number of training vectors per list, and the least number of lists of an index.
TRAINED_ON = 40
FEWEST_LISTS = 4
# Dimensions that share one code of four bits.
DIM_A_CODE = 4
SEED = 13
# Bytes on a GPU that one user of FAISS computes in.
TEMPORARY_BYTES = 2**28

_log = logging.getLogger(__name__)


def empty_index(dim: int, lists: int, probes: int = 1) -> faiss.IndexIVFPQFastScan:
    """An untrained index of directions, with the default number of lists that a search visits."""
    centres = faiss.IndexFlatIP(dim)
    index = faiss.IndexIVFPQFastScan(centres, dim, lists, dim // DIM_A_CODE, 4, faiss.METRIC_INNER_PRODUCT)
    index.cp.seed = index.pq.cp.seed = SEED
    index.nprobe = probes
    return index


def train(index: faiss.IndexIVF, vectors: Float32[np.ndarray, "vectors dim"]) -> None:
    """Train an index; on a GPU if the settings name one that FAISS can use: finding the centres is most of the work."""
    number = gpu_number(device_in_use(), faiss.get_num_gpus())
    if number is not None:
        try:
            return _train_on_gpu(index, vectors, number)
        except RuntimeError as error:  # FAISS has no other for a GPU that is full or lost
            _log.warning("FAISS cannot train on GPU %d, and trains on the processor: %s", number, error)
            index.quantizer.reset()
    index.train(vectors)


def gpu_number(device: str, count: int) -> int | None:
    """The number of the GPU of a device's name, among those that FAISS sees; None for a processor.

    >>> [gpu_number(name, 2) for name in ("auto", "cuda", "cuda:1", "cuda:2", "cpu")]
    [0, 0, 1, None, None]
    """
    name, _, number = device.partition(":")
    return int(number or 0) if name in ("auto", "cuda") and int(number or 0) < count else None


def gpu_resources() -> Any:  # noqa: ANN401  builds without GPUs have no such class
    """The memory and streams of one user of a GPU. FAISS takes 1.5 GiB for each unless it is told otherwise."""
    resources = faiss.StandardGpuResources()
    resources.setTempMemory(TEMPORARY_BYTES)
    return resources


def _train_on_gpu(index: faiss.IndexIVF, vectors: Float32[np.ndarray, "vectors dim"], number: int) -> None:
    centres = faiss.index_cpu_to_gpu(gpu_resources(), number, faiss.IndexFlatIP(index.d))
    index.clustering_index = centres
    try:
        index.train(vectors)
    finally:
        index.clustering_index = None  # type: ignore[assignment]
        centres.this.own(True)  # type: ignore[attr-defined]  # SWIG takes it for the index's own, which never frees it


def lists_for(vectors: int) -> int:
    """About the square root of the number of vectors, as a power of two.

    >>> lists_for(100_000), lists_for(0)
    (256, 4)
    """
    return max(FEWEST_LISTS, 1 << round(np.log2(max(vectors, 1)) / 2))


# Weak: an index goes with the last snapshot that holds its segment.
_opened: WeakKeyDictionary[Segment, dict[str, faiss.Index]] = WeakKeyDictionary()
_opening = Lock()


def open_index(segment: Segment, name: str, content: UInt8[np.ndarray, " bytes"]) -> faiss.Index:
    """Read an index of a segment, or share the one that is open already.

    The file is checked first, since a flipped bit could corrupt all results: raises ``SegmentCorrupt``.
    """
    with _opening:
        opened = _opened.setdefault(segment, {})
        if name not in opened:
            opened[name] = _read_index(segment, name, content)
        return opened[name]


def _read_index(segment: Segment, name: str, content: UInt8[np.ndarray, " bytes"]) -> faiss.Index:
    content = np.array(content)
    if hashlib.sha256(content.data).hexdigest() != segment.manifest.files[name].sha256:
        raise SegmentCorrupt(
            f"{segment.folder.name}: {name} is not the file that was published.",
            hint="Restore the segment from a backup, or index its documents again.",
        )
    return faiss.deserialize_index(content)
