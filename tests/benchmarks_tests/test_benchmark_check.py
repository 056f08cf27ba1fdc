"""The check of ratios raises an alarm where one has fallen by more than a tenth, and only there."""

import pytest

pytest.importorskip("pinocchio")

from benchmarks import check
from benchmarks.shared import history


def scripted(*values):
    """A measurement that gives these values, one a call."""
    left = list(values)
    return lambda: left.pop(0)


def compared(measured, before):
    return check.compared(measured, before, lambda line: None)


def test_a_ratio_that_fell_by_more_than_a_tenth_is_named_by_its_best_measurement():
    measured = {"rnea": scripted(0.79, 0.7, 0.75, 0.89, 0.8), "crba": scripted(1.9)}
    found = compared(measured, {"rnea": 1.0, "crba": 2.0})
    (fallen,) = found.fallen
    assert (fallen.name, fallen.ratio, fallen.before) == ("rnea", 0.89, 1.0)
    assert str(fallen) == "ALARM rnea: 0.89 times the other's speed, 1 before (-11%)"
    assert found.ratios == {"rnea": 0.89, "crba": 1.9}


def test_one_bad_measurement_is_no_alarm_and_a_faster_row_never_is():
    assert compared({"rnea": scripted(0.1, 0.2, 0.95)}, {"rnea": 1.0}).fallen == []
    assert compared({"rnea": scripted(0.91)}, {"rnea": 1.0}).fallen == []
    assert compared({"rnea": scripted(5.0)}, {"rnea": 1.0}).fallen == []


def test_rows_that_nobody_measures_any_more_are_an_alarm():
    assert check.missing(["rnea"], ["rnea", "crba"]) == ["crba"]
    found = compared({"new": scripted(1.0)}, {})
    assert found.fallen == [] and found.ratios == {"new": 1.0}


def test_the_committed_results_have_every_row():
    assert {each.row for each in history.read(history.RESULTS)} == set(check.rows())


def test_the_exit_status_tells_an_alarm_and_a_run_is_added_where_asked(monkeypatch, tmp_path, capsys):
    file = tmp_path / "results.jsonl"
    known = history.Result("2026-11-23", "abc", "another", "Python", "rnea", 1.0)
    history.add([known], file)
    monkeypatch.setattr(history, "RESULTS", file)
    monkeypatch.setattr(check.sys, "argv", ["check"])
    monkeypatch.setattr(check, "rows", lambda: {"rnea": lambda: 0.5})
    assert check.main() == 1
    told = capsys.readouterr().out
    assert "ALARM rnea: 0.5 times" in told and "compared with another" in told
    assert history.read(file) == [known]
    monkeypatch.setattr(check.sys, "argv", ["check", "--write"])
    monkeypatch.setattr(check, "rows", lambda: {"rnea": lambda: 1.1})
    assert check.main() == 0
    assert [each.ratio for each in history.read(file)] == [1.0, 1.1]


def test_a_ratio_is_the_least_time_of_the_other_by_ours(monkeypatch):
    monkeypatch.setattr(check, "in_turns", lambda calls, rounds: [[1.0, 3.0], [2.0, 4.0], [1.5, 2.5]])
    assert check.by_least(lambda: None, lambda: None) == 2.5
