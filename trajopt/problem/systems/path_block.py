"""The motion of the joints of a robot that is driven along a path, as a block.

    q = p(s),   v = p' s',   a = p' s'' + p'' s'^2,   jerk = p' s_3 + 3 p'' s' s'' + p_3 s'^3

with s_3 and p_3 the third derivatives, by time and by s.

The robot's own blocks are functions of these; the graph takes derivatives by s, s', s'' and s_3 through both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.protocols.block import Pairs, Values
from trajopt.problem.systems.joint_path import JointPath

MOTION = ("q", "v", "a", "jerk")
# Outputs of `JointMotionBlock`, and their orders.
JOINTS = {"joint_position": 0, "joint_velocity": 1, "joint_acceleration": 2, "joint_jerk": 3}
ON_PATH: Mapping[str, str] = dict(zip(MOTION, JOINTS, strict=True))  # input of the robot's blocks -> quantity


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
        p, rate, second = self._derivatives(u, self.order), u["v"], u["a"]
        every = [p[0], p[1] * rate, p[1] * second + p[2] * rate**2]
        if self.order > 2:
            every.append(p[1] * u["jerk"] + 3.0 * p[2] * rate * second + p[3] * rate**3)
        return {name: every[JOINTS[name]] for name in self.outputs}

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        """Outputs, each a list of numbers of any arithmetic."""
        s, rate, second, *third = (u[name][0] for name in self.inputs)
        highest = max(JOINTS[name] for name in self.outputs)
        p = [self.path.over(s, order, number) for order in range(highest + 1)]
        found = {"joint_position": p[0]}
        if highest > 0:
            found["joint_velocity"] = [slope * rate for slope in p[1]]
        if highest > 1:
            square, slopes = rate * rate, zip(p[1], p[2], strict=True)
            found["joint_acceleration"] = [slope * second + bend * square for slope, bend in slopes]
        if highest > 2:
            mixed, cube = number(3.0) * rate * second, rate * rate * rate
            of_joints = zip(*p[1:4], strict=True)
            found["joint_jerk"] = [x * third[0] + y * mixed + z * cube for x, y, z in of_joints]
        return {name: found[name] for name in self.outputs}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        p, rate, second = self._derivatives(u, self.order + 1), u["v"], u["a"]
        found = {
            ("joint_position", "q"): p[1],
            ("joint_velocity", "q"): p[2] * rate,
            ("joint_velocity", "v"): p[1],
            ("joint_acceleration", "q"): p[2] * second + p[3] * rate**2,
            ("joint_acceleration", "v"): 2.0 * p[2] * rate,
            ("joint_acceleration", "a"): p[1],
        }
        if self.order > 2:
            of_path = p[2] * u["jerk"] + 3.0 * p[3] * rate * second + p[4] * rate**3
            found |= {
                ("joint_jerk", "q"): of_path,
                ("joint_jerk", "v"): 3.0 * (p[2] * second + p[3] * rate**2),
                ("joint_jerk", "a"): 3.0 * p[2] * rate,
                ("joint_jerk", "jerk"): p[1],
            }
        return {pair: found[pair][:, :, None] for pair in self.pattern()}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        p, rate, second = self._derivatives(u, self.order + 2), u["v"], u["a"]
        zero = np.zeros_like(p[0])
        q, v, a, j = (adjoints.get(name, zero) for name in JOINTS)
        found = {
            ("q", "q"): q * p[2] + v * p[3] * rate + a * (p[3] * second + p[4] * rate**2),
            ("q", "v"): v * p[2] + 2.0 * a * p[3] * rate,
            ("q", "a"): a * p[2],
            ("v", "v"): 2.0 * a * p[2],
        }
        if self.order > 2:
            found["q", "q"] += j * (p[3] * u["jerk"] + 3.0 * p[4] * rate * second + p[5] * rate**3)
            found["q", "v"] += 3.0 * j * (p[3] * second + p[4] * rate**2)
            found["q", "a"] += 3.0 * j * p[3] * rate
            found["v", "v"] += 6.0 * j * p[3] * rate
            found |= {("q", "jerk"): j * p[2], ("v", "a"): 3.0 * j * p[2]}
        return {pair: part.sum(axis=1)[:, None, None] for pair, part in found.items()}

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
