"""Scores of curves beside measured ones: what they are for curves whose score is known beforehand."""

import numpy as np
import pytest
from library_solutions import solved_at_defaults

from benchmarks.gait.score import null_models, weight_by_the_split
from problems.human.assessment.criteria import Criterion, unmet
from problems.human.assessment.measured import TRIAL, WINTER, measured
from problems.human.assessment.score import EVERY, TEN, mean_correlation, predicted_curves, scores, scores_of
from problems.human.assessment.whole_body import whole_body
from problems.human.gait.cycle import gait_cycle

PERCENT = np.linspace(0.0, 100.0, 101)


def curves_of(source):
    return {name: each.at(PERCENT) for name in TEN for each in measured(name) if each.source == source}


def test_a_measured_curve_agrees_with_itself_and_its_opposite_does_not():
    same = scores_of(curves_of(WINTER), PERCENT, WINTER)
    assert {each.quantity for each in same} == {
        "knee angle", "ankle angle", "vertical reaction", "fore-aft reaction",
    }  # fmt: skip
    for each in same:
        assert each.correlation == pytest.approx(1.0) and each.rms == 0.0 and each.within == 1.0
    opposite = {name: -values for name, values in curves_of(WINTER).items()}
    assert all(each.correlation == pytest.approx(-1.0) for each in scores_of(opposite, PERCENT, WINTER))


def test_what_is_not_met_is_one_line_with_value_and_band():
    """At a bound a criterion is met; outside, the line names it."""
    good = Criterion("peak", 1.3, 0.95, 1.3, "BW")
    bad = [Criterion("lean", 20.0, -np.inf, 15.0, "deg"), Criterion("fit", np.nan, 0.8, np.inf)]
    assert unmet([good]) == "criteria of a credible walk: all 1 are met"
    assert unmet([good, *bad]) == (
        "criteria of a credible walk: 2 of 3 are not met: lean 20 (<= 15 deg); fit nan (>= 0.8)"
    )


def test_the_share_within_two_deviations_is_counted_over_the_cycle():
    winter = next(each for each in measured("knee angle") if each.source == WINTER)
    apart = np.where(PERCENT < 50.0, 1.9, 2.1) * np.interp(PERCENT, winter.percent, winter.deviation)
    (found,) = scores_of({"knee angle": winter.at(PERCENT) + apart}, PERCENT, WINTER)
    assert found.within == pytest.approx(0.5, abs=0.01)
    (trial,) = scores_of({"knee angle": winter.at(PERCENT)}, PERCENT, TRIAL)
    assert trial.within is None and trial.correlation > 0.95


def test_the_mean_takes_the_ten_curves_and_counts_constants_as_nothing():
    trial = curves_of(TRIAL)
    assert len(trial) == 10 and mean_correlation(scores_of(trial, PERCENT, TRIAL)) == pytest.approx(1.0)
    flat = trial | {"ankle angle": np.full_like(PERCENT, 3.0)}
    assert mean_correlation(scores_of(flat, PERCENT, TRIAL)) == pytest.approx(0.9)


def test_weight_shared_by_time_is_one_weight_on_both_feet():
    left = weight_by_the_split((PERCENT + 50.0) % 100.0)
    right = weight_by_the_split(PERCENT % 100.0)
    assert np.allclose(left + right, 1.0) and right.min() >= 0.0
    assert right[PERCENT > 70.0].max() < 1e-12 and right[30] == 1.0


def test_null_models_are_as_good_as_the_page_says():
    nulls = null_models()
    assert nulls["body weight by the time split"]["vertical reaction"][0] > 0.95
    for name, (r, rms, _) in nulls["mean of each curve"].items():
        values = next(each for each in measured(name) if each.source == TRIAL).at(np.linspace(0, 100, 401))
        assert r is None and rms == pytest.approx(values.std())
    assert nulls["Winter's adults"]["knee angle"][0] > 0.95


@pytest.mark.long
def test_a_solved_step_has_every_curve_with_the_signs_of_the_measurements():
    """In single support the hip abducts, the ankle plantarflexes late, and the ground pushes upward."""
    solution = solved_at_defaults("planar_walker")
    body = whole_body(gait_cycle(solution))
    curves, percent = predicted_curves(body), body.cycle.percent
    assert set(curves) == set(EVERY)
    late = (percent > 35.0) & (percent < 50.0)
    assert curves["ankle moment"][late].mean() > 0.3 and curves["hip abduction moment"][late].mean() > 0.2
    assert curves["vertical reaction"][late].mean() > 0.5
    found = scores(solution)
    assert len(found) == 10 and {each.source for each in found} == {TRIAL}
