"""The table of a study: rows that a kill cannot cut, the numbers read back as they were, CSV and Parquet."""

import csv
import io
import math
import sys

import pytest

from trajopt.base.errors import OptionError
from trajopt.studies.many import point as point_table
from trajopt.studies.many.point import StudyPoint
from trajopt.studies.many.study import Lines, Meter, duration_in_words, report_of


def rows(count):
    return [
        point_table.row_of(
            StudyPoint(
                i, {"mass": 0.1 + i, "file": "a, b", "q": [1, math.inf]}, "converged", True, 1 / 3, None, 7
            ),
            f"{i:012x}",
        )
        for i in range(count)
    ]


def test_numbers_are_read_back_as_they_were(tmp_path):
    path = tmp_path / "table.csv"
    for row in rows(3)[::-1]:
        point_table.append(path, row)
    found = point_table.read_rows(path)
    assert [row["number"] for row in found] == ["2", "1", "0"], "in the order in which they were done"
    assert float(found[0]["duration"]) == 1 / 3 and found[0]["parameter file"] == "a, b"
    assert found[0]["q"] == "[1, 'inf']"
    back = point_table.point_of(found[0], {})
    assert (back.converged, back.objective, back.iterations, back.tries) == (True, None, 7, 1)
    point_table.rewrite(path, rows(3))
    assert [row["number"] for row in point_table.read_rows(path)] == ["0", "1", "2"]
    assert path.read_text() == point_table.csv_of(rows(3))


def test_every_length_to_which_a_file_can_be_cut_gives_whole_rows_only(tmp_path):
    whole, path = point_table.csv_of(rows(3)), tmp_path / "table.csv"
    expected = list(csv.DictReader(io.StringIO(whole)))
    for length in range(len(whole) + 1):
        path.write_text(whole[:length])
        found = point_table.read_rows(path)
        assert found == expected[: len(found)]
        assert len(found) == max(0, whole[:length].count("\n") - 1)


def test_a_full_disk_leaves_the_rows_that_were_there(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    point_table.append(path, rows(1)[0])
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(point_table.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        point_table.append(path, rows(2)[1])
    assert path.read_bytes() == before


def test_parquet_has_the_same_columns(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    point_table.save_table(rows(3), tmp_path / "table.parquet")
    table = parquet.read_table(tmp_path / "table.parquet").to_pydict()
    assert table["number"] == [0, 1, 2] and table["mass"] == [0.1, 1.1, 2.1]
    assert table["objective"] == [None] * 3 and table["converged"] == [True] * 3


def test_other_endings_and_a_missing_pyarrow_are_named(tmp_path, monkeypatch):
    with pytest.raises(OptionError, match=r"ends in '\.xlsx': give a name that ends in \.csv or \.parquet"):
        point_table.save_table(rows(1), tmp_path / "table.xlsx")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OptionError, match="needs the package pyarrow"):
        point_table.save_table(rows(1), tmp_path / "table.parquet")


def test_columns_of_one_kind_stay_so_and_others_become_text():
    assert point_table._column([1, 2.5, None]) == [1.0, 2.5, None]
    assert point_table._column([[1, 2], None, "a"]) == ["[1, 2]", None, "a"]
    assert point_table._column([True, False]) == [True, False]


def test_the_time_left_is_that_of_the_rate():
    clock = iter([0.0, 30.0, 32.0, 34.0, 36.0])
    meter = Meter(10, 2, lambda: next(clock))
    point = StudyPoint(0, {}, "converged", True)
    told = [meter.counted(point) for _ in range(4)]
    assert [progress.done for progress in told] == [3, 4, 5, 6]
    assert told[0].seconds_left is None and told[3].seconds_left == pytest.approx(4 * 2.0)
    assert str(told[3]) == "6 of 10, about 8 s left"


def test_only_recent_points_count_for_the_rate():
    times = [0.0, 1000.0, *(1000.0 + i for i in range(1, 61))]
    clock = iter(times)
    meter = Meter(100, 0, lambda: next(clock))
    for _ in range(61):
        last = meter.counted(StudyPoint(0, {}, "converged", True))
    assert last.seconds_left == pytest.approx(39.0)


def test_lines_tell_failures_and_the_end_and_do_not_flood():
    stream, meter = io.StringIO(), Meter(1000, 0)
    report = Lines(stream)
    for number in range(1000):
        error = "ProblemError: no" if number == 500 else ""
        report(meter.counted(StudyPoint(number, {}, "failed", error=error)))
    lines = stream.getvalue().splitlines()
    assert any("500  ProblemError: no" in line for line in lines) and lines[-1].endswith("[1000 of 1000]")
    assert len(lines) < 100
    assert report_of("silent")(None) is None


def test_durations_are_as_exact_as_an_estimate_is():
    told = [duration_in_words(seconds) for seconds in (0.0, 89.0, 100.0, 3600.0, 7500.0)]
    assert told == ["1 s", "89 s", "2 min", "60 min", "2 h 5 min"]
