"""Robots that muscles drive: an arm that lifts itself, verified, and what is refused."""

import numpy as np
import pytest
from muscled_arm import muscled_arm  # pyright: ignore  (tests/support is on the path)
from osim_text import constant, joint, linear, spatial_transform, spline  # pyright: ignore

import dynamics
import trajopt
from dynamics.muscles.muscled_robot import MuscledRobot
from problems.human.muscles.driven import muscle_problem
from trajopt.base.errors import ProblemError, UnknownNameError

MESH = trajopt.Trajectory.collocation(intervals=40, order=3, duration=0.8)


def lift(tendon, **options):
    """A forearm from behind the vertical to in front of it."""
    model = dynamics.load_osim(muscled_arm(), muscles=True)
    problem = muscle_problem(model, MESH, tendon=tendon, reserves=0.1, **options)
    problem.start_at(q=[-0.4], v=[0.0])
    problem.end_at(q=[0.4], v=[0.0])
    return problem


@pytest.mark.long
@pytest.mark.parametrize("tendon", ["rigid", "compliant"])
def test_muscles_lift_an_arm_and_the_motion_verifies(tendon):
    problem = lift(tendon)
    solution = trajopt.solve(problem, refine=None, starts=1)
    assert solution.converged
    assert solution.verify().holds
    t = np.linspace(0.0, 0.8, 33)
    moment, tau = solution.value(trajopt.Quantity("muscle_moment"), t), solution.tau(t)
    reserve = solution.value(trajopt.state("reserve"), t).reshape(-1, 1)
    assert np.abs(reserve).max() < 0.01
    assert np.abs(moment + reserve - tau).max() < 0.03 * np.abs(tau).max()
    force = solution.value(trajopt.Quantity("muscle_force"), t)
    assert np.all(force > 0.0)


@pytest.mark.long
def test_a_bound_on_the_force_of_a_muscle_holds():
    problem = lift("rigid")
    problem.subject_to(trajopt.Quantity("muscle_force"), upper=45.0, name="weak tendons")
    bounded = trajopt.solve(problem, refine=None, starts=1)
    free = trajopt.solve(lift("rigid"), refine=None, starts=1)
    t = np.linspace(0.0, 0.8, 33)
    assert free.value(trajopt.Quantity("muscle_force"), t).max() > 50.0
    assert bounded.value(trajopt.Quantity("muscle_force"), t).max() < 46.0
    assert bounded.objective > free.objective


@pytest.mark.long
def test_muscles_alone_drive_a_robot_whose_coordinates_have_no_reserve():
    model = dynamics.load_osim(muscled_arm(), muscles=True)
    mesh = trajopt.Trajectory.collocation(intervals=8, order=3, duration=0.8)
    problem = muscle_problem(model, mesh, unpowered="elbow")
    problem.start_at(q=[-0.2], v=[0.0])
    problem.subject_to(trajopt.q, equals=[0.2], over="end", name="lifted")
    solution = trajopt.solve(problem, refine=None, starts=1, coarse_to_fine=False)
    assert solution.converged and "reserves" not in solution.cost_terms
    moment = float(solution.value(trajopt.Quantity("muscle_moment"), 0.8)[0])
    assert float(solution.tau(0.8)[0]) == pytest.approx(moment, abs=1e-3)


def test_a_further_moment_of_no_coordinate_is_refused():
    model = dynamics.load_osim(muscled_arm(), muscles=True)
    problem = muscle_problem(model, MESH, moments=lambda node: {"elbo": -3.0 * node.q[0]})
    with pytest.raises(UnknownNameError, match="no coordinate is called 'elbo'"):
        problem.summary()


def test_what_muscles_drive_follows_smooth_functions_and_the_model_those_of_its_file():
    """An elbow whose forearm slides on it along a cubic spline."""
    axes = [("0 0 1", "elbow", linear()), *[(axis, "", constant()) for axis in ("0 1 0", "1 0 0")]]
    slide = spline([-1.5, -0.5, 0.5, 1.0, 1.5], [0.0, 0.01, 0.005, 0.02, 0.0])
    axes += [("1 0 0", "elbow", slide), *[(axis, "", constant()) for axis in ("0 1 0", "0 0 1")]]
    plain = joint("PinJoint", "hinge", "ground", "fore", ("elbow",))
    transform = spatial_transform(*axes)
    custom = joint("CustomJoint", "hinge", "ground", "fore", ("elbow",), transform=transform)
    model = dynamics.load_osim(muscled_arm().replace(plain, custom), muscles=True)
    (follower,) = model.robot.followers.values()
    problem = muscle_problem(model, MESH)
    (smooth,) = problem.dynamics.robot.followers.values()
    q = np.linspace(-1.5, 1.5, 101)
    assert smooth.function.parts[0].coefficients.shape[0] == 6
    assert 0.0 < np.abs(smooth.function(q) - follower.function(q)).max() < 1e-4
    pinned = dynamics.load_osim(muscled_arm())
    assert pinned.smoothed() is pinned


def test_what_muscles_cannot_drive_is_refused():
    with pytest.raises(ProblemError, match="muscles=True"):
        muscle_problem(dynamics.load_osim(muscled_arm()), MESH)
    model = dynamics.load_osim(muscled_arm(), muscles=True)
    assert model.muscles is not None
    paths = model.muscles.paths.surrogate(samples=50, kept=False)
    with pytest.raises(dynamics.MuscleError, match="tendon is 'elastic'"):
        MuscledRobot(model.robot, paths, model.muscles, "elastic")
    other = dynamics.RigidBodyModel(
        [dynamics.Body("a", dynamics.Joint("b"), None, mass=1.0, inertia=np.eye(3))]
    )
    with pytest.raises(dynamics.MuscleError, match="other coordinates than the robot"):
        MuscledRobot(other, paths, model.muscles)
