"""Curves over time by joint and by state: torques and limits, positions and rates, controls, costates.

Internal forces, other unknown curves, units and bounds are drawn the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain, takewhile

import numpy as np
from matplotlib.figure import Figure

from trajopt.base.arguments import check_known, list_names
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, UnknownNameError
from trajopt.display.curves import Component, driving_torque, held_at_zero, kinds_of
from trajopt.display.svg_chart import PALETTE
from trajopt.graph.quantities import EXTRA, SPLINE_LEAVES
from trajopt.plot.canvas import NOISE, GivenAxes, GivenFigure, check_solution, times
from trajopt.plot.curve_panels import Panel, Track, draw_panels, starts_of, tracks_of, whole_curve
from trajopt.problem.input_checks import index_of
from trajopt.problem.systems.system import System
from trajopt.solution.solution import Answer, Solution

TOGETHER = len(PALETTE)  # curves that can be distinguished in one panel
CURVES = ("position", "velocity", "acceleration", "jerk")


def torques(
    solution: Answer,
    *,
    joints: Sequence[str] | None = None,
    knots: bool = False,
    figure: GivenFigure = None,
    ax: GivenAxes = None,
) -> Figure:
    """Joint torques (N m) and forces (N) over time with their limits, one panel per joint.

    Every panel is as high as its curve; a limit farther away is printed above it. Where a torque jumps from
    one limit to the other the switching time is written, and lines part arcs. Joints without any torque are
    named in the title instead, and so are those without motors, with the largest residual that their
    equation has between nodes.

    Of a robot whose joints have springs or dampers they are those of the motors beside these.

    joints : select by name, those without torques too;   knots : mark the knots of the spline
    figure : a matplotlib figure or a part of one to draw on;   ax : axes, one for each joint drawn
    Phases follow each other in time; a joint that only some of them have is drawn where it is.
    Raises UnknownNameError for a joint the motion does not have, OptionError for another count of axes.
    """
    known = parts_with(solution, "tau", "torques")
    sprung = any(driving_torque(part.problem) == "motor_torque" for part in known)
    drawn = "motor_torque" if sprung else "tau"
    tracks = list(tracks_of(solution, lambda part: [drawn] * (part in known))[drawn].values())
    curves = list(map(whole_curve, tracks))
    held = [dict(zip(part.driven_joints, held_at_zero(part), strict=True)) for part in known]
    unpowered = np.array([all(each.get(curve.name, True) for each in held) for curve in curves])
    chosen, note = active_joints(curves, joints, "no torque", unpowered)
    if joints is None and unpowered.any() and not unpowered[chosen].any():
        idle = [curves[i] for i in np.flatnonzero(unpowered)]
        note = "; ".join(filter(None, (note, without_motors(idle))))
    kinds = {"N m": "torque", "N": "force"}
    contents = [
        Panel(kinds.get(curves[i].unit, "torque or force"), tracks[i], curves[i].name) for i in chosen
    ]
    return draw_panels(solution, contents, figure, ax, note=note, knots=knots)


def joint_forces(
    solution: Answer,
    *,
    joints: Sequence[str] | None = None,
    knots: bool = False,
    figure: GivenFigure = None,
    ax: GivenAxes = None,
) -> Figure:
    """Norm |F_i| in N of the force that joint i transmits to its link, (4.3) and (4.6) of Barman's thesis.

    Joints that transmit the same force, such as the axes of a hip, are one curve; up to seven curves
    share a panel, more have one each. Arguments and errors as in `torques`.
    """
    known = parts_with(solution, "wrench", "joint forces")
    names = list(dict.fromkeys(name for part in known for name in part.driven_joints))
    each = list(zip(solution.parts, starts_of(solution), strict=False))
    t = np.concatenate([start + times(part) for part, start in each])
    norms = np.concatenate([_forces(part, names, known) for part, _ in each])
    chosen, note = active_joints(list(map(Component, names, norms.T)), joints, "no force")
    groups = same_curves(norms, chosen)
    together = len(groups) <= TOGETHER
    tracks = [
        Track(
            t, Component(group_label([names[i] for i in group], short=not together), norms[:, group[0]], "N")
        )
        for group in groups
    ]
    contents = [Panel("force", [track], track.curve.name, bottom=0.0) for track in tracks]
    if together:
        contents = [Panel("internal joint force", tracks, legend=True, bottom=0.0)]
    return draw_panels(solution, contents, figure, ax, note=note, knots=knots)


def joints(
    solution: Answer,
    *,
    joints: Sequence[str] | None = None,
    curves: Sequence[str] | None = None,
    knots: bool = False,
    figure: GivenFigure = None,
    ax: GivenAxes = None,
) -> Figure:
    """Positions of every joint over time and their rates, with their limits where these are known.

    curves : of "position", "velocity", "acceleration" and "jerk"; by default the first three, jerks where the
        problem bounds them, and only the first two of more than seven joints
    Diamonds are via points, prescribed at an instant within the motion. Joints at rest are named in the
    title. Also of a solution read from a file whose problem is not at hand. `ax` has one for each joint and
    curve, joint by joint; the other arguments and errors are as in `torques`.
    """
    check_solution(solution)
    tracks = [list(each.values()) for each in tracks_of(solution, lambda part: SPLINE_LEAVES).values()]
    chosen, note = active_joints(list(map(whole_curve, tracks[1])), joints, "at rest")
    orders = chosen_orders(curves, len(chosen), list(map(whole_curve, tracks[3])))
    contents = [
        Panel(CURVES[order], tracks[order][i], tracks[order][i][0].curve.name)
        for i in chosen
        for order in orders
    ]
    return draw_panels(solution, contents, figure, ax, each=len(orders), note=note, knots=knots)


def parts_with(solution: Answer, quantity: str, what: str) -> list[Solution]:
    """The parts that have a quantity; OptionError where none does, as systems of states and controls."""
    check_solution(solution)
    known = [part for part in solution.parts if part.problem.quantities.knows(quantity)]
    if not known:
        raise OptionError(
            f"{solution.name} has no {what}: trajopt.plot.states(solution) draws states and controls"
        )
    return known


def _forces(solution: Solution, names: Sequence[str], known: Sequence[Solution]) -> Array:
    """Norms of the forces in joints (times, names), NaN for a joint that the motion does not have."""
    t = times(solution)
    found = np.full((t.size, len(names)), np.nan)
    if solution in known:
        own = [names.index(name) for name in solution.driven_joints]
        found[:, own] = np.linalg.norm(solution.wrench(t)[..., 3:], axis=-1)
    return found


def active_joints(
    curves: Sequence[Component],
    joints: Sequence[str] | None,
    without: str,
    left_out: Array | None = None,
) -> tuple[list[int], str]:
    """The joints to draw, and a note on the others: all named ones, or those whose curves are not zero.

    left_out : (joints,) those that neither figure nor note has
    """
    names = [curve.name for curve in curves]
    chosen = [index_of(name, names) for name in (names if joints is None else joints)]
    kept = np.ones(len(curves), dtype=bool) if left_out is None else ~left_out
    sizes = kept * largest_values(curves)
    active = [i for i in chosen if sizes[i] > NOISE * max(sizes.max(initial=0.0), NOISE)]
    if joints is not None or not active or len(active) == len(chosen):
        return chosen, ""
    zero = [names[i] for i in chosen if kept[i] and i not in active]
    return active, f"{without}: {list_names(zero)}" if zero else ""


def largest_values(curves: Sequence[Component]) -> Array:
    """The largest absolute value of every curve."""
    return np.array([np.fmax.reduce(np.abs(curve.values), initial=0.0) for curve in curves])


def without_motors(idle: Sequence[Component]) -> str:
    """Names of joints without motors, and the largest residuals of their equations, one for each unit."""
    largest: dict[str, float] = {}
    for curve, size in zip(idle, largest_values(idle), strict=True):
        largest[curve.unit] = max(largest.get(curve.unit, 0.0), float(size))
    residual = ", ".join(f"{size:.2g} {unit}".rstrip() for unit, size in largest.items())
    names = list_names(curve.name for curve in idle)
    return f"no motor: {names} (residual between nodes at most {residual})"


def chosen_orders(curves: Sequence[str] | None, count: int, jerks: Sequence[Component]) -> list[int]:
    """The derivatives of the position to draw; OptionError for a word that is none of `CURVES`."""
    if curves is None:
        bounded = any(np.isfinite([jerk.lower, jerk.upper]).any() for jerk in jerks)
        return [0, 1] if count > TOGETHER else [0, 1, 2, 3] if bounded else [0, 1, 2]
    chosen = [curves] if isinstance(curves, str) else curves
    for name in chosen:
        check_known("curve of a joint", name, CURVES, OptionError)
    return [CURVES.index(name) for name in chosen]


def same_curves(values: Array, chosen: Sequence[int]) -> list[list[int]]:
    """Joints in groups whose curves (times, joints) are equal, in their order."""
    groups: dict[int, list[int]] = {}
    size = NOISE * np.fmax.reduce(np.abs(values), axis=None, initial=NOISE)
    for i in chosen:
        same = (first for first in groups if np.allclose(values[:, i], values[:, first], NOISE, size, True))
        groups.setdefault(next(same, i), []).append(i)
    return list(groups.values())


def group_label(names: Sequence[str], short: bool) -> str:
    """Names of joints that share a curve; short : what they begin with, and how many they are."""
    letters = takewhile(lambda column: len(set(column)) == 1, zip(*names, strict=False))
    beginning = "".join(column[0] for column in letters).rstrip("_- .")
    if len(names) == 1 or not short:
        return list_names(names)
    return f"{beginning} ({len(names)} joints)" if beginning else f"{names[0]} and {len(names) - 1} more"


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


def _components(name: str, tracks: Mapping[str, object]) -> list[str]:
    """The curves of a name: "T 0", "T 1" ... of "T"; UnknownNameError where there are none."""
    several = [label for label in tracks if re.fullmatch(rf"{re.escape(str(name))} \d+", label)]
    if name in tracks or not several:
        index_of(name, list(tracks), "state or control")
        return [name]
    return several


def costates(
    solution: Answer, *, names: Sequence[str] | None = None, figure: GivenFigure = None, ax: GivenAxes = None
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


def _quantities(solution: Solution) -> list[str]:
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
