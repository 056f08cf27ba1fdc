"""The table of library problems: `python -m benchmarks.library` writes docs/library.md.

For every problem at its defaults (the cart and pole with 60 intervals): the reference and ours, iterations
with the exact Hessian, with L-BFGS and of SLSQP (dense, so only below 150 unknowns), milliseconds and where
they went. Times are medians of five solves after one that warms up, assembly those of functions and
derivatives per iteration. Problems of whole bodies, which take minutes with L-BFGS, are left out.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
from pathlib import Path
from typing import Any

import trajopt
from problems import catalogue
from trajopt.report import time_split

REPEATS = 5
MOST_FOR_SLSQP = 150
LIMIT = 20.0  # seconds for one solve
INTERVALS = {"cart_pole": 60}
WHOLE_BODIES = ("gait",)
REFERENCES = {"two_link_rr": 0.3918545395, "two_link_pr": 0.85306}  # docs/two_link_pr.md for the latter
HEAD = (
    *("problem", "reference", "ours", "relative error", "intervals", "unknowns", "rows"),
    *("iterations, exact", "L-BFGS", "SLSQP", "ms", "functions", "derivatives"),
    *("linear algebra, marshalling", "assembly, ms per iteration"),
)


def reference_of(name: str) -> float | None:
    """What the module or its neighbours call the optimum, None where there is none."""
    module = catalogue.module(name)
    for constant in (
        "REFERENCE",
        "EXACT_DURATION",
        "PUBLISHED_DURATION",
    ):
        if hasattr(module, constant):
            return float(getattr(module, constant))
    return REFERENCES.get(name)


def row_of(name: str) -> dict[str, Any]:
    """One line of the table, by column."""
    parameters = {"intervals": INTERVALS[name]} if name in INTERVALS else {}
    exact = [solved(name, parameters, trajopt.Ipopt(time_limit=LIMIT)) for _ in range(REPEATS + 1)]
    last, seconds = exact[-1], statistics.median(solution.seconds for solution in exact[1:])
    split, reference = time_split(last), reference_of(name)
    assembly = split["functions"] + split["derivatives"]
    lbfgs = solved(name, parameters, trajopt.Ipopt(hessian="lbfgs", time_limit=LIMIT))
    slsqp = None
    if last.n_variables <= MOST_FOR_SLSQP:
        slsqp = solved(name, parameters, trajopt.Slsqp(time_limit=LIMIT))
    known = last.recipe.parameters if last.recipe is not None else {}
    values = (
        name,
        "" if reference is None else f"{reference:.9g}",
        f"{last.objective:.9g}",
        "" if reference is None else f"{last.objective / reference - 1.0:.1e}",
        known.get("intervals", ""),
        last.n_variables,
        last.n_constraints,
        iterations(last),
        iterations(lbfgs),
        "" if slsqp is None else iterations(slsqp),
        f"{1e3 * seconds:.1f}",
        f"{split['functions'] / last.seconds:.0%}",
        f"{split['derivatives'] / last.seconds:.0%}",
        f"{split['linear algebra and marshalling'] / last.seconds:.0%}",
        f"{1e3 * assembly / max(last.iterations, 1):.2f}",
    )
    return dict(zip(HEAD, values, strict=True))


def solved(name: str, parameters: dict, solver: Any) -> Any:
    return trajopt.solve(catalogue.build(name, parameters), solver)


def iterations(solution: Any) -> str:
    """The count, marked where it did not converge."""
    return f"{solution.iterations}" + ("" if solution.converged else f" ({solution.status.name.lower()})")


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
    return "\n".join(lines + ["| " + " | ".join(str(row[key]) for key in HEAD) + " |" for row in rows])


def main() -> None:
    names = sys.argv[1:] or [name for name in catalogue.names() if name not in WHOLE_BODIES]
    rows = []
    for name in names:
        rows.append(row_of(name))
        print("  ".join(f"{value}" for value in rows[-1].values()), flush=True)
    machine = f"{platform.processor() or platform.machine()}, Python {platform.python_version()}"
    load = f"{os.getloadavg()[0]:.1f} at the end (1 is this table itself)"
    machine += f", {os.cpu_count()} cores with a load of {load}"
    about = (__doc__ or "").partition("\n")[2].strip()
    text = f"# Library problems\n{about}\n\nMachine: {machine}.\n\n{table(rows)}\n"
    if not sys.argv[1:]:
        Path(__file__).parent.parent.joinpath("docs", "library.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
