"""Joints without motors: their torque is zero, and reports know it."""

import numpy as np
import pytest

import dynamics
import problems
import trajopt
from trajopt import ArcNodes
from trajopt.base import errors


@pytest.mark.long
def test_a_passive_joint_has_no_torque_at_the_nodes():
    problem = problems.cart_pole.build(intervals=8)
    assert "no motor at pole" in {constraint.name for constraint in problem.constraints}
    solution = trajopt.solve(problem, starts=1)
    assert solution.converged
    assert np.abs(solution.tau(solution.node_times)[:, 1]).max() < 1e-8
    assert np.abs(solution.tau(solution.node_times)[:, 0]).max() > 1.0


def test_a_passive_joint_says_the_same_as_its_torque_written_out():
    written = problems.cart_pole.build(intervals=8)
    written.constraints = [c for c in written.constraints if c.name != "no motor at pole"]
    written.subject_to(problems.cart_pole.pole_torque, equals=0.0, name="free joint")
    both = (written, problems.cart_pole.build(intervals=8))
    there, here = (trajopt.solve(each, starts=1, refine=None) for each in both)
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert there.iterations == here.iterations


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda p: p.passive("pol"),
            errors.UnknownNameError,
            "no joint is called 'pol' .did you mean 'pole'",
        ),
        (lambda p: p.passive(1), errors.UnknownNameError, "no joint is called 1"),
        (lambda p: p.passive(), errors.OptionError, "no joint is named"),
        (lambda p: p.passive("pole"), errors.OptionError, "'pole' is passive already"),
        (lambda p: p.passive("cart", "cart"), errors.OptionError, "'cart' is passive already"),
        (lambda p: p.passive("pole", over=(0.0, 0.5)), errors.OptionError, "'pole' is passive already"),
        (lambda p: p.passive("cart", over="middle"), errors.OptionError, "over is 'middle'"),
        (
            lambda p: p.passive("cart", over=trajopt.Neighbours()),
            errors.OptionError,
            "cannot be passive over",
        ),
    ],
)
def test_what_cannot_be_passive_is_told_and_nothing_is_added(call, error, message):
    problem = problems.cart_pole.build()
    count = len(problem.constraints)
    with pytest.raises(error, match=message):
        call(problem)
    assert len(problem.constraints) == count and list(problem.passive_joints) == ["pole"]


def test_a_joint_may_be_passive_on_several_arcs_and_a_copy_has_its_own_list():
    problem = problems.hop.build()
    assert set(problem.passive_joints) == {"x", "y", "foot"} and len(problem.passive_joints["x"]) == 4
    with pytest.raises(errors.OptionError, match="'x' is passive already"):
        problem.passive("x", over=ArcNodes(problems.hop.FLIGHT))
    other = problem.on(problem.trajectory)
    other.passive("ankle")
    assert "ankle" not in problem.passive_joints


def hanging_slider():
    """A vertical slider of 2 kg on a force that the environment gives: 2 kg times 9.81 m/s^2 and no motor."""
    joint = dynamics.Joint("lift", "prismatic", axis=np.array([0.0, 0.0, 1.0]))
    model = dynamics.RigidBodyModel([dynamics.Body("block", joint, mass=2.0)])
    arc = trajopt.Arc(trajopt.SplineBasis.uniform(1, 5), 1.0, nodes_per_span=4, rule="gauss")
    problem = trajopt.Problem(model, trajopt.Trajectory((arc,)))
    problem.start_at(q=0.0, v=0.0)
    push = problem.extra("push", guess=1.0)

    @trajopt.term
    def wrench(node):
        return [0.0, 0.0, 0.0, 0.0, 0.0, node.extra("push")]

    problem.load("block", wrench)
    problem.passive("lift")
    problem.end_at(q=0.5, v=0.0)
    problem.minimize(push**2)
    return problem


@pytest.mark.long
def test_under_a_load_the_torque_that_is_zero_contains_it_and_the_simulation_applies_it():
    solution = trajopt.solve(hanging_slider())
    push = solution.value(trajopt.Quantity("extra:push"), solution.node_times)[:, 0]
    assert np.allclose(2.0 * (solution.a(solution.node_times)[:, 0] + 9.81), push, atol=1e-7)
    report = solution.verify()
    assert report.holds, report.reason
    assert report.simulation is not None and report.simulation.restarted < 1e-10
    assert report.free_simulation is not None and report.free_simulation.end_to_end < 1e-6


@pytest.mark.parametrize("first", ["the cost", "the joint"])
def test_squared_torques_of_passive_joints_cost_nothing(first):
    """The objective is that of the motor at any motion, also one that misses the equation of the pole."""
    problem = problems.cart_pole.build(intervals=8)
    problem.costs, problem.passive_joints = [], {}
    problem.constraints = [c for c in problem.constraints if c.name != "no motor at pole"]
    if first == "the cost":
        problem.minimize(3.0 * trajopt.tau**2, weight=2.0)
    problem.passive("pole")
    if first == "the joint":
        problem.minimize(3.0 * trajopt.tau**2, weight=2.0)
    problem.minimize(trajopt.v**2, weight=0.5)
    motion = trajopt.solve(problem, trajopt.Ipopt(max_iterations=1), refine=None, starts=1)
    nodes = problem.trajectory.nodes
    effort = nodes.weight @ motion.tau(motion.node_times)[:, 0] ** 2
    speed = nodes.weight @ (motion.v(motion.node_times) ** 2).sum(axis=1)
    assert np.abs(motion.tau(motion.node_times)[:, 1]).max() > 1e-2
    assert motion.objective == pytest.approx(motion.duration * (6.0 * effort + 0.5 * speed), rel=1e-12)


@pytest.mark.long
def test_squared_torques_where_nothing_drives_any_joint_are_a_cost_still():
    """A free swing has one motion, whose torques are zero; without them the cost would have no unknown."""
    robot = problems.cart_pole.build(intervals=8).dynamics
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(8, 3, duration=0.5))
    problem.passive(*robot.joint_names)
    problem.minimize(trajopt.tau**2)
    problem.start_at(q=[0.0, 0.3], v=[0.0, 0.0])
    solution = trajopt.solve(problem)
    assert solution.converged and solution.objective < 1e-15 and solution.verify().holds
