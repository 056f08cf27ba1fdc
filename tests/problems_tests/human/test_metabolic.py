"""Metabolic cost: what is known of muscle, of people on slopes, and its order on slopes of our walks."""

import numpy as np
import pytest

import trajopt
from problems import gait
from problems.human.assessment.metabolic import (
    force_at_speed,
    in_series,
    measured_cost,
    metabolic_cost,
    metabolic_line,
    metabolic_power,
    rate_of_energy,
)
from trajopt.base.errors import OptionError


def test_muscle_is_most_efficient_where_it_shortens_slowly():
    """Work over energy, u h / phi, has its peak below a quarter of the largest speed, and no work is free."""
    u = np.linspace(0.0, 0.99, 991)
    efficiency = u * force_at_speed(u) / rate_of_energy(u)
    assert 0.05 < u[efficiency.argmax()] < 0.25
    assert 0.4 < efficiency.max() < 0.6


def test_force_is_continuous_at_rest_and_zero_at_the_largest_speed():
    assert force_at_speed(np.array([0.0, 1.0])) == pytest.approx([1.0, 0.0])
    assert 1.6 < force_at_speed(np.array([-1.0]))[0] <= 1.8
    assert rate_of_energy(np.zeros(1))[0] == 0.054
    near = force_at_speed(np.array([-1e-9, 1e-9]))
    assert abs(near[0] - near[1]) < 2e-8


def test_lengthening_costs_less_than_holding_and_holding_less_than_shortening():
    lengthening, holding, shortening = metabolic_power(np.full(3, 50.0), np.array([-2.0, 0.0, 2.0]))
    assert 0.0 < lengthening < holding < shortening
    assert holding == pytest.approx(50.0 * 10.0 * 0.054)
    # both directions of a joint are alike
    assert metabolic_power(np.array(-50.0), np.array(-2.0)) == pytest.approx(shortening)


def test_joints_of_the_spine_share_a_muscle_and_others_have_their_own():
    """A trunk that is held costs the same whatever number of joints it bends in; their rates add up."""
    names = ["spine1_flex", "knee_r_flex", "spine2_flex", "neck2_flex", "spine1_rot"]
    held = np.full(4, 30.0)
    v = np.arange(20.0).reshape(4, 5)
    moments = {i: held * (1 if name.endswith("flex") else 2) for i, name in enumerate(names)}
    spine, knee, turning = in_series(names, moments, v)
    np.testing.assert_array_equal(spine, (held, v[:, [0, 2, 3]].sum(axis=1)))
    np.testing.assert_array_equal(knee, (held, v[:, 1]))
    np.testing.assert_array_equal(turning, (2.0 * held, v[:, 4]))


def test_people_s_cost_is_that_of_the_abstract_of_minetti_2002():
    """17.33 +- 1.11 at +.45, 3.46 +- .95 at -.45, least near -.10."""
    assert measured_cost(0.45) == pytest.approx(17.33, abs=1.11)
    assert measured_cost(-0.45) == pytest.approx(3.46, abs=0.95)
    slopes = np.linspace(-0.45, 0.45, 91)
    assert -0.16 < slopes[np.argmin([measured_cost(s) for s in slopes])] < -0.08
    ratios = [measured_cost(s) / measured_cost(0.0) for s in (-0.08, 0.08)]
    assert ratios == pytest.approx([0.52, 1.74], abs=0.005)
    with pytest.raises(OptionError, match=r"people were measured from -0.45 to 0.45"):
        measured_cost(0.5)


@pytest.mark.thorough("tests of the formula and of test_gait's walks stand for it")
def test_walks_cost_more_uphill_and_less_downhill_though_not_as_much_as_people_s():
    problems = [gait.build(cost="thesis", slope=slope) for slope in (-0.08, 0.0, 0.08)]
    walks = [trajopt.solve(problem, refine=None, progress="silent") for problem in problems]
    down, level, up = map(metabolic_cost, walks)
    assert down < level < up
    assert "people on a slope of +8%: 4.36" in metabolic_line(walks[2])
