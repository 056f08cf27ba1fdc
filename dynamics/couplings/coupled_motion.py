"""The motion of a coupled robot carried to the joints of its tree, and forces carried back.

With s_i = f_i(q) the displacement of joint i, which follows coordinate c(i),

    s_i' = f_i' q',   s_i'' = f_i' q'' + f_i'' q'^2,   tau_c = sum over i that follow c of f_i' tau_i,

and a function L(s, s', s'') has by q, q' and q'' the derivatives

    L_s f' + L_s' D1 + L_s'' D2,   L_s' f' + 2 L_s'' D1,   L_s'' f',   D1 = f'' q', D2 = f'' q'' + f''' q'^2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dynamics.couplings.coupled_tree import CoupledTree

MOTION = ("q", "v", "a")

Array = np.ndarray


class CoupledMotion:
    """q, v and a of a coupled robot at nodes, (nodes, n) each as far as given, and its joints' motion.

    f : (order + 1, nodes, joints) the functions and their derivatives;  rates : v and a by joint
    arrays : s, s' and s'' of the tree
    """

    def __init__(self, model: CoupledTree, given: dict[str, Array], order: int) -> None:
        self.model, self.follows = model, model.follows
        at = {name: given[name][:, self.follows] for name in MOTION if name in given}
        self.v, self.a = at.get("v"), at.get("a")
        order = max(order, len(at) - 1, 1)
        q = at["q"]
        self.f = np.zeros((order + 1, *q.shape), q.dtype)
        self.f[0], self.f[1] = q, 1.0
        for joint, function in model.functions.items():
            self.f[:, :, joint] = function.derivatives(q[:, joint], order)
        self.arrays: dict[str, Array] = {"q": self.f[0].copy()}
        if self.v is not None:
            self.arrays["v"] = self.f[1] * self.v
        if self.v is not None and self.a is not None:
            self.arrays["a"] = self.f[1] * self.a + self.f[2] * self.v**2

    def scales(self, name: str, by: str) -> Array | None:
        """(nodes, joints): the derivative of "q", "v" or "a" of each joint by that of its coordinate."""
        if name == by:
            return self.f[1]
        assert self.v is not None
        if (name, by) == ("v", "q"):
            return self.f[2] * self.v
        if (name, by) == ("a", "v"):
            return 2.0 * self.f[2] * self.v
        if (name, by) == ("a", "q"):
            assert self.a is not None
            return self.f[2] * self.a + self.f[3] * self.v**2
        return None

    def gathered(self, by_joint: Array) -> Array:
        """(..., joints) -> (..., n): sums over the joints that follow a coordinate."""
        return by_joint @ self.model.selection

    def forces(self, of_joints: Array) -> Array:
        """(nodes, joints) generalized forces of the tree -> (nodes, n)."""
        return self.gathered(of_joints * self.f[1])

    def matrix(self, of_tree: Array) -> Array:
        """(nodes, joints, joints) a quadratic form of rates of the tree -> (nodes, n, n)."""
        scaled, (first, others) = of_tree * self.f[1][:, :, None] * self.f[1][:, None, :], self.model.places
        rows = scaled[:, first]
        for joint, coordinate in others:
            rows[:, coordinate] += scaled[:, joint]
        found = rows[:, :, first]
        for joint, coordinate in others:
            found[:, :, coordinate] += rows[:, :, joint]
        return found

    def rows(self, of_joints: Array) -> Array:
        """(nodes, joints, m) rows of forces of the tree -> (nodes, n, m)."""
        return self.model.selection.T @ (of_joints * self.f[1][:, :, None])

    def virtual(self, multipliers: Array) -> Array:
        """(nodes, n) multipliers of forces -> (nodes, joints) of those of the tree."""
        return self.f[1] * multipliers[:, self.follows]

    def columns(self, by_tree: Array, name: str, by: str) -> Array | None:
        """(nodes, m, joints) derivatives by `name` of the tree -> (nodes, m, n) by `by`."""
        scale = self.scales(name, by)
        return None if scale is None else self.gathered(by_tree * scale[:, None, :])

    def diagonal(self, by_joint: Array) -> Array:
        """(nodes, joints) -> (nodes, n, n) with the sums over joints on the diagonal."""
        sums = self.gathered(by_joint)
        return sums[:, :, None] * np.eye(sums.shape[1])
