"""What the ground supplies and how two feet share it: terms of base wrench, time and contact points.

Without contact forces the recursion finds the base wrench (M_O, R), [moment; force] about the world origin:
exactly what the ground must supply. With the weights w_A + w_B = 1 each foot takes w_k (M_O, R), so that
balance never depends on the split, and both wrenches return to the feet as loads: the second recursion then
finds joint torques whose six global ones vanish. Where R meets the ground is the zero-moment point

    x_p = M_Oz / R_y,    z_p = -M_Ox / R_y.

Source: two-step algorithm of Xiang et al. 2009; the time rule and the projected ratio are our own choices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import trajopt

MIRRORED = (1.0, 1.0, -1.0)  # a force seen from the other side of the sagittal plane


def time_weight(double_support: float) -> Any:
    """w_A(node) = s^2 (3 - 2 s), s = t / double_support: nothing at heel strike, everything at toe-off."""

    def weight(node: Any) -> Any:
        s = node.t[0] / double_support
        early = s < 1.0
        return early * s**2 * (3.0 - 2.0 * s) + (1.0 - early)

    return weight


def share(name: str, weight: Any, leading: bool) -> trajopt.terms.ExpressionTerm:
    """The wrench on the leading or the trailing foot, (6,) [moment; force] about the world origin."""

    def wrench(node: Any) -> Any:
        part = weight(node)
        return (part if leading else 1.0 - part) * node.base_wrench

    return trajopt.terms.ExpressionTerm(wrench, name)


def force(axes: str = "xyz") -> trajopt.terms.ExpressionTerm:
    """Components of the total ground reaction R, newton."""
    places = [3 + "xyz".index(axis) for axis in axes]
    return trajopt.terms.ExpressionTerm(
        lambda node: [node.base_wrench[i] for i in places], f"ground reaction {axes}"
    )


def friction_margin(coefficient: float, weight: float) -> trajopt.terms.ExpressionTerm:
    """(mu^2 R_y^2 - R_x^2 - R_z^2) / weight^2: positive inside the cone."""

    def margin(node: Any) -> Any:
        x, y, z = (node.base_wrench[i] / weight for i in (3, 4, 5))
        return coefficient**2 * y**2 - x**2 - z**2

    return trajopt.terms.ExpressionTerm(margin, "friction cone")


def sides(corners: np.ndarray, lateral: bool = True) -> np.ndarray:
    """Rows (a_x, a_z, b) with a . p + b <= 0 inside the hull of corners (k, 2) of (x, z); ends of x alone."""
    from scipy.spatial import ConvexHull

    if not lateral:
        return np.array([[1.0, 0.0, -corners[:, 0].max()], [-1.0, 0.0, corners[:, 0].min()]])
    return np.unique(ConvexHull(corners).equations.round(12), axis=0)


def support_margin(sides: np.ndarray, weight: float, name: str) -> trajopt.terms.ExpressionTerm:
    """R_y / weight times the distances of the zero-moment point from `sides`, metres, positive inside.

    Multiplied by R_y, a side is linear in the base wrench.
    """

    def margin(node: Any) -> Any:
        x, z = node.base_wrench[2] / weight, -node.base_wrench[0] / weight
        y = node.base_wrench[4] / weight
        return [-(float(a) * x + float(b) * z + float(c) * y) for a, b, c in sides]

    return trajopt.terms.ExpressionTerm(margin, name)


def zero_moment_point(base_wrench: np.ndarray) -> np.ndarray:
    """(x, z) of the zero-moment point, (..., 2) m, from base wrenches (..., 6)."""
    wrench = np.asarray(base_wrench, dtype=float)
    return np.stack([wrench[..., 2], -wrench[..., 0]], axis=-1) / wrench[..., 4:5]
