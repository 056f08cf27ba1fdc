"""The tables on the page of the walk, and where they go."""

from types import SimpleNamespace

import pytest
from library_solutions import once_in_a_run

import trajopt
from benchmarks.gait import report, report_tables, report_walks
from problems.human.assessment.criteria import Criterion
from problems.human.gait.step_constraints import STEP_CONSTRAINTS


def test_values_that_are_not_met_are_bold():
    good, bad = Criterion("peak", 1.0, 0.9, 1.3, "BW"), Criterion("peak", 2.0, 0.9, 1.3, "BW")
    text = report_tables.side_by_side({"L = 0.6 m": (good,), "L = 0.7 m": (bad,)})
    assert text.splitlines()[-1] == "| peak | 0.9 .. 1.3 BW | 1 | **2** |"
    assert "L = 0.6 m | L = 0.7 m" in text


def test_the_page_has_a_place_for_every_table_and_a_file_for_every_picture():
    for cost, count in (("sourced", 8), ("thesis", 5)):
        text = (report.DOCS / report.PAGES[cost]).read_text(encoding="utf-8")
        assert all(f"<!-- {name} -->" in text for name in report_tables.TABLES[cost])
        pictures = [part.split(")")[0] for part in text.split("](figures/")[1:]]
        assert len(pictures) == len(set(pictures)) == count
        assert all((report.PICTURES / name).exists() for name in pictures)


def test_every_step_constraint_is_told_with_the_equation_it_stems_from():
    lines = report_tables.constraints().splitlines()
    assert len(lines) == 2 + len(STEP_CONSTRAINTS) and all(line.count(" | ") >= 1 for line in lines)
    for number in range(2, 8):
        assert f"(5.{number})" in report_tables.constraints()


@pytest.mark.long
def test_a_walk_is_reported_whole(tmp_path, monkeypatch, capsys):
    """But for its figures, which test_exports.py draws of another walk; test_gait.py solves this one, too."""

    def drawn(_, folder, ending):
        (folder / "gait.md").write_text("| knee |", encoding="utf-8")
        return [f"gait.{ending}", "gait.md"]

    def solve(problem, **_):
        return once_in_a_run(
            "imposed walk, thesis, standing", lambda: trajopt.solve(problem, progress="silent")
        )

    monkeypatch.setattr(report, "draw", drawn)
    monkeypatch.setattr(report_walks, "trajopt", SimpleNamespace(solve=solve))
    solution = report_walks.solved(cost="thesis", start="standing")
    assert report_walks.solved(cost="thesis", start="standing", step_length=0.6) is solution  # solved once
    report.report(solution, tmp_path)
    assert {"solution.npz", "gait.md"} == {path.name for path in tmp_path.iterdir()}
    assert "solution.npz, gait.png, gait.md\n| knee |" in capsys.readouterr().out
    run = report_tables.run(solution, 4.0)
    assert run["unknowns"] == "152" and len(run) == len(report_tables.BARMAN)
    assert report_tables.shortfalls({"as it is": solution}).splitlines()[-1].startswith("| as it is | 0.")
    assert "peak hip force" in report_tables.columns({"0 kg": report_tables.carried(solution)})
    assert "peak vertical reaction (BW), right / left" in report_tables.both_sides(solution)
