"""A sketch of every unit, two bits a direction: all of it is read, and says which runs of units are worth looking at.

The principal directions of the units keep most of every product with a query in few numbers. Rotated at random, these
numbers are of like size, so that one pair of levels does for all.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int16, UInt8
from numba import njit

from indexer.kernels.common import FAST, RUN, RUNS
from indexer.kernels.single import block_scores
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment
from models.ops.quantization import dequantize

DIRECTIONS = 256
_SEED = 13
_LEARNT_FROM = 50_000
_UNITS_AT_ONCE = 65_536
# Codes 0 to 3 stand for levels from -1.5 to 1.5, of a step that fits numbers of a normal distribution best (Max, 1960).
_STEP, _MIDDLE = 0.9957, np.float32(1.5)
# Codes of two bits that share a byte. A byte's neighbours hold the neighbours of its directions, not the byte itself:
# so one instruction reads many of them.
_A_BYTE = 4
_SHIFTS = np.arange(0, 2 * _A_BYTE, 2, dtype=np.uint8)[:, None]
# Largest component of a query as int16.
_FINE = 8191


@dataclass(frozen=True, slots=True)
class Sketch:
    """What is kept of the units of a segment; ``codes * scales`` are the levels of their coordinates."""

    axes: Float32[np.ndarray, "directions dim"]
    codes: UInt8[np.ndarray, "units bytes"]
    scales: Float32[np.ndarray, " units"]

    @property
    def nbytes(self) -> int:
        """Bytes of all three."""
        return self.axes.nbytes + self.codes.nbytes + self.scales.nbytes

    def best_of_runs(self, segment: Segment, query: Float32[np.ndarray, " dim"]) -> Float32[np.ndarray, " runs"]:
        """For every run of ``RUN`` starts the best cosine of its spans, as the sketch has it.

        Norms are those of the segment, as in a scan.
        """
        turned = self.axes @ query
        step = np.float32(max(float(np.abs(turned).max()), 1e-30) / _FINE)
        coded = np.rint(turned / step).astype(np.int16).reshape(_A_BYTE, -1)
        norms = segment.norm_codes, segment.norm_affine, segment.recipe.bounds.shortest
        return _scan(self.codes, self.scales * step, coded, *norms)


def make_sketch(segment: Segment, directions: int = DIRECTIONS) -> Sketch:
    """The sketch of all units of a segment; of its dimensions, if these are fewer, all are kept."""
    units, dim = segment.vectors.shape
    axes = principal_axes(_sample(segment), min(directions, dim) // _A_BYTE * _A_BYTE)
    codes, scales = np.empty((units, len(axes) // _A_BYTE), np.uint8), np.empty(units, np.float32)
    for begin in range(0, units, _UNITS_AT_ONCE):
        some = slice(begin, begin + _UNITS_AT_ONCE)
        codes[some], scales[some] = two_bits(dequantize(segment.vectors[some], segment.scales[some]) @ axes.T)
    return Sketch(axes, codes, scales)


def principal_axes(vectors: Float[np.ndarray, "some dim"], count: int) -> Float32[np.ndarray, "count dim"]:
    """An orthonormal basis, turned at random, of the directions in which vectors reach farthest from zero.

    >>> axes = principal_axes(np.array([[3.0, 0.0, 0.1], [0.0, 2.0, 0.0]]), 2)
    >>> bool(np.allclose(axes @ axes.T, np.eye(2), atol=1e-6)), bool(np.abs(axes[:, 2]).max() < 0.1)
    (True, True)
    """
    wide = vectors.astype(np.float64)
    largest = np.linalg.eigh(wide.T @ wide)[1][:, ::-1][:, :count]
    turn, _ = np.linalg.qr(np.random.default_rng(_SEED).normal(size=(count, count)))
    return (turn @ largest.T).astype(np.float32)


def two_bits(
    coordinates: Float32[np.ndarray, "units directions"],
) -> tuple[UInt8[np.ndarray, "units bytes"], Float32[np.ndarray, " units"]]:
    """Codes, four a byte, and scales with which a vector's product with its own levels is right.

    >>> codes, scales = two_bits(np.array([[1.5, -1.5, 0.5, -0.5]], np.float32))
    >>> [int(codes[0, 0]) >> shift & 3 for shift in (0, 2, 4, 6)], scales.tolist()
    ([3, 0, 2, 1], [1.0])
    """
    sizes = np.sqrt(np.square(coordinates).mean(axis=1))
    steps = np.where(sizes > 0, sizes, 1).astype(np.float32)[:, None] * np.float32(_STEP)
    numbers = np.clip(np.floor(coordinates / steps + 2), 0, 3)
    squares = np.square(coordinates).sum(axis=1)
    products = np.einsum("ud,ud->u", coordinates, numbers - _MIDDLE)
    scales = np.divide(squares, products, out=np.zeros_like(squares), where=products > 0)
    planes = numbers.astype(np.uint8).reshape(len(numbers), _A_BYTE, -1)
    return np.bitwise_or.reduce(planes << _SHIFTS, axis=1), scales


def _sample(segment: Segment) -> Float32[np.ndarray, "some dim"]:
    """Units from all of a segment, to learn its directions from."""
    rows = np.random.default_rng(_SEED).permutation(len(segment.vectors))[:_LEARNT_FROM]
    return dequantize(segment.vectors[rows], segment.scales[rows])


@njit(fastmath=FAST, cache=True)
def _numerators(
    codes: UInt8[np.ndarray, "units bytes"],
    scales: Float32[np.ndarray, " units"],
    query: Int16[np.ndarray, "{_A_BYTE} bytes"],
    prefix: Float32[np.ndarray, " bounds"],
) -> None:
    middle = _MIDDLE * np.float32(query.sum())
    prefix[0] = 0
    for unit in range(len(codes)):
        total = np.int32(0)
        for plane in range(_A_BYTE):
            for place in range(codes.shape[1]):
                total += np.int32((codes[unit, place] >> (2 * plane)) & 3) * np.int32(query[plane, place])
        prefix[unit + 1] = prefix[unit] + (np.float32(total) - middle) * scales[unit]
    prefix[len(codes) + 1 :] = prefix[len(codes)]


@njit(fastmath=FAST, cache=True)
def _scan(
    codes: UInt8[np.ndarray, "units bytes"],
    scales: Float32[np.ndarray, " units"],
    query: Int16[np.ndarray, "{_A_BYTE} bytes"],
    norm_codes: UInt8[np.ndarray, "blocks lengths {BLOCK}"],
    affine: Float32[np.ndarray, "blocks lengths 2"],
    shortest: int,
) -> Float32[np.ndarray, " runs"]:
    units, ahead = len(codes), norm_codes.shape[1] + shortest - 2
    best = np.empty(len(norm_codes) * RUNS, np.float32)
    prefix, top = np.empty(BLOCK + ahead + 1, np.float32), np.empty(BLOCK, np.float32)
    for block in range(len(norm_codes)):
        begin = block * BLOCK
        end = min(units, begin + BLOCK + ahead)
        _numerators(codes[begin:end], scales[begin:end], query, prefix)
        block_scores(prefix, norm_codes[block], affine[block], shortest, top)
        for run in range(RUNS):
            best[block * RUNS + run] = top[run * RUN : (run + 1) * RUN].max()
    return best
