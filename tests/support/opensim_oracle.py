"""Poses, markers, energies and generalized forces by OpenSim at seeded random states: a model in, JSON out.

    python tests/support/opensim_oracle.py model.osim states.json

Forces are those of inverse dynamics with gravity alone, each coordinate on its own: constraints are off, and
a dependent coordinate moves as its coupler says. "power" is the rate of the energy along the motion, by
central differences of OpenSim's own energies.
"""

import json
import sys
from importlib import import_module

import numpy as np

opensim = import_module("opensim")  # an extra that type checkers need not have
STATES, WIDEST = 4, 1.2  # rad or m within the ranges; the last state goes beyond them
STEP = 1e-3  # s


class Model:
    """A model of OpenSim without forces and constraints, and its coordinates by name."""

    def __init__(self, path):
        self.model = opensim.Model(path)
        self.state = self.model.initSystem()
        self.coordinates = {c.getName(): c for c in listed(self.model.getCoordinateSet())}
        self.couplers = [coupler(each) for each in listed(self.model.getConstraintSet())]
        for each in listed(self.model.getConstraintSet()):
            each.setIsEnforced(self.state, False)
        for each in listed(self.model.updForceSet()):
            each.setAppliesForce(self.state, False)
        for i, each in enumerate(self.coordinates.values()):
            each.setLocked(self.state, False)
            each.setSpeedValue(self.state, float(i + 1))
        names, rates = list(self.coordinates), self.state.getU()
        self.order = [names[round(rates[k]) - 1] for k in range(len(names))]

    def move(self, q, v):
        for name, coordinate in self.coordinates.items():
            coordinate.setValue(self.state, q[name], False)
            coordinate.setSpeedValue(self.state, v[name])
        self.model.realizeVelocity(self.state)

    def forces(self, a):
        rates = opensim.Vector(len(self.order), 0.0)
        for k, name in enumerate(self.order):
            rates[k] = a[name]
        found = opensim.InverseDynamicsSolver(self.model).solve(self.state, rates)
        return {name: found[k] for k, name in enumerate(self.order)}

    def energy(self, q, v, a, t):
        self.move(
            {name: q[name] + v[name] * t + 0.5 * a[name] * t * t for name in q},
            {name: v[name] + a[name] * t for name in v},
        )
        return self.model.calcKineticEnergy(self.state) + self.model.calcPotentialEnergy(self.state)

    def coupled(self, q, v, a):
        """The motion with dependent coordinates as the couplers say."""
        for dependent, independent, function in self.couplers:
            x = opensim.Vector(1, q[independent])
            slope = function.calcDerivative(opensim.StdVectorInt([0]), x)
            bend = function.calcDerivative(opensim.StdVectorInt([0, 0]), x)
            q[dependent], v[dependent] = function.calcValue(x), slope * v[independent]
            a[dependent] = slope * a[independent] + bend * v[independent] ** 2
        return q, v, a

    def random_motion(self, rng, beyond):
        q = {}
        for name, own in self.coordinates.items():
            lower, upper = max(own.getRangeMin(), -WIDEST), min(own.getRangeMax(), WIDEST)
            q[name] = rng.uniform(-2.2, 2.2) if beyond else rng.uniform(lower, upper)
        v, a = (
            {name: scale * x for name, x in zip(q, rng.normal(size=len(q)), strict=True)}
            for scale in (1.0, 2.0)
        )
        return self.coupled(q, v, a)

    def case(self, rng, beyond):
        q, v, a = self.random_motion(rng, beyond)
        energies = [self.energy(q, v, a, k * STEP) for k in (-2, -1, 1, 2)]
        power = (8.0 * (energies[2] - energies[1]) - (energies[3] - energies[0])) / (12.0 * STEP)
        self.move(q, v)
        bodies = {
            body.getName(): pose(body.getTransformInGround(self.state)) for body in self.model.getBodyList()
        }
        markers = {
            each.getName(): numbers(each.getLocationInGround(self.state))
            for each in listed(self.model.getMarkerSet())
        }
        kinetic = self.model.calcKineticEnergy(self.state)
        return {
            "q": q, "v": v, "a": a, "bodies": bodies, "markers": markers, "tau": self.forces(a),
            "power": power, "kinetic": kinetic,
        }  # fmt: skip


def listed(group):
    return [group.get(i) for i in range(group.getSize())]


def coupler(constraint):
    own = opensim.CoordinateCouplerConstraint.safeDownCast(constraint)
    text = opensim.PropertyHelper.getValueString
    dependent = text(own.getPropertyByName("dependent_coordinate_name"))
    return dependent, text(own.getPropertyByName("independent_coordinate_names"), 0), own.getFunction()


def numbers(vector):
    return [vector[i] for i in range(3)]


def pose(transform):
    """The rotation matrix and then the origin, four rows."""
    rotation = transform.R()
    return [[rotation.get(i, j) for j in range(3)] for i in range(3)] + [numbers(transform.p())]


def main(path, out):
    opensim.Logger.setLevelString("off")
    model, rng = Model(path), np.random.default_rng(11)
    cases = [model.case(rng, beyond=k == STATES - 1) for k in range(STATES)]
    with open(out, "w", encoding="utf-8") as stream:
        json.dump({"mass": model.model.getTotalMass(model.state), "cases": cases}, stream)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
