"""Right answers with free ends, zeros, jumps and raw units pass: a few seeds of `benchmarks.attacks`."""

import pytest

from benchmarks.attacks.__main__ import attacked
from benchmarks.attacks.judgement import believed
from benchmarks.attacks.right_answers import FAMILIES


@pytest.mark.parametrize(("family", "seed"), [("right: rest", 1), ("right: idle pushes", 8)])
def test_states_that_rest_away_from_zero_pass(family, seed):
    """The rate that rounding leaves is not compared with itself."""
    judgement = attacked(FAMILIES[family][0], family, seed)
    assert judgement.verdict == "right", judgement.what


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_right_answers_are_believed(family):
    for seed in range(2):
        judgement = attacked(FAMILIES[family][0], family, seed)
        assert judgement.verdict == "right", judgement.what


class Answer:
    """An answer whose verdict is given."""

    converged, objective = True, 2.0

    def __init__(self, holds):
        self.holds, self.reason, self.error_of_optimum = holds, "a reason", 0.0

    def verify(self):
        return self


@pytest.mark.parametrize(
    ("holds", "optimum", "verdict"),
    [(True, 2.0, "right"), (False, 2.0, "DISTRUSTED"), (False, 3.0, "refused"), (True, 3.0, "WRONG")],
)
def test_a_right_answer_that_is_refused_is_distrusted(holds, optimum, verdict):
    assert believed(Answer(holds), optimum, "an answer").verdict == verdict
