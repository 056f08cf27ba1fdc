"""The script that writes the page of the walk: its tables and where they go."""

import importlib.util
from pathlib import Path

import pytest

from problems.human.assessment.criteria import Criterion
from problems.human.gait.step_constraints import STEP_CONSTRAINTS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("gait_report", ROOT / "scripts" / "gait_report.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_values_that_are_not_met_are_bold(script):
    good, bad = Criterion("peak", 1.0, 0.9, 1.3, "BW"), Criterion("peak", 2.0, 0.9, 1.3, "BW")
    text = script.side_by_side({"L = 0.6 m": (good,), "L = 0.7 m": (bad,)})
    assert text.splitlines()[-1] == "| peak | 0.9 .. 1.3 BW | 1 | **2** |"
    assert "L = 0.6 m | L = 0.7 m" in text


def test_the_page_has_a_place_for_every_table_and_a_file_for_every_picture(script):
    text = script.PAGE.read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in text for name in script.TABLES["sourced"])
    assert all(f"<!-- thesis {name} -->" in text for name in script.TABLES["thesis"])
    pictures = [part.split(")")[0] for part in text.split("](figures/")[1:]]
    assert len(pictures) == len(set(pictures)) == 19
    assert all((script.PICTURES / name).exists() for name in pictures)


def test_every_step_constraint_is_told_with_the_equation_it_stems_from(script):
    lines = script.constraints().splitlines()
    assert len(lines) == 2 + len(STEP_CONSTRAINTS) and all(line.count(" | ") >= 1 for line in lines)
    for number in range(2, 8):
        assert f"(5.{number})" in script.constraints()


@pytest.mark.long
def test_a_walk_is_reported_whole(script, tmp_path):
    solution = script.solved(cost="thesis")
    assert script.solved(cost="thesis", step_length=0.6) is solution  # solved once
    script.report(solution, tmp_path)
    assert {"solution.npz", "gait.gif", "gait_angles.png", "gait.md", "torques.sto"} <= {
        path.name for path in tmp_path.iterdir()
    }
    run = script.run(solution, 4.0)
    assert run["unknowns"] == "152" and len(run) == len(script.BARMAN)
    assert script.shortfalls({"as it is": solution}).splitlines()[-1].startswith("| as it is | 0.")
    assert "peak hip force" in script.columns({"0 kg": script.carried(solution)})
    assert "peak vertical reaction (BW), right / left" in script.both_sides(solution)
