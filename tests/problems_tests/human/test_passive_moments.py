"""Passive moments of leg and arm: where they turn joints to, what they follow, published values."""

import numpy as np
import pytest

from problems.human.body.model import ACTIVE, skeleton
from problems.human.gait.passive_moments import passive_arm_moments, passive_leg_moments, passive_moments

MODEL = skeleton(moving=ACTIVE)


# Hip flexion, knee flexion, ankle dorsiflexion in degrees, and every exponential and constant of the printed
# formulas, worked out by hand in N m.
@pytest.mark.parametrize(
    ("posture", "hip", "knee", "plantarflexion"),
    [
        ((0, 0, 0), (4.330, -3.820, 8.072), (6.050, -0.019, -4.820, 9.207), (8.179, -0.0003, -1.792)),
        ((30, 60, 0), (0.372, -2.459, 8.072), (1.403, -0.250, -4.820, 0.001), (2.845, -0.0004, -1.792)),
        ((-15, 5, 20), (13.11, -2.159, 8.072), (9.174, -0.029, -4.820, 4.349), (40.44, 0.0, -1.792)),
    ],
)
def test_passive_moments_are_those_of_the_printed_formulas(posture, hip, knee, plantarflexion):
    found = passive_moments(*np.deg2rad(posture))
    assert np.allclose(found, (sum(hip), sum(knee), -sum(plantarflexion)), atol=0.02)


def test_muscles_across_two_joints_couple_their_passive_moments():
    """Gastrocnemius: a bent knee slackens it; hamstrings: a flexed hip tightens them."""
    straight, bent = (passive_moments(0.0, np.deg2rad(knee), np.deg2rad(20.0)).ankle for knee in (0.0, 60.0))
    assert straight < 2.0 * bent < 0.0
    upright, flexed = (passive_moments(np.deg2rad(hip), np.deg2rad(10.0), 0.0).knee for hip in (0.0, 60.0))
    assert flexed > upright > 0.0


def test_tilting_the_pelvis_between_trunk_and_thighs_that_stay_changes_no_passive_moment():
    posture = {"hip_r_flex": -0.3, "knee_r_flex": 0.2, "ankle_r_dorsi": 0.1, "spine1_flex": 0.1}
    tilt = 0.15
    tilted = posture | {"hip_r_flex": -0.3 + tilt, "spine1_flex": 0.05, "spine2_flex": 0.05 - tilt}
    before, after = (passive_leg_moments(q, "r") for q in (posture, tilted))
    assert list(after.values()) == pytest.approx(list(before.values()), rel=1e-12)


def test_a_trunk_that_leans_back_stretches_the_front_of_the_hip_as_an_extended_thigh_does():
    posture = {"hip_r_flex": -0.1, "knee_r_flex": 0.2, "ankle_r_dorsi": 0.1}
    upright = passive_leg_moments(posture, "r")
    leaning = passive_leg_moments(posture | {"spine2_flex": -0.15}, "r")
    extended = passive_leg_moments(posture | {"hip_r_flex": -0.25}, "r")
    assert leaning["hip_r_flex"] > upright["hip_r_flex"] + 1.0
    assert leaning == pytest.approx(extended, rel=1e-12)


def test_passive_moments_turn_every_joint_away_from_the_ends_of_its_range():
    hip, knee, ankle = (np.deg2rad(ends) for ends in ((-20.0, 110.0), (0.0, 135.0), (-45.0, 25.0)))
    assert passive_moments(hip[0], 0.0, 0.0).hip > 10.0 and passive_moments(hip[1], 0.0, 0.0).hip < -50.0
    assert passive_moments(0.0, knee[0], 0.0).knee > 5.0 and passive_moments(0.0, knee[1], 0.0).knee < -10.0
    assert (
        passive_moments(0.0, 0.0, ankle[0]).ankle > 0.5 and passive_moments(0.0, 0.0, ankle[1]).ankle < -30.0
    )


# Degrees and degrees per second, then N m of stiffness and of damping, worked out by hand.
@pytest.mark.parametrize(
    ("joint", "q", "v", "moment"),
    [
        ("shoulder_r_flex", 30.0, 120.0, -(5.655 + 1.583)),
        ("shoulder_r_add", -20.0, 0.0, 1.909),
        ("shoulder_r_introt", 0.0, -90.0, 0.823),
        ("elbow_r_flex", 50.0, 0.0, -4.540),
        ("elbow_r_flex", 20.0, 180.0, -1.907),
        ("elbow_r_pron", 40.0, 60.0, -(0.528 + 0.022)),
    ],
)
def test_passive_moments_of_the_arm_are_those_of_the_published_impedance(joint, q, v, moment):
    still = dict.fromkeys(MODEL.joint_names, 0.0)
    angles, rates = still | {joint: np.deg2rad(q)}, still | {joint: np.deg2rad(v)}
    assert passive_arm_moments(angles, rates, "r")[joint] == pytest.approx(moment, abs=1e-3)
