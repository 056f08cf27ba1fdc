"""The planar walker: what a cyclic step owes to physics, whatever is optimal, and that it walks."""

from itertools import pairwise

import numpy as np
import pytest
from library_solutions import solved_at_defaults
from taylor_slopes import slopes

import dynamics
import trajopt
from problems import planar_walker
from problems.human.body.model import standing, step_symmetry
from problems.human.gait import ground_reaction
from problems.human.gait.step import Step
from trajopt.base.errors import OptionError, ProblemError

WEIGHT = 75.0 * 9.81


@pytest.fixture(scope="module")
def solution():
    return solved_at_defaults("planar_walker")


def reactions(solution, t):
    return solution.value(trajopt.base_wrench, t)


def step_integral(curve, duration, breaks):
    """Integral over the step by Gauss quadrature within every span, where the motion is smooth."""
    points, weights = np.polynomial.legendre.leggauss(12)
    spans = pairwise(breaks)
    return sum(0.5 * (b - a) * weights @ curve(0.5 * (a + b) + 0.5 * (b - a) * points) for a, b in spans)


@pytest.mark.long
def test_the_walker_converges_to_a_step_that_repeats_itself(solution):
    assert solution.converged and solution.kkt.error < 1e-5
    signs, order, offset = step_symmetry(solution.joint_names, 0.6)
    for curve, moved in ((solution.q, offset), (solution.v, 0.0)):
        assert np.allclose(curve(solution.duration), signs * curve(0.0)[order] + moved, rtol=0, atol=1e-9)


def test_nothing_pulls_on_the_pelvis(solution):
    """The six global forces vanish because the ground supplies exactly the base wrench."""
    tau = solution.tau(np.linspace(0.0, solution.duration, 23))
    assert np.abs(tau[:, :3]).max() < 1e-10 and np.abs(tau[:, 3:]).max() > 30.0


def test_the_ground_carries_the_weight_and_pushes_no_net_impulse(solution):
    def force(t):
        return reactions(solution, t)[:, 3:]

    mean = step_integral(force, solution.duration, np.unique(solution.knot_times)) / solution.duration
    assert mean[1] == pytest.approx(WEIGHT, rel=1e-8)
    assert mean[0] == pytest.approx(0.0, abs=1e-6)


def test_shares_of_the_feet_add_up_and_begin_and_end_at_zero(solution):
    leading, trailing = solution.problem.loads["hindfoot_r"], solution.problem.loads["hindfoot_l"]
    t = np.linspace(0.0, solution.duration, 23)
    assert np.allclose(
        solution.value(leading, t) + solution.value(trailing, t), reactions(solution, t), atol=1e-9
    )
    assert np.allclose(solution.value(leading, 0.0), 0.0) and np.allclose(solution.value(trailing, 0.13), 0.0)


def test_the_swinging_leg_balances_by_itself(solution):
    """Hip torque of the free leg: moments about the hip of what its bodies need beyond their weight.

    Computed from poses of bodies alone, by differences in time.
    """
    model, t, h = solution.problem.dynamics, 0.27, 1e-5
    links = ["thigh_l", "shank_l", "hindfoot_l"]
    bodies = [body for body in model.bodies if body.name in links]

    def centres(time):
        poses = dynamics.forward_kinematics(model, solution.q(time), links)
        return poses.position + np.einsum("bij,bj->bi", poses.rotation, [b.centre_of_mass for b in bodies])

    hip = dynamics.forward_kinematics(model, solution.q(t), links).position[0]
    acceleration = (centres(t + h) - 2 * centres(t) + centres(t - h)) / h**2
    levers = centres(t) - hip
    needed = np.cross(levers, [[b.mass] for b in bodies] * (acceleration - model.gravity))[:, 2].sum()
    names = list(solution.joint_names)
    tilt, bends = names.index("global_tilt"), [names.index(f"{joint}_l_{way}") for joint, way in (
        ("hip", "flex"), ("knee", "flex"), ("ankle", "dorsi"))]  # fmt: skip
    turning = -solution.a(t)[tilt] + np.cumsum(solution.a(t)[bends] * [1, -1, 1])
    needed += sum(b.inertia[2, 2] * alpha for b, alpha in zip(bodies, turning, strict=True))
    assert solution.tau(t)[bends[0]] == pytest.approx(needed, rel=1e-4, abs=1e-3)


def test_the_walk_is_plausible(solution):
    t = np.linspace(0.0, solution.duration, 101)
    vertical = reactions(solution, t)[:, 4] / WEIGHT
    knee = np.rad2deg(solution.q(t)[:, list(solution.joint_names).index("knee_l_flex")])
    point = ground_reaction.zero_moment_point(reactions(solution, t))[:, 0]
    single = t >= 0.24 * solution.duration
    assert vertical.min() > 0.1 and vertical.max() < 2.0
    assert 45.0 < knee.max() < 75.0
    assert np.all((point[single] > -0.01) & (point[single] < 0.28))


@pytest.mark.long
def test_a_long_report_names_the_worst_component_of_each_constraint(solution):
    report = solution.verify()
    lines = report.table.split("\n\n")[1].splitlines()[1:]
    assert len(lines) == len({violation.name for violation in report.violations}) < len(report.violations)
    worst = max(report.violations, key=lambda violation: violation.dense_violation)
    assert any(line.startswith(worst.label) and f"{worst.dense_violation:.3e}" in line for line in lines)


def test_derivatives_of_torques_and_reactions_are_exact():
    nlp = trajopt.transcribe(planar_walker.build(intervals=3))
    rng = np.random.default_rng(3)
    y = nlp.start + 0.01 * rng.standard_normal(nlp.variable_count)
    direction, multipliers = rng.standard_normal((2, max(nlp.variable_count, nlp.row_count)))
    direction, multipliers = direction[: nlp.variable_count], multipliers[: nlp.row_count]
    first, second = slopes(nlp, y, direction, multipliers)
    assert first == pytest.approx(2.0, abs=0.05) and second == pytest.approx(2.0, abs=0.05)


def test_the_search_can_start_from_standing():
    problem = planar_walker.build(start="standing")
    assert np.allclose(
        problem.guessed_curve(np.array([0.5]))[0, 1:], standing(problem.dynamics.joint_names)[1:]
    )


def test_steps_that_nobody_can_do_are_refused():
    with pytest.raises(ProblemError, match=r"the speed is -1\.0"):
        planar_walker.build(speed=-1.0)
    with pytest.raises(ProblemError, match=r"the events of the step are foot flat 0\.5"):
        planar_walker.build(foot_flat=0.5)
    with pytest.raises(OptionError, match="starts from 'running': use 'standing' or 'measured'"):
        planar_walker.build(start="running")
    with pytest.raises(ProblemError, match=r"limit_nodes are \(0.5, 1.5\)"):
        Step(0.6, 1.2, 1.75, 75.0, limit_nodes=(0.5, 1.5))


def test_events_of_a_step_place_the_feet():
    step = Step(0.6, 1.2, 1.75, 75.0)
    assert step.duration == 0.5 and step.place("heel_r") == (0.0, 0.05)
    assert step.place("heel_l") == (-0.6, -0.05)
    assert np.allclose(step.contacts["ball_l"], [0.12, 0.24])
    assert step.sole["toe"] == pytest.approx(0.152 * 1.75)
