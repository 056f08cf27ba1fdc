"""A stride of two steps without a mirror: equal sides give the mirrored walk again, unequal ones a limp."""

import numpy as np
import pytest
from taylor_slopes import slopes

import trajopt
from problems import gait, gait_stride
from problems.human.assessment.identities import identities
from problems.human.body.model import other_side, skeleton, step_symmetry
from problems.human.gait.cycle import gait_cycle
from problems.human.gait.step import Step
from trajopt.base.errors import NotFiniteError, ProblemError

STEP = Step(0.6, 1.2, 1.75, 75.0)


@pytest.fixture(scope="module")
def nlp():
    return trajopt.transcribe(gait_stride.build(cost="thesis"))


def mirrored_twice(solution):
    """The stride that a mirrored step makes, as a curve over its normalised time."""
    signs, order, offset = step_symmetry(tuple(solution.joint_names), STEP.length)

    def curve(s):
        along = 2.0 * np.asarray(s, dtype=float)
        second = (along > 1.0)[:, None]
        q = solution.q((along - second[:, 0]) * solution.duration)
        return np.where(second, signs * q[:, order] + offset, q)

    return curve


def test_the_second_step_is_the_first_one_on_the_other_side_and_further_on():
    first, second = STEP.steps(2)
    assert (first.leads, second.leads, second.number, second.begins) == ("r", "l", 1, 0.5)
    for point in ("heel_r", "ball_l", "toe_r"):
        x, z = first.place(point)
        assert second.place(other_side(point)) == pytest.approx((x + 0.6, -z))
    assert first.place("ball_r") == second.place("ball_r")  # the foot that stands stays where it is
    assert np.allclose(second.reaction_split.between, first.reaction_split.between * [1, 1, -1])


@pytest.mark.long
def test_feet_share_the_reaction_through_both_steps_without_a_jump():
    """The right foot is loaded, carries all, is unloaded, and swings."""
    problem = gait_stride.build(cost="thesis", without="continuous reaction")
    nlp = trajopt.transcribe(problem)
    values = nlp.at(nlp.start + 0.01 * np.random.default_rng(5).standard_normal(nlp.variable_count)).values
    right, left, base = (values[key] for key in ("load:hindfoot_r", "load:hindfoot_l", "base_wrench"))
    assert np.allclose(right + left, base, atol=1e-9)
    part, t = right[:, 4] / base[:, 4], problem.trajectory.nodes.arc + problem.trajectory.nodes.s
    assert part[0] == pytest.approx(0.0) and part[-1] == pytest.approx(0.0)
    assert np.allclose(part[(t >= 0.24) & (t <= 1.0)], 1.0) and np.allclose(part[t >= 1.24], 0.0, atol=1e-12)
    assert np.all(np.diff(part[(t > 0.0) & (t < 0.24)]) > 0.0)


@pytest.mark.long
def test_derivatives_of_a_stride_are_exact(nlp):
    rng = np.random.default_rng(55)
    y = nlp.start + 0.01 * rng.standard_normal(nlp.variable_count)
    multipliers = rng.standard_normal(nlp.row_count) / nlp.row_count
    first, second = slopes(nlp, y, rng.standard_normal(nlp.variable_count), multipliers)
    assert first == pytest.approx(2.0, abs=0.05) and second == pytest.approx(2.0, abs=0.05)


@pytest.mark.long
def test_two_arcs_of_six_control_points_of_which_position_is_continuous_and_repeats(nlp):
    assert nlp.variable_count == 2 * 38 * 6 - 2 * 38
    names = {group.name for group in nlp.groups}
    assert {"velocity repeats", "continuity of v"} <= names
    assert "ground reaction continuous over the step boundary, step 1" in names


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hand_load": -1.0}, r"the load in the hand is -1 kg: give a number from 0 to 2 times"),
        ({"knee_stiffness": -1.0}, r"the knee's stiffness is -1\.0 N m/rad"),
        ({"ankle_strength": 0.0}, r"the strength left in 'ankle_r_dorsi' is 0: give 0 < part <= 1"),
        ({"knee_strength": 1.5}, r"the strength left in 'knee_r_flex' is 1\.5"),
    ],
)
def test_sides_that_cannot_be_are_refused(parameters, message):
    with pytest.raises(ProblemError, match=message):
        gait_stride.build(**parameters)


def test_a_load_that_is_no_number_is_refused():
    with pytest.raises(NotFiniteError, match="parameter 'hand_load' of gait_stride is NaN"):
        gait_stride.build(hand_load=np.nan)


@pytest.mark.long
def test_a_weaker_joint_has_smaller_limits_and_a_load_hangs_in_the_right_hand():
    plain, changed = (
        gait_stride.build(cost="thesis", **p).dynamics
        for p in ({}, {"ankle_strength": 0.5, "hand_load": 4.0})
    )
    right, left = (plain.joint_names.index(f"ankle_{side}_dorsi") for side in "rl")
    assert changed.limits.torque_lower[right] == pytest.approx(0.5 * plain.limits.torque_lower[right])
    assert changed.limits.torque_lower[left] == plain.limits.torque_lower[left]
    gained = {
        body.name: body.mass - before.mass for body, before in zip(changed.bodies, plain.bodies, strict=True)
    }
    assert {name for name, mass in gained.items() if mass} == {"forearm_r"}
    assert sum(gained.values()) == pytest.approx(4.0)


@pytest.mark.thorough("test_a_mirrored_step_and_its_image_are_a_stride_of_equal_sides stands for it")
def test_equal_sides_walk_as_the_mirrored_step_does():
    """By the thesis's cost, whose strides are solved in a quarter of the time."""
    solution = trajopt.solve(gait.build(cost="thesis"), progress="silent", refine=None)
    problem = gait_stride.build(cost="thesis")
    problem.guess(q=mirrored_twice(solution), duration=2.0 * solution.duration)
    stride = trajopt.solve(problem, progress="silent", refine=None)
    assert solution.converged and stride.converged
    assert stride.objective == pytest.approx(2.0 * solution.objective, rel=5e-3)
    alone = trajopt.solve(gait_stride.build(cost="thesis", start="standing"), progress="silent", refine=None)
    assert alone.converged and alone.objective == pytest.approx(2.0 * solution.objective, rel=2e-2)


@pytest.mark.thorough("the limp of test_predicted_stride stands for it")
def test_a_limp_is_a_cycle_with_its_own_halves():
    stride = trajopt.solve(gait_stride.build(cost="thesis", ankle_strength=0.4), progress="silent")
    assert stride.converged and all(each.met for each in identities(stride))
    cycle = gait_cycle(stride, 101)
    assert cycle.time.size == 101 and cycle.step_length == pytest.approx(0.6)
    # Forces of the two sides differ between local optima; what the weak ankle cannot give does not.
    t = np.linspace(0.0, stride.duration, 401)
    names = list(stride.joint_names)
    right, left = (np.abs(stride.tau(t)[:, names.index(f"ankle_{side}_dorsi")]).max() for side in "rl")
    strongest = -skeleton().limits.torque_lower[skeleton().joint_names.index("ankle_r_dorsi")]
    assert right < 0.4 * strongest + 1.0 and left > 0.4 * strongest + 5.0
