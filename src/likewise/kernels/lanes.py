"""Sums, minima and fused steps that LLVM would not make by itself, with the same bits on every machine.

A loop that adds up numbers one by one waits for each sum, and a compiler may not change the order. Here the order is
sixteen interleaved parts, then pairs of parts: that of a processor which adds sixteen numbers at once, if there were
one. Any processor can follow it, in vectors of the width that it has. ``fma`` is a product and a sum rounded once, as
IEEE 754 defines it, wherever it is written and nowhere else.
"""

from __future__ import annotations

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

LANES = 16


@intrinsic
def fma(typing, a, b, c):
    """a · b + c, rounded once."""

    def code(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), code


def _pairs(builder, vector, combine):
    """Combine the halves of a vector until one number is left."""
    lanes = vector.type.count
    while lanes > 1:
        lanes //= 2
        halves = []
        for start in (0, lanes):
            places = ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(range(start, start + lanes)))
            halves.append(builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), places))
        vector = combine(builder, *halves)
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


def _sixteen(builder, array, at, kind, side_by_side):
    """Sixteen numbers of an array from a place on: at once where they lie side by side, or else one by one."""
    if side_by_side:
        return builder.load(builder.bitcast(builder.gep(array.data, [at]), kind.as_pointer()), align=8)
    some, stride = ir.Constant(kind, ir.Undefined), builder.extract_value(array.strides, 0)
    start = builder.ptrtoint(array.data, stride.type)
    for lane in range(LANES):
        place = builder.mul(builder.add(at, ir.Constant(at.type, lane)), stride)
        number = builder.load(builder.inttoptr(builder.add(start, place), ir.DoubleType().as_pointer()), align=8)
        some = builder.insert_element(some, number, ir.Constant(ir.IntType(32), lane))
    return some


def _folded(context, builder, signature, arguments, start, combine):
    """``combine`` over the first numbers of an array, as many as the second argument says, in lanes."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    kind = ir.VectorType(ir.DoubleType(), LANES)
    parts = cgutils.alloca_once_value(builder, ir.Constant(kind, [start] * LANES))
    count = arguments[1]
    first, step = (ir.Constant(count.type, number) for number in (0, LANES))
    with cgutils.for_range_slice(builder, first, count, step, inc=True) as (at, _):
        some = _sixteen(builder, array, at, kind, signature.args[0].layout == "C")
        builder.store(combine(builder, builder.load(parts), some), parts)
    return _pairs(builder, builder.load(parts), combine)


def _lanes(values, count, start, combine):
    """An intrinsic over an array of doubles."""
    if not (isinstance(values, types.Array) and values.ndim == 1 and values.dtype == types.float64):
        raise TypingError(f"Lanes take doubles one after another, not {values}.")
    return types.float64(values, count), lambda *given: _folded(*given, start, combine)


def _sum(builder, one, other):
    return builder.fadd(one, other)


def _smaller(builder, one, other):
    return builder.select(builder.fcmp_ordered("<", other, one), other, one)


@intrinsic
def _sum_in_lanes(typing, values, count):
    """Σ of the first numbers of an array; ``count`` is a multiple of the lanes."""
    return _lanes(values, count, 0.0, _sum)


@intrinsic
def _minimum_in_lanes(typing, values, count):
    """The smallest of the first numbers of an array; ``count`` is a multiple of the lanes."""
    return _lanes(values, count, float("inf"), _smaller)


@njit(error_model="numpy")
def total_of(values):
    """Σ in sixteen interleaved parts: an order of its own, but always the same, and many times faster."""
    whole = len(values) // LANES * LANES
    total = _sum_in_lanes(values, whole)
    for i in range(whole, len(values)):
        total += values[i]
    return total


@njit(error_model="numpy")
def minimum(values):
    """The smallest."""
    whole = len(values) // LANES * LANES
    low = _minimum_in_lanes(values, whole)
    for i in range(whole, len(values)):
        low = min(low, values[i])
    return low
