"""Curves over time, joint by joint: torques and their limits, internal forces, positions and their rates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trajopt.base.arguments import list_names, short_repr
from trajopt.base.errors import OptionError, UnknownNameError, near_matches
from trajopt.base.rounding import AGREEMENT
from trajopt.plot.bounds import (
    QUANTITIES,
    held_at_zero,
    joint_bounds,
    joint_units,
    path_bounds,
    torque_bounds,
    torque_units,
)
from trajopt.plot.canvas import GivenAxes, panels, title
from trajopt.plot.drawable import check_solution, problem_of
from trajopt.plot.style import FONT, line_of, settings, times
from trajopt.plot.time_axis import (
    arc_names,
    borders_of,
    fit,
    limit_switches,
    mark_borders,
    mark_knots,
    mark_switches,
    mark_via_points,
    name_panel,
    via_points,
)

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

TOGETHER = 6  # curves that can be distinguished in one panel
CURVES = ("position", "velocity", "acceleration", "jerk")
MANY = 8  # joints: beyond, positions and velocities alone are drawn unless others are asked for


def torques(
    solution: SolutionData,
    *,
    joints: Sequence[str] | None = None,
    knots: bool = False,
    figure: Any = None,
    ax: GivenAxes = None,
) -> Figure:
    """Joint torques (N m) and forces (N) over time with their limits, one panel per joint.

    Every panel is as high as its curve; a limit farther away is printed above it. Where a torque jumps from
    one limit to the other the switching time is written, and lines part arcs. Joints without any torque are
    named in the title instead, and so are those without motors, with the largest residual that their
    equation has between nodes.

    joints : select by name, those without torques too;   knots : mark the knots of the spline
    figure : a matplotlib figure or a part of one to draw on;   ax : axes, one for each joint drawn
    Raises UnknownNameError for a joint the motion does not have, OptionError for another count of axes.
    """
    check_known(solution, "tau", "torques")
    names, t = solution.driven_joints, times(solution)
    values = solution.tau(t)
    units, (lower, upper) = torque_units(solution), torque_bounds(solution)
    unpowered = held_at_zero(solution)
    chosen, note = active_joints(names, joints, values, "no torque", unpowered)
    if joints is None and unpowered.any() and not unpowered[chosen].any():
        note = "; ".join(filter(None, (note, without_motors(names, values, units, unpowered))))
    is_new = figure is None and ax is None
    with settings():
        figure, axes = panels([names[i] for i in chosen], columns_for(len(chosen)), 1.75, figure, ax)
        for axis, i in zip(axes, chosen, strict=True):
            axis.plot(t, values[:, i], **line_of(0))
            fit(axis, values[:, i], float(lower[i]), float(upper[i]), units[i])
            switches = limit_switches(t, values[:, i], float(lower[i]), float(upper[i]))
            mark_switches(axis, switches, float(upper[i]))
            what = {"N m": "torque", "N": "force"}.get(units[i], "torque or force")
            axis.set_ylabel(f"{what} ({units[i]})" if units[i] else what)
            name_panel(axis, names[i], FONT)
        finish(axes, solution, knots)
        if is_new:
            title(figure, solution, note)
    return figure


def joint_forces(
    solution: SolutionData,
    *,
    joints: Sequence[str] | None = None,
    knots: bool = False,
    figure: Any = None,
    ax: GivenAxes = None,
) -> Figure:
    """Norm |F_i| in N of the force that joint i transmits to its link, (4.3) and (4.6) of Barman's thesis.

    Joints that transmit the same force, such as the axes of a hip, are one curve; up to six curves share a
    panel, more have one each. Arguments and errors as in `torques`.
    """
    check_known(solution, "wrench", "joint forces")
    names, t = solution.driven_joints, times(solution)
    norms = np.linalg.norm(solution.wrench(t)[..., 3:], axis=-1)
    chosen, note = active_joints(names, joints, norms, "no force")
    groups = same_curves(norms, chosen)
    labels = [group_label([names[i] for i in group], len(groups) > TOGETHER) for group in groups]
    together, is_new = len(groups) <= TOGETHER, figure is None and ax is None
    panel_names = ["internal joint forces"] if together else labels
    with settings():
        columns, height = (1, 2.6) if together else (columns_for(len(groups)), 1.6)
        figure, axes = panels(panel_names, columns, height, figure, ax)
        for position, (group, label) in enumerate(zip(groups, labels, strict=True)):
            axis = axes[0 if together else position]
            axis.plot(t, norms[:, group[0]], label=label, **line_of(position if together else 0))
            if not together:
                name_panel(axis, label, FONT)
        for axis in axes:
            axis.set_ylabel("internal joint force (N)" if together else "force (N)")
            axis.set_ylim(bottom=0.0)
        finish(axes, solution, knots)
        if together:
            axes[0].legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
        if is_new:
            title(figure, solution, note)
    return figure


def joints(
    solution: SolutionData,
    *,
    joints: Sequence[str] | None = None,
    curves: Sequence[str] | None = None,
    knots: bool = False,
    figure: Any = None,
    ax: GivenAxes = None,
) -> Figure:
    """Positions of every joint over time and their rates, with their limits where these are known.

    curves : of "position", "velocity", "acceleration" and "jerk"; by default the first three, jerks where the
        problem bounds them, and only the first two of more than eight joints
    Diamonds are via points, prescribed at an instant within the motion. Joints at rest are named in the
    title. Also of a solution read from a file whose problem is not at hand. `ax` has one for each joint and
    curve, joint by joint; the other arguments and errors are as in `torques`.
    """
    check_solution(solution)
    names, t = solution.joint_names, times(solution)
    speeds = solution.v(t)
    chosen, note = active_joints(names, joints, speeds, "at rest")
    orders = chosen_orders(solution, curves, len(chosen))
    values = {0: solution.q(t), 1: speeds, 2: solution.a(t), 3: solution.jerk(t)}
    bounds = {order: joint_bounds(solution, order) for order in orders}
    units = {order: joint_units(solution, order) for order in orders}
    problem, is_new = problem_of(solution), figure is None and ax is None
    marked = [order for order in orders if problem is not None]
    fixed = {order: via_points(problem, solution, QUANTITIES[order]) for order in marked}
    labels = [f"{CURVES[order]} of {names[i]}" for i in chosen for order in orders]
    with settings():
        columns = len(orders) * pairs_for(len(chosen))
        figure, axes = panels(labels, columns, 1.6, figure, ax, least_width=2.4)
        for axis, (i, order) in zip(axes, ((i, order) for i in chosen for order in orders), strict=True):
            curve = values[order][:, i]
            axis.plot(t, curve, **line_of(0))
            fit(axis, curve, float(bounds[order][0][i]), float(bounds[order][1][i]), units[order][i])
            mark_via_points(axis, fixed.get(order, []), i)
            axis.set_ylabel(f"{CURVES[order]} ({units[order][i]})" if units[order][i] else CURVES[order])
            name_panel(axis, names[i], 8.0)
        finish(axes, solution, knots)
        if is_new:
            title(figure, solution, note)
    return figure


def check_known(solution: SolutionData, quantity: str, what: str) -> None:
    """OptionError where the dynamics has no such quantity, as a system of states and controls."""
    check_solution(solution)
    if not solution.problem.quantities.knows(quantity):
        raise OptionError(
            f"{solution.name} has no {what}: trajopt.plot.states(solution) draws states and controls"
        )


def joint_indices(names: Sequence[str], joints: Sequence[str] | None) -> list[int]:
    """Positions of the named joints, or of all; UnknownNameError for another name."""
    for name in joints or ():
        if name not in names:
            near = near_matches(name, names) or f": it has {', '.join(names)}"
            raise UnknownNameError(f"the motion has no joint '{name}'{near}")
    return list(range(len(names))) if joints is None else [names.index(name) for name in joints]


def active_joints(
    names: Sequence[str],
    joints: Sequence[str] | None,
    values: NDArray,
    without: str,
    left_out: NDArray | None = None,
) -> tuple[list[int], str]:
    """The joints to draw, and a note on the others: all named ones, or those whose curves are not zero.

    values : (times, joints);   left_out : (joints,) those that neither figure nor note has
    """
    chosen = joint_indices(names, joints)
    kept = np.ones(len(names), dtype=bool) if left_out is None else ~left_out
    sizes = np.where(kept, np.abs(values).max(axis=0, initial=0.0), 0.0)
    active = [i for i in chosen if sizes[i] > AGREEMENT * max(float(sizes.max(initial=0.0)), AGREEMENT)]
    if joints is not None or not active or len(active) == len(chosen):
        return chosen, ""
    zero = [names[i] for i in chosen if kept[i] and i not in active]
    return active, f"{without}: {list_names(zero)}" if zero else ""


def without_motors(names: Sequence[str], values: NDArray, units: Sequence[str], which: NDArray) -> str:
    """Names of joints without motors, and the largest residuals of their equations, one for each unit."""
    sizes = np.abs(values).max(axis=0, initial=0.0)
    joints, largest = list_names(np.asarray(names, dtype=object)[which]), {}
    for i in map(int, np.flatnonzero(which)):
        largest[units[i]] = max(largest.get(units[i], 0.0), float(sizes[i]))
    residual = ", ".join(f"{size:.2g} {unit}".rstrip() for unit, size in largest.items())
    return f"no motor: {joints} (residual between nodes at most {residual})"


def chosen_orders(solution: SolutionData, curves: Sequence[str] | None, count: int) -> list[int]:
    """The derivatives of the position to draw; OptionError for a word that is none of `CURVES`."""
    if curves is not None:
        for name in [curves] if isinstance(curves, str) else curves:
            if name not in CURVES:
                near = near_matches(name, CURVES)
                raise OptionError(f"curves has {short_repr(name)}{near}: choose among {', '.join(CURVES)}")
        return [CURVES.index(name) for name in ([curves] if isinstance(curves, str) else curves)]
    if count > MANY:
        return [0, 1]
    problem = problem_of(solution)
    bounds = () if problem is None else path_bounds(problem, "jerk", len(solution.joint_names))
    return [0, 1, 2, 3] if any(np.isfinite(each).any() for each in bounds) else [0, 1, 2]


def same_curves(values: NDArray, chosen: Sequence[int]) -> list[list[int]]:
    """Joints in groups whose curves (times, joints) are equal, in their order."""
    groups: list[list[int]] = []
    size = AGREEMENT * max(float(np.abs(values).max(initial=0.0)), AGREEMENT)
    for i in chosen:
        for group in groups:
            if np.allclose(values[:, i], values[:, group[0]], rtol=AGREEMENT, atol=size):
                group.append(i)
                break
        else:
            groups.append([i])
    return groups


def group_label(names: Sequence[str], short: bool) -> str:
    """Names of joints that share a curve; short : what they begin with, and how many they are."""
    letters = takewhile(lambda column: len(set(column)) == 1, zip(*names, strict=False))
    beginning = "".join(column[0] for column in letters).rstrip("_- .")
    if len(names) == 1 or not short:
        return list_names(names)
    return f"{beginning} ({len(names)} joints)" if beginning else f"{names[0]} and {len(names) - 1} more"


def finish(axes: Sequence[Any], solution: SolutionData, knots: bool) -> None:
    """The range of time, the borders of arcs, numbered above the first panel, and the knots."""
    for number, axis in enumerate(axes):
        axis.set_xlim(0.0, solution.duration)
        borders = borders_of(solution)
        mark_borders(axis, borders, arc_names(borders) if number == 0 else ())
        if knots:
            mark_knots(axis, solution)


def columns_for(count: int) -> int:
    """Panels side by side: few joints get the whole width."""
    return 1 if count <= 3 else 2 if count <= 8 else 4


def pairs_for(count: int) -> int:
    """Joints side by side where each has several panels."""
    return 1 if count <= 8 else 2 if count <= 16 else 3
