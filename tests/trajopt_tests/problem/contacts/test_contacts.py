"""A trot of a quadruped with contacts as statements: mechanics hold between nodes, not at nodes alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from feet import missing_at_base
from library_solutions import solved_at_defaults
from scipy.integrate import trapezoid
from tiers import every

import dynamics
import trajopt
from problems.gallery.legged.one_legged_hopper import BENT, hopper
from problems.gallery.legged.solo import STANDING, minimize_effort, on_feet
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError, UnknownNameError
from trajopt.checks.residual_forces import base_balance
from trajopt.problem.contacts.contact_rows import PUSH
from trajopt.splines.node_sets import PATH
from trajopt.terms.term import extra

ROBOTS = Path(__file__).parents[3] / "support" / "robots"
SOLO = dynamics.load_urdf(ROBOTS / "solo12.urdf", floating_base="free")
FEET = {"FL": "FR", "HL": "HR"}
GAIT = trajopt.Schedule.trot(("FL", "HR"), ("FR", "HL"), period=0.5)
WEIGHT = SOLO.total_mass * 9.81
STEP_UP = {0: trajopt.Ground(), 1: trajopt.Ground(height=0.1)}
FRICTION, CLEARANCE = 0.7, 0.03
KNEES, KNEES_ABOVE = [f"{foot}_LOWER_LEG" for foot in GAIT.feet], 0.16  # m


def whole_trot():
    problem = trajopt.Problem(SOLO, GAIT.trajectory(intervals=10), name="trot")
    for foot in GAIT.feet:
        problem.contact(f"{foot}_FOOT", GAIT.arcs(foot), FRICTION, CLEARANCE)
    problem.passive_base()
    problem.subject_to_periodic_gait(forward=0.1)
    problem.minimize(trajopt.tau**2)
    problem.guess(np.array([STANDING, STANDING]))
    return problem


@pytest.fixture(scope="module")
def half():
    """By default, as test_defaults verifies it."""
    return solved_at_defaults("quadruped_trot")


def times_of(solution, count=801):
    return np.linspace(0.0, solution.duration, count)


def force_of(solution, foot, t):
    return solution.value(solution.asked.contacts[f"{foot}_FOOT"].force, t)


def test_equations_of_the_base_hold_between_nodes(half):
    """By inverse dynamics with the forces of the ground, in weights and in weights times the hip's height."""
    missing = missing_at_base(half, times_of(half))
    assert np.abs(missing[:, :3]).max() < 2e-3 * WEIGHT
    assert np.abs(missing[:, 3:]).max() < 1e-3 * WEIGHT * STANDING[2]
    balance = base_balance(half)
    there = missing_at_base(half, np.array([balance.force_time]))[0, :3]
    assert balance.force == pytest.approx(np.linalg.norm(there) / WEIGHT, rel=1e-6)
    assert balance.force < 2e-3 and balance.moment < 1e-3 and 0.15 < balance.height < 0.35


def test_the_ground_carries_the_weight_on_average(half):
    """Vertical momentum is periodic, so that the impulse of the ground is weight times time."""
    t = times_of(half, 8001)
    lifted = trapezoid(sum(force_of(half, foot, t)[:, 2] for foot in ("FL", "HR")), t)
    assert lifted == pytest.approx(WEIGHT * half.duration, rel=1e-4)


def test_forces_stay_inside_the_cone_for_all_times(half):
    t = times_of(half, 20001)
    for foot in ("FL", "HR"):
        force = force_of(half, foot, t)
        assert force[:, 2].min() >= 0.0
        assert (np.hypot(force[:, 0], force[:, 1]) - FRICTION * force[:, 2]).max() <= 1e-9


def test_standing_feet_do_not_slide_and_swinging_ones_clear(half):
    t = times_of(half)
    for foot in ("FL", "HR"):
        place = half.value(trajopt.position(f"{foot}_FOOT"), t)
        assert np.abs(place - place[0]).max() < 5e-6 and abs(place[0, 2]) < 1e-9
    for foot in ("FR", "HL"):
        height = half.value(trajopt.position(f"{foot}_FOOT"), t)[:, 2]
        assert height[len(t) // 2] > CLEARANCE * (1.0 - 1e-6) and height.min() > -1e-5


def test_the_force_of_a_foot_that_never_stands_is_zero(half):
    t = times_of(half, 7)
    contact = half.asked.contacts["FR_FOOT"]
    assert not contact.arcs
    for term, width in ((contact.force, 3), (contact.load, 6), (contact.force_rate, 3)):
        np.testing.assert_array_equal(half.value(term, t), np.zeros((7, width)))
    assert half.value(contact.force, 0.1).shape == (3,)


@pytest.mark.long
def test_a_whole_period_costs_twice_the_half(half):
    whole = trajopt.solve(whole_trot(), progress="silent")
    assert whole.converged and whole.verify().verdict == "PASS"
    swings = np.linspace(0.5, 1.0, 51)[1:] * whole.duration
    np.testing.assert_array_equal(force_of(whole, "FL", swings), np.zeros((50, 3)))
    assert whole.objective == pytest.approx(2.0 * half.objective, rel=5e-3)


def test_a_foot_that_stands_at_both_ends_touches_down_once():
    gait = trajopt.Schedule(
        [(("FL", "FR", "HL", "HR"), 0.1), (("FR", "HL", "HR"), 0.2), (("FL", "FR", "HL", "HR"), 0.1)]
    )
    problem = trajopt.Problem(SOLO, gait.trajectory(intervals=2))
    for foot in gait.feet:
        problem.contact(f"{foot}_FOOT", gait.arcs(foot))
    before = {each.name for each in problem.constraints}
    problem.subject_to_periodic_gait(forward=0.0)
    gone = before - {each.name for each in problem.constraints}
    assert gone == {f"{foot}_FOOT lands without impact, arc 0" for foot in gait.feet} | {
        "FL_FOOT touches down, arc 0"
    }


def test_a_sole_holds_its_orientation_and_pushes_at_its_points():
    talos = dynamics.load_urdf(ROBOTS / "talos.urdf", floating_base="free")
    gait = trajopt.Schedule.standing(("left_sole_link",), 0.5)
    problem = trajopt.Problem(talos, gait.trajectory(intervals=2))
    sole = [[x, y, 0.0] for x in (-0.1, 0.1) for y in (-0.06, 0.06)]
    contact = problem.contact("left_sole_link", [0], sole=sole)
    assert problem.width_of(f"extra:{contact.curves[0]}") == 16
    by_name = {each.name: each for each in problem.constraints}
    assert by_name["left_sole_link stands, arc 0"].lower.size == 6
    assert by_name["left_sole_link touches down, arc 0"].lower.size == 3


@every(
    "arguments, error, message",
    [
        ({"frame": "FL_TOE"}, dynamics.UnknownNameError, "FL_TOE"),
        ({"arcs": [2]}, OptionError, "2 arcs count from 0"),
        ({"arcs": [0, 0]}, OptionError, "name each once"),
        ({"friction": 0.0}, OptionError, "above 0"),
        ({"friction": np.nan}, OptionError, "above 0"),
        ({"friction": "rough"}, OptionError, "above 0"),
        ({"arcs": 0}, OptionError, "a list of arcs"),
        ({"clearance": -0.1}, OptionError, "0 or more"),
        ({"clearance": [0.1, 0.1]}, OptionError, "0 or more"),
        ({"sole": [[np.nan, 0, 0]]}, NotFiniteError, "sole of 'FL_FOOT'"),
        ({"sole": np.zeros((17, 3))}, ShapeError, "1 to 16 points"),
        ({"sole": [[0, 0]]}, ShapeError, "1 to 16 points"),
        ({"sole": [[1, 0, 0], [1, 0, 0]]}, OptionError, "coincide"),
        ({"ground": {0: trajopt.Ground()}}, OptionError, "each of the 2 arcs"),
        ({"ground": 0.1}, OptionError, "trajopt.Ground"),
        ({"arcs": [0, 1], "ground": STEP_UP}, OptionError, "stands on from arc 0 to arc 1, but its ground"),
        ({"held": "xw"}, OptionError, "letters of 'xyz'"),
        ({"held": {1: "x"}}, OptionError, "in which it stands"),
        ({"held": {0: "x", "left": "x"}}, OptionError, "in which it stands"),
        ({"ground": {0: trajopt.Ground(), "left": trajopt.Ground()}}, OptionError, "each of the 2 arcs"),
        ({"held": ""}, OptionError, "give letters of 'xyz'"),
        ({"continuous": "no"}, OptionError, "expected True or False"),
        ({"impact": 2}, OptionError, "expected True or False"),
        ({"ground": trajopt.Ground(up="y")}, OptionError, "against which gravity pulls"),
        ({"held": "xy", "sole": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]}, OptionError, "point feet"),
    ],
)
def test_what_is_no_contact_is_refused(arguments, error, message):
    problem = trajopt.Problem(SOLO, GAIT.trajectory(intervals=2))
    with pytest.raises(error, match=message):
        problem.contact(**{"frame": "FL_FOOT", "arcs": [0], **arguments})
    assert not problem.contacts and not problem.loads


@pytest.mark.long
def test_a_point_that_others_on_its_link_hold_is_held_along_some_axes():
    """A heel and a toe of one body: three conditions and two, as their distance cannot change."""
    talos = dynamics.load_urdf(ROBOTS / "talos.urdf", floating_base="free")
    toe = dynamics.Frame("toe", talos.carrier("left_sole_link"), position=[0.1, 0.0, -0.1])
    robot = replace(talos, frames=(*talos.frames, toe))
    step = trajopt.Schedule([(("left_sole_link", "toe"), 0.2), (("toe",), 0.2)])
    problem = trajopt.Problem(robot, step.trajectory(intervals=(2, 3)))
    problem.contact("left_sole_link", [0])
    problem.contact("toe", [0, 1], held={0: "yz", 1: "xyz"})
    by_name = {each.name: each for each in problem.constraints}
    assert by_name["toe stands, arc 0"].lower.size == 2 and by_name["toe stands, arc 1"].lower.size == 3
    assert "toe touches down, arc 0" in by_name and "toe touches down, arc 1" not in by_name
    problem = trajopt.Problem(robot, step.trajectory(intervals=2))
    problem.contact("toe", [0, 1], held="xy")
    names = {each.name for each in problem.constraints}
    assert "toe lands without impact, arc 0" in names and "toe touches down, arc 0" not in names


def test_a_continuous_force_is_zero_where_a_foot_touches_down_or_lifts_off():
    problem = trajopt.Problem(SOLO, GAIT.trajectory(intervals=2))
    contacts = {
        foot: problem.contact(f"{foot}_FOOT", GAIT.arcs(foot), continuous=foot[0] == "F")
        for foot in ["FL", "FR"]
    }
    names = {each.name for each in problem.constraints}
    assert "push FL_FOOT is zero at the end of arc 0" in names
    assert "push FR_FOOT is zero at the start of arc 1" in names
    assert contacts["FL"].force_rate.name == "rate of force on FL_FOOT"


@pytest.mark.parametrize("swapped", [True, False])
def test_forces_at_the_end_are_those_of_the_start_reflected(swapped):
    """Random curves that meet the condition: what one foot gets at the end the other had at the start."""
    gait = trajopt.Schedule([(("FL", "FR"), 0.1), (("FL", "FR"), 0.1)])
    problem = trajopt.Problem(SOLO, gait.trajectory(intervals=1))
    for foot in gait.feet:
        problem.contact(f"{foot}_FOOT", gait.arcs(foot), continuous=True)
    feet = ("FL_FOOT", "FR_FOOT")
    partner = dict(zip(feet, feet[::-1] if swapped else feet, strict=True))
    problem.subject_to_repeated_contacts(partner, reflection=(1.0, -1.0, 1.0))
    found = [(each.term, each.signs) for each in problem.periodicities]
    rng = np.random.default_rng(3)
    start = {foot: rng.uniform(0.1, 0.4, 4) for foot in feet}
    end = {foot: start[partner[foot]][[0, 1, 3, 2]] for foot in feet}
    for term, signs in found:
        first, last = (term.function(Pushes(pushes)) for pushes in (start, end))
        np.testing.assert_allclose(
            np.array(last, dtype=float), signs * np.array(first, dtype=float), atol=1e-12
        )
    wrong = {foot: start[partner[foot]] for foot in feet}
    missed = [
        np.array(term.function(Pushes(wrong))) - signs * np.array(term.function(Pushes(start)))
        for term, signs in found
    ]
    assert np.abs(np.array(missed, dtype=float)).max() > 0.1
    with pytest.raises(OptionError, match="which takes whose place"):
        problem.subject_to_repeated_contacts(["FL_FOOT"])
    with pytest.raises(UnknownNameError, match="HL_FOOT"):
        problem.subject_to_repeated_contacts({"FL_FOOT": "HL_FOOT"})
    with pytest.raises(UnknownNameError, match="no frame of a contact is called"):
        problem.subject_to_repeated_contacts({"FL_FOOT": ["FL_FOOT"]})
    with pytest.raises(ShapeError, match="reflection is 'mirror'"):
        problem.subject_to_repeated_contacts(partner, reflection="mirror")
    for signs in ((1.0, 2.0, 3.0), (1.0,)):
        with pytest.raises(OptionError, match="give three signs, each 1 or -1"):
            problem.subject_to_repeated_contacts(partner, reflection=signs)


class Pushes:
    """A node whose feet stand at the origin and push so much."""

    def __init__(self, pushes):
        self.pushes = pushes

    def extra(self, curve):
        return self.pushes[curve.removeprefix("push ")]

    def position(self, frame):
        return np.zeros(3)


def test_arcs_of_a_schedule_have_meshes_of_their_own():
    mesh = GAIT.trajectory(intervals=(2, 5))
    assert [arc.basis.span_count for arc in mesh.arcs] == [2, 5]
    np.testing.assert_array_equal(
        mesh.arcs[1].basis.breakpoints, GAIT.trajectory(intervals=5).arcs[0].basis.breakpoints
    )
    with pytest.raises(OptionError, match="given for 3 arcs, the schedule has 2"):
        GAIT.trajectory(intervals=(1, 2, 3))


def test_contacts_need_collocation_and_a_free_base():
    problem = trajopt.Problem(SOLO, trajopt.Trajectory.uniform(4, duration=0.5))
    with pytest.raises(OptionError, match="Schedule"):
        problem.contact("FL_FOOT", [0])
    held = trajopt.Problem(dynamics.load_urdf(ROBOTS / "solo12.urdf"), GAIT.trajectory(intervals=2))
    with pytest.raises(OptionError, match="floating_base"):
        held.passive_base()
    with pytest.raises(OptionError, match="floating_base"):
        held.subject_to_periodic_gait(forward=0.1)


def test_a_contact_is_stated_once_before_the_gait_on_a_link_without_load():
    problem = trajopt.Problem(SOLO, GAIT.trajectory(intervals=2))
    problem.contact("FL_FOOT", [0])
    with pytest.raises(OptionError, match="already"):
        problem.contact("FL_FOOT", [1])
    problem.subject_to_periodic_gait(forward=0.1)
    with pytest.raises(OptionError, match="before it"):
        problem.contact("FR_FOOT", [1])


def test_mirrored_postures_have_mirrored_feet():
    signs, order = SOLO.mirrored(FEET)
    rng = np.random.default_rng(5)
    q = rng.uniform(-0.5, 0.5, SOLO.n)
    names = ["FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"]
    here = dynamics.forward_kinematics(SOLO, q, frames=names).position
    there = dynamics.forward_kinematics(SOLO, signs * q[order], frames=names).position
    np.testing.assert_allclose(there[[1, 0, 3, 2]], here * [1.0, -1.0, 1.0], atol=1e-9)


def test_partners_that_are_no_mirror_images_are_named():
    with pytest.raises(dynamics.UnknownNameError, match="FL_HAA"):
        SOLO.mirrored({"FL": "XX"})
    with pytest.raises(dynamics.ModelError, match="no mirror image"):
        SOLO.mirrored({"FL": "HL", "FR": "HR"})
    with pytest.raises(dynamics.ModelError, match="parts of names"):
        SOLO.mirrored("FL")


@pytest.mark.parametrize("points", ["radau", "lobatto"])
def test_an_equation_that_leaves_out_the_last_collocation_point_is_refused(points):
    """A trot with feet held "inside" its arcs converged with 5 body weights missing at the arcs' ends."""
    problem = trajopt.Problem(SOLO, trajopt.Trajectory.collocation(4, 3, points, duration=0.2))
    still = trajopt.Quantity("velocity:FL_FOOT")
    with pytest.raises(OptionError, match=r"Use ArcNodes\(0, 'whole'\)"):
        problem.subject_to(still, equals=0.0, over=trajopt.ArcNodes(0))
    problem.subject_to(still, upper=9.0, over=trajopt.ArcNodes(0))
    gauss = trajopt.Problem(SOLO, trajopt.Trajectory.collocation(4, 3, "gauss", duration=0.2))
    gauss.subject_to(still, equals=0.0, over=trajopt.ArcNodes(0))


def test_ground_that_is_nowhere_is_refused():
    for ends in ((0.3, 0.2), (0.2, 0.2), (0.2,), 0.2, (np.nan, 1.0)):
        with pytest.raises(OptionError, match="the ground reaches along x from and to"):
            trajopt.Ground(x=ends)  # pyright: ignore
    assert trajopt.Ground(y=(0.0, np.inf)).region.tolist() == [[-np.inf, np.inf], [0.0, np.inf]]


def test_every_point_of_a_sole_lands_where_the_ground_is():
    problem = trajopt.Problem(SOLO, trajopt.Schedule.jump(("FL",)).trajectory(intervals=2))
    sole = [[0.01, 0.0, 0.0], [-0.01, 0.01, 0.0], [-0.01, -0.01, 0.0]]
    problem.contact("FL_FOOT", (0, 2), sole=sole, ground={0: (flat := trajopt.Ground()), 1: flat, 2: BEHIND})
    landing = [each for each in problem.constraints if each.name == "FL_FOOT lands on the ground, arc 2"]
    assert len(landing) == 1 and landing[0].lower.tolist() == [0.3, -np.inf] * 3
    assert not np.isfinite(landing[0].upper).any()


@pytest.mark.long
def test_pushes_that_stay_at_zero_are_no_violation():
    """Up a slope of 20 degrees some edges of the pyramids push with rounding alone, 1e-7 weights or less."""
    ground, ahead = trajopt.Ground(slope=(np.tan(np.radians(20.0)), 0.0)), 0.1 * np.eye(SOLO.n)[0]
    problem = on_feet("trot up", SOLO, GAIT, 6, FRICTION, CLEARANCE, ground)
    start = problem.standing_pose(STANDING - np.radians(20.0) * np.eye(SOLO.n)[4])
    problem.start_at(q=start, v=0)
    problem.end_at(q=[0.1, *[None] * 17], v=[*[0] * 6, *[None] * 12])
    minimize_effort(problem, 5.0, 1e-3, 1e-5)
    problem.guess(np.array([start, start + ahead]))
    solution = trajopt.solve(problem, starts=1, progress="silent")
    assert solution.converged and solution.verify().verdict == "PASS", solution.verify().reason


def test_pushes_are_compared_with_a_tenth_of_the_weight_also_where_all_are_small():
    problem = trajopt.Problem(SOLO, trajopt.Schedule.standing(("FL",), 0.2).trajectory(2))
    problem.contact("FL_FOOT", [0])
    pushes = problem.extras["push FL_FOOT"].bounds(extra("push FL_FOOT"), PATH)
    below, _ = pushes.side_scales(np.zeros(4), np.full(4, 1e-9))
    assert below.tolist() == [PUSH] * 4


@pytest.mark.long
def test_a_foot_that_pushes_against_thin_air_fails():
    """Whose height is not held while it stands: the hopper's foot pushes half a metre above the ground."""
    problem = trajopt.Problem(hopper(), trajopt.Schedule.standing(("foot",), 0.2).trajectory(10))
    problem.contact("foot", [0], held="xy")
    problem.passive_base()
    high = np.array([0.0, 0.0, 1.2, 0.0, 0.0, 0.0, *BENT])
    problem.start_at(q=high, v=0)
    problem.end_at(q=[*high[:6], None, None, None])
    problem.minimize(trajopt.tau**2)
    problem.guess(np.array([high, high]))
    report = trajopt.solve(problem, refine=None, starts=1, progress="silent").verify()
    assert str(report).startswith("FAIL: foot stays on the ground, arc 0: missed by 0.")


BEHIND = trajopt.Ground(x=(0.3, np.inf))


@pytest.mark.long
def test_a_knee_that_never_stands_stays_above_its_ground(half):
    """Without the statement all knees of half a trot come lower than this."""
    problem = on_feet("trot", SOLO, GAIT.first(1), 10, FRICTION, CLEARANCE)
    for knee in KNEES:
        problem.contact(knee, [], ground=trajopt.Ground(height=KNEES_ABOVE))
    problem.subject_to_periodic_gait(0.05, mirror=SOLO.mirrored(FEET))
    problem.minimize(trajopt.tau**2)
    problem.guess(np.array([STANDING, STANDING]))
    above = trajopt.solve(problem, progress="silent")
    assert above.converged and above.verify().verdict == "PASS"
    assert np.all(height_of_knees(half) < KNEES_ABOVE - 1e-3)
    assert np.all(height_of_knees(above) > KNEES_ABOVE - 1e-5)


def height_of_knees(solution):
    """The lowest that each comes, (4,) m."""
    poses = dynamics.forward_kinematics(SOLO, solution.curve(times_of(solution))[:, : SOLO.n], KNEES)
    return poses.position[..., 2].min(axis=0)
