"""A motion in three dimensions: the robot in snapshots, its end point's path, obstacles and targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.base.palette import PALETTE
from trajopt.plot.canvas import new_figure
from trajopt.plot.scenery import OBSTACLE, points_of
from trajopt.plot.style import NOTE_FONT, SHADES, SMALL_FONT, WIDTH
from trajopt.terms.scene import Capsule, Target

HEIGHT = 5.0  # inches of a new figure
CORNERS = 24  # around an obstacle
LEAST = 0.15  # of the longest side: so thick is the box of a flat motion
LETTERS = "xyz"


def draw_in_space(
    lines: NDArray,
    path: NDArray,
    times: NDArray,
    scene: Sequence[Capsule | Target],
    up: int,
    figure: Any = None,
    ax: Any = None,
) -> Any:
    """The figure: snapshots (k, segments, 2, 3) at `times` (k,), the path (m, 3), one scale on all axes.

    up : the world axis that points up on the page
    Raises OptionError for axes that are not three-dimensional.
    """
    if ax is not None and getattr(ax, "name", "") != "3d":
        raise OptionError("ax has two dimensions: give one of figure.add_subplot(projection='3d')")
    if ax is None:
        figure = new_figure(WIDTH, HEIGHT) if figure is None else figure
        ax = figure.add_subplot(projection="3d")
    for number, (posture, time) in enumerate(zip(lines, times, strict=True)):
        draw_posture(ax, posture, SHADES(time / times[-1]), number in (0, len(times) - 1))
    ax.plot(*path.T, color=PALETTE[1], linewidth=1.1, linestyle=(0, (4, 1.5)))
    for point, label in ((path[0], "start"), (path[-1], "end")):
        ax.plot(*point[:, None], "o", markersize=4.0, color=PALETTE[1])
        ax.text(*point, f" {label}", fontsize=SMALL_FONT, color=PALETTE[1])
    for each in scene:
        draw_one(ax, each)
    fit_box(ax, np.stack([*lines.reshape(-1, 3), *path, *points_of(list(scene))]), up)
    bar = ScalarMappable(Normalize(0.0, float(times[-1])), SHADES)
    ax.figure.colorbar(bar, ax=ax, label="time (s)", shrink=0.6, aspect=30, pad=0.1)
    return ax.figure


def draw_posture(ax: Any, segments: NDArray, colour: Any, thick: bool) -> None:
    """Links (segments, 2, 3) as lines with a dot at every joint."""
    for segment in segments:
        ax.plot(*segment.T, color=colour, linewidth=3.0 if thick else 1.4, solid_capstyle="round")
    ax.plot(
        *segments[:, 0].T,
        linestyle="none",
        marker="o",
        markersize=4.0 if thick else 2.5,
        markerfacecolor="white",
        markeredgecolor=colour,
    )


def draw_one(ax: Any, each: Capsule | Target) -> None:
    """An obstacle as a pale surface, a target as a cross where all of its coordinates are known."""
    if isinstance(each, Capsule):
        ax.plot_surface(*surface(each), color=OBSTACLE, alpha=0.45, linewidth=0.0)
    elif np.isfinite(each.place).all():
        ax.plot(*np.asarray(each.place)[:, None], "x", markersize=7.0, markeredgewidth=1.6, color=PALETTE[2])
        ax.text(*each.place, f"  target of {each.frame}", fontsize=NOTE_FONT, color=PALETTE[2], va="top")


def surface(capsule: Capsule) -> Array:
    """Points of the surface, (3, CORNERS, 2 CORNERS): circles about the axis from one pole to the other."""
    start, end = np.asarray(capsule.start), np.asarray(capsule.end)
    length = float(np.linalg.norm(end - start))
    along = (end - start) / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    aside = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    aside /= np.linalg.norm(aside)
    round_about = np.linspace(0.0, 2.0 * np.pi, CORNERS)
    circle = np.outer(aside, np.cos(round_about)) + np.outer(np.cross(along, aside), np.sin(round_about))
    height = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 2 * CORNERS)  # even: none lies on the equator
    middle = np.where(height < 0.0, start[:, None], end[:, None])
    poles = middle + capsule.radius * along[:, None] * np.sin(height)
    return poles[:, None, :] + capsule.radius * circle[:, :, None] * np.cos(height)


def fit_box(ax: Any, points: Array, up: int) -> None:
    """One scale on all axes, names with units, and the world axis `up` upright."""
    low, high = points.min(axis=0), points.max(axis=0)
    least = LEAST * float((high - low).max())
    side = np.maximum(high - low, least)
    middle = 0.5 * (low + high)
    for letter, centre, length in zip(LETTERS, middle, side, strict=True):
        getattr(ax, f"set_{letter}lim")(centre - 0.5 * length, centre + 0.5 * length)
        getattr(ax, f"set_{letter}label")(f"{letter} (m)")
        getattr(ax, f"{letter}axis").set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))
    ax.set_box_aspect(side)
    ax.view_init(vertical_axis=LETTERS[up])
