"""The check of ratios raises an alarm where one has fallen by a fifth, and only there."""

import json

import pytest

pytest.importorskip("pinocchio")

from benchmarks import check


def scripted(*values):
    """A measurement that gives these values, one a call."""
    left = list(values)
    return lambda: left.pop(0)


def alarms(measured, baseline):
    return check.compared(measured, baseline, lambda line: None)


def test_a_ratio_that_fell_by_a_fifth_is_named():
    (found,) = alarms({"rnea": scripted(0.79, 0.7, 0.75), "crba": scripted(1.9)}, {"rnea": 1.0, "crba": 2.0})
    assert (found.name, found.ratio, found.before) == ("rnea", 0.79, 1.0)
    assert str(found) == "ALARM rnea: 0.79 times the peer's speed, 1 before (-21%)"


def test_one_bad_measurement_is_no_alarm_and_a_faster_row_never_is():
    assert alarms({"rnea": scripted(0.1, 0.2, 0.9)}, {"rnea": 1.0}) == []
    assert alarms({"rnea": scripted(0.81)}, {"rnea": 1.0}) == []
    assert alarms({"rnea": scripted(5.0)}, {"rnea": 1.0}) == []


def test_rows_that_nobody_measures_any_more_are_an_alarm():
    assert check.missing(["rnea"], ["rnea", "crba"]) == ["crba"]
    assert alarms({"new": scripted(1.0)}, {}) == []


def test_the_committed_baseline_has_every_row_and_only_ratios():
    record = json.loads(check.BASELINE.read_text(encoding="utf-8"))
    assert set(record["ratios"]) == set(check.rows())
    assert all(ratio > 0.0 for ratio in record["ratios"].values()) and record["machine"]


def test_the_exit_status_tells_an_alarm(monkeypatch, tmp_path, capsys):
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps({"machine": "another", "ratios": {"rnea": 1.0}}))
    monkeypatch.setattr(check, "BASELINE", file)
    monkeypatch.setattr(check.sys, "argv", ["check"])
    monkeypatch.setattr(check, "rows", lambda: {"rnea": lambda: 0.5})
    assert check.main() == 1
    told = capsys.readouterr().out
    assert "ALARM rnea: 0.5 times" in told and "the baseline is of another machine: another" in told
    monkeypatch.setattr(check, "rows", lambda: {"rnea": lambda: 1.1})
    assert check.main() == 0


@pytest.mark.long
def test_a_ratio_is_the_peers_time_by_ours(monkeypatch):
    monkeypatch.setattr(check, "in_turns", lambda calls: [[1.0, 3.0], [2.0, 4.0], [1.0, 2.5]])
    assert check.of_dynamics("serial 7", "rnea") == 2.5


def test_a_part_of_the_rows_never_replaces_the_whole_baseline(monkeypatch, tmp_path, capsys):
    file = tmp_path / "baseline.json"
    file.write_text("{}")
    monkeypatch.setattr(check, "BASELINE", file)
    monkeypatch.setattr(check.sys, "argv", ["check", "--write", "--rows", "rnea"])
    with pytest.raises(SystemExit):
        check.main()
    assert "leave out --rows" in capsys.readouterr().err and file.read_text() == "{}"
