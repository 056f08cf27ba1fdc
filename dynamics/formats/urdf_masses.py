"""Masses of links that a URDF does not state: given by the caller, spread over the solids of the link."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import list_names, short_repr
from dynamics.errors import InertiaError, MeshWarning, UnknownNameError, UrdfError, warn_user
from dynamics.formats.mesh_files import ODD_SIZE, found_mesh, mesh_folders, odd_size, read_mesh
from dynamics.formats.urdf_elements import link_mass_properties
from dynamics.formats.urdf_solids import LinkMesh, urdf_solids
from dynamics.model.checks.validation import checked_mass, finite_array, inertia_matrix
from dynamics.model.mass_properties import NO_MASS, MassProperties, Pose
from dynamics.model.shape import Shape

#: kg, with the centre (3,) m, and the inertia (3, 3) kg m^2 about it
GivenMass: TypeAlias = float | tuple[float, ArrayLike] | tuple[float, ArrayLike, ArrayLike]


def mass_properties(
    links: Mapping[str, Element], masses: Mapping[str, GivenMass] | None, source: str | os.PathLike[str]
) -> dict[str, MassProperties]:
    """The mass properties of every link; <inertial> of links with given masses is not read: `load_urdf`."""
    given = {} if masses is None else masses
    if not isinstance(given, Mapping):
        raise InertiaError(f"masses is {short_repr(masses)}: give a dictionary, {{'forearm': 2.0}}, kg")
    for name in given:
        if name not in links:
            near = get_close_matches(str(name), links, n=3) or [*links]
            raise UnknownNameError(
                f"masses: the robot has no link {short_repr(name)}: there are {list_names(near)}"
            )
    return {
        name: _properties(name, given[name], source) if name in given else link_mass_properties(element, name)
        for name, element in links.items()
    }


def _properties(name: str, given: GivenMass, source: str | os.PathLike[str]) -> MassProperties:
    what = f"masses[{name!r}]"
    parts = list(given) if isinstance(given, tuple | list) else [given]
    if not 1 <= len(parts) <= 3:
        raise InertiaError(f"{what} is {short_repr(given)}: give kg, (kg, centre) or (kg, centre, inertia)")
    mass = checked_mass(parts[0], what)
    if len(parts) == 1:
        return _spread(mass, name, source)
    centre = finite_array(parts[1], (3,), f"{what}: the centre of mass")
    inertia = inertia_matrix(parts[2], f"{what}: the inertia") if len(parts) == 3 else np.zeros((3, 3))
    return MassProperties(mass, centre, inertia)


def _spread(mass: float, name: str, source: str | os.PathLike[str]) -> MassProperties:
    """A mass spread evenly over the solids of a link, each counted whole where they overlap."""
    solids: Sequence[Shape | LinkMesh] = ()
    for element in ("collision", "visual"):
        solids = solids or [solid for solid in urdf_solids(source, element) if solid.carrier == name]
    whole = NO_MASS
    try:
        for solid in solids:
            whole = whole.joined(_of_mesh(solid, source) if isinstance(solid, LinkMesh) else _of(solid))
    except UrdfError as error:
        raise InertiaError(f"masses[{name!r}]: {error}; or give (kg, centre, inertia)") from error
    if whole.mass == 0.0:
        raise InertiaError(
            f"masses[{name!r}]: the link has no solid that {mass:g} kg could be spread over: give "
            "(kg, centre (3,) m, inertia (3, 3) kg m^2 about it), in the axes of the link"
        )
    density = mass / whole.mass
    return MassProperties(mass, whole.centre_of_mass, density * whole.inertia)


def _of(shape: Shape) -> MassProperties:
    """A sphere, cylinder, capsule or box of 1 kg/m^3."""
    size = [float(each) for each in shape.size]
    if shape.kind == "box":
        x, y, z = np.square(size)
        mass = math.prod(size)
        moments = mass / 12.0 * np.array([y + z, x + z, x + y])
    elif shape.kind == "cylinder":
        mass, moments = _cylinder(*size)
    else:  # a capsule is a cylinder between the halves of a sphere
        r, length = size[0], size[1] if len(size) > 1 else 0.0
        mass, moments = _cylinder(r, length)
        ball = 4.0 / 3.0 * math.pi * r**3
        across = ball * (0.4 * r**2 + 0.25 * length**2 + 0.375 * r * length)
        mass, moments = mass + ball, moments + np.array([across, across, 0.4 * ball * r**2])
    own = MassProperties(mass, np.zeros(3), np.diag(moments))
    return own.seen_from(Pose(shape.rotation, shape.position))


def _cylinder(r: float, length: float) -> tuple[float, np.ndarray]:
    mass = math.pi * r**2 * length
    across = mass * (3.0 * r**2 + length**2) / 12.0
    return mass, np.array([across, across, 0.5 * mass * r**2])


def _of_mesh(mesh: LinkMesh, source: str | os.PathLike[str]) -> MassProperties:
    """The convex hull of a mesh, of 1 kg/m^3."""
    read = read_mesh(found_mesh(mesh.file, mesh_folders(source), mesh.element), mesh.element)
    import trimesh

    vertices = np.asarray(read.vertices, dtype=float) * mesh.scale
    if size := odd_size(vertices):
        warn_user(ODD_SIZE.format(f"{mesh.element} ({mesh.file}, {size})"), MeshWarning)
    hull: Any = trimesh.convex.convex_hull(vertices)
    inertia = np.asarray(hull.moment_inertia)
    own = MassProperties(float(hull.volume), np.asarray(hull.center_mass), 0.5 * (inertia + inertia.T))
    return own.seen_from(mesh.pose)
