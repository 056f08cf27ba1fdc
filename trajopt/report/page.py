"""Report of a solution on one page: costs, motion, active constraints, checks, convergence, timings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajopt.graph.block import GravityField, SkeletonDynamics
from trajopt.phases.phases_solution import PhasesSolution
from trajopt.problem.units import units_of_quantity
from trajopt.report.active_constraints import (
    ActiveConstraint,
    active_constraints,
    labels_of,
    matters,
    times_of_rows,
)
from trajopt.report.svg_chart import COLOURS, line_chart, motion_chart
from trajopt.solution.skeleton_view import checked_segments, drawing_axes
from trajopt.solution.solve_table import HEADER
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

Answer: TypeAlias = "Solution | PhasesSolution"

__all__ = ["ActiveConstraint", "active_constraints", "html", "time_split"]

SAMPLES = 400
SNAPSHOTS, DIGITS = 9, 6
MOST_ROWS = 25  # of the table of active constraints
SHORTEST = 1.0  # ms, of callbacks worth a line

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222 }
body { max-width: 1180px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.1em; margin-top: 2em; border-bottom: 1px solid #ccc }
table { border-collapse: collapse } td, th { padding: .15em .9em .15em 0; text-align: left }
td.number { text-align: right; font-variant-numeric: tabular-nums }
.tall { grid-row: span 2 }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(430px, 1fr)); gap: 1em }
.charts { grid-auto-flow: dense }
figure { margin: 0 }
table + .charts { margin-top: 1em } pre { overflow-x: auto; font-size: 13px }
.link { stroke-width: 2.2; stroke-linecap: round } .bad { color: #b00020 }
"""


def time_split(solution: Answer) -> dict[str, float]:
    """Seconds spent in functions, derivatives, the caller's callback and the solver itself."""
    timings = solution.timings
    functions = sum(timings.get(kind, 0.0) for kind in ("objective", "rows"))
    derivatives = sum(timings.get(kind, 0.0) for kind in ("gradient", "jacobian", "hessian"))
    return {
        "functions": functions,
        "derivatives": derivatives,
        "callback": timings.get("callback", 0.0),
        "linear algebra and marshalling": timings.get("solver", 0.0),
    }


def html(solution: Answer, path: str | os.PathLike[str] | None = None) -> str:
    """The page as text, self-contained (no script, no outside file); written to `path` where one is given.

    Of phases it holds the motion and the active constraints of each, and the links between them.
    """
    middle = _of_phases(solution) if isinstance(solution, PhasesSolution) else _of_motion(solution)
    title = escape(str(solution)).replace("\n", "<br>")
    parts = [
        f"<h1>{escape(solution.name)}</h1>",
        f"<p{'' if solution.converged else ' class=bad'}>{title}</p>",
        _detail(solution),
        _section("Cost", _table(("term", "value", "share"), _cost_rows(solution))),
        *middle,
        _refinement(solution),
        _certificate(solution),
        _section("Checks", f"<pre>{escape(_without_title(solution))}</pre>"),
        _section("Convergence", _solves(solution) + _charts(_history_charts(solution))),
        _section("Time", _table(("part", "ms", "share"), _time_rows(solution))),
    ]
    run = "" if solution.run is None else solution.run.id
    text = (
        f'<!doctype html><html lang="en" data-run="{run}"><head><meta charset="utf-8">'
        f"<title>{escape(solution.name)}</title><style>{STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _of_motion(solution: Solution, whose: str = "") -> Iterable[str]:
    """Motion and active constraints of a problem, or of a phase."""
    yield _section(f"Motion{whose}", _charts(_motion_charts(solution)))
    active = _active_table(solution) + _charts(_multiplier_charts(solution))
    yield _section(f"Active constraints{whose}", active)


def _of_phases(solution: PhasesSolution) -> Iterable[str]:
    """Links, motions and active constraints of phases."""
    rows = [(name, *(f"{price:.6g}" for price in prices)) for name, prices in solution.multipliers.items()]
    if rows:
        yield _section("Links", _table(("link", "objective per unit of each component"), rows))
    for name, phase in zip(solution.names, solution.phases, strict=True):
        yield from _of_motion(phase, f" of {name}")


def _detail(solution: Answer) -> str:
    facts = f"{solution.n_variables} unknowns, {solution.n_constraints} rows"
    if solution.recipe is not None:
        facts += f"; {', '.join(f'{k}={_short(v)}' for k, v in solution.recipe.parameters.items())}"
    return f"<p>{escape(facts)}</p>" + (f"<p>{escape(solution.detail)}</p>" if solution.detail else "")


def _short(value: Any) -> str:
    """A parameter with at most DIGITS significant digits and 60 characters."""
    if isinstance(value, tuple | list):
        return f"({', '.join(_short(entry) for entry in value)})"
    text = f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _refinement(solution: Answer) -> str:
    if solution.refinement is None:
        return ""
    return _section("Refinement", f"<pre>{escape(str(solution.refinement))}</pre>")


def _solves(solution: Answer) -> str:
    """The tables of starts and meshes, where there were several solves."""
    tables = [] if solution.starts is None else [str(solution.starts)]
    if not isinstance(solution, PhasesSolution) and len(solution.levels) > 1:
        tables.append("\n".join([HEADER, *map(str, solution.levels)]))
    return "".join(f"<pre>{escape(table)}</pre>" for table in tables)


def _certificate(solution: Answer) -> str:
    if solution.certificate is None:
        return ""
    return _section("Certificate", f"<pre>{escape(str(solution.certificate))}</pre>")


def _without_title(solution: Answer) -> str:
    """The report of the verification; what its title says stands above it on the page."""
    report = solution.verify()
    return str(report).replace(f"{report.title}\n", "", 1)


def _cost_rows(solution: Answer) -> Iterable[tuple]:
    total = sum(abs(value) for value in solution.cost_terms.values()) or 1.0
    for name, value in solution.cost_terms.items():
        yield name, f"{value:.8g}", f"{abs(value) / total:.1%}"
    yield "objective", f"{solution.objective:.8g}", ""


def _time_rows(solution: Answer) -> Iterable[tuple]:
    total = solution.seconds or 1.0
    for name, seconds in time_split(solution).items():
        if name == "callback" and 1e3 * seconds < SHORTEST:
            continue
        yield name, f"{1e3 * seconds:.2f}", f"{seconds / total:.0%}"
    yield f"all of {solution.iterations} iterations", f"{1e3 * solution.seconds:.2f}", ""


def _motion_charts(solution: Solution) -> Iterable[str]:
    t = np.linspace(0.0, solution.duration, SAMPLES)
    yield from _pictures(solution)
    problem = solution.problem
    shown = {"positions": "q", "velocities": "v", "torques and forces": "tau"}
    if not problem.quantities.knows("tau"):  # a system of first-order equations
        shown = {"states": "q"}
    for label, quantity in shown.items():
        values = solution.value(terms.Quantity(quantity), t).T
        names = problem.component_names(quantity, len(values))
        units = units_of_quantity(problem, quantity, len(names))
        for unit in dict.fromkeys(units):
            each = zip(names, values, units, strict=True)
            named = [(name, curve) for name, curve, own in each if own == unit]
            yield from _grouped(t, named, _with_unit(label, unit))
    for name, extra in problem.extras.items():
        if name in problem.slacks:
            continue
        curve = terms.extra(name)
        values = solution.value(curve, t).T
        labels = solution.problem.component_names(curve.quantity, extra.lower.size)
        unit = units_of_quantity(problem, curve.quantity, extra.lower.size)[0]
        curves = dict(zip(labels, values, strict=True))
        yield line_chart(t, curves, "t [s]", _with_unit(f"{name}, an unknown curve", unit))


def _with_unit(label: str, unit: str) -> str:
    return f"{label} [{unit}]" if unit else label


def _grouped(t: NDArray, named: list[tuple[str, NDArray]], label: str) -> Iterable[str]:
    """Charts of as many curves each as there are colours to tell them apart."""
    count = -(-len(named) // len(COLOURS))
    for number in range(count):
        some = dict(named[number * len(COLOURS) : (number + 1) * len(COLOURS)])
        yield line_chart(t, some, "t [s]", label if count == 1 else f"{label}, {number + 1} of {count}:")


def _pictures(solution: Solution) -> Iterable[str]:
    dynamics = solution.as_built.dynamics
    if isinstance(dynamics, SkeletonDynamics):
        shown_at = np.linspace(0.0, solution.duration, SNAPSHOTS)
        lines = checked_segments(dynamics.skeleton(solution.q(shown_at)), SNAPSHOTS)
        axes = drawing_axes(lines, dynamics.gravity if isinstance(dynamics, GravityField) else None)
        yield motion_chart(lines[..., axes], ("xyz"[axes[0]], "xyz"[axes[1]]))


def _active_table(solution: Solution) -> str:
    rows = [
        (
            active.name,
            active.component,
            "everywhere" if active.equation else f"at {active.share:.0%} of nodes",
            f"{active.largest:.4g}",
        )
        for active in active_constraints(solution)
    ]
    if len(rows) > MOST_ROWS:
        rows = [*rows[:MOST_ROWS], (f"and {len(rows) - MOST_ROWS} more", "", "", "")]
    if not rows:
        return "<p>None: no limit is active.</p>"
    return _table(("constraint", "component", "active", "largest multiplier"), rows)


def _multiplier_charts(solution: Solution) -> Iterable[str]:
    for name, multipliers in solution.multipliers.items():
        times = times_of_rows(solution, name, len(multipliers))
        if times is not None and times.size > 1 and matters(solution, name, multipliers):
            labels = labels_of(solution, name, multipliers.shape[1])
            named = zip(labels, multipliers.T, strict=True)
            held = {label: column for label, column in named if column.any()}
            yield from _grouped(times, list(held.items()), f"multipliers of {name}")


def _history_charts(solution: Answer) -> Iterable[str]:
    if solution.history.shape[0] < 2:
        return
    iteration, objective, violation = solution.history.T
    yield line_chart(iteration, {"": objective}, "iteration", "scaled objective")
    yield line_chart(iteration, {"": violation}, "iteration", "largest violation", logarithmic=True)


def _section(title: str, content: str) -> str:
    return f"<h2>{escape(title)}</h2>{content}"


def _charts(charts: Iterable[str]) -> str:
    return f'<div class="charts">{"".join(charts)}</div>'


def _table(head: tuple, rows: Iterable[tuple]) -> str:
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(
        "<tr>" + "".join(f"<td{_kind(cell)}>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{titles}</tr>{body}</table>"


def _kind(cell: Any) -> str:
    return ' class="number"' if str(cell)[:1].isdigit() or str(cell).startswith("-") else ""
