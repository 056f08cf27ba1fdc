"""Arithmetic blocks: squares, weighted sums, products with the duration, renaming."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.protocols.block import Pairs, Values


class Square:
    """y_i = u_i^2."""

    derivatives_are_tested = True

    def __init__(self, source: str, width: int, target: str) -> None:
        self.source, self.target = source, target
        self.inputs = {source: width}
        self.outputs = {target: width}
        self._diagonal = np.eye(width)

    def value(self, u: Mapping[str, Array]) -> Values:
        return {self.target: u[self.source] ** 2}

    def expressions(self, u: Mapping[str, Any]) -> dict[str, Any]:
        """`value` on CasADi symbols, for `graph.fused`."""
        return {self.target: u[self.source] ** 2}

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        return {self.target: [x * x for x in u[self.source]]}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        return {(self.target, self.source): 2.0 * u[self.source][:, :, None] * self._diagonal}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        return {(self.source, self.source): 2.0 * adjoints[self.target][:, :, None] * self._diagonal}

    def pattern(self) -> Pairs:
        return {(self.target, self.source): self._diagonal.astype(bool)}

    def curvature_pattern(self) -> Pairs:
        return {(self.source, self.source): self._diagonal.astype(bool)}


class SquareTimesDuration:
    """y_i = T u_i^2: `Square` and `TimesDuration` in one, with T the duration of the node's arc."""

    derivatives_are_tested = True

    def __init__(self, square: Square, times: TimesDuration) -> None:
        self.source, self.target, self._T = square.source, times.target, times.DURATION
        width = square.inputs[square.source]
        self.inputs = {self.source: width, self._T: 1}
        self.outputs = {self.target: width}
        self._identity = np.eye(width)

    def value(self, u: Mapping[str, Array]) -> Values:
        return {self.target: u[self._T] * u[self.source] ** 2}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        source = u[self.source]
        return {
            (self.target, self.source): (2.0 * u[self._T] * source)[:, :, None] * self._identity,
            (self.target, self._T): source[:, :, None] ** 2,
        }

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        twice = 2.0 * adjoints[self.target]
        return {
            (self.source, self.source): (twice * u[self._T])[:, :, None] * self._identity,
            (self.source, self._T): (twice * u[self.source])[:, :, None],
        }

    def pattern(self) -> Pairs:
        return {(self.target, name): part for (_, name), part in self.curvature_pattern().items()}

    def curvature_pattern(self) -> Pairs:
        width = len(self._identity)
        return {
            (self.source, self.source): self._identity.astype(bool),
            (self.source, self._T): np.ones((width, 1), dtype=bool),
        }


class Renamed:
    """y = u: passes a quantity on under another name, the value of a term as the load on a link."""

    derivatives_are_tested = True

    def __init__(self, source: str, width: int, target: str) -> None:
        self.source, self.target = source, target
        self.inputs = {source: width}
        self.outputs = {target: width}

    def value(self, u: Mapping[str, Array]) -> Values:
        return {self.target: u[self.source]}

    def expressions(self, u: Mapping[str, Any]) -> dict[str, Any]:
        """`value` on CasADi symbols, for `graph.fused`."""
        return {self.target: u[self.source]}

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        return {self.target: list(u[self.source])}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        width, nodes = self.outputs[self.target], u[self.source].shape[0]
        return {(self.target, self.source): np.broadcast_to(np.eye(width), (nodes, width, width))}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        return {}

    def pattern(self) -> Pairs:
        return {(self.target, self.source): np.eye(self.outputs[self.target], dtype=bool)}

    def curvature_pattern(self) -> Pairs:
        return {}


class TimesDuration:
    """y = T u, with T the duration of the node's arc: the integrand over normalised time, 0 to 1."""

    derivatives_are_tested = True
    DURATION = "arc_duration"

    def __init__(self, source: str, width: int, target: str) -> None:
        self.source, self.target = source, target
        self.inputs = {source: width, self.DURATION: 1}
        self.outputs = {target: width}
        self._identity = np.eye(width)

    def value(self, u: Mapping[str, Array]) -> Values:
        return {self.target: u[self.DURATION] * u[self.source]}

    def expressions(self, u: Mapping[str, Any]) -> dict[str, Any]:
        """`value` on CasADi symbols, for `graph.fused`."""
        return {self.target: u[self.DURATION] * u[self.source]}

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        return {self.target: [u[self.DURATION][0] * x for x in u[self.source]]}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        return {
            (self.target, self.source): u[self.DURATION][:, :, None] * self._identity,
            (self.target, self.DURATION): u[self.source][:, :, None],
        }

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        return {(self.source, self.DURATION): adjoints[self.target][:, :, None]}

    def pattern(self) -> Pairs:
        width = self.outputs[self.target]
        return {
            (self.target, self.source): np.eye(width, dtype=bool),
            (self.target, self.DURATION): np.ones((width, 1), dtype=bool),
        }

    def curvature_pattern(self) -> Pairs:
        return {(self.source, self.DURATION): np.ones((self.outputs[self.target], 1), dtype=bool)}


class WeightedSum:
    """y = sum_u c_u * u, with one factor per component."""

    derivatives_are_tested = True

    def __init__(self, factors: Mapping[str, Array], target: str) -> None:
        self.target = target
        self.inputs = {name: int(values.size) for name, values in factors.items()}
        self.outputs = {target: next(iter(self.inputs.values()))}
        self._diagonal = {name: np.diag(values) for name, values in factors.items()}
        self._factors = dict(factors)

    def value(self, u: Mapping[str, Array]) -> Values:
        return {self.target: sum(values * u[name] for name, values in self._factors.items())}  # type: ignore[dict-item]

    def expressions(self, u: Mapping[str, Any]) -> dict[str, Any]:
        """`value` on CasADi symbols, for `graph.fused`."""
        return {self.target: sum(values * u[name] for name, values in self._factors.items())}

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        rows = range(self.outputs[self.target])
        factors = self._factors.items()
        return {self.target: [sum(number(c[i]) * u[name][i] for name, c in factors) for i in rows]}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        count = next(iter(u[name] for name in self.inputs)).shape[0]
        return {
            (self.target, name): np.broadcast_to(matrix, (count, *matrix.shape))
            for name, matrix in self._diagonal.items()
        }

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        return {}

    def pattern(self) -> Pairs:
        return {(self.target, name): matrix != 0.0 for name, matrix in self._diagonal.items()}

    def curvature_pattern(self) -> Pairs:
        return {}
