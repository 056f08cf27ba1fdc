"""The value of a robot whose joints follow functions of fewer coordinates: its tree, names and limits.

A tree of simple joints moves with displacements s, of which some are coordinates of the robot and others
follow one by a function, s_i = f_i(q_c(i)): a knee whose shank slides while it bends, a kneecap.
"""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from dynamics.arguments import list_names, short_repr
from dynamics.couplings.joint_function import JointFunction
from dynamics.errors import CouplingError
from dynamics.model.body import Body, Frame, floating_joints
from dynamics.model.joint import Joint
from dynamics.model.joint_limits import JointLimits, checked_limits
from dynamics.model.kinematic_tree import KinematicTree, LimitArrays

Array = np.ndarray
T = TypeVar("T", bound="CoupledTree")


@dataclass(frozen=True)
class Coordinate:
    """A coordinate that no joint of the tree has by itself, as figures name it."""

    name: str
    kind: str


@dataclass(frozen=True, eq=False)
class Follower:
    """A joint's displacement as a function of a coordinate, which may be another joint of the tree.

    Raises CouplingError where the two are no name and no JointFunction.
    """

    coordinate: str
    function: JointFunction

    def __post_init__(self) -> None:
        if not (isinstance(self.coordinate, str) and isinstance(self.function, JointFunction)):
            raise CouplingError(
                f"a follower has {short_repr(self.coordinate)} and {short_repr(self.function)}; give the "
                "name of a coordinate and a JointFunction"
            )


@dataclass(frozen=True, eq=False)
class CoupledTree:
    """A coupled robot's geometry and couplings; users make a `CoupledModel`, which adds its dynamics."""

    tree: KinematicTree
    followers: Mapping[str, Follower]
    ranges: Mapping[str, JointLimits] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if not (isinstance(self.tree, KinematicTree) and isinstance(self.followers, Mapping)):
            raise CouplingError(
                f"a coupled robot has the tree {short_repr(self.tree)} and followers "
                f"{short_repr(self.followers)}; give a RigidBodyModel and joint -> Follower"
            )
        joints = self.tree.joint_names
        if self.tree.rotation_joints:
            raise CouplingError("the tree of a coupled robot has a ball joint: give joints of one coordinate")
        for name, follower in self.followers.items():
            if name not in joints:
                raise CouplingError(f"there is no joint {short_repr(name)}; there are {list_names(joints)}")
            if not isinstance(follower, Follower):
                raise CouplingError(f"joint '{name}' follows {short_repr(follower)}; give a Follower")
            if follower.coordinate in self.followers:
                raise CouplingError(
                    f"joint '{name}' follows '{follower.coordinate}', which itself follows: put one function "
                    "into the other"
                )
        for name, limits in self.ranges.items():
            if name not in self.joint_names:
                raise CouplingError(
                    f"there is no coordinate {short_repr(name)}; there are {list_names(self.joint_names)}"
                )
            checked_limits(limits, f"coordinate {name!r}:")

    def smoothed(self: T) -> T:
        """The robot with functions whose first four derivatives are continuous, for an optimization.

        The third derivative of a cubic spline, which derivatives of torques have, jumps at every point of it.
        Newton's steps then go to and fro where the optimum is near one.
        """
        followers = {
            name: replace(follower, function=follower.function.smoothed)
            for name, follower in self.followers.items()
        }
        return replace(self, followers=followers)

    # --- coordinates and joints -----------------------------------------------------------------------

    @cached_property
    def _coordinates(self) -> tuple[tuple[str, ...], Array]:
        """Names of the coordinates, and which one each joint of the tree follows."""
        sources = [
            self.followers[name].coordinate if name in self.followers else name
            for name in self.tree.joint_names
        ]
        names = tuple(dict.fromkeys(sources))
        return names, np.array([names.index(source) for source in sources])

    @property
    def joint_names(self) -> tuple[str, ...]:
        """(n,) names of the coordinates: the order of q."""
        return self._coordinates[0]

    @property
    def follows(self) -> Array:
        """(joints,) the coordinate that each joint of the tree is a function of."""
        return self._coordinates[1]

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.joint_names)

    @cached_property
    def functions(self) -> dict[int, JointFunction]:
        """Joint of the tree, by its place -> its function; the others are coordinates themselves."""
        places = {name: i for i, name in enumerate(self.tree.joint_names)}
        return {places[name]: follower.function for name, follower in self.followers.items()}

    @cached_property
    def selection(self) -> Array:
        """(joints, n), 1 where a joint follows a coordinate."""
        return np.eye(self.n)[self.follows]

    @cached_property
    def places(self) -> tuple[Array, list[tuple[int, int]]]:
        """The first joint that follows each coordinate, and all others, (joint, coordinate)."""
        _, first = np.unique(self.follows, return_index=True)
        others = np.setdiff1d(np.arange(self.follows.size), first)
        return first, [(int(joint), int(self.follows[joint])) for joint in others]

    @cached_property
    def joints(self) -> tuple[Joint | Coordinate, ...]:
        """Name and kind of every coordinate; one that turns any joint is an angle."""
        by_name = {joint.name: joint for joint in self.tree.joints}
        found: list[Joint | Coordinate] = []
        for i, name in enumerate(self.joint_names):
            kinds = [
                by_name[j].kind for j, c in zip(self.tree.joint_names, self.follows, strict=True) if c == i
            ]
            own = by_name.get(name)
            found.append(own or Coordinate(name, "revolute" if "revolute" in kinds else "prismatic"))
        return tuple(found)

    @cached_property
    def limits(self) -> LimitArrays:
        """Limits of the coordinates, each (n,): `ranges`, else those of the joint with the name."""
        own = dict(zip(self.tree.joint_names, range(self.tree.n), strict=True))
        arrays: dict[str, np.ndarray] = {}
        for key in ("q_lower", "q_upper", "velocity", "torque_lower", "torque_upper"):
            of_tree, free = getattr(self.tree.limits, key), getattr(JointLimits(), key)
            arrays[key] = np.array([
                getattr(self.ranges[name], key) if name in self.ranges
                else of_tree[own[name]] if name in own else free
                for name in self.joint_names
            ])  # fmt: skip
            arrays[key].flags.writeable = False
        return LimitArrays(**arrays)

    # --- what the tree says ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.tree.name

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The links of the tree."""
        return self.tree.bodies

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Frames fixed to links."""
        return self.tree.frames

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links."""
        return self.tree.link_names

    @property
    def gravity(self) -> Array:
        """(3,) m/s^2, the field in world axes."""
        return self.tree.gravity

    @property
    def total_mass(self) -> float:
        """kg of all links that can move."""
        return self.tree.total_mass

    @property
    def floating_joints(self) -> tuple[str, ...]:
        """The coordinates of a floating base, translations first; empty where it is held or coupled."""
        found = floating_joints(self.tree.bodies)
        return () if any(name in self.followers for name in found) else found

    def carrier(self, frame: str) -> str:
        """The link that carries a frame; UnknownNameError where the ground does, or for another name."""
        return self.tree.carrier(frame)
