"""States, controls and other unknown curves over time, with units and bounds, and costates of the states."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from matplotlib.figure import Figure

from trajopt.base.errors import UnknownNameError
from trajopt.display.curves import Component, kinds_of
from trajopt.graph.quantities import EXTRA
from trajopt.plot.canvas import GivenAxes, GivenFigure, check_solution
from trajopt.plot.curve_panels import Panel, Track, draw_panels, starts_of, tracks_of
from trajopt.plot.style import times
from trajopt.problem.input_checks import index_of
from trajopt.problem.systems.system import System
from trajopt.solution.solution import Answer, SolutionData


def states(
    solution: Answer, *, names: Sequence[str] | None = None, figure: GivenFigure = None, ax: GivenAxes = None
) -> Figure:
    """States and controls of a system, or what a robot has beside its joints, one panel per name.

    solution : a `Solution`, or a `PhasesSolution`, whose phases follow each other in time; what only some
        phases have is drawn where it is
    names : those to draw, in this order, all components of a name that has several; all by default
    figure : a matplotlib figure or a part of one to draw on;   ax : axes, one for each name
    Where a control jumps from one bound to the other the switching time is written. Lines part arcs and
    phases, diamonds are values prescribed within the motion.
    Units are those of the system, `trajopt.system(..., units={"h": "km"})`. Raises UnknownNameError for a
    name that no phase has, or where there is nothing but joints.
    """
    check_solution(solution)
    tracks = state_tracks(solution)
    if not tracks:
        raise UnknownNameError("the motion has no states or controls: `plot.joints` draws its joints")
    wanted = tracks if names is None else [label for name in names for label in _components(name, tracks)]
    contents = [Panel(label, tracks[label]) for label in wanted]
    return draw_panels(solution, contents, figure, ax)


def _components(name: str, tracks: Mapping[str, Any]) -> list[str]:
    """The curves of a name: "T 0", "T 1" ... of "T"; UnknownNameError where there are none."""
    several = [label for label in tracks if re.fullmatch(rf"{re.escape(str(name))} \d+", label)]
    if name in tracks or not several:
        index_of(name, list(tracks), "state or control")
        return [name]
    return several


def costates(
    solution: Any, *, names: Sequence[str] | None = None, figure: GivenFigure = None, ax: GivenAxes = None
) -> Figure:
    """Costates dJ/dx of the states of a system, one panel per state; see `Solution.costate`.

    names : states to draw, in this order; all by default.   solution, figure, ax : as of `states`
    Raises UnknownNameError for a name that no phase has, OptionError where no phase is a system x' = f.
    """
    check_solution(solution)
    tracks: dict[str, list[Track]] = {}
    known = [getattr(part.problem.dynamics, "states", ()) for part in solution.parts]
    elsewhere = set(chain.from_iterable(known))
    for part, start, own in zip(solution.parts, starts_of(solution), known, strict=False):
        t = times(part)
        for state in own if names is None else dict.fromkeys(names):
            if state not in own and state in elsewhere:
                continue
            values = part.costate(state)(t)
            labels = [state] if values.shape[1] == 1 else [f"{state} {i}" for i in range(values.shape[1])]
            for label, column in zip(labels, values.T, strict=True):
                tracks.setdefault(label, []).append(Track(start + t, Component(label, column)))
    contents = [Panel(f"costate of {name}", track) for name, track in tracks.items()]
    return draw_panels(solution, contents, figure, ax)


def has_states(answer: Answer) -> bool:
    """True if a solution, of a problem or of phases, has anything to draw beside joints."""
    return any(_quantities(part) for part in answer.parts)


def _quantities(solution: SolutionData) -> list[str]:
    """States and controls, or what a robot has beside its joints."""
    problem = solution.problem
    is_system = isinstance(problem.dynamics, System)
    return [each for each in kinds_of(problem) if each.startswith(EXTRA) or (is_system and each == "q")]


def state_tracks(answer: Answer) -> dict[str, list[Track]]:
    """Name -> its curve in every phase that has it, in the order of the phases."""
    found: dict[str, list[Track]] = {}
    for by_name in tracks_of(answer, _quantities).values():
        for name, tracks in by_name.items():
            found.setdefault(name, []).extend(tracks)
    return found
