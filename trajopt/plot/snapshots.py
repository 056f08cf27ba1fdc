"""Figure of the motion in space: the robot from start to end, the path of its end point, its surroundings.

The shape of a robot's line segments is checked, and the two world axes to draw are chosen.

Surroundings are obstacles and targets of its frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import check_choice, check_count
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError
from trajopt.display.svg_chart import PALETTE
from trajopt.graph.protocols import GravityField, SkeletonDynamics
from trajopt.plot.canvas import (
    LIMIT_COLOUR,
    MARK,
    NOISE,
    NOTE,
    PANEL,
    SAMPLES,
    SHADES,
    WIDTH,
    AnyAxes,
    GivenAxes,
    GivenFigure,
    Style,
    as_text,
    check_place,
    check_solution,
    given_axes,
    new_figure,
    settings,
    title,
)
from trajopt.plot.curve_panels import starts_of
from trajopt.problem.systems.system import System
from trajopt.solution.solution import Answer
from trajopt.terms.term import Capsule, Quantity, Target, scene_of

if TYPE_CHECKING:
    from trajopt.problem.problem import Problem


FLAT = 1e-6  # of the largest extent: a motion thinner than this is planar, a rail thinner than this straight


def checked_segments(lines: Array, count: int) -> NDArray[np.float64]:
    """The segments of `count` postures as (count, segments, 2, 3) floats; ShapeError for another shape."""
    lines = np.asarray(lines, dtype=float)
    if lines.ndim != 4 or lines.shape[0] != count or lines.shape[2:] != (2, 3):
        raise ShapeError(f"skeleton(q) returned shape {lines.shape}: expected ({count}, segments, 2, 3)")
    return lines


def drawing_axes(lines: Array, gravity: ArrayLike | None = None) -> tuple[int, int]:
    """Indices (0 x, 1 y, 2 z) of the world axes to draw horizontally and vertically, of points (..., 3).

    The vertical axis is the one along gravity, z without gravity, and the horizontal axis the one of the
    larger extent. A motion within the plane normal to the vertical axis is drawn in that plane.
    """
    extent = np.ptp(lines.reshape(-1, 3), axis=0)
    flat = extent <= FLAT * extent.max()
    field = np.zeros(3) if gravity is None else np.abs(np.asarray(gravity, dtype=float))
    up = int(np.argmax(field)) if field.any() else 2
    if not flat[up]:
        others = [axis for axis in range(3) if axis != up]
        return max(others, key=lambda axis: (extent[axis], -axis)), up
    first, second = (axis for axis in range(3) if axis != up)
    return first, second


SNAPSHOTS = 9
LETTERS = "xyz"
SPACE = tuple(range(3))
VIEWS = ("planes", "space")


@dataclass(frozen=True, eq=False)
class Scene:
    """Contents of a picture of a motion.

    times : (k,) of the snapshots;   lines : (k, segments, 2, 3) links in world axes, m
    path : (m, 3) of the end point;   around : obstacles and targets
    planes : pairs of world axes, the plane that shows most and, of a spatial motion, the one from above
    has_base : a robot stands on one; a system shows what its `draw` gives, and nothing else
    """

    times: Array
    lines: Array
    path: Array
    around: Sequence[Around]
    planes: list[tuple[int, int]]
    has_base: bool = True

    @property
    def points(self) -> Array:
        """Points (k, 3) that a picture must hold."""
        return np.stack([*self.lines.reshape(-1, 3), *self.path, *points_of(self.around)])

    def size(self, plane: Plane) -> tuple[float, float]:
        """Inches of a picture in which the motion keeps its shape, within the page's width.

        Labels and the colour bar are as wide as a panel is high.
        """
        if plane == SPACE:
            return WIDTH, WIDTH - PANEL
        extent, longest = np.ptp(self.points[:, plane], axis=0), WIDTH - PANEL
        width, height = np.clip(longest / extent.max() * extent, PANEL, longest)
        return float(width + PANEL), float(height + 0.5 * PANEL)


def motion(
    solution: Answer,
    *,
    snapshots: int = SNAPSHOTS,
    view: Literal["planes", "space"] = "planes",
    figure: GivenFigure = None,
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
    check_count("snapshots", snapshots, 2)
    check_choice("view", view, VIEWS)
    check_place(figure, ax)
    drawn = draw_scene(scene_of_motion(solution, snapshots), view, figure, ax)
    if figure is None and ax is None:
        with settings():
            title(drawn, solution)
    return drawn


def draw_scene(scene: Scene, view: str, figure: GivenFigure = None, ax: GivenAxes = None) -> Figure:
    """The figure of a scene: its snapshots, in planes or in space, and what stands around."""
    with settings():
        figure, axes, planes = _places(scene, view, figure, ax)
        for axis, plane in zip(axes, planes, strict=True):
            draw_surroundings(axis, scene, plane)
            draw_snapshots(axis, scene.lines[..., list(plane)], scene.times)
            if len(plane) == 2:
                axis.set_aspect("equal", adjustable="datalim")
                axis.autoscale_view()
            else:
                fit_box(axis, scene)
        bar = ScalarMappable(Normalize(0.0, float(scene.times[-1])), SHADES)
        figure.colorbar(bar, ax=axes, label="time (s)", shrink=0.8, aspect=30, pad=0.1)
    return figure


def scene_of_motion(answer: Answer, snapshots: int) -> Scene:
    """The scene of a motion, or of phases one after the other.

    Raises OptionError for a dynamics without `skeleton(q)`, and for phases of robots with other segments.
    """
    times, along = (np.linspace(0.0, answer.duration, count) for count in (snapshots, SAMPLES))
    lines, path = _postures(answer, times), _postures(answer, along)[:, -1, 1]
    problems = [part.as_built for part in answer.parts]
    dynamics = problems[0].dynamics
    planes = views(lines, dynamics.gravity if isinstance(dynamics, GravityField) else None)
    around = [each for problem in problems for each in scenery(problem)]
    return Scene(times, lines, path, around, planes, not isinstance(dynamics, System))


def _postures(answer: Answer, times: Array) -> Array:
    """The segments (k, segments, 2, 3) at times of all parts together."""
    starts = starts_of(answer)
    of_part = np.clip(np.searchsorted(starts, times, side="right") - 1, 0, len(answer.parts) - 1)
    found = []
    for k, part in enumerate(answer.parts):
        dynamics, own = part.as_built.dynamics, times[of_part == k] - starts[k]
        if not isinstance(dynamics, SkeletonDynamics):
            raise OptionError(
                f"the dynamics of {part.name} has no skeleton(q): a picture needs line segments "
                "(..., segments, 2, 3); trajopt.plot.states(solution) draws states and controls"
            )
        found.append(checked_segments(dynamics.skeleton(part.q(np.minimum(own, part.duration))), own.size))
    if len({lines.shape[1] for lines in found}) > 1:
        raise OptionError(
            f"the robots of {answer.name} have other segments from phase to phase: draw one phase, "
            "solution.phases[0]"
        )
    return np.concatenate(found)


def views(lines: Array, gravity: Array | None = None) -> list[tuple[int, int]]:
    """The planes in which a motion is drawn, as pairs of world axes: one, and the one from above."""
    across, up = drawing_axes(lines, gravity)
    depth = 3 - across - up
    extent = np.ptp(lines.reshape(-1, 3), axis=0)
    # A motion thicker than 0.03 of the largest extent is drawn from above, too
    return [(across, up)] + [(across, depth)] * bool(extent[depth] > 0.03 * extent.max())


def _places(scene: Scene, view: str, figure: GivenFigure, ax: GivenAxes) -> tuple[Figure, list, list[Plane]]:
    """The figure, its axes and what each shows: the planes one above the other, or all of space."""
    planes: list[Plane] = [SPACE] if view == "space" else [*scene.planes]
    if ax is not None:
        if np.size(np.asarray(ax, dtype=object)) == 1:
            planes = planes[:1]
        axes = given_axes(ax, ["the motion", "from above"][: len(planes)])
        if view == "space" and getattr(axes[0], "name", "") != "3d":
            raise OptionError("ax has two dimensions: give one of figure.add_subplot(projection='3d')")
        return cast(Figure, axes[0].figure), axes, planes
    sizes = [scene.size(plane) for plane in planes]
    heights = [height for _, height in sizes]
    if figure is None:
        figure = new_figure(max(width for width, _ in sizes), sum(heights))
    options: Style = {"projection": "3d"} if view == "space" else {}
    axes = figure.subplots(len(planes), 1, squeeze=False, height_ratios=heights, subplot_kw=options)
    return cast(Figure, figure), list(axes.flat), planes


def draw_surroundings(axis: AnyAxes, scene: Scene, plane: Plane) -> None:
    """Draw what does not move: obstacles, targets, the base, the path of the end point, its ends."""
    draw_scenery(axis, scene.around, plane)
    if scene.has_base and len(plane) == 2:
        draw_base(axis, scene.lines[:, 0, 0][:, plane])
    path = scene.path[:, plane]
    axis.plot(*path.T, color=PALETTE[1], linewidth=1.0, linestyle="--", zorder=2)
    for point, label in ((path[0], "start"), (path[-1], "end")):
        axis.plot(*point[:, None], "o", color=PALETTE[1], zorder=6)
        write_beside(axis, point, label, PALETTE[1])
    for i, letter in zip(plane, LETTERS, strict=False):
        getattr(axis, f"set_{letter}label")(f"{LETTERS[i]} (m)")


def draw_base(axis: Axes, first_joints: Array) -> None:
    """A square where the robot stands, or the rail along which its first joint slides.

    Nothing where that joint moves along a curve: then the robot stands nowhere.
    """
    offsets = first_joints - first_joints.mean(axis=0)
    extents = np.linalg.svd(offsets, compute_uv=False)
    if extents[0] <= NOISE:
        axis.plot(*first_joints[0], "s", markersize=7.0, color=LIMIT_COLOUR, zorder=2)
    elif extents[1] <= FLAT * extents[0]:
        axis.plot(first_joints[:, 0], first_joints[:, 1], color="#CCCCCC", linewidth=7.0, zorder=1)


def draw_snapshots(axis: AnyAxes, lines: Array, times: Array) -> None:
    """Each posture (segments, 2, axes) as lines with a dot at every joint; the first and the last thicker.

    Segments that stand still are drawn once, in grey.
    """
    still = np.ptp(lines, axis=0).max(axis=(-1, -2)) <= NOISE
    for segment in lines[0, still]:
        axis.plot(*segment.T, color=LIMIT_COLOUR, linewidth=3.0, solid_capstyle="round", zorder=2)
    for k, (segments, time) in enumerate(zip(lines[:, ~still], times, strict=True)):
        colour, at_end = SHADES(time / times[-1]), k in (0, len(times) - 1)
        thick = {"linewidth": 3.0 if at_end else 1.5, "zorder": 4 if at_end else 3}
        for segment in segments:
            axis.plot(*segment.T, color=colour, solid_capstyle="round", **thick)
        dots = {"markerfacecolor": "white", "markeredgecolor": colour, "zorder": 5}
        axis.plot(*segments[:, 0].T, "o", **dots)


def fit_box(axis: AnyAxes, scene: Scene) -> None:
    """One scale on all axes of space, and the vertical axis of the first plane upright."""
    axis.computed_zorder = False  # else surfaces of obstacles hide links in front of them
    low, high = scene.points.min(axis=0), scene.points.max(axis=0)
    # The box of a flat motion is 0.15 of the longest side thick
    side = np.maximum(high - low, 0.15 * float((high - low).max()))
    middle = 0.5 * (low + high)
    for letter, centre, length in zip(LETTERS, middle, side, strict=True):
        getattr(axis, f"set_{letter}lim")(centre - 0.5 * length, centre + 0.5 * length)
        getattr(axis, f"{letter}axis").set_major_locator(MaxNLocator(4))
    axis.set_box_aspect(side)
    axis.view_init(vertical_axis=LETTERS[scene.planes[0][1]])


OBSTACLE = "#E3C6D6"  # a pale PALETTE[3]
POSITION = "position:"
CORNERS = 24  # around an obstacle

Plane: TypeAlias = tuple[int, ...]  # the world axes of a picture: two of a plane, or three


@dataclass(frozen=True, eq=False)
class Hull:
    """A convex solid by its corners (m, 3), m, which do not lie in one plane."""

    corners: Array


Around: TypeAlias = Capsule | Hull | Target


def scenery(problem: Problem) -> list[Capsule | Target]:
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


def draw_scenery(axis: AnyAxes, scene: Sequence[Around], plane: Plane) -> None:
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


def write_beside(axis: AnyAxes, place: Array, text: str, colour: str, *, below: bool = False) -> None:
    """A name beside a point of a plane or of space."""
    style = {**NOTE, "color": colour, "zorder": 7}
    axis.text(*place, f"  {as_text(text)}", va="top" if below else "bottom", **style)


def draw_capsule(axis: AnyAxes, capsule: Capsule, plane: Plane) -> None:
    """Draw a capsule: in a plane its shadow, two discs and the strip between them; in space its surface."""
    if len(plane) > 2:
        axis.plot_surface(*surface(capsule), color=OBSTACLE, alpha=0.5, linewidth=0.0)
        return
    style: Style = {"facecolor": OBSTACLE, "edgecolor": "none", "zorder": 1}
    start, end = np.array([capsule.start, capsule.end])[:, list(plane)]
    for middle in (start, end):
        axis.add_patch(Circle((float(middle[0]), float(middle[1])), capsule.radius, **style))
    along = end - start
    length = float(np.hypot(*along))
    if length > 0.0:
        side = capsule.radius * np.array([-along[1], along[0]]) / length
        axis.add_patch(Polygon([start + side, end + side, end - side, start - side], closed=True, **style))


def draw_hull(axis: AnyAxes, solid: Hull, plane: Plane) -> None:
    """Draw a convex body: in a plane its shadow, in space its faces."""
    from scipy.spatial import ConvexHull

    corners = solid.corners[:, list(plane)]
    hull = ConvexHull(corners)
    style: Style = {"facecolor": OBSTACLE, "edgecolor": "none"}
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
