"""A stride with predicted contact: equal sides walk as a mirrored step, and either leg has its own cycle."""

import csv

import numpy as np
import pytest
from library_solutions import once_in_a_run

import trajopt
from problems import gait, gait_stride
from problems.human import plot
from problems.human.assessment.criteria import credibility
from problems.human.assessment.exports import export
from problems.human.assessment.whole_body import step_lengths, whole_body
from problems.human.body.model import ACTIVE, other_side, skeleton, step_symmetry
from problems.human.body.person import Person
from problems.human.gait.cycle import gait_cycle
from problems.human.gait.formulation import PREDICTED
from problems.human.gait.step import Step
from problems.human.gait.step_limits import StepLimits
from problems.human.opensim.osim_model import osim_model
from problems.human.predicted.feet import with_ball_edges
from problems.human.predicted.predicted_step import predicted_step
from problems.human.predicted.stances import POINTS, STANCES, STRIDE, step_trajectory
from trajopt.base.errors import OptionError

AFTER_ONE = trajopt.Ipopt(max_iterations=1)


@pytest.fixture(scope="module")
def limp():
    """A weak right ankle and 4 kg in the right hand after one iteration: periodic, not optimal."""

    def solve():
        problem = gait_stride.build(contact="predicted", ankle_strength=0.4, hand_load=4.0, intervals=1)
        return trajopt.solve(problem, AFTER_ONE, refine=None, progress="silent")

    return once_in_a_run("limp", solve)


@pytest.mark.long
def test_the_search_for_a_stride_starts_from_a_step_and_its_mirror_image():
    """Forces of the left foot in its own step are those of the right one in its own, mirrored."""
    problem = gait_stride.build(contact="predicted", intervals=1)
    arcs = np.arange(len(STANCES)) + 0.5
    first, second = (np.asarray(problem.guessed_curve((arcs + k) / len(STRIDE))) for k in (0, len(STANCES)))
    n, names = problem.dynamics.n, problem.dynamics.joint_names
    knees = [names.index(f"knee_{side}_flex") for side in "rl"]
    np.testing.assert_allclose(second[:, knees], first[:, knees[::-1]], atol=1e-12)
    sizes = np.cumsum([n, *problem.extra_widths.values()])[:-1]
    place = dict(zip(problem.extra_widths, sizes, strict=True))
    for right, left in zip(POINTS[:4], POINTS[4:], strict=True):
        here, there = place[f"push {right}"], place[f"push {left}"]
        mirrored = first[:, [here + 1, here, here + 2, here + 3]]
        np.testing.assert_allclose(second[:, there : there + 4], mirrored, atol=1e-12)
    assert first[:, n:].max() > 0.1  # body weights


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"heel_off": 0.6}, "heel_off is 0.6, but the contact is predicted"),
        ({"contact": "predicted", "cost": "thesis"}, "the cost 'thesis' has imposed contact"),
        ({"contact": "imposed", "tendons": True}, "tendons are for contact='predicted' only"),
    ],
)
def test_a_stride_refuses_what_its_contact_cannot_use(given, message):
    with pytest.raises(OptionError, match=message):
        gait_stride.build(**given)


def test_the_mirror_image_of_a_person_has_load_and_weakness_on_the_other_side():
    person = Person(hand_load=4.0, strength={"ankle_r_dorsi": 0.4})
    image = person.mirrored
    assert list(person.carried) == ["hand_r"] and list(image.carried) == ["hand_l"]
    assert image.strength == {"ankle_l_dorsi": 0.4} and image.mirrored == person


@pytest.fixture(scope="module")
def step():
    def solve():
        problem = gait.build(contact="predicted", intervals=1, step_length=0.65)
        return trajopt.solve(problem, refine=None, progress="silent")

    return once_in_a_run("predicted step of one interval", solve)


@pytest.mark.long
def test_the_left_leg_of_a_mirrored_step_walks_as_the_right_one(step):
    cycle = gait_cycle(step, 21)
    left = cycle.of_left_leg
    assert list(cycle.legs) == ["both"] and cycle.other_strike == 50.0
    np.testing.assert_allclose(left.q[:21], cycle.q[:21] + (left.q[0] - cycle.q[0]), atol=1e-9)
    np.testing.assert_allclose(left.reaction("r")[:21, 3:], cycle.reaction("r")[:21, 3:], atol=1e-6)
    assert step_lengths(cycle) == pytest.approx((0.65, 0.65), abs=1e-6)


@pytest.mark.long
def test_the_cycle_of_the_left_leg_has_its_torques_and_ends_as_it_began(limp):
    """Torques in the mirror are those of the motion, of a body whose load has changed hands, too."""
    cycle = gait_cycle(limp, 41)
    left = cycle.of_left_leg
    bodies = whole_body(cycle), whole_body(left)
    strike = int(np.argmin(np.abs(cycle.percent - cycle.other_strike)))
    for joint in ("hip_{}_add", "knee_{}_flex", "elbow_{}_flex"):
        mirrored, plain = (
            body.torque(joint.format(side)) for body, side in zip(bodies[::-1], "rl", strict=True)
        )
        np.testing.assert_allclose(mirrored[: cycle.time.size - strike], plain[strike:], atol=1e-8)
    forward = cycle.joint_names.index("global_tx")
    moved = left.q[-1] - left.q[0]
    assert moved[forward] == pytest.approx(1.2) and np.abs(np.delete(moved, forward)).max() < 1e-9
    assert np.all(np.diff(left.time) >= 0.0) and left.time[-1] == pytest.approx(1.0)
    assert sum(step_lengths(cycle)) == pytest.approx(1.2)


@pytest.mark.long
def test_figures_criteria_and_tables_have_both_legs(limp, tmp_path):
    knee = plot.angles(limp).axes[2]
    curves = [line for line in knee.lines if line.get_zorder() == 5]
    cycles = gait_cycle(limp).legs
    for line, cycle in zip(curves, cycles.values(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), cycle.angle("knee_r_flex"))
    names = [each.name.partition(": ") for each in credibility(limp)]
    right, left = ([name for leg, _, name in names if leg == side] for side in ("right", "left"))
    assert right == left and len(right) + len(left) == len(names) > 20
    export(limp, tmp_path, 11)
    with (tmp_path / "cycle.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    knee = cycles["left"].angle("knee_r_flex")
    assert float(rows[0]["left_knee_angle_deg"]) == pytest.approx(knee[0], abs=3.0)
    assert {"right_hip_force_bw", "left_hip_force_bw"} <= rows[0].keys()


def curves(problem):
    """Names of joints and of the components of forces."""
    forces = [f"{name} {i}" for name, width in problem.extra_widths.items() for i in range(width)]
    return [*problem.dynamics.joint_names, *forces]


def image_of(name):
    """The curve on the other side that is this one in the mirror: friction edges 0 and 1 change places."""
    swapped = other_side(name.replace(" ", "_0_")).replace("_0_", " ")
    if name.startswith("stretch"):
        return swapped
    if not name.startswith("push"):
        return name
    return swapped[:-1] + {"0": "1", "1": "0"}.get(swapped[-1], swapped[-1])


@pytest.mark.long
def test_a_mirrored_step_and_its_image_are_a_stride_of_equal_sides(step):
    """Its rows hold and its cost is twice that of the step, though lengths and times of steps are free."""
    problem = gait_stride.build(contact="predicted", intervals=1, step_length=0.65)
    known, wanted = curves(step.problem), curves(problem)
    signs, order, offset = step_symmetry(step.joint_names, 0.65)

    def column(values, name):
        return values[:, known.index(name)] if name in known else np.zeros(len(values))

    def curve(s):
        along = 2.0 * np.asarray(s, dtype=float)
        second = along > 1.0
        values = np.asarray(step.curve.at_progress(along - second))
        q = values[:, : order.size]
        mirrored = np.concatenate([signs * q[:, order] + offset, values[:, order.size :]], axis=1)
        plain, image = (
            np.stack([column(x, name_of(name)) for name in wanted], axis=1)
            for x, name_of in ((values, str), (mirrored, image_of))
        )
        return np.where(second[:, None], image, plain)

    problem.guess(q=curve, duration=np.tile(step.curve.durations, 2))
    nlp = trajopt.transcribe(problem)
    assert step.converged
    assert nlp.objective(nlp.start) / nlp.objective_scale == pytest.approx(2.0 * step.objective, rel=1e-6)
    rows = nlp.rows(nlp.start)
    assert max((nlp.row_lower - rows).max(), (rows - nlp.row_upper).max()) < 1e-4


@pytest.mark.long
def test_our_exported_skeleton_walks_with_predicted_contact_as_ours_does(step, tmp_path):
    path = tmp_path / "body.osim"
    osim_model(skeleton(), 1.0).write(path, encoding="utf-8", xml_declaration=True)
    problem = gait.build(contact="predicted", intervals=1, step_length=0.65, model=str(path))
    own = trajopt.solve(problem, refine=None, progress="silent")
    assert own.converged and own.objective == pytest.approx(step.objective, rel=1e-3)


@pytest.mark.long
def test_a_model_without_arms_walks_without_their_constraints():
    legs = with_ball_edges(
        skeleton(moving=[each for each in ACTIVE if not each.startswith(("should", "elb"))]), 0.04
    )
    step = Step(0.65, 1.2, 1.75, 75.0, line=0.06)
    problem = predicted_step(
        "legs", Person(), (step,), StepLimits(sole=0.04), constraints=PREDICTED.constraints,
        mesh=step_trajectory(step.duration, 1), weights=PREDICTED.weights,
        smoothness=PREDICTED.smoothness, body=legs,
    )  # fmt: skip
    names = " ".join(each.name for each in problem.constraints)
    assert "arm" not in names and "wrist" not in names and "torque limits" in names
