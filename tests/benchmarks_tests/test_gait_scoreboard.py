"""The scoreboard of walking: its tables say what the numbers say, where the page has a place for them."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.gait import scoreboard
from benchmarks.gait.weights import cautious_fit
from problems.human.assessment.score import TEN

WALK = {
    "status": "converged", "mean": 0.9, "objective": 0.25, "peaks": [1.0, 0.8, 1.1], "knee": 62.0,
    "pelvis": [2.0, 3.0], "not_met": [], "iterations": 90, "cpu_seconds": 9.0, "speed": 1.2,
    "step_length": 0.6, "points": 8, "people": 0.59,
    "curves": {name: [0.9, 2.0, None] for name in TEN},
}  # fmt: skip
PREDICTED = WALK | {
    "name": "4 intervals", "winter": 0.95, "slip": 1e-4, "sinking": 2e-4, "missing": 2e-3,
    "events": {"foot-flat": 8.0, "toe-off": 62.0, "heel-off": 33.0},
}  # fmt: skip
FOUND = {
    "meshes": [PREDICTED], "base": "4 intervals", "winter": PREDICTED | {"name": "at Winter's speed"},
    "moved": [PREDICTED | {"mean": mean, "status": status, "name": f"power to {mean}"}
              for mean, status in ((0.88, "converged"), (0.91, "infeasible"))],
    "nulls": {"mean of each curve": {name: [None, 9.0, None] for name in TEN},
              "Winter's adults": {"knee angle": [0.99, 5.0, 0.9]}},
}  # fmt: skip


SLOPE = {"slope": 0.0, "cost": 2.6, "people": 2.5, "objective": 0.4, "iterations": 20}


def test_null_models_stand_beside_the_walk_and_moved_settings_are_summed_up():
    text = scoreboard.predicted(FOUND)
    assert "the worst has a mean correlation that is 0.020 lower, the best one 0.010 higher" in text
    assert "power to 0.91 (infeasible)" in text and "| 0.1, 0.2 |" in text
    assert "| hip angle | 0.90, 2 | 0, 9 |  |" in text and "| 0.99, 5 |" in text


def test_the_least_cost_per_metre_is_found_between_step_lengths_or_at_their_end():
    parabola = [(x - 0.62) ** 2 for x in (0.5, 0.6, 0.7)]
    assert scoreboard.least([0.5, 0.6, 0.7], parabola) == "0.62"
    assert scoreboard.least([0.5, 0.6, 0.7], [1.0, 2.0, 3.1]) == "below 0.50"
    assert scoreboard.least([0.5, 0.6, 0.7], [3.0, 2.0, 1.5]) in ("above 0.70", "0.70")
    rows = [WALK | {"step_length": x} for x in (0.5, 0.6, 0.7)]
    metabolic = [row | {"objective": 1.0, "cost": 2.0 + y} for row, y in zip(rows, parabola, strict=True)]
    text = scoreboard.metabolic_lengths(metabolic)
    assert "| 0.62 | 0.59 |" in text and "0.50 m: 2.014" in text


def test_tables_are_filled_where_the_page_has_a_place_for_them(tmp_path):
    page = tmp_path / "gait.md"
    page.write_text("a\n<!-- scoreboard predicted -->\nold\n<!-- end -->\nb\n")
    numbers = {"predicted": {"machine": "a machine", "found": FOUND}}
    for _ in range(2):
        scoreboard.fill(page, numbers)
    text = page.read_text()
    assert "old" not in text and text.startswith("a\n") and text.endswith("\nb\n")
    assert text.count("| at Winter's speed |") == 1 and text.count("a machine") == 1
    with pytest.raises(ValueError, match="no place for 'scoreboard slopes'"):
        scoreboard.fill(page, numbers | {"slopes": {"machine": "m", "found": [SLOPE]}})


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


def test_weights_are_fitted_to_curves_that_agree_and_stay_where_curves_say_nothing_of_them():
    random = np.random.default_rng(0)
    slopes, noise = random.normal(size=(6, 51, 3)), random.normal(size=(6, 51))
    planted = np.array([0.2, -0.3, 0.1])
    assert np.allclose(cautious_fit(0.01 * noise - slopes @ planted, slopes), planted, atol=0.02)
    assert np.abs(cautious_fit(noise, slopes)).max() < 1e-6
    slopes[1:] = 0.0  # one curve alone asks for it: left out, it is not predicted
    assert np.abs(cautious_fit(0.01 * noise - slopes @ planted, slopes)).max() < 1e-6
