"""A step whose contact is predicted: independent conditions, forces of the ground, events of people."""

import warnings
from importlib.resources import files

import numpy as np
import pytest
from library_solutions import solved_at_defaults
from scipy.integrate import simpson, trapezoid

import dynamics
import trajopt
from problems import gait, gait_stride
from problems.human.assessment.criteria import credibility
from problems.human.assessment.measured import WINTER
from problems.human.assessment.score import mean_correlation, scores
from problems.human.assessment.slip import sinking, slip
from problems.human.body.model import ACTIVE, standing
from problems.human.body.person import Person
from problems.human.body.tables import checked_rows
from problems.human.gait.cycle import gait_cycle
from problems.human.gait.formulation import OF_IMPOSED_CONTACT, PREDICTED, ImposedContactWarning
from problems.human.gait.step import Step, UntestedSpeedWarning
from problems.human.gait.step_constraints import STEP_CONSTRAINTS
from problems.human.predicted.feet import PLANTARFLEXORS, with_ball_edges, with_strong_plantarflexors
from problems.human.predicted.solved_walk import (
    ARC,
    COLUMNS,
    FILE,
    RUNS,
    TIME,
    WALKS,
    curves_of,
    nearest_walk,
    solved_curves,
    table_of,
)
from problems.human.predicted.stances import POINTS, STANCES, held, step_trajectory
from problems.recipe import defaults_of
from trajopt.base.errors import OptionError, ProblemError
from trajopt.transcription.transcribe import transcribe

WEIGHT = 75.0 * 9.81
SKELETON = with_ball_edges(Person().skeleton(ACTIVE), 0.04)


@pytest.fixture(scope="module")
def walk():
    return solved_at_defaults("gait")


def held_rows(q, arc, side):
    """Velocities of the standing points of a foot along their held axes as a matrix times v."""
    points = [point for point in STANCES[arc] if point.endswith(side)]
    rows = [
        dynamics.frame_jacobian(SKELETON, q, point)[3 + "xyz".index(axis)]
        for point in points
        for axis in held(point, arc)
    ]
    every = [dynamics.frame_jacobian(SKELETON, q, point)[3:] for point in points]
    return np.array(rows), np.concatenate(every)


@pytest.mark.parametrize(("arc", "side"), [(0, "r"), (1, "r"), (2, "r"), (3, "r"), (0, "l"), (1, "l")])
def test_conditions_on_a_standing_foot_are_independent_and_hold_all_of_its_points(arc, side):
    """At postures with a flat foot that points outward, and with a raised heel where it may rise."""
    rng = np.random.default_rng(arc)
    names = SKELETON.joint_names
    q = standing(names) + rng.uniform(-0.2, 0.2, len(names)) * [not n.startswith("global") for n in names]
    free = not {"heel", "ball_in"} <= {
        point.rpartition("_")[0] for point in STANCES[arc] if point[-1] == side
    }
    q[names.index("global_yaw")] = 0.1
    q[names.index(f"toe_{side}_ext")] = 0.3 * free
    rows, every = held_rows(q, arc, side)
    singular = np.linalg.svd(rows, compute_uv=False)
    assert singular[-1] > 1e-3 * singular[0]
    assert np.linalg.matrix_rank(every, tol=1e-9) == len(rows)


def test_the_ball_lies_under_the_joint_of_the_toes_and_turns_with_them():
    frames = dynamics.forward_kinematics(
        SKELETON, standing(SKELETON.joint_names), ["ball_r", "ball_in_r", "ball_out_r", "ball_out_l"]
    )
    middle, inner, outer, left = frames.position
    np.testing.assert_allclose(0.5 * (inner + outer), middle, atol=1e-12)
    assert outer[2] - inner[2] == pytest.approx(0.08) and left[2] == pytest.approx(-outer[2])
    assert SKELETON.carrier("ball_in_r") == SKELETON.carrier("toe_r")


def test_limits_hold_between_the_points_of_every_interval_of_a_swing_and_equations_do_not():
    nodes = step_trajectory(0.5, 4).nodes
    for arc, intervals in enumerate((2, 1, 4, 3)):
        own = nodes.arc == arc
        assert nodes.limits_only[own].sum() == (2 * intervals if arc >= 2 else 0)
        gaps = np.diff(np.unique(nodes.s[own]))
        assert gaps.min() > 1e-3  # no node twice


def test_plantarflexors_alone_are_stronger():
    plain = Person().skeleton(ACTIVE)
    strong = with_strong_plantarflexors(plain)
    ratio = strong.limits.torque_lower[6:] / plain.limits.torque_lower[6:]
    changed = {name for name, r in zip(plain.joint_names[6:], ratio, strict=True) if r != 1.0}
    assert changed == {"ankle_r_dorsi", "ankle_l_dorsi"} and set(ratio) == {1.0, PLANTARFLEXORS}
    np.testing.assert_array_equal(strong.limits.torque_upper, plain.limits.torque_upper)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"contact": "predicted", "cost": "thesis"}, "the cost 'thesis' has imposed contact"),
        pytest.param(
            {"track": "walk.trc"},
            "'walk.trc' has markers: give the model that has them",
            marks=pytest.mark.long,
        ),
        ({"start": "sitting"}, "start"),
        ({"cost": "thesis", "start": "solved"}, "use 'standing' or 'measured'"),
        ({"cost": "thesis", "tendons": True}, "tendons are for contact='predicted' only"),
        ({"contact": "guessed"}, "use 'predicted' or 'imposed', or None"),
    ],
)
def test_what_a_contact_cannot_use_is_refused(given, message):
    with pytest.raises(OptionError, match=message):
        gait.build(**given)


NOT_THEIR_DEFAULTS = {
    "foot_flat": 0.15, "toe_off": 0.28, "heel_off": 0.6, "contact_samples": 5, "split": "time",
    "knee_peak": 0.4, "swing_knee": (50.0, 60.0), "contact_tolerance": 1e-3, "contact_drift": 2e-3,
    "penetration": 2e-3, "clearance": 0.02, "nodes_per_span": 5,
}  # fmt: skip


@pytest.mark.parametrize("build", [gait.build, gait_stride.build])
def test_parameters_of_imposed_contact_are_refused_by_name(build):
    assert NOT_THEIR_DEFAULTS.keys() == OF_IMPOSED_CONTACT.keys()
    for name, value in NOT_THEIR_DEFAULTS.items():
        if name in defaults_of(build):
            with pytest.raises(OptionError, match=f"^{name} is .* take contact='imposed'"):
                build(**{name: value})


@pytest.mark.long
def test_constraints_that_predicted_contact_does_not_state_cannot_be_left_out():
    others = [name for name in STEP_CONSTRAINTS if name not in PREDICTED.constraints]
    assert len(others) == 13
    for name in others:
        with pytest.raises(OptionError, match=f"without names '{name}', a constraint of imposed contact"):
            gait.build(without=f"torque limits, {name}")
    named = {use.name for use in gait.build(intervals=1).constraints}
    for name in PREDICTED.constraints:
        assert {use.name for use in gait.build(intervals=1, without=name).constraints} < named


@pytest.mark.long
def test_the_contact_follows_from_the_cost_and_imposed_contact_with_sources_warns():
    predicted, thesis = gait.build(intervals=1), gait.build(cost="thesis")
    assert predicted.contacts and not thesis.contacts
    assert predicted.recipe.parameters["contact"] is thesis.recipe.parameters["contact"] is None
    for build in (gait.build, gait_stride.build):
        with pytest.warns(ImposedContactWarning, match="leave it out for predicted contact") as told:
            assert not build(contact="imposed").contacts
        assert told[0].filename == __file__


# What `gait` recorded on its walks when imposed contact was the default.
RECORDED = {
    "intervals": None, "nodes_per_span": 7, "speed": 1.2, "step_length": 0.6, "height": None, "mass": 75.0,
    "slope": 0.0, "backpack": 0.0, "foot_flat": 0.2, "toe_off": None, "heel_off": 0.65, "foot_line": None,
    "toe_out": None, "contact_samples": None, "split": None, "knee_peak": 0.42, "swing_knee": [55.0, 65.0],
    "contact_tolerance": 0.0, "contact_drift": 0.005, "penetration": 0.005, "clearance": None,
    "friction": 0.7, "sole": None, "contact": "imposed", "tendons": False, "cost": "sourced", "power": None,
    "steadiness": None, "force_rate": None, "springs": True, "smoothness": None, "without": "", "start": None,
    "track": "", "track_window": None, "track_weight": 10.0, "track_names": "", "track_model": "",
    "model": "",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::problems.human.gait.formulation.ImposedContactWarning")
@pytest.mark.parametrize(
    ("contact", "sizes", "objective"),
    [
        pytest.param("imposed", (255, 3357), 0.3968238, marks=pytest.mark.long),
        pytest.param("predicted", (2163, 2922), None, marks=pytest.mark.long),
    ],
)
def test_a_walk_recorded_before_is_built_as_it_was(contact, sizes, objective):
    """Unknowns, rows and, where the stored walk is that of then, the objective where the search starts."""
    problem = gait.build(**dict(RECORDED, contact=contact))
    program = transcribe(problem)
    assert (program.variable_count, program.row_count) == sizes
    begins = program.objective(program.start) / program.objective_scale
    assert objective is None or begins == pytest.approx(objective, rel=1e-6)


@pytest.mark.parametrize("file", [*WALKS, *RUNS])
def test_forces_of_a_stored_step_carry_the_weight_and_do_not_pull(file):
    """Their impulse over the step, by Simpson's rule within arcs; no edge of a friction cone pulls."""
    found = solved_curves(file)
    forces = {name: values for name, values in found.items() if name.startswith("push")}
    upward = sum(forces.values())
    impulse = sum(simpson(up, x=times) for up, times in zip(upward, found[TIME], strict=True))
    assert impulse == pytest.approx(1.0, abs=0.02)
    assert min(values.min() for values in forces.values()) > -1e-3
    assert found[TIME][0, 0] == 0.0 and found[TIME][-1, -1] == 1.0
    np.testing.assert_array_equal(found[TIME][:-1, -1], found[TIME][1:, 0])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "knee_r_flex,deg,4.0,1,1,1,1,1,1",
            "table x has '4.0' in column interval: write 0.0 or 3.1",
        ),
        ("knee_r_flex,rad,0.0,1,1,1,1,1,1", "has 'rad' in column unit"),
        ("knee_r_flex,deg,0.0,1,1,1,nan,1,1", "has 'nan' in column s3: give a number"),
    ],
)
def test_a_stored_walk_that_is_none_is_refused(line, message):
    times = "\n".join(f"time,part,{interval},0,.1,.2,.3,.4,.5" for interval in ("0.0", "3.1"))
    with pytest.raises(ProblemError, match=message):
        curves_of(checked_rows(f"{','.join(COLUMNS)}\n{times}\n{line}\n", "x", list(COLUMNS)))
    with pytest.raises(ProblemError, match="has no row 'time': write when each interval is sampled"):
        curves_of(checked_rows(f"{','.join(COLUMNS)}\n{line}\n", "x", list(COLUMNS)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("knee_r_flex,deg,2.0", "knee_r,deg,2.0"), "'knee_r', which is no joint"),
        (lambda text: text.replace("knee_r_flex,deg,2.0", "knee_r_flex,deg,1.0"),
         "in interval 1.0 once more: keep one"),
        (lambda text: "\n".join(x for x in text.splitlines() if not x.startswith("knee_r_flex,deg,2.0")),
         "lacks knee_r_flex in interval 2.0: write a row"),
        (lambda text: text.replace("0.0,0.0000000", "0.0,0.9000000"), "times that do not rise from 0 to 1"),
        (lambda text: "\n".join(x for x in text.splitlines() if x.split(",")[2][0] != "3"),
         "times that do not rise"),
        (lambda text: text[: text.index(",", text.index("knee_r_flex,deg,2.0,") + 20)],
         "ends before column s1: complete it"),
    ],
)  # fmt: skip
def test_a_damaged_copy_of_the_stored_walk_is_refused(change, message):
    """Rows that are not there are no angles of zero."""
    text = files("problems.human").joinpath("data").joinpath(FILE).read_text(encoding="utf-8")
    with pytest.raises(ProblemError, match=message):
        curves_of(checked_rows(change(text), "x", list(COLUMNS)))


@pytest.mark.parametrize(
    ("speed", "length", "height", "file"),
    [
        (0.8, 0.49, 1.75, "solved_walk_slow.csv"),
        (1.2, 0.6, 1.75, FILE),
        (1.253, 0.717, 1.75, "solved_walk_brisk.csv"),
        (1.6, 0.7, 1.75, "solved_walk_fast.csv"),
        (0.7 * 0.8**0.5, 0.36, 1.4, "solved_walk_slow.csv"),
        (1.7 * 0.8**0.5, 0.8 * 0.73, 1.4, "solved_walk_fast.csv"),
    ],
)
def test_the_nearest_stored_walk_is_taken_and_of_a_small_person_that_of_the_same_froude_number(
    speed, length, height, file
):
    assert nearest_walk(Step(length, speed, height, 50.0)) == file


@pytest.mark.long
def test_a_negative_weight_of_accelerations_is_refused():
    with pytest.raises(OptionError, match=r"smoothness is -1\.0: give a weight that is not negative"):
        gait.build(contact="predicted", smoothness=-1.0)


@pytest.mark.long
def test_the_search_starts_from_the_stored_walk_stretched_to_the_step():
    speed, length = WALKS[FILE]
    problem = gait.build(contact="predicted", speed=1.1**0.5 * speed, step_length=1.1 * length, height=1.925)
    forward, upward = (problem.dynamics.joint_names.index(f"global_t{axis}") for axis in "xy")
    q = np.asarray(problem.guessed_curve(np.array([0.0, 0.25, 0.6, 1.0])))
    found = solved_curves()
    assert q[-1, forward] - q[0, forward] == pytest.approx(1.1 * length, abs=1e-4)
    assert q[0, upward] == pytest.approx(1.1 * found["global_ty"][0, 0])
    first_of_arc = np.searchsorted(found[ARC], 1)
    assert q[1, upward] == pytest.approx(1.1 * found["global_ty"][first_of_arc, 0])
    assert problem.guessed_durations.sum() == pytest.approx(1.1**0.5 * length / speed)


@pytest.mark.long
@pytest.mark.parametrize("file", WALKS)
def test_a_stored_walk_meets_all_rows_of_its_own_step(file):
    """Accelerations and forces are stored with the motion: rounded numbers alone are missing."""
    speed, length = WALKS[file]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntestedSpeedWarning)
        program = transcribe(gait.build(contact="predicted", speed=speed, step_length=length))
    rows = program.rows(program.start)
    assert np.maximum(program.row_lower - rows, rows - program.row_upper).max() < 1e-4


@pytest.mark.long
def test_a_walk_that_is_stored_is_read_again(walk):
    found = curves_of(checked_rows(table_of(walk), "of a walk", list(COLUMNS)))
    knee = walk.joint_names.index("knee_r_flex")
    inner = found[TIME][:, 1:-1]
    for times, angles in zip(inner, found["knee_r_flex"][:, 1:-1], strict=True):
        expected = walk.q(times * walk.duration)[:, knee]
        np.testing.assert_allclose(angles, expected, atol=1e-6)
    lambdas = sum(found[f"push heel_r {i}"] for i in range(4))
    flat = np.searchsorted(found[ARC], 1)
    force = walk.value(walk.asked.contacts["heel_r"].force, inner[flat] * walk.duration)[:, 1]
    np.testing.assert_allclose(lambdas[flat, 1:-1], force / WEIGHT, atol=5e-3)


@pytest.mark.long
def test_the_ground_carries_the_weight_and_pushes_nobody_along(walk):
    """Momentum is periodic but for the mirror: impulses of both feet by another rule of quadrature."""
    assert walk.converged
    t = np.linspace(0.0, walk.duration, 20001)
    contacts = [walk.asked.contacts[point] for point in POINTS]
    total = sum(walk.value(contact.force, t) for contact in contacts if contact.arcs)
    impulse = trapezoid(total, t, axis=0) / (WEIGHT * walk.duration)
    assert impulse[1] == pytest.approx(1.0, abs=5e-3) and abs(impulse[0]) < 5e-3


@pytest.mark.long
def test_a_foot_is_unloaded_where_it_lands_and_where_it_leaves(walk):
    """And the heel has no force once it may rise: the centre of pressure is then under the forefoot."""
    ends = np.cumsum(walk.curve.durations)
    force = {
        point: walk.value(walk.asked.contacts[point].force, np.append(0.0, ends)) for point in POINTS[:4]
    }
    assert np.abs(force["heel_r"][0]).max() < 1e-6 * WEIGHT  # it strikes at t = 0
    assert np.abs(force["heel_r"][3:]).max() < 1e-6 * WEIGHT
    for point in POINTS[1:4]:
        assert np.abs(force[point][:2]).max() < 1e-6 * WEIGHT, point
    left = walk.value(walk.asked.contacts["toe_l"].force, ends)
    assert np.abs(left[1:]).max() < 1e-6 * WEIGHT  # left toe-off
    mirrored = walk.value(walk.asked.contacts["toe_l"].force, 0.0) * [1.0, 1.0, -1.0]
    np.testing.assert_allclose(mirrored, force["toe_r"][-1], atol=1e-6 * WEIGHT)
    heel = walk.value(trajopt.position("heel_r"), np.linspace(0.0, ends[2], 200))
    assert np.abs(heel - heel[0]).max() < 1e-3


@pytest.mark.long
def test_standing_points_hardly_move(walk):
    assert max(slip(walk).values()) < 2e-3
    assert set(sinking(walk)) == set(POINTS)


@pytest.mark.long
def test_events_and_curves_are_those_of_people(walk):
    """Toe-off at 58 to 66 % of the cycle, foot-flat before 12 %, heel-off between; nobody told it."""
    flat, toe_off, heel_off = 50.0 * np.cumsum(walk.curve.durations)[:3] / walk.duration
    assert 5.0 < flat < 12.0 and 58.0 < 50.0 + toe_off < 66.0 and 20.0 < heel_off < 45.0
    assert mean_correlation(scores(walk)) > 0.88 and mean_correlation(scores(walk, WINTER)) > 0.92
    assert gait_cycle(walk).stance_end == pytest.approx(50.0 + toe_off, abs=1.0)
    assert sum(not each.met for each in credibility(walk)) <= 1


@pytest.mark.long
def test_the_default_walk_passes_verify_on_its_first_mesh(walk):
    passes_on_its_first_mesh(walk)


@pytest.mark.thorough("test_the_default_walk_passes_verify_on_its_first_mesh")
@pytest.mark.parametrize(("speed", "length"), [(0.8, 0.49), (1.6, 0.7)])
def test_slow_and_fast_walks_pass_verify_on_their_first_mesh(speed, length):
    passes_on_its_first_mesh(trajopt.solve(gait.build(speed=speed, step_length=length), progress="silent"))


def passes_on_its_first_mesh(walk):
    """One solve by the defaults: no interval is halved, no node added."""
    assert len(walk.journal.histories) == 1 and walk.iterations < 60
    report = walk.verify()
    assert walk.converged and report.verdict == "PASS", report.reason


@pytest.mark.thorough("test_the_default_walk_passes_verify_on_its_first_mesh, and test_refined.py")
def test_a_walk_on_too_few_intervals_passes_verify_as_those_are_halved_where_its_equations_miss():
    problem = gait.build(step_length=0.65, intervals=2, tendons=False)
    walk = trajopt.solve(problem, progress="silent")
    first, last = (walk.journal.refinement.rounds[place] for place in (0, -1))
    assert first.equation_error > 1e-2 > last.equation_error and last.spans > first.spans
    assert walk.verify().holds
