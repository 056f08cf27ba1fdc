"""`moves.replay`: MuJoCo follows the planned torques, with the orders of its integrators."""

import dataclasses
import json

import numpy as np
import pytest
from click.testing import CliRunner
from retimed_robots import random_waypoints, ur5

import dynamics
import problems
import trajopt
from dynamics.errors import MujocoError
from dynamics.formats.mujoco.mujoco_writer import mjcf_of
from problems import moves
from problems.cli.command_line import main

pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def solution():
    return trajopt.solve(problems.urdf_arm.build(intervals=12))


@pytest.mark.long
def test_a_minimum_time_move_ends_where_it_was_planned(solution):
    found = moves.replay(solution)
    assert found.step <= 1e-3
    assert found.runs["RK4", "open loop"].end_deviation < 1e-6
    assert found.runs["RK4", "PD"].largest_deviation < 1e-6
    assert 1e-4 < found.runs["Euler", "open loop"].end_deviation < 2e-2


@pytest.mark.long
def test_half_a_step_halves_the_error_of_eulers_method(solution):
    """The simulated joints tend to the plan with the order of the integrator: they are the same robot."""
    coarse, fine = (moves.replay(solution, step).runs["Euler", "open loop"] for step in (1e-3, 5e-4))
    assert coarse.end_deviation / fine.end_deviation == pytest.approx(2.0, rel=0.05)


@pytest.mark.long
def test_feedback_holds_a_motion_that_is_lost_without_it():
    """Eight random waypoints take six seconds, in which a hanging arm forgets where it began."""
    motion = moves.retime(ur5(), random_waypoints(), acceleration=15.0, intervals=300)
    found = moves.replay(motion)
    assert found.runs["RK4", "open loop"].largest_deviation == np.inf
    assert found.runs["RK4", "PD"].largest_deviation < 1e-3


@pytest.mark.long
def test_mimic_joints_and_offsets_are_followed():
    """The Panda's fingers share a coordinate."""
    found = moves.replay(trajopt.solve(problems.urdf_arm.build(robot="panda", intervals=8)))
    assert found.runs["RK4", "PD"].end_deviation < 1e-3


@pytest.mark.parametrize("robot", ["ur5", "panda"])
def test_a_robot_written_and_read_again_is_the_same(robot):
    model = dynamics.load_urdf(problems.urdf_arm.source(robot))
    again = dynamics.from_mujoco(mjcf_of(model), equalities="mimic")
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 4, model.n))
    np.testing.assert_allclose(dynamics.rnea(again, q, v, a), dynamics.rnea(model, q, v, a), atol=1e-10)


def with_rotor(rotors, mass=0.0):
    rotor = dynamics.Rotor(50.0, mass, 1e-4 * np.eye(3))
    bodies = [
        dataclasses.replace(body, joint=dataclasses.replace(body.joint, rotor=rotor)) for body in ur5().bodies
    ]
    return dynamics.RigidBodyModel(bodies, rotors=rotors)


def test_armature_is_written():
    model = with_rotor("armature")
    again = dynamics.from_mujoco(mjcf_of(model))
    q = np.full(6, 0.3)
    np.testing.assert_allclose(dynamics.crba(again, q), dynamics.crba(model, q), atol=1e-12)


def test_what_mujoco_does_not_have_is_named():
    with pytest.raises(MujocoError, match="rotor of joint 'shoulder_lift_joint' turns with its parent"):
        mjcf_of(with_rotor("exact"))
    free = dynamics.load_urdf(problems.urdf_arm.source("ur5"), floating_base=True)
    with pytest.raises(MujocoError, match="has no mass"):
        mjcf_of(free)
    ball = dynamics.ball_joint(dynamics.Body("top", dynamics.Joint("ball"), mass=1.0, inertia=np.eye(3)))
    with pytest.raises(MujocoError, match="component of a rotation vector"):
        mjcf_of(dynamics.RigidBodyModel(ball))


@pytest.mark.long
def test_the_command_prints_and_draws(tmp_path, solution):
    solution.save(tmp_path / "solution.npz")
    done = CliRunner().invoke(main, ["replay", str(tmp_path / "solution.npz"), "--json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    ends = {(run["integrator"], run["control"]): run["end"] for run in answer["simulations"]}
    assert ends["RK4", "open loop"] < 1e-6 < ends["Euler", "open loop"]
    assert (tmp_path / "replay.png").stat().st_size > 10_000
    words = CliRunner().invoke(main, ["replay", str(tmp_path / "solution.npz")]).output
    assert words.count("at the end") == 4 and "written:" in words
