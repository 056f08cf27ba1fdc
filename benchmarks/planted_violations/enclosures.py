"""Limits near the largest value of what Taylor models enclose: corners, jumps, places, loads.

As in `peaks`, every function states one thing. Each bound is beyond the largest value that a fine
grid shows or short of it, by much or by little: an enclosure that is too narrow proves what is false.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dynamics
import trajopt
from benchmarks.planted_violations import motions
from benchmarks.planted_violations.peaks import OF_RANGE, TOLERANCE, Planted, Rng

GRID = 400_001
OFFSETS = (-0.1, -1e-4, 1e-4, 0.1)  # of the largest value's size: short of it, or beyond


def corner(rng: Rng) -> Planted:
    """|x|, min, max and comparisons of waves over the path."""
    import casadi

    a, b, c = (float(rng.uniform(1.0, 8.0)) for _ in range(3))
    shift, level = float(rng.uniform(-1.0, 1.0)), float(rng.uniform(-0.5, 0.5))
    kind = int(rng.integers(4))

    def values(q: Any, v: Any, by: Any) -> Any:
        one, other = by.sin(a * q + shift) - level, by.cos(b * q) + 0.1 * c * v
        several: tuple[Callable[[], Any], ...] = (
            lambda: by.fabs(one) - 0.5 * by.fabs(other),
            lambda: by.fmax(one, by.fmin(other, level)),
            lambda: by.fmin(by.fabs(one), 0.3) * other,
            lambda: by.sign(one) * one + by.fmax(other, 0.0),
        )
        return several[kind]()

    return _near_its_largest(rng, values, casadi)


def curved(rng: Rng) -> Planted:
    """tanh, atan, atan2, roots, logarithms and exponentials, flat or steep."""
    import casadi

    steep, shift = 10.0 ** rng.uniform(-1.0, 2.0), float(rng.uniform(-1.0, 1.0))
    kind = int(rng.integers(5))

    def values(q: Any, v: Any, by: Any) -> Any:
        x = steep * (q + 0.3 * v + shift)
        several: tuple[Callable[[], Any], ...] = (
            lambda: by.tanh(x) + 0.2 * v,
            lambda: by.arctan(x) * by.cos(3.0 * q),
            lambda: by.arctan2(by.sin(x), 1.1 + by.cos(2.0 * q)),
            lambda: by.sqrt(0.01 + x * x) / (1.0 + steep),
            lambda: by.log(1.0 + by.exp(-x * x)),
        )
        return several[kind]()

    return _near_its_largest(rng, values, casadi)


def place(rng: Rng) -> Planted:
    """A link's place, its velocity or its distance from a sphere, near the least or largest on the motion."""
    solution = motions.arm(rng)
    model: Any = solution.problem.dynamics
    link, axis = "joint2_tip", int(rng.integers(2))
    centre = rng.uniform(-1.0, 1.0, 3) * [1.0, 1.0, 0.1]
    kind = int(rng.integers(3))

    def values(t: np.ndarray) -> np.ndarray:
        found = dynamics.forward_kinematics(model, solution.q(t), [link]).position[:, 0]
        if kind == 0:
            return found[:, axis]
        if kind == 1:
            jacobian = dynamics.frame_jacobian(model, solution.q(t), link)
            return (jacobian @ solution.v(t)[:, :, None])[:, 3 + axis, 0]
        return 0.2 - np.sqrt(np.square(found - centre).sum(axis=1) + 1e-12)

    bound = _bound(rng, values(np.linspace(0.0, 1.0, GRID)))
    if kind == 2:
        term = trajopt.library.sphere_clearance(link, centre, 0.1, 0.1)
        solution.problem.subject_to(term, lower=-bound, name="planted")
    else:
        width, name = (3, "position") if kind == 0 else (6, "velocity")
        upper = np.full(width, np.inf)
        upper[axis if kind == 0 else 3 + axis] = bound
        solution.problem.subject_to(trajopt.Quantity(f"{name}:{link}"), upper=upper, name="planted")
    most = min(TOLERANCE, OF_RANGE * max(abs(bound), TOLERANCE))
    return Planted(solution, lambda t: values(t) - bound, 0.0, 1.0, (), most)


def load(rng: Rng) -> Planted:
    """A torque of an arm that carries a load, which varies over time and with the motion."""
    solution = motions.arm(rng)
    model: Any = solution.problem.dynamics
    link, push = model.link_names[-1], rng.normal(size=6) * [0.0, 0.0, 1.0, 3.0, 3.0, 0.0]

    @trajopt.term
    def planted_load(node):
        return [float(p) * (1.0 + node.t[0] * node.v[0]) for p in push]

    solution.problem.load(link, planted_load)
    joint = int(rng.integers(2))

    def values(t: np.ndarray) -> np.ndarray:
        external = np.zeros((t.size, len(model.link_names), 6))
        external[:, -1] = push * (1.0 + t * solution.v(t)[:, 0])[:, None]
        return dynamics.rnea(model, solution.q(t), solution.v(t), solution.a(t), external)[:, joint]

    bound, upper = _bound(rng, values(np.linspace(0.0, 1.0, GRID))), np.full(2, np.inf)
    upper[joint] = bound
    solution.problem.subject_to(trajopt.tau, upper=upper, name="planted")
    most = min(TOLERANCE, OF_RANGE * max(abs(bound), TOLERANCE))
    return Planted(solution, lambda t: values(t) - bound, 0.0, 1.0, (), most)


def _near_its_largest(rng: Rng, values: Callable[[Any, Any, Any], Any], casadi: Any) -> Planted:
    """A limit on a function of position and velocity near the largest value that it has."""
    solution = motions.slider(rng)

    @trajopt.term
    def planted_function(node):
        return values(node.q, node.v, casadi)

    def on_path(t: np.ndarray) -> np.ndarray:
        return values(solution.q(t)[:, 0], solution.v(t)[:, 0], np)

    bound = _bound(rng, on_path(np.linspace(0.0, solution.duration, GRID)))
    solution.problem.subject_to(planted_function, upper=bound, name="planted")
    most = min(TOLERANCE, OF_RANGE * max(abs(bound), TOLERANCE))
    return Planted(solution, lambda t: on_path(t) - bound, 0.0, solution.duration, (), most)


def _bound(rng: Rng, values: np.ndarray) -> float:
    return float(values.max() + float(rng.choice(OFFSETS)) * (np.ptp(values) or 1.0))
