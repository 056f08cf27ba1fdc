"""The scoreboard of walking: its tables say what the numbers say, where the page has a place for them."""

from pathlib import Path

import pytest

from benchmarks.gait import scoreboard
from problems.human.assessment.score import TEN

WALK = {
    "status": "converged", "mean": 0.9, "objective": 0.25, "peaks": [1.0, 0.8, 1.1], "knee": 62.0,
    "pelvis": [2.0, 3.0], "not_met": [], "iterations": 90, "cpu_seconds": 9.0, "speed": 1.2,
    "step_length": 0.6, "points": 8, "people": 0.59,
    "curves": {name: [0.9, 2.0, None] for name in TEN},
}  # fmt: skip
FOUND = {
    "ours": WALK, "thesis": WALK | {"mean": 0.8}, "winter": WALK,
    "starts": [WALK, WALK | {"status": "infeasible"}],
    "removals": {"clearance": WALK | {"not_met": ["knee, peak in swing 40"]}},
    "nulls": {
        "body weight by the time split": {"vertical reaction": [0.97, 0.1, None]},
        "mean of each curve": {name: [None, 1.0 if name == "hip angle" else 9.0, None] for name in TEN},
        "Winter's adults": {"knee angle": [0.99, 5.0, 0.9]},
    },
}  # fmt: skip


def test_null_models_that_are_closer_are_named():
    text = scoreboard.score(FOUND)
    assert "time split correlates better than the prediction: vertical reaction." in text
    assert "has the smaller root mean square difference: hip angle." in text
    assert "**0.900**" in text and "**0.800**" in text
    assert "start 1 (infeasible)" in text and "| knee, peak in swing 40 |" in text


def test_the_least_cost_per_metre_is_found_between_step_lengths_or_at_their_end():
    parabola = [(x - 0.62) ** 2 for x in (0.5, 0.6, 0.7)]
    assert scoreboard.least([0.5, 0.6, 0.7], parabola) == "0.62"
    assert scoreboard.least([0.5, 0.6, 0.7], [1.0, 2.0, 3.1]) == "below 0.50"
    assert scoreboard.least([0.5, 0.6, 0.7], [3.0, 2.0, 1.5]) in ("above 0.70", "0.70")
    rows = [
        WALK | {"step_length": x, "objective": x * (1.0 + y), "terms": {"effort": x, "power": x * y}}
        for x, y in zip((0.5, 0.6, 0.7), parabola, strict=True)
    ]
    text = scoreboard.lengths(rows)
    assert "| 0.62 | 0.59 |" in text
    assert "| cost per metre | effort | power |" in text and "m/s, 0.50 m | 1.000 | 0.014 |" in text
    metabolic = [row | {"objective": 1.0, "cost": 2.0 + y} for row, y in zip(rows, parabola, strict=True)]
    text = scoreboard.metabolic_lengths(metabolic)
    assert "| 0.62 | 0.59 |" in text and "0.50 m: 2.014" in text


def test_tables_are_filled_where_the_page_has_a_place_for_them(tmp_path):
    page = tmp_path / "gait.md"
    page.write_text("a\n<!-- scoreboard mesh -->\nold\n<!-- end -->\nb\n")
    numbers = {"mesh": {"machine": "a machine", "found": [WALK, WALK | {"points": 14}]}}
    for _ in range(2):
        scoreboard.fill(page, numbers)
    text = page.read_text()
    assert "old" not in text and text.startswith("a\n") and text.endswith("\nb\n")
    assert text.count("| 14 control points |") == 1 and text.count("a machine") == 1
    with pytest.raises(ValueError, match="no place for 'scoreboard score'"):
        scoreboard.fill(page, numbers | {"score": {"machine": "m", "found": FOUND}})


def test_the_page_of_walking_has_a_place_for_every_part():
    text = (Path(__file__).parents[2] / "docs" / "gait.md").read_text(encoding="utf-8")
    for part in scoreboard.TABLES:
        assert f"<!-- scoreboard {part} -->" in text


def test_speeds_and_steps_that_nobody_can_walk_have_a_line_each():
    where = "torque limits, hip_l_flex in single support with the right foot on the ground (t = 0.058 s)"
    told = "none of 60 iterates came near its rows; 692 of 2383 rows in 1 round"
    detail = f"no such step was found: {where} ({told})"
    lost = {
        "speed": 4.0, "step_length": 0.7, "status": "infeasible", "detail": detail, "iterations": 60,
        "cpu_seconds": 4.4,
    }  # fmt: skip
    text = scoreboard.speeds([WALK | {"verdict": "PASS"}, lost])
    assert "| 1.2 m/s, 0.60 m | converged | PASS | 1.00, 0.80, 1.10 | 62.0 | none | 90 | 9 |" in text
    assert "| 4.0 m/s, 0.70 m | infeasible |" in text
    line = scoreboard.impossible([lost | {"asked": {"speed": 4.0, "slope": 0.3}}]).splitlines()[-1]
    assert line == f"| speed 4, slope 0.3 | infeasible | {where} | 60 | 4.4 |"
