"""Figure of the motion in space: snapshots of the robot from start to end, and the path of its end point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trajopt.errors import OptionError
from trajopt.graph.block import GravityField, SkeletonDynamics
from trajopt.plot.style import LIMIT_COLOUR, PALETTE, WIDTH, NotebookFigure, settings, title
from trajopt.solution.skeleton_view import checked_segments, drawing_axes

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

PATH_SAMPLES = 300
MARGINS = (1.5, 0.9)  # inches beside and below the motion, for labels and the colour bar
NARROWEST = 1.8  # inches
#: From a light to a dark blue: lightness alone tells first from last, in print and for colour-blind readers.
SHADES = LinearSegmentedColormap.from_list("shades", ["#B7D7EE", PALETTE[0], "#00263D"])


def motion(solution: Solution, *, snapshots: int = 9) -> Figure:
    """The robot at evenly spaced times, light at the start and dark at the end, with its end point's path.

    Drawn in the world plane that the motion lies in, or spreads over most; lengths in m, one scale on both
    axes. Raises OptionError for fewer than two snapshots or a dynamics without `skeleton(q)`.
    """
    if snapshots < 2:
        raise OptionError(f"snapshots is {snapshots}: give at least 2, the first and the last")
    dynamics = solution.as_built.dynamics
    if not isinstance(dynamics, SkeletonDynamics):
        raise OptionError(
            f"the dynamics of {solution.name} has no skeleton(q): a picture needs line segments "
            "(..., segments, 2, 3)"
        )
    shown_at = np.linspace(0.0, solution.duration, snapshots)
    lines = checked_segments(dynamics.skeleton(solution.q(shown_at)), snapshots)
    along = np.linspace(0.0, solution.duration, PATH_SAMPLES)
    path = np.asarray(dynamics.skeleton(solution.q(along)))[:, -1, 1]
    across, up = drawing_axes(lines, dynamics.gravity if isinstance(dynamics, GravityField) else None)
    with settings():
        figure = NotebookFigure(figsize=figure_size(lines[..., (across, up)]), layout="constrained")
        axis = figure.subplots()
        draw_base(axis, lines[:, 0, 0][:, (across, up)])
        draw_path(axis, path[:, (across, up)])
        draw_snapshots(axis, lines[..., (across, up)], shown_at)
        axis.set_xlabel(f"{'xyz'[across]} (m)")
        axis.set_ylabel(f"{'xyz'[up]} (m)")
        axis.set_aspect("equal", adjustable="datalim")
        axis.autoscale_view()
        bar = ScalarMappable(Normalize(0.0, solution.duration), SHADES)
        figure.colorbar(bar, ax=axis, label="time (s)", shrink=0.8, aspect=30, pad=0.02)
        title(figure, solution)
    return figure


def figure_size(flat_lines: NDArray) -> tuple[float, float]:
    """Inches in which the motion keeps its shape: within the page's width, margins and colour bar added."""
    width, height = np.ptp(flat_lines.reshape(-1, 2), axis=0)
    longest = WIDTH - MARGINS[0]
    scale = longest / max(width, height)
    drawn = np.clip(scale * np.array([width, height]), NARROWEST, longest) + MARGINS
    return float(drawn[0]), float(drawn[1])


def draw_path(axis: Axes, path: NDArray) -> None:
    axis.plot(path[:, 0], path[:, 1], color=PALETTE[1], linewidth=1.1, linestyle=(0, (4, 1.5)), zorder=2)
    for point, label in ((path[0], "start"), (path[-1], "end")):
        axis.plot(*point, marker="o", markersize=4.0, color=PALETTE[1], zorder=6)
        axis.annotate(
            label,
            point,
            xytext=(6, 4),
            textcoords="offset points",
            fontsize=8.0,
            color=PALETTE[1],
            zorder=7,
        )


def draw_base(axis: Axes, first_joints: NDArray) -> None:
    """A square where the robot stands, or the rail along which its first joint slides."""
    if np.ptp(first_joints, axis=0).max() == 0.0:
        axis.plot(*first_joints[0], marker="s", markersize=7.0, color=LIMIT_COLOUR, zorder=2)
    else:
        axis.plot(first_joints[:, 0], first_joints[:, 1], color="#CCCCCC", linewidth=7.0, zorder=1)


def draw_snapshots(axis: Axes, lines: NDArray, times: NDArray) -> None:
    """Each posture as thick lines with a dot at every joint; the first and the last thicker."""
    last = len(times) - 1
    for k, (segments, time) in enumerate(zip(lines, times, strict=True)):
        colour = SHADES(time / times[-1])
        at_end = k in (0, last)
        axis.add_collection(
            LineCollection(
                list(segments),
                colors=[colour],
                linewidths=3.0 if at_end else 1.6,
                capstyle="round",
                zorder=4 if at_end else 3,
            )
        )
        axis.plot(
            segments[:, 0, 0],
            segments[:, 0, 1],
            linestyle="none",
            marker="o",
            markersize=5.0 if at_end else 3.5,
            markerfacecolor="white",
            markeredgecolor=colour,
            zorder=5,
        )
