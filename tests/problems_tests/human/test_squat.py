"""Rising from a squat by muscles, on a model of OpenSim that is not part of this project."""

import numpy as np
import pytest
from muscled_arm import muscled_arm  # pyright: ignore  (tests/support is on the path)
from osim_files import published  # pyright: ignore

import dynamics
import trajopt
from problems.human.muscles.squat import SQUAT, STANDING, solve_squat, with_feet
from trajopt.base.errors import ProblemError


@pytest.mark.long
def test_both_legs_rise_alike_on_feet_that_stand_and_push():
    model = dynamics.load_osim(published("gait10dof18musc.osim"), muscles=True)
    solution = solve_squat(model)
    assert solution.converged and solution.verify().holds, solution.verify()
    t = np.linspace(0.0, 1.0, 21)
    q, activation = solution.q(t), solution.value(trajopt.state("activation"), t)
    late = t > 0.1  # what holds the squat at the first instant has no cost
    assert np.abs(activation[late, :9] - activation[late, 9:]).max() < 0.01
    assert np.abs(q[0, 3:6] - SQUAT).max() < 1e-6 and np.abs(q[-1, 6:9] - STANDING).max() < 1e-4
    places = with_feet(model).robot.forward_kinematics(q, ["heel_r", "toe_r"]).position
    assert np.ptp(places[:, :, :2], axis=0).max() < 1e-4
    assert np.abs(solution.value(trajopt.state("reserve"), t)[:, :6]).max() < 0.1
    pushes = sum(
        solution.value(solution.problem.contacts[f"{point}_{side}"].force, t)[:, 1]
        for point in ("heel", "toe")
        for side in "rl"
    )
    v, a = solution.v(t), solution.a(t)
    upward = model.robot.inverse_dynamics(q, v, a)[:, 1]  # what moves the whole model up and down
    assert np.sqrt(np.mean((pushes - upward) ** 2)) < 0.02 * 9.81 * model.robot.total_mass


def test_a_model_without_legs_is_refused():
    model = dynamics.load_osim(muscled_arm(), muscles=True)
    with pytest.raises(ProblemError, match="lacks calcn_r, toes_r, calcn_l"):
        with_feet(model)
