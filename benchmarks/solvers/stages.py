"""Stages of one solve: `python -m benchmarks.solvers.stages [--repeats N] [--write]`.

The two problems of `benchmarks.solvers.replan`, the two-link arm and a UR5 in minimum time on 20 intervals,
stage by stage: the construction of the problem, its transcription, objective, rows and all derivatives at a
new point, the solve by `InteriorPoint` and by `Ipopt`, all of it for a problem that is stated anew, the
compiled program's step to a goal 0.1 rad away, and a certified optimum. What no Python could be faster than
stands beside them: the robot's compiled loops at the nodes, for a point, and the linear algebra of a dense
step. Milliseconds are processor time, the least of some repeats; stages take turns.

--write : put the table into docs/solving_again.md
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

import dynamics
import trajopt
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.page_rows import put_between_marks
from benchmarks.shared.timing import loaded_machine
from benchmarks.solvers.replan import CASES, INTERVALS, TOLERANCE, goals

GOAL = 1  # number of the seeded goal
LOOPS = "compiled loops alone, at a point"
CERTIFIED = "two-link arm"  # the UR5's switching structure is not confirmed


def stages(case: str) -> dict[str, Callable[[], object]]:
    """Name of the stage -> a function that runs it once."""
    recipe = CASES[case]
    interior, ipopt = trajopt.InteriorPoint(tol=TOLERANCE), trajopt.Ipopt(tol=TOLERANCE)

    def stated() -> trajopt.Problem:
        return recipe.build(intervals=INTERVALS)

    def whole(solver: Any) -> trajopt.Solution:
        return trajopt.solve(stated(), solver, starts=1, coarse_to_fine=False)

    def certified(solver: Any) -> trajopt.Solution:
        return trajopt.solve(stated(), solver, refine=trajopt.Certified())

    problem = stated()
    nlp = trajopt.transcribe(problem)
    compiled = trajopt.compile(stated(), solver=ipopt)
    first = compiled.solve()
    end = next(each.lower for each in problem.constraints if each.name == "q at the end")
    goal, point, multipliers = goals(end)[GOAL], nlp.start.copy(), np.ones(nlp.row_count)

    K, J = np.eye(nlp.variable_count), np.zeros((nlp.row_count, nlp.variable_count))
    q, v, a = np.random.default_rng(0).standard_normal((3, problem.trajectory.nodes.count, end.size))

    def loops() -> None:
        dynamics.rnea(problem.dynamics, q, v, a)
        dynamics.rnea_derivatives(problem.dynamics, q, v, a)
        dynamics.rnea_second_derivatives(problem.dynamics, q, v, a, a)

    def linear_algebra() -> None:
        """J' J, its factors, four directions."""
        factors, _ = lapack.dpotrf(K + blas.dsyrk(1.0, J.T))
        for _ in range(4):
            right = multipliers @ J
            J @ lapack.dpotrs(factors, right)[0]

    def evaluated() -> None:
        point[0] += 1e-9  # what is known at a point is not computed again
        for function in (nlp.objective, nlp.rows, nlp.gradient, nlp.jacobian):
            function(point)
        nlp.hessian(point, multipliers)

    found: dict[str, Callable[[], object]] = {
        "construction of the problem": stated,
        "construction and transcription": lambda: trajopt.transcribe(stated()),
        "all functions at a point": evaluated,
        LOOPS: loops,
        "linear algebra alone, of a dense step": linear_algebra,
        "InteriorPoint's solve": lambda: interior.solve(nlp),
        "IPOPT's solve": lambda: ipopt.solve(nlp),
        "all, InteriorPoint": lambda: whole(interior),
        "all, IPOPT": lambda: whole(ipopt),
        "new goal, compiled and warm": lambda: compiled.solve(q_end=goal, start=first),
    }
    if case == CERTIFIED:
        for name, solver in (("InteriorPoint", interior), ("IPOPT", ipopt)):
            found[f"all, {name}, certified"] = partial(certified, solver)
    return found


def least_milliseconds(repeats: int, cases: Sequence[str]) -> dict[str, dict[str, float]]:
    """Case -> stage -> the least processor milliseconds."""
    found: dict[str, dict[str, float]] = {}
    for case in cases:
        every = stages(case)
        for run in every.values():
            run()
        seconds = dict.fromkeys(every, np.inf)
        for _ in range(repeats):
            for name, run in every.items():
                began = time.process_time()
                run()
                seconds[name] = min(seconds[name], time.process_time() - began)
        found[case] = {name: 1e3 * each for name, each in seconds.items()}
    return found


def table(repeats: int, cases: Sequence[str] = tuple(CASES)) -> str:
    found = least_milliseconds(repeats, cases)
    names = list(dict.fromkeys(name for each in found.values() for name in each))
    lines = [f"| processor ms | {' | '.join(found)} |", "|" + " --- |" * (len(found) + 1)]
    for name in names:
        cells = [f"{each[name]:.2f}" if name in each else "" for each in found.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--repeats", type=int, default=25)
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_args()
    found = table(1, tuple(CASES)[:1]) if given.smallest else table(given.repeats)
    print(found)
    print(loaded_machine())
    if given.write:
        with pages(given.smallest) as docs:
            put_between_marks(docs / "solving_again.md", "benchmarks.solvers.stages", found)


if __name__ == "__main__":
    main()
