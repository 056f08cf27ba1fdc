"""A numba type for a SIMD vector of LANES float64 numbers, one lane for each node.

Kernels are written once, as if for one node. On float64 arrays `load` gives a Lanes value, LLVM's
<LANES x double>, and every operation is a SIMD instruction whatever the loop around it looks like; on
complex128 arrays `load` gives one complex number and the same source runs node by node, which is what
the complex-step tests need. Leaving vectorization to the loop vectorizer was the alternative: it gives up
when it cannot prove that the many rows of a workspace do not overlap.

Arrays hold nodes in blocks: shape (..., blocks, width). A slot is one block of one quantity.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import templates
from numba.core.typing.templates import ConcreteTemplate, signature
from numba.extending import lower_builtin, models, register_model

from dynamics.kernels.node_batch import LANES
from dynamics.kernels.tracing import array_field, intrinsic

infer_global: Any = templates.infer_global

_DOUBLE = ir.DoubleType()
_INDEX = ir.IntType(32)
_VECTOR = ir.VectorType(_DOUBLE, LANES)
_FLAGS = ("contract",)


class LanesType(types.Type):
    """The numba type of LANES float64 numbers."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes({LANES} x float64)")


lanes_type = LanesType()


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _VECTOR)


def broadcast(builder: Any, scalar: Any) -> Any:
    """The vector whose lanes all hold `scalar`."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), scalar, ir.Constant(_INDEX, 0))
    mask = ir.Constant(ir.VectorType(_INDEX, LANES), None)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), mask)


def _register_binary(function: Any, instruction: str) -> None:
    """Teach numba `function` on (Lanes, Lanes), (Lanes, float) and (float, Lanes)."""
    pairs = [(lanes_type, lanes_type), (lanes_type, types.float64), (types.float64, lanes_type)]

    @infer_global(function)
    class Typing(ConcreteTemplate):
        cases = [signature(lanes_type, *pair) for pair in pairs]  # noqa: RUF012  numba reads a class list

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        left, right = (
            value if kind == lanes_type else broadcast(builder, value)
            for kind, value in zip(sig.args, args, strict=True)
        )
        return getattr(builder, instruction)(left, right, flags=_FLAGS)

    for pair in pairs:
        lower_builtin(function, *pair)(lower)


_register_binary(operator.add, "fadd")
_register_binary(operator.sub, "fsub")
_register_binary(operator.mul, "fmul")
_register_binary(operator.truediv, "fdiv")


@infer_global(operator.neg)
class _NegTyping(ConcreteTemplate):
    cases = [signature(lanes_type, lanes_type)]  # noqa: RUF012


@lower_builtin(operator.neg, lanes_type)
def _lower_neg(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fneg(args[0], flags=_FLAGS)


def element_of(array: Any) -> Any:
    """Type of a slot of `array`: Lanes for float64, one number for complex128."""
    return lanes_type if array.dtype == types.float64 else array.dtype


@intrinsic
def width(typingctx, array):
    """Nodes in a slot of `array`."""
    count = LANES if array.dtype == types.float64 else 1

    def codegen(context, builder, sig, args):
        return context.get_constant(types.intp, count)

    return types.intp(array), codegen


def slot_pointer(context: Any, builder: Any, kind: Any, array: Any, slot: Any) -> Any:
    """Address of the slot, as a pointer to its element."""
    element = context.get_data_type(element_of(kind))
    data = array_field(context, builder, kind, array, "data")
    return builder.gep(builder.bitcast(data, element.as_pointer()), [slot])


@intrinsic
def load(typingctx, array, slot):
    """The element in a slot of a contiguous array."""

    def codegen(context, builder, sig, args):
        pointer = slot_pointer(context, builder, sig.args[0], *args)
        return builder.load(pointer, align=8)

    return element_of(array)(array, types.intp), codegen


@intrinsic
def store(typingctx, array, slot, value):
    """Put `value` into a slot of a contiguous array."""

    def codegen(context, builder, sig, args):
        pointer = slot_pointer(context, builder, sig.args[0], args[0], args[1])
        builder.store(args[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, element_of(array)), codegen


@intrinsic
def store_from(typingctx, array, index, value):
    """Put the lanes of `value` into a contiguous float64 array, side by side from entry `index` on."""

    def codegen(context, builder, sig, args):
        data = array_field(context, builder, sig.args[0], args[0], "data")
        pointer = builder.bitcast(builder.gep(data, [args[1]]), _VECTOR.as_pointer())
        builder.store(args[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes_type), codegen


@intrinsic
def transposed(typingctx, rows):
    """LANES vectors as a square matrix -> its columns, as a tuple as well."""

    def codegen(context, builder, sig, args):
        found = cgutils.unpack_tuple(builder, args[0], LANES)
        distance = LANES // 2
        while distance:  # swap the blocks beside the diagonal, of ever smaller matrices
            first = [lane if not lane & distance else LANES + lane - distance for lane in range(LANES)]
            other = [lane + distance if not lane & distance else LANES + lane for lane in range(LANES)]
            for i in (i for i in range(LANES) if not i & distance):
                pair = found[i], found[i + distance]
                found[i] = builder.shuffle_vector(*pair, _indices(first))
                found[i + distance] = builder.shuffle_vector(*pair, _indices(other))
            distance //= 2
        return context.make_tuple(builder, sig.return_type, found)

    return types.UniTuple(lanes_type, LANES)(rows), codegen


def _indices(lanes: list[int]) -> Any:
    return ir.Constant(ir.VectorType(_INDEX, LANES), lanes)


@intrinsic
def same(typingctx, array, number):
    """`number` in every lane of an element of `array`."""

    def codegen(context, builder, sig, args):
        if element_of(sig.args[0]) == lanes_type:
            return broadcast(builder, args[1])
        return context.cast(builder, args[1], types.float64, sig.args[0].dtype)

    return element_of(array)(array, types.float64), codegen


def _clamped(builder: Any, index: Any, last: Any) -> Any:
    return builder.select(builder.icmp_signed("<", index, last), index, last)


@intrinsic
def gather(typingctx, array, node, column):
    """Column `column` of a (nodes, columns) array at `node` and the nodes after it.

    Lanes beyond the last node repeat it: they compute valid numbers that are never read.
    """
    element = element_of(array)

    def codegen(context, builder, sig, args):
        data = array_field(context, builder, sig.args[0], args[0], "data")
        count, columns = cgutils.unpack_tuple(
            builder, array_field(context, builder, sig.args[0], args[0], "shape"), 2
        )
        last = builder.sub(count, ir.Constant(count.type, 1))

        def at(lane: int) -> Any:
            row = _clamped(builder, builder.add(args[1], ir.Constant(count.type, lane)), last)
            pointer = builder.gep(data, [builder.add(builder.mul(row, columns), args[2])])
            return builder.load(pointer, align=8)

        if element != lanes_type:
            return at(0)
        vector = ir.Constant(_VECTOR, ir.Undefined)
        for lane in range(LANES):
            vector = builder.insert_element(vector, at(lane), ir.Constant(_INDEX, lane))
        return vector

    return element(array, types.intp, types.intp), codegen


@intrinsic
def scatter(typingctx, array, node, column, value):
    """Put the lanes of `value` into column `column` of a (nodes, columns) array, `node` and after.

    Lanes beyond the last node hold what the last node holds, so writing them there again is harmless.
    """
    element = element_of(array)

    def codegen(context, builder, sig, args):
        data = array_field(context, builder, sig.args[0], args[0], "data")
        count, columns = cgutils.unpack_tuple(
            builder, array_field(context, builder, sig.args[0], args[0], "shape"), 2
        )
        last = builder.sub(count, ir.Constant(count.type, 1))
        for lane in range(LANES if element == lanes_type else 1):
            row = _clamped(builder, builder.add(args[1], ir.Constant(count.type, lane)), last)
            pointer = builder.gep(data, [builder.add(builder.mul(row, columns), args[2])])
            number = args[3]
            if element == lanes_type:
                number = builder.extract_element(number, ir.Constant(_INDEX, lane))
            builder.store(number, pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, element), codegen


def lanewise(builder: Any, name: str, value: Any) -> Any:
    """LLVM's function `name` of every lane."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64")
    return builder.call(function, [value])


@intrinsic
def nearest(typingctx, value):
    """The nearest integer, ties to even, of every lane."""

    def codegen(context, builder, sig, args):
        return lanewise(builder, "rint", args[0])

    return (lanes_type(value), codegen) if value == lanes_type else None


@intrinsic
def square_root(typingctx, value):
    """The square root of every lane; NaN where it is negative."""

    def codegen(context, builder, sig, args):
        return lanewise(builder, "sqrt", args[0])

    return (lanes_type(value), codegen) if value == lanes_type else None


@intrinsic
def choose_up_to(typingctx, value, limit, near, far):
    """Choose in every lane `near` where `value` <= `limit`, otherwise `far`, NaN included."""

    def codegen(context, builder, sig, args):
        return builder.select(
            builder.fcmp_ordered("<=", args[0], broadcast(builder, args[1])), args[2], args[3]
        )

    kinds = lanes_type, types.float64, lanes_type, lanes_type
    return (lanes_type(*kinds), codegen) if value == lanes_type else None
