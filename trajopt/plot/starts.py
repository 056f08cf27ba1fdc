"""Figure of several starts: the objective that each of them ended at, and which of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError
from trajopt.base.palette import PALETTE
from trajopt.plot.canvas import GivenAxes, GivenFigure, panels
from trajopt.plot.style import MARK, mark_failures, settings
from trajopt.solution.records import StartTable
from trajopt.solution.solution import Answer

Row = tuple[int, float, bool, bool]  # number, objective, converged, on the problem's own mesh


def starts(
    result: Answer | StartTable | Sequence[object], *, figure: GivenFigure = None, ax: GivenAxes = None
) -> Figure:
    """Objective of every start: discs on the problem's own mesh, circles on coarser ones, crosses failed.

    result : a solution of several starts, of phases too, its table `solution.starts`, or what
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
                style: dict[str, Any] = {"markerfacecolor": face, "color": PALETTE[0], "label": label}
                axis.plot(*zip(*places, strict=True), "o", zorder=3, **style)
        mark_failures(axis, [row[0] for row in rows if not row[2]], "failed")
        lowest = min((row[1] for row in rows if row[2] and row[3]), default=None)
        if lowest is not None:
            axis.axhline(lowest, linestyle="--", **MARK)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_ylabel("objective")
        axis.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    return figure


def _rows(result: object) -> Sequence[Row]:
    """The starts of a table of either kind."""
    table = getattr(result, "starts", None) if not isinstance(result, StartTable) else result
    if isinstance(table, StartTable):
        last = [(start.number, start.solves[-1], start.finished) for start in table.starts]
        return [(number, solve.objective, solve.converged, done) for number, solve, done in last]
    if isinstance(table, tuple) and table and hasattr(table[0], "seed"):
        return [(each.seed, each.objective, each.converged, True) for each in table]
    raise OptionError(
        f"there is no table of starts in {short_repr(result)}: give a solution of "
        "trajopt.solve(problem, starts=8), or what trajopt.multistart returns"
    )
