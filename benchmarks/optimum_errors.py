"""The printed error of the optimum beside the true one: `python -m benchmarks.optimum_errors [NAME ...]`.

Problems of the library whose optimum is known, and a weighed effort with a closed form, are solved with
defaults on a third of their intervals, on half of them, on their own and on twice as many. Every cell has
the difference of the objective to the reference and the printed estimate, both relative to the reference:
"refused" where the verdict is no PASS, "not covered" where the difference is larger. References are known to
about 1e-6; a finest mesh that gives less, beyond its estimate, has found a better optimum, which then is
the reference.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import trajopt
from benchmarks.published.published_problem import named, radau
from benchmarks.shared.arguments import parser
from benchmarks.shared.markdown import table
from benchmarks.shared.timing import loaded_machine
from problems import catalogue
from problems.recipe import defaults_of
from trajopt.base import errors

CERTIFIED = {
    "two_link_rr": 0.3918545395,
    "three_link_arm": 0.7310477507,
    "six_axis_arm": 0.5083411690,
    "betts_robot_arm": 9.140911746,
}
CONSTANTS = ("REFERENCE", "EXACT_DURATION")
LEFT_OUT = ("space_shuttle", "quadrotor_gates", "five_link_walker", "goddard_in_phases")  # minutes of seconds
SHARES, KNOWN_TO, SECONDS = (1 / 3, 1 / 2, 1.0, 2.0), 1e-6, 60.0
HEADINGS = ("problem", "intervals", "a third of them", "half", "all", "twice as many")
NOT_COVERED, REFUSED = "not covered", "refused"


def library() -> Iterator[tuple[str, int, float, Any]]:
    """(name, intervals, reference, intervals -> problem) of the library."""
    for name in catalogue.names():
        module, known = catalogue.module(name), defaults_of(catalogue.module(name).build)
        own = [float(getattr(module, constant)) for constant in CONSTANTS if hasattr(module, constant)]
        reference = CERTIFIED.get(name, own[0] if own else None)
        if reference is not None and known.get("intervals") and name not in LEFT_OUT:
            build = lambda intervals, name=name: catalogue.build(name, {"intervals": intervals})  # noqa: E731
            yield name, int(known["intervals"]), reference, build


def weighed_effort(width: float) -> tuple[str, int, float, Any]:
    """Least integral of w(t) u^2 with x' = u from 0 to 1: 1 / integral of 1 / w, w a peak on one."""

    def weight(t: Any) -> Any:
        return 1.0 + 30.0 * np.exp(-(((t - 0.47) / width) ** 2))

    def build(intervals: int) -> trajopt.Problem:
        system = trajopt.system(("x",), ("u",), lambda node: [node.u])
        problem = trajopt.Problem(system, radau(intervals, duration=1.0))
        problem.start_at(x=[0.0])
        problem.end_at(x=[1.0])
        problem.minimize(named("effort", lambda node: weight(node.t) * node.u**2))
        return problem

    t = (np.arange(1_000_000) + 0.5) / 1e6
    return f"weighed effort, {width:g} s", 18, float(1.0 / np.mean(1.0 / weight(t))), build


def solved(build: Any, intervals: int) -> tuple[Any, Any] | None:
    """A solution with its report; None where the problem cannot be built or solved on this mesh."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            solution = trajopt.solve(build(intervals), time_limit=SECONDS)
            return solution, solution.verify()
        except errors.TrajoptError:
            return None


def cell(reference: float, found: tuple[Any, Any] | None) -> str:
    """Difference and estimate on one mesh."""
    if found is None or not (found[0].converged and found[1].holds):
        return REFUSED
    solution, report = found
    apart, error = abs(solution.objective - reference) / abs(reference), report.error_of_optimum
    if error is None:
        return f"{apart:.0e}, none"
    estimate = error / abs(reference)
    return f"{apart:.0e}, {estimate:.0e}" + f" {NOT_COVERED}" * (apart > max(estimate, KNOWN_TO))


def row(name: str, own: int, reference: float, build: Any) -> list[Any]:
    """The line of a problem; meshes of one interval are left out."""
    counts = [round(share * own) for share in SHARES]
    found = [solved(build, count) if count > 1 else None for count in counts]
    if found[-1] is not None:
        solution, report = found[-1]
        if solution.objective < reference - (report.error_of_optimum or 0.0) - KNOWN_TO * abs(reference):
            reference = solution.objective
    cells = [cell(reference, each) for each in found]
    return [name, own, *(each if count > 1 else "" for each, count in zip(cells, counts, strict=True))]


def main() -> None:
    """Print a line for every problem, and how many meshes are covered."""
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME")
    given = arguments.parse_args()
    names = ["double_integrator"] if given.smallest else given.names
    rows = []
    for each in (*library(), *(weighed_effort(width) for width in (0.2, 0.05, 0.01))):
        if not names or any(name in each[0] for name in names):
            rows.append(row(*each))
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    cells = [each for line in rows for each in line[2:] if each]
    missed, refused = sum(NOT_COVERED in each for each in cells), cells.count(REFUSED)
    print(table(HEADINGS, rows))
    print(f"\n{len(cells)} meshes: {refused} refused, {missed} not covered; {loaded_machine()}.")


if __name__ == "__main__":
    main()
