"""Blocks of a robot that is driven along a path: s, s', s'' in, quantities of its joints' motion out.

q = p(s),   v = p' s',   a = p' s'' + p'' s'^2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.protocols.block import (
    AnyArithmeticBlock,
    Block,
    Pairs,
    SecondOrderBlock,
    Values,
    VerifiedBlock,
)
from trajopt.problem.systems.joint_path import JointPath

MOTION = ("q", "v", "a")
JOINTS = {"joint_position": 0, "joint_velocity": 1, "joint_acceleration": 2}  # outputs of `JointMotionBlock`


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


class PathBlock:
    """A block of the robot as a function of s, s', s''; loads and parameters pass unchanged."""

    def __init__(self, block: Block, motion: JointMotionBlock) -> None:
        self.block, self.motion = block, motion
        self.derivatives_are_tested = (
            motion.derivatives_are_tested
            and isinstance(block, VerifiedBlock)
            and block.derivatives_are_tested
        )
        self.moved = tuple(name for name in MOTION if name in block.inputs)
        self.others = {name: width for name, width in block.inputs.items() if name not in MOTION}
        self.inputs: Mapping[str, int] = dict.fromkeys(MOTION, 1) | self.others
        self.outputs = block.outputs

    def value(self, u: Mapping[str, Array]) -> Values:
        return self.block.value(self._joints(u))

    def value_over(self, u: Mapping[str, Sequence[Any]], number: Callable) -> dict[str, list[Any]]:
        """Outputs, each a list of numbers of any arithmetic; NotImplementedError where the robot has none."""
        if not isinstance(self.block, AnyArithmeticBlock):
            raise NotImplementedError("the robot's block is computed in floating-point numbers alone")
        moving = self.motion.value_over(u, number).values()
        joints = {name: own for name, own in zip(MOTION, moving, strict=True) if name in self.moved}
        return self.block.value_over(joints | {name: u[name] for name in self.others}, number)

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        by_joints, chain = self.block.partials(self._joints(u)), self._chain(u)
        found: Pairs = {}
        for (output, name), part in by_joints.items():
            if name in self.others:
                found[output, name] = part
                continue
            for key, inner in chain[name].items():
                total = part @ inner
                found[output, key] = found[output, key] + total if (output, key) in found else total
        return found

    def pattern(self) -> Pairs:
        found: Pairs = {}
        for (output, name), part in self.block.pattern().items():
            if name in self.others:
                found[output, name] = part
                continue
            for key in MOTION[: MOTION.index(name) + 1]:
                found[output, key] = found.get((output, key), False) | np.any(part, axis=1)[:, None]
        return found

    def _joints(self, u: Mapping[str, Array]) -> Values:
        moving = self.motion.value(u)
        joints = zip(MOTION, moving.values(), strict=True)
        return {name: value for name, value in joints if name in self.moved} | {
            name: u[name] for name in self.others
        }

    def _chain(self, u: Mapping[str, Array]) -> dict[str, Values]:
        """q, v or a -> s, s' or s'' -> derivative (nodes, n, 1)."""
        found: dict[str, Values] = {name: {} for name in MOTION}
        for (name, key), part in self.motion.partials(u).items():
            found[MOTION[JOINTS[name]]][key] = part
        return found


class SecondOrderPathBlock(PathBlock):
    """A `PathBlock` of a block with second derivatives."""

    def __init__(self, block: SecondOrderBlock, motion: JointMotionBlock) -> None:
        super().__init__(block, motion)
        self.second = block

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        joints, chain = self._joints(u), self._chain(u)
        slopes: Values = {}
        for (output, name), part in self.block.partials(joints).items():
            if name in MOTION and output in adjoints:
                total = (adjoints[output][:, None] @ part)[:, 0]
                slopes[name] = slopes[name] + total if name in slopes else total
        weights = {
            output: slopes[MOTION[order]] for output, order in JOINTS.items() if MOTION[order] in slopes
        }
        found: Pairs = {}
        for pair, part in self.motion.curvature(u, weights).items():
            found[pair] = part
        for (first, second), part in self.second.curvature(joints, adjoints).items():
            for one, other, turned in self._ways(first, second):
                self._add(found, chain, one, other, part.transpose(0, 2, 1) if turned else part)
        return {pair: found[pair] for pair in self._curvature_pattern if pair in found}

    def _add(self, found: Pairs, chain: Mapping[str, Values], first: str, second: str, part: Array) -> None:
        """Add C_first' part C_second to the pairs of inputs that stand in their order."""
        left: Mapping[str, Any] = chain.get(first, {first: None})
        right: Mapping[str, Any] = chain.get(second, {second: None})
        for one, before in left.items():
            for other, after in right.items():
                if self._place(one) > self._place(other):
                    continue
                total = part if before is None else before.transpose(0, 2, 1) @ part
                total = total if after is None else total @ after
                found[one, other] = found[one, other] + total if (one, other) in found else total

    def curvature_pattern(self) -> Pairs:
        return dict(self._curvature_pattern)

    @cached_property
    def _curvature_pattern(self) -> Pairs:
        found = self.motion.curvature_pattern()
        for (first, second), part in self.second.curvature_pattern().items():
            for one, other, turned in self._ways(first, second):
                mask = part.T if turned else part
                mask = np.any(mask, axis=0, keepdims=True) if one in MOTION else mask
                mask = np.any(mask, axis=1, keepdims=True) if other in MOTION else mask
                for pair in product(self._keys(one), self._keys(other)):
                    if self._place(pair[0]) <= self._place(pair[1]):
                        found[pair] = np.logical_or(found.get(pair, False), mask)
        return found

    def _ways(self, first: str, second: str) -> list[tuple[str, str, bool]]:
        """The orders in which a pair of inner inputs counts, and whether its matrix is turned for it.

        Both for two inputs of the joints' motion, each of which may depend on s; else that of `inputs`.
        """
        if first == second:
            return [(first, second, False)]
        ways = [(first, second, False), (second, first, True)]
        if {first, second} <= set(MOTION):
            return ways
        return [way for way in ways if self._place(way[0]) < self._place(way[1])]

    def _keys(self, name: str) -> tuple[str, ...]:
        return MOTION[: MOTION.index(name) + 1] if name in MOTION else (name,)

    def _place(self, name: str) -> int:
        return list(self.inputs).index(name)
