"""A robot that is driven along a given path of its joints: the unknown curve is s(t) of q = p(s(t)).

    M(q) (p' s'' + p'' s'^2) + C(q, v) v + g(q) = tau,   v = p' s'

(Bobrow, Dubowsky and Gibson 1985; Shin and McKay 1985). The problem has one coordinate, s; its robot keeps
torques, links, loads and limits.

The motion of the robot's joints is a block:

    q = p(s),   v = p' s',   a = p' s'' + p'' s'^2,   jerk = p' s_3 + 3 p'' s' s'' + p_3 s'^3

with s_3 and p_3 the third derivatives, by time and by s.

The robot's own blocks are functions of these; the graph takes derivatives by s, s', s'' and s_3 through both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import add
from typing import Any

import numpy as np

from trajopt.base.arrays import Array, Number
from trajopt.base.errors import OptionError
from trajopt.graph.graph import NamedBlock
from trajopt.graph.protocols import Block, Pairs, Values
from trajopt.graph.quantities import LEAVES, SPLINE_LEAVES, DeclaredQuantity, declared_by
from trajopt.problem.input_checks import DECLARED, check_dynamics
from trajopt.problem.systems.joint_path import JointPath, PathLike, path_of
from trajopt.problem.systems.state_equations import StateEquations, derivatives_of, limits_of

MOTION = SPLINE_LEAVES
# Outputs of `JointMotionBlock`, and their orders.
JOINTS = {"joint_position": 0, "joint_velocity": 1, "joint_acceleration": 2, "joint_jerk": 3}
ON_PATH: Mapping[str, str] = dict(zip(MOTION, JOINTS, strict=True))  # input of the robot's blocks -> quantity
Sum = tuple[tuple[float, int, tuple[int, ...]], ...]
#: Outputs as sums of f p_k s'^i s''^j s_3^l, each part (f, k, (i, j, l)), with p_k the k-th derivative by s.
SUMS: Mapping[str, Sum] = {
    "joint_position": ((1.0, 0, (0, 0, 0)),),
    "joint_velocity": ((1.0, 1, (1, 0, 0)),),
    "joint_acceleration": ((1.0, 1, (0, 1, 0)), (1.0, 2, (2, 0, 0))),
    "joint_jerk": ((1.0, 1, (0, 0, 1)), (3.0, 2, (1, 1, 0)), (1.0, 3, (3, 0, 0))),
}


class JointMotionBlock:
    """Positions, velocities, accelerations and jerks of the joints, (nodes, n) each, those asked for.

    inputs : "q", "v", "a" and, for jerks, "jerk", (nodes, 1): s and its derivatives by time
    """

    def __init__(self, path: JointPath, n: int, outputs: Sequence[str] = tuple(JOINTS)) -> None:
        self.path, self.derivatives_are_tested = path, path.is_exact
        self.order = max(2, *(JOINTS[name] for name in outputs))
        self.inputs: Mapping[str, int] = dict.fromkeys(MOTION[: self.order + 1], 1)
        self.outputs: Mapping[str, int] = dict.fromkeys(outputs, n)

    def value(self, u: Mapping[str, Array]) -> Values:
        p = self._derivatives(u, self.order)
        return {name: self._total(SUMS[name], u, p) for name in self.outputs}

    def value_over(
        self, u: Mapping[str, Sequence[Number]], number: Callable[[float], Number]
    ) -> dict[str, list[Number]]:
        """Outputs, each a list of numbers of any arithmetic."""
        s, *rates = (u[name][0] for name in self.inputs)
        p = [self.path.over(s, k, number) for k in range(1 + max(JOINTS[name] for name in self.outputs))]
        weights = {name: list(_weights(SUMS[name], rates, number)) for name in self.outputs}
        return {
            name: [sum(weight * p[k][joint] for k, weight in weights[name]) for joint in range(n)]
            for name, n in self.outputs.items()
        }

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        p = self._derivatives(u, self.order + 1)
        return {(n, key): self._total(_slope(SUMS[n], key), u, p)[:, :, None] for n, key in self.pattern()}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        p = self._derivatives(u, self.order + 2)
        found: Pairs = {}
        for one, other in self.curvature_pattern():
            second = {name: _slope(_slope(SUMS[name], one), other) for name in self.outputs}
            parts = (adjoints[name] * self._total(each, u, p) for name, each in second.items() if each)
            found[one, other] = sum(parts, np.zeros_like(p[0])).sum(axis=1)[:, None, None]
        return found

    def pattern(self) -> Pairs:
        return {
            (name, key): np.ones((width, 1), dtype=bool)
            for name, width in self.outputs.items()
            for key in MOTION[: JOINTS[name] + 1]
        }

    def curvature_pattern(self) -> Pairs:
        pairs = [("q", "q"), ("q", "v"), ("q", "a"), ("v", "v")]
        pairs += [("q", "jerk"), ("v", "a")] if self.order > 2 else []
        return {pair: np.ones((1, 1), dtype=bool) for pair in pairs}

    def _derivatives(self, u: Mapping[str, Array], highest: int) -> list[Array]:
        return [self.path(u["q"][:, 0], order) for order in range(highest + 1)]

    def _total(self, of: Sum, u: Mapping[str, Array], p: Sequence[Array]) -> Array:
        rates = [u[name] for name in MOTION[1 : self.order + 1]]
        return reduce(add, (weight * p[k] for k, weight in _weights(of, rates)))


@cache
def _slope(of: Sum, by: str) -> Sum:
    """Derivative of a sum by s, or by one of its derivatives."""
    i = MOTION.index(by) - 1
    if i < 0:
        return tuple((f, k + 1, powers) for f, k, powers in of)
    return tuple((f * each[i], k, (*each[:i], each[i] - 1, *each[i + 1 :])) for f, k, each in of if each[i])


def _weights(
    of: Sum, rates: Sequence[Number], number: Callable[[float], Number] = float
) -> Iterator[tuple[int, Number]]:
    """k and f s'^i s''^j s_3^l of every part."""
    for f, k, powers in of:
        weight = number(f)
        for rate, power in zip(rates, powers, strict=False):
            for _ in range(power):
                weight = weight * rate
        yield k, weight


COORDINATE = "s"
OF_PATH = "path"  # the block that computes the motion of the joints
# Optional members of a robot, of the protocols in `graph/protocols.py`.
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
            object.__setattr__(self, "skeleton", self._skeleton)
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
    def quantities(self) -> Mapping[str, DeclaredQuantity]:
        """The robot's, the motion of the joints, and s with its derivatives."""
        names, n = tuple(self.robot.joint_names), self.robot.n
        found = derivatives_of("the coordinate s along the path", 1, (COORDINATE,))
        for name, leaf in zip(JOINTS, MOTION, strict=True):
            own = LEAVES[leaf]
            found[name] = DeclaredQuantity(n, own.unit, own.description, names, block=OF_PATH)
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

    def _skeleton(self, q: Array) -> Array:
        return self.robot.skeleton(self.joint_positions(q))

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
