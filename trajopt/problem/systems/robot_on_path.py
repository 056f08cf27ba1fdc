"""A robot that is driven along a given path of its joints: the unknown curve is s(t) of q = p(s(t)).

    M(q) (p' s'' + p'' s'^2) + C(q, v) v + g(q) = tau,   v = p' s'

(Bobrow, Dubowsky and Gibson 1985; Shin and McKay 1985). The problem has one coordinate, s; its robot keeps
torques, links, loads and limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.graph.declared_quantities import LEAVES, DeclaredQuantity
from trajopt.graph.graph import NamedBlock
from trajopt.graph.protocols.block import Block
from trajopt.graph.quantities import declared_by
from trajopt.problem.dynamics_check import DECLARED, check_dynamics
from trajopt.problem.systems.joint_path import JointPath, PathLike, path_of
from trajopt.problem.systems.path_block import JOINTS, MOTION, ON_PATH, JointMotionBlock
from trajopt.problem.systems.state_equations import StateEquations, derivatives_of, limits_of

COORDINATE = "s"
OF_PATH = "path"  # the block that computes the motion of the joints
# Optional members of a robot, of the protocols in `graph/protocols/dynamics.py`.
OFFERED = ("gravity", "joints", "property_value")


def on_path(robot: Any, path: PathLike, over: tuple[float, float] = (0.0, 1.0)) -> RobotOnPath:
    """A robot whose joints follow q = p(s), to be given to `Problem`, which finds s(t).

    path : points (k, n), joined by a spline of degree five whose parameter goes with their distance; a
        function of s that returns n expressions, traced once; or path(s, order), as curves of SciPy
    over : the range of s

        on_line = trajopt.on_path(arm, [[0.0, 0.5], [1.0, -0.5]])
        problem = trajopt.Problem(on_line, trajopt.Trajectory.uniform(40))
        problem.start_at(q=0.0, v=0.0)
        problem.end_at(q=1.0, v=0.0)

    `trajopt.q` is s and `trajopt.v` its rate. In a function of a node, `node.s` is s, and `node.q`, `node.v`,
    `node.a` and `node.jerk` are the joints' (n,), as are `trajopt.Quantity("joint_position")`,
    "joint_velocity", "joint_acceleration" and "joint_jerk". `Problem.subject_to_joint_limits` adds those of
    the robot's joints.

    Raises ShapeError, OptionError or NotFiniteError for what is no path, ProblemError for what is no robot.
    """
    check_dynamics(robot)
    if isinstance(robot, StateEquations | RobotOnPath):
        raise OptionError(f"a {type(robot).__name__} follows no path of joints: give a robot")
    return RobotOnPath(robot, path_of(path, over, tuple(robot.joint_names)))


@dataclass(frozen=True, eq=False)
class RobotOnPath:
    """A dynamics of one coordinate s; made by `trajopt.on_path`."""

    robot: Any
    path: JointPath

    def __post_init__(self) -> None:
        for name in OFFERED:
            if hasattr(self.robot, name):
                object.__setattr__(self, name, getattr(self.robot, name))
        if hasattr(self.robot, "skeleton"):
            object.__setattr__(self, "skeleton", lambda q: self.robot.skeleton(self.joint_positions(q)))
        if hasattr(self.robot, "designed_block"):
            object.__setattr__(self, "designed_block", self._designed_block)

    @property
    def n(self) -> int:
        """One: the coordinate s."""
        return 1

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The name of the coordinate; those of the joints are the robot's."""
        return (COORDINATE,)

    @property
    def limits(self) -> Any:
        """The range of s; the joints' limits are those of the robot."""
        return limits_of(1, q_lower=np.array([self.path.first]), q_upper=np.array([self.path.last]))

    @property
    def aliases(self) -> Mapping[str, tuple[str, int | None]]:
        """`node.s` and `node.rate("s")`; `node.q`, `node.v`, `node.a` and `node.jerk` of the joints."""
        joints = {leaf: (name, None) for leaf, name in zip(MOTION, JOINTS, strict=True)}
        return {COORDINATE: ("q", 0), f"rate:{COORDINATE}": ("v", 0), **joints}

    @property
    def quantities(self) -> Mapping[str, Any]:
        """The robot's, the motion of the joints, and s with its derivatives."""
        names, n = tuple(self.robot.joint_names), self.robot.n
        found: dict[str, Any] = derivatives_of("the coordinate s along the path", 1, (COORDINATE,))
        for name, leaf in zip(JOINTS, MOTION, strict=True):
            found[name] = DeclaredQuantity(
                n, LEAVES[leaf].unit, LEAVES[leaf].description, names, block=OF_PATH
            )
        for name, given in declared_by(self.robot).items():
            parts = {part: getattr(given, part) for part in DECLARED}
            if given.width is None:
                parts |= {"width": n, "components": tuple(given.components) or names}
            found[name] = DeclaredQuantity(**parts)
        return found

    def block(self, outputs: Iterable[str], loads: Sequence[str] = ()) -> Block:
        """The motion of the joints as functions of s, or the robot's quantities as functions of it."""
        wanted = tuple(outputs)
        if wanted and all(name in JOINTS for name in wanted):
            return JointMotionBlock(self.path, self.robot.n, wanted)
        block = self.robot.block(wanted, loads) if loads else self.robot.block(wanted)
        return NamedBlock(block, inputs=ON_PATH)

    def _designed_block(
        self, outputs: Sequence[str], loads: Sequence[str], fixed: Mapping[str, Array]
    ) -> Block:
        if all(name in JOINTS for name in outputs):
            return self.block(outputs)
        return NamedBlock(self.robot.designed_block(outputs, loads, fixed), inputs=ON_PATH)

    def with_properties(self, values: Mapping[str, Array]) -> RobotOnPath:
        """The same path with other values of these properties of the robot."""
        return replace(self, robot=self.robot.with_properties(values))

    def joint_positions(self, s: Array) -> Array:
        """q = p(s), (..., n) for s (..., 1)."""
        s = np.asarray(s, dtype=float)
        return self.path(s.ravel()).reshape(*s.shape[:-1], self.robot.n)

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """s'' (..., 1) of torques (..., n) at s, s' (..., 1), the path being a guide without friction.

        Along p' the guide does no work: s'' = p' . (tau - tau(q, v, p'' s'^2)) / p' . M p'.
        """
        return self.loaded_forward_dynamics(q, v, tau, {})

    def loaded_forward_dynamics(self, q: Array, v: Array, tau: Array, loads: Mapping[str, Array]) -> Array:
        """`forward_dynamics` under wrenches (..., 6) by link, world axes about the world origin."""
        shape, rate = np.shape(q), np.reshape(v, (-1, 1))
        p = [self.path(np.ravel(q), order) for order in range(3)]
        wrenches = {f"load:{link}": np.reshape(wrench, (-1, 6)) for link, wrench in loads.items()}
        u = {"q": p[0], "v": p[1] * rate, "a": p[2] * rate**2, **wrenches}
        block = self.robot.block(("tau",), tuple(loads)) if loads else self.robot.block(("tau",))
        missing = np.reshape(tau, p[0].shape) - block.value(u)["tau"]
        inertia = block.partials(u)["tau", "a"] @ p[1][:, :, None]
        along = p[1][:, None]
        return ((along @ missing[:, :, None]) / (along @ inertia)).reshape(shape)
