"""What the choices in the transcription cost or save: `python -m benchmarks.transcription`.

For every library problem: the exact Hessian against L-BFGS, our row scaling against IPOPT's own on top of it,
the two strategies for the barrier parameter, and the number of nodes per span. Seconds are medians of five
solves after a warm-up; the split of the time is that of the first row.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
from pathlib import Path

import trajopt
from problems import catalogue
from trajopt.excess import largest_excesses
from trajopt.solution import Solution

REPEATS = 5
SOLVERS = {
    "exact Hessian": trajopt.Ipopt(),
    "L-BFGS": trajopt.Ipopt(hessian="lbfgs"),
    "IPOPT's gradient-based scaling too": trajopt.Ipopt(options={"nlp_scaling_method": "gradient-based"}),
    "adaptive barrier": trajopt.Ipopt(options={"mu_strategy": "adaptive"}),
    "monotone barrier": trajopt.Ipopt(options={"mu_strategy": "monotone"}),
}
PROBLEMS = ("two_link_rr", "two_link_pr", "pendulum_swing_up")


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
        "excess": max(excess.value for excess in largest_excesses(last)),
        "timings": dict(last.timings),
    }


def main() -> None:
    table: dict[str, dict[str, dict]] = {}
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    for name in PROBLEMS:
        rows = {label: measured(name, solver) for label, solver in SOLVERS.items()}
        if name != "pendulum_swing_up":  # the example to copy has few parameters
            counts = (3, 4, 6)
            rows |= {f"{k} nodes per span": measured(name, trajopt.Ipopt(), nodes_per_span=k) for k in counts}
        table[name] = rows
        print(f"\n{name}\n{'':<36}{'iterations':>11}{'ms':>8}{'objective':>14}{'excess':>10}")
        for label, row in rows.items():
            mark = "" if row["converged"] else "  not converged"
            print(
                f"{label:<36}{row['iterations']:>11}{1e3 * row['seconds']:>8.1f}"
                f"{row['objective']:>14.8f}{row['excess']:>10.2e}{mark}"
            )
        split = rows["exact Hessian"]["timings"]
        print("time split, ms: " + ", ".join(f"{kind} {1e3 * value:.1f}" for kind, value in split.items()))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
