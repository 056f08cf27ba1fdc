"""Results over time: lines are kept as they are, and what became slower is named."""

import json

import pytest

from benchmarks import trend
from benchmarks.shared import history
from trajopt.base.errors import OptionError

LINE = {
    "date": "2026-11-23", "commit": "abc", "processor": "one", "versions": "Python", "row": "rnea",
    "ratio": 2.0,
}  # fmt: skip


def results(*ratios, **other):
    return [history.Result(**{**LINE, "ratio": ratio, **other}) for ratio in ratios]


@pytest.mark.parametrize(
    ("ratios", "slower"),
    [
        ((2.0, 1.79), True),
        ((2.0, 1.81), False),
        ((2.0,), False),
        ((2.0, 1.5, 2.0), False),
        ((2.0, 2.1, 1.9, 1.7), True),
        ((2.0, 9.0), False),
    ],
)
def test_a_fall_of_more_than_a_tenth_below_the_runs_before_is_told(ratios, slower):
    (found,) = history.trends(results(*ratios), "one")
    assert found.slower == slower


def test_processors_are_not_compared_with_each_other():
    both = [*results(2.0), *results(0.1, processor="two")]
    assert [each.ratios for each in history.trends(both, "one")] == [[2.0]]
    assert not any(each.slower for each in history.trends(both, "two"))


def test_a_run_is_added_below_the_others(tmp_path):
    file = tmp_path / "results.jsonl"
    history.add(results(2.0), file)
    history.add(history.now({"crba": 1.23456}), file)
    first, second = history.read(file)
    assert first == results(2.0)[0]
    assert (second.row, second.ratio) == ("crba", 1.2346) and second.commit and second.processor


@pytest.mark.parametrize(
    "line",
    ["no json", "[1]", json.dumps({"row": "rnea"}), *(json.dumps(LINE | {"ratio": bad}) for bad in (0, -1))],
)
def test_a_line_that_is_no_result_is_named(tmp_path, line):
    file = tmp_path / "results.jsonl"
    file.write_text(json.dumps(LINE) + "\n" + line + "\n")
    with pytest.raises(OptionError, match=r"results.jsonl, line 2 is no result"):
        history.read(file)


def test_the_trend_names_what_became_slower_and_ends_with_one(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["trend"])
    monkeypatch.setattr(history, "read", lambda path: [*results(2.0, 1.0), *results(1.0, 1.0, row="crba")])
    assert trend.main() == 1
    told = capsys.readouterr().out
    assert "| rnea | 2 | 2 | 2 | 1 | -50% |" in told and told.endswith("SLOWER rnea: -50%, one\n")
    monkeypatch.setattr(history, "read", lambda path: results(1.0, 1.0))
    assert trend.main() == 0
    assert "no row became slower by more than 10%" in capsys.readouterr().out
