"""Coupled robots: physics that holds for any of them, names and limits, use in a problem, and bad input."""

import numpy as np
import pytest
from random_trees import coupled_tree, random_tree

import dynamics
import trajopt
from dynamics.couplings.joint_function import fitted_cubics, polynomial

RNG = np.random.default_rng(8)


@pytest.fixture(params=[4, 9, 12])
def model(request):
    return coupled_tree(request.param)


def test_power_is_the_rate_of_the_energy(model):
    q, v, a = 0.4 * RNG.normal(size=(3, model.n))
    h = 1e-4

    def energy(t):
        s, rate = model.tree_motion(q + v * t + 0.5 * a * t * t, v + a * t)
        return dynamics.kinetic_energy(model.tree, s, rate) + dynamics.potential_energy(model.tree, s)

    rate = (8.0 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12.0 * h)
    power = model.inverse_dynamics(q, v, a) @ v
    assert power == pytest.approx(rate, rel=1e-6, abs=1e-6 * np.abs(model.mass_matrix(q)).max())


def test_forward_dynamics_inverts_inverse_dynamics(model):
    q, v, a = 0.4 * RNG.normal(size=(3, 5, model.n))
    tau = model.inverse_dynamics(q, v, a)
    found = model.forward_dynamics(q, v, tau)
    # M may be nearly singular where a coordinate has no effect (f' = 0): the torques are what must agree
    scale = np.abs(tau).max() + 1.0
    np.testing.assert_allclose(model.inverse_dynamics(q, v, found), tau, rtol=0.0, atol=1e-9 * scale)


def test_straight_lines_are_mimic_joints():
    tree = random_tree(6, n=5)
    line = dynamics.Follower("joint0", polynomial([0.3, -0.7]))
    coupled, mimic = dynamics.CoupledModel(tree, {"joint4": line}), random_tree(6, n=5, mimic=True)
    assert coupled.joint_names == mimic.joint_names
    q, v, a = RNG.normal(size=(3, 7, coupled.n))
    np.testing.assert_allclose(
        coupled.inverse_dynamics(q, v, a), dynamics.rnea(mimic, q, v, a), rtol=0.0, atol=1e-11
    )
    np.testing.assert_allclose(coupled.mass_matrix(q), dynamics.crba(mimic, q), rtol=0.0, atol=1e-11)


def test_names_limits_and_kinds_are_those_of_coordinates():
    limits = dynamics.JointLimits(-1.0, 2.0, 3.0, -40.0, 50.0)
    tree = coupled_tree(4).tree
    first, second, *_ = tree.joint_names
    robot = dynamics.CoupledModel(
        tree, {first: dynamics.Follower("crank", polynomial([0.0, 2.0]))}, {"crank": limits}
    )
    assert robot.joint_names == ("crank", *tree.joint_names[1:])
    assert (robot.limits.q_lower[0], robot.limits.q_upper[0], robot.limits.velocity[0]) == (-1.0, 2.0, 3.0)
    assert (robot.limits.torque_lower[0], robot.limits.torque_upper[0]) == (-40.0, 50.0)
    assert robot.joints[0].name == "crank"
    assert robot.joints[0].kind == tree.bodies[0].joint.kind
    assert robot.joints[1].name == second


def test_slopes_of_torques_jump_at_points_of_splines_unless_these_are_smoothed():
    x = np.array([-1.5, -0.8, -0.2, 0.4, 1.1, 1.7])
    line = dynamics.Follower("joint0", fitted_cubics(x, 0.3 * np.cos(2.0 * x)))
    robot = dynamics.CoupledModel(random_tree(6, n=5), {"joint4": line})
    q, v, a = 0.5 * RNG.normal(size=(3, robot.n))

    def jump(of, h):
        """Change of the slopes of torques by the coordinate across a point"""
        before, at, behind = (of.inverse_dynamics(np.array([0.4 + k * h, *q[1:]]), v, a) for k in (-1, 0, 1))
        return np.abs((behind - 2.0 * at + before) / h).max()

    assert jump(robot, 1e-4) == pytest.approx(jump(robot, 1e-3), rel=0.1)
    assert jump(robot.smoothed(), 1e-4) == pytest.approx(0.1 * jump(robot.smoothed(), 1e-3), rel=0.1)
    near = robot.smoothed().inverse_dynamics(q, v, a) - robot.inverse_dynamics(q, v, a)
    assert np.abs(near).max() < 0.05 * np.abs(robot.inverse_dynamics(q, v, a)).max()


@pytest.mark.long
def test_an_optimal_motion_of_a_crank_gains_the_energy_that_its_torque_gives():
    """A bar lifts a weight by .1 q + .2 q^2, from rest to rest: work = gain of m g h of both, by hand."""
    bar = dynamics.Body("bar", dynamics.Joint("turn"), None, 1.0, (0.2, 0.0, 0.0), 0.02 * np.eye(3))
    slide = dynamics.Joint("lift", "prismatic", (0.0, 1.0, 0.0))
    weight = dynamics.Body("weight", slide, None, 2.0, (0.0, 0.0, 0.0), 0.1 * np.eye(3))
    tree = dynamics.RigidBodyModel((bar, weight), gravity=(0.0, -9.81, 0.0))
    robot = dynamics.CoupledModel(tree, {"lift": dynamics.Follower("turn", polynomial([0.0, 0.1, 0.2]))})
    problem = trajopt.Problem(robot, trajopt.Trajectory.uniform(8, 5, 1.0, 7))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem)
    assert solution.verify().holds
    samples = solution.sample(1000)
    q, v, a, tau = (samples[f"{name} turn"] for name in ("q", "v", "a", "tau"))
    work = np.trapezoid(tau * v, samples["t"])
    assert work == pytest.approx(9.81 * (1.0 * 0.2 * np.sin(1.0) + 2.0 * 0.3), rel=1e-5)
    found = robot.forward_dynamics(q[:, None], v[:, None], tau[:, None])
    np.testing.assert_allclose(found[:, 0], a, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda tree: {"hip": dynamics.Follower("x", polynomial([0.0, 1.0]))}, "there is no joint 'hip'"),
        (lambda tree: {
            tree.joint_names[0]: dynamics.Follower(tree.joint_names[1], polynomial([0.0, 1.0])),
            tree.joint_names[1]: dynamics.Follower("x", polynomial([0.0, 1.0])),
        }, "which itself follows: put one function into the other"),
        (lambda tree: {tree.joint_names[0]: polynomial([0.0, 1.0])}, "'joint0' follows .*; give a Follower"),
        (lambda tree: {tree.joint_names[0]: dynamics.Follower("x", np.sin)},
         "a follower has 'x' and .*; give the name of a coordinate and a"),
        (lambda tree: {tree.joint_names[0]: dynamics.Follower(1, polynomial([0.0, 1.0]))},
         "a follower has 1 and .*; give the name of a coordinate"),
    ],
)  # fmt: skip
def test_joints_that_cannot_follow_are_refused(make, message):
    tree = random_tree(4)
    with pytest.raises(dynamics.CouplingError, match=message):
        dynamics.CoupledModel(tree, make(tree))


def test_limits_belong_to_coordinates_and_the_tree_has_no_ball_joint():
    tree = random_tree(4)
    line = {tree.joint_names[0]: dynamics.Follower("x", polynomial([0.0, 1.0]))}
    with pytest.raises(dynamics.CouplingError, match="there is no coordinate 'y'; there are x"):
        dynamics.CoupledModel(tree, line, {"y": dynamics.JointLimits()})
    from random_trees import floating_tree

    with pytest.raises(dynamics.CouplingError, match="give joints of one coordinate"):
        dynamics.CoupledModel(floating_tree(4), {})


def test_arrays_of_another_width_are_refused_with_the_coordinates():
    robot = coupled_tree(4)
    with pytest.raises(
        dynamics.ShapeError, match=r"q has shape \(2,\) but the model has n = \d coordinates \(crank"
    ):
        robot.tree_motion(np.zeros(2))
    with pytest.raises(dynamics.ShapeError, match="the arrays do not broadcast"):
        robot.tree_motion(np.zeros((2, robot.n)), np.zeros((3, robot.n)))
    with pytest.raises(dynamics.ShapeError, match=r"tau has shape \(2,\) but the model has n ="):
        robot.forward_dynamics(np.zeros(robot.n), np.zeros(robot.n), np.zeros(2))
    with pytest.raises(
        dynamics.ShapeError, match=r"of_tree has shape \(2,\) but the tree has 8 joints \(joint0"
    ):
        robot.forces(np.zeros(robot.n), np.zeros(2))


@pytest.mark.parametrize("make", [coupled_tree, random_tree])
@pytest.mark.parametrize(
    ("wrench", "message"),
    [
        (3.0, r"the wrench on '\w+' has shape \(\); give \(6,\)$"),
        (np.ones(5), r"has shape \(5,\)"),
        (np.ones((2, 6)), r"has shape \(2, 6\)"),
        ("down", "is 'down'; give numbers"),
    ],
)
def test_wrenches_of_another_shape_are_refused_with_the_link(make, wrench, message):
    robot = make(4)
    rest = np.zeros(robot.n)
    link = getattr(robot, "tree", robot).link_names[-1]
    with pytest.raises(dynamics.ShapeError, match=message):
        robot.loaded_forward_dynamics(rest, rest, rest, {link: wrench})


def test_a_robot_without_tree_or_a_polynomial_without_coefficients_is_refused():
    with pytest.raises(dynamics.CouplingError, match=r"has the tree None and followers \{\}"):
        dynamics.CoupledModel(None, {})
    with pytest.raises(dynamics.CouplingError, match="give a RigidBodyModel and joint -> Follower"):
        dynamics.CoupledModel(random_tree(4), [])
    with pytest.raises(dynamics.CouplingError, match=r"coefficients of shape \(0, 1\)"):
        polynomial([])
    with pytest.raises(dynamics.ShapeError, match=r"the coefficients of a polynomial .*; give real"):
        polynomial([1j])


def test_forces_of_several_nodes_at_one_pose_are_those_of_each(model):
    rng = np.random.default_rng(3)
    q, of_tree = 0.4 * rng.normal(size=model.n), rng.normal(size=(3, model.tree.n))
    np.testing.assert_array_equal(model.forces(q, of_tree), [model.forces(q, each) for each in of_tree])
    tau = rng.normal(size=(3, model.n))
    found = model.forward_dynamics(q, 0.0 * q, tau)
    scale = np.abs(tau).max() + 1.0
    np.testing.assert_allclose(model.inverse_dynamics(q, 0.0 * q, found), tau, rtol=0.0, atol=1e-9 * scale)


def test_a_pose_in_which_a_coordinate_moves_nothing_has_no_accelerations():
    bar = dynamics.Body("bar", dynamics.Joint("turn"), None, 1.0, (0.2, 0.0, 0.0), 0.02 * np.eye(3))
    square = dynamics.Follower("x", polynomial([0.0, 0.0, 1.0]))
    robot = dynamics.CoupledModel(dynamics.RigidBodyModel((bar,)), {"turn": square})
    with pytest.raises(dynamics.InertiaError, match="a coordinate moves no mass in this pose"):
        robot.forward_dynamics([0.0], [1.0], [0.0])
