"""A block y = f(u_1, u_2, ...) of a function that an array library evaluates and differentiates at one node.

The inputs are stacked into one vector z = (u_1, u_2, ...) (W,), so that a library sees a function of z alone,
and its derivatives are cut into those by each input afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from itertools import combinations_with_replacement, product
from types import ModuleType
from typing import Any, ClassVar, Protocol

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import EvaluationError, OptionError, ShapeError
from trajopt.graph.protocols import Pairs, Values

#: What a library is given: the inputs (w_i,) of one node one after the other -> (m,), in its own arrays.
ArrayFunction = Callable[..., Any]
Foreign = Any  # an array of another library, a container of them, a model


class BatchedFunction(Protocol):
    """A function of one node, evaluated by a library at K nodes z (K, W) at once."""

    def value(self, z: Array) -> Array:
        """y, (K, m)."""
        ...

    def jacobian(self, z: Array) -> Array:
        """dy/dz, (K, m, W)."""
        ...

    def hessian(self, z: Array, w: Array) -> Array:
        """d^2 sum(w . y) / dz^2 (K, W, W) for weights w (K, m)."""
        ...


class FunctionBlock:
    """A block with one output, whose value and derivatives a library computes.

    function : of the stacked inputs
    """

    def __init__(self, function: BatchedFunction, inputs: Mapping[str, int], output: str) -> None:
        self.function, self.inputs = function, dict(inputs)
        self.derivatives_are_differences = bool(getattr(function, "is_differenced", False))
        ends = np.cumsum(list(self.inputs.values())).tolist()
        self._places = dict(zip(self.inputs, map(slice, [0, *ends], ends), strict=True))
        self.outputs = {output: function.value(np.linspace(0.4, 0.6, ends[-1])[None]).shape[1]}

    def value(self, u: Mapping[str, Array]) -> Values:
        return {output: self.function.value(self._stacked(u)) for output in self.outputs}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        slopes = self.function.jacobian(self._stacked(u))
        return {
            (output, name): slopes[:, :, place]
            for output, (name, place) in product(self.outputs, self._places.items())
        }

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        (weights,) = adjoints.values()
        found = self.function.hessian(self._stacked(u), weights)
        pairs = combinations_with_replacement(self._places.items(), 2)
        return {(one, other): found[:, rows, columns] for (one, rows), (other, columns) in pairs}

    def pattern(self) -> Pairs:
        pairs = product(self.outputs.items(), self.inputs.items())
        return {(one, other): np.ones((m, w), bool) for (one, m), (other, w) in pairs}

    def curvature_pattern(self) -> Pairs:
        pairs = combinations_with_replacement(self.inputs.items(), 2)
        return {(one, other): np.ones((v, w), bool) for (one, v), (other, w) in pairs}

    def _stacked(self, u: Mapping[str, Array]) -> Array:
        given = [u[name] for name in self.inputs]
        if any(np.iscomplexobj(part) for part in given):  # a complex step of the check of derivatives
            raise OptionError("functions of other libraries take real numbers")
        return np.concatenate(given, axis=1)


@dataclass(frozen=True, eq=False)
class StackedFunction:
    """A function of one node, and how the stacked inputs are cut into its arguments.

    widths : (w_1, w_2, ...) of its inputs
    label : its name in messages
    """

    function: ArrayFunction
    widths: tuple[int, ...]
    label: str

    def __reduce__(self) -> tuple[object, ...]:
        # What a library has compiled stays in its process.
        return type(self), tuple(getattr(self, part.name) for part in fields(self))

    @cached_property
    def cuts(self) -> list[int]:
        """Beginnings of all inputs but the first."""
        return np.cumsum(self.widths)[:-1].tolist()

    def checked(self, found: Foreign, count: int, remedy: str) -> Array:
        """Values (count, m) in float64.

        Raises ShapeError for those of another shape, EvaluationError where they have fewer digits or are
        whole numbers.
        """
        array = np.asarray(found)
        if array.dtype.kind == "f" and array.dtype != np.float64:
            raise EvaluationError(
                f"{self.label} gives {array.dtype}, whose few digits stop a solver early: {remedy}"
            )
        if array.dtype.kind in "biu":
            raise EvaluationError(
                f"{self.label} gives {array.dtype}, whose derivatives are zero: return floating-point numbers"
            )
        if array.ndim != 2 or array.shape[0] != count or not array.size:
            raise ShapeError(
                f"{self.label} gives shape {array.shape[1:]} at a node: give a number, or a vector (m,)"
            )
        return np.asarray(array, dtype=float)


class MappedFunction(StackedFunction):
    """A function whose library computes all nodes in one call.

    remedy : advice to a user whose function does not compute in float64
    """

    remedy: ClassVar[str]

    def value(self, z: Array) -> Array:
        return self.checked(self._call(0, z), len(z), self.remedy)

    def jacobian(self, z: Array) -> Array:
        return self._call(1, z)

    def hessian(self, z: Array, w: Array) -> Array:
        return self._call(2, z, w)

    def _call(self, which: int, *arrays: Array) -> Array:
        """Values (0), Jacobians (1) or Hessians times weights (2) at all nodes."""
        raise NotImplementedError


def library_of(name: str, extra: str, needed_by: str) -> ModuleType:
    """The module of a library; OptionError where it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise OptionError(
            f"{needed_by} needs {name}, which is not installed: pip install 'trajopt-splines[{extra}]'"
        ) from error
