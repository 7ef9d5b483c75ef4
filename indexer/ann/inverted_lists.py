"""FAISS inverted lists with codes of four bits: compact approximate search of directions."""

import hashlib
from threading import Lock
from weakref import WeakKeyDictionary

import faiss
import numpy as np
from jaxtyping import UInt8

from indexer.errors import SegmentCorrupt
from indexer.segments.reader import Segment

# The number of training vectors per list, and the least number of lists of an index.
TRAINED_ON = 40
FEWEST_LISTS = 4
# Dimensions that share one code of four bits.
DIM_A_CODE = 4
SEED = 13


def empty_index(dim: int, lists: int, probes: int = 1) -> faiss.IndexIVFPQFastScan:
    """An untrained index of directions, with the default number of lists that a search visits."""
    centres = faiss.IndexFlatIP(dim)
    index = faiss.IndexIVFPQFastScan(centres, dim, lists, dim // DIM_A_CODE, 4, faiss.METRIC_INNER_PRODUCT)
    index.cp.seed = index.pq.cp.seed = SEED
    index.nprobe = probes
    if faiss.get_num_gpus():  # finding the centres is most of the work
        index.clustering_index = faiss.index_cpu_to_all_gpus(faiss.IndexFlatIP(dim))
    return index


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
