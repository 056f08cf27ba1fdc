"""Cost of assembly: `python -m benchmarks.assembly` writes docs/assembly.md.

Microseconds of a processor for all functions and derivatives at a point never seen before, one after the
other as IPOPT asks for them: objective and rows, gradient, Jacobian, Hessian. Each is the second percentile
of 400 points (60 for whole bodies), which other work on the machine moves little. Then, of whole bodies, the
Jacobian of all rows beside that of the rows with which `ConstraintGeneration` begins, equations and limits
that the start meets or violates (`NLP.jacobian_of_rows`), each after objective, rows and gradient at a new
point. Then memory against the number of intervals, as `tracemalloc` sees it: what a transcribed problem
keeps, and the highest mark while everything is evaluated. Last a six-axis arm in minimum time, torques and
velocities limited, on 40 intervals. One BLAS thread.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import trajopt
from benchmarks.shared.arguments import pages, parser
from benchmarks.shared.markdown import table_of_records
from benchmarks.shared.timing import loaded_machine
from problems import catalogue
from trajopt.solvers.kkt import bound_violation

WHOLE_BODIES = ("gait", "gait_stride")
INTERVALS = {"cart_pole": 60}
PARTS = ("objective and rows", "gradient", "Jacobian", "Hessian")


@dataclass(frozen=True)
class Size:
    """Amount that is measured: points, those of whole bodies, problems by part, meshes, solves."""

    points: int = 400
    few_points: int = 60
    names: Sequence[str] = ()  # none: all of the library
    some_rows: Sequence[str] = WHOLE_BODIES
    growing: Sequence[str] = ("two_link_rr", "six_axis_arm")
    meshes: Sequence[int] = (20, 40, 80, 160, 320)
    axes: int = 40
    repeats: int = 5


SMALLEST = Size(3, 3, ("two_link_rr",), ("two_link_rr",), ("two_link_rr",), (4,), 5, 1)


def parts_of(name: str, points: int) -> dict[str, Any]:
    """Microseconds of every part at new points, and the sizes that explain them."""
    nlp = trajopt.transcribe(
        catalogue.build(name, {"intervals": INTERVALS[name]} if name in INTERVALS else {})
    )
    rng = np.random.default_rng(0)
    multipliers = rng.standard_normal(nlp.row_count)
    asked: tuple[Callable[[np.ndarray], Any], ...] = (
        lambda y: (nlp.objective(y), nlp.rows(y)),
        nlp.gradient,
        nlp.jacobian,
        lambda y: nlp.hessian(y, multipliers, 1.0),
    )
    seconds = np.empty((points, len(asked)))
    for taken in seconds:
        y = nlp.start + 1e-3 * rng.standard_normal(nlp.variable_count)
        for i, ask in enumerate(asked):
            began = time.process_time()
            ask(y)
            taken[i] = time.process_time() - began
    columns = np.quantile(1e6 * seconds, 0.02, axis=0)
    sizes = {
        "nodes": nlp.unknowns.nodes.count,
        "unknowns": nlp.variable_count,
        "rows": nlp.row_count,
        "entries of J": nlp.jacobian_rows.size,
        "of H": nlp.hessian_rows.size,
    }
    times = {part: f"{value:.0f}" for part, value in zip(PARTS, columns, strict=True)}
    return {"problem": name} | sizes | times | {"together": f"{columns.sum():.0f}"}


def some_rows_of(name: str, points: int) -> dict[str, Any]:
    """Microseconds of the Jacobian of all rows, and of those with which rows in rounds begin."""
    nlp = trajopt.transcribe(catalogue.build(name, {}))
    inside = -bound_violation(nlp.rows(nlp.start), nlp.row_lower, nlp.row_upper)
    kept = (nlp.row_lower == nlp.row_upper) | (inside <= trajopt.ConstraintGeneration().margin)
    rng = np.random.default_rng(0)
    jacobians = (nlp.jacobian, nlp.jacobian_of_rows(kept))
    seconds = np.empty((points, len(jacobians)))
    for taken in seconds:
        for i, jacobian in enumerate(jacobians):
            y = nlp.start + 1e-3 * rng.standard_normal(nlp.variable_count)
            nlp.objective(y)
            nlp.rows(y)
            nlp.gradient(y)
            began = time.process_time()
            jacobian(y)
            taken[i] = time.process_time() - began
    whole, part = np.quantile(1e6 * seconds, 0.02, axis=0)
    counts = {"problem": name, "rows": kept.size, "of these kept": int(kept.sum())}
    entries = {"entries": nlp.jacobian_rows.size, "of kept rows": int(kept[nlp.jacobian_rows].sum())}
    return counts | entries | {"Jacobian": f"{whole:.0f}", "that of kept rows": f"{part:.0f}"}


def memory_of(name: str, intervals: int) -> dict[str, Any]:
    """Megabytes kept by the transcribed problem, and at the highest mark of one evaluation of everything."""
    problem = catalogue.build(name, {"intervals": intervals})
    gc.collect()
    tracemalloc.start()
    nlp = trajopt.transcribe(problem)
    everything(nlp)  # what is made on first use is kept, so it counts as kept
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    everything(nlp, 1e-3)
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "problem": name,
        "intervals": intervals,
        "kept, MB": f"{1e-6 * kept:.2f}",
        "highest, MB": f"{1e-6 * highest:.2f}",
        "kept per interval, kB": f"{1e-3 * kept / intervals:.1f}",
        "highest per interval, kB": f"{1e-3 * highest / intervals:.1f}",
    }


def everything(nlp: Any, shift: float = 0.0) -> None:
    """One evaluation of all functions and derivatives."""
    y = nlp.start + shift
    nlp.objective(y)
    nlp.rows(y)
    nlp.gradient(y)
    nlp.jacobian(y)
    nlp.hessian(y, np.ones(nlp.row_count), 1.0)


def six_axes(intervals: int, repeats: int) -> str:
    """Milliseconds to build and to solve, after a solve that warms up."""
    built, solved, last = [], [], None
    for _ in range(repeats + 1):
        began = time.perf_counter()
        problem = catalogue.build("six_axis_arm", {"intervals": intervals})
        trajopt.transcribe(problem)
        built.append(time.perf_counter() - began)
        last = trajopt.solve(problem)
        solved.append(last.seconds)
    assert last is not None
    return (
        f"Minimum time, {intervals} intervals: {last.n_variables} unknowns, {last.n_constraints} rows, "
        f"{'converged' if last.converged else last.status.value} in {last.iterations} iterations to "
        f"{last.duration:.6f} s; building {1e3 * statistics.median(built[1:]):.0f} ms, solving "
        f"{1e3 * statistics.median(solved[1:]):.0f} ms (medians of {repeats}, warm)."
    )


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="*", help="problems whose times are printed, nothing else")
    given = arguments.parse_args()
    size = SMALLEST if given.smallest else Size()
    library = (name for name in catalogue.names() if isinstance(catalogue.build(name, {}), trajopt.Problem))
    names = given.names or size.names or library
    few = {name: size.few_points if name in WHOLE_BODIES else size.points for name in names}
    text = table_of_records([parts_of(name, points) for name, points in few.items()])
    if not given.names:
        rows = [some_rows_of(name, size.few_points) for name in size.some_rows]
        memory = [memory_of(name, mesh) for name in size.growing for mesh in size.meshes]
        text += f"\n\n## Jacobian of some rows\n{table_of_records(rows)}"
        text += f"\n\n## Memory\n{table_of_records(memory)}"
        text += f"\n\n## Six axes\n{six_axes(size.axes, size.repeats)}"
        about = (__doc__ or "").partition("\n")[2].strip()
        page = f"# Assembly\n{about}\n\nMachine: {loaded_machine()} at the end.\n\n{text}\n"
        with pages(given.smallest) as docs:
            (docs / "assembly.md").write_text(page, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
