"""Muscles that drive a measured motion which gives way to them: tracking under measured forces.

    minimize    integral of  sum e^2 + sum (reserve / strength)^2 + w / n sum ((q_i - measured_i) / d_i)^2
    subject to  M a + C v + g - sum over forces of J' [p x F + M; F] = sum over muscles of r F + reserve
                a' = activation dynamics of e and a,   a(0) = e(0),   low <= e, a <= 1

d is 2 degrees or 0.02 m, n the number of coordinates that were measured. Forces act where they were measured
on the ground, whatever the motion becomes; those in axes of a body as the measured motion turns these.
The search begins at the muscles of the motion as it was measured.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

import trajopt
from dynamics.muscles.motion_block import PathMotion
from problems.human.gait.gait_solver import NEAR
from problems.human.measured.external_loads import MeasuredForce, wrenches_on_links
from problems.human.measured.inverse_dynamics import JointMoments
from problems.human.muscles.driven import MOTORS, muscle_problem
from problems.human.muscles.given_motion import GivenMotion, without_springs
from problems.human.muscles.muscle_use import (
    RIGID_TOLERANCE,
    TOLERANCE,
    MuscleUse,
    even_times,
    guess_near,
    solve_muscles,
    use_along,
)
from problems.human.opensim.storage import Storage, write_storage
from trajopt.base.arguments import check_positive

ANGLE, LENGTH = float(np.deg2rad(2.0)), 0.02  # rad and m, the distances that cost as much as each other
WEIGHT = 10.0
MEASURED = "measured coordinates"


@dataclass(frozen=True, eq=False)
class TrackedMotion:
    """A person that muscles drive near a measured motion.

    given : the measured motion and its muscles;  forces : measured, on the person
    names : of all coordinates, each of which has a reserve
    """

    problem: trajopt.Problem
    given: GivenMotion
    forces: tuple[MeasuredForce, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TrackedUse:
    """The motion that muscles drive, and how.

    moments : of that motion under the measured forces;  measured : (K, n) coordinates at its times
    """

    use: MuscleUse
    moments: JointMoments
    measured: np.ndarray

    @property
    def deviation(self) -> np.ndarray:
        """(n,) rms of the distance of every coordinate from the measured one, rad or m."""
        return np.sqrt(np.mean((self.moments.q - self.measured) ** 2, axis=0))

    def write_motion(self, path: str | os.PathLike[str]) -> None:
        """Write the coordinates, rad and m, as a .sto."""
        moments = self.moments
        columns = dict(zip(moments.names, moments.q.T, strict=True))
        write_storage(path, Storage("coordinates", moments.time, columns))

    def __str__(self) -> str:
        names, lines = np.array(self.moments.names), [str(self.use)]
        is_angle = ~self.moments.is_length & ~np.isin(names, self.moments.assumed)  # of those measured
        if is_angle.any():
            angles = np.rad2deg(self.deviation[is_angle])
            lines.append(
                f"from the measured motion: {angles.mean():.2g} degrees on average of angles, "
                f"{angles.max():.2g} at {names[is_angle][angles.argmax()]} (rms)"
            )
        return "\n".join(lines)


def muscles_track(
    given: GivenMotion,
    forces: tuple[MeasuredForce, ...] = (),
    *,
    weight: float = WEIGHT,
    motors: float = MOTORS,
) -> TrackedMotion:
    """The problem of muscles that drive a person near a measured motion.

    given : from `muscles_of_motion`, whose mesh, tendons, reserves and paths hold here, too
    forces : those of `joint_moments`
    weight : of the mean squared distance to the measured coordinates, in 2 degrees and 0.02 m
    motors : strength, N m or N, of motors at coordinates that no muscle moves, the residuals of the pelvis
        among them; the squared moment in strengths is part of the cost
    Coordinates that were not measured stay at their default values. Raises OptionError for a weight or motors
    that are not positive.
    """
    check_positive("weight", weight)
    moments, model, fibres = given.moments, given.model, given.fibres
    problem = muscle_problem(
        model, given.problem.trajectory, tendon=given.tendon, motors=motors, paths=given.paths,
        reserves=dict(zip(given.coordinates, given.strength, strict=True)), motion=moments.q,
        smoothing=given.smoothing, width_scale=fibres.width_scale, passive=fibres.passive, least=given.least,
        name="muscles that track a motion",
    )  # fmt: skip
    progress = (moments.time - moments.time[0]) / (moments.time[-1] - moments.time[0])
    external = wrenches_on_links(model.robot, moments.q, moments.time, forces)
    for i, link in enumerate(model.robot.link_names):
        if external[:, i].any():
            force = problem.data(f"force on {link}", progress, external[:, i], clock="progress")
            problem.load(link, force)
    problem.data(MEASURED, progress, moments.q, clock="progress")
    tracked = [i for i, name in enumerate(moments.names) if name not in moments.assumed]
    unit = np.where(moments.is_length, LENGTH, ANGLE)

    def distance(node: Any) -> Any:
        goal = node.data(MEASURED)
        return sum(((node.q[i] - goal[i]) / unit[i]) ** 2 for i in tracked) / len(tracked)

    problem.minimize(trajopt.ExpressionTerm(distance, "distance to the measured motion"), weight)
    if moments.assumed:
        places = [moments.names.index(name) for name in moments.assumed]
        problem.lock(*moments.assumed, at=moments.q[0, places])
    return TrackedMotion(problem, given, forces, moments.names)


def solve_tracking(tracked: TrackedMotion, tol: float = TOLERANCE) -> TrackedUse:
    """The motion and its muscles with the least cost, from the muscles of the measured motion.

    One solve on the mesh as it is. Terms that were added to `tracked.problem` count.
    """
    problem = tracked.problem.on(tracked.problem.trajectory)
    use, moments = solve_muscles(tracked.given, RIGID_TOLERANCE), tracked.given.moments
    known = make_interp_spline(moments.time, np.hstack([moments.q, moments.tau]), 3)(use.time)
    q, reserve = np.split(known, 2, axis=1)
    reserve[:, [tracked.names.index(name) for name in use.coordinates]] = use.reserve
    problem.guess(guess_near(use, ("q", *problem.extra_widths), q=q, reserve=reserve))
    solver = trajopt.Ipopt(tol=tol, options=NEAR)
    return tracked_use(tracked, trajopt.solve(problem, solver, refine=None, starts=1, coarse_to_fine=False))


def tracked_use(tracked: TrackedMotion, solution: trajopt.Solution) -> TrackedUse:
    """The motion and the muscles in a solution of `tracked.problem`."""
    given, time = tracked.given, even_times(solution)
    measured = given.moments
    q, v, a, tau = solution.q(time), solution.v(time), solution.a(time), solution.tau(time)
    goal = solution.value(trajopt.Quantity(f"data:{MEASURED}"), time)
    moments = JointMoments(
        measured.names, time + given.start, q, v, a, tau, measured.is_length, measured.residuals,
        measured.assumed, measured.largest_force,
    )  # fmt: skip
    places = [measured.names.index(name) for name in given.coordinates]
    paths = solution.problem.dynamics.robot.paths  # type: ignore[attr-defined]
    arms, length = paths.moment_arms(q), paths.lengths(q)
    speed = -np.einsum("kmn,kn->km", arms, v)
    wanted = without_springs(given.model, q, v, tau)
    along = PathMotion(time, length, speed, arms[:, :, places], wanted[:, places])
    return TrackedUse(use_along(given, solution, along, tracked.names), moments, goal)
