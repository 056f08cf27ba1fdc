"""Refuses feet that stand where they cannot all reach the ground, before a solver looks for a motion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.graph.quantities import is_parameter
from trajopt.problem.contacts.contact import Contact
from trajopt.problem.contacts.loop_ends import fixed_at, pose_at
from trajopt.problem.contacts.loop_poses import CLOSED, NEARLY, NEWTON, REPEATED
from trajopt.problem.contacts.pose_search import PoseSearch
from trajopt.splines.node_sets import END, START
from trajopt.terms.term import ExpressionTerm


def refuse_out_of_reach(problem: Any) -> None:
    """Raise InfeasibleBoundsError where no pose is found with all feet that stand in an arc on the ground.

    Looked at are the start and the end where some values of joints are fixed there, and arcs in which feet
    stand on different grounds. Joints are within the limits that are stated of them. Robots with unknown
    lengths are left to the solver.
    """
    last = len(problem.trajectory.arcs) - 1
    for place, arc in ((START, 0), *((None, arc) for arc in range(1, last)), (END, last)):
        stands = [each for each in _contacts(problem) if arc in each.arcs and each.is_held_upwards(arc)]
        fixed = np.zeros(problem.dynamics.n, bool) if place is None else fixed_at(problem, "q", place)[0]
        uneven = len({each.ground[arc] for each in stands}) > 1
        if not stands or fixed.all() or not (fixed.any() or uneven):  # of a whole pose, rows say how far off
            continue
        feet = FeetOnGround(problem, stands, arc)
        if any(map(is_parameter, feet.leaves)):
            continue
        pose = feet.best(pose_at(problem, place or START), fixed)
        if not feet.is_met(pose):
            where = f"in arc {arc}" if place is None else f"at the {place.written} of the motion"
            raise InfeasibleBoundsError(feet.refusal(pose, where, fixed))


def touching(problem: Any, contacts: Sequence[Contact], q: Array, arc: int) -> Array:
    """A pose near one at which all these contacts touch what they stand on in an arc, walls say.

    Raises InfeasibleBoundsError, with the distances that are left, where none is found.
    """
    feet = FeetOnGround(problem, contacts, arc)
    found = feet.exact(q)
    if found is None:
        near = feet.best(q)
        found = feet.exact(near)
        if found is None:
            nobody = np.zeros(q.size, dtype=bool)
            raise InfeasibleBoundsError(feet.refusal(near, f"in arc {arc}", nobody))
    return found


def _contacts(problem: Any) -> Iterable[Contact]:
    return getattr(problem, "contacts", {}).values()


class FeetOnGround(PoseSearch):
    """The heights of feet above the ground of an arc as functions of the joints' positions.

    others : terms whose slopes are asked for at poses, beside the heights of those held upwards
    """

    def __init__(
        self, problem: Any, contacts: Sequence[Contact], arc: int, others: Sequence[Any] = ()
    ) -> None:
        contacts = [each for each in contacts if each.is_held_upwards(arc)]
        heights = [_height(each, arc) for each in contacts]
        super().__init__(problem.independent_copy(), [*heights, *others])
        self.contacts, self.conditions = contacts, [term.quantity for term in heights]
        self.limits = stated_limits(problem)
        self.tolerances = np.full(sum(len(each.points) for each in contacts), NEARLY)

    def exact(self, q: Array) -> Array | None:
        """The pose to which Newton steps lead from one near it; None where they lead to none."""
        for _ in range(2 * NEWTON):
            miss = self.misfit(q)
            if np.abs(miss).max(initial=0.0) < CLOSED:
                return q
            step = np.linalg.pinv(self.misfit_slope(q), rcond=REPEATED) @ miss
            if not np.abs(step).max() < 1.0:
                return None
            q = q - step
        return None

    def refusal(self, q: Array, where: str, fixed: Array) -> str:
        """The text of the error, with the feet that are off the ground at the nearest pose."""
        ends = np.cumsum([len(each.points) for each in self.contacts])[:-1]
        each = zip(self.contacts, np.split(self.misfit(q), ends), strict=True)
        off = {one.frame: own[np.argmax(np.abs(own))] for one, own in each}
        feet = ", ".join(f"'{name}' {gap:.3g} m" for name, gap in off.items() if abs(gap) > NEARLY)
        given = " that has the values fixed there" if fixed.any() else ""
        return (
            f"feet that stand {where} are not on the ground at any pose found{given}: at the nearest, {feet} "
            "above it. Fix other values, of the base say, give another ground, or let these feet swing there"
        )


def _height(contact: Contact, arc: int) -> ExpressionTerm:
    height = partial(contact.height, arc=arc, points=contact.points)
    return ExpressionTerm(height, f"{contact.frame} above the ground at an end", unit="m")


def stated_limits(problem: Any) -> SimpleNamespace:
    """`q_lower` and `q_upper` (n,) of the joints, those that constraints of the whole motion state."""
    n = problem.dynamics.n
    own = [each for each in problem.path_limits() if each.term.quantity == "q"]
    lower = np.max([np.full(n, -np.inf), *(each.lower for each in own)], axis=0)
    upper = np.min([np.full(n, np.inf), *(each.upper for each in own)], axis=0)
    return SimpleNamespace(q_lower=lower, q_upper=upper)
