"""The Rayleigh oscillator beside fatrop: `python -m benchmarks.solvers.rayleigh [--repeats 3]`.

The problem of `benchmarks.systems`, on 20, 80 and 320 intervals of three Radau points. Ours, by IPOPT and by
`InteriorPoint`: the compiled program from its guess and from its own solution, and all from the construction
of the problem on. The peer is the same collocation stage by stage for fatrop of CasADi's wheel (Vanroye and
others, IROS 2023), functions expanded, from the same guess: its solve, and its construction and solve; where
CasADi has no fatrop, the rows say so. Milliseconds are processor time, the least of some repeats in turns;
ratios are of fatrop's solve, with construction of its construction and solve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi
import numpy as np

import trajopt
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine
from benchmarks.solvers.mpc import least
from benchmarks.systems import (
    DURATION,
    ONE_SOLVE,
    START,
    TOLERANCE,
    quadrature_weights,
    rayleigh,
    rayleigh_rates,
)

SIZES, POINTS, REPEATS = (20, 80, 320), 3, 3


@dataclass(frozen=True)
class Answer:
    """The objective and iterations of one solve."""

    objective: float
    iterations: int


def fatrop(intervals: int) -> Callable[[], Answer]:
    """The solve of the program, whose controls are those and the states at the points of a stage."""
    count, h = 2 * POINTS, DURATION / intervals
    points = casadi.collocation_points(POINTS, "radau")
    slopes, ends, _ = casadi.collocation_coeff(points)
    weights = quadrature_weights(np.array(points))
    x, u = casadi.SX.sym("x", 2), casadi.SX.sym("u", 3 * POINTS)
    states = casadi.horzcat(x, casadi.reshape(u[:count], 2, POINTS))
    missed, limited, cost = [], [], 0.0
    for j in range(POINTS):
        place, speed, control = states[0, j + 1], states[1, j + 1], u[count + j]
        rates = casadi.vertcat(*rayleigh_rates(place, speed, control))
        missed.append((states @ slopes)[:, j] - h * rates)
        cost += h * weights[j] * (control**2 + place**2)
        limited.append(control + place / 6.0)
    stage = casadi.Function("stage", [x, u], [states @ ends, casadi.vertcat(*missed, *limited), cost])
    X = [casadi.MX.sym(f"x{k}", 2) for k in range(intervals + 1)]
    U = [casadi.MX.sym(f"u{k}", 3 * POINTS) for k in range(intervals)]
    unknowns, rows, equal, objective = [], [], [], 0.0
    for k in range(intervals):
        after, of_stage, of_cost = stage(X[k], U[k])
        start = [X[0] - casadi.DM(START)] if k == 0 else []
        rows += [X[k + 1] - after, *start, of_stage]
        equal += [True] * (2 + 2 * len(start) + count) + [False] * POINTS
        unknowns += [X[k], U[k]]
        objective += of_cost
    program = {"x": casadi.vertcat(*unknowns, X[-1]), "f": objective, "g": casadi.vertcat(*rows)}
    options = {"print_time": False, "expand": True, "structure_detection": "auto", "equality": equal}
    options |= {"fatrop.print_level": 0, "fatrop.tol": TOLERANCE}
    solver = casadi.nlpsol("solver", "fatrop", program, options)
    guess = np.concatenate(
        [*[np.concatenate([START, np.tile(START, POINTS), np.zeros(POINTS)])] * intervals, START]
    )
    lower = np.where(equal, 0.0, -np.inf)

    def solve() -> Answer:
        found = solver(x0=guess, lbg=lower, ubg=0.0)
        return Answer(float(found["f"]), int(solver.stats()["iter_count"]))

    return solve


def calls_of(intervals: int) -> dict[str, Callable[[], Any]]:
    """Name of a row -> its solve."""
    problem = rayleigh(intervals, POINTS)
    found: dict[str, Callable[[], Any]] = {}
    for name, solver in (
        ("IPOPT", trajopt.Ipopt(tol=TOLERANCE)),
        ("`InteriorPoint`", trajopt.InteriorPoint()),
    ):
        compiled = trajopt.compile(problem, solver=solver)
        first = compiled.solve()
        found[f"compiled, {name}"] = compiled.solve
        found[f"compiled and warm, {name}"] = partial(compiled.solve, start=first)
        found[f"with construction, {name}"] = partial(_constructed, intervals, solver)
    if casadi.has_nlpsol("fatrop"):
        found |= {"fatrop": fatrop(intervals), "fatrop, with construction": lambda: fatrop(intervals)()}
    return found


def _constructed(intervals: int, solver: Any) -> Any:
    return trajopt.solve(rayleigh(intervals, POINTS), solver, **ONE_SOLVE)


def lines(intervals: int, repeats: int) -> list[str]:
    """The rows of one size."""
    calls = calls_of(intervals)
    found = dict(zip(calls, least(list(calls.values()), repeats), strict=True))
    size, rows = f"{intervals} x {POINTS}", []
    for name, (ms, answer) in found.items():
        peer = found.get("fatrop, with construction" if "with construction" in name else "fatrop")
        ratio = "no fatrop in CasADi" if peer is None else f"{ms / peer[0]:.2f}"
        rows.append(
            f"| {size} | {name} | {ms:.1f} | {ratio} | {answer.iterations} | {answer.objective:.8f} |"
        )
    return rows


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--repeats", type=int, default=REPEATS)
    given = arguments.parse_args()
    sizes, repeats = ((4,), 1) if given.smallest else (SIZES, given.repeats)
    print(f"{loaded_machine()}, CasADi {casadi.__version__}\n")
    print("| size | method | ms | of fatrop's | iterations | objective |\n" + "| --- " * 6 + "|")
    for intervals in sizes:
        print("\n".join(lines(intervals, repeats)), flush=True)


if __name__ == "__main__":
    main()
