"""Motion of standing feet, and the work of friction on them, from places and forces, not from rows.

A foot that stands stays where it stands, along the axes that are held: |p(t) - p(t_0)| is zero for every
point of its sole. Friction takes power from what slides and never gives any: integral max(0, f_t . v) dt is
zero.

Also here: the balance of a robot on feet between nodes: what force and moment its motion needs beyond the
ground's.

    [m; f] = d/dt [angular; linear momentum] - gravity - sum of the loads on links

about the centre of mass, from the base wrench of inverse dynamics: zero where the ground alone carries the
robot, whatever coordinates describe its base.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.peaks_between_nodes import dense_samples
from trajopt.splines.node_sets import PATH
from trajopt.terms import term as terms
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


# Of a weight, and of a weight times the height, that may be missing. In simulations of measured motions
# Hicks et al., J. Biomech. Eng. 137(2), 020905 (2015), accept a residual force of 5 % of the external one,
# and a moment of 1 % of it times the height. Jumps of the gallery miss up to 1.3 %: `python -m
# benchmarks.legged`.
UNBALANCED = 0.05


@dataclass(frozen=True)
class BaseBalance:
    """The largest missing force and moment over all times sampled.

    force : in weights of the robot;  force_time : s
    moment : in weights times the height;  moment_time : s
    height : m, largest, of the centre of mass over the lowest foot
    """

    force: float
    force_time: float
    moment: float
    moment_time: float
    height: float

    @property
    def reason(self) -> str:
        """Reason why the motion fails; empty where it does not. A number that is none fails."""
        if self.force <= UNBALANCED and self.moment <= UNBALANCED:
            return ""
        return f"the ground does not carry the robot between nodes: {self}; {UNBALANCED:g} of each is allowed"

    def __str__(self) -> str:
        return (
            f"{self.force:.2g} weights of force are missing at t = {self.force_time:.6g} s, "
            f"{self.moment:.2g} weights times {self.height:.3g} m of moment at t = {self.moment_time:.6g} s"
        )


def base_balance(solution: SolutionData) -> BaseBalance | None:
    """The balance of a robot with contacts, no motor of whose base works; None of any other motion."""
    problem, dynamics = solution.problem, cast("Any", solution.problem.dynamics)
    contacts = getattr(problem, "contacts", {})
    base = getattr(dynamics, "floating_joints", ())
    if not contacts or not base or any(PATH not in problem.passive_joints.get(each, ()) for each in base):
        return None
    gravity, times = np.asarray(dynamics.gravity), dense_samples(solution).times
    weight = dynamics.total_mass * float(np.linalg.norm(gravity))
    centre, loads = terms.Quantity("centre_of_mass"), list(problem.loads.values())
    feet = [terms.position(frame) for frame in contacts]
    values = solution.values([terms.base_wrench, centre, *loads, *feet], times)
    wrench = values["base_wrench"] - sum(values[load.quantity] for load in loads)
    place, up = values["centre_of_mass"], -gravity / np.linalg.norm(gravity)
    lowest = np.min([values[foot.quantity] @ up for foot in feet], axis=0)
    height = float((place @ up - lowest).max())
    moment = wrench[:, :3] - np.cross(place, wrench[:, 3:])
    force, force_time = _largest(wrench[:, 3:] / weight, times)
    return BaseBalance(force, force_time, *_largest(moment / (weight * height), times), height)


def _largest(vectors: Array, times: Array) -> tuple[float, float]:
    """The largest length of vectors (k, 3), NaN where one is, and its time."""
    lengths = np.linalg.norm(vectors, axis=1)
    at = int(np.argmax(lengths))
    return float(lengths[at]), float(times[at])
