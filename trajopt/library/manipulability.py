"""Manipulability of a frame: the volume of end velocities that joint velocities of unit length give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from trajopt.base import arguments
from trajopt.base.arguments import short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import ProblemError
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.protocols import Dynamics, Pairs, SecondOrderBlock, Values
from trajopt.terms.term import BlockTerm, block_term


def manipulability(dynamics: Dynamics, frame: str, rows: slice = slice(3, 6)) -> BlockTerm:
    """w = sqrt(det(J J')), J (m, n) the chosen rows (linear by default) of a frame's Jacobian.

        d log w / dq_k = tr(J^+ J_k)
        d^2 log w / dq_k dq_l = tr(J^+ J_kl) - tr(J^+ J_k J^+ J_l) + tr((J J')^-1 J_k (I - J^+ J) J_l')

    with J_k = dJ/dq_k. The slopes of J follow from J alone where every coordinate turns or slides one joint.
    Where it moves several, as mimic joints do, second derivatives are not given, and a solve falls back to
    L-BFGS. Not defined at singular poses, where w = 0. Yoshikawa, Int. J. Robotics Research 4(2), 1985.
    """
    if isinstance(dynamics, type) or not callable(getattr(dynamics, "block", None)):
        raise ProblemError(f"the dynamics is {short_repr(dynamics)}: give the model of a robot")
    arguments.name(frame, "the frame of a manipulability")
    velocity = dynamics.block([f"velocity:{frame}"])
    return block_term(Manipulability(velocity, dynamics.n, rows), name=f"manipulability of {frame}")


Velocity: TypeAlias = Any  # the block of a frame's velocity, of first or of second order


class Manipulability:
    """w at K nodes from the velocity of a frame: its slope by v is J, its mixed second derivative dJ/dq.

    `curvature` is None where dJ/dq does not follow from J alone.
    """

    def __init__(self, velocity: Velocity, n: int, rows: slice) -> None:
        self._velocity, self._rows, self._follows = velocity, rows, slopes_follow(velocity, n)
        if not self._follows:
            self.curvature = None  # type: ignore[assignment]
        self.inputs = {"q": n}
        self.outputs = {"manipulability": 1}

    def value(self, u: Mapping[str, Array]) -> Values:
        J = jacobian(self._velocity, u["q"])[:, self._rows]
        return {"manipulability": np.sqrt(np.linalg.det(J @ J.swapaxes(1, 2)))[:, None]}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        J = jacobian(self._velocity, u["q"])
        by_q = slopes(J)[0] if self._follows else mixed_derivative(self._velocity, u["q"])
        slope = np.einsum("knm,kmni->ki", inverse(J[:, self._rows]), by_q[:, self._rows])
        return {("manipulability", "q"): (self.value(u)["manipulability"] * slope)[:, None, :]}

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        full = jacobian(self._velocity, u["q"])
        first, second = slopes(full)
        J, first, second = full[:, self._rows], first[:, self._rows], second[:, self._rows]
        P, size = inverse(J), self.value(u)["manipulability"][:, :, None]
        moved = np.einsum("knm,kmji->knji", P, first)  # J^+ J_i
        slope = np.einsum("knni->ki", moved)
        free = np.eye(J.shape[2]) - P @ J
        weighted = np.linalg.inv(J @ J.swapaxes(1, 2))
        bend = np.einsum("knm,kmnij->kij", P, second)
        bend -= np.einsum("knai,kanj->kij", moved, moved)
        bend += np.einsum("kab,kbni,knc,kacj->kij", weighted, first, free, first, optimize=True)
        bend += slope[:, :, None] * slope[:, None, :]
        return {("q", "q"): adjoints["manipulability"][:, :, None] * size * bend}


def jacobian(velocity: Velocity, q: Array) -> Array:
    """(K, 6, n), [angular; linear] of the frame."""
    (name,) = velocity.outputs
    return velocity.partials({"q": q, "v": np.zeros_like(q)})[name, "v"]


def mixed_derivative(velocity: Velocity, q: Array) -> Array:
    """dJ/dq (K, 6, n, n) as the mixed second derivatives of the velocity, row by row."""
    (name,) = velocity.outputs
    found = []
    for row in range(6):
        adjoint = np.zeros((q.shape[0], 6))
        adjoint[:, row] = 1.0
        pairs = velocity.curvature({"q": q, "v": np.zeros_like(q)}, {name: adjoint})
        found.append(pairs["v", "q"] if ("v", "q") in pairs else pairs["q", "v"].swapaxes(1, 2))
    return np.stack(found, axis=1)


def inverse(J: Array) -> Array:
    """J^+ = J' (J J')^-1, (K, n, m)."""
    return J.swapaxes(1, 2) @ np.linalg.inv(J @ J.swapaxes(1, 2))


def slopes(J: Array) -> tuple[Array, Array]:
    """dJ/dq (K, 6, n, n) and d^2 J/dq^2 (K, 6, n, n, n) from J itself, joints in order from the base.

    With a_j, p_j the angular and linear column of joint j (a_j = 0 where it slides), k <= j:

        da_j/dq_k = a_k x a_j,  0 for k >= j       dp_j/dq_k = dp_k/dq_j = a_k x p_j

    and once more by the product rule. Haviland and Corke, IEEE Robotics & Automation Magazine 30(4), 2023.
    """
    a, p = J[:, :3], J[:, 3:]
    joint = np.arange(J.shape[2])
    near, far = np.minimum.outer(joint, joint), np.maximum.outer(joint, joint)
    later = (joint[:, None] > joint[None, :]).astype(float)
    da = _cross(a[:, :, near], a[:, :, far]) * later
    dp = _cross(a[:, :, near], p[:, :, far])
    twice_a = _cross(da[:, :, near], a[:, :, far, None]) + _cross(a[:, :, near, None], da[:, :, far])
    twice_p = _cross(da[:, :, near], p[:, :, far, None]) + _cross(a[:, :, near, None], dp[:, :, far])
    return np.concatenate([da, dp], axis=1), np.concatenate([twice_a * later[:, :, None], twice_p], axis=1)


def slopes_follow(velocity: Velocity, n: int) -> bool:
    """True if `slopes` agrees with the dynamics: not where a coordinate moves several joints."""
    if not isinstance(velocity, SecondOrderBlock):
        return False
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (2, n))
    expected = mixed_derivative(velocity, q)
    found = slopes(jacobian(velocity, q))[0]
    return bool(np.allclose(found, expected, rtol=AGREEMENT, atol=AGREEMENT * (1.0 + np.abs(expected).max())))


def _cross(left: Array, right: Array) -> Array:
    return np.cross(left, right, axis=1)
