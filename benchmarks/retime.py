"""Time-optimal motions of a UR5 on given paths beside toppra, durations and seconds in one run.

    python -m benchmarks.retime [paths]

Random splines through twenty waypoints; speed and torque of the URDF (the torques scaled by `TORQUE`, so that
they matter) and 15 rad/s^2. "same grid": the rows at both ends of a segment alone, as toppra's interpolation
scheme has them, on a grid that holds the path's breakpoints; "default": `moves.retime` as it is called.
toppra's violations between grid points are sampled on the motion that its profile stands for.
"""

from __future__ import annotations

import statistics
import sys
from importlib.resources import files
from typing import Any

import numpy as np

import dynamics
from benchmarks.timing import loaded_machine, time_of
from problems import moves
from problems.moves.motion_limits import limits_of
from problems.moves.path_quantities import acceleration_on, torque_on
from problems.moves.retimed_motion import RetimedMotion
from problems.moves.speed_profile import fastest_profile
from problems.moves.spline_path import path_of

WAYPOINTS, POINTS, ACCELERATION, TORQUE = 20, 1000, 15.0, 0.4


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


def compare(model: Any, waypoints: np.ndarray) -> dict[str, float]:
    """Durations relative to toppra's, seconds, and excesses, on one path."""
    torque = TORQUE * model.limits.torque_upper
    path, limits = path_of(model, waypoints), limits_of(model, None, ACCELERATION, torque)
    grid = path.grid(POINTS)
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


def main(paths: int) -> None:
    source = (files("problems") / "robots" / "ur5.urdf").read_text(encoding="utf-8")
    model = dynamics.load_urdf(source)
    rng = np.random.default_rng(0)
    results = [compare(model, rng.uniform(-1.5, 1.5, (WAYPOINTS, model.n))) for _ in range(paths)]
    print(loaded_machine())
    print(f"{'':24} {'median':>12} {'largest':>12}   of {paths} paths")
    for name in results[0]:
        values = [result[name] for result in results]
        print(f"{name:24} {statistics.median(values):12.3e} {max(values):12.3e}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
