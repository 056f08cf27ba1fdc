"""Many cases in one test: all of them run, and those that fail are told with their values."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import every

seen = []


@every("first, second", [(1, 1), (2, 3), (4, 4), (5, 6)])
def pairs(first, second, tmp_path):
    seen.append(first)
    assert first == second


def test_every_case_runs_and_those_that_fail_are_told_together(tmp_path):
    with pytest.RaisesGroup(AssertionError, AssertionError) as caught:
        pairs(tmp_path=tmp_path)
    assert seen == [1, 2, 4, 5] and list(inspect.signature(pairs).parameters) == ["tmp_path"]
    notes = [note for error in caught.value.exceptions for note in error.__notes__]
    assert notes == [f"case: {{'first': {a}, 'second': {b}}}" for a, b in ((2, 3), (5, 6))]


@every("number", range(5), fast=2)
def test_few_cases_are_fast_and_the_others_long(number, request):
    marked = request.node.get_closest_marker("long") is not None
    assert marked == (number >= 2)


def test_no_case_is_no_test():
    with pytest.raises(AssertionError, match="cannot fail"):
        every("number", [])(lambda number: None)()


@pytest.mark.long
@pytest.mark.parametrize(("tier", "case"), [("long", "differences"), ("thorough", "complex step")])
def test_a_thorough_case_of_a_long_test_is_not_chosen_with_the_long_ones(tier, case):
    """Each case carries the marker of its test, too."""
    file = Path(__file__).parents[1] / "dynamics_tests/algorithms/test_coriolis.py"
    name = "test_only_the_christoffel_factor_is_half_the_slope_of_the_velocity_torques"
    command = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", "-m", tier, f"{file}::{name}"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=file.parents[3])
    assert [line.partition(name)[2] for line in run.stdout.splitlines() if name in line] == [f"[{case}]"]


def test_a_case_that_skips_leaves_the_others():
    seen = []

    @every("number", range(4))
    def odd(number):
        seen.append(number)
        if number % 2 == 0:
            pytest.skip("even")
        assert number == 1

    with pytest.raises(BaseExceptionGroup, match="1 of 4 cases"):
        odd()
    assert seen == [0, 1, 2, 3]
    with pytest.raises(pytest.skip.Exception, match="nothing"):
        every("number", [0, 2])(lambda number: pytest.skip("nothing"))()
