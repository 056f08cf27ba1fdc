"""Certificates against planted violations: no false proof, nothing wide missed, truth confirmed."""

import pytest

from benchmarks.planted_violations.outcomes import outcome


def check(outcomes):
    assert not [each for each in outcomes if each.false_proof or each.false_proof_of_verify]
    assert not [each for each in outcomes if each.false_sampled]
    true = [each for each in outcomes if each.true]
    assert true and sum(each.refused_truth for each in true) <= 0.05 * len(true)
    assert {"proved", "DOES NOT HOLD"} <= {each.verdict for each in outcomes}


def test_planted_peaks_forces_and_bounds_are_told_as_they_are():
    check([outcome(seed) for seed in range(24)])


@pytest.mark.long
def test_three_hundred_planted_violations():
    outcomes = [outcome(seed) for seed in range(300)]
    check(outcomes)
    assert "holds, sampled" in {each.verdict for each in outcomes}
