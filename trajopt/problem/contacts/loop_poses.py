"""Poses, end values and guesses of closed loops: which rows are independent, which joints follow.

Closed poses are found by least squares. Rows are independent where the Jacobian of the gaps has full rank. A
row may depend on others at one pose alone, as with a four-bar that lies flat. Unlike one that repeats them it
cannot be left out: the loop would open at neighbouring poses.

Values at the ends of a motion that a closed loop determines are released, with a warning.

A loop leaves fewer degrees of freedom than joints. Where q, v or a of all joints are given at an end, loops
and values would be more conditions than unknowns. So some joints follow from the others: those without a
value first, then those without motors, then the last ones. Values of joints that follow are released.

In a guess of a motion, the pose at each time is the nearest closed one, on one branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, LoopWarning, warn_user
from trajopt.base.tolerances import AGREEMENT
from trajopt.problem.contacts.closure import PLACES, Closure
from trajopt.problem.contacts.pose_search import SEED, STEP, PoseSearch
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.guess import GuessedCurve
from trajopt.problem.input_checks import middle_of
from trajopt.splines.node_sets import END, START, NodeSet

if TYPE_CHECKING:
    from trajopt.problem.problem import Problem

CLOSED, LEFT = 1e-9, 1e-13  # m and rad: a gap that Newton steps have closed, and what rounding leaves of it
REPEATED = 1e-4  # of the largest row: what is left of one that repeats others, as files round axes to 1e-5
NEARLY = 1e-3  # m and rad: the largest gap that is left by rounding in a file, or by a coarser mesh
NEAR = 0.1  # rad or m: distance of neighbouring poses from a closed one
OPENS = 10.0  # tolerances: gap at neighbouring poses of a row that was left out
NEWTON = 8  # steps, at most, from a pose that is nearly closed


class LoopPoses(PoseSearch):
    """The gaps of some loops as functions of the joints' positions (n,), with exact derivatives."""

    def __init__(self, problem: Problem, closures: Sequence[Closure]) -> None:
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
        directions, found, _ = np.linalg.svd(closure.basis.T @ self.rows(closure, q)[:PLACES])
        sizes = np.pad(found, (0, PLACES - found.size))  # of robots of fewer coordinates
        if sizes[2] > REPEATED * sizes[0] or sizes[1] <= REPEATED * sizes[0]:
            return None
        normal = np.where(np.abs(directions[:, 2]) < REPEATED, 0.0, directions[:, 2])
        return normal * np.sign(normal[np.argmax(np.abs(normal))])

    def opening(self, q: Array) -> float:
        """The largest misfit at closed poses around one, closed by the stated rows alone."""
        random, largest = np.random.default_rng(SEED), 0.0
        for _ in range(6):  # poses around a closed one
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


MOVED = 1e-6  # rad or m, per second or its square: values that are off by less are rounded numbers


def release_ends(problem: Problem) -> None:
    """Release values at both ends of joints that follow from others; LoopWarning for those that move.

    Raises InfeasibleBoundsError where the values of the others leave no closed pose.
    """
    last = len(problem.trajectory.arcs) - 1
    for place, arc in ((START, 0), (END, last)):
        closures = [closure for closure in problem.closures.values() if arc in closure.arcs]
        if closures and any(fixed_at(problem, quantity, place)[0].any() for quantity in "qva"):
            _release_at(problem, place, LoopPoses(problem, closures))


def keep_independent_periodicities(problem: Problem) -> None:
    """Leave periodicities of q and v only to coordinates that do not follow from others by loops.

    Loops that are closed at both ends make the others repeat, on the branch of the motion.
    """
    last = len(problem.trajectory.arcs) - 1
    quantities = [periodicity.term.quantity for periodicity in problem.periodicities]
    closures = [closure for closure in problem.closures.values() if {0, last} <= set(closure.arcs)]
    if not closures or not {"q", "v"} & set(quantities):
        return
    poses = LoopPoses(problem, closures)
    groups = order_of_following(problem, np.zeros(problem.dynamics.n, dtype=bool))
    kept = np.flatnonzero(~poses.following(poses.stated(poses.nearest(pose_at(problem, START))), groups))
    for number, periodicity in enumerate(problem.periodicities):
        if quantities[number] in ("q", "v"):
            problem.periodicities[number] = replace(periodicity, kept=kept)


def fixed_at(problem: Problem, quantity: str, place: NodeSet) -> tuple[Array, Array]:
    """Mask of the coordinates that constraints fix at an end, (n,), and their values, 0 for others."""
    fixed, value = np.zeros(problem.dynamics.n, dtype=bool), np.zeros(problem.dynamics.n)
    for _, each in _boundaries(problem, quantity, place):
        own = each.lower == each.upper
        fixed, value = fixed | own, np.where(own, each.lower, value)
    return fixed, value


def order_of_following(problem: Problem, fixed: Array) -> tuple[Array, ...]:
    """Groups of joints, (n,) bool each, in the order in which they follow: free, without motors, driven."""
    driven = ~np.isin(problem.dynamics.joint_names, list(problem.passive_joints))
    return ~fixed, fixed & ~driven, fixed & driven


def pose_at(problem: Problem, place: NodeSet) -> Array:
    """(n,) where the motion starts or ends as far as it is known: fixed values, the guess, loops, limits."""
    if problem.guessed_curve is not None:
        s = np.array([0.0 if place == START else 1.0])
        pose = np.asarray(problem.guessed_curve(s), dtype=float)[0, : problem.dynamics.n]
    elif problem.closures:
        pose = next(reversed(problem.closures.values())).pose
    else:
        limits = problem.dynamics.limits
        pose = middle_of(limits.q_lower, limits.q_upper)
    fixed, value = fixed_at(problem, "q", place)
    return np.where(fixed, value, pose)


def _release_at(problem: Problem, place: NodeSet, poses: LoopPoses) -> None:
    fixed, _ = fixed_at(problem, "q", place)
    guess = pose_at(problem, place)
    follows = poses.following(poses.stated(poses.nearest(guess)), order_of_following(problem, fixed))
    pose = poses.closed(guess, fixed & ~follows)
    _release(problem, "q", place, fixed & follows, pose)
    v = _release_rates(problem, "v", place, poses, pose, np.zeros(pose.size))
    _release_rates(problem, "a", place, poses, pose, v)


def _release_rates(
    problem: Problem, quantity: str, place: NodeSet, poses: LoopPoses, pose: Array, v: Array
) -> Array:
    """J v = 0, or J a + (dJ/dt) v = 0; the values (n,), zero where nothing is known."""
    J, rest = poses.stated_speeds(pose, v, "v"), poses.stated_speeds(pose, v, "q") @ v
    fixed, value = fixed_at(problem, quantity, place)
    follows = poses.following(J, order_of_following(problem, fixed))
    found = np.where(follows, 0.0, value)
    found[follows] = np.linalg.lstsq(J[:, follows], -rest - J @ found, rcond=None)[0]
    _release(problem, quantity, place, fixed & follows, found)
    return found


def _boundaries(problem: Problem, quantity: str, place: NodeSet) -> Iterator[tuple[int, Constraint]]:
    for number, constraint in enumerate(problem.constraints):
        if constraint.term.quantity == quantity and constraint.over == place:
            yield number, constraint


def _release(problem: Problem, quantity: str, place: NodeSet, released: Array, found: Array) -> None:
    """Let the loops determine some coordinates at an end."""
    _, value = fixed_at(problem, quantity, place)
    moved = released & (np.abs(found - value) > MOVED + AGREEMENT * np.abs(value))
    if moved.any():
        names = np.array(problem.dynamics.joint_names)[moved]
        each = zip(names, value[moved], found[moved], strict=True)
        text = ", ".join(f"{name} from {old:.6g} to {new:.6g}" for name, old, new in each)
        warn_user(
            f"{quantity} at the {place.written} does not fit the closed loops, which move {text}: give "
            "values that fit, or None for joints that follow from others",
            LoopWarning,
        )
    for number, each in list(_boundaries(problem, quantity, place)) if released.any() else ():
        lower, upper = np.where(released, -np.inf, each.lower), np.where(released, np.inf, each.upper)
        problem.constraints[number] = replace(each, lower=lower, upper=upper)


@dataclass(frozen=True, eq=False)
class ClosedGuess:
    """A guessed curve with the joints of loops moved until these are closed.

    first : (n,) the pose at the start as far as it is known, see `pose_at`
    last : groups of joints in the order in which they follow from others

    At each time joints that follow from others start from the pose before, so that a linkage stays on its
    branch; where they reach no closed pose, all joints move, and where these do not either, the guess stays.
    """

    curve: GuessedCurve
    poses: LoopPoses
    first: Array
    last: Sequence[Array]

    @staticmethod
    def of(problem: Problem, curve: GuessedCurve) -> ClosedGuess:
        """The guess of a problem with its loops closed."""
        poses = LoopPoses(problem, list(problem.closures.values()))
        fixed = fixed_at(problem, "q", START)[0] | fixed_at(problem, "q", END)[0]
        groups = order_of_following(problem, fixed)
        return ClosedGuess(curve, poses, pose_at(problem, START), groups)

    def __call__(self, s: ArrayLike) -> Array:
        values = np.array(self.curve(s), dtype=float)
        before, times = self.first, np.asarray(s, dtype=float)
        for place in np.argsort(times, kind="stable"):
            before = self._closed(values[place, : before.size], before)
            values[place, : before.size] = before
        return values

    def _closed(self, guess: Array, before: Array) -> Array:
        if np.abs(self.poses.misfit(guess)).max() < NEARLY:  # as a motion of a coarser mesh is
            return guess
        follows = self.poses.following(self.poses.stated(before), self.last)
        found = self.poses.nearest(np.where(follows, before, guess), ~follows)
        if self.poses.is_met(found):
            return found
        try:
            return self.poses.closed(np.where(follows, before, guess))
        except InfeasibleBoundsError:
            return guess
