"""Tables that CasADi interpolates by B-splines, continued beyond their edges.

`casadi.interpolant(name, "bspline", grid, values)` is zero outside its grid, by as little as a rounding: the
thrust of an aircraft that rolls at height 0, the first of its table, vanishes at -1e-17. Here

    f(x) = f(c) + df/dx(c) (x - c),    c = x moved onto the grid, component by component,

takes its place, the same on the grid and with a continuous slope at its edges.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.any_arithmetic import called, evaluated

if TYPE_CHECKING:
    from casadi import SX, Function


def continued_tables(expression: SX) -> SX:
    """A column of expressions with its tables by B-splines continued."""
    import casadi

    symbols = casadi.symvar(expression)
    function = casadi.Function("traced", symbols, [expression])

    def apply(code: int, operands: list[SX], _: float | None) -> SX:
        return (casadi.SX.unary if len(operands) == 1 else casadi.SX.binary)(code, *operands)

    def call(table: Function, operands: list[SX]) -> list[SX]:
        return called(_continued_table(table), operands)

    (found,) = evaluated(function, [[symbol] for symbol in symbols], casadi.SX, apply, call)
    return casadi.SX(function.sparsity_out(0), casadi.vertcat(*found))


def table_arguments(expression: SX, symbols: SX) -> list[tuple[str, Array, SX]]:
    """The name, edges (n, 2) and argument (n,) of every continued table in a column of expressions."""
    import casadi

    found: list[tuple[str, Array, SX]] = []

    def apply(code: int, operands: list[SX], _: float | None) -> SX:
        return (casadi.SX.unary if len(operands) == 1 else casadi.SX.binary)(code, *operands)

    def call(function: Function, operands: list[SX]) -> list[SX]:
        for table in function.find_functions():
            if table.class_name() == "BSplineInterpolant" and len(edges := _edges(table)) == len(operands):
                found.append((function.name(), edges, casadi.vertcat(*operands)))
                break
        return called(function, operands)

    function = casadi.Function("traced", [symbols], [expression])
    evaluated(function, [casadi.vertsplit(symbols)], casadi.SX, apply, call)
    return found


def _continued_table(table: Function) -> Function:
    """The function that takes the place of a table; any other function is returned as it is."""
    return _continuation(table.serialize()) or table if table.class_name() == "BSplineInterpolant" else table


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
