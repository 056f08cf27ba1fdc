"""Dual numbers, a value and its slopes by all inputs, that record where an operation changes sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from trajopt.base.arrays import Array

Operation = Literal["absolute value", "maximum or minimum", "comparison"]
Borders = list[tuple[Operation, "DualNumber"]]


class DualNumber:
    """A dual number, x and dx/du at K points, (K,) and (K, n), for `trajopt.graph.any_arithmetic`.

    borders : the list that receives, in the order of evaluation, the number that every absolute value,
        maximum and comparison compares with zero
    """

    def __init__(self, value: Array, slope: Array, borders: Borders) -> None:
        self.value, self.slope, self.borders = value, slope, borders

    @staticmethod
    def inputs(points: Array, borders: Borders) -> list[DualNumber]:
        """The inputs u at K points, (K, n), each with the slope 1 by itself."""
        count, n = points.shape
        unit = np.broadcast_to(np.eye(n), (count, n, n))
        return [DualNumber(points[:, j], unit[:, j], borders) for j in range(n)]

    @staticmethod
    def constants(shape: tuple[int, int], borders: Borders) -> Callable[[float], DualNumber]:
        """The function that makes a number at K points of n inputs of a constant."""
        return lambda value: DualNumber(np.full(shape[0], float(value)), np.zeros(shape), borders)

    def _of(self, value: Array, slope: Array) -> DualNumber:
        return DualNumber(value, slope, self.borders)

    def _same(self, other: Any) -> DualNumber:
        if isinstance(other, DualNumber):
            return other
        return self._of(np.full_like(self.value, other), np.zeros_like(self.slope))

    def _chained(self, value: Array, factor: Array) -> DualNumber:
        """f(x), by its value and f'(x)."""
        return self._of(value, factor[:, None] * self.slope)

    def _constant(self, value: Any) -> DualNumber:
        return self._of(value.astype(float), np.zeros_like(self.slope))

    def __add__(self, other: Any) -> DualNumber:
        y = self._same(other)
        return self._of(self.value + y.value, self.slope + y.slope)

    def __sub__(self, other: Any) -> DualNumber:
        return self + -self._same(other)

    def __mul__(self, other: Any) -> DualNumber:
        y = self._same(other)
        return self._of(self.value * y.value, self.value[:, None] * y.slope + y.value[:, None] * self.slope)

    def __truediv__(self, other: Any) -> DualNumber:
        return self * self._same(other) ** -1.0

    def __pow__(self, exponent: float) -> DualNumber:
        return self._chained(self.value**exponent, exponent * self.value ** (exponent - 1.0))

    def __neg__(self) -> DualNumber:
        return self._of(-self.value, -self.slope)

    def __rsub__(self, other: Any) -> DualNumber:
        return -self + other

    def __rtruediv__(self, other: Any) -> DualNumber:
        return self**-1.0 * other

    __radd__, __rmul__ = __add__, __mul__

    def __abs__(self) -> DualNumber:
        self.borders.append(("absolute value", self))
        return self._chained(np.abs(self.value), np.where(self.value > 0.0, 1.0, -1.0))

    def maximum(self, other: Any) -> DualNumber:
        y = self._same(other)
        self.borders.append(("maximum or minimum", self - y))
        larger = self.value > y.value
        return self._of(np.where(larger, self.value, y.value), np.where(larger[:, None], self.slope, y.slope))

    def positive(self) -> DualNumber:
        self.borders.append(("comparison", self))
        return self._constant(self.value > 0.0)

    def zero(self) -> DualNumber:
        return self._constant(self.value == 0.0)

    def sin(self) -> DualNumber:
        return self._chained(np.sin(self.value), np.cos(self.value))

    def cos(self) -> DualNumber:
        return self._chained(np.cos(self.value), -np.sin(self.value))

    def exp(self) -> DualNumber:
        return self._chained(np.exp(self.value), np.exp(self.value))

    def log(self) -> DualNumber:
        return self._chained(np.log(self.value), 1.0 / self.value)

    def sqrt(self) -> DualNumber:
        return self**0.5

    def tanh(self) -> DualNumber:
        return self._chained(np.tanh(self.value), 1.0 - np.tanh(self.value) ** 2)

    def atan(self) -> DualNumber:
        return self._chained(np.arctan(self.value), 1.0 / (1.0 + self.value**2))

    def atan2(self, x: Any) -> DualNumber:
        """The angle of the point (x, y), y this number."""
        x = self._same(x)
        squared = (x.value**2 + self.value**2)[:, None]
        slope = (x.value[:, None] * self.slope - self.value[:, None] * x.slope) / squared
        return self._of(np.arctan2(self.value, x.value), slope)

    def angle(self, y: float) -> DualNumber:
        """The angle of the point (x, y), x this number."""
        return self._same(y).atan2(self)
