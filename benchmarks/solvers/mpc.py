"""A cart-pole held upright, solved again at every step: `python -m benchmarks.solvers.mpc`.

The motion of two seconds ahead, on 20 intervals of three Radau points with a force that is constant on each
(260 unknowns, 240 equations), is optimized from a state that moves: the plant is one interval further under
the first force found, plus a seeded disturbance. Ours: the compiled program from its guess and from the
solution before, `trajopt.Ipopt`'s tolerance. The peer, in the same run, is the same collocation in CasADi's
Opti with IPOPT, its solver made once with the state as a parameter, cold and from its solution before.
Milliseconds are processor time of one call, the least of three, the medians over all steps.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import casadi
import numpy as np

import trajopt

INTERVALS, POINTS, HORIZON, STEPS, REPEATS, SEED = 20, 3, 2.0, 12, 3, 0
FORCE = 20.0  # N, the largest
WEIGHTS = (10.0, 100.0, 1.0, 1.0)  # of the squares of place, angle from upright, speed and spin
EFFORT = 0.01  # of the squared force
CART, POLE, LENGTH, GRAVITY = 1.0, 0.3, 0.5, 9.81  # kg, kg, m, m/s^2
FIRST = np.array([0.4, 0.3, 0.0, 0.0])
DISTURBANCE = 0.02  # standard deviation, in every state


def rates_of(angle: Any, speed: Any, spin: Any, force: Any, sin: Any, cos: Any) -> list[Any]:
    """x' of a cart and its pole, the angle from upright."""
    s, c = sin(angle), cos(angle)
    inertia = CART + POLE * s**2
    return [
        speed,
        spin,
        (force - POLE * LENGTH * s * spin**2 + POLE * GRAVITY * s * c) / inertia,
        (c * force - POLE * LENGTH * s * c * spin**2 + (CART + POLE) * GRAVITY * s) / (LENGTH * inertia),
    ]


def compiled_problem() -> trajopt.CompiledProgram:
    """The problem with its first state as an input."""

    def rates(node: Any) -> list[Any]:
        return rates_of(node.angle, node.speed, node.spin, node.force, np.sin, np.cos)

    @trajopt.term
    def deviation(node: Any) -> Any:
        states = (node.x, node.angle, node.speed, node.spin)
        return sum(w * each**2 for w, each in zip(WEIGHTS, states, strict=True)) + EFFORT * node.force**2

    system = trajopt.system(("x", "angle", "speed", "spin"), ("force",), rates)
    mesh = trajopt.Trajectory.collocation(INTERVALS, POINTS, "radau", duration=HORIZON)
    problem = trajopt.Problem(system, mesh, name="cart-pole MPC")
    problem.control("force", -FORCE, FORCE, degree=0)
    problem.start_at(x=FIRST)
    problem.minimize(deviation)
    return trajopt.compile(problem)


class OptiProblem:
    """The same program in Opti."""

    def __init__(self) -> None:
        opti = casadi.Opti()
        tau = casadi.collocation_points(POINTS, "radau")
        C, D, B = casadi.collocation_coeff(tau)
        x0 = opti.parameter(4)
        h = HORIZON / INTERVALS
        start, cost = x0, 0.0
        self.unknowns = []
        for _ in range(INTERVALS):
            X, u = opti.variable(4, POINTS), opti.variable()
            self.unknowns += [X, u]
            opti.subject_to(opti.bounded(-FORCE, u, FORCE))
            Z = casadi.horzcat(start, X)
            slopes = Z @ C
            for j in range(POINTS):
                x = X[:, j]
                f = casadi.vertcat(*rates_of(x[1], x[2], x[3], u, casadi.sin, casadi.cos))
                opti.subject_to(slopes[:, j] == h * f)
                deviation = sum(WEIGHTS[i] * x[i] ** 2 for i in range(4)) + EFFORT * u**2
                cost = cost + B[j] * h * deviation
            start = Z @ D
        opti.minimize(cost)
        silent = {"print_level": 0, "sb": "yes", "tol": 1e-9, "mu_init": 1e-6}
        warm = {"warm_start_init_point": "yes", **{f"warm_start_{name}": 1e-9 for name in (
            "bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push")}}
        both = ({"print_level": 0, "sb": "yes", "tol": 1e-9}, {**silent, **warm})
        every = casadi.vertcat(*[casadi.vec(each) for each in self.unknowns])
        lam = opti.lam_g
        opti_options = {"print_time": False, "expand": True}
        self.by = []
        for options in both:
            opti.solver("ipopt", opti_options, options)
            self.by.append(opti.to_function("solve", [x0, every, lam], [every, lam, opti.f]))
        self.size = every.numel(), lam.numel()

    def cold(self, state: np.ndarray) -> Any:
        y = np.tile(np.concatenate([np.tile(state, POINTS), [0.0]]), INTERVALS)
        return self.by[0](state, y, np.zeros(self.size[1]))

    def warm(self, state: np.ndarray, before: Any) -> Any:
        return self.by[1](state, before[0], before[1])


def least(call: Callable[[], Any]) -> tuple[float, Any]:
    seconds, answer = [], None
    for _ in range(REPEATS):
        began = time.process_time()
        answer = call()
        seconds.append(time.process_time() - began)
    return 1e3 * min(seconds), answer


def states(program: trajopt.CompiledProgram) -> list[np.ndarray]:
    """Where the cart-pole is at every step."""
    rng, state, found = np.random.default_rng(SEED), FIRST, []
    for _ in range(STEPS):
        found.append(state)
        motion = program.solve(x_start=state)
        state = motion.q(HORIZON / INTERVALS) + DISTURBANCE * rng.standard_normal(4)
    return found


def line(name: str, ms: Sequence[float], iterations: Sequence[int], costs: Sequence[float]) -> str:
    steps = f"{statistics.median(iterations):g}" if iterations else "-"
    return f"| {name} | {statistics.median(ms):.2f} | {max(ms):.2f} | {steps} | {sum(costs):.9f} |"


def main() -> None:
    program = compiled_problem()
    wanted = states(program)
    peer = OptiProblem()
    first, first_peer = program.solve(x_start=wanted[0]), peer.cold(wanted[0])
    print(f"{first.n_variables} unknowns, {first.n_constraints} rows; Opti {peer.size}")
    print("| method | ms, median | worst | iterations | sum of costs |\n| --- | --- | --- | --- | --- |")
    for name in ("cold", "warm"):
        rows: list[tuple[float, int, float]] = []
        before = first
        for state in wanted[1:]:
            start = before if name == "warm" else None
            ms, before = least(lambda: program.solve(x_start=state, start=start))  # noqa: B023
            rows.append((ms, before.iterations, before.objective))
        print(line(f"compiled, {name}", *zip(*rows, strict=True)), flush=True)
    for name in ("cold", "warm"):
        rows, before = [], first_peer
        for state in wanted[1:]:
            if name == "warm":
                ms, before = least(lambda: peer.warm(state, before))  # noqa: B023
            else:
                ms, before = least(lambda: peer.cold(state))  # noqa: B023
            rows.append((ms, 0, float(before[2])))
        print(line(f"CasADi's Opti, {name}", *zip(*rows, strict=True)), flush=True)


if __name__ == "__main__":
    main()
