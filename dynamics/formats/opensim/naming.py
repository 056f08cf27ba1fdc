"""Other names for bodies and coordinates of a model file of OpenSim, other signs and zeros of coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar

from dynamics.couplings.joint_function import JointFunction, polynomial
from dynamics.errors import OsimError
from dynamics.formats.opensim.forces import Point
from dynamics.formats.opensim.joints import Movement, OsimCoordinate, OsimJointElement
from dynamics.formats.opensim.tree import Couplings

Content = TypeVar("Content")


@dataclass(frozen=True)
class OwnCoordinate:
    """A coordinate under another name: value in the file = sign * own + zero, sign 1 or -1."""

    name: str
    sign: float = 1.0
    zero: float = 0.0


@dataclass(frozen=True, eq=False)
class OsimNames:
    """Names of bodies and coordinates in the file -> those of the robot; what is left out keeps its name."""

    bodies: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    coordinates: Mapping[str, OwnCoordinate] = field(default_factory=lambda: MappingProxyType({}))

    def body(self, name: str) -> str:
        """The robot's name of a body."""
        return self.bodies.get(name, name)

    def joint(self, joint: OsimJointElement) -> OsimJointElement:
        """A joint with the robot's names."""
        return replace(
            joint,
            parent=self.body(joint.parent),
            child=self.body(joint.child),
            coordinates=tuple(map(self.coordinate, joint.coordinates)),
            movements=tuple(map(self._movement, joint.movements)),
        )

    def coordinate(self, given: OsimCoordinate) -> OsimCoordinate:
        """A coordinate with the robot's name and in its values."""
        own = self.coordinates.get(given.name)
        if own is None:
            return given
        ends = sorted((x - own.zero) * own.sign for x in (given.lower, given.upper))
        default = (given.default - own.zero) * own.sign
        return replace(given, name=own.name, lower=ends[0], upper=ends[1], default=default)

    def _movement(self, movement: Movement) -> Movement:
        own = self.coordinates.get(movement.coordinate or "")
        if own is None:
            return movement
        function = movement.function.of(polynomial([own.zero, own.sign]))
        return replace(movement, coordinate=own.name, function=function)

    def couplings(self, given: Couplings) -> Couplings:
        """Functions by which dependent coordinates follow the robot's own; a dependent one keeps its name."""
        found: dict[str, tuple[str | None, JointFunction]] = {}
        for name, (source, function) in given.items():
            own = self.coordinates.get(source or "")
            if own is not None:
                source, function = own.name, function.of(polynomial([own.zero, own.sign]))
            found[name] = source, function
        return found

    def torques(self, given: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
        """Limits of torque by the robot's coordinates."""
        found: dict[str, tuple[float, float]] = {}
        for name, (lower, upper) in given.items():
            own = self.coordinates.get(name, OwnCoordinate(name))
            found[own.name] = (lower, upper) if own.sign > 0.0 else (-upper, -lower)
        return found

    def by_body(self, given: Mapping[str, Content]) -> dict[str, Content]:
        """Entries that are listed by bodies, under the robot's names."""
        return {self.body(name): content for name, content in given.items()}

    def points(self, given: Iterable[Point]) -> list[Point]:
        """Points on the robot's bodies."""
        return [replace(point, body=self.body(point.body)) for point in given]

    def check(self, bodies: Iterable[str], coordinates: Iterable[str], dependent: Iterable[str]) -> None:
        """OsimError for names that the file does not have, dependent coordinates, or two that become one."""
        for what, given, known in (
            ("body", self.bodies, set(bodies)),
            ("coordinate", self.coordinates, set(coordinates) - set(dependent)),
        ):
            for name in given:
                if name not in known:
                    raise OsimError(f"names has {what} '{name}', which the file does not have as a free one")
        for what, names in (
            ("bodies", [self.body(name) for name in bodies]),
            ("coordinates", [self.coordinates.get(n, OwnCoordinate(n)).name for n in coordinates]),
        ):
            if len(set(names)) < len(names):
                raise OsimError(f"names gives two {what} one name: give each its own")
        if any(abs(own.sign) != 1.0 for own in self.coordinates.values()):
            raise OsimError("names has a sign that is neither 1 nor -1: write one of them")
