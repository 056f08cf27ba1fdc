"""Poses at which closed loops are closed, which of their rows are independent, and which joints follow.

Closed poses are found by least squares. Rows are independent where the Jacobian of the gaps has full rank. A
row may depend on others at one pose alone, as with a four-bar that lies flat. Unlike one that repeats them it
cannot be left out: the loop would open at neighbouring poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.problem.contacts.closure import PLACES, Closure
from trajopt.problem.contacts.pose_search import SEED, STEP, PoseSearch

CLOSED, LEFT = 1e-9, 1e-13  # m and rad: a gap that Newton steps have closed, and what rounding leaves of it
REPEATED = 1e-4  # of the largest row: what is left of one that repeats others, as files round axes to 1e-5
NEARLY = 1e-3  # m and rad: the largest gap that is left by rounding in a file, or by a coarser mesh
NEIGHBOURS, NEAR = 6, 0.1  # poses around a closed one, and their distance, rad or m
OPENS = 10.0  # tolerances: gap at neighbouring poses of a row that was left out
NEWTON = 8  # steps, at most, from a pose that is nearly closed


class LoopPoses(PoseSearch):
    """The gaps of some loops as functions of the joints' positions (n,), with exact derivatives."""

    def __init__(self, problem: Any, closures: Sequence[Closure]) -> None:
        several = [term for closure in closures for term in (closure.misfit, closure.gap, closure.speed)]
        super().__init__(problem.independent_copy(), several)  # which keeps no term of a loop refused
        self.closures, self.limits = tuple(closures), problem.dynamics.limits
        self.conditions = [closure.misfit.quantity for closure in closures]
        tolerances = [np.full(len(closure.misfit.components), closure.tolerance) for closure in closures]
        self.tolerances = np.concatenate([*tolerances, np.empty(0)])  # m and rad

    @cached_property
    def moving(self) -> Array:
        """(n,) the joints that gaps depend on."""
        found = np.zeros(self.n, dtype=bool)
        for closure in self.closures:
            pattern: Any = self.graph.leaf_pattern(closure.misfit.quantity)
            found |= np.any(pattern.get("q", False), axis=0)
        return found

    # -- values -------------------------------------------------------------------------------------------

    def rows(self, closure: Closure, q: Array) -> Array:
        """d gap / d q of one closure, all of its rows."""
        return self.slope(q, np.zeros(self.n), [closure.gap.quantity], "q")

    def stated(self, q: Array) -> Array:
        """d gap / d q of the rows that are stated, of all closures."""
        return np.concatenate([self.rows(closure, q)[list(closure.kept)] for closure in self.closures])

    def stated_speeds(self, q: Array, v: Array, by: str) -> Array:
        """Derivatives by "q" or "v" of the stated rows of all velocities."""
        each = [self.slope(q, v, [c.speed.quantity], by)[list(c.kept)] for c in self.closures]
        return np.concatenate(each)

    # -- closed poses -------------------------------------------------------------------------------------

    def nearest(self, start: Array, held: Array | None = None) -> Array:
        """The pose with the smallest misfit that Newton steps, or least squares, find from a start."""
        fixed = ~self.moving if held is None else held | ~self.moving
        found = self._polished(start, fixed)
        return found if self.is_met(found) else self._polished(super().nearest(start, fixed), fixed)

    def _polished(self, q: Array, held: Array) -> Array:
        """A pose after some Newton steps, where they stay inside limits and make the misfit smaller."""
        miss = self.misfit(q)
        for _ in range(NEWTON):
            if np.abs(miss).max() < LEFT:
                return q
            step = np.linalg.pinv(np.where(held, 0.0, self.misfit_slope(q)), rcond=REPEATED) @ miss
            closer = q - step
            inside = np.all((closer >= self.limits.q_lower) & (closer <= self.limits.q_upper) | held)
            after = self.misfit(closer)
            if not inside or np.abs(step).max() > STEP or not np.abs(after).max() < np.abs(miss).max():
                return q
            q, miss = closer, after
        return q

    def closed(self, start: Array, held: Array | None = None) -> Array:
        """A closed pose from a start, from others around it where that one leads to none.

        Raises InfeasibleBoundsError, with the smallest gap found, where all lead to none.
        """
        best = self.best(start, held)
        if self.is_met(best):
            return best
        raise InfeasibleBoundsError(self._refusal(best, held))

    def _refusal(self, q: Array, held: Array | None) -> str:
        """The text of the error where no pose closes the loops, with the least gaps."""
        gaps, place = [], 0
        for closure in self.closures:
            width = len(closure.misfit.components)
            own = self.misfit(q)[place : place + width]
            place += width
            apart, turned = np.linalg.norm(own[:PLACES]), np.linalg.norm(own[PLACES:])
            angle = f" and axes off by {turned:.3g}" if turned > CLOSED else ""
            gaps.append(f"'{closure.name}' {apart:.3g} m apart{angle}")
        fixed = "" if held is None or not held.any() else " with the joints that are fixed there"
        near = np.array2string(q, precision=4, separator=", ", max_line_width=10_000)
        rounded = bool(np.abs(self.misfit(q)).max() < NEARLY)
        allow = ", or allow what a file's rounding leaves, tolerance=1e-5" if rounded else ""
        return (
            f"the loop cannot close{fixed}: the least gap found leaves {'; '.join(gaps)}, at q = {near}. "
            f"Check places of frames and lengths of links, or give a pose near a closed one, near=q{allow}"
        )

    # -- independent rows and joints ----------------------------------------------------------------------

    def independent_rows(self, closure: Closure, q: Array) -> tuple[int, ...]:
        """Rows of a closure that repeat neither each other nor the stated ones of the other closures."""
        others = [self.rows(each, q)[list(each.kept)] for each in self.closures if each is not closure]
        J = self.rows(closure, q)
        length = np.abs(J[:PLACES]).max(initial=0.0) or 1.0  # m per rad, as turns are about one rad per rad
        scaled = J * np.where(np.arange(len(J)) < PLACES, 1.0, length)[:, None]
        return tuple(sorted(independent(scaled, np.concatenate([*others, np.zeros((0, self.n))]))))

    def normal(self, closure: Closure, q: Array) -> Array | None:
        """(3,) the one direction in which the gap cannot change, axes of frame a; None unless it is one."""
        directions, sizes, _ = np.linalg.svd(closure.basis.T @ self.rows(closure, q)[:PLACES])
        if sizes[2] > REPEATED * sizes[0] or sizes[1] <= REPEATED * sizes[0]:
            return None
        normal = np.where(np.abs(directions[:, 2]) < REPEATED, 0.0, directions[:, 2])
        return normal * np.sign(normal[np.argmax(np.abs(normal))])

    def opening(self, q: Array) -> float:
        """The largest misfit at closed poses around one, closed by the stated rows alone."""
        random, largest = np.random.default_rng(SEED), 0.0
        for _ in range(NEIGHBOURS):
            found = self._closed_by_stated(q + random.uniform(-NEAR, NEAR, self.n))
            if found is not None:
                largest = max(largest, float(np.abs(self.misfit(found)).max()))
        return largest

    def _closed_by_stated(self, q: Array) -> Array | None:
        """A pose at which the stated rows vanish, by Newton steps; None where they do not lead there."""
        for _ in range(3 * NEWTON):
            values = self.graph.values(self.leaves | {"q": q[None]})
            gap = np.concatenate([values[c.gap.quantity][0][list(c.kept)] for c in self.closures])
            if np.abs(gap).max(initial=0.0) < CLOSED:
                return q
            q = q - np.linalg.pinv(self.stated(q), rcond=REPEATED) @ gap
        return None

    def following(self, J: Array, last: Sequence[Array]) -> Array:
        """(n,) which coordinates follow from the others by the stated rows J.

        last : groups of coordinates, boolean (n,), in the order in which they are taken
        """
        chosen: list[int] = []
        for group in last:
            own = np.flatnonzero(group)[::-1]
            chosen += [int(own[i]) for i in independent(J.T[own], J.T[chosen], least=1e-3)]
        return np.isin(np.arange(self.n), chosen)


def independent(rows: Array, given: Array, least: float = REPEATED) -> list[int]:
    """Numbers of rows that depend neither on each other nor on given ones, the first of the largest first.

    rows, given : (k, n), or (poses, k, n) for rows that do so at one of the poses at least
    least : part of the largest row below which what is left of one counts as zero
    """
    rows, given = (each if each.ndim == 3 else each[None] for each in (rows, given))
    left = rows.astype(float)
    size = np.linalg.norm(np.concatenate([rows, given], axis=1), axis=2).max(initial=0.0)
    for pose, other in enumerate(given if given.size else ()):
        _, sizes, directions = np.linalg.svd(other, full_matrices=False)
        basis = directions[sizes > REPEATED * max(sizes.max(initial=0.0), size)]
        left[pose] -= (left[pose] @ basis.T) @ basis
    chosen: list[int] = []
    while True:
        sizes = np.linalg.norm(left, axis=2)
        of_rows = sizes.max(axis=0, initial=0.0)
        largest = of_rows.max(initial=0.0)
        if not largest > least * size:
            return chosen
        row = int(np.flatnonzero(of_rows >= 0.5 * largest)[0])  # not the largest: rounding would choose it
        chosen.append(row)
        for pose in np.flatnonzero(sizes[:, row] > least * size):
            unit = left[pose, row] / sizes[pose, row]
            left[pose] -= np.outer(left[pose] @ unit, unit)
        left[:, row] = 0.0


def with_kept(poses: LoopPoses, closure: Closure, kept: tuple[int, ...], pose: Array) -> Closure:
    """The closure with the rows that are stated; `poses` takes it in place of the former one."""
    final = replace(closure, kept=kept, pose=pose)
    poses.closures = tuple(final if each is closure else each for each in poses.closures)
    return final
