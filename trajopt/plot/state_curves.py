"""States, controls and other unknown curves over time, with their units and bounds; phases in sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trajopt.arrays import Array
from trajopt.errors import UnknownNameError, near_matches
from trajopt.plot.joint_curves import columns_for, draw_limits
from trajopt.plot.style import LIMIT_COLOUR, line_of, panels, settings, times, title
from trajopt.problem.systems.system import System
from trajopt.problem.units import units_of_quantity
from trajopt.splines.node_sets import PATH
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


@dataclass(frozen=True)
class _Track:
    """One coordinate of one phase: times and values (k,), unit, and the bounds that hold over the path."""

    times: Array
    values: Array
    unit: str
    lower: float
    upper: float


def states(solution: Any, *, names: Sequence[str] | None = None) -> Figure:
    """States and controls of a system, or what a robot has beside its joints, one panel per name.

    solution : a `Solution`, or a `PhasesSolution`, whose phases follow each other in time; what only some
        phases have is drawn where it is
    names : those to draw, in this order; all by default
    Units are those that were told, `trajopt.system(..., units={"h": "km"})`. Raises UnknownNameError for a
    name that no phase has, or where there is nothing but joints.
    """
    tracks = _tracks(solution)
    for name in names or ():
        if name not in tracks:
            near = near_matches(name, tracks) or f": it has {', '.join(tracks) or 'none'}"
            raise UnknownNameError(f"the motion has no state or control '{name}'{near}")
    if not tracks:
        raise UnknownNameError("the motion has no states or controls: `plot.joints` draws its joints")
    chosen = list(tracks if names is None else names)
    borders = np.cumsum([part.duration for part in _parts(solution)])
    with settings():
        figure, axes = panels(len(chosen), columns_for(len(chosen)), height=1.6)
        for axis, name in zip(axes, chosen, strict=True):
            for track in tracks[name]:
                axis.plot(track.times, track.values, **line_of(0))
                draw_limits(axis, track.lower, track.upper)
            _finish(axis, name, tracks[name][0].unit, borders)
        title(figure, solution)
    return figure


def has_states(solution: Any) -> bool:
    """Whether a solution, of a problem or of phases, has anything to draw beside joints."""
    return bool(_tracks(solution))


def _finish(axis: Axes, name: str, unit: str, borders: Array) -> None:
    axis.set_ylabel(f"{name} ({unit})" if unit else name)
    axis.set_xlim(0.0, float(borders[-1]))
    for border in borders[:-1]:
        axis.axvline(border, color=LIMIT_COLOUR, linewidth=0.6, linestyle=":", zorder=1)


def _parts(solution: Any) -> tuple[Solution, ...]:
    """The solutions of all phases, or the one there is."""
    return getattr(solution, "phases", (solution,))


def _tracks(solution: Any) -> dict[str, list[_Track]]:
    """Name -> its curve in every phase that has it, in the order of the phases."""
    found: dict[str, list[_Track]] = {}
    start = 0.0
    for part in _parts(solution):
        for name, track in _of_part(part, start):
            found.setdefault(name, []).append(track)
        start += part.duration
    return found


def _of_part(solution: Solution, start: float) -> Iterator[tuple[str, _Track]]:
    problem, t = solution.problem, times(solution)
    quantities = ["q"] if isinstance(problem.dynamics, System) else []
    quantities += [terms.extra(name).quantity for name in problem.extras if name not in problem.slacks]
    for quantity in quantities:
        values = solution.value(terms.Quantity(quantity), t)
        width = values.shape[1]
        units, (lower, upper) = units_of_quantity(problem, quantity, width), _bounds(problem, quantity, width)
        for i, name in enumerate(_names(problem, quantity, width)):
            yield name, _Track(start + t, values[:, i], units[i], float(lower[i]), float(upper[i]))


def _names(problem: Any, quantity: str, width: int) -> list[str]:
    """Names of states, or of the components of a curve: "current 0", "current 1"."""
    if quantity == "q":
        return list(problem.dynamics.joint_names)
    name = quantity.partition(":")[2]
    return [name] if width == 1 else [f"{name} {i}" for i in range(width)]


def _bounds(problem: Any, quantity: str, width: int) -> tuple[Array, Array]:
    """The largest lower and the smallest upper bound over the path; infinite where there is none."""
    lower, upper = np.full(width, -np.inf), np.full(width, np.inf)
    name = quantity.partition(":")[2]
    if name in problem.extras:
        lower, upper = problem.extras[name].lower, problem.extras[name].upper
    for constraint in problem.constraints:
        if constraint.term.quantity == quantity and constraint.over == PATH:
            lower, upper = np.maximum(lower, constraint.lower), np.minimum(upper, constraint.upper)
    return lower, upper
