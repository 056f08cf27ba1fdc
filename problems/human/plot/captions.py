"""Titles and legends of the figures of a gait: speed and step length, the sides of the body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from problems.human.gait.cycle import Cycle
from problems.human.gait.formulation import DEFAULT
from trajopt.plot.canvas import SMALL_FONT, as_text

if TYPE_CHECKING:
    from trajopt import Solution


def walk_title(figure: Figure, solution: Solution, cycle: Cycle) -> None:
    """Name, a cost that is not the default, speed in m/s, step length in m, slope, a lack of convergence."""
    speed = 2.0 * cycle.step_length / cycle.duration
    parts = [solution.name, f"{speed:.3g} m/s", f"step {cycle.step_length:.3g} m"]
    cost = solution.recipe.parameters.get("cost") if solution.recipe else None
    if cost not in (None, DEFAULT):
        parts.append(f"cost={cost}")
    if cycle.person.slope:
        parts.append(f"slope {cycle.person.slope:.3g}")
    if not solution.converged:
        parts.append("not converged")
    figure.suptitle(as_text(", ".join(parts)), x=0.01, horizontalalignment="left")


def side_key(figure: Figure, colours: dict[str, str]) -> None:
    """Draw the key of the colours above the right end of the figure."""
    handles = [Line2D([], [], color=colour, linewidth=3.0, label=name) for name, colour in colours.items()]
    figure.legend(handles=handles, loc="upper right", ncols=len(handles), fontsize=SMALL_FONT)
