"""Which limits of a quantity are finite, and which are equal: what a compiled program keeps of limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import StructureError

COMPILE_AGAIN = "compile the problem again with this value"


@dataclass(frozen=True, eq=False)
class LimitPattern:
    """Masks (width,) of the components with a finite lower limit, a finite upper limit, and two equal limits.

    The finite limits as one vector are the fixed values, the lower limits and the upper limits of the others.
    """

    has_lower: Array
    has_upper: Array
    equal: Array

    @classmethod
    def of(cls, lower: Array, upper: Array) -> LimitPattern:
        return cls(np.isfinite(lower), np.isfinite(upper), lower == upper)

    @property
    def width(self) -> int:
        return self.equal.size

    @property
    def is_value(self) -> bool:
        """Whether every component is fixed or free, so that a value says all."""
        return bool(np.array_equal(self.has_lower | self.has_upper, self.equal))

    def numbers(self, lower: Array, upper: Array) -> Array:
        """The finite limits as one vector."""
        return np.concatenate([lower[self.equal], lower[self._only_lower], upper[self._only_upper]])

    def limits(self, numbers: Array) -> tuple[Array, Array]:
        """Lower and upper limits (width,) from `numbers`."""
        lower, upper = np.full(self.width, -np.inf), np.full(self.width, np.inf)
        ends = np.cumsum([self.equal.sum(), self._only_lower.sum()])
        lower[self.equal], lower[self._only_lower], upper[self._only_upper] = np.split(numbers, ends)
        upper[self.equal] = lower[self.equal]
        return lower, upper

    def labels(self, components: Sequence[str]) -> tuple[str, ...]:
        """Names of the `numbers`."""
        names = np.array(components, dtype=object)
        found = list(names[self.equal])
        for side, which in (("lower", self._only_lower), ("upper", self._only_upper)):
            found += [f"{name}, {side}".lstrip(", ") for name in names[which]]
        return tuple(found)

    def check(self, name: str, lower: Array, upper: Array, components: Sequence[str]) -> None:
        """StructureError where these limits have another pattern."""
        now = LimitPattern.of(lower, upper)
        for is_now, was, finite in (
            (now.has_lower, self.has_lower, "a lower limit"),
            (now.has_upper, self.has_upper, "an upper limit"),
            (now.equal, self.equal, "equal limits"),
        ):
            wrong = np.flatnonzero(is_now != was)
            if wrong.size:
                i = int(wrong[0])
                where = f", component {components[i] or i}," if self.width > 1 else ""
                has, had = ("has", "had none") if is_now[i] else ("lacks", "had one")
                raise StructureError(
                    f"'{name}'{where} {has} {finite} but {had} when the problem was compiled: {COMPILE_AGAIN}"
                )

    @property
    def _only_lower(self) -> Array:
        return self.has_lower & ~self.equal

    @property
    def _only_upper(self) -> Array:
        return self.has_upper & ~self.equal
