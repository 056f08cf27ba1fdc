"""The tables of library problems: `python -m benchmarks.library` writes docs/library.md.

Every problem at its defaults (the cart and pole with 60 intervals): reference and computed optimum;
iterations and milliseconds with the exact Hessian, with L-BFGS and with SLSQP (dense, so only below 150
unknowns); shares of the time with the exact Hessian. Times are medians of five solves after one that warms
up; L-BFGS, SLSQP and the walks, which use the solver that they recommend, are solved once. Marshalling is
IPOPT's evaluation time outside our functions, by its own clock; linear algebra is the rest. Assembly is
functions and derivatives per iteration; it is not measured for walks, whose solver generates constraints in
rounds. References are closed forms and publications, named in the modules; "certified" is our own certified
optimum (`docs/certified.md`), "finer" the same problem on four times as many intervals. Walks and hop have
no reference; their tests check them against physics.
"""

from __future__ import annotations

import re
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import trajopt
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.markdown import table
from benchmarks.shared.timing import loaded_machine
from problems import catalogue
from problems.recipe import defaults_of
from trajopt.report.page import time_split

REPEATS = 5
MOST_FOR_SLSQP = 150
LIMIT = 10.0  # seconds for one solve that is there for comparison
INTERVALS = {"cart_pole": 60}
WHOLE_BODIES = ("gait", "gait_stride")
REFERENCES = {
    "two_link_rr": 0.3918545395,
    "two_link_pr": 0.85306,
    "three_link_arm": 0.7310477507,
    "six_axis_arm": 0.5083411690,
}
CERTIFIED = ("two_link_rr", "three_link_arm", "six_axis_arm")  # docs/certified.md
FINER = ("pendulum_swing_up",)
GEAR_RATIO = 100.0
FULL_ROTORS = (("ur5", "panda"), 20)  # robots, intervals
SMALLEST, SMALLEST_ROTORS = ("sliding_mass",), (("ur5",), 4)
ROTORS = """## Error of the armature approximation
Minimum time of `urdf_arm` with rotors behind gears of 100: exactly, as spinning bodies on the links,
coupled to their motion, or as the usual armature, gear ratio squared times inertia on the diagonal of the
mass matrix.
"""
TABLES = {
    "Optima": ("reference", "ours", "relative error", "intervals", "unknowns", "rows"),
    "Iterations and milliseconds": (
        *(f"{way}: {what}" for way in ("exact", "L-BFGS", "SLSQP") for what in ("iterations", "ms")),
    ),
    "Shares of the time with the exact Hessian": (
        *("functions", "derivatives", "marshalling", "linear algebra", "assembly, ms per iteration"),
    ),
}
HEAD = ("problem", *(column for columns in TABLES.values() for column in columns))


def reference_of(name: str) -> float | None:
    """The optimum by the module, by a page or by a finer solve; None where there is none."""
    if name in FINER:
        return solved(name, trajopt.Ipopt(), finer=4).objective
    module = catalogue.module(name)
    for constant in ("REFERENCE", "EXACT_DURATION", "PUBLISHED_DURATION"):
        if hasattr(module, constant):
            return float(getattr(module, constant))
    return REFERENCES.get(name)


def row_of(name: str) -> dict[str, Any]:
    """One line of the tables, by column."""
    whole = name in WHOLE_BODIES
    repeats = 1 if whole else REPEATS
    exact = [solved(name, None if whole else trajopt.Ipopt()) for _ in range(repeats + 1)]
    last, seconds = exact[-1], statistics.median(solution.seconds for solution in exact[1:])
    lbfgs = slsqp = None
    if not whole:
        lbfgs = solved(name, trajopt.Ipopt(hessian="lbfgs", time_limit=LIMIT))
        if last.n_variables <= MOST_FOR_SLSQP:
            slsqp = solved(name, trajopt.Slsqp(time_limit=LIMIT))
    reference = reference_of(name)
    values = (
        name,
        "" if reference is None else f"{reference:.9g}{source_of(name)}",
        f"{last.objective:.9g}",
        "" if reference is None else f"{last.objective / reference - 1.0:.1e}",
        intervals_of(last),
        last.n_variables,
        last.n_constraints,
        iterations(last),
        f"{1e3 * seconds:.1f}",
        *(cell for other in (lbfgs, slsqp) for cell in compared(other)),
        *(f"{share:.0%}" if share is not None else "" for share in shares(name, last)),
        "" if whole else f"{1e3 * assembly(last) / max(last.iterations, 1):.2f}",
    )
    return dict(zip(HEAD, values, strict=True))


def intervals_of(solution: Any) -> Any:
    """The intervals that a problem was asked for or chose itself, empty for one without such a parameter."""
    known = solution.recipe.parameters if solution.recipe is not None else {}
    asked = known.get("intervals", "")
    return solution.problem.trajectory.arcs[0].basis.span_count if asked is None else asked


def source_of(name: str) -> str:
    """Kind of the reference, where it is ours."""
    return " (certified)" if name in CERTIFIED else " (finer)" if name in FINER else ""


def compared(solution: Any) -> tuple[str, str]:
    """Iterations and milliseconds of a solve for comparison, empty where there is none."""
    return ("", "") if solution is None else (iterations(solution), f"{1e3 * solution.seconds:.1f}")


def assembly(solution: Any) -> float:
    """Seconds in functions and derivatives."""
    split = time_split(solution)
    return split["functions"] + split["derivatives"]


def shares(name: str, solution: Any) -> tuple[float | None, ...]:
    """Parts of the solve in functions, derivatives, marshalling and linear algebra.

    None for walks: the clock of their last round covers a part of the solve only.
    """
    if name in WHOLE_BODIES:
        return (None,) * 4
    split, whole = time_split(solution), solution.seconds
    functions, derivatives = split["functions"] / whole, split["derivatives"] / whole
    watched, inside = evaluation_seconds(name)
    marshalling = max(inside - assembly(watched), 0.0) / watched.seconds
    return functions, derivatives, marshalling, max(1.0 - functions - derivatives - marshalling, 0.0)


def evaluation_seconds(name: str) -> tuple[Any, float]:
    """A solve, and the seconds that IPOPT counts for evaluations, marshalling included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ipopt.txt"
        told = {"output_file": str(path), "file_print_level": 5, "print_timing_statistics": "yes"}
        solution = solved(name, replace(trajopt.Ipopt(), options=told))
        found = re.findall(r"^Function Evaluations\.*:.*wall:\s*([\d.]+)\)", path.read_text(), re.MULTILINE)
    return solution, float(found[-1]) if found else assembly(solution)


def solved(name: str, solver: Any, finer: int = 1) -> Any:
    parameters = {"intervals": INTERVALS[name]} if name in INTERVALS else {}
    if finer > 1:
        defaults = defaults_of(catalogue.module(name).build)
        parameters["intervals"] = finer * defaults["intervals"]
    return trajopt.solve(catalogue.build(name, parameters), solver, starts=1)  # solvers are compared by one


def iterations(solution: Any) -> str:
    """The count, marked where it did not converge."""
    return f"{solution.iterations}" + ("" if solution.converged else f" ({solution.status.name.lower()})")


def tables(rows: list[dict[str, Any]]) -> str:
    """All tables, narrow enough for a page, each under its heading; rows without a value are left out."""
    parts = []
    for name, columns in TABLES.items():
        head = ("problem", *columns)
        own = [[row[key] for key in head] for row in rows if any(str(row[key]) for key in columns)]
        parts.append(f"## {name}\n{table(head, own)}")
    return "\n\n".join(parts)


def rotor_table(robots: Sequence[str], intervals: int) -> str:
    """Minimum times of geared arms with exact rotors, with their armature alone, and without any."""
    rows = []
    for robot in robots:
        given = {"gear_ratio": GEAR_RATIO, "intervals": intervals, "robot": robot}
        exact, armature, none = (
            trajopt.solve(catalogue.build("urdf_arm", {**given, "rotors": rotors})).duration
            for rotors in ("exact", "armature", "none")
        )
        difference = f"{armature / exact - 1:+.1e}"
        rows.append([robot, f"{exact:.6f}", f"{armature:.6f}", difference, f"{none:.6f}"])
    return table(["robot", "exact [s]", "armature [s]", "difference", "no rotors [s]"], rows)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="*", help="problems whose rows are printed, nothing else")
    given = arguments.parse_args()
    library = (name for name in catalogue.names() if isinstance(catalogue.build(name, {}), trajopt.Problem))
    rows = []
    for name in given.names or (SMALLEST if given.smallest else library):
        rows.append(row_of(name))
        print("  ".join(f"{value}" for value in rows[-1].values()), flush=True)
    if given.names:
        return
    rotors = rotor_table(*(SMALLEST_ROTORS if given.smallest else FULL_ROTORS))
    about = (__doc__ or "").partition("\n")[2].strip()
    head = f"# Library problems\n{about}\n\nMachine: {loaded_machine()} at the end."
    text = f"{head}\n\n{tables(rows)}\n\n{ROTORS}\n{rotors}\n"
    with pages(given.smallest) as docs:
        (docs / "library.md").write_text(text, encoding="utf-8")
    if given.smallest:
        print(text)


if __name__ == "__main__":
    main()
