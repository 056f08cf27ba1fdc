"""CasADi functions, and the tables in them, evaluated on numbers of any arithmetic, operation by operation.

Tables that CasADi interpolates by B-splines are continued beyond their edges.

`casadi.interpolant(name, "bspline", grid, values)` is zero outside its grid, by as little as a rounding: the
thrust of an aircraft that rolls at height 0, the first of its table, vanishes at -1e-17. Here

    f(x) = f(c) + df/dx(c) (x - c),    c = x moved onto the grid, component by component,

takes its place, the same on the grid and with a continuous slope at its edges.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from trajopt.base.arrays import Array, Number

if TYPE_CHECKING:
    from casadi import SX, Function


#: Functions at zero, where a float stands for a structural zero.
AT_ZERO = {"sin": 0.0, "cos": 1.0, "exp": 1.0, "sqrt": 0.0, "tanh": 0.0, "atan": 0.0}

Operation = Callable[..., Number]
Border = Literal["absolute value", "maximum or minimum", "comparison", "step", "turn", "root"]


def evaluated(
    function: Function,
    arguments: Sequence[Sequence[Number]],
    number: Callable[[float], Number],
    apply: Operation | None = None,
    call: Callable[[Function, list[Number]], list[Number]] | None = None,
) -> list[list[Number]]:
    """The outputs of a function of SX expressions, each a list of numbers, of arguments that are lists.

    apply : (code of an operation of CasADi, its operands, the exponent of a power) -> the result
    call : (a function of CasADi, such as a table, its operands) -> its results; None refuses such calls
    number : makes a number of a constant. Numbers have + - * / **, abs and the methods sin, cos, exp, log,
    sqrt, tanh, atan, atan2(x), angle(y) = atan2(y, x), maximum, positive (1 where x > 0, else 0) and zero (1
    where x = 0); floats may be among them. Raises NotImplementedError for any other operation.
    """
    import casadi

    apply = apply or _applied
    work: list[Number] = [0.0] * function.sz_w()
    constants: dict[int, float] = {}  # places of `work` that hold one, for exponents
    outputs: list[list[Number]] = [[0.0] * function.nnz_out(i) for i in range(function.n_out())]
    for k in range(function.n_instructions()):
        code, taken = function.instruction_id(k), function.instruction_input(k)
        given = function.instruction_output(k)
        if code == casadi.OP_OUTPUT:
            outputs[given[0]][given[1]] = work[taken[0]]
            continue
        exponent = constants.get(taken[-1]) if taken else None
        constants.pop(given[0], None)
        if code == casadi.OP_CALL and call is not None:
            table = function.instructions_sx()[k].which_function()
            for place, result in zip(given, call(table, [work[place] for place in taken]), strict=True):
                work[place] = result
        elif code == casadi.OP_CONST:
            constants[given[0]] = function.instruction_constant(k)
            work[given[0]] = number(constants[given[0]])
        elif code == casadi.OP_INPUT:
            work[given[0]] = arguments[taken[0]][taken[1]]
        else:
            work[given[0]] = apply(code, [work[place] for place in taken], exponent)
    return outputs


def borders(function: Function, arguments: Sequence[SX]) -> list[tuple[Border, SX]]:
    """The operations of a function with a corner or a jump, and the expression whose sign changes there.

    Of roots, square roots and powers between 0 and 1, the expression is what stands below the root; of steps,
    `floor` and `ceil`, whose values jump at every integer x, it is sin(pi x), sin(pi x / y) of `fmod`, and
    cos(pi x / y) of `remainder`; of the angle of a vector (x, y), which jumps by a turn where x < 0, it is y.

    arguments : columns of symbols
    """
    import casadi

    kinds: dict[int, Border] = {
        **dict.fromkeys((casadi.OP_FMAX, casadi.OP_FMIN), "maximum or minimum"),
        **dict.fromkeys((casadi.OP_SIGN, casadi.OP_LT, casadi.OP_LE), "comparison"),
        **dict.fromkeys((casadi.OP_FLOOR, casadi.OP_CEIL, casadi.OP_FMOD, casadi.OP_REMAINDER), "step"),
        casadi.OP_ATAN2: "turn",
        casadi.OP_FABS: "absolute value",
        casadi.OP_SQRT: "root",
    }
    powers = (casadi.OP_POW, casadi.OP_CONSTPOW)
    found: list[tuple[Border, SX]] = []

    def apply(code: int, operands: list[Number], exponent: float | None) -> Number:
        if code == casadi.OP_HYPOT:
            found.append(("root", operands[0] ** 2 + operands[1] ** 2))
        elif code in powers and exponent is not None and 0.0 < exponent < 1.0:
            found.append(("root", operands[0]))
        elif kinds.get(code) == "step":
            parts = operands[0] / operands[1] if len(operands) > 1 else operands[0]
            found.append(("step", (casadi.cos if code == casadi.OP_REMAINDER else casadi.sin)(np.pi * parts)))
        elif kinds.get(code) == "turn":
            found.append(("turn", operands[0]))
        elif code in kinds:
            found.append((kinds[code], operands[0] - operands[1] if len(operands) > 1 else operands[0]))
        return _symbolic(code, operands)

    evaluated(function, [casadi.vertsplit(column) for column in arguments], casadi.SX, apply, called)
    return found


def called(function: Function, operands: Sequence[Number]) -> list[Number]:
    """The results of a function of CasADi, entry by entry, of expressions that are its arguments' entries."""
    import casadi

    ends = np.cumsum([0, *(function.nnz_in(i) for i in range(function.n_in()))])
    columns = [casadi.vertcat(*operands[first:last]) for first, last in pairwise(ends)]
    given = [casadi.SX(function.sparsity_in(i), column) for i, column in enumerate(columns)]
    never_inlined = function.call(given, False, True)  # CasADi cannot take the slopes of tables apart
    return [entry for result in never_inlined for entry in result.nonzeros()]


def _applied(code: int, operands: list[Number], exponent: float | None) -> Number:
    """The result of an operation on numbers of any arithmetic."""
    import casadi

    if code in (casadi.OP_POW, casadi.OP_CONSTPOW) and exponent is not None:
        return _power(operands[0], exponent)
    if code not in _operations():
        raise NotImplementedError(f"operation {code} of CasADi has no counterpart in other arithmetic")
    return _operations()[code](*operands)


@lru_cache
def _operations() -> Mapping[int, Operation]:
    """Code of CasADi -> operation; every other one is refused. Of comparisons true is 1.0, false is 0.0."""
    import casadi

    names = ("sqrt", "sin", "cos", "exp", "log", "tanh", "atan")
    methods = {name: _method(name) for name in names}
    sqrt, sin, cos, exp, log, _, atan = methods.values()
    return {
        **{getattr(casadi, f"OP_{name.upper()}"): method for name, method in methods.items()},
        casadi.OP_ASSIGN: lambda x: x,
        casadi.OP_ADD: operator.add,
        casadi.OP_SUB: operator.sub,
        casadi.OP_MUL: operator.mul,
        casadi.OP_DIV: _quotient,
        casadi.OP_NEG: operator.neg,
        casadi.OP_INV: lambda x: _quotient(1.0, x),
        casadi.OP_SQ: lambda x: x * x,
        casadi.OP_TWICE: lambda x: x + x,
        casadi.OP_TAN: lambda x: _quotient(sin(x), cos(x)),
        casadi.OP_ATAN2: _atan2,
        casadi.OP_ASIN: lambda x: atan(_quotient(x, sqrt((1.0 - x) * (1.0 + x)))),
        casadi.OP_ACOS: lambda x: _atan2(sqrt((1.0 - x) * (1.0 + x)), x),
        casadi.OP_SINH: lambda x: (exp(x) - exp(-x)) * 0.5,
        casadi.OP_COSH: lambda x: (exp(x) + exp(-x)) * 0.5,
        casadi.OP_ASINH: lambda x: log(x + sqrt(x * x + 1.0)),
        casadi.OP_ACOSH: lambda x: log(x + sqrt(x * x - 1.0)),
        casadi.OP_ATANH: lambda x: log(_quotient(1.0 + x, 1.0 - x)) * 0.5,
        casadi.OP_LOG1P: lambda x: log(1.0 + x),
        casadi.OP_EXPM1: lambda x: exp(x) - 1.0,
        casadi.OP_HYPOT: lambda x, y: sqrt(x * x + y * y),
        casadi.OP_FABS: abs,
        casadi.OP_FMAX: _maximum,
        casadi.OP_FMIN: lambda x, y: -_maximum(-x, -y),
        casadi.OP_SIGN: lambda x: _positive(x) - _positive(-x) + 0.0 * x,  # NaN where x is
        casadi.OP_LT: lambda x, y: _positive(y - x),
        casadi.OP_LE: lambda x, y: _zero(_positive(x - y)),
        casadi.OP_EQ: lambda x, y: _zero(x - y),
        casadi.OP_NE: lambda x, y: _true(x - y),
        casadi.OP_NOT: _zero,
        casadi.OP_AND: lambda x, y: _positive(_true(x) + _true(y) - 1.5),
        casadi.OP_OR: lambda x, y: _positive(_true(x) + _true(y) - 0.5),
        casadi.OP_IF_ELSE_ZERO: lambda condition, x: _true(condition) * x,
    }


def _maximum(x: Number, y: Number) -> Number:
    if isinstance(x, float):
        return max(x, y) if isinstance(y, float) else y.maximum(x)
    return x.maximum(y)


def _positive(x: Number) -> Number:
    return float(x > 0.0) if isinstance(x, float) else x.positive()


def _zero(x: Number) -> Number:
    return float(x == 0.0) if isinstance(x, float) else x.zero()


def _true(x: Number) -> Number:
    """1 where x is not zero, else 0."""
    return _zero(_zero(x))


def _atan2(y: Number, x: Number) -> Number:
    if not isinstance(y, float):
        return y.atan2(x)
    if isinstance(x, float):
        raise NotImplementedError(f"the angle of the constants ({x}, {y}) is not folded")
    return x.angle(y)


def _method(name: str) -> Operation:
    """The function that numbers have as a method; of floats only zero, whose value is exact."""

    def call(x: Number) -> Number:
        if isinstance(x, float):
            if x == 0.0 and name in AT_ZERO:
                return AT_ZERO[name]
            raise NotImplementedError(f"{name} of the constant {x} is not folded")
        return getattr(x, name)()

    return call


def _quotient(x: Number, y: Number) -> Number:
    if isinstance(y, float) and abs(y) != 1.0:
        raise NotImplementedError(f"division by the constant {y} is not folded")
    return x / y


def _power(x: Number, exponent: float) -> Number:
    if isinstance(x, float):
        raise NotImplementedError(f"a power of the constant {x} is not folded")
    return x**exponent


def _symbolic(code: int, operands: list[Number], _: float | None = None) -> Number:
    import casadi

    return (casadi.SX.unary if len(operands) == 1 else casadi.SX.binary)(code, *operands)


def continued_tables(expression: SX) -> SX:
    """A column of expressions with its tables by B-splines continued."""
    import casadi

    symbols = casadi.symvar(expression)
    function = casadi.Function("traced", symbols, [expression])

    def call(table: Function, operands: list[SX]) -> list[SX]:
        continued = _continuation(table.serialize()) if table.class_name() == "BSplineInterpolant" else None
        return called(continued or table, operands)

    (found,) = evaluated(function, [[symbol] for symbol in symbols], casadi.SX, _symbolic, call)
    return casadi.SX(function.sparsity_out(0), casadi.vertcat(*found))


def table_arguments(expression: SX, symbols: SX) -> list[tuple[str, Array, SX]]:
    """The name, edges (n, 2) and argument (n,) of every continued table in a column of expressions."""
    import casadi

    found: list[tuple[str, Array, SX]] = []

    def call(function: Function, operands: list[SX]) -> list[SX]:
        for table in function.find_functions():
            if table.class_name() == "BSplineInterpolant" and len(edges := _edges(table)) == len(operands):
                found.append((function.name(), edges, casadi.vertcat(*operands)))
                break
        return called(function, operands)

    function = casadi.Function("traced", [symbols], [expression])
    evaluated(function, [casadi.vertsplit(symbols)], casadi.SX, _symbolic, call)
    return found


@lru_cache
def _continuation(written: str) -> Function | None:
    """The continued table, from the text that CasADi writes of it; None where its grid is not known."""
    import casadi

    table = casadi.Function.deserialize(written)
    edges = _edges(table)
    if table.n_in() != 1 or len(edges) != table.nnz_in(0):
        return None
    x = casadi.SX.sym("x", table.nnz_in(0))
    tangent = casadi.Function("tangent", [x], [table(x), casadi.jacobian(table(x), x)])
    nearest = casadi.fmin(casadi.fmax(x, edges[:, 0]), edges[:, 1])
    value, slope = tangent(nearest)
    return casadi.Function(table.name(), [x], [value + slope @ (x - nearest)])


def _edges(table: Function) -> Array:
    """First and last point of the grid in every direction, (directions, 2); none where they are not found.

    CasADi has no function that gives the grid, but names it in what it writes for debugging: every number is
    preceded by a letter for its type, a list by its length.
    """
    letters = np.frombuffer(table.serialize({"debug": True}).encode(), np.uint8) - ord("a")
    written = (letters[0::2] + 16 * letters[1::2]).tobytes()
    grid = _numbers(written, b"Interpolant::grid", "<f8")
    starts = _numbers(written, b"Interpolant::offset", "<i8").astype(int)
    if starts.size < 2 or starts[-1] != grid.size or np.any(np.diff(starts) < 1):
        return np.empty((0, 2))
    return np.column_stack([grid[starts[:-1]], grid[starts[1:] - 1]])


def _numbers(written: bytes, name: bytes, kind: str) -> Array:
    """The list of numbers of a name; an empty one where there is none."""
    _, _, after = written.partition(name + b"VJ")
    count = int.from_bytes(after[:8], "little")
    entry = np.dtype([("letter", "S1"), ("number", kind)])
    if len(after) < 8 + count * entry.itemsize:
        return np.empty(0)
    return np.frombuffer(after, entry, count, 8)["number"]
