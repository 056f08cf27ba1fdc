"""Recursive Newton-Euler of any of our models written anew in CasADi's symbols, one node at a time.

Velocities and accelerations outward and forces inward in axes of the bodies, as in Luh, Walker and Paul
(1980); gravity is an acceleration of the ground. Loads act on links in world axes about the world origin.
"""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np


def cross(a: Any, b: Any) -> Any:
    return casadi.vertcat(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


class SymbolicBody:
    """Poses of every link at q, and inverse dynamics there: SX throughout, exact zeros left out."""

    def __init__(self, model: Any, q: Any) -> None:
        self.model, self.q = model, q
        self.local = [
            self._local(body.joint, q[c]) for body, c in zip(model.bodies, model.coordinate, strict=True)
        ]
        self.world: list[tuple[Any, Any]] = []
        for (R, p), parent in zip(self.local, model.parent, strict=True):
            above = self.world[parent] if parent >= 0 else (casadi.SX.eye(3), casadi.SX.zeros(3))
            self.world.append((above[0] @ R, above[1] + above[0] @ p))

    def position(self, name: str) -> Any:
        """Origin of a link or of a frame fixed to one, world axes."""
        frame = self.model.frame(name)
        R, p = self.world[self.model.link_index(frame.body)]
        return p + R @ constant(frame.position)

    def inverse_dynamics(self, v: Any, a: Any, loads: dict[str, Any]) -> tuple[Any, Any]:
        """(tau, base wrench [moment; force] about the world origin) under loads by link."""
        wrenches = [
            self._needed(*motion, body)
            for motion, body in zip(self._motions(v, a), self.model.bodies, strict=True)
        ]
        for link, load in loads.items():
            i = self.model.link_index(link)
            R, p = self.world[i]
            force = R.T @ load[3:]
            moment = R.T @ (load[:3] - cross(p, load[3:]))
            wrenches[i] = (wrenches[i][0] - moment, wrenches[i][1] - force)
        tau, base = [0] * self.model.n, casadi.SX.zeros(6)
        for i in reversed(range(len(self.model.bodies))):
            joint, (moment, force) = self.model.bodies[i].joint, wrenches[i]
            along = force if joint.kind == "prismatic" else moment
            tau[self.model.coordinate[i]] += casadi.dot(constant(joint.axis), along)
            R, p = self.local[i]
            force, moment = R @ force, R @ moment
            moment += cross(p, force)
            parent = self.model.parent[i]
            if parent >= 0:
                wrenches[parent] = (wrenches[parent][0] + moment, wrenches[parent][1] + force)
            else:
                base += casadi.vertcat(moment, force)
        return casadi.vertcat(*tau), base

    def _motions(self, v: Any, a: Any) -> list[tuple[Any, Any, Any]]:
        """(angular velocity, angular acceleration, acceleration of the origin) per link, in its axes."""
        zero = casadi.SX.zeros(3)
        found = []
        for (R, p), body, parent, c in zip(
            self.local, self.model.bodies, self.model.parent, self.model.coordinate, strict=True
        ):
            ground = (zero, zero, -constant(self.model.gravity))
            omega, alpha, linear = found[parent] if parent >= 0 else ground
            linear = R.T @ (linear + cross(alpha, p) + cross(omega, cross(omega, p)))
            omega, alpha, axis = R.T @ omega, R.T @ alpha, constant(body.joint.axis)
            if body.joint.kind == "prismatic":
                linear += axis * a[c] + 2 * cross(omega, axis) * v[c]
            else:
                alpha += axis * a[c] + cross(omega, axis) * v[c]
                omega += axis * v[c]
            found.append((omega, alpha, linear))
        return found

    @staticmethod
    def _needed(omega: Any, alpha: Any, linear: Any, body: Any) -> tuple[Any, Any]:
        """(moment about the link's origin, force) that a body's motion needs."""
        centre, inertia = constant(body.centre_of_mass), constant(body.inertia)
        force = body.mass * (linear + cross(alpha, centre) + cross(omega, cross(omega, centre)))
        moment = inertia @ alpha + cross(omega, inertia @ omega) + cross(centre, force)
        return moment, force

    @staticmethod
    def _local(joint: Any, displacement: Any) -> tuple[Any, Any]:
        """Rotation and origin of a link in its parent's axes."""
        rest, place, axis = constant(joint.rotation), constant(joint.position), joint.axis
        if joint.kind == "prismatic":
            return rest, place + rest @ (constant(axis) * displacement)
        x, y, z = axis
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        turn = casadi.SX.eye(3) + casadi.sin(displacement) * constant(K)
        return rest @ (turn + (1 - casadi.cos(displacement)) * constant(K @ K)), place


def constant(array: Any) -> Any:
    """Numbers with structural zeros."""
    return casadi.sparsify(casadi.SX(casadi.DM(np.asarray(array, dtype=float))))
