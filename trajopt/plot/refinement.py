"""Figure of a mesh refinement: spans and estimated errors, round by round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from trajopt.base.errors import OptionError
from trajopt.plot.canvas import GivenAxes, GivenFigure, check_solution, panels
from trajopt.plot.style import MARK, line_of, settings

if TYPE_CHECKING:
    from trajopt.solution.solution import Answer


def refinement(solution: Answer, *, figure: GivenFigure = None, ax: GivenAxes = None) -> Figure:
    """Spans of the mesh and the two estimated errors in every round of `Refined`; circles were not kept.

    solution : of a problem or of phases, solved with refine=trajopt.Refined()
    figure : a matplotlib figure or a part of one to draw on;   ax : two axes, spans and errors
    The dashed line is the tolerance. Raises OptionError for a solution that no refinement made.
    """
    check_solution(solution)
    record = solution.refinement
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
                style: dict[str, Any] = {"linestyle": "", "marker": "o", "markerfacecolor": "white"}
                axis.plot(lost, [values[i] for i in lost], color=line_of(index)["color"], **style)
            axis.set_ylabel(what)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        spans, errors = axes
        spans.set_ylim(bottom=0.0)
        errors.set_yscale("log")
        errors.axhline(record.tolerance, linestyle="--", **MARK)
        errors.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    return figure
