"""A new goal 0.1 rad away: `python -m benchmarks.solvers.replan [--write] [--distance 0.1]`.

Two minimum-time problems on 20 intervals, the two-link arm and a UR5, are solved for goals at a distance of
0.1 rad from their own, in seeded directions. Ours: `trajopt.solve` of the problem built anew (one start, one
mesh) and the compiled program from its guess, by IPOPT and by `InteriorPoint`, and the compiled program
from the solution for the first goal. The peer, in the same run and for the two-link arm alone, is multiple
shooting in CasADi (constant torques on 20 intervals, a Runge-Kutta step of order 4 on each, IPOPT to the same
tolerance), its solver made once with the goal as a parameter, cold from the straight line and warm from its
solution for the first goal. Milliseconds are processor time of one call, the least of three. Both discretize
differently, so that each method's optimum is compared with its own cold one.

--write : put the table into docs/solving_again.md
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np

import problems
import trajopt
from benchmarks.gait.symbolic_body import SymbolicBody
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.page_rows import put_between_marks
from benchmarks.shared.timing import loaded_machine

INTERVALS, GOALS, DISTANCE, REPEATS, SEED = 20, 10, 0.1, 3, 0
TOLERANCE = 1e-9  # of IPOPT on both sides
SAME = 1e-8  # relative difference of optima that counts as none
CASES = {"two-link arm": problems.two_link_rr, "UR5": problems.six_axis_arm}
WITH_PEER = ("two-link arm",)  # CasADi takes minutes to expand the dynamics of the UR5


@dataclass
class Row:
    """Time and iterations of one method for all goals."""

    method: str
    seconds: list[float]
    iterations: list[int]
    objectives: list[float]  # NaN where it did not converge

    def line(self, case: str, reference: list[float]) -> str:
        gap = np.array(self.objectives) / np.array(reference) - 1.0
        failed = int(np.isnan(gap).sum())
        same, better = int(np.sum(np.abs(gap) <= SAME)), int(np.sum(gap < -SAME))
        worse, ms = int(np.sum(gap > SAME)), 1e3 * np.array(self.seconds)
        return (
            f"| {case} | {self.method} | {statistics.median(ms):.1f} | {ms.max():.1f} | "
            f"{statistics.median(self.iterations):g} | {same} | {better} | {worse} | {failed} |"
        )


def goals(first: np.ndarray, distance: float = DISTANCE) -> list[np.ndarray]:
    """Goals at the distance from the first one, in seeded directions."""
    directions = np.random.default_rng(SEED).standard_normal((GOALS, first.size))
    return [first + distance * each / np.linalg.norm(each) for each in directions]


def measured(method: str, solve: Callable[[np.ndarray], tuple[float, int]], wanted: list[np.ndarray]) -> Row:
    """Every goal, the least of some repeats; `solve` gives objective and iterations."""
    solve(wanted[0])
    row = Row(method, [], [], [])
    for goal in wanted:
        seconds, answers = [], []
        for _ in range(REPEATS):
            began = time.process_time()
            answers.append(solve(goal))
            seconds.append(time.process_time() - began)
        row.seconds.append(min(seconds))
        row.objectives.append(answers[-1][0])
        row.iterations.append(answers[-1][1])
    return row


def ours(recipe: Any, wanted: list[np.ndarray]) -> list[Row]:
    """Built anew, compiled and cold, compiled and warm."""
    solver, interior = trajopt.Ipopt(tol=TOLERANCE), trajopt.InteriorPoint(tol=TOLERANCE)
    compiled = trajopt.compile(recipe.build(intervals=INTERVALS), solver=solver)
    first = compiled.solve()

    def told(solution: trajopt.Solution) -> tuple[float, int]:
        return solution.objective if solution.converged else np.nan, solution.iterations

    def anew(goal: np.ndarray, by: Any = solver) -> tuple[float, int]:
        problem = recipe.build(intervals=INTERVALS, q_end=tuple(goal))
        return told(trajopt.solve(problem, by, starts=1, coarse_to_fine=False))

    return [
        measured("built anew, cold", anew, wanted),
        measured("built anew, cold, InteriorPoint", lambda goal: anew(goal, interior), wanted),
        measured("compiled, cold", lambda goal: told(compiled.solve(q_end=goal)), wanted),
        measured(
            "compiled, cold, InteriorPoint",
            lambda goal: told(compiled.solve(q_end=goal, solver=interior)),
            wanted,
        ),
        measured("compiled, warm", lambda goal: told(compiled.solve(q_end=goal, start=first)), wanted),
    ]


class MultipleShooting:
    """The same problem by multiple shooting, its end positions a parameter."""

    def __init__(self, problem: trajopt.Problem) -> None:
        self.limits, self.n = problem.dynamics.limits, problem.dynamics.n
        (arc,) = problem.trajectory.arcs
        given = {each.name: each.lower for each in problem.constraints}
        self.start, self.end = given["q at the start"], given["q at the end"]
        n, states = self.n, casadi.MX.sym("X", 2 * self.n, INTERVALS + 1)
        torques, duration, goal = (
            casadi.MX.sym("U", n, INTERVALS),
            casadi.MX.sym("T"),
            casadi.MX.sym("goal", n),
        )
        steps = casadi.repmat(duration / INTERVALS, 1, INTERVALS)
        after = runge_kutta(problem.dynamics).map(INTERVALS)(states[:, :-1], torques, steps)
        last = casadi.vertcat(goal, np.zeros(n))
        nlp = {
            "x": casadi.veccat(duration, states, torques),
            "p": goal,
            "f": duration,
            "g": casadi.vertcat(casadi.vec(states[:, 1:] - after), states[:, -1] - last),
        }
        self.bounds = self._bounds(arc.duration_bounds)
        silent = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False, "ipopt.tol": TOLERANCE}
        warm = {
            "ipopt.warm_start_init_point": "yes",
            "ipopt.mu_init": 1e-6,
            **{
                f"ipopt.warm_start_{name}": 1e-9
                for name in ("bound_push", "mult_bound_push", "slack_bound_push")
            },
        }
        self.cold = casadi.nlpsol("cold", "ipopt", nlp, {**silent, "expand": True})
        self.warm = casadi.nlpsol("warm", "ipopt", nlp, {**silent, **warm, "expand": True})

    def _bounds(self, duration: tuple[float, float]) -> dict[str, Any]:
        n, limits = self.n, self.limits
        low, high = (
            np.concatenate([limits.q_lower, -limits.velocity]),
            np.concatenate([limits.q_upper, limits.velocity]),
        )
        first = np.concatenate([self.start, np.zeros(n)])
        lower = [[duration[0]], first, np.tile(low, INTERVALS), np.tile(limits.torque_lower, INTERVALS)]
        upper = [[duration[1]], first, np.tile(high, INTERVALS), np.tile(limits.torque_upper, INTERVALS)]
        return {"lbx": np.concatenate(lower), "ubx": np.concatenate(upper), "lbg": 0.0, "ubg": 0.0}

    def solve(self, goal: np.ndarray, start: dict[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
        """The answer and its statistics, from the straight line or from another answer."""
        if start is None:
            along = np.linspace(0.0, 1.0, INTERVALS + 1)[:, None]
            line = np.concatenate(
                [self.start + along * (goal - self.start), np.zeros((INTERVALS + 1, self.n))], axis=1
            )
            guess = np.concatenate([[1.0], line.ravel(), np.zeros(self.n * INTERVALS)])
            return self.cold(x0=guess, p=goal, **self.bounds), self.cold.stats()
        given = {"x0": start["x"], "lam_x0": start["lam_x"], "lam_g0": start["lam_g"]}
        return self.warm(p=goal, **given, **self.bounds), self.warm.stats()


def runge_kutta(model: Any) -> Any:
    """One step of order 4 of a robot's state under constant torques, from its symbolic inverse dynamics."""
    n = model.n
    q, v, tau, h = (casadi.SX.sym(name, size) for name, size in (("q", n), ("v", n), ("tau", n), ("h", 1)))
    a = casadi.SX.sym("a", n)
    needed, _ = SymbolicBody(model, q).inverse_dynamics(v, a, {})
    mass, bias = casadi.jacobian(needed, a), casadi.substitute(needed, a, casadi.SX.zeros(n))
    D, LT, order = casadi.ldl(mass)
    rate = casadi.vertcat(v, casadi.ldl_solve(tau - bias, D, LT, order))
    x = casadi.vertcat(q, v)
    f = casadi.Function("f", [x, tau], [rate])
    k1 = f(x, tau)
    k2 = f(x + h / 2 * k1, tau)
    k3 = f(x + h / 2 * k2, tau)
    k4 = f(x + h * k3, tau)
    return casadi.Function("advance", [x, tau, h], [x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])


def peer(recipe: Any, wanted: list[np.ndarray]) -> list[Row]:
    """CasADi multiple shooting, cold and warm."""
    program = MultipleShooting(recipe.build(intervals=INTERVALS))
    first, _ = program.solve(program.end)

    def told(answer: dict[str, Any], statistics_of: Any) -> tuple[float, int]:
        return float(answer["f"]) if statistics_of["success"] else np.nan, statistics_of["iter_count"]

    return [
        measured("CasADi, cold", lambda goal: told(*program.solve(goal)), wanted),
        measured("CasADi, warm", lambda goal: told(*program.solve(goal, first)), wanted),
    ]


def table(distance: float, cases: Sequence[str], count: int) -> str:
    """All rows; optima of a peer are held against its own cold ones."""
    lines = [
        "| case | method | ms, median | worst | iterations | same optimum | better | worse | failed |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in cases:
        recipe = CASES[case]
        problem = recipe.build(intervals=INTERVALS)
        end = next(each.lower for each in problem.constraints if each.name == "q at the end")
        wanted = goals(end, distance)[:count]
        for measure in (ours, peer) if case in WITH_PEER else (ours,):
            rows = measure(recipe, wanted)
            lines += [row.line(case, rows[0].objectives) for row in rows]
    return "\n".join(lines)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--distance", type=float, default=DISTANCE, help="of the goals, in rad")
    given = arguments.parse_args()
    cases, count = (WITH_PEER, 1) if given.smallest else (tuple(CASES), GOALS)
    found = table(given.distance, cases, count)
    print(found)
    if given.write:
        with pages(given.smallest) as docs:
            put_between_marks(docs / "solving_again.md", "benchmarks.solvers.replan", found)
    print(f"{loaded_machine()}, CasADi {casadi.__version__}")


if __name__ == "__main__":
    main()
