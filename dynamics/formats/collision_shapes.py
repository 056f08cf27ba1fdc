"""Shapes of robots and scenes from files: <collision> or <visual> of URDF, spheres and pairs of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynamics.arguments import is_listed, list_names, short_repr
from dynamics.errors import DynamicsError, JsonError, MeshWarning, ShapeWarning, UrdfError, warn_user
from dynamics.formats.capsule_fit import fitted_capsules
from dynamics.formats.mesh_files import ODD_SIZE, found_mesh, mesh_folders, mesh_unit, odd_size, read_mesh
from dynamics.formats.urdf import root_link, urdf_joints, urdf_links
from dynamics.formats.urdf_solids import LinkMesh, urdf_solids
from dynamics.formats.xml_source import urdf_root
from dynamics.model.mass_properties import IDENTITY
from dynamics.model.scene import Scene
from dynamics.model.shape import MOST_POINTS, Shape, hull
from dynamics.quantities.packed_shapes import hull_corners

MOST_CORNERS = 64  # of a convex mesh that is taken as it is: distances take time in proportion
OPEN = "open meshes: {}; the hull of what is there is covered: look at them"
IN_UNITS = "meshes whose files state another unit than m, which is taken: {}: look at their size"


def urdf_shapes(
    path_or_xml: str | os.PathLike[str],
    meshes: Literal["fit", "hull", "skip"] = "fit",
    folders: Sequence[str | os.PathLike[str]] = (),
    visuals: Literal["warn", "fit", "skip"] = "warn",
    missing_meshes: Literal["refuse", "skip"] = "refuse",
) -> tuple[Shape, ...]:
    """The shapes of all <collision> elements, on the links that have them, for `model.with_shapes`.

    Spheres, cylinders and boxes as they are written.
    meshes : "fit", convex ones of at most 64 corners as they are, others covered by at most four capsules,
        which hold the whole convex hull (`fitted_capsules`); "hull", all by their convex hull, which is
        tighter and takes longer (above 5000 corners capsules); both need the optional package trimesh;
        "skip" leaves them out
    folders : where meshes are looked for, beside the file's own folder and those above it: "package://p/m.stl"
        is p/m.stl or m.stl in one of them
    visuals : links that have a <visual> and no <collision> get no shape, with a warning that names them
        ("warn") or without ("skip"), or the shapes of their <visual> ("fit")
    missing_meshes : "refuse", those that no folder has are an error; "skip", left out, named by a warning
    Warns of open and missing meshes, of whose bodies parts may be missing, and of meshes in another unit
    than m or of a size that no link has (MeshWarning), and of links without a shape that are seen
    (ShapeWarning).
    Raises UrdfError for elements that are malformed, and meshes that are missing or cannot be read.
    """
    if missing_meshes not in ("refuse", "skip"):
        raise UrdfError(f'missing_meshes is {short_repr(missing_meshes)}; choose "refuse" or "skip"')
    places, found = mesh_folders(path_or_xml, folders), list[Shape]()
    told: dict[str, list[str]] = {message: [] for message in (OPEN, IN_UNITS, ODD_SIZE)}
    solids, seen = _solids(path_or_xml, visuals)
    if seen and visuals == "warn":
        names = ", ".join(dict.fromkeys(str(each.carrier) for each in seen))
        message = f"links with a <visual> and no <collision> have no shape and may touch anything: {names}"
        hint = 'visuals="fit", of moves.robot shapes="fit_visual", takes their visual'
        warn_user(f"{message}; {hint}", ShapeWarning)
    missing = _missing(solids, places) if missing_meshes == "skip" and meshes != "skip" else []
    if missing:
        names = list_names(_names(missing))
        message = f"missing meshes, whose parts of links have no shape and may touch anything: {names}"
        warn_user(message, MeshWarning)
    for solid in solids:
        if solid in missing:
            continue
        if isinstance(solid, Shape):
            covers = [solid]
        else:
            covers = [] if meshes == "skip" else _covers(solid, meshes, places, told)
        for shape in covers:
            found.append(replace(shape, name=f"{solid.carrier} {len(found)}"))
    for message, names in told.items():
        if names:
            warn_user(message.format(list_names(names)), MeshWarning)
    return tuple(found)


def load_scene(path_or_xml: str | os.PathLike[str], **how: Any) -> Scene:
    """The obstacles of a URDF, a table or a room, whose root link stands at the world's origin.

    how : arguments of `urdf_shapes`. Joints that move stay at zero; links without a <collision> take their
    <visual>, as those of many scenes do. Raises UrdfError, also where no shape is left.
    """
    robot = urdf_root(path_or_xml)
    links = urdf_links(robot)
    joints = urdf_joints(robot, links)
    root_link(links, joints)  # that there is one, and no loop, is checked there
    outer = {joint.child: joint for joint in joints.values()}
    placed: list[Shape] = []
    options: dict[str, Any] = {"visuals": "fit", **how}
    for shape in urdf_shapes(path_or_xml, **options):
        link, pose = str(shape.carrier), IDENTITY
        while link in outer:
            link, pose = outer[link].parent, outer[link].origin.then(pose)
        placed.append(shape.moved(pose.rotation, pose.position).on(None))
    if not placed:
        raise UrdfError(
            "no link has a shape that is read, so that there is no obstacle: give a file with <collision> or "
            "<visual>, and leave out what skips them"
        )
    return Scene(placed)


def missing_meshes_of(
    path_or_xml: str | os.PathLike[str],
    folders: Sequence[str | os.PathLike[str]] = (),
    visuals: Literal["warn", "fit", "skip"] = "warn",
) -> tuple[str, ...]:
    """The meshes that `urdf_shapes` with these arguments does not find: link, element and file."""
    return _names(_missing(_solids(path_or_xml, visuals)[0], mesh_folders(path_or_xml, folders)))


def _solids(
    path_or_xml: str | os.PathLike[str], visuals: str
) -> tuple[tuple[Shape | LinkMesh, ...], tuple[Shape | LinkMesh, ...]]:
    """The solids that become shapes, and those of <visual> of links without a <collision>."""
    solids = urdf_solids(path_or_xml, "collision")
    if visuals == "skip":
        return solids, ()
    covered = {solid.carrier for solid in solids}
    seen = tuple(shown for shown in urdf_solids(path_or_xml, "visual") if shown.carrier not in covered)
    return (solids + seen if visuals == "fit" else solids), seen


def _missing(solids: Iterable[Shape | LinkMesh], folders: Sequence[Path]) -> list[LinkMesh]:
    """The meshes whose files no folder has."""
    found: list[LinkMesh] = []
    for solid in solids:
        if isinstance(solid, LinkMesh):
            try:
                found_mesh(solid.file, folders, solid.element)
            except UrdfError:
                found.append(solid)
    return found


def _names(meshes: Iterable[LinkMesh]) -> tuple[str, ...]:
    return tuple(f"{mesh.element} ({mesh.file})" for mesh in meshes)


def _covers(mesh: LinkMesh, how: str, folders: list[Path], told: dict[str, list[str]]) -> list[Shape]:
    """A hull or capsules that hold a mesh, on its link; its name goes to the messages that hold for it."""
    file = found_mesh(mesh.file, folders, mesh.element)
    read = read_mesh(file, mesh.element)
    if not read.is_watertight:
        told[OPEN].append(f"{mesh.element} ({file.name})")
    if (unit := mesh_unit(file)) != 1.0:
        told[IN_UNITS].append(f"{mesh.element} ({file.name}, {unit:g} m)")
    vertices = np.asarray(read.vertices, dtype=float) * mesh.scale
    if size := odd_size(vertices):
        told[ODD_SIZE].append(f"{mesh.element} ({file.name}, {size})")
    turn, place = mesh.pose.rotation, mesh.pose.position
    most = MOST_POINTS if how == "hull" else MOST_CORNERS * bool(read.is_convex)
    corners = hull_corners(vertices) if most else vertices
    solids = (hull(corners),) if len(corners) <= most else fitted_capsules(vertices)
    return [replace(solid.moved(turn, place), carrier=mesh.carrier) for solid in solids]


def load_spheres(path: str | os.PathLike[str]) -> tuple[Shape, ...]:
    """Spheres of a JSON file {link: [[x, y, z, radius], ...]} in metres and link axes. Raises JsonError."""
    content = _json_object(path, "spheres")
    found: list[Shape] = []
    for link, rows in content.items():
        try:
            table = np.array(rows, dtype=float).reshape(len(rows), 4)
            for number, (x, y, z, radius) in enumerate(table.tolist()):
                found.append(Shape("sphere", (radius,), np.eye(3), (x, y, z), link, f"{link} {number}"))
        except (DynamicsError, TypeError, ValueError) as error:
            raise JsonError(f"spheres of {link!r}: [x, y, z, radius] of each is expected: {error}") from error
    return tuple(found)


def load_allowed_pairs(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], ...]:
    """Pairs of links that may touch, from a JSON file: a list of pairs, or entry_names and entry_values.

    A pair of the list may have a reason behind its two names.
    entry_values : a symmetric matrix, true where the pair may touch. Raises JsonError.
    """
    content = _json_object(path, "allowed pairs", (dict, list))
    try:
        if is_listed(content):
            return tuple((str(first), str(second), *map(str, why)) for first, second, *why in content)
        names, values = content["entry_names"], content["entry_values"]
        return tuple(
            (first, second)
            for first, row in zip(names, values, strict=True)
            for second, allowed in zip(names, row, strict=True)
            if allowed and first < second
        )
    except (KeyError, TypeError, ValueError) as error:
        raise JsonError(
            f"allowed pairs: entry_names and a square entry_values are expected: {error}"
        ) from error


def _json_object(path: str | os.PathLike[str], what: str, kinds: type | tuple[type, ...] = dict) -> Any:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise JsonError(f"{what}: {os.fspath(path)!r} cannot be read: {error}") from error
    if not isinstance(content, kinds):
        raise JsonError(f"{what}: {os.fspath(path)!r} holds {short_repr(content)}; an object is expected")
    return content
