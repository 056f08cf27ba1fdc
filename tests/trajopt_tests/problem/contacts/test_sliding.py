"""Points that may slide carry no friction, and a report refuses feet that move and friction that drives."""

from dataclasses import replace

import numpy as np
import pytest

import dynamics
import trajopt
from problems.gallery.legged.one_legged_hopper import BENT, hopper
from problems.gallery.legged.solo import solo
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.checks.residual_forces import StandingFeet, stances_of, standing_feet
from trajopt.transcription.transcribe import transcribe

SOLO = solo()


def without_friction(problem):
    return {each.name for each in problem.constraints if each.name.startswith("no friction")}


def standing(held, ground=None, robot=SOLO):
    problem = trajopt.Problem(robot, trajopt.Schedule.standing(("FL",), 0.4).trajectory(2))
    problem.contact("FL_FOOT", [0], held=held, ground=ground or trajopt.Ground())
    return problem


def test_along_axes_that_nothing_holds_there_is_no_friction():
    named = {way: f"no friction on FL_FOOT along {way}, arc 0" for way in "xy"}
    assert without_friction(standing("xyz")) == set()
    assert without_friction(standing("xz")) == {named["y"]}
    assert without_friction(standing("z")) == set(named.values())
    assert without_friction(standing("z", trajopt.Ground(slope=(0.2, 0.1)))) == set(named.values())


def test_a_stance_goes_on_while_the_foot_stands_in_the_next_arc_held_along_the_same_axes():
    phases = [(("FL",), 0.1), (("FL", "FR"), 0.1), (("FR",), 0.1), (("FL",), 0.1), (("FL", "HL"), 0.1)]
    schedule = trajopt.Schedule(phases)
    problem = trajopt.Problem(SOLO, schedule.trajectory(2))
    assert list(stances_of(problem.contact("FL_FOOT", schedule.arcs("FL")))) == [[0, 1], [3, 4]]
    foot = problem.contact("FR_FOOT", schedule.arcs("FR"), held={1: "xyz", 2: "z"})
    assert list(stances_of(foot)) == [[1], [2]]


@pytest.mark.long
def test_a_ball_that_the_heel_of_its_foot_holds_keeps_its_friction():
    """Along the line from heel to ball alone: across it the foot turns about its heel."""
    robot = SOLO.with_frames(dynamics.Frame("ball", "FL_FOOT", position=(0.05, 0.0, 0.0)))
    problem = trajopt.Problem(robot, trajopt.Schedule.standing(("FL", "ball"), 0.4).trajectory(2))
    problem.contact("ball", [0], held="yz")
    assert without_friction(problem) == {"no friction on ball along x, arc 0"}
    problem.contact("FL_FOOT", [0])
    assert without_friction(problem) == set()


def sliding_hopper(held):
    """Stands and moves forward a little; what friction does is looked at."""
    problem = trajopt.Problem(hopper(), trajopt.Schedule.standing(("foot",), 0.3).trajectory(8))
    problem.contact("foot", [0], held=held)
    problem.passive_base()
    start = problem.standing_pose([0.0] * 6 + list(BENT))
    problem.start_at(q=start)
    problem.minimize(trajopt.tau**2)
    problem.minimize((trajopt.q[6:] - BENT) ** 2, 100.0)
    problem.guess(np.array([start, start + 0.05 * np.eye(9)[0]]))
    return problem


@pytest.mark.long
def test_a_robot_on_ice_that_is_to_move_on_from_rest_is_refused():
    problem = sliding_hopper("z")
    problem.start_at(v=0)
    transcribe(problem, check=True)
    problem.end_at(q=[0.5, *[None] * 8])
    with pytest.raises(InfeasibleBoundsError, match="no foot pushes the robot along x"):
        transcribe(problem, check=True)


@pytest.fixture(scope="module")
def slide():
    problem = sliding_hopper("yz")
    problem.subject_to(trajopt.v, [0.3, *[0.0] * 8], [0.3, *[0.0] * 8], over="start", name="moving")
    return trajopt.solve(problem, starts=1, progress="silent")


@pytest.mark.long
def test_a_foot_that_slides_passes_without_work_of_friction(slide):
    report = slide.verify()
    t = np.linspace(0.001, 0.299, 200)
    assert report.verdict == "PASS", report.reason
    assert np.ptp(slide.value(trajopt.position("foot"), t)[:, 0]) > 0.01
    assert np.abs(slide.value(slide.asked.contacts["foot"].force[0], t)).max() < 1e-6
    assert report.feet.slip < 1e-4 and report.feet.work < 1e-6


@pytest.mark.long
def test_a_foot_that_is_to_stand_and_slides_fails(slide):
    """The same motion, of a problem whose foot is held along x, too."""
    problem = slide.asked.independent_copy()
    problem.contacts = {"foot": replace(slide.asked.contacts["foot"], held={0: (0, 1, 2)})}
    feet = standing_feet(replace(slide, known_problem=problem))
    assert feet.slip > 0.01 and "'foot' stands but moves by" in feet.reason


@pytest.mark.long
def test_friction_that_drives_a_foot_fails():
    """A problem from which the statement of no friction is taken skates forward from rest."""
    problem = sliding_hopper("yz")
    problem.constraints = [each for each in problem.constraints if each.name not in without_friction(problem)]
    problem.subject_to(trajopt.position("foot")[0], equals=0.1, over="end", name="forward")
    problem.subject_to(trajopt.v[0], equals=0.0, over="start", name="from rest")
    report = trajopt.solve(problem, starts=1, progress="silent").verify()
    assert report.feet.work > 1e-2
    assert report.verdict == "FAIL" and "of work on 'foot' as it slides" in report.reason


@pytest.mark.parametrize("broken", [{"slip": 2e-4}, {"work": 0.02}, {"slip": np.nan}, {"work": np.nan}])
def test_feet_that_slip_or_are_driven_too_much_or_by_no_number_fail(broken):
    """A tenth of a millimetre, and what lifts the robot as far, are allowed."""
    whole = StandingFeet(9e-5, "heel", 0.1, 9e-3, "toe", 100.0)
    assert not whole.reason
    assert "is allowed" in replace(whole, **broken).reason
