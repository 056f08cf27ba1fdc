"""Section of a page about the motion: the robot, its curves with limits, and a table of limits.

A motion in three dimensions is a plot that the reader turns with the mouse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

import numpy as np

from trajopt.base.arrays import Array
from trajopt.display.curves import Component, curves_of, held_at_zero, kinds_of
from trajopt.display.svg_chart import PALETTE, typeset
from trajopt.graph.protocols import SkeletonDynamics
from trajopt.graph.quantities import TORQUES
from trajopt.plot.canvas import NOISE, SAMPLES, shade, svg_of
from trajopt.plot.snapshots import LETTERS, SNAPSHOTS, Hull, Scene, motion, scene_of_motion, surface
from trajopt.report.chart import Chart, Plot, charts, data_attribute, plot_layout, rounded
from trajopt.report.tables import image_tag
from trajopt.solution.solution import Solution
from trajopt.terms.term import Capsule

SMALLER = 0.7  # of a figure's size in print, with the same letters: a telephone shows them at 9 pixels, not 6


def turning_plot(scene: Scene) -> Plot:
    """Traces and layout as Plotly takes them: snapshots, path, obstacles, targets, one scale on all axes."""
    up = scene.planes[0][1]
    axes = {f"{letter}axis": {"title": {"text": f"{letter} [m]"}} for letter in LETTERS}
    eye = {letter: 1.0 if i == up else 1.7 for i, letter in enumerate(LETTERS)}
    camera = {"up": {letter: float(i == up) for i, letter in enumerate(LETTERS)}, "eye": eye}
    layout = {
        **plot_layout("motion, light first and dark last: drag to turn", rows=2),
        "scene": {"aspectmode": "data", "camera": camera, **axes},
        "showlegend": False,
    }
    return {"data": list(_traces(scene)), "layout": layout}


def _traces(scene: Scene) -> Iterator[Plot]:
    for time, posture in zip(scene.times, scene.lines, strict=True):
        breaks = np.full((len(posture), 1, 3), np.nan)
        points = np.concatenate([posture, breaks], axis=1).reshape(-1, 3)
        line = {"color": shade(time / scene.times[-1]), "width": 5}
        yield _line(points, f"t = {time:.3g} s", {"mode": "lines", "line": line})
    yield _line(scene.path, "path", {"mode": "lines", "line": {"color": PALETTE[1], "width": 3}})
    for each in scene.around:
        if isinstance(each, Capsule):
            x, y, z = (rounded(values) for values in surface(each))
            colours = [[0, PALETTE[3]], [1, PALETTE[3]]]
            look = {"showscale": False, "opacity": 0.35, "hoverinfo": "skip", "colorscale": colours}
            yield {"type": "surface", "x": x, "y": y, "z": z, **look}
        elif isinstance(each, Hull):
            x, y, z = (rounded(column) for column in each.corners.T)
            look = {"alphahull": 0, "color": PALETTE[3], "opacity": 0.35, "hoverinfo": "skip"}
            yield {"type": "mesh3d", "x": x, "y": y, "z": z, **look}
        elif np.isfinite(each.place).all():
            marker = {"mode": "markers", "marker": {"color": PALETTE[2], "symbol": "x", "size": 5}}
            yield _line(np.array([each.place]), f"target of {each.frame}", marker)


def _line(points: Array, name: str, look: Plot) -> Plot:
    x, y, z = (rounded(column) for column in points.T)
    return {"type": "scatter3d", "x": x, "y": y, "z": z, "name": name, **look}


def picture(solution: Solution, script: bool) -> Iterator[str]:
    """The robot in snapshots, where its dynamics can draw it; with scripts a spatial motion can be turned."""
    if not isinstance(solution.as_built.dynamics, SkeletonDynamics):
        return
    scene = scene_of_motion(solution, SNAPSHOTS)
    if script and len(scene.planes) > 1:
        yield f'<div class="plot tall" {data_attribute(turning_plot(scene))}></div>'
        return
    figure = motion(solution)
    width, height = SMALLER * figure.get_size_inches()
    figure.set_size_inches(width, height)
    content, _ = svg_of(figure)
    rows = ceil(2.0 * height / width)  # a chart is about twice as wide as high
    image = image_tag(content, "image/svg+xml", "the robot in snapshots")
    yield f'<figure style="grid-row: span {rows}">{image}</figure>'


def motion_curves(solution: Solution) -> dict[str, list[Component]]:
    """Positions, their rates, torques or states, and additional curves, by kind.

    Torques that the problem holds at zero, of joints without motors, are left out.
    """
    t, kinds = np.linspace(0.0, solution.duration, SAMPLES), kinds_of(solution.problem)
    curves = curves_of(solution, [*kinds, "jerk"], t)
    if "v" in kinds and any(np.isfinite([curve.lower, curve.upper]).any() for curve in curves["jerk"]):
        kinds["jerk"] = "jerks"
    for torque in kinds.keys() & TORQUES:
        unpowered = held_at_zero(solution)
        curves[torque] = [curve for curve, idle in zip(curves[torque], unpowered, strict=True) if not idle]
    return {kind: curves[quantity] for quantity, kind in kinds.items() if curves[quantity]}


def motion_charts(curves: Mapping[str, Sequence[Component]], duration: float) -> Iterator[Chart]:
    """Charts of curves of one kind and unit, as many in each as there are colours; zeros left out."""
    t = np.linspace(0.0, duration, SAMPLES)
    for kind, each in curves.items():
        sizes = [float(np.abs(curve.values).max()) for curve in each]
        moving = [curve for curve, size in zip(each, sizes, strict=True) if size > NOISE * max(sizes)] or each
        for unit in dict.fromkeys(curve.unit for curve in moving):
            alike = {curve.name: curve for curve in moving if curve.unit == unit}
            limits = {name: (curve.lower, curve.upper) for name, curve in alike.items()}
            values = {name: curve.values for name, curve in alike.items()}
            yield from charts(t, values, f"{kind} [{typeset(unit)}]" if unit else kind, typeset(unit), limits)


def limit_rows(curves: Mapping[str, Sequence[Component]]) -> Iterator[tuple[str, ...]]:
    """Every curve that has a limit: its bounds, the least and the largest value, its unit."""
    for kind, each in curves.items():
        for curve in each:
            if np.isfinite(curve.lower) or np.isfinite(curve.upper):
                numbers = (curve.lower, curve.upper, float(curve.values.min()), float(curve.values.max()))
                texts = (f"{number:.5g}" if np.isfinite(number) else "none" for number in numbers)
                yield kind, curve.name, *texts, typeset(curve.unit)
