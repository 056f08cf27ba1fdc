"""The solids of a URDF's links: their <visual> or <collision> elements, as written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.errors import DynamicsError, UrdfError
from dynamics.formats.urdf_elements import origin_of, required, required_child, required_number, vector
from dynamics.formats.xml_source import urdf_root
from dynamics.model.mass_properties import Pose
from dynamics.model.shape import Shape

PRIMITIVES = "sphere", "cylinder", "capsule", "box"


@dataclass(frozen=True, eq=False)
class LinkMesh:
    """A mesh on a link, by the name of its file, which is not read yet.

    element : which names it, "link 'hand', visual 0", for messages
    pose : of the mesh in the axes of the link;   scale : (3,) along the mesh's own axes
    """

    carrier: str
    file: str
    element: str
    pose: Pose
    scale: np.ndarray


def urdf_solids(
    path_or_xml: str | os.PathLike[str], element: Literal["visual", "collision"] = "visual"
) -> tuple[Shape | LinkMesh, ...]:
    """The solids and meshes of all elements of this name, on the links that have them; none of no size.

    Raises UrdfError for elements that are malformed.
    """
    return tuple(
        solid
        for link in urdf_root(path_or_xml).findall("link")
        for solid in _of_link(link, required(link, "name", "a link"), element)
    )


def _of_link(link: Element, name: str, tag: str) -> Iterator[Shape | LinkMesh]:
    for number, element in enumerate(link.findall(tag)):
        what = f"link {name!r}, {tag} {number}"
        pose = origin_of(element, what)
        solid = next(iter(required_child(element, "geometry", what)), None)
        if solid is not None and solid.tag in PRIMITIVES:
            size = primitive_size(solid, what)
            if not any(size):  # a point, which links without a body have in some files
                continue
            try:
                shape = Shape(solid.tag, size).moved(pose.rotation, pose.position)
            except DynamicsError as error:
                raise UrdfError(f"{what}: {error}") from error
            yield replace(shape, carrier=name, name=f"{name} {tag} {number}")
        elif solid is not None and solid.tag == "mesh":
            scale = vector(solid, "scale", (1.0, 1.0, 1.0), what)
            yield LinkMesh(name, required(solid, "filename", what), what, pose, scale)
        else:
            raise UrdfError(
                f"{what} holds {'nothing' if solid is None else solid.tag}; a sphere, cylinder, capsule, "
                "box or mesh is read"
            )


def primitive_size(solid: Element, what: str) -> tuple[float, ...]:
    """The radius, radius and length, or sides of a sphere, cylinder, capsule or box; UrdfError."""
    if solid.tag == "sphere":
        return (required_number(solid, "radius", what),)
    if solid.tag in ("cylinder", "capsule"):
        return required_number(solid, "radius", what), required_number(solid, "length", what)
    required(solid, "size", f"{what}: <box>")
    return tuple(vector(solid, "size", (0.0, 0.0, 0.0), what).tolist())
