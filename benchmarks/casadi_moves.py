"""Moves of an arm by CasADi and IPOPT: direct transcription with constant accelerations, built once.

    x = (q, v) at the ends of N equal intervals, u = a constant in each, T free;  the steps are exact,
    minimize T   subject to   the limits of q, v and of tau = rnea(q, v, a) at both ends of every interval

The torques are a symbolic recursion of Newton and Euler, which CasADi differentiates. The program is built
once; a move sets two poses and the guess, a straight line in the time that the fastest joint needs twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np

from benchmarks.gait.symbolic_body import SymbolicBody
from dynamics import RigidBodyModel

OPTIONS = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": 1e-9}


def mover(model: RigidBodyModel, intervals: int) -> Callable[[np.ndarray, np.ndarray], float | None]:
    """A function (first, last pose) -> minimum time in s, None where IPOPT does not converge."""
    n, limits = model.n, model.limits
    q, v, a = (casadi.MX.sym(name, n, intervals + (name != "a")) for name in "qva")
    duration = casadi.MX.sym("T")
    step = duration / intervals
    ends = (
        q[:, 1:] - q[:, :-1] - step * v[:, :-1] - step**2 / 2 * a,
        v[:, 1:] - v[:, :-1] - step * a,
    )
    at_node = torques_of(model).map(2 * intervals)
    states = (casadi.horzcat(q[:, :-1], q[:, 1:]), casadi.horzcat(v[:, :-1], v[:, 1:]))
    tau = at_node(*states, casadi.horzcat(a, a))
    rows = casadi.veccat(*ends, tau)
    program = {"x": casadi.veccat(duration, q, v, a), "f": duration, "g": rows}
    solver = casadi.nlpsol("moves", "ipopt", program, OPTIONS)
    equal = np.zeros(2 * n * intervals)
    row_bounds = [
        np.concatenate([equal, np.tile(limit, 2 * intervals)])
        for limit in (limits.torque_lower, limits.torque_upper)
    ]

    fastest = np.asarray(limits.velocity)

    def move(first: np.ndarray, last: np.ndarray) -> float | None:
        guessed = 2.0 * float(np.max(np.abs(last - first) / fastest))
        line = first + np.linspace(0.0, 1.0, intervals + 1)[:, None] * (last - first)
        speed = np.tile((last - first) / guessed, (intervals + 1, 1))
        start = np.concatenate([[guessed], line.ravel(), speed.ravel(), np.zeros(n * intervals)])
        lower = bounds(0.01, limits.q_lower, -fastest, -np.inf, first, last)
        upper = bounds(100.0, limits.q_upper, fastest, np.inf, first, last)
        answer = solver(x0=start, lbx=lower, ubx=upper, lbg=row_bounds[0], ubg=row_bounds[1])
        return float(answer["f"]) if solver.stats()["success"] else None

    def bounds(
        duration: float,
        poses: np.ndarray,
        speeds: np.ndarray,
        rest: float,
        first: np.ndarray,
        last: np.ndarray,
    ) -> np.ndarray:
        """Bounds of all unknowns on one side, both ends at rest in their poses."""
        q_side, v_side = np.tile(poses, (intervals + 1, 1)), np.tile(speeds, (intervals + 1, 1))
        q_side[0], q_side[-1], v_side[[0, -1]] = first, last, 0.0
        return np.concatenate([[duration], q_side.ravel(), v_side.ravel(), np.full(n * intervals, rest)])

    return move


def torques_of(model: RigidBodyModel) -> Any:
    """tau(q, v, a) of one node as a CasADi function."""
    q, v, a = (casadi.SX.sym(name, model.n) for name in "qva")
    tau, _ = SymbolicBody(model, q).inverse_dynamics(v, a, {})
    return casadi.Function("tau", [q, v, a], [casadi.densify(tau)])
