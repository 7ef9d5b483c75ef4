"""Pieces of LLVM that the kernels of several rooms are built of."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import binding, ir

# The 32-bit lanes of a 512-bit register.
LANES: Final = 16
FEATURES: Final = binding.get_host_cpu_features()

INT32: Final = ir.IntType(32)
INTS: Final = ir.VectorType(INT32, LANES)
_INT64: Final = ir.IntType(64)


def has_byte_products() -> bool:
    """True if the processor has an instruction for four products of bytes and their sum."""
    return bool(FEATURES.get("avx512vnni"))


def multiply_bytes(builder: Any) -> Callable[[Any, Any, Any], Any]:
    """Build the function that adds the four products of uint8 and int8 in every int32 lane to a total."""
    if has_byte_products():
        kind = ir.FunctionType(INTS, [INTS] * 3)
        instruction = builder.module.declare_intrinsic("llvm.x86.avx512.vpdpbusd.512", (), kind)
        return lambda total, unsigned, signed: builder.call(instruction, [total, unsigned, signed])

    def one_by_one(total: Any, unsigned: Any, signed: Any) -> Any:
        low, top = constant(INTS, 255), constant(INTS, 24)
        for byte in range(4):
            right, left = constant(INTS, 8 * byte), constant(INTS, 24 - 8 * byte)
            one = builder.and_(builder.lshr(unsigned, right), low)
            other = builder.ashr(builder.shl(signed, left), top)
            total = builder.add(total, builder.mul(one, other))
        return total

    return one_by_one


def loop(
    builder: Any, count: Any, initial: Sequence[Any], body: Callable[[Any, Sequence[Any]], Sequence[Any]]
) -> list[Any]:
    """``for number in range(count): values = body(number, values)``, which runs at least once; the last values."""
    before, inside, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(inside)
    builder.position_at_end(inside)
    number, *values = phis = [builder.phi(value.type) for value in (whole(0), *initial)]
    changed = list(body(number, values))
    following = builder.add(number, whole(1))
    for phi, first, then in zip(phis, [whole(0), *initial], [following, *changed], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(then, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, count), inside, after)
    builder.position_at_end(after)
    return changed


def shuffle(builder: Any, one: Any, other: Any, lanes: Sequence[int]) -> Any:
    """Some lanes of two vectors, counted through both."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(INT32, len(lanes)), list(lanes)))


def splat(builder: Any, value: Any, lanes: int = LANES) -> Any:
    """The same value in all lanes."""
    kind = ir.VectorType(value.type, lanes)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(INT32, 0))
    return shuffle(builder, one, one, [0] * lanes)


def constant(kind: Any, value: float) -> Any:
    """The same number in all lanes."""
    return ir.Constant(kind, [value] * LANES)


def whole(value: int) -> Any:
    """A constant integer of 64 bits, for loop counters and addresses."""
    return ir.Constant(_INT64, value)
