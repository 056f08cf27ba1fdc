"""Least time on a given path within limits of jerk: s(t) is a spline, limited at nodes, then between them.

    minimize T   subject to   q = p(s(t)),  |v|, |a| and |jerk| within limits,  lower <= tau <= upper

It begins with the motion of least time without a limit of jerk (`Retiming`), a little slower. Where a sample
between nodes exceeds a limit its time becomes a node, and the solve is repeated from the motion found. What
is left is removed by more time for everything; bounds prove the result for all times (`smooth_motion`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import trajopt
from problems.moves.certificate import TOLERANCE, MotionCertificate
from problems.moves.motion_limits import MotionLimits
from problems.moves.spline_path import SplinePath, jump_of
from problems.moves.timing.smooth_motion import SAMPLES, SHARP, SmoothMotion, friction_free
from trajopt.base.arrays import Array
from trajopt.base.errors import ProblemError
from trajopt.refinement.limit_nodes import asked_with_limit_nodes

if TYPE_CHECKING:
    from problems.moves.retimed_motion import RetimedMotion

DEGREE = 4  # the least with a continuous jerk
FEWEST, MOST, RAMPS = 40, 160, 3.0  # intervals of s(t); ramps of acceleration that one of them holds
SLOWER = 1.05  # of the motion without a limit of jerk: where the search begins
MARGIN = 1e-3  # of limits at nodes; between nodes `SHARP` of it is to be left
ROUNDS = 3  # solves
STRETCHES, AGAIN = 40, 4.0  # slower motions tried; of the excess of a bound, once more
NEAR = 0.05  # largest change of an unknown in the first step from a motion that was found
TOL, STEPS = 1e-3, 60  # of the solver: what is left of time is of the size of the tolerance
LONGEST = 1e4  # s


def jerk_limited(first: RetimedMotion, limits: MotionLimits) -> SmoothMotion:
    """The motion on the path of `first`, from rest to rest, within limits with those of jerk.

    Raises ProblemError where the path's second or third derivative jumps.
    """
    _check_smooth(first.path, first.joint_names)
    solver = trajopt.TrustRegionSqp(tol=TOL, max_iterations=STEPS)
    asked, every = _problem(first, limits), list[SmoothMotion]()
    while True:
        solution: Any = trajopt.solve(asked, solver, refine=None, starts=1, coarse_to_fine=False)
        found = _motion(first, limits, solution)
        every.append(_with_room(found))
        t = found.sample_times(SAMPLES)
        missed = _peaks(t, found.excess_at(t))
        if not missed.size or len(every) == ROUNDS:
            return _proved(min(every, key=lambda motion: motion.duration))
        solver = trajopt.TrustRegionSqp(tol=TOL, max_iterations=STEPS, radius=NEAR)
        asked = asked_with_limit_nodes(solution, [missed])


def _motion(first: RetimedMotion, limits: MotionLimits, solution: Any) -> SmoothMotion:
    parts = first.model, first.path, limits, solution.curve, solution.as_built
    return SmoothMotion(*parts, MotionCertificate(()))


def _with_room(motion: SmoothMotion) -> SmoothMotion:
    """The motion, slowed until samples leave the room that bounds need."""
    for _ in range(STRETCHES):
        excess = float(motion.excess_at(motion.sample_times(SAMPLES)).max())
        if excess <= -SHARP:
            break
        motion = motion.slower(1.0 + excess + 2.0 * SHARP)  # again, as weights stay in the torques
    return motion


def _proved(motion: SmoothMotion) -> SmoothMotion:
    """The motion with its certificate, slowed once more where that does not hold."""
    found = motion.certified()
    if found.certificate.excess <= TOLERANCE:
        return found
    return motion.slower(1.0 + AGAIN * found.certificate.excess).certified()


def _peaks(t: Array, excess: Array) -> Array:
    """Times of the largest excess in every interval where it leaves no room for bounds."""
    t, excess = t.reshape(-1, SAMPLES), excess.reshape(-1, SAMPLES)
    worst = np.argmax(excess, axis=1)
    rows = np.flatnonzero(excess.max(axis=1) > -SHARP)
    return np.unique(t[rows, worst[rows]])


def _interval_count(first: RetimedMotion, limits: MotionLimits) -> int:
    """So many that an interval takes a few times as long as an acceleration takes to reach its limit."""
    ramp = np.min(np.where(np.isfinite(limits.jerk), limits.acceleration / limits.jerk, np.inf))
    if not np.isfinite(ramp):
        return MOST
    return int(np.clip(np.ceil(first.duration / (RAMPS * ramp)), FEWEST, MOST))


def _problem(first: RetimedMotion, limits: MotionLimits) -> trajopt.Problem:
    from scipy.interpolate import PPoly

    path, (low, high) = first.path, first.path.breakpoints[[0, -1]].tolist()
    along = trajopt.on_path(first.model, PPoly(path.coefficients, path.breakpoints), (low, high))
    mesh = trajopt.Trajectory.uniform(_interval_count(first, limits), DEGREE, (1e-3, LONGEST))
    problem = trajopt.Problem(along, mesh, name="retimed")
    problem.start_at(q=low, v=0.0, a=0.0)
    problem.end_at(q=high, v=0.0, a=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to(trajopt.v, lower=0.0, name="forwards")
    inside = 1.0 - MARGIN
    for name, bound in (
        ("joint_velocity", limits.velocity),
        ("joint_acceleration", limits.acceleration),
        ("joint_jerk", limits.jerk),
    ):
        if np.any(np.isfinite(bound)):
            problem.subject_to(trajopt.Quantity(name), -inside * bound, inside * bound, name=name)
    if limits.has_torque:
        lower, upper = friction_free(first.model, limits)
        room = MARGIN * np.minimum(np.abs(lower), np.abs(upper))
        room = np.where(np.isfinite(room), room, 0.0)
        problem.subject_to(trajopt.Quantity("motor_torque"), lower + room, upper - room, name="motor_torque")
    T = first.duration
    problem.guess(lambda s: first.s(np.clip(np.asarray(s), 0.0, 1.0) * T)[..., None], duration=SLOWER * T)
    return problem


def _check_smooth(path: SplinePath, names: tuple[str, ...]) -> None:
    slope, shortest = np.abs(path.bernstein(path.breakpoints, 1)).max(), np.diff(path.breakpoints).min()
    for order, what in ((2, "second"), (3, "third")):
        place = jump_of(path, order, names, slope / shortest ** (order - 1))
        if place:
            raise ProblemError(
                f"the {what} derivative of the path jumps at {place}, and so would its jerk: give waypoints, "
                "or a spline of degree four or more"
            )
