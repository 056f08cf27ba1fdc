"""Tracing: a user's function of one node is called once with symbols, which gives a block."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from trajopt.base.errors import OptionError, ShapeError, TrajoptError
from trajopt.graph.any_arithmetic import continued_tables
from trajopt.graph.expression import ExpressionBlock, contains_nan, expression_of, has_calls, symbol
from trajopt.graph.protocols import NodeFunction
from trajopt.graph.quantities import QuantityTable, families_with_argument, term_of

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression

_BRANCHED = ("truth value", "__bool__", "cannot compute the truth")  # in errors of CasADi and NumPy


class NodeSymbols:
    """The argument of a term's function: quantities of one node as columns of symbols, made on first use.

    `node.q` is a quantity; `node.position`, a family whose members have names, is called with one. Where the
    dynamics names its coordinates, `node.altitude` is one of them.
    """

    def __init__(self, width_of: Callable[[str], int]) -> None:
        self._width_of, self._named = width_of, families_with_argument(width_of)
        self._aliases = width_of.aliases if isinstance(width_of, QuantityTable) else {}
        self.used: dict[str, Expression] = {}

    def __getattr__(self, name: str) -> Any:  # an expression, or a family of them
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._named:
            return _Family(name, self._coordinate)
        return self._coordinate(name)

    def _coordinate(self, name: str) -> Expression:
        if name in self._aliases:
            quantity, component = self._aliases[name]
            column = self._symbol(quantity)
            return column if component is None else column[component]
        return self._symbol(name)

    def _symbol(self, quantity: str) -> Expression:
        if quantity not in self.used:
            self.used[quantity] = symbol(quantity, self._width_of(quantity))
        return self.used[quantity]


def column_of(node: NodeSymbols, quantity: str) -> Expression:
    """The symbols of a quantity by its key, "v" or "position:foot"; never a coordinate of the same name."""
    return node._symbol(quantity)  # pyright: ignore[reportPrivateUsage]  not a user's name


class _Family:
    """A family of quantities, `node.position`, to be called with a name."""

    def __init__(self, family: str, symbol: Callable[[str], Expression]) -> None:
        self._family, self._symbol = family, symbol

    def __call__(self, of: str) -> Expression:
        return self._symbol(f"{self._family}:{of}")

    def __repr__(self) -> str:
        return f"node.{self._family}, which needs a name, node.{self._family}('...')"

    def __getitem__(self, key: object) -> NoReturn:
        raise OptionError(f"{self}, was indexed before that")


def trace(function: NodeFunction, target: str, width_of: Callable[[str], int]) -> ExpressionBlock:
    """The block y = f(u) of a user's function f of the quantities u of one node, named `target`.

    The function is called once, with an object whose attributes are columns of CasADi symbols, `node.q` (n,)
    or `node.position("foot")` (3,); it returns an expression or a list of them, (m,). Exact sparse first and
    second derivatives follow by automatic differentiation.

    width_of : quantity -> number of components, `problem.quantities` for instance
    Raises OptionError when the function branches on a value, ShapeError when it returns no vector.
    """
    expression, (used,) = trace_several(function, term_of(target), [width_of])
    return ExpressionBlock(used, {target: expression})


def trace_several(
    function: Callable[..., object], label: str, widths: Sequence[Callable[[str], int]]
) -> tuple[Expression, list[dict[str, Expression]]]:
    """The expression that a function of several nodes returns, and the symbols of every node, by quantity.

    label : the name of the function in messages
    widths : quantity -> number of components, for every node
    Raises what `trace` raises.
    """
    nodes = [NodeSymbols(width_of) for width_of in widths]
    expression = _column(_returned(function, nodes, label), label)
    if not any(node.used for node in nodes):
        raise OptionError(f"{label} uses no quantity of the node, so it is a constant: leave it out")
    return expression, [node.used for node in nodes]


def refuse_other_arguments(function: Callable[..., object], count: int, label: str) -> None:
    """OptionError for a function that cannot be called with so many nodes and nothing else."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of compiled modules have none
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        given = ", ".join(signature.parameters) or "nothing"
        wanted = "one node, def f(node)" if count == 1 else f"{count} nodes, one for each instant"
        raise OptionError(
            f"{label} takes ({given}), but is called with {wanted}: states, controls and all other "
            "quantities are attributes of a node, node.x"
        ) from None


def _returned(function: Callable[..., object], nodes: Sequence[NodeSymbols], label: str) -> object:
    """The returned value; OptionError with the cause where the function raises."""
    refuse_other_arguments(function, len(nodes), label)
    try:
        with _masks_refused(label):
            return function(*nodes)
    except TrajoptError:
        raise
    except Exception as error:
        if any(sign in str(error).lower() for sign in _BRANCHED):
            raise OptionError(
                f"{label} branches on a value, as if, abs and max do: it is traced once, use "
                "casadi.if_else, or trajopt.absolute, trajopt.maximum and trajopt.minimum of terms"
            ) from error
        raise OptionError(f"{label} failed while it was traced: {_last_words(error)}") from error


_TRACING = threading.RLock()


@contextmanager
def _masks_refused(label: str) -> Generator[None]:
    """ShapeError where CasADi met a masked array, whose masked entries it would take for zeros.

    CasADi asks an array for `__SX__` before it reads the numbers; elsewhere masked arrays stay as they are.
    """
    met: list[None] = []

    def refuse(_: np.ma.MaskedArray) -> None:
        met.append(None)  # an error raised here would be reported by Python 3.13 as one that CasADi ignored

    with _TRACING:
        before = getattr(np.ma.MaskedArray, "__SX__", None)
        np.ma.MaskedArray.__SX__ = refuse  # type: ignore[attr-defined]
        try:
            yield
        except Exception:
            if not met:
                raise
        finally:
            if before is None:
                del np.ma.MaskedArray.__SX__  # type: ignore[attr-defined]
            else:
                np.ma.MaskedArray.__SX__ = before  # type: ignore[attr-defined]
    if met:
        raise ShapeError(f"{label} uses a masked array, whose masked entries would be zeros: fill it before")


def _column(returned: object, label: str) -> Expression:
    """The returned value as one expression, (m,)."""
    wanted = "a term is a number or a column of numbers"
    if isinstance(returned, _Family):
        raise ShapeError(f"{label} returned {returned}: {wanted}")
    try:
        with _masks_refused(label):
            expression = expression_of(returned)
    except NotImplementedError as error:
        raise ShapeError(f"{label} returned {returned!r}: {wanted}") from error
    if expression.size2() != 1 or expression.numel() == 0:
        raise ShapeError(f"{label} returned shape {expression.shape}: {wanted}")
    if contains_nan(expression):
        raise OptionError(
            f"{label} contains NaN whatever the node: float() and functions of `math` turn symbols into it, "
            "use those of numpy or casadi"
        )
    return continued_tables(expression) if has_calls(expression) else expression


def _last_words(error: Exception) -> str:
    """The cause without the C++ paths and prototypes of CasADi's messages: the end of their last line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    words = re.sub(r"^\S*casadi/\S*: ", "", lines[-1]) if lines else "no message"
    if "looping over rows" in words:
        words = "a column cannot be looped over: index it, node.q[i] for i in range(n)"
    if "incompatible dimensions" in words:
        words += " Quantities are columns: x.T @ x is the sum of squares, x * y takes components one by one"
    if "out of bounds" in words:
        words += ": components are counted from 0, and node.q[i] has one for each joint"
    return f"{type(error).__name__}: {words}"
