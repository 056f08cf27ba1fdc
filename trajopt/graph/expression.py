"""CasADi expressions as blocks: values, sparse Jacobians and Hessians for all nodes in one call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from trajopt.base.arrays import Array, Number
from trajopt.base.errors import ShapeError
from trajopt.graph.any_arithmetic import Border, borders, evaluated, table_arguments
from trajopt.graph.protocols import Pairs, SymbolicBlock, Values
from trajopt.graph.quantities import slices_of

if TYPE_CHECKING:
    from casadi import SX, Function


Expression: TypeAlias = "SX"  # a column of CasADi symbols, or what follows from them
Factor: TypeAlias = float | tuple[float, ...]  # one number for all components, or one each


class ExpressionBlock:
    """y = f(u) as CasADi expressions, evaluated at K nodes at once.

    First and second derivatives come from CasADi's automatic differentiation, exact and with their sparsity.
    """

    def __init__(self, symbols: Mapping[str, Expression], expressions: Mapping[str, Expression]) -> None:
        import casadi

        self._symbols = dict(symbols)
        self._expressions = {name: casadi.densify(given) for name, given in expressions.items()}
        self.inputs = {name: symbol.numel() for name, symbol in symbols.items()}
        self.outputs = {name: expression.numel() for name, expression in expressions.items()}
        self._columns, self._rows = slices_of(self.inputs), slices_of(self.outputs)
        self._size, self._height = sum(self.inputs.values()), sum(self.outputs.values())

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as CasADi writes the expressions; functions are compiled of them on first use."""
        return _restored, (self._function.serialize(), tuple(self._symbols), tuple(self._expressions))

    def expressions(self, u: Mapping[str, Expression]) -> dict[str, Expression]:
        """y as expressions of other symbols u; `graph.fused` joins blocks by it."""
        found = self._function.call([u[name] for name in self.inputs])
        return dict(zip(self.outputs, found, strict=True))

    def equals(self, other: object) -> bool:
        """True if another block computes the same by the same operations."""
        if not isinstance(other, ExpressionBlock) or self.inputs != other.inputs:
            return False
        return self is other or self._function.serialize() == other._function.serialize()

    @cached_property
    def _function(self) -> Function:
        """One CasADi function of all inputs and outputs."""
        import casadi

        return casadi.Function("terms", list(self._symbols.values()), list(self._expressions.values()))

    def value(self, u: Mapping[str, Array]) -> Values:
        found = self._value(self._stack(u))
        if len(self._rows) == 1:
            return dict.fromkeys(self._rows, found)
        return {name: found[:, rows].copy() for name, rows in self._rows.items()}

    def value_over(
        self, u: Mapping[str, Sequence[Number]], number: Callable[[float], Number]
    ) -> dict[str, list[Number]]:
        """y in any arithmetic, one operation of the expressions after the other."""
        found = evaluated(self._function, [u[name] for name in self.inputs], number)
        return dict(zip(self.outputs, found, strict=True))

    @cached_property
    def borders(self) -> list[tuple[Border, Expression]]:
        """The absolute values, maxima and comparisons among the operations, and what changes sign there."""
        return [each for each in self._operations if each[0] != "root"]

    def with_borders(self) -> ExpressionBlock:
        """The block of all inputs in one column "u", with outputs "y", one column, and "borders"."""
        import casadi

        u, y = self._inputs_and_outputs
        return ExpressionBlock({"u": u}, {"y": y, "borders": casadi.vertcat(*(x for _, x in self.borders))})

    @cached_property
    def _operations(self) -> list[tuple[Border, Expression]]:
        return borders(self._function, list(self._symbols.values()))

    def radicands(self) -> Iterator[ExpressionBlock]:
        """Blocks of the column of all inputs, "u": "r", what stands below each root."""
        import casadi

        u = self._inputs_and_outputs[0]
        for kind, below in self._operations:
            if kind == "root" and casadi.depends_on(below, u):
                yield ExpressionBlock({"u": u}, {"r": below})

    @cached_property
    def has_tables(self) -> bool:
        """True if it calls tables that CasADi interpolates."""
        return has_calls(self._inputs_and_outputs[1])

    def table_arguments(self, u: Mapping[str, Array]) -> Iterator[tuple[str, int | None, Array, Array]]:
        """Every argument of its tables by B-splines.

        The table as messages name it, the number of the argument, None where it is the only one, the edges
        (2,) of the grid, and the values (K,) of the argument.
        """
        import casadi

        symbols, y = self._inputs_and_outputs
        tables = table_arguments(y, symbols)
        if not tables:
            return
        columns = {"x": casadi.vertcat(*(argument for *_, argument in tables))}
        x = iter(ExpressionBlock({"u": symbols}, columns).value({"u": self._stack(u)})["x"].T)
        for name, edges, _ in tables:
            for i, own in enumerate(edges):
                yield f"table '{name}'", i if len(edges) > 1 else None, own, next(x)

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        return self.value_and_partials(u)[1]

    def value_and_partials(self, u: Mapping[str, Array]) -> tuple[Values, Pairs]:
        """Both at once: what they share is computed once."""
        values, slopes = self.value_and_nonzeros(u)
        return values, _dense(self._pattern, slopes)

    def value_and_nonzeros(self, u: Mapping[str, Array]) -> tuple[Values, Array]:
        found = self._value_and_jacobian(self._stack(u))
        return {name: found[:, rows].copy() for name, rows in self._rows.items()}, found[:, self._height :]

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        return _dense(self._curvature_pattern, self.curvature_nonzeros(u, adjoints))

    def curvature_nonzeros(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Array:
        given = [adjoints[name] for name in self.outputs]
        adjoint = np.concatenate(given, axis=1) if len(given) > 1 else np.ascontiguousarray(given[0])
        return self._hessian(self._stack(u), adjoint)

    def slope(self) -> ExpressionBlock:
        """dy/du as a block, for one input u of one component."""
        import casadi

        (column,) = self._symbols.values()
        slopes = {name: casadi.jacobian(given, column) for name, given in self._expressions.items()}
        return ExpressionBlock(self._symbols, slopes)

    def pattern(self) -> Pairs:
        return self._pattern

    def curvature_pattern(self) -> Pairs:
        return self._curvature_pattern

    # Each is made on first use: a block that is fused with others, or only evaluated, needs few of them.

    @cached_property
    def _inputs_and_outputs(self) -> tuple[Expression, Expression]:
        """u and y as one column of symbols and one of expressions."""
        import casadi

        y = casadi.vertcat(*self._expressions.values())
        return casadi.vertcat(*self._symbols.values()), y

    @cached_property
    def _slopes(self) -> Expression:
        """dy/du as one sparse matrix of expressions."""
        import casadi

        u, y = self._inputs_and_outputs
        return casadi.jacobian(y, u)

    @cached_property
    def _second_slopes(self) -> tuple[Expression, Expression]:
        """d^2 (adjoint . y) / du^2 as one sparse matrix of expressions, and the symbols of the adjoint."""
        import casadi

        u, y = self._inputs_and_outputs
        adjoint = casadi.SX.sym("adjoint", self._height)
        return casadi.hessian(casadi.dot(adjoint, y), u)[0], adjoint

    @cached_property
    def _value(self) -> MappedExpression:
        u, y = self._inputs_and_outputs
        return MappedExpression([u], y)

    @cached_property
    def _value_and_jacobian(self) -> MappedExpression:
        import casadi

        u, y = self._inputs_and_outputs
        slopes = _nonzeros(self._slopes, self._rows, self._columns, self._pattern)
        return MappedExpression([u], casadi.vertcat(y, *slopes))

    @cached_property
    def _hessian(self) -> MappedExpression:
        import casadi

        (second, adjoint), (u, _) = self._second_slopes, self._inputs_and_outputs
        entries = _nonzeros(second, self._columns, self._columns, self._curvature_pattern)
        return MappedExpression([u, adjoint], casadi.vertcat(casadi.SX(0, 1), *entries))

    @cached_property
    def _pattern(self) -> Pairs:
        structure = _structure(self._slopes)
        parts = {
            (target, name): structure[rows, columns]
            for target, rows in self._rows.items()
            for name, columns in self._columns.items()
        }
        return {pair: part for pair, part in parts.items() if part.any()}

    @cached_property
    def _curvature_pattern(self) -> Pairs:
        structure, places = _structure(self._second_slopes[0]), list(self._columns.items())
        parts = {
            (name, other): structure[columns, across]
            for i, (name, columns) in enumerate(places)
            for other, across in places[i:]
        }
        return {pair: part for pair, part in parts.items() if part.any()}

    def _stack(self, u: Mapping[str, Array]) -> Array:
        if len(self.inputs) == 1:
            (only,) = (u[name] for name in self.inputs)
            return np.ascontiguousarray(only.astype(float, casting="same_kind", copy=False))
        return np.concatenate([u[name] for name in self.inputs], axis=1, dtype=float, casting="same_kind")


class MappedExpression:
    """A CasADi column, computed for all nodes at once through a buffer (10 us, a plain call 260).

    Only the nonzeros of the column are computed; the result is dense, (K, rows).
    """

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in vars(self).items() if key != "_buffers"}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        vars(self).update(state, _buffers=threading.local())

    def __init__(self, arguments: list[Expression], column: Expression) -> None:
        import casadi

        entries: list[Any] = column.nonzeros()
        nonzeros = casadi.vertcat(*entries) if entries else casadi.SX(0, 1)
        self._function = casadi.Function("value", arguments, [nonzeros])
        self._width, self._size = column.nnz(), column.numel()
        place = np.array(column.sparsity().row(), dtype=np.int64)
        self._place = None if place.size == self._size else place
        self._buffers = threading.local()  # two threads must not write their arguments into one buffer

    def __call__(self, *arguments: Array) -> Array:
        count = arguments[0].shape[0]
        result = np.empty((count, self._width))
        if self._width and count:
            buffers = self._buffers.__dict__
            if count not in buffers:
                mapped = self._function.map(count)
                inputs = [np.empty(argument.shape) for argument in arguments]
                buffers[count] = (mapped, *mapped.buffer(), inputs)
                for position, own in enumerate(inputs):
                    buffers[count][1].set_arg(position, memoryview(own.data))
            _, buffer, evaluate, inputs = buffers[count]
            for own, argument in zip(inputs, arguments, strict=True):
                np.copyto(own, argument)
            buffer.set_res(0, memoryview(result.data))
            evaluate()
        if self._place is not None:
            dense = np.zeros((count, self._size))
            dense[:, self._place] = result
            result = dense
        return result


def _nonzeros(
    matrix: Expression, rows: Mapping[str, slice], columns: Mapping[str, slice], pattern: Pairs
) -> list[Expression]:
    """The nonzeros of a matrix of expressions in the order of the pairs of a pattern, row by row."""
    number, entries = np.empty(matrix.shape, dtype=int), matrix.nonzeros()
    row, column = (np.array(places, dtype=int) for places in matrix.sparsity().get_triplet())
    number[row, column] = np.arange(len(entries))
    own = (number[rows[one], columns[other]][part] for (one, other), part in pattern.items())
    return [entries[k] for each in own for k in each]


def _dense(pattern: Pairs, nonzeros: Array) -> Pairs:
    """Arrays (K, rows, columns) of every pair, from nonzeros (K, count) in the order of the pattern."""
    found: Pairs = {}
    first = 0
    for pair, part in pattern.items():
        own = found[pair] = np.zeros((len(nonzeros), *part.shape))
        last = first + int(np.count_nonzero(part))
        own[:, part] = nonzeros[:, first:last]
        first = last
    return found


def _restored(written: str, inputs: Sequence[str], outputs: Sequence[str]) -> ExpressionBlock:
    import casadi

    function = casadi.Function.deserialize(written)
    symbols = {name: symbol(name, function.numel_in(i)) for i, name in enumerate(inputs)}
    found = function.call(list(symbols.values()))
    return ExpressionBlock(symbols, dict(zip(outputs, found, strict=True)))


def symbol(name: str, width: int) -> Expression:
    """A column of symbols, the input of an expression."""
    import casadi

    # Recent CasADi warns when NumPy's own functions meet its symbols; -1 means: as before, silently.
    quiet = getattr(casadi.GlobalOptions, "setNumpyMode", None)
    if quiet is not None:
        quiet(-1)
    return casadi.SX.sym(name, width)


def expression_of(value: Number) -> Expression:
    """A number, an expression, or a list of them as one expression; NotImplementedError for anything else."""
    import casadi

    if isinstance(value, Mapping):
        raise ShapeError(
            f"a function of a node returned a dictionary ({', '.join(map(str, value))}): return a list, in "
            "the order of its components"
        )
    return casadi.SX(casadi.vertcat(*value) if isinstance(value, (list, tuple)) else value)


def function_block(
    function: str, widths: Mapping[str, int], target: str, constant: Factor | None = None
) -> ExpressionBlock:
    """y_i = f(u_i), or of several quantities f(f(u_i, w_i), ...), with a constant behind them if given.

    function : CasADi's name of f; widths : quantity -> number of components
    """
    import casadi

    symbols, f = {name: symbol(name, width) for name, width in widths.items()}, getattr(casadi, function)
    columns: list[Number] = [*symbols.values(), *([] if constant is None else [casadi.DM(constant)])]
    return ExpressionBlock(symbols, {target: reduce(f, columns) if len(columns) > 1 else f(*columns)})


def norm_block(base: str, width: int, slack: str, target: str) -> ExpressionBlock:
    """(u' u / s + s) / 2 of quantities u, `base`, and s, `slack`."""
    import casadi

    u, s = symbol(base, width), symbol(slack, 1)
    return ExpressionBlock({base: u, slack: s}, {target: 0.5 * (casadi.sumsqr(u) / s + s)})


def joined(blocks: Sequence[SymbolicBlock], widths: Mapping[str, int], wanted: Set[str]) -> ExpressionBlock:
    """One block for several in their order of evaluation, with the `wanted` among their outputs."""
    computed = [name for block in blocks for name in block.outputs]
    inputs = dict.fromkeys(name for block in blocks for name in block.inputs if name not in computed)
    symbols = {name: symbol(name, widths[name]) for name in inputs}
    known = dict(symbols)
    for block in blocks:
        known.update(block.expressions(known))
    return ExpressionBlock(symbols, {name: known[name] for name in computed if name in wanted})


def depends_on(expression: Expression, column: Expression) -> bool:
    """True if an expression contains one of the symbols of a column."""
    import casadi

    return bool(casadi.depends_on(expression, column))


def has_comparison(expression: Expression) -> bool:
    """True if an entry of an expression is a comparison such as a == b, which is the number 0 or 1."""
    import casadi

    operations = (casadi.OP_EQ, casadi.OP_NE, casadi.OP_LT, casadi.OP_LE)
    entries = (expression[i] for i in range(expression.numel()))
    return any(entry.is_op(operation) for entry in entries for operation in operations)


def has_calls(expression: Expression) -> bool:
    """True if an expression calls functions of CasADi that are no elementary operations, as tables are."""
    import casadi

    traced = casadi.Function("traced", casadi.symvar(expression), [expression])
    return any(traced.instruction_id(k) == casadi.OP_CALL for k in range(traced.n_instructions()))


def contains_nan(expression: Expression) -> bool:
    """True if a constant of the expression is NaN, which float(symbol) silently gives."""
    import casadi

    traced = casadi.Function("traced", casadi.symvar(expression), [expression])
    constants = (
        traced.instruction_constant(k)
        for k in range(traced.n_instructions())
        if traced.instruction_id(k) == casadi.OP_CONST
    )
    return any(np.isnan(constant) for constant in constants)


def _structure(matrix: Expression) -> Array:
    """Structural sparsity of a CasADi matrix, boolean."""
    found = np.zeros(matrix.shape, dtype=bool)
    found[tuple(np.array(places, dtype=np.int64) for places in matrix.sparsity().get_triplet())] = True
    return found


def gradient_at(function: Callable[..., Number], point: Sequence[Number]) -> list[Number]:
    """Derivatives of a scalar function by its arguments, at a point of symbols or numbers."""
    import casadi

    arguments = casadi.SX.sym("x", len(point))
    value = casadi.SX(function(*[arguments[i] for i in range(len(point))]))
    there = casadi.substitute(casadi.gradient(value, arguments), arguments, casadi.vertcat(*point))
    return [there[i] for i in range(len(point))]
