"""`RigidBodyModel`, what users make and hold: the kinematic tree with methods that compute its dynamics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from dynamics.blocks.declared_quantities import QUANTITIES, WITHOUT_MASS, DeclaredQuantity, needs_mass
from dynamics.model.body import Body, Frame, floating_joints
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.model.shape import Shape

if TYPE_CHECKING:
    from dynamics.blocks.designed_block import DesignedBlock
    from dynamics.blocks.model_block import ModelBlock
    from dynamics.quantities.kinematics import Poses


@dataclass(frozen=True, eq=False, repr=False)
class RigidBodyModel(KinematicTree):
    """A robot: a kinematic tree of rigid bodies on joints, in a uniform gravity field.

    bodies : parents before children
    gravity : (3,) m/s^2, the field in world axes
    name : for tables and files
    rotors : "exact", every rotor is a body on the parent sharing the joint's coordinate; "armature", the
        parent carries its mass and gear_ratio^2 * axial inertia is added to the diagonal of M; "none"
    frames : named frames fixed to links
    ground_mass : kg of links that are held to the ground and never move; nothing is computed from it
    shapes : solids on links and frames, for clearances, see `with_shapes`
    allowed_pairs : names of two links or frames whose shapes may touch each other, and why, "" by default
    may_lack_mass : whether joints may move no mass, as those of many files do (`joints_without_mass`);
        forward dynamics is refused then, and where no link has a mass all that needs one
    left_out : what the file of the robot holds that is no part of it, a phrase each
    source : the URDF, its path or text, that the robot was read from, where there is one

    A coordinate belongs to every joint that mimics no other, in the order of the bodies; `ball_joint` and
    `free_joint` make three joints whose coordinates are a rotation vector. Equality is
    identity; compare `to_json()` for equality of content. Raises ModelError naming the element: TreeError
    (names, parents, cycles, mimics), InertiaError (leaf without mass, singular mass matrix), JointError.
    """

    if TYPE_CHECKING:  # more is taken than kept; `ArrayField` would not fit protocols such as `Robot`

        def __init__(
            self,
            bodies: Iterable[Body],
            gravity: ArrayLike = (0.0, 0.0, -9.81),
            name: str = "",
            rotors: Literal["exact", "armature", "none"] = "exact",
            frames: Iterable[Frame] = (),
            ground_mass: float = 0.0,
            shapes: Iterable[Shape] = (),
            allowed_pairs: Iterable[tuple[str, ...]] = (),
            may_lack_mass: bool = False,
            left_out: Iterable[str] = (),
            source: str | None = None,
        ) -> None: ...

    @property
    def quantities(self) -> Mapping[str, DeclaredQuantity]:
        """The quantities that `block` computes, name -> `DeclaredQuantity`: width, unit, components, inputs.

        Of a robot without mass those alone that need none.
        """
        if self.has_no_mass:
            return {name: quantity for name, quantity in QUANTITIES.items() if name in WITHOUT_MASS}
        return QUANTITIES

    def check_quantity(self, name: str) -> None:
        """InertiaError where a quantity needs a mass and no link has one."""
        if needs_mass(name):
            self.check_mass(f"the quantity {name!r}")

    def block(self, outputs: Iterable[str], loads: Iterable[str] = ()) -> ModelBlock:
        """A block that evaluates these outputs with exact derivatives, for trajectory optimization.

        outputs : names in `quantities`; loads : names of links with an external wrench as input "load:NAME"
        """
        from dynamics.blocks.model_block import block

        return block(self, outputs, loads)

    def designed_block(
        self, outputs: Iterable[str], loads: Iterable[str], fixed: Mapping[str, np.ndarray]
    ) -> ModelBlock | DesignedBlock:
        """`block` with properties of the robot as further inputs, "design:forearm.mass" say.

        fixed : property -> (width,), NaN in components that are inputs; the others are constant
        """
        from dynamics.blocks.designed_block import designed_block

        return designed_block(self, outputs, loads, fixed)

    def inverse_dynamics(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, external: np.ndarray | None = None
    ) -> np.ndarray:
        """tau = M a + C v + g - J' external, (..., n) N m or N: `dynamics.rnea`."""
        from dynamics.algorithms.rnea import rnea

        return rnea(self, q, v, a, external)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M(q), (..., n, n): `dynamics.crba`."""
        from dynamics.algorithms.crba import crba

        return crba(self, q)

    def forward_kinematics(self, q: np.ndarray, frames: str | Iterable[str] | None = None) -> Poses:
        """Poses of links and frames: `dynamics.forward_kinematics`."""
        from dynamics.quantities.kinematics import forward_kinematics

        return forward_kinematics(self, q, frames)

    @property
    def has_forward_dynamics(self) -> bool:
        """True if every joint moves mass, so that torques determine the accelerations."""
        return not self.joints_without_mass

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Accelerations a = M(q)^-1 (tau - C(q, v) v - g(q)), (..., n): `aba` without external wrenches."""
        from dynamics.algorithms.aba import aba

        return aba(self, q, v, tau)

    def loaded_forward_dynamics(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, loads: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """`forward_dynamics` under wrenches on links: name -> (..., 6) [moment; force], world axes.

        Moments are about the world origin. Raises as `link_wrenches`, and `aba`.
        """
        from dynamics.algorithms.aba import aba
        from dynamics.quantities.link_wrenches import link_wrenches

        return aba(self, q, v, tau, link_wrenches(self, np.shape(tau)[:-1], loads))

    @cached_property
    def floating_joints(self) -> tuple[str, ...]:
        """The joints of a floating base, translations first, or none where it is held."""
        return floating_joints(self.bodies)

    def skeleton(self, q: np.ndarray) -> np.ndarray:
        """(..., segments, 2, 3) m, lines from joint origins to child origins and link tips, for plots."""
        from dynamics.quantities.kinematics import skeleton

        return skeleton(self, q)

    def mirrored(self, pairs: Mapping[str, str]) -> tuple[np.ndarray, np.ndarray]:
        """Signs and order (n,) of coordinates when left and right change places, {"left": "right"}.

        q'_i = signs_i q_order(i); see `dynamics.quantities.mirror`, also for errors.
        """
        from dynamics.quantities.mirror import mirrored

        return mirrored(self, pairs)
