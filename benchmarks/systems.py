"""Systems x' = f(x, u) beside hand-written collocation: `python -m benchmarks.systems`.

The first table holds the Rayleigh oscillator with a mixed constraint against Radau collocation written by
hand in CasADi, at equal intervals, points and unknowns, from the same start to the same tolerance; states
and controls at the collocation points are its unknowns. Ours is one solve on that mesh, without further
starts and without the spans that `solve` halves by default. Seconds are those of one processor
(`time.process_time`), the least of fifteen in turns, with construction of the problem and solve: tracing,
checks of derivatives and construction of the solver included on both sides. The second table holds the
gallery.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import casadi
import numpy as np

import trajopt
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.markdown import table
from benchmarks.shared.page_rows import put_between_marks
from benchmarks.shared.timing import with_seconds
from problems import catalogue

DURATION, START = 4.5, (-5.0, -5.0)
REFERENCE = 44.804444914  # 160 intervals of five points, 640 of three; Maurer and Augustin: 44.8044
TOLERANCE = 1e-9
ONE_SOLVE: dict[str, Any] = {"refine": None, "starts": 1, "coarse_to_fine": False}  # on the mesh as it is
GALLERY = (
    "minimum_fuel",
    "energy_budget",
    "bryson_denham",
    "brachistochrone",
    "van_der_pol",
    "hypersensitive",
    "goddard_rocket",
    "space_shuttle",
    "orbit_transfer",
    "container_crane",
    "quadrotor_gates",
    "acrobot",
    "double_pendulum_cart",
    "motor_arm",
    "arm_energy_budget",
    "gear_ratio",
    "arm_design",
    "line_in_least_time",
    "goddard_in_phases",
    "five_link_walker",
)


@dataclass(frozen=True)
class Size:
    """Meshes of the comparison and problems of the gallery, with the times that each is solved."""

    intervals: Sequence[int] = (20, 40, 80)
    orders: Sequence[int] = (2, 3)
    repeats: int = 15
    gallery: Sequence[str] = GALLERY
    gallery_repeats: int = 5


SMALLEST = Size((2,), (2,), 1, ("minimum_fuel",), 1)


@dataclass(frozen=True)
class Solve:
    """Time and result of a solve; processor seconds for the problem, its transcription and solve."""

    objective: float
    unknowns: int
    iterations: int
    seconds: float


def rayleigh_rates(x: Any, v: Any, u: Any) -> list[Any]:
    """x' = v, v' = -x + v (1.4 - 0.14 v^2) + 4 u."""
    return [v, -x + v * (1.4 - 0.14 * v**2) + 4.0 * u]


@trajopt.term
def mixed(node: Any) -> Any:
    """u + x / 6, at most zero."""
    return node.u + node.x / 6.0


@trajopt.term
def cost(node: Any) -> Any:
    """u^2 + x^2."""
    return node.u**2 + node.x**2


def rayleigh(intervals: int, order: int) -> trajopt.Problem:
    """The oscillator on Radau points."""
    system = trajopt.system(("x", "v"), ("u",), lambda node: rayleigh_rates(node.x, node.v, node.u))
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(intervals, order, duration=DURATION))
    problem.start_at(x=START)
    problem.subject_to(mixed, upper=0.0)
    problem.minimize(cost)
    return problem


def ours(intervals: int, order: int) -> Solve:
    """The solve of this project."""
    started = time.process_time()
    found = trajopt.solve(rayleigh(intervals, order), trajopt.Ipopt(tol=TOLERANCE), **ONE_SOLVE)
    seconds = time.process_time() - started
    return Solve(float(found.objective), found.n_variables, found.iterations, seconds)


def by_hand(intervals: int, order: int) -> Solve:
    """Radau collocation in CasADi: Lagrange polynomials through the start and the points of an interval."""
    started = time.process_time()
    points = np.array([0.0, *casadi.collocation_points(order, "radau")])
    slopes, weights = lagrange_slopes(points), quadrature_weights(points[1:])
    x, u = casadi.SX.sym("x", 2), casadi.SX.sym("u")
    node = casadi.Function("node", [x, u], [casadi.vertcat(*rayleigh_rates(x[0], x[1], u)), u**2 + x[0] ** 2])
    h, last = DURATION / intervals, casadi.MX(list(START))
    unknowns, rows, lower, objective = [], [], [], 0.0
    for k in range(intervals):
        states = [last, *(casadi.MX.sym(f"x{k}_{j}", 2) for j in range(order))]
        controls = [casadi.MX.sym(f"u{k}_{j}") for j in range(order)]
        for j in range(order):
            rate, rated = node(states[j + 1], controls[j])
            slope = sum(slopes[r, j + 1] * states[r] for r in range(order + 1))
            rows += [slope - h * rate, controls[j] + states[j + 1][0] / 6.0]
            lower += [0.0, 0.0, -np.inf]
            objective += h * weights[j] * rated
            unknowns += [states[j + 1], controls[j]]
        last = states[-1]
    program = {"x": casadi.vertcat(*unknowns), "f": objective, "g": casadi.vertcat(*rows)}
    told = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": TOLERANCE}
    solver = casadi.nlpsol("solver", "ipopt", program, told)
    start = np.tile([*START, 0.0], intervals * order)
    found = solver(x0=start, lbg=lower, ubg=np.zeros(len(lower)))
    seconds = time.process_time() - started
    return Solve(float(found["f"]), start.size, int(solver.stats()["iter_count"]), seconds)


def lagrange_slopes(points: np.ndarray) -> np.ndarray:
    """[r, j]: derivative of the r-th Lagrange polynomial at the j-th point."""
    return np.stack([lagrange(points, r).deriv()(points) for r in range(points.size)])


def quadrature_weights(points: np.ndarray) -> np.ndarray:
    """Integrals of the Lagrange polynomials over [0, 1]."""
    return np.array([lagrange(points, r).integ()(1.0) for r in range(points.size)])


def lagrange(points: np.ndarray, r: int) -> np.polynomial.Polynomial:
    """The polynomial that is one at a point and zero at all others."""
    others = np.delete(points, r)
    polynomial = np.polynomial.Polynomial.fromroots(others)
    return polynomial / polynomial(points[r])


def comparison(size: Size) -> str:
    """The table of both, row by row from one run; RuntimeError where the meshes differ."""
    heads = ("error, ours", "by hand", "iterations, ours", "by hand", "CPU ms, ours", "by hand")
    rows: list[tuple[Any, ...]] = []
    for order in size.orders:
        for count in size.intervals:
            pairs = [(ours(count, order), by_hand(count, order)) for _ in range(size.repeats)]
            mine, theirs = (min(side, key=lambda each: each.seconds) for side in zip(*pairs, strict=True))
            if mine.unknowns != theirs.unknowns:
                raise RuntimeError(f"meshes differ: {mine.unknowns} unknowns, {theirs.unknowns} by hand")
            errors = (f"{each.objective - REFERENCE:+.1e}" for each in (mine, theirs))
            milliseconds = (f"{1e3 * each.seconds:.0f}" for each in (mine, theirs))
            counts = (mine.iterations, theirs.iterations)
            rows.append((count, order, mine.unknowns, *errors, *counts, *milliseconds))
    return table(("intervals", "points", "unknowns", *heads), rows)


def gallery(size: Size) -> str:
    """The table of published problems."""
    head = ("problem", "lines", "unknowns", "iterations", "CPU ms", "ours", "reference", "source")
    rows: list[tuple[Any, ...]] = []
    for name in size.gallery:
        module = catalogue.module(name)
        runs = [with_seconds(partial(solved, module)) for _ in range(size.gallery_repeats)]
        found, milliseconds = runs[-1][0], f"{1e3 * min(seconds for _, seconds in runs):.0f}"
        measured = (found.n_variables, found.iterations, milliseconds, f"{found.objective:.9g}")
        reference = (f"{module.REFERENCE:.9g}", module.REFERENCE_SOURCE)
        rows.append((f"`{name}`", lines_of(module), *measured, *reference))
    return table(head, rows)


def solved(module: Any) -> Any:
    return trajopt.solve(module.build())


def lines_of(module: Any) -> int:
    """Lines of code, without docstring, comments and empty lines."""
    text = re.sub(r'""".*?"""', "", Path(module.__file__).read_text(encoding="utf-8"), flags=re.DOTALL)
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in text.splitlines())


def main() -> None:
    """Replace the tables of the page."""
    size = SMALLEST if (smallest := parser(__doc__).parse_args().smallest) else Size()
    with pages(smallest) as docs:
        for name, content in (("comparison", comparison(size)), ("gallery", gallery(size))):
            put_between_marks(docs / "systems_measured.md", name, content)
            print(content, flush=True)


if __name__ == "__main__":
    main()
