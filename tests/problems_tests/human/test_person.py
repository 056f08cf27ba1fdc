"""People and what they carry: masses add up, and the whole skeleton carries what the solve knows of."""

import numpy as np
import pytest
from tiers import every

import dynamics
import trajopt
from problems import gait, gait_stride, planar_walker
from problems.human.assessment.identities import identities, mean_reaction
from problems.human.assessment.whole_body import whole_body
from problems.human.body.model import ACTIVE, GRAVITY
from problems.human.body.person import PACK_CENTRE, PACK_SIZE, Person, ProportionsWarning
from problems.human.gait.cycle import gait_cycle
from problems.human.gait.reach import longest_step
from problems.human.gait.step import Step, UntestedSpeedWarning
from trajopt.base.errors import OptionError, ProblemError


def body(model, name):
    return next(each for each in model.bodies if each.name == name)


def test_a_pack_adds_its_mass_and_the_moments_of_its_box_to_the_upper_thorax():
    plain, packed = (Person(backpack=mass).skeleton() for mass in (0.0, 15.0))
    before, after = body(plain, "thorax_upper"), body(packed, "thorax_upper")
    assert after.mass - before.mass == pytest.approx(15.0)
    place = 1.75 * np.array(PACK_CENTRE)
    centre = (before.mass * before.centre_of_mass + 15.0 * place) / after.mass
    assert np.allclose(after.centre_of_mass, centre)
    depth, height, width = PACK_SIZE
    own = 15.0 / 12.0 * np.array([height**2 + width**2, depth**2 + width**2, depth**2 + height**2])
    apart = place - before.centre_of_mass
    reduced = before.mass * 15.0 / after.mass
    expected = before.inertia + np.diag(own) + reduced * (apart @ apart * np.eye(3) - np.outer(apart, apart))
    assert np.allclose(after.inertia, expected)


def test_merged_and_whole_skeletons_carry_the_same_pack():
    """Gravity on both gives the same base wrench, which knows mass and centre."""
    person = Person(1.8, 80.0, backpack=12.0, hand_load=3.0)
    wrenches = []
    for moving in (ACTIVE, None):
        model = person.skeleton(moving)
        zero = np.zeros((1, model.n))
        wrenches.append(dynamics.base_wrench(model, zero, zero, zero)[0])
    assert np.allclose(*wrenches, atol=1e-9)
    assert wrenches[0][4] == pytest.approx(95.0 * GRAVITY)


@pytest.mark.long
@pytest.mark.parametrize("build", [gait.build, gait_stride.build])
@pytest.mark.parametrize("speed", [0.79, 3.0])
def test_a_speed_at_which_no_walk_was_compared_with_people_is_told(build, speed):
    message = rf"compared with people at 0\.8 to 1\.6 m/s, not at {speed:g} m/s"
    with pytest.warns(UntestedSpeedWarning, match=message) as told:
        build(speed=speed, cost="thesis")
    assert told[0].filename == __file__
    build(speed=1.6, cost="thesis")  # warnings are errors


@pytest.mark.long
@pytest.mark.parametrize("build", [gait.build, gait_stride.build])
def test_a_mass_without_a_height_keeps_the_proportions_and_says_so(build):
    """Lengths with the cube root of the mass: body and adult have the same density."""
    with pytest.warns(
        ProportionsWarning, match=r"no height was given for 30 kg: 1\.29 m keeps the proportions"
    ):
        problem = build(mass=30.0, cost="thesis")
    tall, small = 1.75, 1.75 * 0.4 ** (1 / 3)
    points = [
        dynamics.forward_kinematics(model, np.zeros(model.n), ["head"]).position[0]
        for model in (problem.dynamics, build(cost="thesis").dynamics)
    ]
    assert np.allclose(points[0] / small, points[1] / tall)
    assert Person.of(problem.recipe.parameters, problem.dynamics).height == pytest.approx(small)
    assert build(mass=30.0, height=1.3, cost="thesis").recipe.parameters["height"] == 1.3


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::problems.human.gait.formulation.ImposedContactWarning")
def test_a_packed_walker_is_told_in_weights_of_the_body_and_balances():
    """Not optimal after one iteration, but periodic: on average the ground carries body and pack."""
    step = trajopt.solve(
        gait.build(backpack=15.0, contact="imposed"), trajopt.Ipopt(max_iterations=1), progress="silent"
    )
    cycle = gait_cycle(step, 61)
    assert cycle.mass == pytest.approx(75.0) and cycle.person.total_mass == pytest.approx(90.0)
    assert all(each.met for each in identities(step))
    carried = whole_body(cycle).model
    assert sum(each.mass for each in carried.bodies) == pytest.approx(90.0)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::problems.human.gait.formulation.ImposedContactWarning")
@pytest.mark.parametrize("slope", [-0.1, 0.08])
def test_on_a_slope_the_ground_carries_the_weight_along_and_across_it(slope):
    """One iteration is not optimal, but periodic: the mean reaction is the weight in axes of the ground."""
    step = trajopt.solve(
        gait.build(slope=slope, contact="imposed"), trajopt.Ipopt(max_iterations=1), progress="silent"
    )
    assert all(each.met for each in identities(step))
    body = whole_body(gait_cycle(step, 11))
    assert body.model.gravity[0] / body.model.gravity[1] == pytest.approx(slope)
    assert np.linalg.norm(body.model.gravity) == pytest.approx(GRAVITY)
    mean = mean_reaction(step) / (75.0 * GRAVITY)
    assert mean[0] / mean[1] == pytest.approx(slope) and np.hypot(*mean[:2]) == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::problems.human.gait.formulation.ImposedContactWarning")
@every(
    "parameters, kind, message",
    [
        ({"backpack": -1.0}, ProblemError, r"the backpack is -1 kg: give a number from 0 to 2 times"),
        ({"backpack": 200.0}, ProblemError, r"the backpack is 200 kg"),
        ({"height": "tall"}, OptionError, "the height of the person is 'tall': give a number in m, or None"),
        (
            {"height": 1.75, "mass": 300.0},
            ProblemError,
            r"the mass of the person is 300 kg: give 20 to 130 kg",
        ),
        ({"slope": 0.5}, ProblemError, r"the slope of the ground is 0\.5: give -0\.3 to 0\.3 m a metre"),
        ({"height": -1.0}, ProblemError, r"the height of the person is -1 m"),
        ({"mass": 0.0, "height": 1.75}, ProblemError, r"the mass of the person is 0 kg"),
        ({"smoothness": -1e-6}, OptionError, "smoothness is -1e-06: give a weight that is not negative"),
        (
            {"contact": "imposed", "contact_samples": "few"},
            OptionError,
            "held at few times: two is the least",
        ),
        (
            {"contact": "imposed", "contact_samples": 2.5},
            OptionError,
            r"held at 2\.5 times: two is the least",
        ),
        (
            {"contact": "imposed", "contact_samples": 12},
            OptionError,
            "at 12 times by curves of 8 control points: give fewer",
        ),
        ({"foot_line": -0.1}, ProblemError, r"the line of each foot is -0\.1 m from the middle"),
        (
            {"foot_line": 1.0},
            ProblemError,
            r"the line of each foot is 1\.0 m from the middle: give 0 to 0\.5",
        ),
        ({"speed": 0.0}, ProblemError, r"the speed is 0\.0 m/s: give more than 0, up to 10"),
        ({"speed": 36.0}, ProblemError, r"the speed is 36\.0 m/s: give more than 0, up to 10"),
        (
            {"contact": "imposed", "swing_knee": (55.0, float("inf"))},
            ProblemError,
            r"\(55\.0, inf\) degrees: .* from 0 to 160",
        ),
        ({"foot_line": "wide"}, OptionError, r"foot_line is 'wide': give a number, or None for 0\.0602"),
        ({"toe_out": 60.0}, ProblemError, r"feet point outward by 60\.0 degrees: give -45 to 45"),
        ({"toe_out": float("nan")}, ProblemError, "feet point outward by nan degrees"),
        ({"friction": -0.5}, ProblemError, r"the ground's friction is -0\.5: give a positive number"),
        (
            {"contact": "imposed", "penetration": -1e-3},
            ProblemError,
            r"the penetration is -0\.001 m: give a number from 0",
        ),
        ({"contact": "imposed", "contact_drift": float("inf")}, ProblemError, "the contact drift is inf m"),
        ({"sole": -0.04}, ProblemError, r"half the width of the sole is -0\.04 m: give more than"),
        ({"sole": 0.004}, ProblemError, r"more than the contact drift of 0\.005 m, up to 0\.1 m, or 0"),
        ({"sole": 0.2}, ProblemError, r"half the width of the sole is 0\.2 m"),
        (
            {"contact": "imposed", "swing_knee": (70.0, 50.0)},
            ProblemError,
            r"the swinging knee is bent by \(70\.0, 50\.0\) degrees",
        ),
        ({"contact": "imposed", "heel_off": 0.2}, ProblemError, "the events of the step are foot flat"),
    ],
    fast=6,
)
def test_people_and_steps_that_cannot_be_are_refused(parameters, kind, message):
    with pytest.raises(kind, match=message):
        gait.build(**parameters)


@pytest.mark.parametrize("build", [gait.build, gait_stride.build, planar_walker.build])
def test_a_step_longer_than_both_legs_is_refused_before_any_solve(build):
    with pytest.raises(
        ProblemError, match=r"a step of 2 m is beyond the legs .* double support, with both knees"
    ):
        build(step_length=2.0)


@pytest.mark.parametrize("toes_bend", [True, False])
def test_no_posture_spans_more_than_the_longest_step(toes_bend):
    """Random postures with straight knees and the hips as low as they may be."""
    step = Step(0.6, 1.2, 1.75, 75.0, toes_bend=toes_bend)
    model, rng = Person().skeleton(), np.random.default_rng(7)
    lower, upper = model.limits.q_lower.copy(), model.limits.q_upper.copy()
    turning = [i for i, name in enumerate(model.joint_names) if not name.startswith(("knee", "global_t"))]
    q = np.zeros((20_000, model.n))
    q[:, turning] = rng.uniform(lower[turning], upper[turning], (20_000, len(turning)))
    q[:, model.joint_names.index("global_ty")] = 0.7
    places = dynamics.forward_kinematics(model, q, ["heel_r", "ball_l", "toe_l"]).position
    behind = places[:, 1 if toes_bend else 2]
    # A foot below the ground is farther down from its hip than one on it, and so not farther along.
    low = (places[:, 0, 1] < 0.02) & (behind[:, 1] < 0.02)
    point = step.sole["ball" if toes_bend else "toe"]
    spans = places[low, 0, 0] - behind[low, 0] + point
    assert low.sum() > 20 and spans.max() < longest_step(step)


@pytest.mark.thorough("test_what_cannot_be_walked_ends_early_and_names_joint_and_phase stands for it")
@pytest.mark.filterwarnings("ignore::problems.human.gait.formulation.ImposedContactWarning")
@pytest.mark.parametrize("parameters", [{"speed": 6.0, "contact": "imposed"}])
def test_a_step_that_nobody_can_take_ends_and_says_where_it_fails(parameters):
    """IPOPT ends where the violation is least or creeps along a flat valley of it: rounding decides which."""
    with pytest.warns(UntestedSpeedWarning):
        problem = gait.build(**parameters)
    solution = trajopt.solve(problem, progress="silent")
    assert solution.status in (trajopt.Status.INFEASIBLE, trajopt.Status.ITERATION_LIMIT)
    assert solution.journal.starts is None  # another minute for each further guess would find nothing
    report = solution.verify()
    torques = [each for each in report.violations if each.name == "torque limits"]
    worst = max(torques, key=lambda each: max(each.node_relative, each.dense_relative))
    assert worst.component in solution.joint_names and 0.0 <= worst.dense_time <= solution.duration
    assert worst.dense_violation > 15.0 and worst.component in report.table  # N m
    stances = [each for each in report.violations if " stands at " in each.name]
    assert max(each.node_violation for each in stances) > 1e-3  # m
