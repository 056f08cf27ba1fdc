"""Triangles to look at: those of a robot's links, by their meshes or shapes, and of shapes in general."""

from __future__ import annotations

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
ROUND, FINE = 24, 2  # corners around cylinders, and how often the faces of a ball are divided
LEAST_BALL = 0.003  # m, radius of a point of a cloud, which may have none
PLATE = (4.0, 4.0, 0.004)  # m, what is drawn of a half-space
SLENDER = 0.02  # of the robot's extent: radius of links that have neither meshes nor shapes
DIGITS = 3  # vertices of meshes that agree to so many digits, of m, become one
MOST_FACES = 20_000  # of a link: a larger mesh is made coarser


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
    model: dynamics.RigidBodyModel, urdf: Any = None, folders: Iterable[Any] = ()
) -> RobotSolids:
    """Every link by its <visual> elements, else by its <collision> ones, else by the model's shapes.

    Where nothing of it has any of these, capsules along its skeleton.
    """
    found, missing = ([], []) if urdf is None else _of_urdf(model, urdf, list(folders))
    drawn = {solid.carrier for solid in found}
    found += [solid_of(shape) for shape in model.shapes if shape.carrier not in drawn]
    by = "meshes" if drawn else "shapes" if found else "lines"
    return RobotSolids(tuple(_joined(found or _along_skeleton(model))), by, tuple(missing))


def _of_urdf(model: dynamics.RigidBodyModel, urdf: Any, folders: list[Any]) -> tuple[list[Solid], list[str]]:
    """The solids of <visual> elements, and of <collision> ones of links without; why others are missing."""
    known = {*model.link_names, *model.frame_names}
    places, found, missing = mesh_folders(urdf, folders), [], []
    for tag in VISIBLE:
        drawn = {solid.carrier for solid in found}
        for each in urdf_solids(urdf, tag):
            if each.carrier in drawn or each.carrier not in known:
                continue
            try:
                found.append(solid_of(each) if isinstance(each, Shape) else _read(each, places))
            except dynamics.UrdfError as error:
                missing.append(str(error))
    return found, missing


def _read(named: LinkMesh, places: list[Path]) -> Solid:
    file = found_mesh(named.file, places)
    if file is None:
        raise dynamics.UrdfError(f"{named.element}: the mesh {named.file!r} is in none of the folders")
    mesh = _coarser(read_mesh(file, named.element))
    placed = np.asarray(mesh.vertices) * named.scale @ named.pose.rotation.T + named.pose.position
    return Solid(named.carrier, placed, np.asarray(mesh.faces))


def _coarser(mesh: Any) -> Any:
    """The mesh, of one with very many faces vertices that agree to a millimetre, then more, joined."""
    for digits in range(DIGITS, 0, -1):
        if len(mesh.faces) <= MOST_FACES:
            break
        mesh.merge_vertices(merge_tex=True, merge_norm=True, digits_vertex=digits)
        mesh.update_faces(mesh.nondegenerate_faces())
        mesh.update_faces(mesh.unique_faces())
    return mesh


def triangles(shape: Shape) -> Any:
    """The `trimesh.Trimesh` of a shape in its own axes; of a half-space a plate of 4 m."""
    create: Any = viewer_package("trimesh.creation")
    size = shape.size.tolist()
    if shape.kind == "sphere":
        return create.icosphere(subdivisions=FINE, radius=size[0])
    if shape.kind == "capsule":
        return create.capsule(radius=size[0], height=size[1], count=[ROUND, ROUND])
    if shape.kind == "cylinder":
        return create.cylinder(radius=size[0], height=size[1], sections=ROUND)
    if shape.kind == "box":
        return create.box(extents=size)
    if shape.kind == "point_cloud":
        return _balls(create.icosphere(subdivisions=1, radius=max(size[0], LEAST_BALL)), shape.points)
    plate = create.box(extents=PLATE)
    plate.apply_translation((0.0, 0.0, -0.5 * PLATE[2]))
    return plate


def _balls(ball: Any, points: Array) -> Any:
    """The same ball about all points."""
    import trimesh

    faces = ball.faces + len(ball.vertices) * np.arange(len(points))[:, None, None]
    return trimesh.Trimesh(
        (points[:, None] + ball.vertices).reshape(-1, 3), faces.reshape(-1, 3), process=False
    )


def solid_of(shape: Shape) -> Solid:
    """A shape on its carrier."""
    mesh = triangles(shape)
    placed = np.asarray(mesh.vertices) @ shape.rotation.T + shape.position
    return Solid(shape.carrier, placed, np.asarray(mesh.faces))


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
