"""Every derivative of the dynamics against slopes of what it derives."""

import numpy as np
import pytest
from random_trees import random_state, random_tree, random_wrenches, relative_error
from slopes import STEP, both_ways, columns
from tiers import every

import dynamics

TOLERANCE = 1e-11
TREES = [(0, False), (1, False), (2, True), (3, True), (4, True), (5, False), (6, True), (8, True)]


@pytest.fixture(params=TREES, ids=lambda tree: f"{tree[0]}{'-rotors' if tree[1] else ''}")
def model(request):
    seed, rotors = request.param
    found = random_tree(seed, rotors=rotors)
    return found.with_rotors("armature") if seed == 6 else found


@pytest.fixture
def coupled():
    return random_tree(7, n=6, rotors=True, mimic=True)


@both_ways
@every("loaded", [False, True])
def test_first_derivatives_of_torques_and_wrenches_are_exact(model, loaded, slope):
    check_first_derivatives(model, random_wrenches(model) if loaded else None, slope)


@both_ways
def test_first_derivatives_are_exact_when_joints_mimic_each_other(coupled, slope):
    check_first_derivatives(coupled, random_wrenches(coupled), slope)


def check_first_derivatives(model, W, slope):
    state = random_state(model)
    tau = dynamics.rnea_derivatives(model, *state, W)
    wrench = dynamics.joint_wrench_derivatives(model, *state, external=W)
    base = dynamics.base_wrench_derivatives(model, *state, W)
    assert relative_error(tau.tau, dynamics.rnea(model, *state, W)) < 1e-12
    assert relative_error(wrench.wrench, dynamics.joint_wrenches(model, *state, W)) < 1e-12
    assert relative_error(base.wrench, dynamics.base_wrench(model, *state, W)) < 1e-12
    found = {
        "tau": (tau.dtau_dq, tau.dtau_dv, tau.dtau_da),
        "wrench": (wrench.dq, wrench.dv, wrench.da),
        "base": (base.dq, base.dv, base.da),
    }
    functions = {"tau": dynamics.rnea, "wrench": dynamics.joint_wrenches, "base": dynamics.base_wrench}
    for name, parts in found.items():
        for which, part in enumerate(parts):
            expected = columns(slope, lambda q, v, a, f=functions[name]: f(model, q, v, a, W), state, which)
            assert relative_error(part, expected) < TOLERANCE, (name, which)


def test_wrenches_of_chosen_joints_are_those_of_all_in_the_order_asked_for(model):
    state = random_state(model)
    every = dynamics.joint_wrench_derivatives(model, *state)
    chosen = dynamics.joint_wrench_derivatives(model, *state, joints=("joint2", "joint0"))
    np.testing.assert_array_equal(chosen.wrench, every.wrench[[2, 0]])
    np.testing.assert_array_equal(chosen.dq, every.dq[[2, 0]])


@both_ways
@every("outputs", ["all", "tau", "wrenches"], fast=1)
def test_contracted_second_derivatives_are_exact(model, outputs, slope):
    check_second_derivatives(model, outputs, slope)


@both_ways
def test_contracted_second_derivatives_are_exact_when_joints_mimic_each_other(coupled, slope):
    check_second_derivatives(coupled, "all", slope)


def check_second_derivatives(model, outputs, slope):
    *state, adjoint = random_state(model, count=4)
    W = random_wrenches(model, seed=1)
    adjoint = np.zeros(model.n) if outputs == "wrenches" else adjoint
    eta = np.zeros((model.link_count, 6)) if outputs == "tau" else random_wrenches(model, seed=2)
    y = random_wrenches(model, seed=3)[0] if outputs == "all" else np.zeros(6)
    given = {
        "tau": {},
        "wrenches": {"wrench_adjoint": eta},
        "all": {"wrench_adjoint": eta, "base_adjoint": y},
    }
    second = dynamics.rnea_second_derivatives(model, *state, adjoint, external=W, **given[outputs])

    def gradient(which):
        def contracted(q, v, a):
            tau = dynamics.rnea_derivatives(model, q, v, a, W)
            wrench = dynamics.joint_wrench_derivatives(model, q, v, a, external=W)
            base = dynamics.base_wrench_derivatives(model, q, v, a, W)
            by = (tau.dtau_dq, tau.dtau_dv, tau.dtau_da)[which]
            total = np.einsum("i,...ij->...j", adjoint, by)
            total = total + np.einsum("ir,...irj->...j", eta, getattr(wrench, ("dq", "dv", "da")[which]))
            return total + np.einsum("r,...rj->...j", y, getattr(base, ("dq", "dv", "da")[which]))

        return contracted

    for name, (first, other) in {"qq": (0, 0), "qv": (0, 1), "qa": (0, 2), "vv": (1, 1)}.items():
        expected = columns(slope, gradient(first), state, other, 1.0 if other else 0.04)
        assert relative_error(getattr(second, name), expected) < TOLERANCE, name
    assert relative_error(columns(slope, gradient(1), state, 2), 0.0) == 0.0
    assert relative_error(columns(slope, gradient(2), state, 2), 0.0) == 0.0


def test_no_nodes_give_no_derivatives_of_forward_dynamics_under_wrenches(model, coupled):
    for each in (model, coupled):
        found = dynamics.aba_derivatives(each, *np.zeros((3, 0, each.n)), np.zeros((0, each.link_count, 6)))
        assert found.a.shape == (0, each.n)
        assert found.da_dq.shape == found.da_dtau.shape == (0, each.n, each.n)


def test_no_joints_have_no_wrenches(model):
    found = dynamics.joint_wrench_derivatives(model, *random_state(model, 3), joints=())
    assert found.wrench.shape == (3, 0, 6)
    assert found.dq.shape == found.da.shape == (3, 0, 6, model.n)


@both_ways
def test_derivatives_of_forward_dynamics_are_exact(model, slope):
    check_forward_dynamics(model, slope)


@both_ways
def test_derivatives_of_forward_dynamics_are_exact_when_joints_mimic_each_other(coupled, slope):
    check_forward_dynamics(coupled, slope)


def check_forward_dynamics(model, slope):
    state, W = random_state(model), random_wrenches(model)
    found = dynamics.aba_derivatives(model, *state, W)
    for which, part in enumerate((found.da_dq, found.da_dv, found.da_dtau)):
        expected = columns(slope, lambda q, v, tau: dynamics.aba(model, q, v, tau, W), state, which)
        assert relative_error(part, expected) < TOLERANCE


def test_forces_are_linear_in_external_wrenches_with_the_slopes_given(model):
    q, v, a = random_state(model)
    W, found = random_wrenches(model), dynamics.external_derivatives(model, q)
    for function, slope in (
        (dynamics.rnea, found.dtau),
        (dynamics.joint_wrenches, found.dwrench),
        (dynamics.base_wrench, found.dbase),
    ):
        change = function(model, q, v, a, W) - function(model, q, v, a)
        assert relative_error(np.einsum("...lr,lr->...", slope, W), change) < TOLERANCE
    one = dynamics.external_derivatives(model, q, "link1").dtau
    np.testing.assert_array_equal(one[:, 0], found.dtau[:, 1])


@both_ways
def test_frame_jacobian_is_the_slope_of_the_pose(model, slope):
    (q,) = random_state(model, count=1)
    pose = dynamics.forward_kinematics(model, q, "tool")
    rate = columns(slope, lambda q: dynamics.forward_kinematics(model, q, "tool").position, (q,), 0)[0]
    jacobian = dynamics.frame_jacobian(model, q, "tool")
    assert relative_error(jacobian[3:], rate) < TOLERANCE
    turning = columns(slope, lambda q: dynamics.forward_kinematics(model, q, "tool").rotation, (q,), 0)[0]
    hats = np.einsum("abk,cb->ack", turning, pose.rotation[0])  # omega^ per unit rate
    angular = np.stack([hats[2, 1], hats[0, 2], hats[1, 0]])
    assert relative_error(jacobian[:3], angular) < TOLERANCE


def test_taylor_remainder_of_the_contracted_torque_is_of_third_order():
    model = random_tree(2, rotors=True)
    q, v, a, adjoint, dq, dv, da = random_state(model, count=7)
    first = dynamics.rnea_derivatives(model, q, v, a)
    second = dynamics.rnea_second_derivatives(model, q, v, a, adjoint)
    slope = adjoint @ (first.dtau_dq @ dq + first.dtau_dv @ dv + first.dtau_da @ da)
    bend = dq @ second.qq @ dq / 2 + dq @ second.qv @ dv + dq @ second.qa @ da + dv @ second.vv @ dv / 2
    steps = np.array([1e-2, 5e-3, 2.5e-3])

    def remainder(h):
        moved = adjoint @ dynamics.rnea(model, q + h * dq, v + h * dv, a + h * da)
        return abs(moved - adjoint @ first.tau - h * slope - h**2 * bend)

    order = np.polyfit(np.log(steps), np.log([remainder(h) for h in steps]), 1)[0]
    assert order == pytest.approx(3.0, abs=0.1)


@pytest.mark.long
def test_complex_and_real_kernels_agree():
    model = random_tree(2, rotors=True)
    q, v, a = random_state(model, 9)
    real = dynamics.rnea_derivatives(model, q, v, a).dtau_dq
    assert relative_error(dynamics.rnea_derivatives(model, q + 0j * STEP, v, a).dtau_dq.real, real) < 1e-12
