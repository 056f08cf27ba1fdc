"""A model of Pinocchio as a dynamics: `rnea`, and its exact first derivatives `computeRNEADerivatives`.

Python sees no second derivatives of Pinocchio's: they are differences of the first ones. `dynamics.load_urdf`
reads the same robot into this project's own dynamics, which has exact ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.adapters.functions import FunctionDynamics, limits_given
from trajopt.adapters.stacked_function import Foreign, library_of
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ProblemError


def pinocchio_dynamics(
    model: Foreign, *, velocity: ArrayLike | None = None, torque: ArrayLike | None = None
) -> FunctionDynamics:
    """The dynamics of a `pinocchio.Model` whose joints have one coordinate for each velocity.

        arm = trajopt.adapters.pinocchio_dynamics(pinocchio.buildModelFromUrdf("arm.urdf"))

    velocity, torque : limits in rad/s or m/s, N m or N, a number or (n,); None: those of the model

    Raises OptionError for what is no model or where Pinocchio is not installed, ProblemError for free joints
    and others whose positions have other coordinates than their velocities.
    """
    pinocchio = library_of("pinocchio", "pinocchio", "a dynamics of Pinocchio")
    if not isinstance(model, pinocchio.Model):
        raise OptionError(f"the model is a {type(model).__name__}: give pinocchio.buildModelFromUrdf(path)")
    if model.nq != model.nv:
        raise ProblemError(
            f"the model has {model.nq} positions for {model.nv} velocities, as free and unlimited joints "
            "have: use dynamics.load_urdf(path)"
        )
    limits = limits_given(
        model.nv,
        model.lowerPositionLimit,
        model.upperPositionLimit,
        model.velocityLimit if velocity is None else velocity,
        model.effortLimit if torque is None else torque,
    )
    inverse = PinocchioInverseDynamics(model)
    return FunctionDynamics(inverse, tuple(model.names)[1:], limits, "numpy", inverse.derivatives)


@dataclass(frozen=True, eq=False)
class PinocchioInverseDynamics:
    """tau = f(q, v, a) of one state, and its derivatives; every thread has data of its own."""

    model: Foreign
    __name__ = "rnea"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_of_thread", local())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model,)

    def __call__(self, q: Array, v: Array, a: Array) -> Array:
        import pinocchio

        return pinocchio.rnea(self.model, self._data(), q, v, a).copy()

    def derivatives(self, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Matrices (n, n) by q, v and a."""
        import pinocchio

        by_q, by_v, by_a = pinocchio.computeRNEADerivatives(self.model, self._data(), q, v, a)
        upper = np.triu(by_a)  # of the mass matrix Pinocchio fills this alone
        return by_q.copy(), by_v.copy(), upper + np.triu(by_a, 1).T

    def _data(self) -> Foreign:
        mine: Foreign = self._of_thread  # type: ignore[attr-defined]
        if not hasattr(mine, "data"):
            mine.data = self.model.createData()
        return mine.data
