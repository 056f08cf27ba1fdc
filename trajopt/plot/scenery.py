"""Surroundings of the robot in a picture: obstacles and targets of its frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.patches import Circle, Polygon

from trajopt.base.arrays import Array
from trajopt.base.svg_chart import PALETTE
from trajopt.plot.canvas import MARK, NOTE, as_text
from trajopt.terms.term import Capsule, Quantity, Target, scene_of

if TYPE_CHECKING:
    from trajopt.problem.problem import ProblemData

OBSTACLE = "#E3C6D6"  # a pale PALETTE[3]
POSITION = "position:"
CORNERS = 24  # around an obstacle

Plane: TypeAlias = tuple[int, ...]  # the world axes of a picture: two of a plane, or three


@dataclass(frozen=True, eq=False)
class Hull:
    """A convex solid by its corners (m, 3), m, which do not lie in one plane."""

    corners: Array


Around: TypeAlias = Capsule | Hull | Target


def scenery(problem: ProblemData) -> list[Capsule | Target]:
    """Obstacles and targets of the costs and constraints of a problem, each once.

    Known are those of `trajopt.library` and places that a frame is held at; terms of one's own know none,
    unless they are made with a `scene`.
    """
    found: list[Capsule | Target] = []
    for each in (*problem.constraints, *problem.costs):
        found += scene_of(each.term)
    for constraint in problem.constraints:
        term = constraint.term
        if isinstance(term, Quantity) and term.quantity.startswith(POSITION):
            place = np.where(constraint.lower == constraint.upper, constraint.lower, np.nan)
            if np.isfinite(place).any() and not constraint.over.is_difference:
                found.append(Target(term.quantity.removeprefix(POSITION), tuple(place.tolist())))
    return list(dict.fromkeys(found))


def points_of(scene: Sequence[Around]) -> Iterator[Array]:
    """Corners of what is around, (3,) each, so that a picture can hold it; free coordinates are left out."""
    for each in scene:
        if isinstance(each, Capsule):
            for end in (each.start, each.end):
                yield np.asarray(end) - each.radius
                yield np.asarray(end) + each.radius
        elif isinstance(each, Hull):
            yield from each.corners
        elif np.isfinite(each.place).all():
            yield np.asarray(each.place)


def draw_scenery(axis: Any, scene: Sequence[Around], plane: Plane) -> None:
    """Obstacles as pale shadows, or surfaces in space, and crosses at targets with their names.

    Names of neighbours stand below and above in turns, so that they do not overlap.
    """
    for each in scene:
        if isinstance(each, Capsule):
            draw_capsule(axis, each, plane)
        elif isinstance(each, Hull):
            draw_hull(axis, each, plane)
    targets = [(np.array(each.place)[list(plane)], each) for each in scene if isinstance(each, Target)]
    for number, (place, target) in enumerate(sorted(targets, key=lambda each: np.nan_to_num(each[0][0]))):
        if np.isfinite(place).all():
            axis.plot(*place[:, None], "x", color=PALETTE[2], zorder=7)
            write_beside(axis, place, f"target of {target.frame}", PALETTE[2], below=number % 2 == 0)
        elif len(plane) == 2 and np.isfinite(place).any():
            line = axis.axvline if np.isfinite(place[0]) else axis.axhline
            line(np.nansum(place), linestyle=":", **MARK)


def write_beside(axis: Any, place: Array, text: str, colour: str, *, below: bool = False) -> None:
    """A name beside a point of a plane or of space."""
    style = {**NOTE, "color": colour, "zorder": 7}
    axis.text(*place, f"  {as_text(text)}", va="top" if below else "bottom", **style)


def draw_capsule(axis: Any, capsule: Capsule, plane: Plane) -> None:
    """Draw a capsule: in a plane its shadow, two discs and the strip between them; in space its surface."""
    if len(plane) > 2:
        axis.plot_surface(*surface(capsule), color=OBSTACLE, alpha=0.5, linewidth=0.0)
        return
    style: dict[str, Any] = {"facecolor": OBSTACLE, "edgecolor": "none", "zorder": 1}
    start, end = np.array([capsule.start, capsule.end])[:, list(plane)]
    for middle in (start, end):
        axis.add_patch(Circle((float(middle[0]), float(middle[1])), capsule.radius, **style))
    along = end - start
    length = float(np.hypot(*along))
    if length > 0.0:
        side = capsule.radius * np.array([-along[1], along[0]]) / length
        axis.add_patch(Polygon([start + side, end + side, end - side, start - side], closed=True, **style))


def draw_hull(axis: Any, solid: Hull, plane: Plane) -> None:
    """Draw a convex body: in a plane its shadow, in space its faces."""
    from scipy.spatial import ConvexHull

    corners = solid.corners[:, list(plane)]
    hull = ConvexHull(corners)
    style: dict[str, Any] = {"facecolor": OBSTACLE, "edgecolor": "none"}
    if len(plane) == 2:
        axis.add_patch(Polygon(corners[hull.vertices], closed=True, zorder=1, **style))
        return
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    axis.add_collection3d(Poly3DCollection(corners[hull.simplices], alpha=0.5, **style))


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
