"""Curves over time, joint by joint: torques and their limits, internal forces, positions, velocities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trajopt.errors import SolutionFileError, UnknownNameError, near_matches
from trajopt.graph.block import DescribedJoints, JointDescription
from trajopt.plot.style import LIMIT_COLOUR, line_of, panels, settings, times, title
from trajopt.problem.systems.robot_on_path import RobotOnPath
from trajopt.problem.units import units_of_quantity

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

NEAR_LIMIT = 0.05  # of the range between the limits: closer than this a torque counts as being at one
SWITCH_WIDTH = 0.15  # of the duration: slower passages from limit to limit are no switches
ROUNDING = 1e-8  # curves below it are drawn as zero
TOGETHER = 6  # curves that can still be told apart in one panel


def torques(solution: Solution, *, joints: Sequence[str] | None = None, knots: bool = False) -> Figure:
    """Joint torques (N m) and forces (N) over time with their limits, one panel per joint.

    Where a torque jumps from one limit to the other the switching time is written. `joints` selects by name;
    `knots` marks the knots of the spline. Raises UnknownNameError for a joint the motion does not have.
    """
    names = solution.driven_joints
    chosen = joint_indices(names, joints)
    t = times(solution)
    values = solution.tau(t)
    limits = torque_limits(solution)
    kinds = joint_kinds(solution, names)
    with settings():
        figure, axes = panels(len(chosen), columns_for(len(chosen)), height=1.75)
        for axis, i in zip(axes, chosen, strict=True):
            lower, upper = float(limits.torque_lower[i]), float(limits.torque_upper[i])
            draw_limits(axis, lower, upper)
            axis.plot(t, values[:, i], **line_of(0))
            mark_switches(axis, switching_times(t, values[:, i], lower, upper), upper)
            what, unit = {"revolute": ("torque", "N m"), "prismatic": ("force", "N")}.get(
                kinds[i], ("torque or force", "N m or N")
            )
            axis.set_ylabel(f"{what} ({unit})")
            axis.set_title(names[i], loc="right")
            finish(axis, solution, knots)
        title(figure, solution)
    return figure


def joint_forces(solution: Solution, *, joints: Sequence[str] | None = None, knots: bool = False) -> Figure:
    """Norm |F_i| in N of the force that joint i transmits to its link, (4.3) and (4.6) of Barman's thesis.

    Up to six joints share a panel, more have one each. Arguments and errors as in `torques`.
    """
    names = solution.driven_joints
    chosen = joint_indices(names, joints)
    t = times(solution)
    norms = np.linalg.norm(solution.wrench(t)[..., 3:], axis=-1)
    together = len(chosen) <= TOGETHER
    with settings():
        if together:
            figure, axes = panels(1, 1, height=2.6)
        else:
            figure, axes = panels(len(chosen), columns_for(len(chosen)), height=1.6)
        for position, i in enumerate(chosen):
            axis = axes[0 if together else position]
            axis.plot(t, norms[:, i], label=names[i], **line_of(position if together else 0))
            if not together:
                axis.set_title(names[i], loc="right")
        for axis in axes:
            axis.set_ylabel("internal joint force (N)" if together else "force (N)")
            axis.set_ylim(bottom=0.0)
            finish(axis, solution, knots)
        if together:
            axes[0].legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
        title(figure, solution)
    return figure


def joints(solution: Solution, *, joints: Sequence[str] | None = None, knots: bool = False) -> Figure:
    """Positions (rad or m) and velocities of every joint over time, with their limits where these are known.

    Also of a solution read from a file whose problem is not at hand. Arguments and errors as in `torques`.
    """
    chosen = joint_indices(solution.joint_names, joints)
    t = times(solution)
    limits = known_limits(solution)
    kinds, known_units = joint_kinds(solution, solution.joint_names), joint_units(solution)
    with settings():
        figure, axes = panels(2 * len(chosen), 2 * pairs_for(len(chosen)), height=1.6)
        for row, i in enumerate(chosen):
            unit = known_units[i] or {"revolute": "rad", "prismatic": "m"}.get(kinds[i], "rad or m")
            for axis, values in zip(axes[2 * row : 2 * row + 2], (solution.q(t), solution.v(t)), strict=True):
                axis.plot(t, values[:, i], **line_of(0))
                finish(axis, solution, knots)
            position, velocity = axes[2 * row : 2 * row + 2]
            if limits is not None:
                draw_limits(position, float(limits.q_lower[i]), float(limits.q_upper[i]))
                draw_limits(velocity, -float(limits.velocity[i]), float(limits.velocity[i]))
            position.set_ylabel(f"position ({unit})")
            velocity.set_ylabel(f"velocity ({unit}/s)")
            velocity.set_title(solution.joint_names[i], loc="right")
        title(figure, solution)
    return figure


def joint_indices(names: Sequence[str], joints: Sequence[str] | None) -> list[int]:
    """Positions of the named joints, or of all; UnknownNameError for another name."""
    for name in joints or ():
        if name not in names:
            near = near_matches(name, names) or f": it has {', '.join(names)}"
            raise UnknownNameError(f"the motion has no joint '{name}'{near}")
    return list(range(len(names))) if joints is None else [names.index(name) for name in joints]


def joint_kinds(solution: Solution, names: Sequence[str]) -> list[str]:
    """ "revolute" or "prismatic" per joint where the dynamics says, else "unknown"."""
    try:
        dynamics = solution.problem.dynamics
    except SolutionFileError:
        dynamics = None
    described = dynamics.joints if isinstance(dynamics, DescribedJoints) else ()
    kinds = {joint.name: str(joint.kind) for joint in described if isinstance(joint, JointDescription)}
    return [kinds.get(name, "unknown") for name in names]


def torque_limits(solution: Solution) -> Any:
    """The limits of the joints that have torques: of the dynamics, or of the robot on a path."""
    dynamics = solution.problem.dynamics
    return dynamics.robot.limits if isinstance(dynamics, RobotOnPath) else solution.limits


def joint_units(solution: Solution) -> list[str]:
    """The units of positions, "" where none is known; of states those that were told."""
    try:
        return units_of_quantity(solution.problem, "q", len(solution.joint_names))
    except SolutionFileError:
        return [""] * len(solution.joint_names)


def known_limits(solution: Solution) -> Any:
    """The joint limits, or None for a loaded solution that cannot build its problem."""
    try:
        return solution.limits
    except SolutionFileError:
        return None


def columns_for(count: int) -> int:
    """Panels side by side: few joints get the whole width."""
    return 1 if count <= 3 else 2 if count <= 8 else 4


def pairs_for(count: int) -> int:
    """Joints side by side where each has two panels."""
    return 1 if count <= 8 else 2 if count <= 16 else 3


def draw_limits(axis: Axes, lower: float, upper: float) -> None:
    for value in (lower, upper):
        if np.isfinite(value):
            axis.axhline(value, color=LIMIT_COLOUR, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)


def switching_times(t: NDArray, values: NDArray, lower: float, upper: float) -> list[float]:
    """When a curve passes from one limit to the other: the times at which it crosses their middle."""
    if not (np.isfinite(lower) and np.isfinite(upper) and upper > lower):
        return []
    margin = NEAR_LIMIT * (upper - lower)
    side = np.where(values >= upper - margin, 1, np.where(values <= lower + margin, -1, 0))
    touching = np.flatnonzero(side)
    found = []
    for before, after in pairwise(touching):
        if side[before] != side[after] and t[after] - t[before] <= SWITCH_WIDTH * t[-1]:
            between = slice(before, after + 1)
            rising = side[after] * values[between]
            found.append(float(np.interp(side[after] * (lower + upper) / 2, rising, t[between])))
    return found


def mark_switches(axis: Axes, switches: list[float], top: float) -> None:
    for time in switches:
        axis.axvline(time, color=LIMIT_COLOUR, linewidth=0.6, linestyle=":", zorder=1)
        axis.annotate(
            f"{time:.4f} s",
            (time, top),
            xytext=(0, 3),
            textcoords="offset points",
            horizontalalignment="center",
            fontsize=7.0,
            color=LIMIT_COLOUR,
        )


def finish(axis: Axes, solution: Solution, knots: bool) -> None:
    """The range of time, a zero line under curves that cross it, and the knots along the bottom."""
    axis.set_xlim(0.0, solution.duration)
    low, high = axis.get_ylim()
    if max(abs(low), abs(high)) < ROUNDING:
        low, high = axis.set_ylim(-1.0, 1.0)
    if low < 0.0 < high:
        axis.axhline(0.0, color="#BBBBBB", linewidth=0.6, zorder=0)
    if knots:
        at = np.asarray(solution.knot_times)
        axis.plot(
            at,
            np.zeros_like(at),
            linestyle="none",
            marker="|",
            markersize=5.0,
            color=LIMIT_COLOUR,
            transform=axis.get_xaxis_transform(),
            clip_on=False,
        )
