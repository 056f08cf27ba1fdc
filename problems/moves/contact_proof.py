"""Proof that a motion keeps clear for all t, by bounds of how far the shapes move within spans of time.

On a span with middle m a coordinate changes by at most D_k = h / 2 max |q_k'|, the maximum from the Bernstein
coefficients of the spline. A point of the robot moves by at most
    sum_k D_k (|J_k(m)| + (r_k rho + s_k) sum_j r_j D_j + r_k sum_j s_j D_j)
from where it is at m: J_k is its velocity per rate of coordinate k; r_k and s_k are how far coordinate k
turns and slides per unit, rho the full length of the chain from the base. A distance falls by no more than
both shapes move; coordinates that carry both do not count. Where that is not enough spans are halved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dynamics.model.packed_model import COORDINATE, OFFSET, PARENT, POSITION, RATIO, SLIDE, TURN
from problems.moves.certificate import LimitLine
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.splines.polynomial_bounds import Pieces, pieces_of_group

if TYPE_CHECKING:
    from dynamics.quantities.clearances import Clearances
    from trajopt.splines.basis import Curve

MOST_HALVINGS = 24  # of a span: to microseconds
FIELDS = ("start", "end", "coefficients")
TOGETHER = 64  # spans, for which all pairs are held in memory
REACH = 1.0  # m, beyond the clearance asked for and the largest fall of a distance: no more need be known


@dataclass(frozen=True)
class ClearanceBound:
    """Bounds on the least clearance of a motion.

    proved : whether it is above what was asked for at all times
    value : m; a lower bound for all t where `proved`, which may lie far below the distances, else
        `nearest`
    nearest : m, the least distance at the middles of all spans, of `pair`, at `time`, s; where all are
        farther than what is looked at, as far as that
    spans : how many were looked at
    """

    proved: bool
    value: float
    pair: str
    time: float
    spans: int
    nearest: float

    def line(self, clearance: float) -> LimitLine:
        """The line "contact" of a motion's certificate, its excess relative to the clearance asked for, m."""
        evidence = "proved" if self.proved else "sampled"
        return LimitLine("contact", evidence, -self.value / clearance, self.pair, self.time, self.spans)

    def __str__(self) -> str:
        known = "at least, for all times" if self.proved else "at a time, so that no more is proved"
        return f"clearance: {1e3 * self.value:.3f} mm {known}, {self.pair} at {self.time:.4f} s"


def least_clearance_bound(clearances: Clearances, curve: Curve, least: float = 0.0) -> ClearanceBound:
    """Prove that every distance of `clearances` is above `least`, m, at all times of a spline motion.

    Where it is not, or where spans of microseconds do not tell, `proved` is False. Raises OptionError where
    `clearances` leaves out pairs that may come as near as `least`.
    """
    proof = _Proof(clearances, curve, least)
    spans, error, _ = pieces_of_group(curve, 0, 1)
    n = clearances.model.n
    spans = Pieces(spans.start, spans.end, spans.coefficients[..., :n])
    lowest, nearest, seen = np.inf, (np.inf, 0, 0.0), 0

    def known(proved: bool) -> ClearanceBound:
        distance, pair, time = nearest
        value = lowest if proved else distance
        return ClearanceBound(proved, value, clearances.pair_name(pair), time, seen, distance)

    for _ in range(MOST_HALVINGS):
        undecided = []
        for first in range(0, len(spans.start), TOGETHER):
            here = spans[slice(first, first + TOGETHER)]  # pyright: ignore[reportArgumentType]
            bound, distance, pair = proof.bounds(here, float(error.max()))
            middle = 0.5 * (here.start + here.end)
            seen += len(middle)
            at = int(np.argmin(distance))
            nearest = min(nearest, (float(distance[at]), int(pair[at]), float(middle[at])))
            if nearest[0] <= least:
                return known(False)
            decided = bound > least
            lowest = float(bound[decided].min(initial=lowest))
            undecided.append(here[~decided])
        left = [part for part in undecided if len(part.start)]
        if not left:
            return known(True)
        joined = Pieces(*(np.concatenate([getattr(part, name) for part in left]) for name in FIELDS))
        halves = joined.cut(np.full(len(joined.start), 0.5))
        spans = Pieces(*(np.concatenate([getattr(part, name) for part in halves]) for name in FIELDS))
    return known(False)


class _Proof:
    """Coordinates that carry each pair, and the distances by which the shapes may move."""

    def __init__(self, clearances: Clearances, curve: Curve, least: float) -> None:
        self.clearances, self.curve = clearances, curve
        self.reach = min(REACH + max(least, 0.0), clearances.within)  # pairs left out are known to no more
        if self.reach <= least:
            raise OptionError(
                f"a clearance of {1e3 * least:.6g} mm cannot be proved: pairs that come no nearer than "
                f"{1e3 * clearances.within:.6g} mm are left out: give Clearances a larger `within`"
            )
        model, robot = clearances.model, clearances.robot
        tree, numbers = model.packed.tree, model.packed.numbers
        far = np.abs(np.concatenate([points[:, : model.n] for points in curve.control_points])).max(axis=0)
        path = np.zeros((len(robot.body), len(tree)), bool)  # bodies that carry a shape
        for index, body in enumerate(robot.body.tolist()):
            while body > 0:
                path[index, body] = True
                body = int(tree[body, PARENT])
        ratio, coordinate = np.abs(numbers[:, RATIO]), tree[:, COORDINATE]
        of = (np.arange(model.n) == coordinate[:, None]).astype(float)  # (bodies, n)
        slide = np.abs(numbers[:, SLIDE])
        self.turns, self.slides = (
            path @ (of * (ratio * np.abs(numbers[:, TURN]))[:, None]),
            path @ (of * (ratio * slide)[:, None]),
        )
        longest = np.linalg.norm(numbers[:, POSITION : POSITION + 3], axis=1)
        longest += slide * (of @ far * ratio + np.abs(numbers[:, OFFSET]))
        tips = np.maximum.reduceat(np.linalg.norm(robot.corners, axis=1), robot.first[:-1])
        self.length = path @ np.where(np.arange(len(tree)) > 0, longest, 0.0) + tips
        i, j = clearances.pairs.T
        own = np.flatnonzero(j < 0)
        self.first, self.own, self.other = i, own, -1 - j[own]
        # Coordinates that carry both shapes by the same bodies leave their distance as it is.
        self.apart = (path[i[own]] ^ path[self.other]) @ of > 0.0

    def bounds(self, spans: Pieces, error: float) -> tuple[Array, Array, Array]:
        """Lower bound of all distances, least one in the middle, and its pair, of every span."""
        middle = 0.5 * (spans.start + spans.end)
        q = self.curve(middle)[:, : self.clearances.model.n]
        half = 0.5 * (spans.end - spans.start)[:, None]
        change = half * (np.abs(spans.coefficients).max(axis=1) + error)
        turned, slid = change @ self.turns.T, change @ self.slides.T  # (spans, shapes)
        growth = (self.turns * self.length[:, None] + self.slides)[None] * turned[..., None]
        growth += self.turns[None] * slid[..., None]
        moves = (self.clearances.levers(q) + growth) * change[:, None, :]
        falls = moves.sum(axis=2)[:, self.first]
        both = moves[:, self.first[self.own]] + moves[:, self.other]
        falls[:, self.own] = (both * self.apart).sum(axis=2)
        distances = self.clearances.distances(q, float(falls.max(initial=0.0)) + self.reach)
        bounds, least = distances - falls, distances.min(axis=1)
        tied = distances == least[:, None]  # all of those beyond reach, say
        return bounds.min(axis=1), least, np.argmin(np.where(tied, bounds, np.inf), axis=1)
