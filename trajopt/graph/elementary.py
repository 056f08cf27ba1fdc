"""Arithmetic blocks: quantities, their squares and integrands over normalised time, and weighted sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from trajopt.base.arrays import Array, Number
from trajopt.graph.protocols import Pairs

DURATION = "arc_duration"


class Power:
    """y_i = u_i^p, or T u_i^p with T the duration of the node's arc: the integrand over normalised time.

    exponent : p; with 1 and without T the quantity is passed on under another name
    times_duration : whether T is a factor
    """

    derivatives_are_tested = True

    def __init__(
        self, source: str, width: int, target: str, exponent: Literal[1, 2] = 1, times_duration: bool = False
    ) -> None:
        self.source, self.target = source, target
        self.exponent, self.times_duration = exponent, times_duration
        self.inputs = {source: width, DURATION: 1} if times_duration else {source: width}
        self.outputs = {target: width}
        self._identity = np.eye(width)

    def value(self, u: Mapping[str, Number]) -> dict[str, Number]:
        return {self.target: self._scaled(self._power(u), u)}

    expressions = value  # CasADi's symbols take the same operations

    def value_over(
        self, u: Mapping[str, Sequence[Number]], number: Callable[[float], Number]
    ) -> dict[str, list[Number]]:
        powers = [x if self.exponent == 1 else x * x for x in u[self.source]]
        return {self.target: [u[DURATION][0] * y for y in powers] if self.times_duration else powers}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        found = {(self.target, self.source): self._diagonal(self._scaled(self._slope(u), u))}
        if self.times_duration:
            found[self.target, DURATION] = self._power(u)[:, :, None]
        return found

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        found, adjoint = {}, adjoints[self.target]
        if self.exponent == 2:
            found[self.source, self.source] = self._diagonal(self._scaled(2.0 * adjoint, u))
        if self.times_duration:
            found[self.source, DURATION] = (adjoint * self._slope(u))[:, :, None]
        return found

    def pattern(self) -> Pairs:
        by_source = {(self.target, self.source): self._identity.astype(bool)}
        return by_source | {(self.target, name): part for (_, name), part in self._by_duration().items()}

    def curvature_pattern(self) -> Pairs:
        by_source = {(self.source, self.source): self._identity.astype(bool)} if self.exponent == 2 else {}
        return by_source | self._by_duration()

    def _by_duration(self) -> Pairs:
        ones = np.ones((len(self._identity), 1), dtype=bool)
        return {(self.source, DURATION): ones} if self.times_duration else {}

    def _power(self, u: Mapping[str, Number]) -> Number:
        return u[self.source] if self.exponent == 1 else u[self.source] ** 2

    def _slope(self, u: Mapping[str, Array]) -> Array:
        return np.ones_like(u[self.source]) if self.exponent == 1 else 2.0 * u[self.source]

    def _scaled(self, values: Number, u: Mapping[str, Number]) -> Number:
        return u[DURATION] * values if self.times_duration else values

    def _diagonal(self, values: Array) -> Array:
        return values[:, :, None] * self._identity


class WeightedSum:
    """y = c + sum_u c_u * u, with one factor per component."""

    derivatives_are_tested = True

    def __init__(self, factors: Mapping[str, Array], target: str, constant: Array | float = 0.0) -> None:
        self.target = target
        self.inputs = {name: int(values.size) for name, values in factors.items()}
        self.outputs = {target: next(iter(self.inputs.values()))}
        self._diagonal = {name: np.diag(values) for name, values in factors.items()}
        self._factors = dict(factors)
        self._constant = np.broadcast_to(constant, self.outputs[target])

    def value(self, u: Mapping[str, Number]) -> dict[str, Number]:
        found = sum(values * u[name] for name, values in self._factors.items())
        return {self.target: found + self._constant if self._constant.any() else found}

    expressions = value

    def value_over(
        self, u: Mapping[str, Sequence[Number]], number: Callable[[float], Number]
    ) -> dict[str, list[Number]]:
        factors, found = self._factors.items(), []
        for i, constant in enumerate(self._constant):
            start = number(constant) if constant else 0
            found.append(sum((number(c[i]) * u[name][i] for name, c in factors), start))
        return {self.target: found}

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
