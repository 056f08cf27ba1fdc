"""Counts the additions and multiplications of an algorithm by running it on numbers that count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dynamics.papers.safeea.serial_chain import SerialChain


class Tally:
    """Count of the additions (and subtractions) and multiplications that its numbers have made."""

    def __init__(self) -> None:
        self.additions = 0
        self.multiplications = 0


class CountedNumber:
    """A float that reports its operations to a tally.

    A plain 0 beside it is a structural zero and costs nothing; a change of sign is no operation.
    """

    __slots__ = ("tally", "value")

    def __init__(self, value: float, tally: Tally) -> None:
        self.value = value
        self.tally = tally

    def _sum(self, other: object, value: float) -> CountedNumber:
        if isinstance(other, CountedNumber) or other != 0:
            self.tally.additions += 1
        return CountedNumber(value, self.tally)

    def __add__(self, other):
        return self._sum(other, self.value + plain(other))

    def __sub__(self, other):
        return self._sum(other, self.value - plain(other))

    def __rsub__(self, other):
        return self._sum(other, plain(other) - self.value)

    __radd__ = __add__

    def __mul__(self, other):
        if not isinstance(other, CountedNumber) and other == 0:
            return 0
        self.tally.multiplications += 1
        return CountedNumber(self.value * plain(other), self.tally)

    __rmul__ = __mul__

    def __neg__(self):
        return CountedNumber(-self.value, self.tally)


def plain(number) -> float:
    """The float inside a counted number, or the number itself."""
    return number.value if isinstance(number, CountedNumber) else number


def counted(array: np.ndarray, tally: Tally) -> np.ndarray:
    """`array` with every element counted by `tally`."""
    wrapped = np.empty(array.shape, dtype=object)
    for place, value in np.ndenumerate(array):
        wrapped[place] = CountedNumber(float(value), tally)
    return wrapped


def counted_chain(chain: SerialChain, tally: Tally) -> SerialChain:
    """The chain with everything the recursion reads counted."""
    names = ("rotations", "axes", "origins", "masses", "centres", "spreads")
    return replace(chain, **{name: counted(getattr(chain, name), tally) for name in names})


@dataclass(frozen=True)
class OperationCount:
    """Coefficients of n^3, n^2, n and 1 in the numbers of operations."""

    additions: tuple[Fraction, ...]
    multiplications: tuple[Fraction, ...]


def operation_count(run: Callable[[int], Tally]) -> OperationCount:
    """The cubic polynomials through the tallies of `run`(n) at n = 2, 3, 4, 5."""
    tallies = {n: run(n) for n in (2, 3, 4, 5)}
    return OperationCount(
        cubic_through({n: tally.additions for n, tally in tallies.items()}),
        cubic_through({n: tally.multiplications for n, tally in tallies.items()}),
    )


def cubic_through(points: dict[int, int]) -> tuple[Fraction, ...]:
    """Exact coefficients, highest power first, of the cubic through four points (Lagrange's formula)."""
    total = [Fraction(0)] * 4
    for at, value in points.items():
        basis = [Fraction(value)]
        for other in points:
            if other != at:
                longer = [*basis, Fraction(0)]
                for power, coefficient in enumerate(basis):
                    longer[power + 1] -= other * coefficient
                basis = [coefficient / (at - other) for coefficient in longer]
        total = [sum_ + term for sum_, term in zip(total, basis, strict=True)]
    return tuple(total)
