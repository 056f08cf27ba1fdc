"""States, controls and other unknown curves over time, with their units and bounds; phases in sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from trajopt.base.arrays import Array
from trajopt.base.errors import UnknownNameError, near_matches
from trajopt.plot.bounds import path_bounds
from trajopt.plot.canvas import GivenAxes, panels, title
from trajopt.plot.drawable import check_solution, phases_of
from trajopt.plot.joint_curves import columns_for
from trajopt.plot.style import line_of, settings, times
from trajopt.plot.time_axis import (
    arc_names,
    borders_of,
    fit,
    limit_switches,
    mark_borders,
    mark_switches,
    mark_via_points,
    via_points,
)
from trajopt.problem.systems.system import System
from trajopt.problem.units import units_of_quantity
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData


@dataclass(frozen=True)
class _Track:
    """One coordinate of one phase: times and values (k,), unit, and the bounds that hold over the path.

    via : times and values that are prescribed within the motion
    """

    times: Array
    values: Array
    unit: str
    lower: float
    upper: float
    via: tuple[tuple[float, int, float], ...] = ()


def states(
    solution: Any, *, names: Sequence[str] | None = None, figure: Any = None, ax: GivenAxes = None
) -> Figure:
    """States and controls of a system, or what a robot has beside its joints, one panel per name.

    solution : a `Solution`, or a `PhasesSolution`, whose phases follow each other in time; what only some
        phases have is drawn where it is
    names : those to draw, in this order; all by default
    figure : a matplotlib figure or a part of one to draw on;   ax : axes, one for each name
    Where a control jumps from one bound to the other the switching time is written. Lines part arcs and
    phases, diamonds are values prescribed within the motion.
    Units are those of the system, `trajopt.system(..., units={"h": "km"})`. Raises UnknownNameError for a
    name that no phase has, or where there is nothing but joints.
    """
    if not phases_of(solution):
        check_solution(solution)
    tracks = _tracks(solution)
    for name in names or ():
        if name not in tracks:
            near = near_matches(name, tracks) or f": it has {', '.join(tracks) or 'none'}"
            raise UnknownNameError(f"the motion has no state or control '{name}'{near}")
    if not tracks:
        raise UnknownNameError("the motion has no states or controls: `plot.joints` draws its joints")
    chosen = list(tracks if names is None else names)
    borders, is_new = _borders(solution), figure is None and ax is None
    labels = list(solution.names) if hasattr(solution, "names") else arc_names(borders)
    with settings():
        figure, axes = panels(chosen, columns_for(len(chosen)), 1.6, figure, ax)
        for number, (axis, name) in enumerate(zip(axes, chosen, strict=True)):
            _draw(axis, tracks[name])
            unit = tracks[name][0].unit
            axis.set_ylabel(f"{name} ({unit})" if unit else name)
            axis.set_xlim(0.0, float(borders[-1]))
            mark_borders(axis, borders, labels if number == 0 else ())
        if is_new:
            title(figure, solution)
    return figure


def _draw(axis: Any, tracks: Sequence[_Track]) -> None:
    """A coordinate in all phases that have it, its switches, and the widest bounds that a phase has."""
    for track in tracks:
        axis.plot(track.times, track.values, **line_of(0))
        mark_via_points(axis, list(track.via), 0)
    lower, upper = min(track.lower for track in tracks), max(track.upper for track in tracks)
    fit(axis, np.concatenate([track.values for track in tracks]), lower, upper, tracks[0].unit)
    for track in tracks:
        start = float(track.times[0])
        found = limit_switches(track.times - start, track.values, track.lower, track.upper)
        mark_switches(axis, [start + time for time in found], track.upper)


def _borders(solution: Any) -> Array:
    """Start times of arcs and phases, and the end of the motion."""
    parts = _parts(solution)
    if len(parts) == 1:
        return borders_of(parts[0])
    return np.append(0.0, np.cumsum([part.duration for part in parts]))


def has_states(solution: Any) -> bool:
    """Whether a solution, of a problem or of phases, has anything to draw beside joints."""
    return bool(_tracks(solution))


def _parts(solution: Any) -> tuple[SolutionData, ...]:
    """The solutions of all phases, or the one there is."""
    return phases_of(solution) or (solution,)


def _tracks(solution: Any) -> dict[str, list[_Track]]:
    """Name -> its curve in every phase that has it, in the order of the phases."""
    found: dict[str, list[_Track]] = {}
    start = 0.0
    for part in _parts(solution):
        for name, track in _of_part(part, start):
            found.setdefault(name, []).append(track)
        start += part.duration
    return found


def _of_part(solution: SolutionData, start: float) -> Iterator[tuple[str, _Track]]:
    problem, t = solution.problem, times(solution)
    quantities = ["q"] if isinstance(problem.dynamics, System) else []
    quantities += [terms.extra(name).quantity for name in problem.extras if name not in problem.slacks]
    for quantity in quantities:
        values = solution.value(terms.Quantity(quantity), t)
        width = values.shape[1]
        units = units_of_quantity(problem, quantity, width)
        lower, upper = path_bounds(problem, quantity, width)
        fixed = via_points(problem, solution, quantity)
        for i, name in enumerate(problem.labels(quantity, width)):
            via = tuple((start + time, 0, value) for time, component, value in fixed if component == i)
            yield name, _Track(start + t, values[:, i], units[i], float(lower[i]), float(upper[i]), via)
