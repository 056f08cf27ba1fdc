"""Soles on legs of five joints, as H1's: a solve that fails names the edge that takes their place."""

import re
from pathlib import Path

import numpy as np
import pytest

import dynamics
import trajopt
from trajopt.problem.contacts.contact_checks import soles_on_short_legs

XML = re.sub(  # of a G1 whose waist and arms are rigid
    r'((?:waist|shoulder|elbow|wrist)_?\w*_joint" type=)"revolute"',
    r'\1"fixed"',
    (Path(__file__).parents[3] / "support" / "robots" / "g1.urdf").read_text(),
)
FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
SIX = dynamics.load_urdf(XML, floating_base="free")
FIVE = dynamics.load_urdf(
    re.sub(r'(ankle_roll_joint" type=)"revolute"', r'\1"fixed"', XML), floating_base="free"
)
SOLE = np.array([[0.12, 0.03, -0.03], [0.12, -0.03, -0.03], [-0.05, 0.03, -0.03], [-0.05, -0.03, -0.03]])
EDGE = SOLE[::2] * (1.0, 0.0, 1.0)


def standing(robot, sole, feet=FEET, arcs=1):
    problem = trajopt.Problem(robot, trajopt.Trajectory.collocation(2, 3, arcs=arcs, duration=0.2))
    for number, foot in enumerate(feet):
        problem.contact(foot, [number % arcs], 0.7, sole=sole)
    return problem


def test_two_soles_that_stand_together_on_five_joints_are_named():
    advice = soles_on_short_legs(standing(FIVE, SOLE))
    assert (
        "'left_ankle_roll_link' on 5 joints, 'right_ankle_roll_link' on 5 joints: give the two ends" in advice
    )


@pytest.mark.parametrize(
    ("robot", "sole", "others"),
    [
        (SIX, SOLE, {}),
        (FIVE, EDGE, {}),
        (FIVE, SOLE, {"feet": FEET[:1]}),
        (FIVE, SOLE, {"arcs": 2}),
        (FIVE, None, {}),
    ],
    ids=["six joints", "edges", "one sole", "one after the other", "points"],
)
def test_legs_that_keep_soles_flat_wherever_the_base_goes_are_not(robot, sole, others):
    assert soles_on_short_legs(standing(robot, sole, **others)) == ""


@pytest.mark.long
def test_the_verdict_of_a_solve_that_fails_names_the_edge():
    problem = standing(FIVE, SOLE)
    problem.passive_base()
    pose = problem.standing_pose(np.zeros(FIVE.n))
    problem.start_at(q=pose, v=0)
    problem.minimize((trajopt.q - pose) ** 2)
    problem.minimize(trajopt.tau**2, 1e-3)
    solver = trajopt.Ipopt(max_iterations=1)
    solution = trajopt.solve(problem, solver=solver, refine=None, starts=1, progress="silent")
    reason = solution.verify().reason
    assert reason.startswith("the solve did not converge") and "an edge that may roll" in reason
