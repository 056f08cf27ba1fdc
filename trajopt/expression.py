"""Users' functions traced once into CasADi: values, Jacobians and Hessians for all nodes in one call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trajopt.block import Array, Pairs, Values
from trajopt.errors import OptionError, ShapeError, TrajoptError
from trajopt.quantity_names import term_of


class NodeSymbols:
    """What a term's function sees: every quantity of one node as a column of symbols, made when asked for."""

    _NAMED = ("wrench", "position", "orientation", "velocity", "parameter", "extra", "data")

    def __init__(self, width_of: Callable[[str], int]) -> None:
        self._width_of = width_of
        self.used: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._NAMED:
            return _OfName(name, self._symbol)
        return self._symbol(name)

    def _symbol(self, quantity: str) -> Any:
        import casadi

        if quantity not in self.used:
            self.used[quantity] = casadi.SX.sym(quantity, self._width_of(quantity))
        return self.used[quantity]


class _OfName:
    """A family of quantities, `node.position`, that waits for a name; anything else asks for one."""

    def __init__(self, family: str, symbol: Callable[[str], Any]) -> None:
        self._family, self._symbol = family, symbol

    def __call__(self, of: str) -> Any:
        return self._symbol(f"{self._family}:{of}")

    def __repr__(self) -> str:
        return f"node.{self._family}, which needs a name, node.{self._family}('...')"

    def __getitem__(self, key: Any) -> Any:
        raise OptionError(f"{self}, was indexed before that")


class ExpressionBlock:
    """y = f(u) at K nodes, with exact sparse partials and curvature from one trace."""

    def __init__(self, target: str, symbols: Mapping[str, Any], expression: Any) -> None:
        import casadi

        self.target = target
        self.inputs = {name: symbol.numel() for name, symbol in symbols.items()}
        self.outputs = {target: expression.numel()}
        u = casadi.vertcat(*symbols.values()) if symbols else casadi.SX(0, 1)
        adjoint = casadi.SX.sym("adjoint", expression.numel())
        jacobian = casadi.jacobian(expression, u)
        hessian, _ = casadi.hessian(casadi.dot(adjoint, expression), u)
        self._value = _Mapped(casadi.Function("value", [u], [casadi.densify(expression)]))
        self._jacobian = _Mapped(casadi.Function("jacobian", [u], [_nonzeros(jacobian)]))
        self._hessian = _Mapped(casadi.Function("hessian", [u, adjoint], [_nonzeros(hessian)]))
        self._jacobian_at = _places(jacobian)
        self._hessian_at = _places(hessian)
        edges = np.cumsum([0, *self.inputs.values()])
        self._size = int(edges[-1])
        self._slices = {name: slice(int(edges[i]), int(edges[i + 1])) for i, name in enumerate(self.inputs)}
        self._pattern, self._curvature_pattern = self._structure()

    def value(self, u: Mapping[str, Array]) -> Values:
        return {self.target: self._value(self._stack(u))}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        nonzeros = self._jacobian(self._stack(u))
        dense = _scatter(nonzeros, self._jacobian_at, (self.outputs[self.target], self._size))
        return {(target, name): dense[:, :, self._slices[name]] for target, name in self._pattern}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        nonzeros = self._hessian(self._stack(u), np.ascontiguousarray(adjoints[self.target]))
        dense = _scatter(nonzeros, self._hessian_at, (self._size, self._size))
        return {
            (first, second): dense[:, self._slices[first], self._slices[second]]
            for first, second in self._curvature_pattern
        }

    def pattern(self) -> Pairs:
        return self._pattern

    def curvature_pattern(self) -> Pairs:
        return self._curvature_pattern

    def _structure(self) -> tuple[Pairs, Pairs]:
        """Which entries of partials and curvature the trace left nonzero, by input."""
        first = np.zeros((self.outputs[self.target], self._size), dtype=bool)
        second = np.zeros((self._size, self._size), dtype=bool)
        first[self._jacobian_at] = True
        second[self._hessian_at] = True
        places = list(self._slices.items())
        partials = {(self.target, name): first[:, place] for name, place in places}
        curvature = {
            (name, other): second[place, across]
            for i, (name, place) in enumerate(places)
            for other, across in places[i:]
        }
        return (
            {pair: part for pair, part in partials.items() if part.any()},
            {pair: part for pair, part in curvature.items() if part.any()},
        )

    def _stack(self, u: Mapping[str, Array]) -> Array:
        return np.ascontiguousarray(np.concatenate([u[name] for name in self.inputs], axis=1), dtype=float)


class _Mapped:
    """A CasADi function called for all nodes at once, through its buffer (60 us, a plain call 260)."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._width = int(function.size1_out(0))
        self._buffers: dict[int, tuple] = {}

    def __call__(self, *arguments: Array) -> Array:
        count = arguments[0].shape[0]
        result = np.empty((count, self._width))
        if self._width == 0 or count == 0:
            return result
        if count not in self._buffers:
            mapped = self._function.map(count)
            self._buffers[count] = (mapped, *mapped.buffer())
        _, buffer, evaluate = self._buffers[count]
        for position, argument in enumerate(arguments):
            buffer.set_arg(position, memoryview(argument.data))
        buffer.set_res(0, memoryview(result.data))
        evaluate()
        return result


def trace(function: Callable[[Any], Any], target: str, width_of: Callable[[str], int]) -> ExpressionBlock:
    """Call a user's function once with symbols and differentiate what it returns.

    Raises OptionError when the function branches on a value, ShapeError when it returns no vector.
    """
    import casadi

    # Recent CasADi warns when NumPy's own functions meet its symbols; -1 means: as before, silently.
    quiet = getattr(casadi.GlobalOptions, "setNumpyMode", None)
    if quiet is not None:
        quiet(-1)
    node, label = NodeSymbols(width_of), term_of(target)
    try:
        returned = function(node)
    except Exception as error:
        if (
            "truth value" in str(error)
            or "__bool__" in str(error)
            or "cannot compute the truth" in str(error).lower()
        ):
            raise OptionError(
                f"{label} branches on a value: it is traced once, use casadi.if_else or a smooth form"
            ) from error
        if isinstance(error, (TrajoptError, KeyboardInterrupt)):
            raise
        raise OptionError(f"{label} failed while it was traced: {_first_line(error)}") from error
    if isinstance(returned, _OfName):
        raise ShapeError(f"{label} returned {returned}: a term is a number or a column of numbers")
    try:
        expression = casadi.SX(casadi.vertcat(*returned) if isinstance(returned, (list, tuple)) else returned)
    except NotImplementedError as error:
        raise ShapeError(
            f"{label} returned {returned!r}: a term is a number or a column of numbers"
        ) from error
    if expression.size2() != 1 or expression.numel() == 0:
        raise ShapeError(
            f"{label} returned shape {expression.shape}: a term is a number or a column of numbers"
        )
    if _contains_nan(expression):
        raise OptionError(
            f"{label} contains NaN whatever the node: float() and functions of `math` turn symbols into it, "
            "use those of numpy or casadi"
        )
    if not node.used:
        raise OptionError(f"{label} uses no quantity of the node, so it is a constant: leave it out")
    return ExpressionBlock(target, node.used, expression)


def _first_line(error: Exception) -> str:
    """CasADi's messages are full of C++ paths and prototypes; what went wrong stands in the last words."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    words = re.sub(r"^\S*casadi/\S*: ", "", lines[-1]) if lines else "no message"
    if "looping over rows" in words:
        words = "a column cannot be looped over: index it, node.q[i] for i in range(n)"
    return f"{type(error).__name__}: {words}"


def _contains_nan(expression: Any) -> bool:
    """Whether a constant of the expression is NaN, which float(symbol) silently gives."""
    import casadi

    traced = casadi.Function("traced", casadi.symvar(expression), [expression])
    constants = (
        traced.instruction_constant(k)
        for k in range(traced.n_instructions())
        if traced.instruction_id(k) == casadi.OP_CONST
    )
    return any(np.isnan(constant) for constant in constants)


def _nonzeros(matrix: Any) -> Any:
    import casadi

    return casadi.vertcat(*matrix.nonzeros()) if matrix.nnz() else casadi.SX(0, 1)


def _places(matrix: Any) -> tuple[Array, Array]:
    rows, columns = matrix.sparsity().get_triplet()
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _scatter(nonzeros: Array, places: tuple[Array, Array], shape: tuple[int, int]) -> Array:
    dense = np.zeros((nonzeros.shape[0], *shape))
    dense[:, places[0], places[1]] = nonzeros
    return dense
