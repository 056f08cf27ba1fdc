"""A cart-pole held upright, solved again at every step: `python -m benchmarks.solvers.mpc`.

The motion of two seconds ahead, on 20 intervals of three Radau points with a force that is constant on each
(260 unknowns, 240 equations), is optimized from a state that moves: the plant is one interval further under
the first force found, plus a seeded disturbance. Ours: the compiled program from its guess and from the
solution before, by the default solver and by `InteriorPoint`, and one step of real-time iteration from the
step before. The peers, in the same run, are the same collocation in CasADi with functions expanded, the
solver made once with the state as a parameter: Opti with IPOPT, and, stage by stage, fatrop of CasADi's wheel
(Vanroye and others, IROS 2023), cold and from their solution before. Milliseconds are processor time of one
call, the least of seven in turns with the others'; medians over all steps, of the quotients too.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi
import numpy as np

import trajopt
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine

INTERVALS, POINTS, HORIZON, STEPS, REPEATS, SEED = 20, 3, 2.0, 12, 7, 0
TOLERANCE = 1e-9  # of IPOPT on both sides, the default of ours
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
    """The same program in Opti, its functions expanded, solved from a guess or from its last solution."""

    def __init__(self, warm: bool) -> None:
        self.opti = opti = casadi.Opti()
        C, D, B = casadi.collocation_coeff(casadi.collocation_points(POINTS, "radau"))
        self.state, h = opti.parameter(4), HORIZON / INTERVALS
        self.X, self.U = opti.variable(4, POINTS * INTERVALS), opti.variable(1, INTERVALS)
        first, cost = self.state, 0.0
        for k in range(INTERVALS):
            points = casadi.horzcat(first, self.X[:, POINTS * k : POINTS * (k + 1)])
            slopes, u = points @ C, self.U[k]
            for j in range(POINTS):
                x = points[:, j + 1]
                rates = casadi.vertcat(*rates_of(x[1], x[2], x[3], u, casadi.sin, casadi.cos))
                opti.subject_to(slopes[:, j] == h * rates)
                deviation = sum(WEIGHTS[i] * x[i] ** 2 for i in range(4)) + EFFORT * u**2
                cost = cost + B[j] * h * deviation
            first = points @ D
        opti.subject_to(opti.bounded(-FORCE, self.U, FORCE))
        opti.minimize(cost)
        options: dict[str, Any] = {"print_level": 0, "sb": "yes", "tol": TOLERANCE}
        if warm:
            options |= {"warm_start_init_point": "yes", "mu_init": 1e-6}
            pushes = "bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push"
            options |= {f"warm_start_{name}": 1e-9 for name in pushes}
        opti.solver("ipopt", {"print_time": False, "expand": True}, options)

    def solve(self, state: np.ndarray, before: Any = None) -> Any:
        """The solution, from a rest at the state or from a solution before and its multipliers."""
        opti = self.opti
        opti.set_value(self.state, state)
        if before is None:
            opti.set_initial(self.X, np.tile(state[:, None], (1, POINTS * INTERVALS)))
            opti.set_initial(self.U, 0.0)
        else:
            opti.set_initial(before.value_variables())
            opti.set_initial(opti.lam_g, before.value(opti.lam_g))
        return opti.solve()


class StageProblem:
    """The same program for fatrop, whose controls are the force and the states at the points of a stage."""

    def __init__(self, warm: bool) -> None:
        C, D, B = casadi.collocation_coeff(casadi.collocation_points(POINTS, "radau"))
        h, x, u = HORIZON / INTERVALS, casadi.SX.sym("x", 4), casadi.SX.sym("u", 1 + 4 * POINTS)
        points = casadi.horzcat(x, casadi.reshape(u[1:], 4, POINTS))
        slopes, missed, cost = points @ C, [], 0.0
        for j in range(POINTS):
            at = points[:, j + 1]
            rates = rates_of(at[1], at[2], at[3], u[0], casadi.sin, casadi.cos)
            missed.append(slopes[:, j] - h * casadi.vertcat(*rates))
            cost += B[j] * h * (sum(WEIGHTS[i] * at[i] ** 2 for i in range(4)) + EFFORT * u[0] ** 2)
        stage = casadi.Function("stage", [x, u], [points @ D, casadi.vertcat(*missed), cost])
        state, objective = casadi.MX.sym("state", 4), 0.0
        X = [casadi.MX.sym(f"x{k}", 4) for k in range(INTERVALS + 1)]
        U = [casadi.MX.sym(f"u{k}", 1 + 4 * POINTS) for k in range(INTERVALS)]
        unknowns, rows, equal = [], [], []
        for k in range(INTERVALS):
            after, missed_here, cost_here = stage(X[k], U[k])
            start = [X[0] - state] if k == 0 else []
            rows += [X[k + 1] - after, *start, missed_here, U[k][0]]
            equal += [True] * (4 + 4 * len(start) + 4 * POINTS) + [False]
            unknowns += [X[k], U[k]]
            objective += cost_here
        program = {
            "x": casadi.vertcat(*unknowns, X[-1]),
            "p": state,
            "f": objective,
            "g": casadi.vertcat(*rows),
        }
        options = {"print_time": False, "expand": True, "structure_detection": "auto", "equality": equal}
        options |= {"fatrop.print_level": 0, "fatrop.tol": TOLERANCE}
        if warm:
            options["fatrop.mu_init"] = 1e-6
        self.solver = casadi.nlpsol("solver", "fatrop", program, options)
        self.limit = np.where(equal, 0.0, FORCE)

    def solve(self, state: np.ndarray, before: Any = None) -> Any:
        """The solution, from a rest at the state or from a solution before and its multipliers."""
        if before is None:
            at_rest = np.concatenate([state, [0.0], np.tile(state, POINTS)])
            start = {"x0": np.concatenate([*[at_rest] * INTERVALS, state])}
        else:
            start = {"x0": before["x"], "lam_g0": before["lam_g"], "lam_x0": before["lam_x"]}
        answer = self.solver(p=state, lbg=-self.limit, ubg=self.limit, **start)
        return answer | {"iterations": self.solver.stats()["iter_count"]}


def least(calls: Sequence[Callable[[], Any]], repeats: int) -> list[tuple[float, Any]]:
    """The least milliseconds of every call, in turns with the others, and its last answer."""
    ms, answers = np.full((repeats, len(calls)), np.inf), [None] * len(calls)
    for turn, place in np.ndindex(ms.shape):
        began = time.process_time()
        answers[place] = calls[place]()
        ms[turn, place] = 1e3 * (time.process_time() - began)
    return list(zip(ms.min(axis=0).tolist(), answers, strict=True))


def states(program: trajopt.CompiledProgram, count: int) -> list[np.ndarray]:
    """States of the cart-pole at every step."""
    rng, state, found = np.random.default_rng(SEED), FIRST, []
    for _ in range(count):
        found.append(state)
        motion = program.solve(x_start=state)
        state = motion.q(HORIZON / INTERVALS) + DISTURBANCE * rng.standard_normal(4)
    return found


@dataclass(frozen=True)
class Method:
    """A way to solve every step, with the iterations and cost of an answer; `cost` None: it is no optimum."""

    name: str
    solve: Callable[[np.ndarray, Any], Any]
    iterations: Callable[[Any], int]
    cost: Callable[[Any], float] | None


def methods(program: trajopt.CompiledProgram, warm: bool) -> list[Method]:
    """Ours first, then the peers."""
    opti, stages, interior = OptiProblem(warm), StageProblem(warm), trajopt.InteriorPoint()
    ours = (lambda each: each.iterations), (lambda each: each.objective)
    found = [
        Method("compiled", lambda x, before: program.solve(x_start=x, start=before), *ours),
        Method(
            "compiled, `InteriorPoint`",
            lambda x, before: program.solve(x_start=x, start=before, solver=interior),
            *ours,
        ),
    ]
    if warm:
        period = HORIZON / INTERVALS
        step = lambda x, before: program.step(x, before=before, elapsed=period)  # noqa: E731
        found.append(Method("real-time iteration", step, lambda each: each.result.iterations, None))
    return [
        *found,
        Method(
            "CasADi's Opti",
            opti.solve,
            lambda each: each.stats()["iter_count"],
            lambda each: float(each.value(opti.opti.f)),
        ),
        Method("fatrop", stages.solve, lambda each: each["iterations"], lambda each: float(each["f"])),
    ]


Steps = list[tuple[float, Any]]  # milliseconds and the answer of every step


def steps_of(
    several: Sequence[Method], wanted: Sequence[np.ndarray], warm: bool, repeats: int
) -> list[Steps]:
    """Solves by every method at every step but the first, from a guess or each from its answer before."""
    before = [method.solve(wanted[0], None) if warm else None for method in several]
    found: list[Steps] = [[] for _ in several]
    for state in wanted[1:]:
        calls = [partial(method.solve, state, last) for method, last in zip(several, before, strict=True)]
        for place, each in enumerate(least(calls, repeats)):
            found[place].append(each)
            before[place] = each[1] if warm else None
    return found


def line(method: Method, kind: str, steps: Steps) -> str:
    ms, answers = [each for each, _ in steps], [answer for _, answer in steps]
    count = statistics.median(map(method.iterations, answers))
    cost = "" if method.cost is None else f"{sum(map(method.cost, answers)):.9f}"
    return f"| {method.name}, {kind} | {statistics.median(ms):.2f} | {max(ms):.2f} | {count:g} | {cost} |"


def main() -> None:
    count, repeats = (2, 1) if parser(__doc__).parse_args().smallest else (STEPS, REPEATS)
    program = compiled_problem()
    wanted = states(program, count)
    first = program.solve(x_start=wanted[0])
    print(f"{first.n_variables} unknowns, {first.n_constraints} equations; {loaded_machine()}.")
    print("| method | ms, median | worst | iterations | sum of costs |\n| --- | --- | --- | --- | --- |")
    for warm, kind in ((False, "cold"), (True, "warm")):
        several = methods(program, warm)
        found = steps_of(several, wanted, warm, repeats)
        for method, steps in zip(several, found, strict=True):
            print(line(method, kind, steps), flush=True)
        for method, steps in zip(several[:-2], found, strict=False):
            for peer, others in zip(several[-2:], found[-2:], strict=True):
                ratios = [one / other for (one, _), (other, _) in zip(steps, others, strict=True)]
                print(
                    f"| {method.name} / {peer.name}, {kind} | {statistics.median(ratios):.2f} "
                    f"| {max(ratios):.2f} | | |"
                )


if __name__ == "__main__":
    main()
