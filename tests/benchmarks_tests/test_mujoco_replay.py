"""MuJoCo as an independent simulator of our robots and motions."""

import numpy as np
import pytest
from library_solutions import solved_at_defaults

import dynamics
import problems
from benchmarks.mujoco_replay import mjcf, replay_errors

mujoco = pytest.importorskip("mujoco")


def test_accelerations_are_those_of_forward_dynamics():
    model = dynamics.load_urdf(problems.urdf_arm.source("ur5"))
    peer = mujoco.MjModel.from_xml_string(mjcf(model))
    state, rng = mujoco.MjData(peer), np.random.default_rng(0)
    for _ in range(5):
        q, v, tau = rng.normal(size=(3, model.n))
        state.qpos[:], state.qvel[:], state.qfrc_applied[:] = q, v, tau
        mujoco.mj_forward(peer, state)
        expected = dynamics.aba(model, q, v, tau)
        np.testing.assert_allclose(state.qacc, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.long
def test_a_replayed_motion_ends_where_it_was_planned():
    solution = solved_at_defaults("urdf_arm")
    for step, most in ((1e-3, 1e-4), (1e-4, 1e-6)):
        end, restarted = replay_errors(solution.problem.dynamics, solution, step)
        assert restarted <= end <= most
