"""Two arms with one box: loops stay closed, and the tools' forces are those that the box needs."""

import numpy as np
import pytest
from library_solutions import built_at_defaults, check_script_at_defaults, once_in_a_run
from numpy.testing import assert_allclose

import dynamics
import trajopt

pytestmark = pytest.mark.long
MASS, SIZE, PRESS = 6.0, np.array([0.3, 0.2, 0.2]), 60.0
SIDES = ("left", "right")


@pytest.fixture(scope="module")
def lifted():
    """From the first start, a ninth of the time of a solve by default, which test_defaults has."""

    def solve():
        return trajopt.solve(built_at_defaults("two_arms"), starts=1, progress="silent")

    return once_in_a_run("two_arms from its first start", solve)


def collocation_times(solution):
    """Collocation times inside intervals: at their ends accelerations and forces may jump."""
    nodes = solution.problem.trajectory.nodes
    inside = ~np.isclose(nodes.s[:, None], nodes.s[nodes.weight == 0.0]).any(axis=1)
    return nodes.s[inside] * solution.duration


def orientation(solution, t):
    return solution.value(trajopt.Quantity("orientation:box"), t).reshape(-1, 3, 3)


def momentum(solution, t, step=1e-4):
    """Angular momentum about the centre of mass, world axes, by the rotation matrices alone, (k, 3)."""
    points = np.array([-2.0, -1.0, 1.0, 2.0])
    weights = np.array([1.0, -8.0, 8.0, -1.0]) / 12.0
    R, inertia = orientation(solution, t), MASS / 12.0 * np.diag(np.sum(SIZE**2) - SIZE**2)
    rate = sum(w * orientation(solution, t + p * step) for p, w in zip(points, weights, strict=True)) / step
    spin = rate @ R.transpose(0, 2, 1)
    omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
    return np.einsum("kij,kj->ki", R @ inertia @ R.transpose(0, 2, 1), omega)


def grasps(solution):
    return [solution.asked.closures[side] for side in SIDES]


def test_the_motion_passes_and_the_loops_stay_closed(lifted):
    report = lifted.verify()
    assert lifted.converged and report.verdict == "PASS", report.reason
    t = np.linspace(0.0, lifted.duration, 5001)
    assert check_script_at_defaults(lifted)
    for grasp in grasps(lifted):
        assert grasp.left_out == ()
        assert np.abs(lifted.value(grasp.misfit, t)).max() < 1e-6


def test_the_forces_of_both_tools_accelerate_the_box(lifted):
    t = collocation_times(lifted)
    forces = [lifted.value(grasp.force, t) for grasp in grasps(lifted)]
    expected = MASS * (lifted.a(t)[:, 12:15] + [0.0, 0.0, 9.81])
    assert_allclose(sum(forces), expected, rtol=0.0, atol=1e-6 * np.abs(forces).max())


def test_their_moments_turn_it(lifted):
    t, step = collocation_times(lifted)[:-1], 1e-4
    place, total = lifted.value(trajopt.position("box"), t), 0.0
    for side, grasp in zip(SIDES, grasps(lifted), strict=True):
        arm = lifted.value(trajopt.position(f"{side}_grip"), t) - place
        total = total + np.cross(arm, lifted.value(grasp.force, t)) + lifted.value(grasp.moment, t)
    later, earlier = (momentum(lifted, t + sign * step) for sign in (1.0, -1.0))
    assert_allclose(total, (later - earlier) / (2.0 * step), rtol=0.0, atol=1e-5)


def test_the_motors_give_the_torques_of_inverse_dynamics_under_the_tools_forces(lifted):
    robot, t = lifted.problem.dynamics, np.linspace(0.0, lifted.duration, 101)
    external = np.zeros((t.size, robot.link_count, 6))
    for side, grasp in zip(SIDES, grasps(lifted), strict=True):
        place, force = lifted.value(trajopt.position(f"{side}_grip"), t), lifted.value(grasp.force, t)
        wrench = np.hstack([np.cross(place, force) + lifted.value(grasp.moment, t), force])
        external[:, robot.link_index("box")] += wrench
        external[:, robot.link_index(f"{side}_wrist_3_link")] -= wrench
    torques = dynamics.rnea(robot, lifted.q(t), lifted.v(t), lifted.a(t), external)
    assert_allclose(lifted.tau(t), torques, atol=1e-9)


def test_the_tools_press_and_the_box_goes_from_place_to_place(lifted):
    t = np.linspace(0.0, lifted.duration, 2001)
    for grasp in grasps(lifted):
        assert lifted.value(grasp.force_in_a, t)[:, 2].min() > PRESS * (1.0 - 1e-3)
    ends = lifted.q([0.0, lifted.duration])[:, 12:]
    assert_allclose(ends, [[0, 0, 0.2, 0, 0, 0], [0, 0.15, 0.5, 0.4, 0, 0]], atol=1e-9)
    assert_allclose(lifted.v([0.0, lifted.duration]), 0.0, atol=1e-7)
