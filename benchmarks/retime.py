"""Time-optimal motions of a UR5 on given paths beside toppra, durations and seconds in one run.

    python -m benchmarks.retime [paths] [--jerk]

Random splines through twenty waypoints; speed and torque of the URDF (the torques scaled by `TORQUE`, so that
they matter) and 15 rad/s^2. "same grid": the rows at both ends of a segment alone, as toppra's interpolation
scheme has them, on a grid that holds the path's breakpoints; "default": `moves.retime` as it is called.
toppra's violations between grid points are sampled on the motion that its profile stands for.

--jerk: instead, `moves.retime` within 500 rad/s^3 beside a local optimum of `trajopt.on_path` on 320
intervals of s(t), which is searched from its motion and keeps the limits at nodes alone.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import PPoly

import dynamics
import trajopt
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine, time_of, with_seconds
from problems import moves, urdf_arm
from problems.moves.motion_limits import MotionLimits, limits_of
from problems.moves.path_quantities import acceleration_on, torque_on
from problems.moves.retimed_motion import RetimedMotion
from problems.moves.speed_profile import fastest_profile
from problems.moves.spline_path import path_of

ACCELERATION, TORQUE, JERK = 15.0, 0.4, 500.0
DEGREE, TOGETHER = 4, 200_000  # of s(t); samples of all limits that are taken at once


@dataclass(frozen=True)
class Size:
    """Waypoints of a path, points of its grid; intervals of s(t) and samples of limits, Hz, with jerk."""

    waypoints: int = 20
    points: int = 1000
    fine: int = 320
    rate: float = 1e6


SMALLEST = Size(4, 50, 10, 1e3)


def toppra_speeds(model: Any, path: Any, grid: np.ndarray, limits: Any) -> np.ndarray:
    """s'^2 by toppra with its interpolation scheme and Seidel's method."""
    from toppra import SplineInterpolator, algorithm, constraint

    scheme = constraint.DiscretizationType.Interpolation
    bounds = [np.stack([-limit, limit], axis=1) for limit in (limits.velocity, limits.acceleration)]
    torques = np.stack([limits.torque_lower, limits.torque_upper], axis=1)
    constraints = [
        constraint.JointVelocityConstraint(bounds[0]),
        constraint.JointAccelerationConstraint(bounds[1], discretization_scheme=scheme),
        constraint.JointTorqueConstraint(
            lambda q, v, a: dynamics.rnea(model, q, v, a),
            torques,
            np.zeros(model.n),
            discretization_scheme=scheme,
        ),
    ]
    spline = SplineInterpolator(path.waypoints, path(path.waypoints))
    instance = algorithm.TOPPRA(constraints, spline, gridpoints=grid, solver_wrapper="seidel")
    _, rate, _ = instance.compute_parameterization(0.0, 0.0)
    return rate**2


def end_speeds(model: Any, path: Any, grid: np.ndarray, limits: Any) -> np.ndarray:
    """s'^2 from the same rows as toppra's: the values at both ends of each segment."""
    quantities = acceleration_on(path, grid, limits), torque_on(model, path, grid, limits)
    rows = np.concatenate([quantity.rows(at_ends=True) for quantity in quantities], axis=1)
    return fastest_profile(rows, (limits.velocity / np.abs(path(grid, 1))).min(axis=1) ** 2)


def motion_of(model: Any, path: Any, limits: Any, grid: np.ndarray, speeds: np.ndarray) -> RetimedMotion:
    return RetimedMotion(model, path, limits, grid, speeds, moves.MotionCertificate(()))


def compare(model: Any, waypoints: np.ndarray, size: Size) -> dict[str, float]:
    """Durations relative to toppra's, seconds, and excesses, on one path."""
    torque = TORQUE * model.limits.torque_upper
    path, limits = path_of(model, waypoints), limits_of(model, None, ACCELERATION, torque)
    grid = path.grid(size.points)
    theirs = motion_of(model, path, limits, grid, toppra_speeds(model, path, grid, limits))
    same = motion_of(model, path, limits, grid, end_speeds(model, path, grid, limits))
    ours = moves.retime(model, waypoints, acceleration=ACCELERATION, torque=torque)
    return {
        "toppra duration s": theirs.duration,
        "toppra excess": theirs.verify().excess,
        "toppra seconds": time_of(lambda: toppra_speeds(model, path, grid, limits)),
        "same grid duration - 1": same.duration / theirs.duration - 1.0,
        "same grid seconds": time_of(lambda: end_speeds(model, path, grid, limits)),
        "default duration - 1": ours.duration / theirs.duration - 1.0,
        "default excess": max(ours.certificate.excess, ours.verify().excess),
        "default seconds": time_of(
            lambda: moves.retime(model, waypoints, acceleration=ACCELERATION, torque=torque)
        ),
    }


def on_path(ours: moves.SmoothMotion, intervals: int) -> trajopt.Problem:
    """The same as an optimal control problem for s(t), which starts at our motion."""
    path, limits, T = ours.path, ours.limits, ours.duration
    low, high = path.breakpoints[[0, -1]].tolist()
    along = trajopt.on_path(ours.model, PPoly(path.coefficients, path.breakpoints), (low, high))
    problem = trajopt.Problem(along, trajopt.Trajectory.uniform(intervals, DEGREE, (0.1, 100.0)))
    problem.start_at(q=low, v=0.0, a=0.0)
    problem.end_at(q=high, v=0.0, a=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to(trajopt.v, lower=0.0)
    for name, lower, upper in bounds_of(limits):
        problem.subject_to(trajopt.Quantity(name), lower, upper)
    problem.guess(lambda s: ours.s(np.clip(s, 0.0, 1.0) * T)[..., None], duration=T)
    return problem


def bounds_of(limits: MotionLimits) -> list[tuple[str, np.ndarray, np.ndarray]]:
    return [
        ("joint_velocity", -limits.velocity, limits.velocity),
        ("joint_acceleration", -limits.acceleration, limits.acceleration),
        ("joint_jerk", -limits.jerk, limits.jerk),
        ("motor_torque", limits.torque_lower, limits.torque_upper),
    ]


def largest_excess(motion: moves.SmoothMotion, rate: float) -> float:
    """Relative to the limits, at so many Hz."""
    times = np.arange(0.0, motion.duration, 1.0 / rate)
    parts = np.array_split(times, -(-len(times) // TOGETHER))
    return max(float(each.max()) for part in parts for each in motion.excess_at(part, motion.limits).values())


def with_jerk(model: Any, waypoints: np.ndarray, size: Size) -> str:
    """Duration and processor seconds on one path, and how much longer it takes than on a fine mesh."""
    given = {"acceleration": ACCELERATION, "torque": TORQUE * model.limits.torque_upper, "jerk": JERK}
    ours, seconds = with_seconds(lambda: moves.retime(model, waypoints, **given))
    assert isinstance(ours, moves.SmoothMotion)
    intervals, T = len(ours.breakpoints) - 1, ours.duration
    solver = trajopt.TrustRegionSqp(tol=1e-4, max_iterations=200)
    least = trajopt.solve(on_path(ours, size.fine), solver, refine=None, starts=1, coarse_to_fine=False)
    every = ours.converged and all(line.evidence == "proved" for line in ours.certificate.lines)
    excess = f"excess at {size.rate:g} Hz {largest_excess(ours, size.rate):+.0e}"
    limits = f"limits {'proved' if every else 'not proved'}, {excess}"
    return (
        f"{T:.3f} s on {intervals} spans, {seconds:.2f} processor seconds ({limits}); {least.duration:.3f} s "
        f"on {size.fine} intervals ({least.status.name}): {T / least.duration - 1.0:+.2%}"
    )


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("paths", type=int, nargs="?", default=5)
    arguments.add_argument("--jerk", action="store_true")
    asked = arguments.parse_args()
    size, count = (SMALLEST, 1) if asked.smallest else (Size(), asked.paths)
    model = dynamics.load_urdf(urdf_arm.source("ur5"))
    rng = np.random.default_rng(0)
    print(loaded_machine())
    waypoints = rng.uniform(-1.5, 1.5, (count, size.waypoints, model.n))
    if asked.jerk:
        for path in waypoints:
            print(with_jerk(model, path, size), flush=True)
        return
    results = [compare(model, path, size) for path in waypoints]
    print(f"{'':24} {'median':>12} {'largest':>12}   of {count} paths")
    for name in results[0]:
        values = [result[name] for result in results]
        print(f"{name:24} {statistics.median(values):12.3e} {max(values):12.3e}")


if __name__ == "__main__":
    main()
