"""Walking by a cost whose terms have sources: each term against its own definition, then the walk."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import trapezoid
from taylor_slopes import slopes
from tiers import every

import trajopt
from problems import gait, gait_stride
from problems.human.assessment.criteria import credibility, table
from problems.human.assessment.free_body import motion
from problems.human.assessment.identities import identities
from problems.human.assessment.score import mean_correlation, scores
from problems.human.body.angle_strength import BY_JOINT, LEAST, strength_at
from problems.human.body.model import ACTIVE, GLOBAL, GRAVITY, SAGITTAL, skeleton
from problems.human.body.person import Person
from problems.human.gait import gait_solver
from problems.human.gait.cycle import gait_cycle
from problems.human.gait.force_rate import REACTION
from problems.human.gait.formulation import DEFAULT, FORMULATIONS, POSTURE_DEMANDS
from problems.human.gait.gait_solver import PATIENCE, PATIENCE_IF_FINER, imposed_gait_solver
from problems.human.gait.passive_moments import LUMBAR, passive_leg_moments
from problems.human.gait.sourced_cost import (
    PELVIS,
    CostWeights,
    minimize_sourced_cost,
    muscle_effort,
    muscle_power,
    muscle_torques,
    turning_accelerations,
)
from problems.human.gait.step import Step, UntestedSpeedWarning
from trajopt.base.errors import OptionError, ProblemError

MODEL = skeleton(moving=ACTIVE)
LIMITS = MODEL.limits

# Some are of imposed contact with the cost with sources, which warns.
pytestmark = pytest.mark.filterwarnings("ignore::problems.human.gait.formulation.ImposedContactWarning")


def at(joint):
    return MODEL.joint_names.index(joint)


def node(**values):
    found = SimpleNamespace(**{name: np.zeros(MODEL.n) for name in ("q", "v", "a", "tau")})
    for name, entries in values.items():
        for joint, value in entries.items():
            getattr(found, name)[at(joint)] = value
    return found


def test_muscles_rest_where_passive_moments_supply_the_torque():
    q = {"hip_r_flex": 0.4, "knee_r_flex": 0.3, "ankle_r_dorsi": 0.1, "hip_l_flex": -0.2}
    angles = dict.fromkeys(MODEL.joint_names, 0.0) | q
    for person in (Person(), Person(1.3, 30.0)):
        passive = passive_leg_moments(angles, "r") | passive_leg_moments(angles, "l")
        passive |= dict.fromkeys(LUMBAR, passive["hip_r_flex"] + passive["hip_l_flex"])
        tau = {joint: person.size * moment for joint, moment in passive.items()}
        # The elbow rests at 20 degrees.
        tau |= {f"elbow_{side}_flex": person.size * 8.67 * np.deg2rad(20.0) for side in "rl"}
        found = muscle_torques(MODEL, person)(node(q=q, tau=tau))
        assert len(found) == MODEL.n - len(GLOBAL)
        assert np.allclose(list(found.values()), 0.0, atol=1e-12)


@pytest.mark.parametrize("lumbar", LUMBAR)
def test_a_pelvis_that_tilts_between_trunk_and_thighs_takes_no_work_of_passive_moments(lumbar):
    """Both hips flex as fast as the spine extends: nothing between thighs and trunk changes its length."""
    q = {"hip_r_flex": -0.3, "knee_r_flex": 0.2, "hip_l_flex": 0.4, "ankle_l_dorsi": -0.1}
    rates = {"hip_r_flex": 1.5, "hip_l_flex": 1.5, lumbar: -1.5}
    muscles = muscle_torques(MODEL, Person())(node(q=q))
    assert abs(muscles[at("hip_r_flex")]) > 5.0
    assert sum(muscles[at(joint)] * rate for joint, rate in rates.items()) == pytest.approx(0.0, abs=1e-12)


def test_a_relaxed_arm_takes_energy_from_its_swing():
    """Damping alone moves the muscles' part of a torque against the velocity, on both sides alike."""
    rates = {joint: 2.0 for joint in MODEL.joint_names if joint.startswith(("shoulder", "elbow"))}
    rest = {f"elbow_{side}_flex": np.deg2rad(20.0) for side in "rl"}
    found = muscle_torques(MODEL, Person())(node(q=rest, v=rates))
    for joint in rates:
        assert found[at(joint)] > 0.04 and found[at(joint)] == found[at(joint.replace("_r_", "_l_"))]


def test_a_body_whose_arms_are_held_has_the_passive_moments_of_its_legs():
    planar = skeleton(moving=SAGITTAL)
    still = SimpleNamespace(**{name: np.zeros(planar.n) for name in ("q", "v", "a", "tau")})
    moments = passive_leg_moments(dict.fromkeys(planar.joint_names, 0.0), "r")
    found = muscle_torques(planar, Person())(still)
    assert len(found) == 6
    for joint, moment in moments.items():
        assert found[planar.joint_names.index(joint)] == -moment


def test_without_springs_muscles_give_all_and_further_stiffness_helps_them():
    here = node(q={"knee_r_flex": 0.5}, tau={"knee_r_flex": 7.0, "hip_l_add": 3.0})
    plain = muscle_torques(MODEL, Person(), springs=False)(here)
    assert (
        plain[at("knee_r_flex")] == 7.0 and plain[at("hip_l_add")] == 3.0 and plain[at("elbow_r_flex")] == 0.0
    )
    stiff = muscle_torques(MODEL, Person(), springs=False, stiffer={"knee_r_flex": 10.0})(here)
    assert stiff[at("knee_r_flex")] == pytest.approx(7.0 + 10.0 * (0.5 - np.deg2rad(5.0)))


# The angle in degrees at which muscles are strongest, forward and backward, in table 3 of Anderson et al.
BEST = {"hip_r_flex": (-12.3, 53.4), "knee_r_flex": (29.9, 64.9), "ankle_l_dorsi": (-10.7, 23.4)}


@pytest.mark.parametrize("joint", BEST)
@pytest.mark.parametrize("torque", [-60.0, 60.0])
def test_effort_is_relative_to_the_strength_in_the_direction_of_the_muscle(joint, torque):
    effort = muscle_effort(MODEL, muscle_torques(MODEL, Person(), springs=False), 2.0)
    strength = (LIMITS.torque_upper if torque > 0.0 else LIMITS.torque_lower)[at(joint)]
    best = np.deg2rad(BEST[joint][torque < 0.0])
    found = float(effort.function(node(tau={joint: torque}, q={joint: best})))
    assert found == pytest.approx((torque / strength) ** 2, rel=2e-2)
    for beside in (-0.5, 0.5):
        assert float(effort.function(node(tau={joint: torque}, q={joint: best + beside}))) > 1.05 * found


# Cosines of the printed formula, worked out by hand: hip at -10, knee at 20, ankle at 10 degrees, and
# coefficients that Anderson et al. found for extensors of hip and knee and for plantarflexors.
@pytest.mark.parametrize(
    ("joint", "degrees", "forward", "backward"),
    [
        ("hip_l_flex", -10.0, np.cos(0.738 * 0.0395), np.cos(0.958 * 1.1065)),
        ("knee_r_flex", 20.0, np.cos(0.869 * 0.1729), np.cos(1.258 * 0.7839)),
        ("ankle_r_dorsi", 10.0, np.cos(1.510 * 0.3615), np.cos(1.391 * 0.2335)),
        ("hip_r_add", 10.0, 1.0, 1.0),
    ],
)
def test_strength_by_angle_is_that_of_the_printed_formula(joint, degrees, forward, backward):
    assert np.allclose(strength_at(joint, np.deg2rad(degrees)), (forward, backward), atol=0.01)


@pytest.mark.parametrize("joint", [name for name in MODEL.joint_names if name in BY_JOINT])
def test_some_strength_is_left_at_every_angle_that_a_joint_can_take(joint):
    q = np.linspace(LIMITS.q_lower[at(joint)], LIMITS.q_upper[at(joint)], 201)
    for part in strength_at(joint, q):
        assert part.min() > LEAST and 0.99 < part.max() < 1.01


def test_power_is_the_work_of_muscles_either_way_and_rounded_off_at_zero():
    power = muscle_power(muscle_torques(MODEL, Person(), springs=False), 5.0)
    there, back = (
        float(power.function(node(tau={"hip_r_flex": 40.0}, v={"hip_r_flex": v}))) for v in (5.0, -5.0)
    )
    assert there == pytest.approx(back) and 200.0 - 5.0 < there < 200.0
    assert float(power.function(node())) == 0.0


def test_pelvis_and_head_are_kept_steady():
    term = turning_accelerations(MODEL).function
    assert term(node(a={"global_yaw": 2.0, "global_list": 1.0, "global_tilt": 3.0})) == 2.0 * 14.0
    assert term(node(a={"global_yaw": 2.0, "spine1_rot": -1.5, "spine2_rot": -0.5})) == 4.0
    assert term(node(a={"hip_r_flex": 2.0, "global_tx": 1.0, "shoulder_r_add": 3.0})) == 0.0


def test_the_turning_of_the_head_is_its_angular_acceleration_in_walking_postures():
    """Against second derivatives of its orientation, at angles of up to 10 degrees: a tenth of its size."""
    whole, rng = skeleton(), np.random.default_rng(5)
    names = whole.joint_names
    q, v, a = (size * rng.uniform(-1.0, 1.0, (20, whole.n)) for size in (np.deg2rad(10.0), 0.3, 10.0))
    R, _, R_tt = motion(whole, q, v, a).rotation
    head = [body.name for body in whole.bodies].index("head")
    skewed = R_tt[:, head] @ R[:, head].transpose(0, 2, 1)
    exact = 0.5 * np.stack([skewed[:, i, j] - skewed[:, j, i] for i, j in ((2, 1), (0, 2), (1, 0))], axis=1)
    pelvis = np.sum(a[:, [names.index(name) for name in PELVIS]] ** 2, axis=1)
    term = turning_accelerations(whole).function
    found = [term(SimpleNamespace(a=each)) - own for each, own in zip(a, pelvis, strict=True)]
    sizes = np.sum(exact**2, axis=1)
    assert np.linalg.norm(np.sqrt(found) - np.sqrt(sizes)) < 0.1 * np.linalg.norm(np.sqrt(sizes))


def test_strength_and_passive_moments_grow_with_mass_times_height():
    child, adult = (Person(h, m).skeleton().limits for h, m in ((1.25, 25.0), (1.75, 75.0)))
    names = Person().skeleton().joint_names
    powered = [i for i, name in enumerate(names) if name not in GLOBAL]
    ratio = 25.0 * 1.25 / (75.0 * 1.75)
    assert np.allclose(child.torque_upper[powered], ratio * adult.torque_upper[powered])
    assert Person(1.25, 25.0).size == pytest.approx(ratio)


@pytest.mark.long
def test_the_cost_of_a_similar_motion_is_the_same_for_every_person():
    """Equal postures, velocities as sqrt(g / H), torques as m g H: the integrand has no unit."""
    rng = np.random.default_rng(3)
    q, v, a, tau = rng.uniform(-0.4, 0.4, (4, MODEL.n)) * [[1.0], [10.0], [50.0], [100.0]]
    found = []
    for person in (Person(), Person(1.3, 30.0)):
        slow, weak = person.height / 1.75, person.size
        here = SimpleNamespace(q=q, v=v / slow**0.5, a=a / slow, tau=tau * weak)
        problem = trajopt.Problem(person.skeleton(ACTIVE), trajopt.Trajectory.uniform(3, 3, 1.0, 5))
        minimize_sourced_cost(problem, person.skeleton(ACTIVE), person, CostWeights())
        found.append([each.weight * float(each.term.function(here)) for each in problem.costs])
    assert len(found[0]) == 3 and min(found[0]) > 0.0
    assert np.allclose(*found, rtol=1e-12)


@pytest.mark.long
def test_derivatives_of_the_sourced_cost_are_exact():
    nlp = trajopt.transcribe(gait.build())
    rng = np.random.default_rng(16)
    y = nlp.start + 0.01 * rng.standard_normal(nlp.variable_count)
    multipliers = rng.standard_normal(nlp.row_count) / nlp.row_count
    # Small steps: within 2 N m and 5 W terms change their curvature.
    direction = 0.01 * rng.standard_normal(nlp.variable_count) / nlp.variable_count**0.5
    first, second = slopes(nlp, y, direction, multipliers)
    assert first == pytest.approx(2.0, abs=0.05) and second == pytest.approx(2.0, abs=0.05)


@pytest.mark.long
@pytest.mark.parametrize("build", [gait.build, gait_stride.build])
def test_the_sourced_walk_demands_no_posture_and_clears_the_ground(build):
    names = " ".join(each.name for each in build(contact="imposed").constraints)
    assert "clears the ground" in names and "toe_l stands at 0.28 T" in names
    for absent in ("arms hang", "swinging knee bent", "swinging foot near its rest"):
        assert absent not in names
    former = " ".join(each.name for each in build(cost="thesis").constraints)
    assert "clears the ground" not in former and "toe_l stands" not in former and "arms hang" in former
    assert set(FORMULATIONS["thesis"].constraints) - set(FORMULATIONS["sourced"].constraints) == set(
        POSTURE_DEMANDS
    )


@every(
    "parameters, kind, message",
    [
        ({"cost": "sorced"}, OptionError, r"no cost of a gait is called 'sorced' \(did you mean 'sourced'"),
        ({"cost": ""}, OptionError, "no cost of a gait is called ''"),
        ({"power": -1.0}, OptionError, r"the weight of power is -1\.0: give a number from 0"),
        ({"steadiness": float("inf")}, OptionError, "the weight of steadiness is inf"),
        ({"force_rate": -1e-3}, OptionError, r"the weight of force_rate is -0\.001: give a number from 0"),
        (
            {"contact": "imposed", "clearance": -0.01},
            ProblemError,
            r"the clearance is -0\.01 m: give a number from 0",
        ),
        (
            {"contact": "imposed", "clearance": "high"},
            OptionError,
            r"clearance is 'high': give a number, or None for 0\.015",
        ),
        (
            {"contact": "imposed", "toe_off": "late"},
            OptionError,
            r"toe_off is 'late': give a number, or None for 0\.28",
        ),
        ({"smoothness": -1.0}, OptionError, "smoothness is -1"),
        ({"intervals": 2.5}, OptionError, r"intervals is 2\.5: give a whole number from 1, or None for 4"),
        ({"intervals": "many"}, OptionError, "intervals is 'many': give a whole number from 1, or None"),
        ({"intervals": float("inf")}, OptionError, "intervals is inf: give a whole number from 1, or None"),
        ({"intervals": 0, "cost": "thesis"}, OptionError, "intervals is 0: .* from 1, or None for 3"),
        ({"mass": 15.0, "height": 1.2}, ProblemError, r"the mass of the person is 15 kg: give 20 to 130 kg"),
        ({"mass": 200.0, "height": 1.9}, ProblemError, r"the mass of the person is 200 kg"),
        ({"height": 0.9}, ProblemError, r"the height of the person is 0\.9 m: give 1\.1 to 2 m"),
        ({"height": 2.3}, ProblemError, r"the height of the person is 2\.3"),
    ],
    fast=6,
)
def test_costs_and_persons_out_of_range_are_refused(parameters, kind, message):
    with pytest.raises(kind, match=message):
        gait.build(**parameters)
    if "clearance" not in parameters:
        return
    with pytest.raises(kind):
        gait.build(**dict(parameters, cost="thesis"))


@pytest.mark.long
@pytest.mark.parametrize("build", [gait.build, gait_stride.build])
def test_the_cost_decides_the_control_points_unless_they_are_given(build):
    """With imposed contact eight of each joint with sources, six in the thesis."""
    for given, points in (({}, 8), ({"cost": "thesis"}, 6), ({"intervals": 4}, 7)):
        parameters = {"contact": "imposed", **given}
        problem = build(**parameters)
        assert {arc.basis.greville.size for arc in problem.trajectory.arcs} == {points}
        assert problem.recipe.parameters["intervals"] == parameters.get("intervals")
    assert build().recipe.parameters["cost"] == DEFAULT == "sourced"


@pytest.mark.long
def test_weights_of_zero_leave_their_terms_out():
    assert CostWeights() == CostWeights(3.0, 0.07, 0.015)
    weights = dict.fromkeys(("power", "steadiness", "force_rate", "smoothness"), 0.0)
    imposed, predicted = (gait.build(contact=contact, **weights) for contact in ("imposed", None))
    for problem in (imposed, predicted):
        assert {each.name for each in problem.costs} == {"dynamic effort"}
    assert not imposed.extras  # no spline of the reaction


@pytest.mark.thorough("the imposed walks of test_gait stand for it")
def test_a_sourced_walk_is_human_without_demands_on_its_posture():
    """The Rajagopal trial's speed and step length, eight control points: nothing of its curves is given."""
    solution = trajopt.solve(gait.build(contact="imposed", speed=1.253, step_length=0.717), starts=1)
    report = solution.verify()
    assert solution.converged and report.holds, report.reason
    assert all(each.met for each in identities(solution))
    criteria = credibility(solution)
    assert sum(not each.met for each in criteria) <= 1, table(criteria)
    assert mean_correlation(scores(solution)) > 0.90
    cycle = gait_cycle(solution)
    middle = np.abs(cycle.percent - 7.0).argmin()  # of the first double support
    leading, trailing = (cycle.reaction(side)[middle, 3] / cycle.weight for side in "rl")
    assert leading < -0.05 and trailing > 0.05
    t = np.linspace(0.6, 0.9, 101) * solution.duration
    for point in ("ball_l", "toe_l"):
        assert solution.value(trajopt.position(point), t)[:, 1].min() > 0.010
    assert largest_share_on_limits(solution) < 0.10


@pytest.mark.thorough("the imposed walks of test_gait stand for it")
def test_a_walk_from_the_stored_one_is_as_good_as_the_best_of_two_starts_in_fewer_iterations():
    problem = gait.build(contact="imposed", start="measured")
    found = trajopt.solve(problem, refine=None)
    table = found.journal.starts.starts
    assert len(table) == problem.starts == 2 and found.converged
    assert found.objective <= table[0].solves[-1].objective * (1.0 + 1e-9)
    for slower in ({"cost": "thesis"}, {"intervals": 7}, {"contact_drift": 1.1e-3}):
        assert gait.build(**dict({"contact": "imposed", "start": "measured"}, **slower)).starts == 1
    near = trajopt.solve(gait.build(contact="imposed"), refine=None)
    assert near.converged and near.objective <= found.objective * (1.0 + 1e-3)
    assert near.iterations < 0.5 * found.iterations and near.journal.starts is None


@pytest.mark.thorough("the imposed walks of test_gait stand for it")
@pytest.mark.parametrize("start", ["measured", "solved"])
@pytest.mark.parametrize("intervals", [7, 11])
def test_walks_on_finer_motions_are_found_from_the_measured_start_and_from_a_stored_walk(intervals, start):
    """The walk of ten control points nears its constraints after 172 iterations; it was given up before."""
    assert trajopt.solve(
        gait.build(contact="imposed", intervals=intervals, start=start), starts=1, refine=None
    ).converged


@pytest.mark.thorough("the imposed walks of test_gait stand for it")
def test_a_backpack_leaves_the_arms_hanging():
    """With springs of 5 N m/rad and nothing else they swung up to the horizontal under 15 kg."""
    solution = trajopt.solve(gait.build(contact="imposed", backpack=15.0), starts=1)
    assert solution.converged and largest_share_on_limits(solution) < 0.05
    met = {each.name: each.met for each in credibility(solution)}
    assert met["shoulder, largest flexion either way"] and met["elbow, largest flexion either way"]


def largest_share_on_limits(solution):
    """The largest share of a motion in which a joint is within a thousandth of its range of a limit."""
    q, limits = solution.q(np.linspace(0.0, solution.duration, 1001)), solution.limits
    near = 1e-3 * (limits.q_upper - limits.q_lower)
    return np.mean((q <= limits.q_lower + near) | (q >= limits.q_upper - near), axis=0).max()


@pytest.mark.thorough("the imposed walks of test_gait stand for it")
def test_a_finer_motion_pushes_no_harder():
    """Twelve control points: without a cost of the rate of force the second peak is 1.49 body weights."""
    parameters = {"contact": "imposed", "intervals": 9, "speed": 1.253, "step_length": 0.717}
    solution = trajopt.solve(gait.build(**parameters), starts=1, refine=None)
    peaks = {each.name: each.value for each in credibility(solution)}
    assert solution.converged
    assert peaks["vertical reaction, second peak"] < 1.3
    t = np.linspace(0.0, solution.duration, 401)
    exact = solution.value(trajopt.Quantity("base_wrench"), t)[:, 3:] / (75.0 * GRAVITY)
    assert np.allclose(solution.value(trajopt.Quantity(f"extra:{REACTION}"), t), exact, atol=0.15)


@pytest.mark.thorough("the imposed walks of test_gait stand for it")
def test_muscles_lift_the_body_uphill_and_do_less_work_downhill():
    """Positive work up 8 % is at least the gain of potential energy; down it is less than on the level."""
    work = {}
    for slope in (-0.08, 0.0, 0.08):
        solution = trajopt.solve(gait.build(contact="imposed", slope=slope), starts=1, refine=None)
        assert solution.converged and all(each.met for each in identities(solution))
        t = np.linspace(0.0, solution.duration, 801)
        power = np.maximum(solution.tau(t) * solution.v(t), 0.0).sum(axis=1)
        work[slope] = trapezoid(power, t)
    climbed = 75.0 * GRAVITY * 0.6 * np.sin(np.arctan(0.08))
    assert work[0.08] > climbed and work[-0.08] < work[0.0] < work[0.08]


@pytest.mark.long
def test_what_cannot_be_walked_ends_early_and_names_joint_and_phase(monkeypatch):
    """Joint and phase are the same after 40 iterations as after `PATIENCE`, at a third of the time."""
    patience = 40
    monkeypatch.setattr(gait_solver, "PATIENCE", patience)
    with pytest.warns(UntestedSpeedWarning):
        problem = gait.build(contact="imposed", speed=4.0, step_length=0.7)
    fast = trajopt.solve(problem)
    assert fast.status is trajopt.Status.INFEASIBLE and fast.iterations <= patience
    named = r"torque limits, (hip|knee|ankle|shoulder)_[rl]_\w+ in (double|single) support with the right"
    assert fast.detail.startswith("no such step was found: ") and re.search(named, fast.detail)


@pytest.mark.thorough("test_what_cannot_be_walked_ends_early_and_names_joint_and_phase stands for it")
def test_a_clearance_that_nobody_reaches_ends_the_search_early_and_is_named():
    high = trajopt.solve(gait.build(contact="imposed", clearance=0.5))
    assert high.status is trajopt.Status.INFEASIBLE and high.iterations <= 2 * PATIENCE
    assert "_l clears the ground, y in single support with the right foot on the ground" in high.detail


def test_only_feet_that_are_held_loosely_end_a_search_early():
    steps = Step(0.6, 1.2, 1.75, 75.0).steps(1)
    assert imposed_gait_solver(steps, 5e-3, 7).patience == PATIENCE_IF_FINER
    assert [imposed_gait_solver(steps, drift, 5).patience for drift in (5e-3, 2.5e-3, 2.4e-3, 1.1e-3)] == [
        PATIENCE, PATIENCE, None, None,
    ]  # fmt: skip


def test_phases_of_two_steps_follow_each_other():
    solver = imposed_gait_solver(Step(0.6, 1.2, 1.75, 75.0).steps(2), 5e-3, 5)
    names, ends = zip(*solver.phases, strict=True)
    assert ends == pytest.approx([0.12, 0.5, 0.62, 1.0])
    assert "double support with the left foot in front" in names[2]
