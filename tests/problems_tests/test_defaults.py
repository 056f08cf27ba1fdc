"""Every problem of the library, at its defaults, holds between its nodes as `verify` asks, and is drawn."""

import pytest
from library_solutions import (
    AT_DEFAULTS,
    check_script_at_defaults,
    solved_at_defaults,
    verified_at_defaults,
)

from problems import catalogue

#: which pass in tests of their own
ELSEWHERE = {
    "biped_step",
    "gait",
    "one_legged_hopper",
    "quadruped_bound",
    "quadruped_gap",
    "quadruped_jump",
    "running",
}
SLOW = {
    "acrobot",
    "arm_design",
    "arm_energy_budget",
    "betts_robot_arm",
    "brachistochrone",
    "bryson_denham",
    "cart_pole",
    "container_crane",
    "countermovement_jump",
    "double_pendulum_cart",
    "five_link_walker",
    "four_bar",
    "gear_ratio",
    "goddard_in_phases",
    "goddard_rocket",
    "hop",
    "hypersensitive",
    "lift_box",
    "line_in_least_time",
    "minimum_fuel",
    "motor_arm",
    "orbit_transfer",
    "pendulum_swing_up",
    "planar_walker",
    "quadrotor_gates",
    "quadruped_trot",
    "sit_to_stand",
    "six_axis_arm",
    "space_shuttle",
    "three_link_arm",
    "urdf_arm",
    "van_der_pol",
}
#: test_predicted_stride and test_two_arms stand for them in the long tests.
MINUTES = {"gait_stride", "two_arms"}
MARKS = {**dict.fromkeys(SLOW, pytest.mark.long), **dict.fromkeys(MINUTES, pytest.mark.thorough)}
NAMES = [name for name in catalogue.names() if name not in ELSEWHERE]


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in NAMES])
def test_a_problem_at_its_defaults_passes_and_its_script_draws_it(name):
    report = verified_at_defaults(name)
    assert report.verdict == "PASS", report.reason
    assert check_script_at_defaults(solved_at_defaults(name)) == (name in AT_DEFAULTS)
