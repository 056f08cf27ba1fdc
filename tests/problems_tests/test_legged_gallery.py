"""Bound, jump over a gap, a humanoid's step and a hopper: the ground alone moves them, as mechanics says."""

import numpy as np
import pytest
from feet import missing_at_base, slip
from library_solutions import AT_DEFAULTS, check_script_at_defaults, solved_at_defaults
from scipy.integrate import trapezoid

import dynamics
import problems
import trajopt
from problems.gallery.legged import biped_step

pytestmark = pytest.mark.long


def times_in(solution, arc, count=201):
    first, last = solution.curve.starts[arc : arc + 2]
    return np.linspace(first + 1e-9, last - 1e-9, count)


def arcs_of(solution):
    return range(len(solution.curve.starts) - 1)


def weight_of(solution):
    return 9.81 * solution.problem.dynamics.total_mass


def the_ground_alone_moves_the_base(solution):
    feet = solution.asked.contacts.values()
    for arc in arcs_of(solution):
        t = times_in(solution, arc)
        missing = missing_at_base(solution, t) / weight_of(solution)
        assert np.abs(missing[:, :3]).max() < 2e-2
        assert np.abs(missing[:, 3:]).max() < 1e-2 * solution.q(0.0)[2]
        assert max((slip(solution, foot, t) for foot in feet if arc in foot.arcs), default=0.0) < 1e-4


def the_impulse_of_the_ground_is_weight_times_time(solution):
    """Vertical momentum is the same at both ends, by rest or by period."""
    impulse = 0.0
    for arc in arcs_of(solution):
        t = times_in(solution, arc, 2001)
        for foot in solution.asked.contacts.values():
            impulse += trapezoid(solution.value(foot.force, t)[:, 2], t)
    assert impulse == pytest.approx(weight_of(solution) * solution.duration, rel=2e-3)


def a_bound_is_the_same_on_both_sides_and_goes_straight(solution):
    robot, t = solution.problem.dynamics, np.linspace(0.0, solution.duration, 101)
    signs, order = robot.mirrored({"FL": "FR", "HL": "HR"})
    q = solution.q(t)
    assert np.abs(q - signs * q[:, order]).max() < 1e-3
    assert q[-1, 0] - q[0, 0] == pytest.approx(0.2, abs=1e-9)
    assert trapezoid(q[:, 5], t) == pytest.approx(0.0, abs=1e-6)


def no_foot_lands_in_the_gap(solution):
    first, last = problems.quadruped_gap.build().recipe.parameters["gap"]
    for foot in solution.asked.contacts:
        x = [solution.value(trajopt.position(foot), times_in(solution, arc))[:, 0] for arc in (0, 2)]
        assert x[0].max() <= first + 1e-6 and x[1].min() >= last - 1e-6
        assert x[0].max() > first - 0.5  # all take off before it


def the_centre_of_pressure_of_the_step_is_inside_the_sole(solution):
    """By the moments of the ground about the frame of the foot, in its axes."""
    sole = np.array(biped_step.SOLE)
    for contact in solution.asked.contacts.values():
        for arc in contact.arcs:
            t = times_in(solution, arc)
            wrench = solution.value(trajopt.term(name=f"wrench {contact.frame}")(contact.wrench), t)
            pose = dynamics.forward_kinematics(solution.problem.dynamics, solution.q(t), [contact.frame])
            R, p, force = pose.rotation[:, 0], pose.position[:, 0], wrench[:, 3:]
            moment = wrench[:, :3] - np.cross(p, force)
            moment, force = (np.einsum("kij,ki->kj", R, each) for each in (moment, force))
            height = sole[0, 2]
            x = (height * force[:, 0] - moment[:, 1]) / force[:, 2]
            y = (height * force[:, 1] + moment[:, 0]) / force[:, 2]
            assert sole[:, 0].min() - 1e-6 < x.min() and x.max() < sole[:, 0].max() + 1e-6
            assert np.abs(y).max() < sole[:, 1].max() + 1e-6
            assert np.abs(R - R[0]).max() < 1e-4 and R[0, 2, 2] == pytest.approx(1.0, abs=1e-6)


def a_step_is_as_long_as_asked_and_the_foot_clears_the_ground(solution):
    right = solution.value(trajopt.position(biped_step.RIGHT), times_in(solution, 1))
    assert right[-1, 0] - right[0, 0] == pytest.approx(0.2, abs=1e-6)
    assert right[100, 2] > 0.04 + 0.035 - 1e-6


def a_hopper_flies_as_long_as_its_height_says(solution):
    """Its centre of mass falls freely, and neither duration is at a bound."""
    stance, flight = np.diff(solution.curve.starts)
    assert 0.055 < stance < 0.75 and 0.1 < flight < 0.75
    t = times_in(solution, 1)
    height = dynamics.centre_of_mass(solution.problem.dynamics, solution.q(t))[:, 2]
    fall = np.polynomial.Polynomial.fit(t - t[0], height, 2).convert().coef[2]
    assert 2.0 * fall == pytest.approx(-9.81, rel=5e-3)
    assert solution.q(t[100])[2] >= 0.55 - 1e-6


EVERYWHERE = (the_ground_alone_moves_the_base, the_impulse_of_the_ground_is_weight_times_time)
CHECKS = {
    "biped_step": (
        the_centre_of_pressure_of_the_step_is_inside_the_sole,
        a_step_is_as_long_as_asked_and_the_foot_clears_the_ground,
    ),
    "one_legged_hopper": (a_hopper_flies_as_long_as_its_height_says,),
    "quadruped_bound": (a_bound_is_the_same_on_both_sides_and_goes_straight,),
    "quadruped_gap": (no_foot_lands_in_the_gap,),
}


def test_the_ground_of_the_gap_ends_before_it_and_begins_behind_it():
    """The ground that feet are held to; that the motion found keeps to it is thorough."""
    problem = problems.quadruped_gap.build(intervals=2, gap=(0.21, 0.34))
    for foot, contact in problem.contacts.items():
        assert contact.ground[0].x == (-np.inf, 0.21) and contact.ground[2].x == (0.34, np.inf)
        for arc in (0, 2):
            (held,) = [
                each for each in problem.constraints if each.name == f"{foot} stays on the ground, arc {arc}"
            ]
            assert held.over == trajopt.ArcNodes(arc, "whole")


#: Feet that leave the ground together and land behind it again, by test_quadruped_jump and the bound.
MARKS = {"quadruped_gap": pytest.mark.thorough("quadruped_jump and quadruped_bound stand for it")}


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in CHECKS])
def test_it_passes_obeys_mechanics_and_its_script_draws_it(name):
    """All of one problem in one test: two processes would solve it twice."""
    solution = solved_at_defaults(name)
    report = solution.verify()
    assert report.verdict == "PASS", report.reason
    for check in (*EVERYWHERE, *CHECKS[name]):
        check(solution)
    assert check_script_at_defaults(solution) == (name in AT_DEFAULTS)
