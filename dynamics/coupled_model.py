"""`CoupledModel`: a robot whose joints follow functions of fewer coordinates, and its dynamics.

Poses, torques and their derivatives are those of a tree of simple joints by the chain rule of
`coupled_motion`, exact, and no equations are added to a problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dynamics.algorithms.crba import crba
from dynamics.algorithms.rnea import rnea
from dynamics.arguments import list_names, number_array
from dynamics.blocks.coupled_block import CoupledBlock
from dynamics.blocks.declared_quantities import QUANTITIES, DeclaredQuantity
from dynamics.couplings.coupled_motion import CoupledMotion
from dynamics.couplings.coupled_tree import CoupledTree
from dynamics.errors import InertiaError, ShapeError
from dynamics.model.checks.mass_check import mass_matrix, moving_no_mass
from dynamics.quantities.kinematics import Poses, forward_kinematics, skeleton
from dynamics.quantities.link_wrenches import link_wrenches

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class CoupledModel(CoupledTree):
    """A robot whose tree has more joints than it has coordinates.

    tree : the robot with a coordinate for every joint
    followers : joint of the tree -> how it follows a coordinate. A name that is no joint of the tree is a
        coordinate of its own, at the place of the first joint that follows it
    ranges : limits of coordinates, in place of those of joints with their names

    It offers what an optimization asks of a robot (`trajopt.Dynamics`); for everything else `tree` with
    `tree_motion` and `forces`. Raises CouplingError for joints that do not exist or that follow each other.
    """

    @property
    def quantities(self) -> Mapping[str, DeclaredQuantity]:
        """The quantities that `block` computes, as in `RigidBodyModel`."""
        return QUANTITIES

    def block(self, outputs: Iterable[str], loads: Iterable[str] = ()) -> CoupledBlock:
        """A block that evaluates these outputs with exact derivatives, as in `RigidBodyModel`."""
        return CoupledBlock(self, outputs, loads)

    def tree_motion(
        self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None
    ) -> tuple[Array, ...]:
        """Displacements of the tree's joints, (..., joints), and their rates as far as v and a are given."""
        arrays, shape = self._nodes(q=q, v=v, a=a)
        motion = CoupledMotion(self, arrays, 0)
        return tuple(x.reshape(*shape, -1) for x in motion.arrays.values())

    def forces(self, q: ArrayLike, of_tree: ArrayLike) -> Array:
        """(..., n) generalized forces, tau_c = sum f_i' tau_i, of those of the joints (..., joints)."""
        arrays, shape = self._nodes(q=q, of_tree=of_tree)
        return CoupledMotion(self, arrays, 1).forces(arrays["of_tree"]).reshape(*shape, self.n)

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: ArrayLike | None = None
    ) -> Array:
        """tau = M a + C v + g - J' external, (..., n) N m or N: `dynamics.rnea` of the coupled robot.

        external : None, or (..., links, 6) wrenches on the links, [moment; force], world axes and origin
        """
        arrays, shape = self._nodes(q=q, v=v, a=a)
        motion = CoupledMotion(self, arrays, 1)
        s, rate, second = (x.reshape(*shape, -1) for x in motion.arrays.values())
        of_tree = rnea(self.tree, s, rate, second, external)
        return motion.gathered(of_tree * motion.f[1].reshape(*shape, -1))

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q), (..., n, n): sum over joints of f_i' M_ij f_j'."""
        arrays, shape = self._nodes(q=q)
        motion = CoupledMotion(self, arrays, 1)
        return motion.matrix(crba(self.tree, motion.arrays["q"])).reshape(*shape, self.n, self.n)

    @cached_property
    def joints_without_mass(self) -> tuple[str, ...]:
        """The coordinates that move no mass, so that forward dynamics is not defined."""
        if not self.tree.joints_without_mass:
            return ()

        def matrix(q: Array) -> Array:
            motion = CoupledMotion(self, {"q": q[None]}, 1)
            return motion.matrix(mass_matrix(self.tree, motion.arrays["q"][0])[None])[0]

        return moving_no_mass(self.joint_names, matrix)

    @property
    def has_forward_dynamics(self) -> bool:
        """True if every coordinate moves mass, so that torques determine the accelerations."""
        return not self.joints_without_mass

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
        """Accelerations a = M(q)^-1 (tau - C v - g), (..., n)."""
        return self.loaded_forward_dynamics(q, v, tau, {})

    def loaded_forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, loads: Mapping[str, ArrayLike]
    ) -> Array:
        """`forward_dynamics` under wrenches on links: name -> (..., 6) [moment; force], world axes.

        Moments are about the world origin. Raises as `link_wrenches`, InertiaError at a pose in which a
        coordinate moves no mass, as where f' = 0.
        """
        arrays, shape = self._nodes(q=q, v=v, tau=tau)
        external = link_wrenches(self.tree, shape, loads).reshape(-1, self.tree.link_count, 6)
        motion = CoupledMotion(self, {**arrays, "a": np.zeros_like(arrays["v"])}, 2)
        s, rate, second = motion.arrays.values()
        missing = arrays["tau"] - motion.forces(rnea(self.tree, s, rate, second, external))
        try:
            a = np.linalg.solve(motion.matrix(crba(self.tree, s)), missing[..., None])
            return a.reshape(*shape, self.n)
        except np.linalg.LinAlgError as error:
            raise InertiaError(
                "the mass matrix is singular: a coordinate moves no mass in this pose; give another q"
            ) from error

    def forward_kinematics(self, q: ArrayLike, frames: str | Iterable[str] | None = None) -> Poses:
        """Poses of links and frames, as `dynamics.forward_kinematics` gives them."""
        return forward_kinematics(self.tree, self.tree_motion(q)[0], frames)

    def skeleton(self, q: ArrayLike) -> Array:
        """(..., segments, 2, 3) m, lines from joint origins to child origins and link tips, for plots."""
        return skeleton(self.tree, self.tree_motion(q)[0])

    def _nodes(self, **given: ArrayLike | None) -> tuple[dict[str, Array], tuple[int, ...]]:
        """Arrays as (nodes, n), `of_tree` as (nodes, joints), and the leading axes to give back."""
        arrays = {name: number_array(x, name) for name, x in given.items() if x is not None}
        for name, x in arrays.items():
            if name == "of_tree":
                what, names = "the tree has {} joints", self.tree.joint_names
            else:
                what, names = "the model has n = {} coordinates", self.joint_names
            if x.shape[-1:] != (len(names),):
                raise ShapeError(
                    f"{name} has shape {x.shape} but {what.format(len(names))} ({list_names(names)})"
                )
        try:
            shape = np.broadcast_shapes(*(x.shape[:-1] for x in arrays.values()))
        except ValueError as error:
            shapes = {name: x.shape for name, x in arrays.items()}
            raise ShapeError(f"the arrays do not broadcast: {shapes}") from error
        flat = {
            name: np.broadcast_to(x, (*shape, x.shape[-1])).reshape(-1, x.shape[-1])
            for name, x in arrays.items()
        }
        return flat, shape
