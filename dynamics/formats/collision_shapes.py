"""Shapes of a robot from files: <collision> elements of URDF, spheres and pairs that may touch of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.arguments import short_repr
from dynamics.errors import DynamicsError, JsonError, UrdfError
from dynamics.formats.capsule_fit import fitted_capsules
from dynamics.formats.mesh_files import found_mesh, mesh_folders, read_mesh
from dynamics.formats.urdf_elements import origin_of, required, required_child, required_number, vector
from dynamics.formats.xml_source import xml_root
from dynamics.model.shape import Shape

PRIMITIVES = "sphere", "cylinder", "capsule", "box"


def urdf_shapes(
    path_or_xml: str | os.PathLike[str],
    meshes: Literal["fit", "skip"] = "fit",
    folders: Sequence[str | os.PathLike[str]] = (),
) -> tuple[Shape, ...]:
    """The shapes of all <collision> elements, on the links that have them, for `model.with_shapes`.

    Spheres, cylinders and boxes as they are written. Meshes are covered by at most four capsules each, which
    hold the whole convex hull (`fitted_capsules`), with the optional package trimesh; "skip" leaves them out.
    folders : where meshes are looked for, beside the file's own folder and those above it: "package://p/m.stl"
        is p/m.stl or m.stl in one of them
    Raises UrdfError for elements that are malformed, and meshes that are missing or cannot be read.
    """
    robot = xml_root(path_or_xml)
    places = mesh_folders(path_or_xml, folders)
    found = []
    for link in robot.findall("link"):
        name = required(link, "name", "a link")
        for number, element in enumerate(link.findall("collision")):
            what = f"link {name!r}, collision {number}"
            pose = origin_of(element, what)
            for shape in _solids(element, what, meshes, places):
                found.append(
                    replace(
                        shape.moved(pose.rotation, pose.position), carrier=name, name=f"{name} {len(found)}"
                    )
                )
    return tuple(found)


def _solids(element: Element, what: str, meshes: str, folders: list[Path]) -> tuple[Shape, ...]:
    """The solids of one element in the axes of its origin."""
    geometry = required_child(element, "geometry", what)
    solid = next(iter(geometry), None)
    if solid is None:
        raise UrdfError(f"{what} holds nothing; a sphere, cylinder, capsule, box or mesh is read")
    if solid.tag in PRIMITIVES:
        return (primitive(solid, what),)
    if solid.tag != "mesh":
        raise UrdfError(f"{what} holds {solid.tag}; a sphere, cylinder, capsule, box or mesh is read")
    if meshes == "skip":
        return ()
    scale = vector(solid, "scale", (1.0, 1.0, 1.0), what)
    return fitted_capsules(_mesh_vertices(required(solid, "filename", what), folders, what) * scale)


def primitive(solid: Element, what: str) -> Shape:
    """The sphere, cylinder, capsule or box of an element, in the axes of its origin; UrdfError."""
    try:
        if solid.tag == "sphere":
            return Shape("sphere", (required_number(solid, "radius", what),))
        if solid.tag in ("cylinder", "capsule"):
            size = (required_number(solid, "radius", what), required_number(solid, "length", what))
            return Shape(solid.tag, size)
        required(solid, "size", f"{what}: <box>")
        return Shape("box", vector(solid, "size", (0.0, 0.0, 0.0), what))
    except UrdfError:
        raise
    except DynamicsError as error:
        raise UrdfError(f"{what}: {error}") from error


def _mesh_vertices(name: str, folders: list[Path], what: str) -> np.ndarray:
    """The vertices of a mesh's file, (m, 3)."""
    file = found_mesh(name, folders)
    if file is None:
        raise UrdfError(
            f'{what}: the mesh {name!r} is in none of the folders; give folders=, or meshes="skip"'
        )
    return np.asarray(read_mesh(file, what).vertices, dtype=float)


def load_spheres(path: str | os.PathLike[str]) -> tuple[Shape, ...]:
    """Spheres of a JSON file {link: [[x, y, z, radius], ...]} in metres and link axes. Raises JsonError."""
    content = _json_object(path, "spheres")
    found = []
    for link, rows in content.items():
        try:
            table = np.array(rows, dtype=float).reshape(len(rows), 4)
            for number, (x, y, z, radius) in enumerate(table.tolist()):
                found.append(Shape("sphere", (radius,), np.eye(3), (x, y, z), link, f"{link} {number}"))
        except (DynamicsError, TypeError, ValueError) as error:
            raise JsonError(f"spheres of {link!r}: [x, y, z, radius] of each is expected: {error}") from error
    return tuple(found)


def load_allowed_pairs(path: str | os.PathLike[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of links that may touch, from a JSON file: a list of pairs, or entry_names and entry_values.

    entry_values : a symmetric matrix, true where the pair may touch. Raises JsonError.
    """
    content = _json_object(path, "allowed pairs", (dict, list))
    try:
        if isinstance(content, list):
            return tuple((str(first), str(second)) for first, second in content)
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


def _json_object(path: str | os.PathLike[str], what: str, kinds: Any = dict) -> Any:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise JsonError(f"{what}: {os.fspath(path)!r} cannot be read: {error}") from error
    if not isinstance(content, kinds):
        raise JsonError(f"{what}: {os.fspath(path)!r} holds {short_repr(content)}; an object is expected")
    return content
