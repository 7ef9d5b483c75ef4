"""FAISS inverted lists with codes of four bits: many directions in little room, the nearest of them soon found."""

import hashlib

import faiss
import numpy as np
from jaxtyping import UInt8

from indexer.errors import SegmentCorrupt
from indexer.segments.reader import Segment

# An index is trained on this many vectors a list, and is not worth it with fewer lists than these.
TRAINED_ON = 40
FEWEST_LISTS = 4
# Dimensions that share one code of four bits.
DIM_A_CODE = 4
SEED = 13


def empty_index(dim: int, lists: int, probes: int = 1) -> faiss.IndexIVFPQFastScan:
    """An index of directions to be trained; of its lists so many are visited, unless a search asks for others."""
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


def open_index(segment: Segment, name: str, content: UInt8[np.ndarray, " bytes"]) -> faiss.Index:
    """Read an index of a segment. A flipped bit could make FAISS answer anything, so that the file is checked first."""
    content = np.array(content)
    if hashlib.sha256(content.data).hexdigest() != segment.manifest.files[name].sha256:
        raise SegmentCorrupt(
            f"{segment.folder.name}: {name} is not the file that was published.",
            hint="Restore the segment from a backup, or index its documents again.",
        )
    return faiss.deserialize_index(content)
