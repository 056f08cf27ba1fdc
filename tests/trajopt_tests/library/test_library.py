"""The library's terms, in problems whose answers can be told beforehand."""

import numpy as np
import pytest
from hand_written import PointMasses

import dynamics
import problems
import trajopt
from trajopt import library
from trajopt.base import errors
from trajopt.graph.protocols import SecondOrderBlock
from trajopt.transcription.derivative_check import check_problem


def masses(n=1, duration=1.0, intervals=8, degree=3, **limits):
    problem = trajopt.Problem(
        PointMasses(n, **limits), trajopt.Trajectory.uniform(intervals, degree, duration)
    )
    problem.start_at(q=0.0, v=0.0)
    return problem


def ur5_at(q):
    model = problems.six_axis_arm.build(intervals=3).dynamics
    return model, {"q": np.atleast_2d(q), "v": np.zeros((1, 6))}


POSE = np.array([0.3, -1.0, 1.2, -0.7, -1.1, 0.4])


@pytest.mark.long
def test_following_data_gives_the_data_back():
    times = np.linspace(0.0, 1.0, 21)
    for clock in ("seconds", "progress"):
        problem = masses()
        path = problem.data("path", times, times**2 * (3.0 - 2.0 * times), clock)
        problem.minimize(library.distance_to_data(trajopt.q, path) ** 2)
        solution = trajopt.solve(problem)
        assert np.allclose(solution.q(times)[:, 0], times**2 * (3.0 - 2.0 * times), atol=1e-4)


def test_data_stay_constant_beyond_their_ends():
    problem = masses(duration=2.0)
    path = problem.data("path", [0.5, 0.6, 1.0], [1.0, 2.0, 3.0])
    problem.minimize(trajopt.tau**2)
    problem.subject_to(trajopt.q - path, -10.0, 10.0)
    with pytest.warns(errors.OutsideTableWarning, match="data 'path' covers 0.5 to 1 and is read at 2 "):
        solution = trajopt.solve(problem)
    assert np.allclose(solution.value(path, [0.0, 0.5, 1.0, 2.0])[:, 0], [1.0, 1.0, 3.0, 3.0])


def test_data_that_cannot_be_a_curve_are_refused():
    problem = masses()
    with pytest.raises(errors.OptionError, match="clock = 'hours': expected 'seconds' or 'progress'"):
        problem.data("path", [0.0, 1.0], [0.0, 1.0], "hours")
    with pytest.raises(errors.ShapeError, match=r"times of shape \(2,\) and values of shape \(3, 1\)"):
        problem.data("path", [0.0, 1.0], [0.0, 1.0, 2.0])
    with pytest.raises(errors.NotFiniteError, match=r"values of data 'path' is .0.0, nan.: give finite"):
        problem.data("path", [0.0, 1.0], [0.0, np.nan])
    with pytest.raises(errors.OptionError, match="times of data 'path' do not rise"):
        problem.data("path", [0.0, 0.0], [0.0, 1.0])


def test_the_least_torque_rate_of_a_move_is_that_of_constant_jerk_arcs():
    """Rest to rest with zero acceleration at both ends: jerk +J, -J, +J switches at T/4; d = J T^3 / 32."""
    problem = trajopt.Problem(PointMasses(), trajopt.Trajectory.uniform(16, 3, 1.0))
    problem.start_at(q=0.0, v=0.0, a=0.0)
    problem.end_at(q=1.0, v=0.0, a=0.0)
    rate = problem.parameter("rate", 0.0, 1e4, 50.0)
    library.limit_torque_rate(problem, rate)
    problem.minimize(rate)
    problem.guess(lambda s: s[..., None])  # far from the optimum, which the default guess nearly is
    solution = trajopt.solve(problem)
    assert solution.converged and solution.objective == pytest.approx(32.0, rel=1e-6)
    assert solution.verify().max_violation_nodes < 1e-6
    fixed = trajopt.Problem(PointMasses(), trajopt.Trajectory.uniform(16, 3))
    fixed.start_at(q=0.0, v=0.0, a=0.0)
    fixed.end_at(q=1.0, v=0.0, a=0.0)
    library.limit_torque_rate(fixed, 32.0)
    fixed.minimize(trajopt.duration)
    assert trajopt.solve(fixed).duration == pytest.approx(1.0, rel=1e-6)


def test_symmetry_exchanges_the_named_joints_and_flips_signs():
    problem = trajopt.Problem(PointMasses(3), trajopt.Trajectory.uniform(6, 3, 1.0))
    problem.start_at(q=[0.2, 0.5, 0.3])
    library.symmetric(problem, {"slider 0": "slider 1"}, flipped=("slider 2",))
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem)
    assert np.allclose(solution.q(1.0), [0.5, 0.2, -0.3], atol=1e-9)
    assert np.allclose(solution.v(1.0), solution.v(0.0)[[1, 0, 2]] * [1.0, 1.0, -1.0], atol=1e-9)
    with pytest.raises(errors.UnknownNameError, match="no joint is called 'knee': there are slider 0"):
        library.symmetric(problem, {"knee": "slider 1"})


def test_inverse_kinematics_finds_a_pose_that_another_pose_has():
    model, at = ur5_at(POSE)
    names = ["position:wrist_3_link", "orientation:wrist_3_link"]
    targets = {name: value[0] for name, value in model.block(names).value(at).items()}
    found = trajopt.inverse_kinematics(model, targets, POSE + 0.2)
    values = model.block(names).value(ur5_at(found)[1])
    assert all(np.allclose(values[name][0], targets[name], atol=1e-8) for name in names)
    with pytest.raises(errors.ShapeError, match=r"q has shape \(2,\) but the dynamics has n = 6"):
        trajopt.inverse_kinematics(model, targets, [0.0, 0.0])
    with pytest.raises(errors.ShapeError, match="targets have 2 numbers but position:wrist_3_link have 3"):
        trajopt.inverse_kinematics(model, {names[0]: [0.0, 0.0]}, POSE)


def test_inverse_kinematics_warns_of_a_target_out_of_reach():
    """The nearest pose stretches the arm, whose two links of 0.4 m end 4.2 m short of a point 5 m away."""
    link = {"a": 0.4, "mass": 0.5, "inertia": np.diag([0.0, 0.1, 0.1])}
    arm = dynamics.from_dh([{**link, "name": "upper"}, {**link, "name": "lower"}])
    with pytest.warns(errors.ReachWarning, match=r"target of position:lower_tip: .* misses it by 4.2;"):
        found = trajopt.inverse_kinematics(arm, {"position:lower_tip": [3.0, 4.0, 0.0]}, [0.1, 0.4])
    assert found == pytest.approx([np.arctan2(4.0, 3.0), 0.0], abs=1e-4)


@pytest.mark.long
def test_inverse_kinematics_leaves_joints_alone_that_no_target_depends_on():
    """The second of two arms in one tree moved the first one away."""
    arms = problems.two_arms.build().dynamics
    q = np.concatenate([[-0.24, -1.29, 1.83, -0.54, 1.34, -1.57] * 2, [0.0, 0.0, 0.2, 0.0, 0.0, 0.0]])
    grip = arms.block(["position:right_grip"]).value({"q": q[None], "v": 0.0 * q[None]})
    found = trajopt.inverse_kinematics(arms, {"position:right_tool": grip["position:right_grip"][0]}, q)
    assert np.array_equal(found[:6], q[:6]) and np.array_equal(found[12:], q[12:])
    at = arms.block(["position:right_tool"]).value({"q": found[None], "v": 0.0 * q[None]})
    assert np.allclose(at["position:right_tool"], grip["position:right_grip"], atol=1e-8)


def test_inverse_kinematics_leaves_out_whole_turns():
    model, at = ur5_at(POSE)  # limits of two turns: nothing else keeps a search near its start
    target = model.block(["position:wrist_3_link"]).value(at)["position:wrist_3_link"][0]
    start = POSE + np.array([0.0, 0.0, 0.0, 0.0, 1.0, 3.0])
    found = trajopt.inverse_kinematics(model, {"position:wrist_3_link": target}, start)
    assert np.abs(found - start).max() <= np.pi
    with pytest.warns(errors.ReachWarning, match="misses it by 0.1"):
        turned = trajopt.inverse_kinematics(model, {"position:wrist_3_link": target + 0.2}, start)
    assert np.abs(turned - start).max() <= np.pi


@pytest.mark.parametrize(
    ("kind", "angle", "target"), [("prismatic", 7.0, "position:arm"), ("revolute", 5.0, "orientation:arm")]
)
def test_a_turn_that_moves_a_mimicking_joint_by_half_is_no_whole_turn(kind, angle, target):
    """A screw, and a crank at half the speed of its gear: q and q + 2 pi are different poses."""
    inertia = {"mass": 1.0, "inertia": 0.01 * np.eye(3)}
    follower = dynamics.Joint("follower", kind, mimics="crank", ratio=0.5)
    gear = dynamics.Body("gear", dynamics.Joint("crank"), **inertia)
    parent = "gear" if kind == "prismatic" else None
    model = dynamics.RigidBodyModel((gear, dynamics.Body("arm", follower, parent, **inertia)))
    at = {"q": np.array([[angle]]), "v": np.zeros((1, 1))}
    values = model.block([target]).value(at)
    found = trajopt.inverse_kinematics(model, {target: values[target][0]}, [0.0])
    assert np.isclose(found[0], angle, atol=1e-6)


@pytest.mark.long
def test_an_arm_ends_at_a_pose_of_its_tool_and_keeps_clear_of_a_ball():
    frame = "wrist_3_link"
    model, at = ur5_at(POSE + 0.5)
    values = model.block([f"position:{frame}", f"orientation:{frame}"]).value(at)
    target, rotation = values[f"position:{frame}"][0], values[f"orientation:{frame}"][0].reshape(3, 3)
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(8, 3, 1.0))
    problem.start_at(q=POSE, v=0.0)
    problem.end_at(v=0.0)
    problem.guess(q=np.array([POSE, POSE + 0.4]))
    library.frame_at(problem, frame, target, rotation)
    problem.minimize(library.effort(model.limits.torque_upper))
    free = trajopt.solve(problem)
    reached = free.value(trajopt.position(frame), free.duration)
    assert free.converged and np.allclose(reached, target, atol=1e-8)
    ball = free.value(trajopt.position(frame), 0.5) + np.array([0.0, 0.0, 0.03])
    clearance = library.sphere_clearance(frame, ball, 0.08)
    problem.subject_to(clearance, lower=0.0)
    around = trajopt.solve(problem)
    t = around.node_times
    assert around.converged and around.value(clearance, t).min() > -1e-7
    assert free.value(clearance, t).min() < -0.01 and around.objective > free.objective


@pytest.mark.long
def test_distances_of_capsules_are_those_of_their_axes():
    """Against the least distance over a fine grid of both segments."""
    rng = np.random.default_rng(5)
    ends = {f"position:{name}": rng.uniform(-1.0, 1.0, (40, 3)) for name in "abcd"}
    term = library.self_clearance(("a", "b"), ("c", "d"), (0.0, 0.0))
    (block,) = term.blocks(lambda quantity: 3)
    got = block.value(ends)[term.quantity][:, 0]
    a, b, c, d = ends.values()
    s = np.linspace(0.0, 1.0, 201)
    one = a[:, None] + s[:, None] * (b - a)[:, None]
    two = c[:, None] + s[:, None] * (d - c)[:, None]
    least = np.linalg.norm(one[:, :, None] - two[:, None, :], axis=-1).min(axis=(1, 2))
    assert np.all(got <= least + 1e-5) and np.all(got >= least - 0.01)


def test_the_front_of_time_against_effort_falls():
    points = library.pareto_front(
        lambda u: problems.two_link_pr.build(u=u, intervals=10),
        [0.01, 0.02, 0.05],
        {"time": trajopt.duration, "effort": trajopt.tau**2},
    )
    assert all(point.solution.converged for point in points)
    assert np.all(np.diff([point.costs["time"] for point in points]) > 0.0)
    assert np.all(np.diff([point.costs["effort"] for point in points]) < 0.0)
    first = points[0]
    assert first.costs["effort"] == pytest.approx(first.solution.cost_terms["effort"] / 0.01, rel=1e-6)


def test_weights_sum_to_one_and_compare_like_with_like():
    problem = masses(duration=(0.1, 10.0), force=5.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to_joint_limits()
    effort = library.effort([5.0])
    library.weighted(problem, {"time": (trajopt.duration, 0.5, 2.0), "effort": (effort, 0.5, 1.0)})
    solution = trajopt.solve(problem)
    assert solution.cost_terms["time"] == pytest.approx(0.25 * solution.duration)
    with pytest.raises(errors.OptionError, match="give weights that sum to 1"):
        library.weighted(problem, {"time": (trajopt.duration, 0.4, 1.0)})


def test_a_solution_starts_the_same_problem_on_finer_knots_exactly():
    coarse = trajopt.solve(problems.two_link_rr.build(intervals=10))
    fine = problems.two_link_rr.build(intervals=20)
    fine.guess(coarse)
    nlp = trajopt.transcribe(fine)
    start = nlp.unknowns.curve(nlp.start)
    s = np.linspace(0.0, 1.0, 57)
    assert np.allclose(start.at_progress(s), coarse.q(s * coarse.duration), atol=1e-12)
    assert start.duration == pytest.approx(coarse.duration)
    with pytest.raises(errors.ShapeError, match="solution moves shoulder, elbow but the problem"):
        problems.pendulum_swing_up.build().guess(coarse)


def test_parameters_start_where_the_solution_left_them():
    def lightest(guess):
        problem = masses()
        problem.end_at(q=1.0, v=0.0)
        peak = problem.parameter("peak", 0.0, 100.0, guess)
        problem.subject_to(trajopt.tau, -100.0, 100.0)
        problem.minimize(peak**2)
        problem.minimize(trajopt.tau**2)
        return problem

    solution = trajopt.solve(lightest(10.0))
    again = lightest(50.0)
    again.guess(solution)
    assert again.parameters["peak"].guess == pytest.approx(solution.parameters["peak"])


def test_impossible_settings_of_library_terms_are_refused():
    for make, message in (
        (lambda: library.effort([1.0, np.inf]), "effort was given the limits .*: give finite"),
        (lambda: library.mechanical_work(0.0), "rounding in watts = 0.0: expected a finite number above 0"),
        (lambda: library.force_norm("knee", 0.0), "rounding = 0.0: expected a finite number above 0"),
        (
            lambda: library.sphere_clearance("tool", [0, 0, 0], -1.0),
            "a radius in metres = -1.0: expected a finite number, 0 or more",
        ),
        (lambda: library.position_error("tool", [0, 0]), "target is .*: give three finite numbers"),
        (lambda: library.orientation_error("tool", np.ones((3, 3))), "give a .3, 3. rotation matrix"),
        (lambda: library.orientation_error("tool", np.diag([1, 1, -1])), "reflection .determinant -1."),
    ):
        with pytest.raises(errors.TrajoptError, match=message):
            make()
    with pytest.raises(AttributeError, match="no attribute 'elegance'"):
        _ = library.elegance


def test_manipulability_is_yoshikawas_for_a_planar_arm():
    """w = l1 l2 |sin q2|."""
    model = problems.two_link_rr.build().dynamics
    tip = next(name for name in model.frame_names if name.startswith("elbow"))
    block = library.manipulability(model, tip, slice(3, 5)).block
    q = np.array([[0.3, 0.7], [1.0, -2.0]])
    assert np.allclose(block.value({"q": q})["manipulability"][:, 0], 0.16 * np.abs(np.sin(q[:, 1])))


def test_second_derivatives_of_manipulability_are_those_of_the_planar_arm():
    """d^2 / dq_2^2 of l1 l2 |sin q2| is its negative; nothing depends on q1."""
    model = problems.two_link_rr.build().dynamics
    tip = next(name for name in model.frame_names if name.startswith("elbow"))
    block = library.manipulability(model, tip, slice(3, 5)).block
    q, adjoint = np.array([[0.3, 0.7], [1.0, -2.0]]), np.array([[1.0], [2.0]])
    expected = np.zeros((2, 2, 2))
    expected[:, 1, 1] = -0.16 * adjoint[:, 0] * np.abs(np.sin(q[:, 1]))
    assert np.allclose(block.curvature({"q": q}, {"manipulability": adjoint})["q", "q"], expected, atol=1e-12)


def test_manipulability_of_a_robot_with_coupled_joints_has_first_derivatives_only():
    def joint(name, **others):
        return dynamics.Joint(name, position=np.array([0.4, 0.0, 0.0]), **others)

    matter = {"mass": 1.0, "centre_of_mass": np.array([0.2, 0.0, 0.0]), "inertia": 0.01 * np.eye(3)}
    bodies = [
        dynamics.Body("upper", joint("shoulder"), **matter),
        dynamics.Body("middle", joint("elbow"), "upper", **matter),
        dynamics.Body("last", joint("wrist", mimics="elbow", ratio=0.5), "middle", **matter),
    ]
    tip = dynamics.Frame("tip", "last", position=np.array([0.3, 0.0, 0.0]))
    model = dynamics.RigidBodyModel(bodies, frames=(tip,))
    term = library.manipulability(model, "tip", slice(3, 5))
    assert not isinstance(term.block, SecondOrderBlock)
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(4, duration=1.0))
    problem.start_at(q=[0.0, 0.3], v=0.0)
    problem.end_at(q=[0.5, 0.8], v=0.0)
    problem.minimize(-1.0 * term)
    check_problem(problem)  # its slopes are those of its values


def test_moments_and_forces_are_norms_of_the_joint_wrench():
    solution = trajopt.solve(problems.two_link_rr.build(intervals=6))
    wrench = solution.wrench(0.1)[1]
    assert solution.value(library.force_norm("elbow"), 0.1)[0] == pytest.approx(
        np.linalg.norm(wrench[3:]), abs=1e-3
    )
    assert solution.value(library.moment_norm("elbow"), 0.1)[0] == pytest.approx(
        np.linalg.norm(wrench[:3]), abs=1e-3
    )


@pytest.mark.long
def test_powers_and_energies_have_their_units_in_reports():
    problem = masses()
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to(library.power, -20.0, 20.0)
    problem.minimize(library.mechanical_work(0.1))
    solution = trajopt.solve(problem)
    assert {v.unit for v in solution.verify().violations if v.name == "power"} == {"W"}
    assert (library.energy.unit, library.mechanical_work().exact.unit) == ("J", "W")
