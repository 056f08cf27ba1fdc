"""`CoupledModel`: a robot whose joints follow functions of fewer coordinates.

A tree of simple joints moves with displacements s, of which some are coordinates of the robot and others
follow one by a function, s_i = f_i(q_c(i)): a knee whose shank slides while it bends, a kneecap. Poses,
torques and their derivatives are those of the tree by the chain rule (`coupled_motion`), exact, and no
equations are added to a problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from dynamics.algorithms.crba import crba
from dynamics.algorithms.rnea import rnea
from dynamics.arguments import list_names, number_array, short_repr
from dynamics.couplings.coupled_motion import CoupledMotion
from dynamics.couplings.joint_function import JointFunction
from dynamics.errors import CouplingError, ShapeError
from dynamics.model.joint_limits import JointLimits, checked_limits
from dynamics.model.kinematic_tree import LimitArrays
from dynamics.quantities.kinematics import Poses, forward_kinematics
from dynamics.rigid_body_model import RigidBodyModel

Array = np.ndarray


@dataclass(frozen=True)
class Coordinate:
    """A coordinate that no joint of the tree has by itself, as figures name it."""

    name: str
    kind: str


@dataclass(frozen=True, eq=False)
class Follower:
    """A joint's displacement as a function of a coordinate, which may be another joint of the tree."""

    coordinate: str
    function: JointFunction


@dataclass(frozen=True, eq=False)
class CoupledModel:
    """A robot whose tree has more joints than it has coordinates.

    tree : the robot with a coordinate for every joint
    followers : joint of the tree -> how it follows a coordinate. A name that is no joint of the tree is a
        coordinate of its own, at the place of the first joint that follows it
    ranges : limits of coordinates, in place of those of joints with their names

    It offers what an optimization asks of a robot (`trajopt.Dynamics`); for everything else `tree` with
    `tree_motion` and `forces`. Raises CouplingError for joints that do not exist or that follow each other.
    """

    tree: RigidBodyModel
    followers: Mapping[str, Follower]
    ranges: Mapping[str, JointLimits] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        joints = self.tree.joint_names
        if self.tree.rotation_joints:
            raise CouplingError("the tree of a coupled robot has a ball joint: give joints of one coordinate")
        for name, follower in self.followers.items():
            if name not in joints:
                raise CouplingError(f"there is no joint {short_repr(name)}; there are {list_names(joints)}")
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
    def joints(self) -> tuple[Any, ...]:
        """Name and kind of every coordinate; one that turns any joint is an angle."""
        by_name = {joint.name: joint for joint in self.tree.joints}
        found = []
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
        arrays = {}
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
        """Of the robot."""
        return self.tree.name

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The links of the tree."""
        return self.tree.bodies

    @property
    def frames(self) -> tuple[Any, ...]:
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
        found = self.tree.floating_joints
        return () if any(name in self.followers for name in found) else found

    @property
    def quantities(self) -> Mapping[str, Any]:
        """What `block` computes, as in `RigidBodyModel`."""
        return self.tree.quantities

    def carrier(self, frame: str) -> str:
        """The link that carries a frame; UnknownNameError where the ground does, or for another name."""
        return self.tree.carrier(frame)

    # --- dynamics -------------------------------------------------------------------------------------

    def block(self, outputs: Iterable[str], loads: Iterable[str] = ()) -> Any:
        """A block that evaluates these outputs with exact derivatives, as in `RigidBodyModel`."""
        from dynamics.couplings.coupled_block import CoupledBlock

        return CoupledBlock(self, outputs, loads)

    def tree_motion(self, q: Any, v: Any = None, a: Any = None) -> tuple[Array, ...]:
        """Displacements of the tree's joints, (..., joints), and their rates as far as v and a are given."""
        arrays, shape = self._nodes(q=q, v=v, a=a)
        motion = CoupledMotion(self, arrays, 0)
        return tuple(x.reshape(*shape, -1) for x in motion.arrays.values())

    def forces(self, q: Any, of_tree: Any) -> Array:
        """(..., n) generalized forces, tau_c = sum f_i' tau_i, of those of the joints (..., joints)."""
        arrays, shape = self._nodes(q=q)
        given = number_array(of_tree, "the forces of the tree").reshape(-1, self.tree.n)
        return CoupledMotion(self, arrays, 1).forces(given).reshape(*shape, self.n)

    def inverse_dynamics(self, q: Any, v: Any, a: Any, external: Any = None) -> Array:
        """tau = M a + C v + g - J' external, (..., n) N m or N: `dynamics.rnea` of the coupled robot.

        external : None, or (..., links, 6) wrenches on the links, [moment; force], world axes and origin
        """
        s, rate, second = self.tree_motion(q, v, a)
        return self.forces(q, rnea(self.tree, s, rate, second, external))

    def mass_matrix(self, q: Any) -> Array:
        """M(q), (..., n, n): sum over joints of f_i' M_ij f_j'."""
        arrays, shape = self._nodes(q=q)
        motion = CoupledMotion(self, arrays, 1)
        scaled = crba(self.tree, motion.arrays["q"]) * motion.f[1][:, :, None] * motion.f[1][:, None, :]
        return (self.selection.T @ scaled @ self.selection).reshape(*shape, self.n, self.n)

    def forward_dynamics(self, q: Any, v: Any, tau: Any) -> Array:
        """Accelerations a = M(q)^-1 (tau - C v - g), (..., n)."""
        return self.loaded_forward_dynamics(q, v, tau, {})

    def loaded_forward_dynamics(self, q: Any, v: Any, tau: Any, loads: Mapping[str, Any]) -> Array:
        """`forward_dynamics` under wrenches on links: name -> (..., 6) [moment; force], world axes.

        Moments are about the world origin. Raises UnknownNameError for a link that does not exist.
        """
        external = np.zeros((*np.shape(tau)[:-1], self.tree.link_count, 6))
        for link, wrench in loads.items():
            external[..., self.tree.link_index(link), :] += wrench
        missing = tau - self.inverse_dynamics(q, v, np.zeros_like(np.asarray(v, dtype=float)), external)
        return np.linalg.solve(self.mass_matrix(q), missing[..., None])[..., 0]

    def forward_kinematics(self, q: Any, frames: Any = None) -> Poses:
        """Poses of links and frames, as `dynamics.forward_kinematics` gives them."""
        return forward_kinematics(self.tree, self.tree_motion(q)[0], frames)

    def skeleton(self, q: Any) -> Array:
        """(..., segments, 2, 3) m, lines from joint origins to child origins and link tips, for plots."""
        return self.tree.skeleton(self.tree_motion(q)[0])

    def _nodes(self, **given: Any) -> tuple[dict[str, Array], tuple[int, ...]]:
        """Arrays of coordinates as (nodes, n), and the leading axes to give back."""
        arrays = {name: number_array(x, name) for name, x in given.items() if x is not None}
        for name, x in arrays.items():
            if x.shape[-1:] != (self.n,):
                raise ShapeError(
                    f"{name} has shape {x.shape} but the model has n = {self.n} coordinates "
                    f"({list_names(self.joint_names)})"
                )
        try:
            shape = np.broadcast_shapes(*(x.shape for x in arrays.values()))
        except ValueError as error:
            shapes = {name: x.shape for name, x in arrays.items()}
            raise ShapeError(f"the arrays do not broadcast: {shapes}") from error
        flat = {name: np.broadcast_to(x, shape).reshape(-1, self.n) for name, x in arrays.items()}
        return flat, shape[:-1]
