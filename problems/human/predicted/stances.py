"""Points of the feet that stand in the four arcs of a predicted step, and the axes along which they are held.

    arc of a walk                               right foot          left foot
    0  right heel strike to right foot-flat     heel                ball, toe
    1  to left toe-off                          heel, ball, toe     toe
    2  to right heel-off                        heel, ball, toe     swings
    3  to left heel strike                      ball, toe           swings

    arc of a run
    0  right heel strike to right foot-flat     heel                swings
    1  to right heel-off                        heel, ball, toe     swings
    2  to right toe-off                         ball, toe           swings
    3  to left heel strike                      swings              swings

A stride is an arc of a walk after the other and then the same with left and right exchanged.

The ball has two points, inside and outside of the foot. The order of the events is given, their times are
unknown: every arc has a free duration. A heel can rise only where its contact has ended, and so with no force
behind the ball. Points of one foot are held along so many axes that no condition repeats another: five points
on two hinged bodies move in seven ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

import trajopt
from problems.human.body.model import other_side
from problems.human.gait.gait_solver import double_support, single_support

Stances = tuple[tuple[str, ...], ...]  # the points that stand, arc by arc

FOOT_FLAT, HEEL_OFF = 1, 3  # the arcs that begin with these events of the right foot; arc 2 with left toe-off
STANCES: Stances = (
    ("heel_r", "ball_in_l", "ball_out_l", "toe_l"),
    ("heel_r", "ball_in_r", "ball_out_r", "toe_r", "toe_l"),
    ("heel_r", "ball_in_r", "ball_out_r", "toe_r"),
    ("ball_in_r", "ball_out_r", "toe_r"),
)
STRIDE: Stances = (*STANCES, *(tuple(map(other_side, points)) for points in STANCES))
RUN: Stances = (("heel_r",), STANCES[2], STANCES[3], ())
POINTS = tuple(f"{kind}_{side}" for side in "rl" for kind in ("heel", "ball_in", "ball_out", "toe"))
# Point: what else must stand on this foot for it to be held along the first axes only, else along the second.
HELD = MappingProxyType({
    "heel": ("heel", "xyz", "xyz"), "ball_in": ("heel", "yz", "xyz"), "ball_out": ("heel", "y", "xy"),
    "toe": ("ball_in", "y", "xyz"),
})  # fmt: skip
SHORTEST, LONGEST = 0.02, 0.9  # parts of the step, of every arc
GUESSED = (0.16, 0.08, 0.46, 0.30)  # parts of the step, where the search for a walk starts
# Collocation points in every interval. Between them equations miss most at an interval's ends, half as much
# with Gauss points as at its start with Radau points, and four make 10 intervals as good as 20 with three.
ORDER, RULE = 4, "gauss"
# Parts of every interval, between its points, at which limits hold too while a foot swings near the ground:
# without them limits are exceeded by .1 to .3 % between points, with both by .06 %, as with four of them.
BETWEEN_POINTS = (0.5, 0.82)
BETWEEN_RADAU_POINTS = (0.42, 0.83)  # of a run, with three points


def schedule(duration: float, stances: Stances = STANCES) -> trajopt.Schedule:
    """The stances of a step of so many seconds, each with a free duration."""
    free = (SHORTEST * duration, LONGEST * duration)
    return trajopt.Schedule([(points, free) for points in stances], feet=POINTS)


def step_trajectory(duration: float, intervals: int, stances: Stances = STANCES) -> trajopt.Trajectory:
    """Collocation on `intervals` of the arc with the largest part of GUESSED, on fewer of shorter ones."""
    every = np.resize(GUESSED, len(stances))
    counts = np.ceil(intervals * every / every.max()).astype(int).tolist()
    bases = [trajopt.Trajectory.collocation(count, ORDER, RULE).arcs[0].basis for count in counts]
    swings = [feet_that_stand(points) != {"r", "l"} for points in stances]
    times = [
        tuple(limit_times(basis.breakpoints, BETWEEN_POINTS)) if one else ()
        for basis, one in zip(bases, swings, strict=True)
    ]
    mesh = schedule(duration, stances).trajectory(counts, ORDER, RULE)
    return mesh.with_bases(bases).with_limit_points(times)


def run_trajectory(duration: float, intervals: int, drawn: bool = False) -> trajopt.Trajectory:
    """Collocation on `intervals` of every arc of a run, with the points of walks.

    drawn : with three Radau points, for a guess by hand, from which the search with the points of walks was
        not done in twice the time
    """
    stances, between = schedule(duration, RUN), BETWEEN_RADAU_POINTS if drawn else BETWEEN_POINTS
    mesh = stances.trajectory(intervals) if drawn else stances.trajectory(intervals, ORDER, RULE)
    every = [limit_times(arc.basis.breakpoints, between) for arc in mesh.arcs]
    return mesh.with_limit_points(every)


def feet_that_stand(points: Sequence[str]) -> set[str]:
    """The sides, "r" and "l", of points that stand."""
    return {point[-1] for point in points}


def phase_names(stances: Stances = STANCES) -> tuple[str, ...]:
    """Words for the phase that every arc belongs to, such as "single support with the right foot ..."."""
    names = []
    for points in stances:
        sides = feet_that_stand(points)
        if len(sides) == 2:
            names.append(double_support(next(point[-1] for point in points if point.startswith("heel"))))
        else:
            names.append(single_support(min(sides)) if sides else "flight")
    return tuple(names)


def limit_times(breakpoints: np.ndarray, parts: Sequence[float]) -> list[float]:
    """Normalised times at these parts of every interval."""
    return (breakpoints[:-1, None] + np.diff(breakpoints)[:, None] * parts).ravel().tolist()


def held(point: str, arc: int, stances: Stances = STANCES) -> str:
    """World axes along which a standing point is held in an arc."""
    kind, _, side = point.rpartition("_")
    needed, with_it, alone = HELD[kind]
    return with_it if f"{needed}_{side}" in stances[arc] else alone


def stand_on_points(
    problem: trajopt.Problem, friction: float, duration: float, stances: Stances = STANCES
) -> None:
    """The contacts of all points with the ground; after one step left and right have changed places."""
    ground, own = trajopt.Ground(up="y"), schedule(duration, stances)
    for point in POINTS:
        arcs = own.arcs(point)
        axes = {arc: held(point, arc, stances) for arc in arcs}
        problem.contact(point, arcs, friction, ground=ground, held=axes, continuous=True)
    if stances == STRIDE:
        problem.subject_to_repeated_contacts({point: point for point in POINTS})
    else:
        swapped = {point: other_side(point) for point in POINTS}
        problem.subject_to_repeated_contacts(swapped, reflection=np.array([1.0, 1.0, -1.0]))
