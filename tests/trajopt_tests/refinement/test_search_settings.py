"""The thresholds of the certified search: values that make no sense are refused, others reach the search."""

from dataclasses import fields

import pytest
from hand_written import two_link_minimum_time

import trajopt
from trajopt.base import errors
from trajopt.certified.search_settings import DEFAULT, SearchSettings, Thresholds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bracket_width": 0.0}, "bracket_width = 0.0: expected a finite number above 0"),
        ({"most_scaled": float("nan")}, "most_scaled = nan: expected a finite number above 0"),
        ({"most_scaled": 1.0}, "most_scaled is 1.0: give a part of the whole, between 0 and 1"),
        ({"refinements": 2.5}, "refinements = 2.5: expected a whole number, 0 or more"),
        ({"large_program": 0}, "large_program = 0: expected a whole number, 1 or more"),
        ({"highest_degree": 3}, "highest_degree = 3: expected a whole number, 4 or more"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(errors.OptionError, match=message):
        SearchSettings(**options)


def test_settings_of_another_type_are_refused():
    with pytest.raises(errors.OptionError, match="give a SearchSettings"):
        trajopt.Certified(settings={"collapsed": 1e-3})  # type: ignore[arg-type]


def test_the_highest_degree_of_arcs_is_a_setting():
    with pytest.raises(errors.OptionError, match=r"settings.highest_degree. = 14: .*, 12 at most"):
        trajopt.Certified(degree=14, settings=SearchSettings(highest_degree=12))


def test_every_setting_and_threshold_is_documented():
    settings, thresholds = SearchSettings.__doc__ or "", Thresholds.__doc__ or ""
    assert not [field.name for field in fields(SearchSettings) if f" {field.name} : " not in settings]
    assert not [name for name in Thresholds.__annotations__ if f" {name} : " not in thresholds]
    assert len(fields(SearchSettings)) <= 12


def test_thresholds_are_no_settings():
    with pytest.raises(TypeError, match="collapsed"):
        SearchSettings(**{"collapsed": 2e-3})  # type: ignore[arg-type]


@pytest.mark.long
def test_the_search_uses_the_settings_that_are_given():
    """No solve on arcs converges within one iteration, so nodes are added instead."""
    hurried = trajopt.Certified(settings=SearchSettings(arc_iterations=1, refinements=0))
    certificate = trajopt.solve(two_link_minimum_time(10), refine=hurried).certificate
    assert certificate.method == "added nodes" and "iteration limit" in certificate.reason
    assert trajopt.Certified().settings is DEFAULT
