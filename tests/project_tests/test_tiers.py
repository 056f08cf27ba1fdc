"""Many cases in one test: all of them run, and those that fail are told with their values."""

import inspect

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
