"""The record of a run tells the numbers that it was given."""

import numpy as np

import trajopt
from trajopt.solution.records import RunRecord


def test_the_record_has_every_digit_of_an_array():
    goal = np.array([1.0 / 3.0, -1e-9])
    written = RunRecord.of(trajopt.Ipopt(), {"q_end": goal}).arguments["q_end"]
    np.testing.assert_array_equal(eval(written, {"array": np.array}), goal)
