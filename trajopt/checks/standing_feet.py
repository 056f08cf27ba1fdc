"""Motion of standing feet, and the work of friction on them, from places and forces, not from rows.

A foot that stands stays where it stands, along the axes that are held: |p(t) - p(t_0)| is zero for every
point of its sole. Friction takes power from what slides and never gives any: integral max(0, f_t . v) dt is
zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.peaks_between_nodes import dense_samples
from trajopt.terms.term import ExpressionTerm

if TYPE_CHECKING:
    from trajopt.problem.contacts.contact import Contact
    from trajopt.solution.solution import SolutionData

MOST = 1e-4  # m: rubber feet of robots creep as far; motions of the gallery slip less than 0.03 mm


@dataclass(frozen=True)
class StandingFeet:
    """The largest slip of a foot, and the most work of friction, over all stances.

    slip : m;  slipping : the foot and the time that this is of
    work : J that friction gives;  worked_on : the foot;  weight : N, of the robot
    """

    slip: float
    slipping: str
    slip_time: float
    work: float
    worked_on: str
    weight: float

    @property
    def reason(self) -> str:
        """Reason why the motion fails; empty where it does not. A number that is none fails."""
        if not self.slip <= MOST:
            return (
                f"'{self.slipping}' stands but moves by {1e3 * self.slip:.3g} mm until "
                f"t = {self.slip_time:.6g} s; {1e3 * MOST:g} mm is allowed: solve on more intervals"
            )
        if not self.work <= MOST * self.weight:
            return (
                f"friction does {self.work:.3g} J of work on '{self.worked_on}' as it slides, and can only "
                f"take power; {MOST * self.weight:.2g} J is allowed"
            )
        return ""

    def __str__(self) -> str:
        return (
            f"standing feet move by at most {1e3 * self.slip:.2g} mm ({self.slipping}), friction does at "
            f"most {self.work:.2g} J of work on one"
        )


def standing_feet(solution: SolutionData) -> StandingFeet | None:
    """Slip and work of all contacts that stand; None where none does."""
    problem = solution.problem
    contacts = [each for each in getattr(problem, "contacts", {}).values() if each.arcs]
    if not contacts or len(solution.curve.bases) != len(problem.trajectory.arcs):
        return None
    times = dense_samples(solution).times
    moved = [_moved(solution, foot, arcs, times) for foot in contacts for arcs in stances_of(foot)]
    works = [(_work(solution, foot, arcs, times), foot) for foot in contacts for arcs in stances_of(foot)]
    slip, time, slipping = max(moved, key=lambda each: np.nan_to_num(each[0], nan=np.inf))
    work, worked_on = max(works, key=lambda each: np.nan_to_num(each[0], nan=np.inf))
    return StandingFeet(slip, slipping.frame, time, work, worked_on.frame, slipping.weight)


def stances_of(foot: Contact) -> Iterator[list[int]]:
    """Arcs in which a foot stands one after the other, held along the same axes."""
    stance = [foot.arcs[0]]
    for arc in foot.arcs[1:]:
        if arc == stance[-1] + 1 and foot.held[arc] == foot.held[stance[-1]]:
            stance.append(arc)
        else:
            yield stance
            stance = [arc]
    yield stance


def _inside(solution: SolutionData, times: Array, arc: int) -> Array:
    first, last = solution.curve.starts[arc : arc + 2]
    return times[(times > first) & (times < last)]


def _moved(
    solution: SolutionData, foot: Contact, arcs: list[int], times: Array
) -> tuple[float, float, Contact]:
    """The largest distance of a point from where the stance began, its time, and the foot."""
    arc, t = arcs[0], np.concatenate([_inside(solution, times, arc) for arc in arcs])
    term = ExpressionTerm(partial(foot.footing, arc=arc), f"{foot.frame} stands from arc {arc}")
    places = solution.value(term, t).reshape(t.size, -1, 3)
    away = (places - places[0]) @ _held_axes(foot, arc, places[0, 0]).T
    distance = np.linalg.norm(away, axis=-1).max(axis=1)
    at = int(np.argmax(distance))
    return float(distance[at]), float(t[at]), foot


def _work(solution: SolutionData, foot: Contact, arcs: list[int], times: Array) -> float:
    """J that friction gives during a stance, what it takes not counted."""
    work = 0.0
    for arc in arcs:
        t = _inside(solution, times, arc)
        power = ExpressionTerm(partial(foot.power, arc=arc), f"friction on {foot.frame}, arc {arc}")
        given = np.maximum(solution.value(power, t)[:, 0], 0.0)
        work += float(0.5 * np.diff(t) @ (given[1:] + given[:-1]))
    return work


def _held_axes(foot: Contact, arc: int, place: Array) -> Array:
    """(held, 3) the axes along which the foot is held where it touches down."""
    ground = foot.ground[arc]
    if len(foot.held[arc]) == np.size(place):
        return np.eye(np.size(place))
    axes = np.array([[float(x) for x in axis] for axis in ground.world_axes_at(place.tolist())])
    return axes[[ground.order.index(i) for i in foot.held[arc]]]
