"""Models of MuJoCo and of Pinocchio as a dynamics, computed by the engine itself.

    tau = M(q) a + bias(q, v) - passive(q, v)        `qfrc_inverse` of mj_inverse, without constraints

For MuJoCo the derivative by a is M, of differences that are exact, as tau is linear in a. Those by q and v
are differences of order six, about 1e-12 of the size of torques off: MuJoCo has no exact ones.

Pinocchio gives `rnea` and its exact first derivatives, `computeRNEADerivatives`. Python sees no second ones:
they are differences of the first.

`dynamics.from_mujoco` and `dynamics.load_urdf` read the same models into this project's own dynamics, which
has exact derivatives.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from threading import local

import numpy as np
from numpy.typing import ArrayLike

from trajopt.adapters.functions import FunctionDynamics, limits_given
from trajopt.adapters.numpy_function import central_differences
from trajopt.adapters.stacked_function import Foreign, library_of
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ProblemError


def mujoco_dynamics(
    model: Foreign, *, velocity: ArrayLike | None = None, torque: ArrayLike | None = None
) -> FunctionDynamics:
    """The dynamics of a `mujoco.MjModel` whose joints are hinges and slides.

        arm = trajopt.adapters.mujoco_dynamics(mujoco.MjModel.from_xml_path("arm.xml"), torque=10.0)

    velocity, torque : limits in rad/s or m/s, N m or N, a number or (n,); torque None: those of
        `actuatorfrcrange`. Positions have the ranges of the model

    Contacts, equality constraints, dry friction and actuators have no part in tau.
    Raises OptionError for what is no model or where MuJoCo is not installed, ProblemError for free and ball
    joints, whose positions have other coordinates than their velocities.
    """
    mujoco = library_of("mujoco", "mujoco", "a dynamics of MuJoCo")
    if not isinstance(model, mujoco.MjModel):
        raise OptionError(f"the model is a {type(model).__name__}: give mujoco.MjModel.from_xml_path(path)")
    if model.nq != model.nv:
        raise ProblemError(
            f"the model has {model.nq} positions for {model.nv} velocities, as free and ball joints have: "
            "use dynamics.from_mujoco(model)"
        )
    own = copy.copy(model)
    own.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    own.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_INVDISCRETE)
    lower, upper = np.where(own.jnt_limited[:, None], own.jnt_range, [-np.inf, np.inf]).T
    names = tuple(own.joint(i).name or f"joint {i}" for i in range(own.nv))
    limits = limits_given(own.nv, lower, upper, velocity, torque)
    if torque is None:
        limited = own.jnt_actfrclimited[:, None]
        limits.torque_lower, limits.torque_upper = np.where(
            limited, own.jnt_actfrcrange, [-np.inf, np.inf]
        ).T.copy()
    inverse = MujocoInverseDynamics(own)
    return FunctionDynamics(inverse, names, limits, "numpy", inverse.derivatives)


@dataclass(frozen=True, eq=False)
class _EngineFunction:
    """A function of a model of an engine; every thread has data of its own."""

    model: Foreign

    def __post_init__(self) -> None:
        object.__setattr__(self, "_of_thread", local())

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.model,)


@dataclass(frozen=True, eq=False)
class MujocoInverseDynamics(_EngineFunction):
    """tau = f(q, v, a) of one state by MuJoCo, and its derivatives."""

    __name__ = "mj_inverse"

    def __call__(self, q: Array, v: Array, a: Array) -> Array:
        import mujoco

        mine: Foreign = self._of_thread  # type: ignore[attr-defined]
        if not hasattr(mine, "data"):
            mine.data = mujoco.MjData(self.model)
        mine.data.qpos[:], mine.data.qvel[:], mine.data.qacc[:] = q, v, a
        mujoco.mj_inverse(self.model, mine.data)
        return mine.data.qfrc_inverse.copy()

    def derivatives(self, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Matrices (n, n) by q, v and a."""
        n, z = self.model.nv, np.concatenate([q, v])
        slopes = central_differences(lambda at: self(at[:n], at[n:], a), z)
        base = self(q, v, np.zeros(n))
        M = np.stack([self(q, v, unit) - base for unit in np.eye(n)], axis=1)
        return slopes[:, :n], slopes[:, n:], M


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
class PinocchioInverseDynamics(_EngineFunction):
    """tau = f(q, v, a) of one state by Pinocchio, and its derivatives."""

    __name__ = "rnea"

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
