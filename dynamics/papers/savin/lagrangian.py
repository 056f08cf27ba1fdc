"""Savin's lecture: the Lagrangian equations of a robot in CasADi, an oracle that uses none of the recursions.

Only the numbers of the model are taken over: poses, Jacobians and energies are built here, symbolically.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.papers.trees.linkage import Linkage, linkage_of

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree


@dataclass(frozen=True, eq=False)
class SymbolicBody:
    """A body as CasADi expressions of q.

    T : (3, 3), its axes in the world;  origin, centre : (3,), the frame's origin and the centre of mass
    Jv, Jw : (3, n), Jacobians of the centre of mass and of the angular velocity in body axes
    """

    T: Any
    origin: Any
    centre: Any
    Jv: Any
    Jw: Any
    mass: float
    inertia: np.ndarray


class Lagrangian:
    """The equations H qddot + C qdot = tau + g of a model, as CasADi expressions and as numbers.

    Source: Savin 2022. (5) is W = T' Tdot in body axes, in which the inertia is constant; in (22) g = -dU/dq
    is a force on the right-hand side, so that (24) to (26) need +dU/dq on the left.
    """

    def __init__(self, model: KinematicTree) -> None:
        import casadi

        self._casadi = casadi
        self._linkage: Linkage = linkage_of(model)
        self.n = model.n
        self.q, self.v = casadi.SX.sym("q", self.n), casadi.SX.sym("v", self.n)
        self.bodies = self._symbolic_bodies()
        inertia = casadi.diag(casadi.DM(self._linkage.armature))
        for body in self.bodies:
            inertia += body.mass * body.Jv.T @ body.Jv + body.Jw.T @ casadi.DM(body.inertia) @ body.Jw
        self.H = inertia  # (10)

    def _symbolic_bodies(self) -> list[SymbolicBody]:
        casadi, linkage = self._casadi, self._linkage
        s = casadi.DM(linkage.reduction) @ self.q + casadi.DM(linkage.offset)
        bodies: list[SymbolicBody] = []
        for i, link in enumerate(linkage.links):
            carrier = bodies[link.parent] if link.parent >= 0 else None
            T, origin = (carrier.T, carrier.origin) if carrier else (casadi.DM.eye(3), casadi.DM.zeros(3))
            motion = link.motion
            origin = origin + T @ casadi.DM(motion.position)
            T = T @ casadi.DM(motion.rotation)
            axis = casadi.DM(motion.axis)
            if motion.kind == "revolute":
                skew = casadi.skew(axis)
                T = T @ (casadi.DM.eye(3) + casadi.sin(s[i]) * skew + (1 - casadi.cos(s[i])) * skew @ skew)
            else:
                origin = origin + T @ axis * s[i]
            centre = origin + T @ casadi.DM(link.centre_of_mass)
            Jv = casadi.jacobian(centre, self.q)  # (4)
            bodies.append(SymbolicBody(T, origin, centre, Jv, self._turning(T), link.mass, link.inertia))
        return bodies

    def _turning(self, T: Any) -> Any:
        """Jw = dw/dqdot (7) of the body whose axes are T, from W = T' Tdot (5), (6)."""
        casadi = self._casadi
        W = T.T @ casadi.reshape(casadi.jtimes(casadi.vec(T), self.q, self.v), 3, 3)
        return casadi.jacobian(casadi.vertcat(-W[1, 2], W[0, 2], -W[0, 1]), self.v)

    def function(self, expression: Any) -> Any:
        """A CasADi function (q, v) -> expression."""
        return self._casadi.Function("f", [self.q, self.v], [expression], {"allow_free": False})

    @cached_property
    def _mass(self) -> Any:
        return self.function(self.H)

    @cached_property
    def _gradient(self) -> Any:
        return self.function(self._casadi.jacobian(self._casadi.vec(self.H), self.q))

    @cached_property
    def _products(self) -> tuple[Any, Any]:
        casadi, q, v = self._casadi, self.q, self.v
        rate = casadi.reshape(casadi.jtimes(casadi.vec(self.H), q, v), self.n, self.n) @ v
        direct = rate - 0.5 * casadi.gradient(v.T @ self.H @ v, q)  # (18)
        slope = casadi.jacobian(casadi.vec(self.H), q)
        kronecker = rate - 0.5 * slope.T @ casadi.kron(v, v)  # (19)
        return self.function(direct), self.function(kronecker)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """H(q) = sum m Jv' Jv + Jw' I Jw, (n, n). (10)"""
        return np.asarray(self._mass(q, 0 * q))

    def mass_matrix_gradient(self, q: np.ndarray) -> np.ndarray:
        """dH_ij / dq_k, (n, n, n)."""
        return np.asarray(self._gradient(q, 0 * q)).reshape(self.n, self.n, self.n, order="F")

    def christoffel_symbols(self, q: np.ndarray) -> np.ndarray:
        """Gamma_ijk = 1/2 (dH_ij/dq_k + dH_ik/dq_j - dH_kj/dq_i), (n, n, n). (16)"""
        slope = self.mass_matrix_gradient(q)
        return (slope + slope.transpose(0, 2, 1) - slope.transpose(2, 1, 0)) / 2.0

    def coriolis_matrix(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """C_ij = sum_k Gamma_ijk v_k, (n, n). (17)"""
        return self.christoffel_symbols(q) @ v

    def coriolis_direct(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """C v = Hdot v - 1/2 d(v' H v)/dq, (n,). (18)"""
        return np.asarray(self._products[0](q, v))[:, 0]

    def coriolis_kronecker(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """C v = Hdot v - 1/2 (d vec(H)/dq)' (v kron v), (n,). (19), whose transpose the lecture lost.

        A product only: the matrix one can read off it, Hdot - 1/2 (d vec(H)/dq)' (v kron 1), is not
        admissible.
        """
        return np.asarray(self._products[1](q, v))[:, 0]

    def kronecker_matrix(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The matrix read off (19), (n, n): its product with v is right, but C + C' is not Hdot.

        A negative control: tests of admissible matrices must refuse it.
        """
        slope = self.mass_matrix_gradient(q)
        return slope @ v - 0.5 * np.einsum("ijk,i->kj", slope, v)

    # --- generalized forces -----------------------------------------------------------------------------

    def force(self, body: int, point: np.ndarray, force: np.ndarray, q: np.ndarray) -> np.ndarray:
        """tau = (dr/dq)' f, (n,), of a world force at `point` (3,) of a body's frame. (20)

        body : index in the spanning tree, in which exact rotors stand before their links
        """
        place = self.bodies[body].origin + self.bodies[body].T @ self._casadi.DM(point)
        return np.asarray(self.function(self._casadi.jacobian(place, self.q))(q, 0 * q)).T @ force

    def torque(self, body: int, torque: np.ndarray, q: np.ndarray) -> np.ndarray:
        """tau = Jw' xi, (n,), of a torque in world axes on a body. (21), both in the same basis."""
        jacobian = self.bodies[body].T @ self.bodies[body].Jw
        return np.asarray(self.function(jacobian)(q, 0 * q)).T @ torque

    def conservative(self, potential: Any, q: np.ndarray) -> np.ndarray:
        """g = -dU/dq, (n,), of a CasADi expression of `self.q`, on the right-hand side. (22)"""
        return -np.asarray(self.function(self._casadi.gradient(potential, self.q))(q, 0 * q))[:, 0]

    def gravity_potential(self) -> Any:
        """U = -sum m gravity . r."""
        gravity = self._casadi.DM(self._linkage.gravity)
        return -sum(body.mass * self._casadi.dot(gravity, body.centre) for body in self.bodies)

    def spring_potential(self, springs: Mapping[int, tuple[float, float]]) -> Any:
        """U = sum k (q_i - rest)^2 / 2 over {i: (k in N m/rad or N/m, rest)}."""
        terms = [0.5 * k * (self.q[i] - rest) ** 2 for i, (k, rest) in springs.items()]
        return sum(terms, self._casadi.SX(0))
