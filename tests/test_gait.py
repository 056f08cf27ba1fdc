"""Walking in three dimensions: the size of the problem, its derivatives, and the walk that comes out."""

import numpy as np
import pytest
from test_planar_walker import slopes

import trajopt
from problems import gait
from problems.human.model import GLOBAL, step_symmetry
from trajopt.errors import OptionError

WEIGHT = 75.0 * 9.81
ADAPTIVE = trajopt.Ipopt(tol=1e-4, max_iterations=300, options={"mu_strategy": "adaptive"})


@pytest.fixture(scope="module")
def nlp():
    return trajopt.transcribe(gait.build())


def test_six_control_points_of_38_joints_leave_152_unknowns(nlp):
    """228 control points, 76 of which follow from the symmetry of posture and velocity."""
    assert nlp.variable_count == 38 * 6 - 76


def test_derivatives_through_both_recursions_are_exact(nlp):
    rng = np.random.default_rng(38)
    y = nlp.start + 0.01 * rng.standard_normal(nlp.variable_count)
    multipliers = rng.standard_normal(nlp.row_count) / nlp.row_count
    first, second = slopes(nlp, y, rng.standard_normal(nlp.variable_count), multipliers)
    assert first == pytest.approx(2.0, abs=0.05) and second == pytest.approx(2.0, abs=0.05)


def test_torques_of_all_joints_or_of_the_legs_are_limited():
    with pytest.raises(OptionError, match="the limited torques are 'arms': use 'all' or 'legs'"):
        gait.build(limited_torques="arms")
    with pytest.raises(OptionError, match="held at 1 times: two is the least"):
        gait.build(contact_samples=1)


@pytest.mark.long
def test_a_walk_is_predicted_that_balances_and_repeats_itself_mirrored():
    walk = trajopt.solve(gait.build(), ADAPTIVE, progress="silent")
    t = np.linspace(0.0, walk.duration, 201)
    force = walk.value(trajopt.base_wrench, t)[:, 3:] / WEIGHT
    tau, names = walk.tau(t), list(walk.joint_names)
    assert walk.converged and walk.verify().max_violation_nodes < 1e-6
    assert np.allclose(force[-1], force[0] * [1, 1, -1], atol=1e-4)  # the solver's tolerance
    signs, order, offset = step_symmetry(tuple(names), 0.6)
    assert np.allclose(walk.q(walk.duration), signs * walk.q(0.0)[order] + offset, atol=1e-9)
    assert np.abs(tau[:, [names.index(name) for name in GLOBAL]]).max() < 1e-9
    assert force[:, 1].mean() == pytest.approx(1.0, abs=0.01)
    assert force[:, 1].min() > 0.4 and force[:, 1].max() < 1.5
    limits = walk.problem.dynamics.limits
    strength = np.maximum(-limits.torque_lower, limits.torque_upper)
    upper_body = [i for i, name in enumerate(names) if name.startswith(("spine", "shoulder", "elbow"))]
    assert np.abs(tau[:, upper_body] / strength[upper_body]).max() < 0.8
    assert 45.0 < np.rad2deg(walk.q(t)[:, names.index("knee_l_flex")]).max() < 75.0
