"""Fourteen real robots against Pinocchio: the model read, and what the kernels compute from it."""

from pathlib import Path

import numpy as np
import pytest

import dynamics
from dynamics.model.checks.mass_check import mass_matrix

pinocchio = pytest.importorskip("pinocchio")
ROBOTS = sorted((Path(__file__).parents[2] / "support" / "robots").glob("*.urdf"))


class Oracle:
    """Pinocchio with every joint free: a coupling q_free = G q + g puts the mimic joints back."""

    def __init__(self, path, model, floating):
        joints = [body.joint for body in model.bodies]
        self.model = built(path, floating)
        self.data = self.model.createData()
        self.coupling = np.zeros((self.model.nv, model.n))
        self.offset = np.zeros(self.model.nv)
        self.unbounded = []
        for joint, coordinate in zip(joints, model.coordinate, strict=True):
            row = self.row_of(joint.name)
            self.coupling[row, coordinate], self.offset[row] = joint.ratio, joint.offset
        for joint in self.model.joints[1:]:
            if joint.nq == 2:  # Pinocchio holds an unbounded angle as its cosine and sine
                self.unbounded.append((joint.idx_q, joint.idx_v))

    def row_of(self, name):
        if name.startswith("floating_"):
            return ("x", "y", "z", "yaw", "pitch", "roll").index(name.removeprefix("floating_"))
        return self.model.joints[self.model.getJointId(name)].idx_v

    def configuration(self, q):
        free, found = self.coupling @ q + self.offset, np.zeros(self.model.nq)
        for joint in self.model.joints[1:]:
            angles = free[joint.idx_v : joint.idx_v + joint.nv]
            found[joint.idx_q : joint.idx_q + joint.nq] = (
                (np.cos(angles[0]), np.sin(angles[0])) if joint.nq != joint.nv else angles
            )
        return found

    def rnea(self, q, v, a):
        q, v, a = self.configuration(q), self.coupling @ v, self.coupling @ a
        return self.coupling.T @ pinocchio.rnea(self.model, self.data, q, v, a)

    def crba(self, q):
        upper = np.triu(pinocchio.crba(self.model, self.data, self.configuration(q)))
        return self.coupling.T @ (upper + np.triu(upper, 1).T) @ self.coupling


def built(path, floating):
    """Pinocchio's model; its free base made of the same three translations and three rotations."""
    if not floating:
        return pinocchio.buildModelFromUrdf(str(path))
    base = pinocchio.JointModelComposite(pinocchio.JointModelTranslation())
    base.addJoint(pinocchio.JointModelSphericalZYX())
    return pinocchio.buildModelFromUrdf(str(path), base)


@pytest.fixture(params=[False, True], ids=["fixed", "floating"], scope="module")
def floating(request):
    return request.param


LARGE = ("centauro", "g1", "human", "simple_humanoid")
CASES = [pytest.param(path, marks=[pytest.mark.long] * (path.stem in LARGE), id=path.stem) for path in ROBOTS]


@pytest.fixture(params=CASES, scope="module")
def robot(request, floating):
    model = dynamics.load_urdf(request.param, floating_base=floating)
    return model.with_rotors("none"), Oracle(request.param, model, floating)


def motions(model, seed):
    return np.random.default_rng(seed).uniform(-1.4, 1.4, (3, 4, model.n))


def assert_close(found, expected, relative):
    np.testing.assert_allclose(found, expected, rtol=0, atol=relative * np.abs(expected).max())


def test_the_numpy_mass_matrix_agrees_with_pinocchio(robot):
    model, oracle = robot
    for q in motions(model, 1)[0]:
        assert_close(mass_matrix(model, q), oracle.crba(q), 1e-12)


def test_rnea_agrees_with_pinocchio(robot):
    model, oracle = robot
    q, v, a = motions(model, 2)
    found = dynamics.rnea(model, q, v, a)
    for torque, *motion in zip(found, q, v, a, strict=True):
        assert_close(torque, oracle.rnea(*motion), 1e-11)


def test_the_derivative_of_torque_by_acceleration_agrees_with_the_mass_matrix_of_pinocchio(robot):
    model, oracle = robot
    q, v, a = motions(model, 3)
    found = dynamics.rnea_derivatives(model, q, v, a).dtau_da
    for matrix, q_i in zip(found, q, strict=True):
        assert_close(matrix, oracle.crba(q_i), 1e-11)
