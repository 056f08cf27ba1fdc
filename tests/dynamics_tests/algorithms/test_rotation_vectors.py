"""Robots with free and ball joints against Pinocchio, whose joints have quaternions.

Pinocchio computes in the tangent space, with velocities of the base in its own axes. Torques and derivatives
in p follow from its own by the chart's closed form (Rodrigues), written out here and differentiated by
complex steps, so that nothing of the chart is shared with the package.
"""

from pathlib import Path

import numpy as np
import pytest
from random_trees import (
    floating_tree,
    random_rotation,
    random_state,
    relative_error,
)

import dynamics

URDFS = sorted((Path(__file__).parents[2] / "support" / "robots").glob("*.urdf"))
LARGE = ("centauro", "g1", "human", "simple_humanoid")
ROBOTS = [pytest.param(path, marks=[pytest.mark.long] * (path.stem in LARGE), id=path.stem) for path in URDFS]
STEP = 1e-30


# --- the chart in closed form -----------------------------------------------------------------------------


def hat(p):
    zero = np.zeros_like(p[..., 0])
    rows = [[zero, -p[..., 2], p[..., 1]], [p[..., 2], zero, -p[..., 0]], [-p[..., 1], p[..., 0], zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def rotation(p):
    """Exp(p) by Rodrigues' formula; p is not zero here."""
    t = np.sqrt((p * p).sum(-1))[..., None, None]
    return np.eye(3) + np.sin(t) / t * hat(p) + (1 - np.cos(t)) / t**2 * hat(p) @ hat(p)


def jacobian(p):
    """The right Jacobian, omega = J p' in axes of the body."""
    t = np.sqrt((p * p).sum(-1))[..., None, None]
    return np.eye(3) - (1 - np.cos(t)) / t**2 * hat(p) + (t - np.sin(t)) / t**3 * hat(p) @ hat(p)


def jacobian_rate(p, v):
    """Rate of `jacobian` where p moves by v."""
    t = np.sqrt((p * p).sum(-1))[..., None, None]
    first = np.sin(t) / t**2 - 2.0 * (1 - np.cos(t)) / t**3
    second = (1 - np.cos(t)) / t**3 - 3.0 * (t - np.sin(t)) / t**4
    grown, P, V = (p * v).sum(-1)[..., None, None] / t, hat(p), hat(v)
    bent = second * grown * P @ P + (t - np.sin(t)) / t**3 * (P @ V + V @ P)
    return bent - first * grown * P - (1 - np.cos(t)) / t**2 * V


def columns(function, at):
    """d function / d at, the direction last, by complex steps."""
    return np.stack([function(at + 1j * STEP * e).imag / STEP for e in np.eye(len(at))], axis=-1)


# --- Pinocchio --------------------------------------------------------------------------------------------


class Peer:
    """A robot of a URDF with Pinocchio's free flyer, at q = (x, p, joints) about a centre."""

    def __init__(self, path, model, pinocchio):
        self.pinocchio = pinocchio
        self.model = pinocchio.buildModelFromUrdf(str(path), pinocchio.JointModelFreeFlyer())
        self.data = self.model.createData()
        joints = [self.model.joints[self.model.getJointId(name)].idx_v for name in model.joint_names[6:]]
        self.rows = np.array([*range(6), *joints])  # theirs of our coordinates

    def theirs(self, vector):
        found = np.empty_like(vector)
        found[self.rows] = vector
        return found

    def square(self, matrix):
        """A matrix of theirs in the order of our coordinates."""
        return np.array(matrix)[np.ix_(self.rows, self.rows)]

    def mass_matrix(self, at):
        upper = np.triu(self.pinocchio.crba(self.model, self.data, at))
        return self.square(upper + np.triu(upper, 1).T)

    def rnea(self, at, v, a):
        found = self.pinocchio.rnea(self.model, self.data, at, self.theirs(v), self.theirs(a))
        return found[self.rows]

    def configuration(self, centre, q):
        """Its configuration with unbounded angles as cosine and sine."""
        found = np.zeros(self.model.nq)
        R = centre @ rotation(q[3:6])
        found[:7] = self.pinocchio.SE3ToXYZQUAT(self.pinocchio.SE3(R, q[:3]))
        theirs = self.theirs(q)
        for joint in self.model.joints[2:]:
            angle = theirs[joint.idx_v]
            found[joint.idx_q : joint.idx_q + joint.nq] = (
                (np.cos(angle), np.sin(angle)) if joint.nq == 2 else (angle,)
            )
        return found


def tangent(centre, q, v):
    """Velocity of the free flyer: both parts in axes of the body."""
    R, found = centre @ rotation(q[3:6]), np.array(v, dtype=np.result_type(q, v))
    found[:3], found[3:6] = R.T @ v[:3], jacobian(q[3:6]) @ v[3:6]
    return found


def tangent_map(centre, q):
    """T with tangent = T v, (n, n)."""
    return np.stack([tangent(centre, q, column) for column in np.eye(len(q))], axis=1)


def tangent_rate(centre, q, v, a):
    """Rate of `tangent` along the motion."""
    p, rate, found = q[3:6], v[3:6], tangent(centre, q, a)
    found = found.astype(np.result_type(q, v, a))
    omega, linear = tangent(centre, q, v)[3:6], tangent(centre, q, v)[:3]
    found[:3] -= np.cross(omega, linear)
    found[3:6] += jacobian_rate(p, rate) @ rate
    return found


@pytest.fixture(params=ROBOTS, scope="module")
def case(request):
    pinocchio = pytest.importorskip("pinocchio")
    model = dynamics.load_urdf(request.param, floating_base="free").with_rotors("none")
    if any(joint.mimics for joint in model.joints):
        pytest.skip("Pinocchio's model frees mimic joints")
    centre = random_rotation(np.random.default_rng(7))
    model = model.with_centres({model.rotation_joints[0].link: centre})
    peer = Peer(request.param, model, pinocchio)
    q, v, a = random_state(model, 3)
    return model, centre, peer, q, v, a


def test_torques_of_floating_robots_agree_with_pinocchio(case):
    model, centre, peer, q, v, a = case
    tau, M = dynamics.rnea(model, q, v, a), dynamics.crba(model, q)
    for k in range(len(q)):
        T, at = tangent_map(centre, q[k]), peer.configuration(centre, q[k])
        moving = tangent(centre, q[k], v[k]), tangent_rate(centre, q[k], v[k], a[k])
        assert relative_error(tau[k], T.T @ peer.rnea(at, *moving)) < 1e-12
        assert relative_error(M[k], T.T @ peer.mass_matrix(at) @ T) < 1e-12


def test_forward_dynamics_of_floating_robots_agrees_with_pinocchio(case):
    model, centre, peer, q, v, tau = case
    found = dynamics.aba(model, q, v, tau)
    for k in range(len(q)):
        T, at = tangent_map(centre, q[k]), peer.configuration(centre, q[k])
        forces, moving = (peer.theirs(x) for x in (np.linalg.solve(T.T, tau[k]), tangent(centre, q[k], v[k])))
        theirs = peer.pinocchio.aba(peer.model, peer.data, at, moving, forces)
        rest = theirs[peer.rows] - tangent_rate(centre, q[k], v[k], np.zeros(model.n))
        expected, M = np.linalg.solve(T, rest), T.T @ peer.mass_matrix(at) @ T
        assert relative_error(M @ found[k], M @ expected) < 1e-11
        assert relative_error(found[k], expected) < 1e-12 * np.linalg.cond(M)


def test_derivatives_of_floating_robots_agree_with_pinocchio(case):
    """The chain rule through T of tau = T' tau_tangent(q, T v, d(T v)/dt)."""
    model, centre, peer, q, v, a = case
    found = dynamics.rnea_derivatives(model, q, v, a)
    accelerated = dynamics.aba_derivatives(model, q, v, found.tau)
    q, v, a = q[0], v[0], a[0]
    at, T = peer.configuration(centre, q), tangent_map(centre, q)
    moving = tangent(centre, q, v), tangent_rate(centre, q, v, a)
    derivatives = peer.pinocchio.computeRNEADerivatives(
        peer.model, peer.data, at, *(peer.theirs(x) for x in moving)
    )
    by_q, by_v = (peer.square(part) for part in derivatives[:2])
    by_a, theirs = peer.mass_matrix(at), peer.rnea(at, *moving)
    dtau_dq = T.T @ (
        by_q @ T
        + by_v @ columns(lambda x: tangent(centre, x, v), q)
        + by_a @ columns(lambda x: tangent_rate(centre, x, v, a), q)
    ) + columns(lambda x: tangent_map(centre, x).T @ theirs, q)
    dtau_dv = T.T @ (by_v @ T + by_a @ columns(lambda x: tangent_rate(centre, q, x, a), v))
    M = T.T @ by_a @ T
    assert relative_error(found.dtau_dq[0], dtau_dq) < 1e-12
    assert relative_error(found.dtau_dv[0], dtau_dv) < 1e-12
    assert relative_error(found.dtau_da[0], M) < 1e-12
    assert relative_error(M @ accelerated.da_dq[0], -dtau_dq) < 1e-11
    assert relative_error(M @ accelerated.da_dv[0], -dtau_dv) < 1e-11


def test_kinematics_of_floating_robots_agree_with_pinocchio(case):
    model, centre, peer, q, v, _ = case
    poses, velocities = dynamics.forward_kinematics(model, q), dynamics.momentum(model, q, v)
    link = model.link_index(model.rotation_joints[0].link)
    for k in range(len(q)):
        at, moving = peer.configuration(centre, q[k]), peer.theirs(tangent(centre, q[k], v[k]))
        peer.pinocchio.forwardKinematics(peer.model, peer.data, at, moving)
        for i, name in enumerate(model.joint_names[6:], start=link + 1):
            theirs = peer.data.oMi[peer.model.getJointId(name)]
            np.testing.assert_allclose(poses.rotation[k, i], theirs.rotation, atol=1e-12)
            np.testing.assert_allclose(poses.position[k, i], theirs.translation, atol=1e-12)
        theirs = peer.pinocchio.computeCentroidalMomentum(peer.model, peer.data, at, moving)
        assert relative_error(velocities[k, 3:], theirs.linear) < 1e-12


# --- ball joints inside a tree ------------------------------------------------------------------------------


def test_a_ball_joint_inside_a_tree_agrees_with_pinocchio():
    """Pinocchio's spherical joint has unit quaternions and angular velocities in axes of the link."""
    pinocchio = pytest.importorskip("pinocchio")
    for seed in range(5):
        model = floating_tree(seed, 4)
        peer, order = spherical_peer(pinocchio, model)
        data = peer.createData()
        q, v, a = (part[0] for part in random_state(model, 1, seed=seed))
        at, T, rate = np.zeros(peer.nq), np.zeros((peer.nv, model.n)), np.zeros(peer.nv)
        turned = {joint.first_link: joint for joint in model.rotation_joints}
        for i, index in order.items():
            joint = peer.joints[index]
            if i in turned:
                here = turned[i].coordinates
                R, J = turned[i].centre @ rotation(q[here]), jacobian(q[here])
                at[joint.idx_q : joint.idx_q + 4] = pinocchio.Quaternion(R).coeffs()
                T[joint.idx_v : joint.idx_v + 3, here] = J
                moved = jacobian(q[here] + 1j * STEP * v[here]).imag / STEP
                rate[joint.idx_v : joint.idx_v + 3] = moved @ v[here]
                continue
            place = int(model.coordinate[i])
            at[joint.idx_q], T[joint.idx_v, place] = q[place], 1.0
        tau = pinocchio.rnea(peer, data, at, T @ v, T @ a + rate)
        assert relative_error(dynamics.rnea(model, q, v, a), T.T @ tau) < 1e-12


def spherical_peer(pinocchio, model):
    """The robot in Pinocchio with spherical joints, and its joint of every link that starts one."""
    found = pinocchio.Model()
    found.gravity = pinocchio.Motion(model.gravity, np.zeros(3))
    turned = {joint.first_link for joint in model.rotation_joints}
    index, order = {-1: 0}, {}
    for i in depth_first(model, -1):
        body = model.bodies[i]
        above = index[int(model.parent[i])]
        if body.joint.kind == "rotation_vector" and i not in turned:
            index[i] = above
        else:
            kinds = {"revolute": "RevoluteUnaligned", "prismatic": "PrismaticUnaligned"}
            made = pinocchio.JointModelSpherical()
            if i not in turned:
                made = getattr(pinocchio, f"JointModel{kinds[body.joint.kind]}")(body.joint.axis)
            placement = pinocchio.SE3(body.joint.rotation, body.joint.position)
            index[i] = order[i] = found.addJoint(above, made, placement, body.joint.name)
        inertia = pinocchio.Inertia(body.mass, body.centre_of_mass, body.inertia)
        found.appendBodyToJoint(index[i], inertia, pinocchio.SE3.Identity())
    return found, order


def depth_first(model, parent):
    for i in np.flatnonzero(model.parent == parent):
        yield int(i)
        yield from depth_first(model, int(i))
