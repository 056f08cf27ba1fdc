"""Springs on single coordinates in OpenSim's model files: limit forces and linear springs.

CoordinateLimitForce       m = k_l s(x_l / w) x_l - k_u s(x_u / w) x_u - d (s(x_l / w) + s(x_u / w)) v,
                           x_l = lower limit - q,  x_u = q - upper limit
                           s(x) = x^3 (10 - 15 x + 6 x^2) between 0 and 1
SpringGeneralizedForce     m = -k (q - q_0) - c v
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.errors import OsimError
from dynamics.formats.opensim.elements import (
    coordinate_named,
    flag_of,
    name_of,
    number_of,
    objects,
    text_of,
    vector_of,
)
from dynamics.formats.opensim.naming import OsimNames, OwnCoordinate

LIMIT, LINEAR = "CoordinateLimitForce", "SpringGeneralizedForce"


@dataclass(frozen=True)
class CoordinateSpring:
    """The sum of both forces on a coordinate of the robot, in rad or m, N m or N.

    sign, zero : value in the file = sign q + zero
    lower, upper : (limit, stiffness) beyond it;  transition, damping : w and d
    stiffness, rest, viscosity : k, q_0 and c
    """

    name: str
    coordinate: str
    sign: float = 1.0
    zero: float = 0.0
    lower: tuple[float, float] = (0.0, 0.0)
    upper: tuple[float, float] = (0.0, 0.0)
    transition: float = 1.0
    damping: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    viscosity: float = 0.0

    def moment(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The force in the direction in which the coordinate grows; numbers, arrays or symbols of terms."""
        q, v = self.sign * q + self.zero, self.sign * v  # as the file has them
        force, beyond = -self.stiffness * (q - self.rest) - self.viscosity * v, 0.0
        for way, (limit, stiffness) in ((1.0, self.lower), (-1.0, self.upper)):
            if stiffness or self.damping:
                x = way * (limit - q)
                part = np.fmin(np.fmax(x / self.transition, 0.0), 1.0)
                share = part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
                force, beyond = force + way * stiffness * share * x, beyond + share
        return self.sign * (force - self.damping * beyond * v)


def springs_of(
    model: Element, kinds: Mapping[str, str], written: Collection[str], names: OsimNames
) -> Iterator[CoordinateSpring]:
    """The springs on coordinates of the robot; of others, of none, and of those that apply no force, none.

    kinds : coordinate of the robot -> "revolute" or "prismatic";  written : the coordinates of the file
    """
    in_radians = set(_coupled_in_opensim(model))
    for force in objects(model, "ForceSet"):
        if force.tag not in (LIMIT, LINEAR) or not flag_of(force, "appliesForce", True):
            continue
        if not text_of(force, "coordinate", ""):
            continue
        what = f"{force.tag} '{name_of(force, 'a force')}'"
        named = coordinate_named(text_of(force, "coordinate", what=what), written, f"{what} is on")
        own = names.coordinates.get(named, OwnCoordinate(named))
        if own.name in kinds:
            in_degrees = kinds[own.name] == "revolute" and named not in in_radians
            yield _spring(force, what, own, np.pi / 180.0 if force.tag == LIMIT and in_degrees else 1.0)


def _coupled_in_opensim(model: Element) -> Iterator[str]:
    """Coordinates of custom joints, alone and by joint, that are no angles to OpenSim, but "coupled".

    Angles turn a body about an axis by themselves, +-1 the slope of a LinearFunction, and slide none so.
    """
    for joint in (each for each in objects(model, "JointSet") if each.tag == "CustomJoint"):
        linear = set[tuple[str, str]]()
        for axis in joint.iter("TransformAxis"):
            function = axis.find("LinearFunction")
            function = axis.find("function/LinearFunction") if function is None else function
            if function is not None and abs(vector_of(function, "coefficients", "1 0", "", 2)[0]) == 1.0:
                linear.add((axis.get("name", "")[:-1], text_of(axis, "coordinates", "").strip()))
        for name in (coordinate.get("name", "") for coordinate in joint.iter("Coordinate")):
            if ("rotation", name) not in linear or ("translation", name) in linear:
                yield from (name, f"{joint.get('name')}/{name}")


def _spring(force: Element, what: str, own: OwnCoordinate, unit: float) -> CoordinateSpring:
    """A spring; limits, transition, stiffness and damping of a limit force are by this unit."""

    def number(tag: str, default: str | None = None) -> float:
        return number_of(force, tag, default, what)

    place = force.get("name", ""), own.name, own.sign, own.zero
    if force.tag == LINEAR:
        linear = number("stiffness", "0"), number("rest_length", "0"), number("viscosity", "0")
        return CoordinateSpring(*place, stiffness=linear[0], rest=linear[1], viscosity=linear[2])
    lower, upper = (
        (unit * number(f"{side}_limit", "0"), number(f"{side}_stiffness", "1") / unit)
        for side in ("lower", "upper")
    )
    transition = unit * number("transition", "0.1")
    if transition <= 0.0:
        raise OsimError(f"{what} has a transition of {transition / unit:g}: give a positive one")
    return CoordinateSpring(*place, lower, upper, transition, number("damping", "0.001") / unit)
