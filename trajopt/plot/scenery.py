"""Surroundings of the robot in a picture: obstacles and targets of its frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Polygon

from trajopt.base.arrays import Array
from trajopt.base.palette import PALETTE
from trajopt.plot.style import LIMIT_COLOUR, NOTE_FONT
from trajopt.plot.time_axis import HALO
from trajopt.terms.scene import Capsule, Target, scene_of
from trajopt.terms.term import Quantity

OBSTACLE = "#E3C6D6"  # a pale PALETTE[3]
POSITION = "position:"
BELOW, ABOVE = (6.0, -10.0), (6.0, 5.0)  # points; neighbours take turns, so that their names do not overlap


def scenery(problem: Any) -> list[Capsule | Target]:
    """Obstacles and targets of the costs and constraints of a problem, each once.

    Known are those of `trajopt.library` and places that a frame is held at; terms of one's own know none,
    unless they are made with a `scene`.
    """
    found: list[Capsule | Target] = []
    for each in (*problem.constraints, *problem.costs):
        found += scene_of(each.term)
    for each in problem.constraints:
        term = each.term
        if isinstance(term, Quantity) and term.quantity.startswith(POSITION):
            place = np.where(each.lower == each.upper, each.lower, np.nan)
            if np.isfinite(place).any() and not each.over.is_difference:
                found.append(Target(term.quantity.removeprefix(POSITION), tuple(place.tolist())))
    return list(dict.fromkeys(found))


def points_of(scene: list[Capsule | Target]) -> Iterator[Array]:
    """Corners of what is around, (3,) each, so that a picture can hold it; free coordinates are left out."""
    for each in scene:
        if isinstance(each, Capsule):
            for end in (each.start, each.end):
                yield np.asarray(end) - each.radius
                yield np.asarray(end) + each.radius
        elif np.isfinite(each.place).all():
            yield np.asarray(each.place)


def draw_scenery(axis: Axes, scene: list[Capsule | Target], across: int, up: int) -> None:
    """The shadows of obstacles, and crosses at targets, in a plane of two world axes."""
    for each in scene:
        if isinstance(each, Capsule):
            ends = np.array([each.start, each.end])[:, [across, up]]
            draw_capsule(axis, ends[0], ends[1], each.radius)
    targets = [each for each in scene if isinstance(each, Target)]
    for number, target in enumerate(sorted(targets, key=lambda each: np.nan_to_num(each.place[across]))):
        draw_target(axis, target, across, up, BELOW if number % 2 == 0 else ABOVE)


def draw_capsule(axis: Axes, start: Array, end: Array, radius: float) -> None:
    """The shadow of a capsule: two discs and the strip between them."""
    style: dict[str, Any] = {"facecolor": OBSTACLE, "edgecolor": "none", "zorder": 1}
    for middle in (start, end):
        axis.add_patch(Circle((float(middle[0]), float(middle[1])), radius, **style))
    along = end - start
    length = float(np.hypot(*along))
    if length > 0.0:
        side = radius * np.array([-along[1], along[0]]) / length
        axis.add_patch(Polygon([start + side, end + side, end - side, start - side], closed=True, **style))


def draw_target(axis: Axes, target: Target, across: int, up: int, beside: tuple[float, float]) -> None:
    """A cross with its name `beside` it, in points, or a line where one of the two coordinates is free."""
    x, y = target.place[across], target.place[up]
    if np.isfinite(x) and np.isfinite(y):
        axis.plot(x, y, "x", markersize=7.0, markeredgewidth=1.6, color=PALETTE[2], zorder=7)
        axis.annotate(
            f"target of {target.frame}",
            (x, y),
            xytext=beside,
            textcoords="offset points",
            fontsize=NOTE_FONT,
            color=PALETTE[2],
            path_effects=HALO,
            zorder=7,
        )
    elif np.isfinite(x):
        axis.axvline(x, color=LIMIT_COLOUR, linewidth=0.8, linestyle=":", zorder=1)
    elif np.isfinite(y):
        axis.axhline(y, color=LIMIT_COLOUR, linewidth=0.8, linestyle=":", zorder=1)
