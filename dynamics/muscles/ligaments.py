"""`Ligaments`: straps of a robot that pull on its links where they are longer than at rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import real_array
from dynamics.couplings.joint_function import JointFunction
from dynamics.errors import MuscleError
from dynamics.model.array_field import ArrayField
from dynamics.muscles.muscle_paths import MusclePaths

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Straps:
    """Tensions of m ligaments: F f(L / L_0) where a length L is above L_0, otherwise none.

    resting_length : (m,) m, L_0;  strength : (m,) N, F;  curves : f of each
    Raises MuscleError naming a ligament whose length or strength is not positive.
    """

    names: tuple[str, ...]
    resting_length: ArrayField
    strength: ArrayField
    curves: tuple[JointFunction, ...] = field(repr=False)

    def __post_init__(self) -> None:
        for kind, unit in (("resting_length", "m"), ("strength", "N")):
            values = real_array(getattr(self, kind), kind)
            if values.shape != (len(self.names),) or len(self.curves) != len(self.names):
                raise MuscleError(
                    f"{kind} has shape {values.shape} and there are {len(self.curves)} curves, but "
                    f"{len(self.names)} ligaments"
                )
            for name, value in zip(self.names, values, strict=True):
                if not (np.isfinite(value) and value > 0.0):
                    raise MuscleError(
                        f"{kind} of ligament '{name}' is {value:g}: give a positive one, {unit}"
                    )
            object.__setattr__(self, kind, values)

    def tensions(self, lengths: Array, order: int = 0) -> Array:
        """(order + 1, ..., m) N, tensions at lengths (..., m) m and their derivatives by them."""
        found = np.zeros((order + 1, *lengths.shape))
        for i, curve in enumerate(self.curves):
            rest, x = self.resting_length[i], lengths[..., i]
            slopes = curve.derivatives(x / rest, order)
            for k in range(order + 1):
                found[k, ..., i] = np.where(x > rest, self.strength[i] * slopes[k] / rest**k, 0.0)
        return found


@dataclass(frozen=True, eq=False)
class Ligaments:
    """m ligaments of a robot: `straps` along `paths`, in the same order, after OpenSim's Ligament."""

    straps: Straps
    paths: MusclePaths

    def __post_init__(self) -> None:
        if self.straps.names != self.paths.names:
            raise MuscleError("the ligaments and their paths have other names, or another order")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the ligaments."""
        return self.straps.names

    def moments(self, q: ArrayLike) -> Array:
        """(..., n) N m or N at the coordinates in poses q (..., n)."""
        tensions = self.straps.tensions(self.paths.lengths(q))[0]
        return np.einsum("...mn,...m->...n", self.paths.moment_arms(q), tensions)

    def wrenches(self, q: ArrayLike) -> Array:
        """(K, links, 6) [moment; force] on the links in poses q (K, n), world axes and origin."""
        return self.paths.wrenches(q, self.straps.tensions(self.paths.lengths(q))[0])
