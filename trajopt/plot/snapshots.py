"""Figure of the motion in space: snapshots of the robot from start to end, and the path of its end point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError
from trajopt.base.palette import PALETTE
from trajopt.graph.protocols.dynamics import GravityField, SkeletonDynamics
from trajopt.plot.canvas import GivenAxes, check_place, given_axes, new_figure, title
from trajopt.plot.drawable import check_solution
from trajopt.plot.scenery import draw_scenery, points_of, scenery
from trajopt.plot.space import draw_in_space
from trajopt.plot.style import LIMIT_COLOUR, SAMPLES, SHADES, SMALL_FONT, WIDTH, settings
from trajopt.plot.time_axis import HALO
from trajopt.solution.skeleton_view import FLAT, checked_segments, drawing_axes
from trajopt.terms.scene import Capsule, Target

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

MARGINS = (1.5, 0.9)  # inches beside and below the motion, for labels and the colour bar
NARROWEST = 1.8  # inches
SPATIAL = 0.03  # of the largest extent: a motion as thick as this is drawn from above, too
STILL = 1e-9  # m, by which a standing base may seem to move
VIEWS = ("planes", "space")


@dataclass(frozen=True, eq=False)
class Scene:
    """Contents of a picture of a motion.

    times : (k,) of the snapshots;   lines : (k, segments, 2, 3) links in world axes, m
    path : (m, 3) of the end point;   around : obstacles and targets
    planes : pairs of world axes, the plane that shows most and, of a spatial motion, the one from above
    """

    times: NDArray
    lines: NDArray
    path: NDArray
    around: list[Capsule | Target]
    planes: list[tuple[int, int]]


def motion(
    solution: SolutionData,
    *,
    snapshots: int = 9,
    view: Literal["planes", "space"] = "planes",
    figure: Any = None,
    ax: GivenAxes = None,
) -> Figure:
    """The robot at evenly spaced times, light at the start and dark at the end, with its end point's path.

    Drawn in the world plane that the motion lies in; a spatial motion is drawn twice, from the side on which
    it spreads most and from above. Lengths in m, one scale on both axes. Obstacles of `trajopt.library` are
    pale shadows, targets crosses.

    view : "planes", or "space" for one picture in three dimensions, which a window lets turn
    figure : a matplotlib figure or a part of one to draw on;   ax : axes, one for the first view alone, or
        one for each; of "space" one with `projection="3d"`
    Raises OptionError for fewer than two snapshots, another view, or a dynamics without `skeleton(q)`.
    """
    check_solution(solution)
    if snapshots < 2:
        raise OptionError(f"snapshots is {snapshots}: give at least 2, the first and the last")
    if view not in VIEWS:
        raise OptionError(f"view is {short_repr(view)}: give 'planes' or 'space'")
    check_place(figure, ax)
    is_new = figure is None and ax is None
    scene = scene_of_motion(solution, snapshots)
    with settings():
        if view == "space":
            axis = None if ax is None else given_axes(ax, ["the motion"])[0]
            up = scene.planes[0][1]
            figure = draw_in_space(scene.lines, scene.path, scene.times, scene.around, up, figure, axis)
        else:
            figure = _draw_planes(scene, figure, ax)
        if is_new:
            title(figure, solution)
    return figure


def scene_of_motion(solution: SolutionData, snapshots: int) -> Scene:
    """The scene of a motion; OptionError for a dynamics without `skeleton(q)`."""
    problem = solution.as_built
    dynamics = problem.dynamics
    if not isinstance(dynamics, SkeletonDynamics):
        raise OptionError(
            f"the dynamics of {solution.name} has no skeleton(q): a picture needs line segments "
            "(..., segments, 2, 3); trajopt.plot.states(solution) draws states and controls"
        )
    times = np.linspace(0.0, solution.duration, snapshots)
    lines = checked_segments(dynamics.skeleton(solution.q(times)), snapshots)
    along = np.linspace(0.0, solution.duration, SAMPLES)
    path = np.asarray(dynamics.skeleton(solution.q(along)))[:, -1, 1]
    planes = views(lines, dynamics.gravity if isinstance(dynamics, GravityField) else None)
    return Scene(times, lines, path, scenery(problem), planes)


def _draw_planes(scene: Scene, figure: Any, ax: GivenAxes) -> Figure:
    """One panel for each plane, or the first one alone on axes of the caller."""
    alone = ax is not None and np.size(np.asarray(ax, dtype=object)) == 1
    planes = scene.planes[:1] if alone else scene.planes
    around = np.stack([*scene.lines.reshape(-1, 3), *points_of(scene.around)])
    figure, axes = _places(around, planes, figure, ax)
    for axis, (across, up) in zip(axes, planes, strict=True):
        draw_scenery(axis, scene.around, across, up)
        draw_base(axis, scene.lines[:, 0, 0][:, (across, up)])
        draw_path(axis, scene.path[:, (across, up)])
        draw_snapshots(axis, scene.lines[..., (across, up)], scene.times)
        axis.set_xlabel(f"{'xyz'[across]} (m)")
        axis.set_ylabel(f"{'xyz'[up]} (m)")
        axis.set_aspect("equal", adjustable="datalim")
        axis.autoscale_view()
    bar = ScalarMappable(Normalize(0.0, float(scene.times[-1])), SHADES)
    figure.colorbar(bar, ax=axes, label="time (s)", shrink=0.8, aspect=30, pad=0.02)
    return figure


def views(lines: NDArray, gravity: Any = None) -> list[tuple[int, int]]:
    """The planes in which a motion is drawn, as pairs of world axes: one, and the one from above."""
    across, up = drawing_axes(lines, gravity)
    depth = 3 - across - up
    extent = np.ptp(lines.reshape(-1, 3), axis=0)
    return [(across, up)] + [(across, depth)] * bool(extent[depth] > SPATIAL * extent.max())


def _places(points: NDArray, planes: list[tuple[int, int]], figure: Any, ax: GivenAxes) -> tuple[Any, list]:
    """Axes one above the other, each of the size in which the motion keeps its shape."""
    if ax is not None:
        axes = given_axes(ax, ["the motion", "from above"][: len(planes)])
        return axes[0].figure, axes
    sizes = [figure_size(points[:, plane]) for plane in planes]
    if figure is None:
        figure = new_figure(max(width for width, _ in sizes), sum(height for _, height in sizes))
    ratios = [height for _, height in sizes]
    return figure, list(figure.subplots(len(planes), 1, squeeze=False, height_ratios=ratios).flat)


def figure_size(points: NDArray) -> tuple[float, float]:
    """Inches in which points (k, 2) keep their shape: within the page's width, margins and bar added."""
    width, height = np.ptp(points, axis=0)
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
            fontsize=SMALL_FONT,
            color=PALETTE[1],
            path_effects=HALO,
            zorder=7,
        )


def draw_base(axis: Axes, first_joints: NDArray) -> None:
    """A square where the robot stands, or the rail along which its first joint slides.

    Nothing where that joint moves along a curve: then the robot stands nowhere.
    """
    offsets = first_joints - first_joints.mean(axis=0)
    extents = np.linalg.svd(offsets, compute_uv=False)
    if extents[0] <= STILL:
        axis.plot(*first_joints[0], marker="s", markersize=7.0, color=LIMIT_COLOUR, zorder=2)
    elif extents[1] <= FLAT * extents[0]:
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
