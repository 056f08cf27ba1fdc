"""The motion of the joints of a robot that is driven along a path, as a block.

    q = p(s),   v = p' s',   a = p' s'' + p'' s'^2,   jerk = p' s_3 + 3 p'' s' s'' + p_3 s'^3

with s_3 and p_3 the third derivatives, by time and by s.

The robot's own blocks are functions of these; the graph takes derivatives by s, s', s'' and s_3 through both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, reduce
from operator import add
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.protocols.block import Pairs, Values
from trajopt.graph.quantities import SPLINE_LEAVES
from trajopt.problem.systems.joint_path import JointPath

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

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
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
        p, found = self._derivatives(u, self.order + 2), {}
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


def _weights(of: Sum, rates: Sequence[Any], number: Callable = float) -> Iterator[tuple[int, Any]]:
    """k and f s'^i s''^j s_3^l of every part."""
    for f, k, powers in of:
        weight = number(f)
        for rate, power in zip(rates, powers, strict=False):
            for _ in range(power):
                weight = weight * rate
        yield k, weight
