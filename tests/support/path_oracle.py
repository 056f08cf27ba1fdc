"""Writes OpenSim's lengths and moment arms of muscles, and reactions of joints, at random poses, for tests.

    python path_oracle.py model.osim out.npz

Where a coordinate follows another one its speed stays zero, as assembling a pose leaves speeds as they are.
"""

import sys
from importlib import import_module

import numpy as np

opensim = import_module("opensim")  # an extra that type checkers need not have

POSES = 8
WIDEST = 1.0  # rad or m


def random_state(model, state, free, still, rng):
    """Set a random pose in the middle of the ranges, and speeds."""
    for coordinate in free:
        lower, upper = max(coordinate.getRangeMin(), -WIDEST), min(coordinate.getRangeMax(), WIDEST)
        coordinate.setValue(state, float(rng.uniform(lower, upper)), False)
        slow = still and "knee" in coordinate.getName()
        coordinate.setSpeedValue(state, 0.0 if slow else float(rng.uniform(-1.0, 1.0)))
    model.assemble(state)


def items(model_set):
    return [model_set.get(i) for i in range(model_set.getSize())]


def wrench(found):
    return [found.get(k).get(i) for k in (0, 1) for i in range(3)]


def main(path, out):
    opensim.Logger.setLevelString("off")
    model = opensim.Model(path)
    muscle_names = {muscle.getName() for muscle in items(model.getMuscles())}
    for force in items(model.updForceSet()):
        if force.getName() not in muscle_names:
            force.set_appliesForce(False)
    for coordinate in items(model.updCoordinateSet()):
        coordinate.set_locked(False)
    state = model.initSystem()
    muscles, joints = items(model.getMuscles()), items(model.getJointSet())
    coordinates = items(model.getCoordinateSet())
    free = [coordinate for coordinate in coordinates if not coordinate.isDependent(state)]
    for muscle in muscles:
        muscle.overrideActuation(state, True)
    rng, rows = np.random.default_rng(0), []
    for _ in range(POSES):
        random_state(model, state, free, len(free) < len(coordinates), rng)
        for muscle in muscles:
            muscle.setOverrideActuation(state, float(rng.uniform(0.0, 300.0)))
        model.realizeAcceleration(state)
        rows.append((
            [c.getValue(state) for c in free], [c.getSpeedValue(state) for c in free],
            [c.getAccelerationValue(state) for c in free], [m.getLength(state) for m in muscles],
            [[m.computeMomentArm(state, c) for c in free] for m in muscles],
            [m.getActuation(state) for m in muscles],
            [wrench(j.calcReactionOnChildExpressedInGround(state)) for j in joints],
        ))  # fmt: skip
    keys = ("q", "v", "a", "lengths", "arms", "tensions", "reactions")
    arrays = {key: np.array(column) for key, column in zip(keys, zip(*rows, strict=True), strict=True)}
    names = {"coordinates": free, "muscles": muscles, "joints": joints}
    np.savez(out, **arrays, **{key: [x.getName() for x in found] for key, found in names.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
