"""Refuses feet that stand at an end of the motion out of reach of the ground, before a solver looks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.graph.quantities import is_parameter
from trajopt.problem.contacts.contact import Contact
from trajopt.problem.contacts.loop_ends import fixed_at, pose_at
from trajopt.problem.contacts.loop_poses import NEARLY
from trajopt.problem.contacts.pose_search import PoseSearch
from trajopt.splines.node_sets import END, START
from trajopt.terms.term import ExpressionTerm


def refuse_out_of_reach(problem: Any) -> None:
    """Raise InfeasibleBoundsError where no pose is found with all feet that stand at an end on the ground.

    Joints have the values that are fixed at that end, and are within the limits that are stated of them.
    Robots with unknown lengths are left to the solver.
    """
    contacts, last = getattr(problem, "contacts", {}).values(), len(problem.trajectory.arcs) - 1
    for place, arc in ((START, 0), (END, last)):
        stands = [each for each in contacts if arc in each.arcs and each.is_held_upwards(arc)]
        fixed, _ = fixed_at(problem, "q", place)
        if not stands or not fixed.any() or fixed.all():  # of a whole pose, rows say by how much it misses
            continue
        feet = FeetOnGround(problem, stands, arc)
        if any(map(is_parameter, feet.leaves)):
            continue
        pose = feet.best(pose_at(problem, place), fixed)
        if not feet.is_met(pose):
            raise InfeasibleBoundsError(feet.refusal(pose, place.written))


class FeetOnGround(PoseSearch):
    """The heights of feet above the ground of an arc as functions of the joints' positions."""

    def __init__(self, problem: Any, contacts: Sequence[Contact], arc: int) -> None:
        heights = [_height(each, arc) for each in contacts]
        super().__init__(problem.independent_copy(), heights)
        self.contacts, self.conditions = contacts, [term.quantity for term in heights]
        self.limits = stated_limits(problem)
        self.tolerances = np.full(sum(len(each.points) for each in contacts), NEARLY)

    def refusal(self, q: Array, where: str) -> str:
        """The text of the error, with the feet that are off the ground at the nearest pose."""
        ends = np.cumsum([len(each.points) for each in self.contacts])[:-1]
        each = zip(self.contacts, np.split(self.misfit(q), ends), strict=True)
        off = {one.frame: own[np.argmax(np.abs(own))] for one, own in each}
        feet = ", ".join(f"'{name}' {gap:.3g} m" for name, gap in off.items() if abs(gap) > NEARLY)
        return (
            f"feet that stand at the {where} of the motion are not on the ground at any pose found that has "
            f"the values fixed there: at the nearest, {feet} above it. Fix other values, of the base say, "
            "give another ground, or let these feet swing there"
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
