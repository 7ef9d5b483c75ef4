"""The layers of a BERT over windows that lie end to end, without padding.

What one window gives does not depend on those beside it, to the last bit. Kernels release the GIL, so that as many
threads as there are cores may each read windows of their own.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Shaped
from numba import njit, types
from numba.extending import overload

from models.kernels.products import COLUMNS, ROWS, multiply, power_of_two

# Sums may be reordered so that they vectorise; no kernel ever sees a NaN or an infinity.
_FAST = {"nnan", "ninf", "nsz", "reassoc", "contract"}
_SETTINGS = {"nogil": True, "fastmath": _FAST, "error_model": "numpy"}  # else a division would look for zeros
_HALF, _ONE, _FOUR = np.float32(0.5), np.float32(1), np.float32(4)
_ROOT_OF_HALF = np.float32(math.sqrt(0.5))
_LOG2_E = np.float32(math.log2(math.e))
_LEAST_EXPONENT = np.float32(-126)
# 2 ** x is the sum of (x ln 2) ** n / n!: of nine terms no error is left in 32 bits where -1 < x <= 0.
_OF_POWERS = tuple(np.float32(math.log(2) ** n / math.factorial(n)) for n in range(9))
# The error function on [-4, 4] as x P(x ** 2) / Q(x ** 2), the highest power first. As in Eigen; off by 4e-7 at most.
_ERF_ABOVE = tuple(
    map(
        np.float32,
        (
            -2.72614225801306e-10,
            2.77068142495902e-08,
            -2.10102402082508e-06,
            -5.69250639462346e-05,
            -7.34990630326855e-04,
            -2.95459980854025e-03,
            -1.60960333262415e-02,
        ),
    )
)
_ERF_BELOW = tuple(
    map(
        np.float32,
        (
            -1.45660718464996e-05,
            -2.13374055278905e-04,
            -1.68282697438203e-03,
            -7.37332916720468e-03,
            -1.42647390514189e-02,
        ),
    )
)


class Projection(NamedTuple):
    """The matrices and biases of one projection in several layers, stacked.

    ``products.tiled`` lays out the matrices; those of 16-bit floats hold their bits. For matrices of bytes, ``scales``
    has the scale and the sum of every column.
    """

    tiles: Shaped[np.ndarray, "layers tiles inputs columns"]
    bias: Float32[np.ndarray, "layers outputs"]
    scales: Float32[np.ndarray, "layers 2 outputs"] | None = None

    def lowest(self, count: int) -> "Projection":
        """Return the projection of the ``count`` bottom layers."""
        return Projection(*(array[:count] for array in self if array is not None))


class Layers(NamedTuple):
    """The parameters of some layers. ``qkv`` makes queries, keys and values in one product. Norms are gain and bias."""

    qkv: Projection
    attention_out: Projection
    attention_norm: Float32[np.ndarray, "layers 2 dim"]
    ffn_in: Projection
    ffn_out: Projection
    ffn_norm: Float32[np.ndarray, "layers 2 dim"]

    def lowest(self, count: int) -> "Layers":
        """Return the parameters of the ``count`` bottom layers."""
        return Layers(
            self.qkv.lowest(count),
            self.attention_out.lowest(count),
            self.attention_norm[:count],
            self.ffn_in.lowest(count),
            self.ffn_out.lowest(count),
            self.ffn_norm[:count],
        )


@njit(cache=True, **_SETTINGS)
def run(hidden, bounds, heads, epsilon, layers):
    """Take hidden states, float32 [tokens, dim], through the layers, in place.

    Window ``w`` is the rows from ``bounds[w]`` to ``bounds[w + 1]``; none is empty.
    """
    tokens, dim = hidden.shape
    qkv, found = np.empty((tokens, 3 * dim), np.float32), np.empty((tokens, dim), np.float32)
    added, wide = np.empty((tokens, dim), np.float32), np.empty((tokens, layers.ffn_in.bias.shape[1]), np.float32)
    room = np.empty((tokens, max(dim, wide.shape[1])), layers.qkv.tiles.dtype)
    for layer in range(len(layers.attention_norm)):
        _project(hidden, room, layers.qkv, layer, False, qkv)
        _attend(qkv, bounds, heads, found)
        _project(found, room, layers.attention_out, layer, False, added)
        _add_and_norm(hidden, added, layers.attention_norm[layer], epsilon)
        _project(hidden, room, layers.ffn_in, layer, True, wide)
        _project(wide, room, layers.ffn_out, layer, False, added)
        _add_and_norm(hidden, added, layers.ffn_norm[layer], epsilon)


@njit(nogil=True)
def _project(values, room, by, layer, activated, out):
    left, ranges = factors(values, room)
    dense(left, by.tiles[layer], by.bias[layer], activated, out, ranges, _of_layer(by.scales, layer))


@njit(nogil=True)
def _of_layer(scales, layer):
    return None if scales is None else scales[layer]  # numba decides it when it compiles, of an argument alone


def factors(values, room):
    """Values as :func:`dense` takes them beside matrices of the dtype of ``room``, and their ranges if it is int8.

    They are bfloat16 in ``room`` if that is int16, and bytes in it if it is int8.
    """
    raise NotImplementedError("for compiled code")


@overload(factors)
def _factors(values, room):
    def rounded(values, room):
        for row in range(len(values)):
            round_to_bfloat16(values[row], room[row])
        return room[:, : values.shape[1]], None

    def of_bytes(values, room):
        left, ranges = room.view(np.uint8), np.empty((len(values), 2), np.float32)
        for row in range(len(values)):
            round_to_bytes(values[row], left[row], ranges[row])
        return left[:, : values.shape[1]], ranges

    return {types.int16: rounded, types.int8: of_bytes}.get(room.dtype, lambda values, room: (values, None))


@njit(**_SETTINGS)
def round_to_bytes(values, out, range_):
    """A row as integers from 0 to 255, and their range: a value is about ``integer * range_[0] + range_[1]``."""
    bits = values.view(np.int32)
    lowest = highest = _in_order(bits[0])
    for place in range(len(bits)):
        lowest, highest = min(lowest, _in_order(bits[place])), max(highest, _in_order(bits[place]))
    range_.view(np.int32)[0], range_.view(np.int32)[1] = _in_order(highest), _in_order(lowest)
    least, step = range_[1], (range_[0] - range_[1]) / np.float32(255)
    steps = _ONE / step if step > 0 else np.float32(0)
    for place in range(len(values)):
        out[place] = np.uint8((values[place] - least) * steps + _HALF)
    range_[0] = step


@njit(nogil=True)
def _in_order(bits):
    """Map the bits of a float32 to an integer that sorts as the floats do, and back: minima of integers vectorise."""
    return bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))


@njit(nogil=True)
def round_to_bfloat16(values, out):
    """The bits of the nearest bfloat16s of a row, of two the even one."""
    bits, half, last = values.view(np.uint32), np.uint32(16), np.uint32(0x7FFF)
    for place in range(len(values)):
        odd = (bits[place] >> half) & np.uint32(1)
        out[place] = np.int16((bits[place] + last + odd) >> half)


@njit(cache=True, **_SETTINGS)
def dense(left, tiles, bias, activated, out, ranges=None, scales=None):
    """``out = left @ matrix + bias``, through GELU if so asked.

    Of bytes, ``ranges`` are those of the rows, and ``scales`` the scale and the sum of every column of the matrix.
    Rows are taken in blocks of equal size; the last one may begin within the block before it.
    """
    columns, ends = np.empty((ROWS, COLUMNS), np.float32), np.zeros((3, COLUMNS), np.float32)
    block = _even_block(len(left))
    for tile in range(len(tiles)):
        first, last = tile * COLUMNS, min(tile * COLUMNS + COLUMNS, out.shape[1])
        ends[0, : last - first] = bias[first:last]
        if scales is not None:
            ends[1:, : last - first] = scales[:, first:last]
        for start in range(0, len(left), block):
            row = min(start, len(left) - block)
            multiply(block, left[row:], tiles[tile], columns)
            for number in range(block):
                if ranges is None:
                    _add(columns, number, ends)
                else:
                    _scale_and_add(columns, number, ends, ranges[row + number, 0], ranges[row + number, 1])
                if activated:
                    _activate(columns, number)
                for place in range(last - first):
                    out[row + number, first + place] = columns[number, place]


@njit(**_SETTINGS)
def _add(sums, row, ends):
    for place in range(COLUMNS):
        sums[row, place] += ends[0, place]


@njit(**_SETTINGS)
def _scale_and_add(sums, row, ends, step, least):
    """Convert sums of products of bytes to those of the values that the bytes stand for, and add the bias."""
    for place in range(COLUMNS):
        sums[row, place] = sums[row, place] * (step * ends[1, place]) + (least * ends[2, place] + ends[0, place])


@njit(**_SETTINGS)
def _activate(sums, row):
    for place in range(COLUMNS):
        sums[row, place] = gelu(sums[row, place])


@njit(nogil=True)
def _even_block(rows):
    """The rows of a block when rows are divided into as few equal blocks as possible, which may overlap."""
    blocks = -(-rows // ROWS)
    return -(-rows // blocks)


@njit(**_SETTINGS)
def gelu(x):
    """``x`` times the share of a normal distribution that lies below it."""
    return _HALF * x * (_ONE + erf(x * _ROOT_OF_HALF))


@njit(**_SETTINGS)
def erf(x):
    """The error function of a float32."""
    bounded = -_FOUR if x < -_FOUR else x
    bounded = _FOUR if bounded > _FOUR else bounded
    square = bounded * bounded
    above, below = _ERF_ABOVE[0], _ERF_BELOW[0]
    above = above * square + _ERF_ABOVE[1]
    above = above * square + _ERF_ABOVE[2]
    above = above * square + _ERF_ABOVE[3]
    above = above * square + _ERF_ABOVE[4]
    above = above * square + _ERF_ABOVE[5]
    above = above * square + _ERF_ABOVE[6]
    below = below * square + _ERF_BELOW[1]
    below = below * square + _ERF_BELOW[2]
    below = below * square + _ERF_BELOW[3]
    below = below * square + _ERF_BELOW[4]
    return bounded * above / below


@njit(**_SETTINGS)
def exp(x):
    """``e ** x`` of a float32 that is at most 0."""
    power = max(x * _LOG2_E, _LEAST_EXPONENT)
    whole = np.int32(power)
    rest = power - np.float32(whole)
    total = _OF_POWERS[8]
    total = total * rest + _OF_POWERS[7]
    total = total * rest + _OF_POWERS[6]
    total = total * rest + _OF_POWERS[5]
    total = total * rest + _OF_POWERS[4]
    total = total * rest + _OF_POWERS[3]
    total = total * rest + _OF_POWERS[2]
    total = total * rest + _OF_POWERS[1]
    total = total * rest + _OF_POWERS[0]
    return total * power_of_two(whole)


@njit(**_SETTINGS)
def _attend(qkv, bounds, heads, out):
    """Attention within every window: ``qkv`` are queries, keys and values side by side, [tokens, 3 * dim]."""
    dim = out.shape[1]
    size, longest = dim // heads, np.max(np.diff(bounds))
    tiles = -(-longest // COLUMNS)
    keys = np.zeros((tiles, size, COLUMNS), np.float32)
    values = np.zeros((-(-size // COLUMNS), longest, COLUMNS), np.float32)
    shares, columns = np.empty((ROWS, tiles * COLUMNS), np.float32), np.empty((ROWS, COLUMNS), np.float32)
    for window in range(len(bounds) - 1):
        of_window = qkv[bounds[window] : bounds[window + 1]]
        found = out[bounds[window] : bounds[window + 1]]
        for head in range(0, dim, size):
            _lay_out(of_window[:, dim + head : dim + head + size], keys)
            for place in range(len(of_window)):
                for number in range(size):
                    values[number // COLUMNS, place, number % COLUMNS] = of_window[place, 2 * dim + head + number]
            _attend_with(of_window[:, head : head + size], keys, values, shares, columns, found[:, head : head + size])


@njit(**_SETTINGS)
def _lay_out(rows, tiles):
    """The transposed rows in tiles."""
    for row in range(len(rows)):
        for place in range(rows.shape[1]):
            tiles[row // COLUMNS, place, row % COLUMNS] = rows[row, place]


@njit(**_SETTINGS)
def _attend_with(queries, keys, values, shares, columns, out):
    """One head in one window, some queries at a time."""
    tokens, size = queries.shape
    scale, block = np.float32(1 / math.sqrt(size)), _even_block(tokens)
    for start in range(0, tokens, block):
        row = min(start, tokens - block)
        for tile in range(-(-tokens // COLUMNS)):
            multiply(block, queries[row:], keys[tile], columns)
            for number in range(block):
                for place in range(COLUMNS):
                    shares[number, tile * COLUMNS + place] = columns[number, place] * scale
        for number in range(block):
            _soften(shares[number, :tokens])
        for first in range(0, size, COLUMNS):
            multiply(block, shares, values[first // COLUMNS, :tokens], columns)
            last = min(size, first + COLUMNS)
            for number in range(block):
                for place in range(first, last):
                    out[row + number, place] = columns[number, place - first]


@njit(**_SETTINGS)
def _soften(scores):
    """Softmax, in place."""
    top = scores[0]
    for place in range(1, len(scores)):
        top = max(top, scores[place])
    for place in range(len(scores)):
        scores[place] = exp(scores[place] - top)
    total = np.float32(0)
    for place in range(len(scores)):
        total += scores[place]
    for place in range(len(scores)):
        scores[place] /= total


@njit(**_SETTINGS)
def _add_and_norm(hidden, added, norm, epsilon):
    """``hidden = layer_norm(hidden + added)``."""
    tokens, dim = hidden.shape
    for row in range(tokens):
        total, squares = np.float32(0), np.float32(0)
        for place in range(dim):
            hidden[row, place] += added[row, place]
            total += hidden[row, place]
        mean = total / np.float32(dim)
        for place in range(dim):
            squares += (hidden[row, place] - mean) * (hidden[row, place] - mean)
        scale = np.float32(1 / math.sqrt(squares / np.float32(dim) + epsilon))
        for place in range(dim):
            hidden[row, place] = (hidden[row, place] - mean) * scale * norm[0, place] + norm[1, place]
