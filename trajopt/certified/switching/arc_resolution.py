"""Refines the resolution of switching arcs: a higher degree for all, or some arcs cut into parts.

Within an arc a motion is analytic, and its Legendre coefficients fall geometrically: raising the degree by m
lowers what is missed between Gauss points by rate^m. How fast they fall is read off the accelerations. Where
no degree that is allowed suffices, or cutting takes fewer nodes, arcs are cut: on p parts of an arc
coefficients fall about p times as fast, so that degree d misses less by p^d (Liu, Hager and Rao, Optim.
Control Appl. Meth. 36, 2015, choose between the two by the same coefficients).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.splines.curve import Curve
from trajopt.splines.gauss_rules import gauss

FASTEST, SLOWEST = 1e-3, 0.8  # rates that are believed: rounding hides faster ones, slower ones ask for a cut
MOST_PARTS = 3  # that one part is cut in at once
SAFETY = 3.0  # a factor of what is to be gained in addition: rates are estimates


@dataclass(frozen=True)
class Resolution:
    """The degree of all arcs, and in how many equal parts each arc of the merged structure is cut."""

    degree: int
    parts: tuple[int, ...]


def finer(curve: Curve, parts: Sequence[int], highest: int, excess: Array) -> Resolution | None:
    """The cheapest change, counted in nodes, by which errors fall by `excess`; None where none is asked.

    parts : of each arc of the merged structure; the arcs of the curve are these parts
    excess : (parts,), by what factor the error of each part is above what it may be
    """
    degree, rates = curve.bases[0].degree, [coefficient_rate(curve, arc) for arc in range(len(curve.bases))]
    wanted = np.where(excess > 1.0, SAFETY * excess, 1.0)
    if np.all(wanted == 1.0):
        return None
    raised = 2 * int(np.ceil(0.5 * float((np.log(wanted) / -np.log(rates)).max())))
    cuts = np.ceil(wanted ** (1.0 / (degree - 1))) * np.where(wanted > 1.0, 1.0, 0.0)
    owner = np.repeat(np.arange(len(parts)), parts)
    fresh = []
    for arc, count in enumerate(parts):
        most = float(cuts[owner == arc].max())
        fresh.append(count if most == 0.0 else int(min(np.ceil(count * max(most, 1.5)), MOST_PARTS * count)))
    if degree + raised <= highest and raised * len(curve.bases) <= (sum(fresh) - sum(parts)) * (degree - 1):
        return Resolution(degree + raised, tuple(parts))
    return Resolution(degree, tuple(fresh))


def coefficient_rate(curve: Curve, arc: int) -> float:
    """Factor by which the Legendre coefficients of the accelerations on an arc fall from one to the next.

    The larger of the last two against the largest in the middle, in geometric mean, each joint relative to
    its largest acceleration; even and odd coefficients may vanish by symmetry.
    """
    basis, duration = curve.bases[arc], curve.durations[arc]
    count = basis.degree - 1
    points, weights = gauss(count)
    values = basis.evaluate(curve.control_points[arc], points, 2) / duration**2
    transform = np.polynomial.legendre.legvander(2.0 * points - 1.0, count - 1) * weights[:, None]
    coefficients = np.abs(transform.T @ values) * (2.0 * np.arange(count)[:, None] + 1.0)
    size = np.abs(values).max(axis=0)
    relative = (coefficients[:, size > 0.0] / size[size > 0.0]).max(axis=1, initial=0.0)
    middle = count // 2
    first, last = relative[middle - 1 : middle + 1].max(), relative[-2:].max()
    if not (first > 0.0 and last > 0.0):
        return FASTEST
    return float(np.clip((last / first) ** (1.0 / (count - 1 - middle)), FASTEST, SLOWEST))
