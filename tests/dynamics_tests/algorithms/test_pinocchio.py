"""The kernels against Pinocchio on seeded random trees: an implementation that shares nothing with ours."""

import numpy as np
import pytest
from pinocchio_trees import pinocchio_model
from random_trees import random_state, random_tree, random_wrenches, relative_error

import dynamics

pinocchio = pytest.importorskip("pinocchio")
TOLERANCE = 1e-10


class Oracle:
    def __init__(self, model):
        self.ours, self.model = model, pinocchio_model(model)
        self.data = self.model.createData()
        rows = [self.model.joints[self.model.getJointId(name)].idx_v for name in model.joint_names]
        self.rows = np.array(rows)
        self.square = np.ix_(self.rows, self.rows)

    def theirs(self, *vectors):
        for vector in vectors:
            moved = np.empty_like(vector)
            moved[self.rows] = vector
            yield moved

    def forces(self, q, W):
        """External wrenches as Pinocchio wants them: in each joint's frame."""
        poses, found = dynamics.forward_kinematics(self.ours, q), pinocchio.StdVec_Force()
        found.extend([pinocchio.Force.Zero() for _ in range(self.model.njoints)])
        for i, name in enumerate(body.joint.name for body in self.ours.bodies):
            world = pinocchio.Force(W[i, 3:], W[i, :3])
            pose = pinocchio.SE3(poses.rotation[i], poses.position[i])
            found[self.model.getJointId(name)] = pose.actInv(world)
        return found


@pytest.fixture(params=range(10))
def oracle(request):
    return Oracle(random_tree(request.param))


def test_inverse_and_forward_dynamics_with_external_wrenches(oracle):
    q, v, a = random_state(oracle.ours)
    W = random_wrenches(oracle.ours)
    theirs, forces = tuple(oracle.theirs(q, v, a)), oracle.forces(q, W)
    expected = pinocchio.rnea(oracle.model, oracle.data, *theirs, forces)[oracle.rows]
    assert relative_error(dynamics.rnea(oracle.ours, q, v, a, W), expected) < TOLERANCE
    expected = pinocchio.aba(oracle.model, oracle.data, *theirs, forces)[oracle.rows]
    assert relative_error(dynamics.aba(oracle.ours, q, v, a, W), expected) < TOLERANCE


def test_wrench_transmitted_by_every_joint(oracle):
    q, v, a = random_state(oracle.ours)
    pinocchio.rnea(oracle.model, oracle.data, *oracle.theirs(q, v, a))
    found = dynamics.joint_wrenches(oracle.ours, q, v, a)
    for i, name in enumerate(oracle.ours.joint_names):
        force = oracle.data.f[oracle.model.getJointId(name)]
        assert relative_error(found[i], np.concatenate([force.angular, force.linear])) < TOLERANCE


def test_mass_and_coriolis_matrix(oracle):
    q, v, _ = random_state(oracle.ours)
    at, rates = oracle.theirs(q, v)
    upper = np.triu(pinocchio.crba(oracle.model, oracle.data, at))
    found = dynamics.coriolis_matrix(oracle.ours, q, v)
    mass = (upper + np.triu(upper, 1).T)[oracle.square]
    assert relative_error(dynamics.crba(oracle.ours, q), mass) < TOLERANCE
    # Theirs takes another body factor in general; C v and C + C' are common to all.
    theirs = pinocchio.computeCoriolisMatrix(oracle.model, oracle.data, at, rates)[oracle.square]
    assert relative_error(found.C @ v, theirs @ v) < TOLERANCE
    assert relative_error(found.Mdot, theirs + theirs.T) < TOLERANCE


def test_first_derivatives_of_inverse_and_forward_dynamics(oracle):
    q, v, a = random_state(oracle.ours)
    theirs = tuple(oracle.theirs(q, v, a))
    by_q, by_v, by_a = pinocchio.computeRNEADerivatives(oracle.model, oracle.data, *theirs)
    found = dynamics.rnea_derivatives(oracle.ours, q, v, a)
    assert relative_error(found.dtau_dq, by_q[oracle.square]) < TOLERANCE
    assert relative_error(found.dtau_dv, by_v[oracle.square]) < TOLERANCE
    by_a = np.triu(by_a) + np.triu(by_a, 1).T
    assert relative_error(found.dtau_da, by_a[oracle.square]) < TOLERANCE
    pinocchio.computeABADerivatives(oracle.model, oracle.data, *theirs)
    ours = dynamics.aba_derivatives(oracle.ours, q, v, a)
    assert relative_error(ours.da_dq, oracle.data.ddq_dq[oracle.square]) < TOLERANCE
    assert relative_error(ours.da_dv, oracle.data.ddq_dv[oracle.square]) < TOLERANCE


def test_centre_of_mass_momentum_and_energy(oracle):
    q, v, _ = random_state(oracle.ours)
    at, rates = oracle.theirs(q, v)
    centre = pinocchio.centerOfMass(oracle.model, oracle.data, at)
    assert relative_error(dynamics.centre_of_mass(oracle.ours, q), centre) < TOLERANCE
    momentum = pinocchio.computeCentroidalMomentum(oracle.model, oracle.data, at, rates)
    expected = np.concatenate([momentum.angular + np.cross(centre, momentum.linear), momentum.linear])
    assert relative_error(dynamics.momentum(oracle.ours, q, v), expected) < TOLERANCE
    kinetic = pinocchio.computeKineticEnergy(oracle.model, oracle.data, at, rates)
    assert dynamics.kinetic_energy(oracle.ours, q, v) == pytest.approx(kinetic, rel=TOLERANCE)
    potential = pinocchio.computePotentialEnergy(oracle.model, oracle.data, at)
    assert dynamics.potential_energy(oracle.ours, q) == pytest.approx(potential, rel=TOLERANCE)
