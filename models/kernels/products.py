"""Products of a few rows with a large matrix, which LLVM must be told to vectorise: their sums stay in registers.

The matrix is laid out once (:func:`tiled`) in tiles of some columns each, that are read one row after the other. Its
numbers may be kept in 16 bits: for the ten tokens of an origin phrase, reading the weights takes longest.

For long texts multiplying takes longest. Where the processor multiplies pairs of bfloat16
(:func:`multiplies_bfloat16`), both factors may be of these (:func:`tiled_pairs`); sums have 32 bits. Or factors are
integers of 8 bits (:func:`tiled_quads`), whose sums are exact: faster where the processor has ``has_byte_products``.
"""

import platform
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int8, Int16
from llvmlite import binding, ir
from numba import config, njit, types
from numba.extending import intrinsic

from models.kernels.llvm import FEATURES, INT32, INTS, LANES, loop, multiply_bytes, splat, whole

# Rows that are multiplied at once. With their columns they fill the registers there are, and leave some for factors.
ROWS = 6
# As many threads as numba's other kernels have.
THREADS: int = config.NUMBA_NUM_THREADS
binding.initialize_native_asmparser()
# Columns that are multiplied at once.
COLUMNS = 4 * LANES if FEATURES.get("avx512f") else LANES

_FLOAT = ir.FloatType()
_FLOATS = ir.VectorType(_FLOAT, LANES)
# Adds to every lane the products of a pair; LLVM has changed its name for it, assemblers have not.
_DOT_PAIRS = ir.InlineAsm(ir.FunctionType(_FLOATS, [_FLOATS, INTS, INTS]), "vdpbf16ps $3, $2, $0", "=v,0,v,v")


def reads_halves() -> bool:
    """True if the processor has an instruction that widens floating-point numbers of 16 bits to 32."""
    return bool(FEATURES.get("f16c")) or platform.machine() == "aarch64"


def multiplies_bfloat16() -> bool:
    """True if the processor multiplies pairs of bfloat16, twice as fast as floats of 32 bits."""
    return bool(FEATURES.get("avx512bf16"))


def bfloat16(values: Float32[np.ndarray, "*shape"]) -> Int16[np.ndarray, "*shape"]:
    """The bits of the nearest bfloat16s, of two the even one.

    >>> bfloat16(np.array([1.0, -2.0, 1.00390625], np.float32)).view(np.uint16).tolist()
    [16256, 49152, 16256]
    """
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).view(np.int16)


def tiled_pairs(weight: Float[np.ndarray, "outputs inputs"]) -> Int16[np.ndarray, "tiles pairs two_columns"]:
    """A matrix of bfloat16, laid out as :func:`tiled`, two inputs of a column side by side. Inputs are even in number.

    >>> tiled_pairs(np.array([[1.0, 2.0]], np.float32))[0, :, :4].view(np.uint16).tolist()
    [[16256, 16384, 0, 0]]
    """
    tiles = tiled(weight)
    count, inputs, _ = tiles.shape
    pairs = bfloat16(tiles).reshape(count, inputs // 2, 2, COLUMNS).transpose(0, 1, 3, 2)
    return np.ascontiguousarray(pairs).reshape(count, inputs // 2, 2 * COLUMNS)


def whole_numbers(
    matrix: Float[np.ndarray, "outputs inputs"],
) -> tuple[Int8[np.ndarray, "outputs inputs"], Float32[np.ndarray, "2 outputs"]]:
    """A matrix as whole numbers from -127 to 127, and the scale and the sum of every output's.

    >>> numbers, (scales, sums) = whole_numbers(np.array([[0.5, -1.27, 0, 0]], np.float32))
    >>> numbers.tolist(), (scales * 100).round(3).tolist(), (sums * 100).round(3).tolist()
    ([[50, -127, 0, 0]], [1.0], [-77.0])
    """
    floats = np.asarray(matrix, np.float32)
    scales = np.maximum(np.abs(floats).max(axis=1), np.float32(1e-30)) / np.float32(127)
    numbers = np.rint(floats / scales[:, None]).astype(np.int8)
    return numbers, np.stack([scales, scales * numbers.sum(axis=1, dtype=np.int32)]).astype(np.float32)


def tiled_quads(weight: Int8[np.ndarray, "outputs inputs"]) -> Int8[np.ndarray, "tiles quads four_columns"]:
    """A matrix of integers, laid out as :func:`tiled`, four inputs of a column side by side. Inputs are divisible by 4.

    >>> tiled_quads(np.array([[1, 2, 3, 4]], np.int8))[0, :, :8].tolist()
    [[1, 2, 3, 4, 0, 0, 0, 0]]
    """
    tiles = tiled(weight)  # float32 has all integers of 8 bits
    count, inputs, _ = tiles.shape
    quads = tiles.astype(np.int8).reshape(count, inputs // 4, 4, COLUMNS).transpose(0, 1, 3, 2)
    return np.ascontiguousarray(quads).reshape(count, inputs // 4, 4 * COLUMNS)


def tiled(
    weight: Float[np.ndarray, "outputs inputs"] | Int8[np.ndarray, "outputs inputs"], *, halves: bool = False
) -> Float[np.ndarray, "tiles inputs columns"]:
    """A matrix, transposed and laid out for :func:`multiply`; columns that are missing from the last tile are zero.

    >>> tiled(np.ones((3, 2), np.float32))[0, :, :4].tolist()
    [[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]]
    """
    outputs, inputs = weight.shape
    filled = np.zeros((-(-outputs // COLUMNS) * COLUMNS, inputs), np.float16 if halves else np.float32)
    filled[:outputs] = weight
    return np.ascontiguousarray(filled.reshape(-1, COLUMNS, inputs).transpose(0, 2, 1))


@njit(nogil=True)
def multiply(rows, left, tile, out):
    """``out[:rows] = left[:rows] @ tile``, where the rows are at most ``ROWS``.

    ``left`` is float32 [rows, inputs] whose rows are contiguous, ``tile`` float32 or bits of float16 as uint16
    [inputs, COLUMNS], ``out`` float32 [ROWS, COLUMNS]. Or both are bits of bfloat16 as int16, ``tile`` in pairs
    [inputs / 2, 2 * COLUMNS]; or ``left`` is uint8 and ``tile`` int8 in fours [inputs / 4, 4 * COLUMNS].
    """
    if rows == 6:
        _multiply_6(left, tile, out)
    elif rows == 5:
        _multiply_5(left, tile, out)
    elif rows == 4:
        _multiply_4(left, tile, out)
    elif rows == 3:
        _multiply_3(left, tile, out)
    elif rows == 2:
        _multiply_2(left, tile, out)
    else:
        _multiply_1(left, tile, out)


def _multiplier(rows: int) -> Callable[..., None]:
    """The product for a number of rows that the compiler knows."""

    @intrinsic
    def multiply_rows(typing_context, left, tile, out):
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            of_rows, factors, result = (
                context.make_array(kind)(context, builder, given)
                for kind, given in zip(signature.args, arguments, strict=True)
            )
            kind = signature.args[1].dtype
            joined = kind in (types.int16, types.int8)
            stored = INT32 if joined else _FLOAT if kind.bitwidth == 32 else ir.HalfType()
            weights = builder.bitcast(factors.data, stored.as_pointer())
            begins = _begins(builder, of_rows, rows, INT32 if joined else _FLOAT)
            dot = multiply_bytes(builder) if kind == types.int8 else partial(_multiply_pairs, builder)

            def add_dots(place: Any, sums: Sequence[Any]) -> list[Any]:
                at = builder.gep(weights, [builder.mul(place, whole(COLUMNS))])
                across = [_load_words(builder, at, first) for first in range(0, COLUMNS, LANES)]
                down = [splat(builder, builder.load(builder.gep(begin, [place]), align=1)) for begin in begins]
                factors_of_sums = [(one, other) for one in down for other in across]
                return [dot(total, *pair) for total, pair in zip(sums, factors_of_sums, strict=True)]

            def add_products(place: Any, sums: Sequence[Any]) -> list[Any]:
                at = builder.gep(weights, [builder.mul(place, whole(COLUMNS))])
                across = [_load(builder, at, first, stored) for first in range(0, COLUMNS, LANES)]
                down = [splat(builder, builder.load(builder.gep(begin, [place]))) for begin in begins]
                products = [builder.fmul(one, other, ("contract",)) for one in down for other in across]
                return [builder.fadd(*pair, ("contract",)) for pair in zip(products, sums, strict=True)]

            is_whole = kind == types.int8
            zero = ir.Constant(INTS, [0] * LANES) if is_whole else ir.Constant(_FLOATS, [0.0] * LANES)
            nothing = [zero] * (rows * COLUMNS // LANES)
            inputs = builder.extract_value(factors.shape, 0)
            for number, total in enumerate(loop(builder, inputs, nothing, add_dots if joined else add_products)):
                place = builder.gep(result.data, [whole(number * LANES)])
                found = builder.sitofp(total, _FLOATS) if is_whole else total
                builder.store(found, builder.bitcast(place, _FLOATS.as_pointer()), align=4)
            return context.get_dummy_value()

        return types.void(left, tile, out), generate

    return multiply_rows


_multiply_1, _multiply_2, _multiply_3 = _multiplier(1), _multiplier(2), _multiplier(3)
_multiply_4, _multiply_5, _multiply_6 = _multiplier(4), _multiplier(5), _multiplier(6)


@intrinsic
def power_of_two(typing_context, exponent):
    """``2 ** exponent`` as float32, of an int32 from -126 to 127."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        biased = builder.add(arguments[0], ir.Constant(INT32, 127))
        return builder.bitcast(builder.shl(biased, ir.Constant(INT32, 23)), _FLOAT)

    return types.float32(types.int32), generate


def _begins(builder: Any, array: Any, rows: int, kind: Any) -> list[Any]:
    """The addresses of an array's rows."""
    first = builder.bitcast(array.data, ir.IntType(8).as_pointer())
    step = builder.extract_value(array.strides, 0)
    return [
        builder.bitcast(builder.gep(first, [builder.mul(step, whole(row))]), kind.as_pointer()) for row in range(rows)
    ]


def _load(builder: Any, base: Any, first: int, stored: Any) -> Any:
    """``LANES`` factors, made 32 bits wide."""
    kind = ir.VectorType(stored, LANES)
    place = builder.bitcast(builder.gep(base, [whole(first)]), kind.as_pointer())
    read = builder.load(place, align=2)
    return read if stored is _FLOAT else builder.fpext(read, _FLOATS)


def _multiply_pairs(builder: Any, total: Any, one: Any, other: Any) -> Any:
    """Add the products of two pairs of bfloat16 to a total, in every lane."""
    return builder.call(_DOT_PAIRS, [total, one, other])


def _load_words(builder: Any, base: Any, first: int) -> Any:
    """``LANES`` pairs of bfloat16, or fours of bytes."""
    place = builder.bitcast(builder.gep(base, [whole(first)]), INTS.as_pointer())
    return builder.load(place, align=1)
