"""One HTML file, without a network, in which a robot moves in three dimensions: written by viser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from html import escape
from io import StringIO
from typing import Any

import numpy as np

import dynamics
from problems.moves.view.limit_use import RAMP, UNLIMITED, colour_of, rgb
from problems.moves.view.moving_solids import moving_solids
from problems.moves.view.seen_motion import SeenMotion
from problems.moves.view.solids import RobotSolids, Solid, solid_of, viewer_package
from problems.moves.view.surroundings import LOAD, OBSTACLE, PATH
from trajopt.base.arrays import Array

PATH_WIDTH = 0.004  # m
AXIS_LENGTH, AXIS_RADIUS = 0.1, 0.003  # m, of a tool's axes
LEAST_EXTENT = 0.5  # m, of what the camera looks at
# The camera looks at a fixed height: a window higher than wide has a square view, the legend below.
KEY_STYLE = """
.key { position: fixed; left: 12px; bottom: 52px; z-index: 10; pointer-events: none; padding: 8px 10px;
  background: rgba(255,255,255,.85); color: #222; font: 13px/1.4 sans-serif; border-radius: 4px;
  max-width: calc(100vw - 44px); overflow-wrap: anywhere }
@media (max-aspect-ratio: 1/1) { #root { height: 100vw } .key { bottom: auto; top: calc(100vw + 8px) } }
"""
VIEWING = np.array([0.55, -0.7, 0.4])  # from the middle to the camera, in extents, z upwards


def page_of(motion: SeenMotion, robot: RobotSolids) -> str:
    """The page's text: slider and playback, the robot's links coloured by how close they are to a limit."""
    with _server() as server:
        moving = _Moving(server.scene, motion, robot)
        _add_surroundings(server, motion)
        moving.show(0)
        recorder = server.get_scene_serializer()
        for picture, pause in enumerate(np.diff(motion.times).tolist(), 1):
            recorder.insert_sleep(pause)
            moving.show(picture)
        return _with_legend(recorder.as_html(), motion, robot)


@contextmanager
def _server() -> Iterator[Any]:
    """A server of viser, for its recorder alone: reached from this machine only, and silent."""
    viser = viewer_package("viser")
    with redirect_stdout(StringIO()):
        server = viser.ViserServer(host="127.0.0.1", verbose=False)
        try:
            yield server
        finally:
            server.stop()


class _Moving:
    """Moving parts: the robot's solids and its loads, which change their colours, and the axes of tools."""

    def __init__(self, scene: Any, motion: SeenMotion, robot: RobotSolids) -> None:
        for solid in robot.solids:
            if solid.carrier is None:
                add_mesh(scene, "/robot/base", solid, colour_of(np.nan))
        self.coloured, self.moved = [], []
        for moving_solid in moving_solids(motion, robot):
            handle = add_mesh(scene, moving_solid.name, moving_solid.solid, _colour(moving_solid.colours[0]))
            self.coloured.append((handle, moving_solid.colours))
            self.moved.append((handle, quaternions(moving_solid.rotation), moving_solid.position))
        for name, (rotation, position) in motion.tool_poses().items():
            sizes = {"axes_length": AXIS_LENGTH, "axes_radius": AXIS_RADIUS, "origin_radius": 2 * AXIS_RADIUS}
            handle = scene.add_frame(f"/tools/{name}", **sizes)
            self.moved.append((handle, quaternions(rotation), position))

    def show(self, picture: int) -> None:
        """Move and colour everything as in one picture; unchanged poses and colours are not sent again."""
        for handle, turn, place in self.moved:
            if picture == 0 or not np.array_equal(turn[picture], turn[picture - 1]):
                handle.wxyz = turn[picture]
            if picture == 0 or not np.array_equal(place[picture], place[picture - 1]):
                handle.position = place[picture]
        for handle, colours in self.coloured:
            if _colour(colours[picture]) != tuple(handle.color):
                handle.color = _colour(colours[picture])


def _colour(row: Array) -> tuple[int, int, int]:
    red, green, blue = row.tolist()
    return red, green, blue


def quaternions(rotation: Array) -> Array:
    """Unit quaternions w, x, y, z of rotation matrices, (..., 4)."""
    from scipy.spatial.transform import Rotation

    turned = Rotation.from_matrix(rotation.reshape(-1, 3, 3)).as_quat()
    return turned[:, [3, 0, 1, 2]].reshape(*rotation.shape[:-2], 4)


def add_mesh(scene: Any, name: str, solid: Solid, colour: tuple[int, int, int], **style: Any) -> Any:
    """A solid in the scene, both sides of its faces seen, as many files turn them inwards."""
    vertices, faces = solid.vertices.astype(np.float32), solid.faces.astype(np.uint32)
    return scene.add_mesh_simple(name, vertices, faces, color=colour, side="double", **style)


def _add_surroundings(server: Any, motion: SeenMotion) -> None:
    """Obstacles, paths of tools, and the camera."""
    scene, around = server.scene, motion.surroundings
    up = -motion.model.gravity if np.any(motion.model.gravity) else np.array([0.0, 0.0, 1.0])
    scene.set_up_direction(up / np.linalg.norm(up))
    for shape in around.scene.shapes:
        add_mesh(scene, f"/obstacles/{shape.name}", solid_of(shape), rgb(OBSTACLE), opacity=0.6)
    paths = motion.tool_paths()
    for name, path in paths.items():
        lines = np.stack([path[:-1], path[1:]], axis=1).astype(np.float32)
        scene.add_line_segments(f"/paths/{name}", lines, rgb(PATH), thickness=PATH_WIDTH)
    seen = np.concatenate([*paths.values(), motion.model.skeleton(motion.q).reshape(-1, 3)])
    _look_at(server.initial_camera, seen, up / np.linalg.norm(up))


def _look_at(camera: Any, points: Array, up: Array) -> None:
    """Look from aside and above, so that all points (m, 3) are seen."""
    low, high = points.min(axis=0), points.max(axis=0)
    extent = max(float(np.linalg.norm(high - low)), LEAST_EXTENT)
    axes = dynamics.half_space(up).rotation  # its z is upwards
    camera.look_at = 0.5 * (low + high)
    camera.position = 0.5 * (low + high) + extent * axes @ VIEWING
    camera.up = up


def _with_legend(text: str, motion: SeenMotion, robot: RobotSolids) -> str:
    """The page with its title, and with what the colours mean."""
    name = escape(motion.name or "motion")
    ramp = ", ".join(f"{colour} {100.0 * place:.0f}%" for place, colour in RAMP.items())
    missing = f"<br>{len(robot.missing)} meshes not found" if robot.missing else ""
    axes = "<br>axes of the tool: x red, y green, z blue" if motion.surroundings.tools else ""
    legend = (
        f'<style>{KEY_STYLE}</style><div class="key">'
        f"<b>{name}</b>, {motion.times[-1]:.4g} s<br>"
        '<span style="display:inline-block;width:150px;height:10px;'
        f'background:linear-gradient(90deg,{ramp})"></span><br>'
        "0 to 100 % of the nearest limit of a link's joint:<br>position, speed or torque"
        f'<br><span style="color:{UNLIMITED}">&#9632;</span> no limit '
        f'<span style="color:{LOAD}">&#9632;</span> load '
        f'<span style="color:{PATH}">&#9632;</span> path of the tool{axes}{missing}</div>'
    )
    text = text.replace("<title>Viser</title>", f"<title>{name}</title>", 1)
    before, end, after = text.rpartition("</body>")
    return f"{before}{legend}{end}{after}" if end else text + legend
