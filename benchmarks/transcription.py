"""What the choices in the transcription cost or save: `python -m benchmarks.transcription`.

For every library problem: the exact Hessian against L-BFGS, our row scaling against IPOPT's own on top of it,
the two strategies for the barrier parameter, and the number of nodes per span. Seconds are medians of five
solves after a warm-up; the split of the time is that of the first row. Then six axes in minimum time: the
iterations of both Hessians by intervals and share of effort, and those of the exact one with other options,
checked on three more problems. A star marks what did not converge within ten seconds.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
from dataclasses import replace
from pathlib import Path

import trajopt
from problems import catalogue
from trajopt import Solution
from trajopt.certificates.limit_violations import largest_violations

REPEATS = 5
SOLVERS = {
    "exact Hessian": trajopt.Ipopt(),
    "L-BFGS": trajopt.Ipopt(hessian="lbfgs"),
    "IPOPT's gradient-based scaling too": trajopt.Ipopt(options={"nlp_scaling_method": "gradient-based"}),
    "adaptive barrier": trajopt.Ipopt(options={"mu_strategy": "adaptive"}),
    "monotone barrier": trajopt.Ipopt(options={"mu_strategy": "monotone"}),
}
PROBLEMS = ("two_link_rr", "two_link_pr", "pendulum_swing_up")
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
HELD_AGAINST = ("six_axis_arm", "urdf_arm", "cart_pole", "pendulum_swing_up", "planar_walker")


def measured(name: str, solver: trajopt.Ipopt, **parameters) -> dict:
    """Iterations, median seconds and the time split of one way to solve one problem."""
    solutions: list[Solution] = []
    for _ in range(REPEATS + 1):
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


def iterations(name: str, solver: trajopt.Ipopt, **parameters) -> str:
    """The count of one solve, with a star where it did not converge."""
    solution = trajopt.solve(catalogue.build(name, parameters), replace(solver, time_limit=LIMIT))
    return f"{solution.iterations}{'' if solution.converged else '*'} ({1e3 * solution.seconds:.0f} ms)"


def print_six_axes() -> None:
    """Exact second derivatives beside L-BFGS where the objective is one unknown, and IPOPT's options."""
    print(f"\n{'six axes in minimum time':<36}{'exact Hessian':>20}{'L-BFGS':>20}")
    cases = [(name, {"intervals": n}) for name in ("six_axis_arm", "urdf_arm") for n in (20, 40, 80)]
    cases += [("six_axis_arm", {"u": u}) for u in (0.1, 0.5)]
    for name, parameters in cases:
        counts = [
            iterations(name, trajopt.Ipopt(hessian=hessian), **parameters) for hessian in ("exact", "lbfgs")
        ]
        label = name + "".join(f", {key} = {value}" for key, value in parameters.items())
        print(f"{label:<36}{counts[0]:>20}{counts[1]:>20}")
    print(f"\n{'iterations, exact Hessian':<36}" + "".join(f"{name:>20}" for name in HELD_AGAINST))
    for label, options in OPTIONS.items():
        counts = [iterations(name, trajopt.Ipopt(options=options)) for name in HELD_AGAINST]
        print(f"{label:<36}" + "".join(f"{count:>20}" for count in counts))


def main() -> None:
    table: dict[str, dict[str, dict]] = {}
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    for name in PROBLEMS:
        rows = {label: measured(name, solver) for label, solver in SOLVERS.items()}
        if name != "pendulum_swing_up":  # the example to copy has few parameters
            counts = (3, 4, 6)
            rows |= {f"{k} nodes per span": measured(name, trajopt.Ipopt(), nodes_per_span=k) for k in counts}
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
    print_six_axes()
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
