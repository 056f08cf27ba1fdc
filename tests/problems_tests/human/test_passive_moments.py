"""Passive moments of the leg follow the angle between thigh and trunk, wherever the pelvis is."""

import pytest

from problems.human.gait.passive_moments import passive_leg_moments


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
