"""The ground reaction and how two feet share it: terms of base wrench, time and contact points.

Without contact forces the recursion finds the base wrench (M_O, R), [moment; force] about the world origin:
exactly what the ground must supply. Where R meets the ground is the zero-moment point of the whole body,

    x_p = M_Oz / R_y,    z_p = -M_Ox / R_y.

With the weights w_A + w_B = 1 and d = c_A - c_B between fixed points of the leading and the trailing sole,

    F_k = w_k R,    M_A = w_A M_O + w_A w_B d x R,    M_B = w_B M_O - w_A w_B d x R,

so that balance never depends on the split, and each foot has a centre of pressure of its own,

    p_A = p + w_B d,    p_B = p - w_A d,

instead of at p, which lies between them (d = 0). Two legs can also push against each other along d: see
`OpposingForce`. The wrenches return to the feet as loads: the second recursion then finds joint torques whose
six global ones vanish.

Source: two-step algorithm of Xiang et al. 2009; the time rule, the projected ratio and the places p_A and p_B
are our own choices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import trajopt

MIRRORED = (1.0, 1.0, -1.0)  # a force seen from the other side of the sagittal plane
REACTION = "reaction on foot {side}"  # name of the load on the foot of a side, r or l
OPPOSING_TERMS = 3  # coefficients of an opposing force
LARGEST_OPPOSING = 1.0  # what each may be at most, twice what walks have: only steps that fail come near it


def time_weight(double_support: float, begins: float = 0.0) -> Callable[[Any], Any]:
    """w_A(node) = s^2 (3 - 2 s), s = (t - begins) / double_support: 0 at heel strike, 1 at toe-off."""

    def weight(node: Any) -> Any:
        s = (node.t[0] - begins) / double_support
        early = s < 1.0
        return early * s**2 * (3.0 - 2.0 * s) + (1.0 - early)

    return weight


def time_weight_rate(double_support: float, begins: float = 0.0) -> Callable[[Any], Any]:
    """dw_A/dt(node) of `time_weight`, 1/s: zero outside double support."""

    def rate(node: Any) -> Any:
        s = (node.t[0] - begins) / double_support
        return (s < 1.0) * 6.0 * s * (1.0 - s) / double_support

    return rate


def ratio_weight(
    leading: np.ndarray, trailing: np.ndarray, double_support: float, begins: float = 0.0
) -> Callable[[Any], Any]:
    """w_A(node) = (p - c_B).d / d.d, d = c_A - c_B, in double support: centres of pressure are c_A, c_B."""
    between = leading - trailing
    x, z = (float(between[i] / (between[0] ** 2 + between[2] ** 2)) for i in (0, 2))

    def weight(node: Any) -> Any:
        early = node.t[0] < begins + double_support
        up = node.base_wrench[4]
        along = x * node.base_wrench[2] / up - z * node.base_wrench[0] / up
        return early * (along - x * float(trailing[0]) - z * float(trailing[2])) + (1.0 - early)

    return weight


@dataclass(frozen=True, eq=False)
class OpposingForce:
    """The force with which two legs push against each other in double support, which no motion determines.

    In newtons along e, the unit vector from the trailing place of pressure to the leading one,

        f = w_A w_B u W,    u = u_0 + u_1 r + u_2 r^2,    r = 2 (t - begins) / double_support - 1,

    acts forward on the trailing foot and backward on the leading one, with constants u_0, u_1, u_2 that the
    cost decides. Both act on the line through the two places, so that they cancel: reaction, balance and
    centres of pressure stay what they are. Shares of R alone would push both feet in one direction, while
    people's leading leg brakes as the trailing one propels (Donelan, Kram and Kuo 2002).

    direction : e, (3,);  place : the trailing place of pressure, (3,) m;  weight : W of the person, N
    suffix : of the names of the three parameters
    """

    double_support: float
    begins: float
    direction: np.ndarray
    place: np.ndarray
    weight: float
    suffix: str = ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of u_0, u_1, u_2."""
        return tuple(f"opposing force {i}{self.suffix}" for i in range(OPPOSING_TERMS))

    def size(self, node: Any) -> Any:
        """u of a node in double support."""
        r, powers = self._time(node), enumerate(self.parameters)
        return sum(node.parameter(name)[0] * r**i for i, name in powers)

    def rate(self, node: Any) -> Any:
        """du/dt of a node in double support, 1/s."""
        r, powers = self._time(node), enumerate(self.parameters)
        slope = sum(i * node.parameter(name)[0] * r ** (i - 1) for i, name in powers if i)
        return slope * 2.0 / self.double_support

    def wrench(self, force: Any) -> list[Any]:
        """[moment; force] about the world origin of so many newtons along e at the trailing place."""
        (ox, _, oz), (x, _, z) = (map(float, each) for each in (self.direction, self.place))
        return [0.0, force * (z * ox - x * oz), 0.0, force * ox, 0.0, force * oz]

    def _time(self, node: Any) -> Any:
        return 2.0 * (node.t[0] - self.begins) / self.double_support - 1.0


def force(axes: str = "xyz", unit: float = 1.0) -> trajopt.ExpressionTerm:
    """Components of the total ground reaction R in units of so many newtons."""
    places = [3 + "xyz".index(axis) for axis in axes]
    name = f"ground reaction {axes}" + ("" if unit == 1.0 else f" / {unit:.4g} N")
    return trajopt.ExpressionTerm(lambda node: [node.base_wrench[i] / unit for i in places], name)


def friction_margin(
    coefficient: float,
    weight: float,
    name: str = "friction cone",
    push: Callable[[Any], tuple[Any, Any]] | None = None,
) -> trajopt.ExpressionTerm:
    """(mu^2 R_y^2 - R_x^2 - R_z^2) / weight^2: positive inside the cone.

    push(node), (x, z) in parts of `weight`, is added to R.
    """

    def margin(node: Any) -> Any:
        x, y, z = (node.base_wrench[i] / weight for i in (3, 4, 5))
        if push is not None:
            dx, dz = push(node)
            x, z = x + dx, z + dz
        return coefficient**2 * y**2 - x**2 - z**2

    return trajopt.ExpressionTerm(margin, name)


def sides(corners: np.ndarray, lateral: bool = True) -> np.ndarray:
    """Rows (a_x, a_z, b) with a . p + b <= 0 inside the hull of corners (k, 2) of (x, z); ends of x alone."""
    from scipy.spatial import ConvexHull

    if not lateral:
        return np.array([[1.0, 0.0, -corners[:, 0].max()], [-1.0, 0.0, corners[:, 0].min()]])
    return np.unique(ConvexHull(corners).equations.round(12), axis=0)


def support_margin(
    sides: np.ndarray, weight: float, name: str, shift: Callable[[Any], tuple[Any, Any]] | None = None
) -> trajopt.ExpressionTerm:
    """R_y / weight times the distances of the zero-moment point from `sides`, metres, positive inside.

    Multiplied by R_y, a side is linear in the base wrench. shift(node) leads to another point, (x, z) m.
    """

    def margin(node: Any) -> Any:
        x, z = node.base_wrench[2] / weight, -node.base_wrench[0] / weight
        y = node.base_wrench[4] / weight
        if shift is not None:
            dx, dz = shift(node)
            x, z = x + dx * y, z + dz * y
        return [-(float(a) * x + float(b) * z + float(c) * y) for a, b, c in sides]

    return trajopt.ExpressionTerm(margin, name)


def free_moment_margin(largest: float, weight: float) -> trajopt.ExpressionTerm:
    """(largest R_y -+ M_O . R) / weight, N m: positive while the moment about the vertical is bounded.

    At the zero-moment point only M_y = M_O . R / R_y is left of the moment.
    """

    def margin(node: Any) -> Any:
        along = sum(node.base_wrench[i] * node.base_wrench[3 + i] for i in range(3)) / weight
        up = largest * node.base_wrench[4] / weight
        return [up - along, up + along]

    return trajopt.ExpressionTerm(margin, "free moment")


def zero_moment_point(base_wrench: np.ndarray) -> np.ndarray:
    """(x, z) of the zero-moment point, (..., 2) m, from base wrenches (..., 6)."""
    wrench = np.asarray(base_wrench, dtype=float)
    return np.stack([wrench[..., 2], -wrench[..., 0]], axis=-1) / wrench[..., 4:5]
