"""Figures of the solves that led to a solution: all of them, several starts, the rounds of a refinement."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError
from trajopt.display.svg_chart import PALETTE
from trajopt.plot.canvas import (
    MARK,
    GivenAxes,
    GivenFigure,
    Style,
    check_solution,
    legend_above,
    line_of,
    mark_failures,
    panels,
    settings,
)
from trajopt.solution.records import StartTable
from trajopt.solution.solution import Answer

Row = tuple[int, float, bool, bool]  # number, objective, converged, on the problem's own mesh


def journal(solution: Answer, *, figure: GivenFigure = None, ax: GivenAxes = None) -> Figure:
    """Objective and iterations of every solve in `solution.journal`, by what asked for it; crosses failed.

    solution : of a problem or of phases
    figure : a matplotlib figure or a part of one to draw on;   ax : two axes, objective and iterations
    The dashed line is the objective of the solution. Raises OptionError for an empty journal, as that of a
    file without one.
    """
    check_solution(solution)
    rows = solution.journal.rows
    if not rows:
        raise OptionError(f"the journal of '{solution.name}' is empty: it is a motion that no solve led to")
    columns = {"objective": lambda row: row.objective, "iterations": lambda row: row.iterations}
    with settings():
        figure, axes = panels(list(columns), 1, figure, ax, x_label="solve")
        for axis, (name, value) in zip(axes, columns.items(), strict=True):
            for index, policy in enumerate(dict.fromkeys(row.policy for row in rows)):
                places = [k for k, row in enumerate(rows) if row.policy == policy and row.converged]
                style: Style = {"color": line_of(index)["color"], "label": policy or "solve"}
                axis.plot(places, [value(rows[k]) for k in places], "o", **style)
            mark_failures(axis, [k for k, row in enumerate(rows) if not row.converged], "failed")
            axis.set_ylabel(name)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes[0].axhline(solution.objective, linestyle="--", **MARK)
        legend_above(axes[0], columns=4)
    return figure


def starts(
    result: Answer | StartTable | Sequence[object], *, figure: GivenFigure = None, ax: GivenAxes = None
) -> Figure:
    """Objective of every start: discs on the problem's own mesh, circles on coarser ones, crosses failed.

    result : a solution of several starts, of phases too, its table `solution.journal.starts`, or what
        `trajopt.multistart` returns
    figure : a matplotlib figure or a part of one to draw on;   ax : the axes
    The dashed line is the lowest objective on the problem's own mesh; coarse meshes may be below it or above.
    Raises OptionError where there were no several starts.
    """
    rows = _rows(result)
    looks = {"on its own mesh": (True, PALETTE[0]), "on a coarse mesh": (False, "white")}
    with settings():
        figure, (axis,) = panels(["starts"], 1, figure, ax, x_label="start")
        for label, (finished, face) in looks.items():
            places = [row[:2] for row in rows if row[2:] == (True, finished)]
            if places:
                style: Style = {"markerfacecolor": face, "color": PALETTE[0], "label": label}
                axis.plot(*zip(*places, strict=True), "o", zorder=3, **style)
        mark_failures(axis, [row[0] for row in rows if not row[2]], "failed")
        lowest = min((row[1] for row in rows if row[2] and row[3]), default=None)
        if lowest is not None:
            axis.axhline(lowest, linestyle="--", **MARK)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_ylabel("objective")
        legend_above(axis)
    return figure


def _rows(result: object) -> Sequence[Row]:
    """The starts of a table of either kind."""
    table = result.journal.starts if isinstance(result, Answer) else getattr(result, "starts", None)
    table = result if isinstance(result, StartTable) else table
    if isinstance(table, StartTable):
        last = [(start.number, start.solves[-1], start.finished) for start in table.starts]
        return [(number, solve.objective, solve.converged, done) for number, solve, done in last]
    if isinstance(table, tuple) and table and hasattr(table[0], "seed"):
        return [(each.seed, each.objective, each.converged, True) for each in table]
    raise OptionError(
        f"there is no table of starts in {short_repr(result)}: give a solution of "
        "trajopt.solve(problem, starts=8), or what trajopt.multistart returns"
    )


def refinement(solution: Answer, *, figure: GivenFigure = None, ax: GivenAxes = None) -> Figure:
    """Spans of the mesh and the two estimated errors in every round of `Refined`; circles were not kept.

    solution : of a problem or of phases, solved with refine=trajopt.Refined()
    figure : a matplotlib figure or a part of one to draw on;   ax : two axes, spans and errors
    The dashed line is the tolerance. Raises OptionError for a solution that no refinement made.
    """
    check_solution(solution)
    record = solution.journal.refinement
    if record is None:
        raise OptionError(
            f"'{solution.name}' was not refined: solve it with refine=trajopt.Refined(tol=1e-4)"
        )
    columns = {
        "spans": {"spans": [each.spans for each in record.rounds]},
        "relative error": {
            "equations": [each.equation_error for each in record.rounds],
            "optimality": [each.optimality_error for each in record.rounds],
        },
    }
    lost = [number for number, each in enumerate(record.rounds) if not each.kept]
    with settings():
        figure, axes = panels(list(columns), 1, figure, ax, x_label="round")
        for axis, (what, curves) in zip(axes, columns.items(), strict=True):
            for index, (name, values) in enumerate(curves.items()):
                axis.plot(values, marker="o", label=name, **line_of(index))
                style: Style = {"linestyle": "", "marker": "o", "markerfacecolor": "white"}
                axis.plot(lost, [values[i] for i in lost], color=line_of(index)["color"], **style)
            axis.set_ylabel(what)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        spans, errors = axes
        spans.set_ylim(bottom=0.0)
        errors.set_yscale("log")
        errors.axhline(record.tolerance, linestyle="--", **MARK)
        legend_above(errors, columns=2)
    return figure
