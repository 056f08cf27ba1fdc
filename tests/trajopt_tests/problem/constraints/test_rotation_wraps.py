"""Bodies that turn on over several arcs: against DOP853, a closed form, and guesses that turn too far."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dynamics
import trajopt
from trajopt.base.errors import OptionError, UnknownNameError

INERTIA = np.array([0.2, 0.35, 0.5])
TILTED = np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0)


def ball(inertia=INERTIA):
    body = dynamics.Body("body", dynamics.Joint("joint"), None, 1.0, np.zeros(3), np.diag(inertia))
    return dynamics.RigidBodyModel(dynamics.ball_joint(body), np.zeros(3))


def turning(turn, arcs, inertia=INERTIA, order=5):
    """One second on which a guess turns from rest at the centre to a rotation vector `turn`."""
    mesh = trajopt.Trajectory.collocation(4, order, arcs=arcs, duration=1.0 / arcs)
    problem = trajopt.Problem(ball(inertia), mesh)
    problem.guess(np.array([np.zeros(3), turn]))
    return problem


def rotation_at_end(solution):
    return solution.rotation("body")(1.0)


def spun(omega):
    """The rotation after one second of a free body that starts with a spin, by DOP853."""

    def rates(_, x):
        R, w = x[:9].reshape(3, 3), x[9:]
        return np.concatenate([np.cross(R, w).ravel(), -np.cross(w, INERTIA * w) / INERTIA])

    start = np.concatenate([np.eye(3).ravel(), omega])
    tight = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    return solve_ivp(rates, (0.0, 1.0), start, **tight).y[:9, -1].reshape(3, 3)


@pytest.mark.long
def test_a_free_body_turns_on_as_by_dop853():
    omega = np.deg2rad(700.0) * TILTED
    problem = turning(omega, 4)
    assert problem.wrap_rotation("body") == (0, 2)
    problem.passive(*problem.dynamics.joint_names)
    problem.start_at(q=np.zeros(3), v=omega)
    solution = trajopt.solve(problem, progress="silent")
    report = solution.verify()
    assert report.verdict == "PASS" and not solution.warning, report.reason
    off = dynamics.rotation_vector(spun(omega).T @ rotation_at_end(solution))
    assert np.rad2deg(np.linalg.norm(off)) < 1e-5
    samples = solution.sample(200)
    columns = np.stack([samples[f"quaternion body {axis}"] for axis in "xyzw"], axis=1)
    assert np.linalg.norm(np.diff(columns, axis=0), axis=1).max() < 0.05  # though p jumps at two borders


@pytest.mark.long
def test_a_turn_there_and_back_unwinds_what_it_wrapped():
    """Least torque over two rest-to-rest halves of 400 degrees: 12 J^2 angle^2 / T^3 each; 0 at the end."""
    inertia, angle = np.full(3, 0.3), np.deg2rad(400.0)
    problem = turning(np.zeros(3), 4, inertia, order=4)
    problem.guess(lambda s: np.outer(np.sin(np.pi * np.asarray(s)) ** 2, angle * TILTED))
    assert problem.wrap_rotation("body") == (0, 2)
    middle = (angle - 2.0 * np.pi) * TILTED
    problem.start_at(q=np.zeros(3), v=np.zeros(3))
    problem.subject_to(trajopt.q, equals=middle, over=trajopt.ArcNodes(1, "end"))
    problem.subject_to(trajopt.v, equals=0.0, over=trajopt.ArcNodes(1, "end"))
    problem.end_at(q=np.zeros(3), v=np.zeros(3))
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, progress="silent")
    assert solution.converged
    assert solution.objective == pytest.approx(2.0 * 12.0 * 0.3**2 * angle**2 / 0.5**3, rel=1e-6)


@pytest.mark.long
def test_a_wrapped_border_stays_where_both_charts_are_regular():
    """Least torque from rest to rest at one place asks for no turn: at |r| near 0 the other chart ends."""
    problem = turning(np.zeros(3), 4, np.full(3, 0.3), order=4)
    problem.guess(lambda s: np.outer(np.sin(np.pi * np.asarray(s)) ** 2, np.deg2rad(400.0) * TILTED))
    problem.wrap_rotation("body")
    problem.start_at(q=np.zeros(3), v=np.zeros(3))
    problem.end_at(q=np.zeros(3), v=np.zeros(3))
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, starts=1, progress="silent")
    report = solution.verify()
    assert solution.converged and report.verdict == "PASS", report.reason
    for arc in (0, 2):
        angle = np.linalg.norm(solution.parameters[f"rotation vector of body after arc {arc}"])
        assert 0.3 * np.pi - 1e-6 < angle < 1.7 * np.pi + 1e-6


def test_guesses_that_one_arc_does_not_hold_are_refused_with_what_to_do():
    with pytest.raises(OptionError, match=r"body 350 degrees .* in arc 0, .* less than 360: cut the tr"):
        turning(np.deg2rad(700.0) * TILTED, 2).wrap_rotation("body")
    problem = turning(np.deg2rad(500.0) * TILTED, 4)
    with pytest.raises(
        UnknownNameError, match=r"turns is called 'bodi' .did you mean 'body'.*: there are body"
    ):
        problem.wrap_rotation("bodi")
    assert problem.wrap_rotation("body")
    with pytest.raises(OptionError, match="wrapped already"):
        problem.wrap_rotation("body")
    unguessed = trajopt.Problem(ball(), problem.trajectory)
    with pytest.raises(OptionError, match=r"call problem\.guess first"):
        unguessed.wrap_rotation("body")
    pendulum = dynamics.RigidBodyModel(
        [dynamics.Body("rod", dynamics.Joint("hinge"), None, 1.0, [0.5, 0.0, 0.0], np.eye(3))]
    )
    with pytest.raises(UnknownNameError, match=r"is called .*: there are none"):
        trajopt.Problem(pendulum, problem.trajectory).wrap_rotation("rod")


def test_links_whose_names_begin_alike_are_wrapped_each():
    bodies = [
        dynamics.Body(name, dynamics.Joint(name), None, 1.0, np.zeros(3), np.diag(INERTIA))
        for name in ("body", "body 2")
    ]
    robot = dynamics.RigidBodyModel([*dynamics.ball_joint(bodies[1]), *dynamics.ball_joint(bodies[0])])
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(2, 3, arcs=2, duration=0.5))
    problem.guess(np.array([np.zeros(6), np.tile(np.deg2rad(400.0) * TILTED, 2)]))
    assert [problem.wrap_rotation(name) for name in ("body 2", "body")] == [(0,), (0,)]
    last = problem.guessed_curve(np.array([1.0]))
    np.testing.assert_allclose(last[0], np.tile(np.deg2rad(40.0) * TILTED, 2), atol=1e-12)


def test_a_motion_that_turned_too_far_in_an_arc_says_so():
    """700 degrees about a fixed axis pass 360 at the middle, where the chart is singular."""
    axis = np.array([0.0, 0.0, 1.0])
    problem = turning(np.deg2rad(300.0) * axis, 1)
    problem.start_at(q=np.zeros(3), v=np.zeros(3))
    problem.end_at(q=np.deg2rad(700.0) * axis, v=np.zeros(3))
    problem.minimize(trajopt.v**2)
    solution = trajopt.solve(problem, trajopt.Ipopt(max_iterations=30), starts=1, progress="silent")
    assert "body turns 700 degrees" in solution.warning and "wrap_rotation('body')" in solution.warning


def test_a_guess_that_turns_too_far_in_an_arc_is_refused_before_the_solve():
    problem = turning(np.array([0.0, 7.0, 0.0]), 1)
    problem.minimize(trajopt.v**2)
    with pytest.raises(OptionError, match=r"body 401 degrees .* in arc 0.*wrap_rotation\('body'\)"):
        trajopt.solve(problem, progress="silent")
