"""Standing up, lifting and jumping: the body is the skeleton's, and the motions obey momentum and energy."""

import numpy as np
import pytest

import dynamics
import trajopt
from problems.gallery.human import countermovement_jump, lift_box, sit_to_stand
from problems.human.body.model import skeleton
from problems.human.body.sagittal_body import posture, sagittal_body

G = 9.81


def solved(problem):
    solution = trajopt.solve(problem, progress="silent", refine=None, starts=1)
    assert solution.converged
    return solution


def values(solution, t, *names):
    found = solution.values([trajopt.Quantity(name) for name in names], t)
    return [found[name] for name in names]


def impulse(t, force):
    return np.trapezoid(force, t)


def test_the_body_has_the_mass_and_the_centre_of_the_skeleton_in_any_sagittal_posture():
    free, whole = sagittal_body(1.6, 60.0, free=True), skeleton(1.6, 60.0)
    angles = {"hip": 40.0, "shoulder": 70.0, "elbow": 30.0, "knee": 50.0, "ankle": 12.0}
    names = {"hip": "hip_SIDE_flex", "shoulder": "shoulder_SIDE_flex", "elbow": "elbow_SIDE_flex",
             "knee": "knee_SIDE_flex", "ankle": "ankle_SIDE_dorsi"}  # fmt: skip
    q = np.zeros(whole.n)
    for joint, degrees in angles.items():
        for side in "rl":
            q[whole.joint_names.index(names[joint].replace("SIDE", side))] = np.deg2rad(degrees)
    # the skeleton hangs on its pelvis: turn both so that the feet agree
    own = posture(free, **angles)
    foot = dynamics.forward_kinematics(whole, q, ["hindfoot_r"])
    R, p = foot.rotation[0], foot.position[0] * [1.0, 1.0, 0.0]
    ankle = dynamics.forward_kinematics(free, own, ["shank"]).position[0]
    expected = R.T @ (dynamics.centre_of_mass(whole, q) - p) + ankle
    found = dynamics.centre_of_mass(free, own)
    np.testing.assert_allclose(found[:2], expected[:2], atol=1e-12)
    assert free.total_mass == pytest.approx(60.0)


def test_strengths_are_those_of_both_sides():
    body, whole = sagittal_body(), skeleton()
    i, j = body.joint_names.index("knee"), whole.joint_names.index("knee_r_flex")
    assert body.limits.torque_lower[i] == pytest.approx(2.0 * whole.limits.torque_lower[j])
    assert body.limits.torque_upper[i] == pytest.approx(2.0 * whole.limits.torque_upper[j])


@pytest.fixture(scope="module")
def standing_up():
    return solved(sit_to_stand.build())


@pytest.mark.long
def test_feet_and_seat_carry_the_weight_in_the_mean(standing_up):
    t = np.linspace(0.0, standing_up.duration, 2001)
    (wrench,) = values(standing_up, t, "base_wrench")
    weight = standing_up.problem.dynamics.total_mass * G
    assert impulse(t, wrench[:, 4]) == pytest.approx(weight * t[-1], rel=1e-4)
    assert impulse(t, wrench[:, 3]) == pytest.approx(0.0, abs=1e-3 * weight)


@pytest.mark.long
def test_the_seat_carries_first_and_then_nothing_and_the_trunk_leans_forward(standing_up):
    t = np.linspace(0.0, standing_up.duration, 401)
    (seat,) = values(standing_up, t, "extra:seat")
    assert 0.3 < seat[0, 0] < 1.0
    assert np.abs(seat[-150:]).max() < 1e-9
    ankle, knee, hip = standing_up.q(t)[:, :3].T
    lean = np.rad2deg(ankle - knee + hip)  # of the trunk, forward of the vertical
    assert lean[0] == pytest.approx(0.0, abs=1e-6) and 20.0 < lean.max() < 60.0


@pytest.fixture(scope="module")
def lifting():
    return solved(lift_box.build())


@pytest.mark.long
def test_the_work_of_joints_is_the_gain_of_potential_energy(lifting):
    t = np.linspace(0.0, lifting.duration, 4001)
    work = np.trapezoid((lifting.tau(t) * lifting.v(t)).sum(axis=1), t)
    body = lifting.problem.dynamics
    gained = dynamics.potential_energy(body, lifting.q(t[[0, -1]]))
    assert work == pytest.approx(gained[1] - gained[0], rel=1e-5)
    hands = dynamics.forward_kinematics(body, lifting.q(t[[0, -1]]), ["hand"]).position[:, 0, :2]
    np.testing.assert_allclose(hands, [[0.45, 0.4], [0.35, 1.15]], atol=1e-6)


@pytest.mark.long
def test_a_heavier_box_takes_more_effort(lifting):
    assert solved(lift_box.build(box=20.0)).objective > lifting.objective


@pytest.fixture(scope="module")
def jump():
    return solved(countermovement_jump.build())


@pytest.mark.long
def test_the_jump_is_ballistic_after_the_impulse_of_the_ground(jump):
    body, T = jump.problem.dynamics, jump.duration
    t = np.linspace(0.0, T, 4001)
    push = sum(values(jump, t, "extra:heel", "extra:toe"))[:, 0] * body.total_mass * G
    speed = (impulse(t, push) - body.total_mass * G * T) / body.total_mass
    end = jump.q(T), jump.v(T)
    assert dynamics.momentum(body, *end)[4] / body.total_mass == pytest.approx(speed, rel=2e-3)
    risen = dynamics.centre_of_mass(body, end[0])[1] - dynamics.centre_of_mass(body, np.zeros(body.n))[1]
    assert jump.parameters["height of the jump"][0] == pytest.approx(risen + speed**2 / (2.0 * G), rel=5e-3)


@pytest.mark.long
def test_the_jump_goes_down_before_it_goes_up_and_ends_off_the_toes(jump):
    body = jump.problem.dynamics
    t = np.linspace(0.0, jump.duration, 401)
    height = dynamics.centre_of_mass(body, jump.q(t))[:, 1]
    assert height.min() < height[0] - 0.15 and height[-1] > height[0]
    knee = np.rad2deg(jump.q(t)[:, body.joint_names.index("knee")])
    assert 60.0 < knee.max() < 130.0
    assert 0.25 < jump.parameters["height of the jump"][0] < 0.6
