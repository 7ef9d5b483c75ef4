"""Inner loops that LLVM does not vectorise by itself: a lane of a register is a query, and sums stay in registers.

Everything here is LLVM's own, so that it compiles for every processor; only the dot product of bytes has an
instruction of its own where there is one (AVX-512 VNNI).
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from indexer.arrays import BLOCK
from indexer.kernels.common import NO_SPAN, RUN
from models.kernels.llvm import INT32, INTS, LANES, constant, loop, multiply_bytes, shuffle, splat, whole

# Units that are multiplied at once: enough for the products of one not to wait for each other.
ROWS = 8
# Bytes of a register: the components of one vector that are multiplied at once.
LINE = 4 * LANES
# What turns int8 into uint8, which the instruction wants of one side; and the same for the four bytes of a lane.
FLIP = 128
_FLIPS = -0x7F7F7F80

_BYTE, _INT64 = ir.IntType(8), ir.IntType(64)
_FLOAT, _FEW_FLOATS = ir.FloatType(), ir.VectorType(ir.FloatType(), ROWS)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_BYTES = ir.VectorType(ir.IntType(8), LANES)


@intrinsic
def prefetch(typing_context, array, position):  # type: ignore[no-untyped-def]
    """Ask for the cache line of an element, counted from the array's first; it may lie beyond the end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, position = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        _prefetch(builder)(builder.gep(data, [position]))
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@intrinsic
def grow_prefix(typing_context, flipped, scales, queries, first, steps, prefix):  # type: ignore[no-untyped-def]
    """Go on with the prefix sums of ``LANES`` queries by ``ROWS`` units: ``prefix`` has their bounds.

    ``flipped`` is uint8 [ROWS, 4 * words], ``scales`` float32 [ROWS], ``queries`` int8 [words, LANES, 4] and ``first``
    int32 [LANES] as ``batch.pack`` makes them, ``steps`` float32 [LANES], ``prefix`` float32 [ROWS + 1, LANES], of
    which the first is given.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        units, scale, query, begin, steps, sums = _data(context, builder, signature, arguments)
        words = _length(context, builder, signature, arguments, 2)
        multiply = multiply_bytes(builder)

        def add_word(word: Any, totals: Sequence[Any]) -> list[Any]:
            of_queries = _load(builder, query, builder.mul(word, whole(LANES)), INTS)
            rows = [builder.add(builder.mul(words, whole(row)), word) for row in range(ROWS)]
            of_units = [_load(builder, units, row, INT32) for row in rows]
            return [
                multiply(total, splat(builder, of_unit), of_queries)
                for total, of_unit in zip(totals, of_units, strict=True)
            ]

        dots = loop(builder, words, [_load(builder, begin, whole(0), INTS)] * ROWS, add_word)
        total, step = (_load(builder, base, whole(0), _FLOATS) for base in (sums, steps))
        for row, dot in enumerate(dots):
            size = builder.fmul(splat(builder, _load(builder, scale, whole(row), _FLOAT)), step)
            total = builder.fadd(total, builder.fmul(builder.sitofp(dot, _FLOATS), size))
            _store(builder, total, sums, whole((row + 1) * LANES))
        return context.get_dummy_value()

    return types.void(flipped, scales, queries, first, steps, prefix), generate


@intrinsic
def grow_prefix_of_one(typing_context, vectors, scales, high, low, first, step, prefix):  # type: ignore[no-untyped-def]
    """As :func:`grow_prefix`, for one query whose codes are ``128 * high + low``: a lane is a component.

    ``vectors`` is int8 [ROWS, dim] with ``dim`` a multiple of ``LINE``, ``scales`` float32 [ROWS], ``high`` and ``low``
    int8 [dim], ``first`` int32 as ``batch.pack`` makes it, ``step`` float32, ``prefix`` float32 [ROWS + 1].
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        units, scale, upper, lower, _, _, sums = _data(context, builder, signature, arguments)
        begin, size = arguments[4], arguments[5]
        words = builder.sdiv(_length(context, builder, signature, arguments, 2), whole(4))
        multiply, ask = multiply_bytes(builder), _prefetch(builder)

        def add_line(line: Any, totals: Sequence[Any]) -> list[Any]:
            at = builder.mul(line, whole(LANES))
            halves = [_load(builder, half, at, INTS) for half in (upper, lower)]
            grown = []
            for row in range(ROWS):
                place = builder.add(builder.mul(words, whole(row)), at)
                ahead = builder.add(place, builder.mul(words, whole(ROWS)))
                ask(builder.gep(builder.bitcast(units, INT32.as_pointer()), [ahead]))
                of_unit = _load(builder, units, place, INTS)
                flipped = builder.xor(of_unit, constant(INTS, _FLIPS))
                grown += [multiply(totals[2 * row + part], flipped, half) for part, half in enumerate(halves)]
            return grown

        totals = loop(builder, builder.sdiv(words, whole(LANES)), [constant(INTS, 0)] * 2 * ROWS, add_line)
        joined = [
            builder.add(builder.shl(totals[2 * row], constant(INTS, 7)), totals[2 * row + 1]) for row in range(ROWS)
        ]
        dots = builder.add(_sums_of_lanes(builder, joined), splat(builder, begin, ROWS))
        of_scales = builder.fmul(_load(builder, scale, whole(0), _FEW_FLOATS), splat(builder, size, ROWS))
        products = builder.fmul(builder.sitofp(dots, _FEW_FLOATS), of_scales)
        # One after the other: ``norm_errors`` bounds what as many additions as a span has units may be off by.
        total = _load(builder, sums, whole(0), _FLOAT)
        for row in range(ROWS):
            total = builder.fadd(total, builder.extract_element(products, ir.Constant(INT32, row)))
            _store(builder, total, sums, whole(row + 1))
        return context.get_dummy_value()

    return types.void(vectors, scales, high, low, first, step, prefix), generate


@intrinsic
def score_run(  # type: ignore[no-untyped-def]
    typing_context, prefix, codes, affine, lengths, ends, room, crossing, begin, shortest, top
):
    """For every start of a run, the best approximate score over all lengths, for one query: a lane is a start.

    ``prefix`` is float32 [bounds] of a block, ``codes`` uint8 [lengths, BLOCK], ``affine`` float32 [lengths, 2],
    ``lengths`` float32 [lengths] and ``ends`` float32 [bounds] what a length and an end add to a score, and
    ``crossing`` float32 what spans longer than ``room``, int32 [BLOCK], add. ``begin`` is the run's first start in the
    block, ``top`` float32 [BLOCK], of which the run's is written.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, code, norms, of_lengths, of_ends, left, _, _, _, out = _data(context, builder, signature, arguments)
        lengths = _length(context, builder, signature, arguments, 1)
        of_crossing, run, least = splat(builder, arguments[6]), arguments[7], arguments[8]
        groups = [builder.add(run, whole(first)) for first in range(0, RUN, LANES)]
        before = [_load(builder, sums, start, _FLOATS) for start in groups]
        rooms = [_load(builder, left, start, INTS) for start in groups]

        def score_length(length: Any, best: Sequence[Any]) -> list[Any]:
            row = builder.mul(length, whole(2))
            offset, step = (
                splat(builder, _load(builder, norms, builder.add(row, whole(place)), _FLOAT)) for place in (0, 1)
            )
            of_length = splat(builder, _load(builder, of_lengths, length, _FLOAT))
            of_both = builder.fadd(of_length, of_crossing)
            units = splat(builder, builder.trunc(builder.add(length, least), INT32))
            maxima = []
            for start, sum_before, room_of_start, top in zip(groups, before, rooms, best, strict=True):
                end = builder.add(builder.add(start, least), length)
                place = builder.gep(code, [builder.add(builder.mul(length, whole(BLOCK)), start)])
                codes = builder.zext(builder.load(builder.bitcast(place, _BYTES.as_pointer()), align=1), INTS)
                scaled = builder.fmul(step, builder.sitofp(codes, _FLOATS), ("contract",))
                norm = builder.fadd(offset, scaled, ("contract",))
                cosine = builder.fmul(builder.fsub(_load(builder, sums, end, _FLOATS), sum_before), norm, ("contract",))
                crossed = builder.icmp_signed("<", room_of_start, units)
                added = builder.fadd(_load(builder, of_ends, end, _FLOATS), builder.select(crossed, of_both, of_length))
                score = builder.fadd(cosine, added, ("contract",))
                there = builder.icmp_unsigned("!=", codes, constant(INTS, 0))
                better = builder.and_(there, builder.fcmp_ordered(">", score, top))
                maxima.append(builder.select(better, score, top))
            return maxima

        nothing = [constant(_FLOATS, float(NO_SPAN))] * len(groups)
        for start, best in zip(groups, loop(builder, lengths, nothing, score_length), strict=True):
            _store(builder, best, out, start)
        return context.get_dummy_value()

    kinds = prefix, codes, affine, lengths, ends, room, types.float32, types.intp, types.intp, top
    return types.void(*kinds), generate


@intrinsic
def best_of_run(  # type: ignore[no-untyped-def]
    typing_context, prefix, inverse, added, starts, ends, begin, shortest, best, peak
):
    """The best span of ``RUN`` starts for ``LANES`` queries, and where in the block it starts.

    ``prefix`` is float32 [bounds, LANES]; ``inverse`` float32 [lengths, BLOCK], with a NaN, which no comparison
    prefers, where there is no span; ``best`` float32 [LANES], ``peak`` int32 [LANES]. What is added to a score:
    ``added`` float32 [kinds, lengths, LANES] for a length and a kind of end, ``ends`` int32 [lengths, BLOCK] where the
    rows of the span's kind of end begin, ``starts`` float32 [BLOCK].
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, inverses, added, of_starts, of_ends, _, _, out, place = _data(context, builder, signature, arguments)
        lengths = _length(context, builder, signature, arguments, 1)
        run, least = arguments[5], arguments[6]

        def of_start(number: Any, state: Sequence[Any]) -> list[Any]:
            start = builder.add(run, number)
            before = _load(builder, sums, builder.mul(start, whole(LANES)), _FLOATS)

            def score_length(length: Any, top: Sequence[Any]) -> list[Any]:
                end = builder.add(builder.add(start, least), length)
                after = _load(builder, sums, builder.mul(end, whole(LANES)), _FLOATS)
                code = builder.add(builder.mul(length, whole(BLOCK)), start)
                norm = splat(builder, _load(builder, inverses, code, _FLOAT))
                cosine = builder.fmul(builder.fsub(after, before), norm, ("contract",))
                row = builder.sext(_load(builder, of_ends, code, INT32), _INT64)
                of_length_and_end = builder.add(row, builder.mul(length, whole(LANES)))
                score = builder.fadd(cosine, _load(builder, added, of_length_and_end, _FLOATS), ("contract",))
                return [builder.select(builder.fcmp_ordered(">", score, top[0]), score, top[0])]

            best, peak = state
            (top,) = loop(builder, lengths, [constant(_FLOATS, float(NO_SPAN))], score_length)
            # This leaves NO_SPAN as it is: the terms are too small for it.
            top = builder.fadd(top, splat(builder, _load(builder, of_starts, start, _FLOAT)))
            better = builder.fcmp_ordered(">", top, best)
            here = splat(builder, builder.trunc(start, INT32))
            return [builder.select(better, top, best), builder.select(better, here, peak)]

        nothing = [constant(_FLOATS, float(NO_SPAN)), constant(INTS, 0)]
        maximum, where = loop(builder, whole(RUN), nothing, of_start)
        _store(builder, maximum, out, whole(0))
        _store(builder, where, place, whole(0))
        return context.get_dummy_value()

    return types.void(prefix, inverse, added, starts, ends, types.intp, types.intp, best, peak), generate


def _sums_of_lanes(builder: Any, rows: Sequence[Any]) -> Any:
    """The sum of all lanes of every row, as lanes of one vector: half as many vectors, or lanes, at every turn."""
    width = LANES
    while len(rows) > 1 or width > 1:
        width //= 2
        held = LANES // width // 2  # rows whose lanes stand in one vector
        left = [lane for row in range(held) for lane in range(2 * width * row, 2 * width * row + width)]
        right = [lane + width for lane in left]
        if len(rows) == 1:
            rows = [builder.add(shuffle(builder, rows[0], rows[0], left), shuffle(builder, rows[0], rows[0], right))]
            continue
        both = [[*half, *(LANES + lane for lane in half)] for half in (left, right)]
        pairs = zip(rows[::2], rows[1::2], strict=True)
        rows = [builder.add(*(shuffle(builder, one, other, half) for half in both)) for one, other in pairs]
    return rows[0]


def _prefetch(builder: Any) -> Callable[[Any], None]:
    """Ask for the cache line at an address."""
    kind = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), INT32, INT32, INT32])
    instruction = builder.module.declare_intrinsic("llvm.prefetch", [_BYTE.as_pointer()], kind)
    to_read, keep, data_cache = (ir.Constant(INT32, value) for value in (0, 3, 1))

    return lambda address: builder.call(
        instruction, [builder.bitcast(address, _BYTE.as_pointer()), to_read, keep, data_cache]
    )


def _data(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """Pointers to the elements of those arguments that are arrays."""
    return [
        context.make_array(kind)(context, builder, given).data if isinstance(kind, types.Array) else None
        for kind, given in zip(signature.args, arguments, strict=True)
    ]


def _length(context: Any, builder: Any, signature: Any, arguments: Any, number: int) -> Any:
    array = context.make_array(signature.args[number])(context, builder, arguments[number])
    return builder.extract_value(array.shape, 0)


def _load(builder: Any, base: Any, position: Any, kind: Any) -> Any:
    """Load a value or a vector that begins at an element, counted in 32-bit words."""
    words = builder.gep(builder.bitcast(base, INT32.as_pointer()), [position])
    return builder.load(builder.bitcast(words, kind.as_pointer()), align=4)


def _store(builder: Any, value: Any, base: Any, position: Any) -> None:
    words = builder.gep(builder.bitcast(base, INT32.as_pointer()), [position])
    builder.store(value, builder.bitcast(words, value.type.as_pointer()), align=4)
