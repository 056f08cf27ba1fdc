"""Random motions on which statements are planted: sliders of any scale, arms, several arcs, coarse meshes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dynamics
import problems
import trajopt
from trajopt.splines.basis import SplineBasis

Rng = np.random.Generator


def slider(rng: Rng) -> trajopt.Solution:
    """A mass from rest to rest, in minimum time or at least effort, on a random mesh."""
    limits = dynamics.JointLimits.symmetric(torque=float(rng.uniform(2.0, 50.0)))
    fixed = bool(rng.integers(2))
    span = float(rng.uniform(0.5, 3.0)) if fixed else (0.05, 20.0)
    intervals, degree = int(rng.integers(3, 12)), int(rng.integers(3, 6))
    trajectory = trajopt.Trajectory.uniform(intervals, degree, duration=span)
    problem = trajopt.Problem(_robot(float(rng.uniform(0.5, 5.0)), limits), trajectory)
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=float(rng.uniform(0.3, 2.0)), v=0.0)
    if fixed:
        problem.minimize(trajopt.a**2)
    else:
        problem.minimize(trajopt.duration)
        problem.subject_to_joint_limits()
    solution = trajopt.solve(problem)
    if not fixed:  # torques between nodes are not what is asked here
        problem.constraints[:] = [c for c in problem.constraints if c.name != "torque limits"]
    return solution


def scaled_slider(rng: Rng) -> trajopt.Solution:
    """The same from micrometres and micrograms to kilometres and tonnes, in milliseconds or minutes."""
    mass, length = 10.0 ** rng.uniform(-6.0, 4.0), 10.0 ** rng.uniform(-5.0, 3.0)
    duration = 10.0 ** rng.uniform(-2.0, 2.0)
    trajectory = trajopt.Trajectory.uniform(int(rng.integers(2, 10)), int(rng.integers(3, 7)), duration)
    return _least_acceleration(trajectory, length, mass, weight=duration**3 / length**2)


def rough_slider(rng: Rng) -> trajopt.Solution:
    """Degree 2, or knots at which the acceleration or its rate may jump."""
    degree, repeated = [(2, 1), (3, 2), (4, 2), (4, 3), (3, 1)][int(rng.integers(5))]
    spans = int(rng.integers(3, 9))
    inner = np.sort(rng.uniform(0.05, 0.95, spans - 1))
    breakpoints = np.concatenate([[0.0], inner, [1.0]])
    basis = SplineBasis.clamped(breakpoints, degree, np.full(spans - 1, repeated))
    return _least_acceleration(trajopt.Trajectory((trajopt.Arc(basis, 1.0),)), 1.0, 1.0, fastest=1.2)


def arcs(rng: Rng) -> trajopt.Solution:
    """Two to four arcs of different meshes and durations, continuous up to velocity or acceleration."""
    several = tuple(
        trajopt.Arc(
            SplineBasis.uniform(int(rng.integers(1, 5)), int(rng.integers(3, 6))),
            float(rng.uniform(0.2, 2.0)) if rng.integers(2) else (0.2, 2.0),
        )
        for _ in range(int(rng.integers(2, 5)))
    )
    return _least_acceleration(trajopt.Trajectory(several, continuity=int(rng.integers(1, 3))), 1.0, 1.0)


def arm(rng: Rng) -> trajopt.Solution:
    """Two links under gravity, at least effort."""
    rows = [
        {
            "a": float(rng.uniform(0.2, 1.0)),
            "mass": float(rng.uniform(0.5, 5.0)),
            "centre_of_mass": [-0.2, 0.0, 0.0],
        }
        for _ in range(2)
    ]
    problem = trajopt.Problem(
        dynamics.from_dh(rows, gravity=(0.0, -9.81, 0.0)),
        trajopt.Trajectory.uniform(int(rng.integers(4, 12)), int(rng.integers(3, 6)), duration=1.0),
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=rng.uniform(-1.5, 1.5, 2), v=0.0)
    problem.minimize(trajopt.a**2)
    return trajopt.solve(problem)


def undriven(rng: Rng) -> trajopt.Solution:
    """Cart and pole on a coarse mesh: between the nodes something drives the pole."""
    return trajopt.solve(problems.cart_pole.build(intervals=int(rng.integers(5, 16))))


def periodic(rng: Rng) -> trajopt.Solution:
    """A slider that passes a point half-way and comes back to where it began, with the same velocity."""
    trajectory = trajopt.Trajectory.uniform(int(rng.integers(4, 12)), int(rng.integers(3, 6)), duration=1.0)
    problem = trajopt.Problem(_robot(1.0), trajectory)
    problem.start_at(q=0.0)
    problem.subject_to_periodic(trajopt.q)
    problem.subject_to_periodic(trajopt.v)
    problem.subject_to(trajopt.q, lower=0.5, over=(0.4, 0.6))
    problem.minimize(trajopt.a**2)
    return trajopt.solve(problem)


def with_more(
    rng: Rng, added: Callable[[trajopt.Problem], None], nodes_per_span: int = 4
) -> trajopt.Solution:
    """A slider whose problem has a further cost or equation."""
    intervals, degree = int(rng.integers(3, 12)), int(rng.integers(3, 6))
    trajectory = trajopt.Trajectory.uniform(intervals, degree, 1.0, nodes_per_span)
    problem = trajopt.Problem(_robot(1.0), trajectory)
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    added(problem)
    return trajopt.solve(problem)


def with_extra(rng: Rng) -> trajopt.Solution:
    """A slider with an additional curve w that equals the square of the velocity, at the nodes."""

    @trajopt.term
    def gap(node):
        return node.extra("w") - node.v**2

    def added(problem: trajopt.Problem) -> None:
        problem.extra("w")
        problem.subject_to(gap, equals=0.0, name="planted")

    return with_more(rng, added, nodes_per_span=2)


def _robot(mass: float, limits: dynamics.JointLimits | None = None) -> dynamics.RigidBodyModel:
    row: dict = {"a": 0.0, "mass": mass, "kind": "prismatic"}
    return dynamics.from_dh([row | ({"limits": limits} if limits else {})], gravity=(0.0, 0.0, 0.0))


def _least_acceleration(
    trajectory: trajopt.Trajectory, length: float, mass: float, weight: float = 1.0, fastest: float = np.inf
) -> trajopt.Solution:
    problem = trajopt.Problem(_robot(mass), trajectory)
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=length, v=0.0)
    if np.isfinite(fastest):
        problem.subject_to(trajopt.v, upper=fastest, name="speed")
    problem.minimize(trajopt.a**2, weight=weight)
    return trajopt.solve(problem)
