"""Figure of several starts: the objective that each of them ended at, and which of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError
from trajopt.base.palette import PALETTE
from trajopt.plot.canvas import GivenAxes, check_place, given_axes, new_figure
from trajopt.plot.style import LIMIT_COLOUR, WIDTH, settings
from trajopt.solution.records import StartTable

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

HEIGHT = 2.6  # inches
Row = tuple[int, float, bool, bool]  # number, objective, converged, on the problem's own mesh


def starts(result: SolutionData | StartTable | Any, *, figure: Any = None, ax: GivenAxes = None) -> Figure:
    """Objective of every start: discs on the problem's own mesh, circles on coarser ones, crosses failed.

    result : a solution of several starts, of phases too, its table `solution.starts`, or what
        `trajopt.multistart` returns
    figure : a matplotlib figure or a part of one to draw on;   ax : the axes
    The dashed line is the lowest objective on the problem's own mesh; coarse meshes may be below it or above.
    Raises OptionError where there were no several starts.
    """
    check_place(figure, ax)
    rows = _rows(result)
    with settings():
        if ax is None:
            figure = new_figure(WIDTH, HEIGHT) if figure is None else figure
            axis = figure.subplots()
        else:
            (axis,) = given_axes(ax, ["starts"])
            figure = axis.figure
        for label, marker, face, some in (
            ("on its own mesh", "o", PALETTE[0], [row for row in rows if row[2] and row[3]]),
            ("on a coarse mesh", "o", "white", [row for row in rows if row[2] and not row[3]]),
        ):
            if some:
                places, values = [row[0] for row in some], [row[1] for row in some]
                style: dict[str, Any] = {"markerfacecolor": face, "color": PALETTE[0], "markersize": 5.5}
                axis.plot(places, values, marker, linestyle="none", label=label, zorder=3, **style)
        failed = [row[0] for row in rows if not row[2]]
        if failed:
            bottom = axis.get_xaxis_transform()
            axis.plot(failed, [0.04] * len(failed), "x", color=LIMIT_COLOUR, label="failed", transform=bottom)
        finished = [row[1] for row in rows if row[2] and row[3]]
        if finished:
            axis.axhline(min(finished), color=LIMIT_COLOUR, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlabel("start")
        axis.set_ylabel("objective")
        axis.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    return figure


def _rows(result: Any) -> Sequence[Row]:
    """The starts of a table of either kind."""
    table = getattr(result, "starts", None) if not isinstance(result, StartTable) else result
    if isinstance(table, StartTable):
        last = [(each.number, each.solves[-1], each.finished) for each in table.starts]
        return [(number, solve.objective, solve.converged, done) for number, solve, done in last]
    if isinstance(table, tuple) and table and hasattr(table[0], "seed"):
        return [(each.seed, each.objective, each.converged, True) for each in table]
    raise OptionError(
        f"there is no table of starts in {short_repr(result)}: give a solution of "
        "trajopt.solve(problem, starts=8), or what trajopt.multistart returns"
    )
