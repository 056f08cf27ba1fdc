"""Costs and savings of the choices in the transcription: `python -m benchmarks.transcription`.

For every library problem: the exact Hessian against L-BFGS, our row scaling against IPOPT's own on top of it,
the two strategies for the barrier parameter, and the number of nodes per span. Seconds are medians of five
solves after a warm-up; the split of the time is that of the first row. Then six axes in minimum time: the
iterations of both Hessians by intervals and share of effort, and those of the exact one with other options,
checked on three more problems. A star marks what did not converge within ten seconds.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import trajopt
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine
from problems import catalogue
from trajopt import Solution
from trajopt.checks.violations import largest_violations

SOLVERS = {
    "exact Hessian": trajopt.Ipopt(),
    "L-BFGS": trajopt.Ipopt(hessian="lbfgs"),
    "IPOPT's gradient-based scaling too": trajopt.Ipopt(options={"nlp_scaling_method": "gradient-based"}),
    "adaptive barrier": trajopt.Ipopt(options={"mu_strategy": "adaptive"}),
    "monotone barrier": trajopt.Ipopt(options={"mu_strategy": "monotone"}),
}
LIMIT = 10.0  # seconds of one solve in the tables of iterations
OPTIONS = {
    "default": {},
    "monotone barrier": {"mu_strategy": "monotone"},
    "probing": {"mu_oracle": "probing"},
    "LOQO's rule": {"mu_oracle": "loqo"},
    "multipliers of bounds from mu": {"bound_mult_init_method": "mu-based"},
    "multipliers of rows from zero": {"constr_mult_init_max": 0.0},
    "start pushed from bounds": {"bound_push": 0.3, "bound_frac": 0.3},
    "no second-order corrections": {"max_soc": 0},
}


@dataclass(frozen=True)
class Size:
    """Problems of the first tables, repeats; arms, meshes, shares of effort; problems with options."""

    problems: Sequence[str] = ("two_link_rr", "two_link_pr", "pendulum_swing_up")
    repeats: int = 5
    arms: Sequence[str] = ("six_axis_arm", "urdf_arm")
    meshes: Sequence[int] = (20, 40, 80)
    efforts: Sequence[float] = (0.1, 0.5)
    by_option: Sequence[str] = ("six_axis_arm", "urdf_arm", "cart_pole", "pendulum_swing_up", "planar_walker")


SMALLEST = Size(("two_link_rr",), 1, ("six_axis_arm",), (5,), (), ("sliding_mass",))


def measured(name: str, solver: trajopt.Ipopt, repeats: int, **parameters: Any) -> dict[str, Any]:
    """Iterations, median seconds and the time split of one way to solve one problem."""
    solutions: list[Solution] = []
    for _ in range(repeats + 1):
        solutions.append(trajopt.solve(catalogue.build(name, parameters), solver))
    last = solutions[-1]
    return {
        "converged": last.converged,
        "iterations": last.iterations,
        "objective": last.objective,
        "seconds": statistics.median(solution.seconds for solution in solutions[1:]),
        "violation": max(each.value for each in largest_violations(last)),
        "timings": dict(last.timings),
    }


def iterations(name: str, solver: trajopt.Ipopt, **parameters: Any) -> str:
    """The count of one solve, with a star where it did not converge."""
    solution = trajopt.solve(catalogue.build(name, parameters), replace(solver, time_limit=LIMIT))
    return f"{solution.iterations}{'' if solution.converged else '*'} ({1e3 * solution.seconds:.0f} ms)"


def print_six_axes(size: Size) -> None:
    """Exact second derivatives beside L-BFGS where the objective is one unknown, and IPOPT's options."""
    print(f"\n{'six axes in minimum time':<36}{'exact Hessian':>20}{'L-BFGS':>20}")
    cases: list[tuple[str, dict[str, Any]]] = []
    cases += [(name, {"intervals": n}) for name in size.arms for n in size.meshes]
    cases += [("six_axis_arm", {"u": u}) for u in size.efforts]
    for name, parameters in cases:
        counts = [
            iterations(name, trajopt.Ipopt(hessian=hessian), **parameters) for hessian in ("exact", "lbfgs")
        ]
        label = name + "".join(f", {key} = {value}" for key, value in parameters.items())
        print(f"{label:<36}{counts[0]:>20}{counts[1]:>20}")
    print(f"\n{'iterations, exact Hessian':<36}" + "".join(f"{name:>20}" for name in size.by_option))
    for label, options in OPTIONS.items():
        counts = [iterations(name, trajopt.Ipopt(options=options)) for name in size.by_option]
        print(f"{label:<36}" + "".join(f"{count:>20}" for count in counts))


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("record", nargs="?", type=Path, help="a file for the first tables as JSON")
    given = arguments.parse_args()
    size, table = SMALLEST if given.smallest else Size(), {}
    print(loaded_machine())
    for name in size.problems:
        rows = {label: measured(name, solver, size.repeats) for label, solver in SOLVERS.items()}
        if name != "pendulum_swing_up":  # the example to copy has few parameters
            counts = (3, 4, 6)
            rows |= {
                f"{k} nodes per span": measured(name, trajopt.Ipopt(), size.repeats, nodes_per_span=k)
                for k in counts
            }
        table[name] = rows
        print(f"\n{name}\n{'':<36}{'iterations':>11}{'ms':>8}{'objective':>14}{'violation':>11}")
        for label, row in rows.items():
            mark = "" if row["converged"] else "  not converged"
            print(
                f"{label:<36}{row['iterations']:>11}{1e3 * row['seconds']:>8.1f}"
                f"{row['objective']:>14.8f}{row['violation']:>11.2e}{mark}"
            )
        split = rows["exact Hessian"]["timings"]
        print("time split, ms: " + ", ".join(f"{kind} {1e3 * value:.1f}" for kind, value in split.items()))
    print_six_axes(size)
    if given.record is not None:
        given.record.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
