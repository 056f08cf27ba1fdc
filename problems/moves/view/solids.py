"""Triangles to look at: those of a robot's links, by their meshes or shapes, and of shapes in general."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
from dynamics.formats.mesh_files import found_mesh, mesh_folders, read_mesh
from dynamics.formats.urdf_solids import LinkMesh, urdf_solids
from dynamics.model.packed_model import axes_with_z
from dynamics.model.shape import Shape
from dynamics.quantities.kinematics import skeleton_ends
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError

VISIBLE = "visual", "collision"  # elements of a URDF, the first that a link has
ROUND = 16  # corners around cylinders, capsules and balls, half as many around points of a cloud
CUBE = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
LEAST_BALL = 0.003  # m, radius of a point of a cloud, which may have none
PLATE = (4.0, 4.0, 0.004)  # m, what is drawn of a half-space
SLENDER = 0.02  # of the robot's extent: radius of links that have neither meshes nor shapes
DIGITS = 3, 2  # vertices of meshes that agree to so many digits, of m, become one
MOST_FACES = 20_000  # of a link, on a page: a larger mesh is made coarser


@dataclass(frozen=True, eq=False)
class Solid:
    """Triangles on a link or frame, None = the world, in its axes: vertices (m, 3) m, faces (k, 3)."""

    carrier: str | None
    vertices: Array
    faces: Array


@dataclass(frozen=True, eq=False)
class RobotSolids:
    """A robot's solids, one for each link or frame.

    drawn : "meshes", "shapes" or "lines", what most of it is drawn by
    missing : why meshes that its URDF names are not shown
    """

    solids: tuple[Solid, ...]
    drawn: str
    missing: tuple[str, ...] = ()


def viewer_package(name: str) -> Any:
    """A package of the extra `view`; OptionError where it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise OptionError(
            f"a page in three dimensions needs the package {name}: pip install 'trajopt-splines[view]', or "
            "give a name that ends in .gif or .mp4"
        ) from error


def robot_solids(
    model: dynamics.RigidBodyModel, urdf: Any = None, folders: Iterable[Any] = (), most: int = MOST_FACES
) -> RobotSolids:
    """Every link by its <visual> elements, else by its <collision> ones, else by the model's shapes.

    Where nothing of it has any of these, capsules along its skeleton. most : faces of a mesh, which is made
    coarser where it has more, to a centimetre at most.
    """
    found, missing = ([], []) if urdf is None else _of_urdf(model, urdf, list(folders), most)
    drawn = {solid.carrier for solid in found}
    found += [solid_of(shape) for shape in model.shapes if shape.carrier not in drawn]
    by = "meshes" if drawn else "shapes" if found else "lines"
    return RobotSolids(tuple(_joined(found or _along_skeleton(model))), by, tuple(missing))


def _of_urdf(
    model: dynamics.RigidBodyModel, urdf: Any, folders: list[Any], most: int
) -> tuple[list[Solid], list[str]]:
    """The solids of <visual> elements, and of <collision> ones of links without; why others are missing."""
    known = {*model.link_names, *model.frame_names}
    places, found, missing = mesh_folders(urdf, folders), [], []
    for tag in VISIBLE:
        drawn = {solid.carrier for solid in found}
        for solid in urdf_solids(urdf, tag):
            if solid.carrier in drawn or solid.carrier not in known:
                continue
            try:
                found.append(solid_of(solid) if isinstance(solid, Shape) else _read(solid, places, most))
            except dynamics.UrdfError as error:
                missing.append(str(error))
    return found, missing


def _read(named: LinkMesh, places: list[Path], most: int) -> Solid:
    file = found_mesh(named.file, places, named.element)
    mesh = _coarser(read_mesh(file, named.element), most)
    placed = np.asarray(mesh.vertices) * named.scale @ named.pose.rotation.T + named.pose.position
    return Solid(named.carrier, placed, np.asarray(mesh.faces))


def _coarser(mesh: Any, most: int) -> Any:
    """The mesh; of one with many faces vertices that agree to a millimetre, then a centimetre, joined."""
    for digits in DIGITS:
        if len(mesh.faces) <= most:
            break
        mesh.merge_vertices(merge_tex=True, merge_norm=True, digits_vertex=digits)
        mesh.update_faces(mesh.nondegenerate_faces())
        mesh.update_faces(mesh.unique_faces())
    return mesh


def corners_of(shape: Shape) -> Array:
    """Points (m, 3) m whose convex hull is drawn of a shape, in axes of its carrier; a half-space is a plate.

    A cloud's points are those of the ball about each of them, (m, 3) about its middle.
    """
    size = shape.size
    if shape.kind in ("box", "half_space"):
        corners = CUBE * (size if shape.kind == "box" else np.array(PLATE))
        corners = corners - (shape.kind == "half_space") * np.array([0.0, 0.0, 0.5 * PLATE[2]])
    elif shape.kind == "hull":
        about = _rings(float(size[0]), 0.0, ROUND // 2) if size[0] > 0.0 else np.zeros((1, 3))
        corners = (shape.points[:, None] + about).reshape(-1, 3)
    elif shape.kind == "point_cloud":
        return _rings(max(float(size[0]), LEAST_BALL), 0.0, ROUND // 2)
    else:
        half = 0.0 if shape.kind == "sphere" else 0.5 * float(size[1])
        corners = _rings(float(size[0]), half, ROUND, flat=shape.kind == "cylinder")
    return corners @ shape.rotation.T + shape.position


def _rings(radius: float, half: float, count: int, *, flat: bool = False) -> Array:
    """Points of circles about z, from one end of a capsule to the other; `flat`: of a cylinder."""
    angle = 2.0 * np.pi * np.arange(count) / count
    height = np.zeros(1) if flat else np.sin(np.linspace(0.0, 0.5 * np.pi, count // 4 + 1))
    outer = radius * np.sqrt(1.0 - height**2)[:, None]
    x, y = outer * np.cos(angle), outer * np.sin(angle)
    z = np.broadcast_to(half + (0.0 if flat else radius) * height[:, None], x.shape)
    return np.concatenate([np.stack([x, y, side * z], axis=-1).reshape(-1, 3) for side in (-1.0, 1.0)])


def _hull(points: Array) -> tuple[Array, Array]:
    """Vertices and faces of a convex hull, seen from outside in the positive sense."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    faces = np.array(hull.simplices)
    a, b, c = np.moveaxis(points[faces], 1, 0)
    inwards = np.einsum("ki,ki->k", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces[inwards] = faces[inwards][:, ::-1]
    return points, faces


def solid_of(shape: Shape) -> Solid:
    """A shape on its carrier."""
    vertices, faces = _hull(corners_of(shape))
    if shape.kind == "point_cloud":
        places = shape.points @ shape.rotation.T + shape.position
        faces = (faces + len(vertices) * np.arange(len(places))[:, None, None]).reshape(-1, 3)
        vertices = (places[:, None] + vertices).reshape(-1, 3)
    return Solid(shape.carrier, vertices, faces)


def _joined(solids: list[Solid]) -> Iterator[Solid]:
    """One solid for every carrier."""
    for carrier in dict.fromkeys(solid.carrier for solid in solids):
        parts = [solid for solid in solids if solid.carrier == carrier]
        before = np.cumsum([0, *(len(part.vertices) for part in parts)])
        faces = [part.faces + first for part, first in zip(parts, before, strict=False)]
        yield Solid(carrier, np.concatenate([part.vertices for part in parts]), np.concatenate(faces))


def _along_skeleton(model: dynamics.RigidBodyModel) -> list[Solid]:
    """Capsules from every link's origin to those it carries, and to its frames."""
    lines = model.skeleton(np.zeros(model.n)).reshape(-1, 3)
    radius, found = SLENDER * float(np.ptp(lines, axis=0).max()), []
    for link, end in skeleton_ends(model):
        to = model.bodies[end].joint.position if isinstance(end, int) else end
        length = float(np.linalg.norm(to))
        if length > 0.0:
            shape = dynamics.capsule(radius, length, 0.5 * to, axes_with_z(to / length))
            found.append(solid_of(shape.on(model.link_names[link])))
    return found
