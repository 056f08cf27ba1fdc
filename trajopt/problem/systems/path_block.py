"""The motion of the joints of a robot that is driven along a path, as a block.

    q = p(s),   v = p' s',   a = p' s'' + p'' s'^2

The robot's own blocks are functions of these; the graph takes derivatives by s, s' and s'' through both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.protocols.block import Pairs, Values
from trajopt.problem.systems.joint_path import JointPath

MOTION = ("q", "v", "a")
JOINTS = {"joint_position": 0, "joint_velocity": 1, "joint_acceleration": 2}  # outputs of `JointMotionBlock`
ON_PATH: Mapping[str, str] = dict(zip(MOTION, JOINTS, strict=True))  # input of the robot's blocks -> quantity


class JointMotionBlock:
    """Positions, velocities and accelerations of the joints, (nodes, n) each.

    inputs : "q", "v", "a", (nodes, 1): s and its derivatives by time
    """

    def __init__(self, path: JointPath, n: int, outputs: Sequence[str] = tuple(JOINTS)) -> None:
        self.path, self.derivatives_are_tested = path, path.is_exact
        self.inputs: Mapping[str, int] = dict.fromkeys(MOTION, 1)
        self.outputs: Mapping[str, int] = dict.fromkeys(outputs, n)

    def value(self, u: Mapping[str, Array]) -> Values:
        p, rate = self._derivatives(u, 2), u["v"]
        every = (p[0], p[1] * rate, p[1] * u["a"] + p[2] * rate**2)
        return {name: every[JOINTS[name]] for name in self.outputs}

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        """Outputs, each a list of numbers of any arithmetic."""
        (s,), (rate,), (second,) = (u[name] for name in MOTION)
        highest = max(JOINTS[name] for name in self.outputs)
        p = [self.path.over(s, order, number) for order in range(highest + 1)]
        found = {"joint_position": p[0]}
        if len(p) > 1:
            found["joint_velocity"] = [slope * rate for slope in p[1]]
        if len(p) > 2:
            square, slopes = rate * rate, zip(p[1], p[2], strict=True)
            found["joint_acceleration"] = [slope * second + bend * square for slope, bend in slopes]
        return {name: found[name] for name in self.outputs}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        p, rate, second = self._derivatives(u, 3), u["v"], u["a"]
        found = {
            ("joint_position", "q"): p[1],
            ("joint_velocity", "q"): p[2] * rate,
            ("joint_velocity", "v"): p[1],
            ("joint_acceleration", "q"): p[2] * second + p[3] * rate**2,
            ("joint_acceleration", "v"): 2.0 * p[2] * rate,
            ("joint_acceleration", "a"): p[1],
        }
        return {pair: found[pair][:, :, None] for pair in self.pattern()}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        p, rate, second = self._derivatives(u, 4), u["v"], u["a"]
        zero = np.zeros_like(p[0])
        q, v, a = (adjoints.get(name, zero) for name in JOINTS)
        found = {
            ("q", "q"): q * p[2] + v * p[3] * rate + a * (p[3] * second + p[4] * rate**2),
            ("q", "v"): v * p[2] + 2.0 * a * p[3] * rate,
            ("q", "a"): a * p[2],
            ("v", "v"): 2.0 * a * p[2],
        }
        return {pair: part.sum(axis=1)[:, None, None] for pair, part in found.items()}

    def pattern(self) -> Pairs:
        return {
            (name, key): np.ones((width, 1), dtype=bool)
            for name, width in self.outputs.items()
            for key in MOTION[: JOINTS[name] + 1]
        }

    def curvature_pattern(self) -> Pairs:
        one = np.ones((1, 1), dtype=bool)
        return {("q", "q"): one, ("q", "v"): one, ("q", "a"): one, ("v", "v"): one}

    def _derivatives(self, u: Mapping[str, Array], highest: int) -> list[Array]:
        return [self.path(u["q"][:, 0], order) for order in range(highest + 1)]
