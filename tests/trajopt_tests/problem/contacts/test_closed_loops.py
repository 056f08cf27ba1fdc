"""Closed loops: linkages against Newton-Euler of every link, gaps between nodes, what reports say."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from closed_linkage import (
    NEAR,
    ROBOT,
    SPEED,
    START,
    absolute,
    collocation_times,
    linkage,
    times_of,
    turning,
)
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid

import dynamics
import trajopt
from tests.support import four_bar
from trajopt.base.errors import InfeasibleBoundsError


@pytest.fixture(scope="module")
def turn():
    return turning(12, 5)


@pytest.mark.long
def test_forces_of_the_loop_and_the_motor_are_those_of_newton_and_euler(turn):
    """At the collocation points, for the accelerations found; the gap moves the pin by 1e-8 m."""
    solution, closure = turn
    t = collocation_times(solution)
    expected = four_bar.forces(*(absolute(curve(t)) for curve in (solution.q, solution.v, solution.a)))
    force = solution.value(closure.force, t)
    largest = np.abs(expected[:, 4:6]).max()
    assert_allclose(force[:, :2], expected[:, 4:6], rtol=0.0, atol=1e-6 * largest)
    assert_allclose(force[:, 2], 0.0, atol=1e-12)
    assert_allclose(solution.tau(t)[:, 0], expected[:, 8], rtol=0.0, atol=1e-6 * largest)


@pytest.mark.long
def test_the_linkage_moves_as_circles_that_intersect(turn):
    solution, _ = turn
    t = times_of(solution)
    angle, w, _ = four_bar.motion(START + SPEED * t, SPEED)
    assert_allclose(absolute(solution.q(t)), np.unwrap(angle, axis=0), atol=2e-6)
    assert_allclose(absolute(solution.v(t)), w, atol=2e-4)


@pytest.mark.long
def test_the_gap_stays_closed_between_nodes(turn):
    solution, closure = turn
    assert np.abs(solution.value(closure.misfit, times_of(solution, 5001))).max() < 1e-6


@pytest.mark.long
def test_forces_follow_the_closed_form_between_nodes_to_a_millionth():
    solution, closure = turning(24, 7)
    t = times_of(solution, 1501)
    expected = four_bar.forces(*four_bar.motion(START + SPEED * t, SPEED))[:, 4:6]
    assert np.abs(solution.value(closure.force, t)[:, :2] - expected).max() < 1e-6 * np.abs(expected).max()
    assert np.abs(solution.value(closure.misfit, t)).max() < 1e-9


@pytest.mark.long
@pytest.mark.parametrize(("points", "order", "count"), [("radau", 3, 16), ("radau", 4, 8), ("gauss", 3, 8)])
def test_gap_and_force_converge_to_the_order_of_the_scheme(points, order, count):
    """h^m of forces, h^(m+1) of the gap between nodes, h^(2m-1) and more of the gap at breakpoints."""
    errors = []
    for intervals in (count, 2 * count):
        solution, closure = turning(intervals, order, points)
        t = times_of(solution, 1501)[1:-1]
        expected = four_bar.forces(*four_bar.motion(START + SPEED * t, SPEED))[:, 4:6]
        ends = solution.duration * np.linspace(0.0, 1.0, intervals + 1)
        errors.append(
            [
                np.abs(solution.value(closure.force, t)[:, :2] - expected).max(),
                np.abs(solution.value(closure.misfit, t)).max(),
                np.abs(solution.value(closure.misfit, ends)).max(),
            ]
        )
        print(f"{points} {order}, {intervals} intervals: force, gap, at breakpoints", *errors[-1])
    slopes = np.log2(np.array(errors[0]) / errors[1])
    assert slopes[0] > order - 0.9 and slopes[1] > order + 0.5 and slopes[2] > 2 * order - 1.5, slopes


@pytest.mark.long
def test_at_rest_forces_are_those_of_statics():
    problem, closure = linkage(3, 3, 1.0)
    problem.start_at(q=[START, None, None], v=0.0)
    problem.minimize(trajopt.v**2)
    solution = trajopt.solve(problem, trajopt.Ipopt(tol=1e-12), progress="silent", refine=None, starts=1)
    t = times_of(solution, 11)
    angle, rest, _ = four_bar.motion(np.full(t.size, START), 0.0)
    expected = four_bar.forces(angle, rest, rest)
    assert_allclose(solution.value(closure.force, t)[:, :2], expected[:, 4:6], atol=1e-6)
    assert_allclose(solution.tau(t)[:, 0], expected[:, 8], atol=1e-6)


@pytest.mark.long
def test_axes_that_a_file_has_rounded_close_within_a_tolerance():
    """A right angle written as 1.5708 tilts an axis by 3.7e-6 rad, and lifts the rocker's end."""
    crank, coupler, rocker = ROBOT.bodies
    tilt = np.array(
        [[1.0, 0.0, 0.0], [0.0, np.cos(3.7e-6), -np.sin(3.7e-6)], [0.0, np.sin(3.7e-6), np.cos(3.7e-6)]]
    )
    tilted = replace(rocker, joint=replace(rocker.joint, rotation=tilt))
    robot = dynamics.RigidBodyModel([crank, coupler, tilted], ROBOT.gravity, frames=list(ROBOT.frames))
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(12, 4, duration=1.0))
    with pytest.raises(InfeasibleBoundsError, match="tolerance=1e-5"):
        problem.close_loop("coupler_end", "rocker_end", "pin", axis=(0, 0, 1), near=NEAR)
    closure = problem.close_loop(
        "coupler_end", "rocker_end", "pin", axis=(0, 0, 1), near=NEAR, tolerance=1e-5
    )
    assert closure.left_out == ("z", "about x", "about y")
    problem.passive("coupler_joint", "rocker_joint")
    problem.start_at(q=[START, None, None], v=0.0)
    problem.end_at(q=[2.0, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, progress="silent", starts=1, refine=None)
    gap = np.abs(solution.value(closure.misfit, times_of(solution)))
    assert solution.converged and 1e-6 < gap.max() < 1e-5
    assert solution.objective == pytest.approx(3.21574, rel=1e-4)


@pytest.mark.long
def test_a_frame_that_lies_askew_in_the_plane_feels_the_same_force():
    """A row along any axis of the frame could be left out; the force across the plane is the one that is."""
    turned = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    turned *= np.linalg.det(turned)
    frames = [replace(frame, rotation=turned) for frame in ROBOT.frames]
    robot = dynamics.RigidBodyModel(list(ROBOT.bodies), ROBOT.gravity, frames=frames)
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(3, 3, duration=1.0))
    closure = problem.close_loop("coupler_end", "rocker_end", near=NEAR)
    assert closure.kept == (0, 1) and closure.left_out == ("across the plane",)
    problem.passive("coupler_joint", "rocker_joint")
    problem.start_at(q=[START, None, None], v=0.0)
    problem.minimize(trajopt.v**2)
    solution = trajopt.solve(problem, trajopt.Ipopt(tol=1e-12), progress="silent", refine=None, starts=1)
    angle, rest, _ = four_bar.motion(np.array([START]), 0.0)
    expected = [*four_bar.forces(angle, rest, rest)[0, 4:6], 0.0]
    assert_allclose(solution.value(closure.force, 0.5), expected, atol=1e-6)


@pytest.fixture(scope="module")
def swung():
    problem, _ = linkage(12, 4, 1.0)
    problem.start_at(q=[START, None, None], v=0.0)
    problem.end_at(q=[2.0, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, progress="silent", starts=1)
    report = solution.verify()
    assert report.verdict == "PASS", report.reason
    return solution


@pytest.mark.long
def test_the_report_proves_the_linkage_closed_and_the_motor_does_the_work(swung):
    report = swung.verify()
    (closure,) = swung.asked.closures.values()
    between = [v for v in report.violations if v.name == f"loop {closure.name} between nodes"]
    assert len(between) == 3 and all(v.evidence == "proved" and v.dense_violation < 1e-6 for v in between)
    t = times_of(swung, 4001)
    work = trapezoid(swung.tau(t)[:, 0] * swung.v(t)[:, 0], t)
    potential = swung.value(trajopt.Quantity("potential_energy"), np.array([0.0, swung.duration]))
    assert work == pytest.approx(float(np.diff(potential[:, 0])[0]), rel=1e-4)


@pytest.mark.long
def test_a_force_of_the_loop_that_is_off_by_a_tenth_fails(swung):
    """Bodies would then need motors that they do not have."""
    (group,) = swung.curve.apart
    larger = replace(group, control_points=tuple(1.1 * points for points in group.control_points))
    report = replace(swung, curve=replace(swung.curve, apart=(larger,))).verify()
    assert report.verdict == "FAIL"
    broken = {v.name for v in report.violations if v.dense_relative > 1e-2}
    assert {"no motor at coupler_joint", "no motor at rocker_joint"} <= broken


@pytest.mark.long
def test_a_rocker_that_is_a_tenth_of_a_millimetre_away_fails(swung):
    """Joint velocities stay as they are: the places between nodes show it."""
    points = tuple(each + np.array([0.0, 0.0, 2e-4]) for each in swung.curve.control_points)
    report = replace(swung, curve=replace(swung.curve, control_points=points)).verify()
    assert report.verdict == "FAIL"
    gap = [v for v in report.violations if v.name.endswith("between nodes")]
    assert max(v.dense_violation for v in gap) == pytest.approx(1e-4, rel=0.2)


@pytest.mark.long
def test_a_loop_that_is_open_between_nodes_fails():
    """Too coarse a mesh for its tolerance, and not refined."""
    problem, _ = linkage(4, 3, 1.0, tolerance=1e-9)
    problem.start_at(q=[START, None, None], v=0.0)
    problem.end_at(q=[2.0, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, progress="silent", starts=1, refine=None)
    report = solution.verify()
    assert solution.converged and report.verdict == "FAIL"
    gap = [v for v in report.violations if v.name.endswith("between nodes")]
    assert max(v.dense_relative for v in gap) > 1e-2


@pytest.mark.long
def test_a_compiled_linkage_starts_from_another_angle_of_its_crank():
    problem, closure = linkage(8, 4, 1.0)
    problem.start_at(q=[START, None, None], v=0.0)
    problem.end_at(q=[2.0, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    compiled = trajopt.compile(problem)
    assert "between_nodes" not in str(compiled.inputs)
    solution = compiled.solve(q_start=[0.8, None, None])
    assert solution.converged
    assert_allclose(solution.q(0.0), four_bar.pose(np.array([0.8]))[0], atol=1e-8)
    assert np.abs(solution.value(closure.misfit, times_of(solution))).max() < 1e-4


@pytest.mark.long
def test_a_chain_that_ends_at_the_ground_is_the_same_linkage():
    """Opened at the rocker's pivot, whose force is that of the ground; the effort is the same.

    The closed form has the pivot at rest: the acceleration of the gap is zero to a lower order than the gap.
    """
    _, b, c = four_bar.LENGTHS
    crank, coupler, rocker = ROBOT.bodies
    joint = dynamics.Joint("rocker_joint", position=np.array([b, 0.0, 0.0]))
    last = dynamics.Body("rocker", joint, "coupler", rocker.mass, (c / 2, 0.0, 0.0), rocker.inertia)
    frames = [
        dynamics.Frame("end", "rocker", position=np.array([c, 0.0, 0.0])),
        dynamics.Frame("pivot", None, position=np.array([four_bar.GROUND, 0.0, 0.0])),
    ]
    chain = dynamics.RigidBodyModel([crank, coupler, last], (0.0, -four_bar.GRAVITY, 0.0), frames=frames)
    problem = trajopt.Problem(chain, trajopt.Trajectory.collocation(24, 5, duration=1.0))
    closure = problem.close_loop("pivot", "end", near=[START, -0.3, -2.0])
    assert closure.link_a is None and set(problem.loads) == {"rocker"}
    problem.passive("coupler_joint", "rocker_joint")
    problem.start_at(q=[START, None, None], v=0.0)
    problem.end_at(q=[2.0, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, trajopt.Ipopt(tol=1e-12), progress="silent", starts=1, refine=None)
    assert solution.objective == pytest.approx(3.21574105, rel=1e-5)
    t = collocation_times(solution)
    q, v, acceleration = (np.cumsum(curve(t), axis=1) for curve in (solution.q, solution.v, solution.a))
    q[:, 2] += np.pi  # the rocker points away from the ground in the closed form
    expected = four_bar.forces(q, v, acceleration)
    largest = np.abs(expected[:, 6:8]).max()
    assert_allclose(solution.value(closure.force, t)[:, :2], expected[:, 6:8], rtol=0.0, atol=1e-4 * largest)


@pytest.mark.long
def test_a_loop_may_close_in_the_second_arc():
    """The rocker moves by itself, then the coupler's end takes hold of it without an impact."""
    mesh = trajopt.Trajectory.collocation(6, 4, duration=0.7, arcs=2)
    problem = trajopt.Problem(ROBOT, mesh)
    closure = problem.close_loop("coupler_end", "rocker_end", near=NEAR, arcs=[1])
    problem.start_at(q=[0.2, 1.0, 1.8], v=0.0)  # an open pose
    problem.end_at(q=[1.0, None, None], v=0.0)
    problem.minimize(trajopt.a**2)
    problem.minimize(trajopt.tau**2, weight=1e-3)
    solution = trajopt.solve(problem, progress="silent", starts=1, refine=None)
    assert solution.converged
    assert_allclose(solution.q(0.0), [0.2, 1.0, 1.8], atol=1e-9)
    assert np.abs(solution.value(closure.misfit, np.linspace(0.7 + 1e-9, 1.4, 501))).max() < 1e-6
    assert_allclose(solution.value(closure.force, np.linspace(0.0, 0.7 - 1e-9, 51)), 0.0, atol=1e-9)
    assert np.abs(solution.value(closure.gap, 0.1)).max() > 1e-2


@pytest.mark.long
def test_a_problem_with_loops_can_be_sent_to_other_processes():
    problem, _ = linkage(2, 3)
    problem.start_at(q=[START, None, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    other = pickle.loads(pickle.dumps(problem))
    assert_allclose(trajopt.transcribe(other).start, trajopt.transcribe(problem).start)


@pytest.mark.long
@pytest.mark.parametrize("passive", [False, True])
def test_two_slides_that_are_joined_move_as_one_mass(passive):
    """A robot of two coordinates: the squared force m a costs 12 m^2 d^2 / T^3, shared by two motors half."""
    masses, X = (2.0, 3.0), np.array([1.0, 0.0, 0.0])
    bodies = [
        dynamics.Body(f"link{i}", dynamics.Joint(f"slide{i}", "prismatic", X), None, mass)
        for i, mass in enumerate(masses)
    ]
    ends = [dynamics.Frame(f"end{i}", f"link{i}", position=np.zeros(3)) for i in range(2)]
    robot = dynamics.RigidBodyModel(bodies, (0.0, 0.0, 0.0), "slides", frames=ends)
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(2, 4, duration=1.0))
    problem.close_loop("end0", "end1", "point")
    if passive:
        problem.passive("slide1")
    problem.start_at(q=[0.0, None], v=0.0)
    problem.end_at(q=[1.0, None], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem)
    alone = 12.0 * sum(masses) ** 2
    assert solution.verify().holds
    assert solution.objective == pytest.approx(alone if passive else 0.5 * alone, rel=1e-9)
