"""A motion in three dimensions as a plot that the reader turns with the mouse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.base.palette import PALETTE
from trajopt.plot.scenery import Hull, surface
from trajopt.plot.snapshots import LETTERS, Scene
from trajopt.plot.style import shade
from trajopt.report.chart import plot_layout, rounded
from trajopt.terms.scene import Capsule


def turning_plot(scene: Scene) -> dict[str, Any]:
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


def _traces(scene: Scene) -> Iterator[dict[str, Any]]:
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


def _line(points: NDArray, name: str, look: dict[str, Any]) -> dict[str, Any]:
    x, y, z = (rounded(column) for column in points.T)
    return {"type": "scatter3d", "x": x, "y": y, "z": z, "name": name, **look}
