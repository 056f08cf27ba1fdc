"""A grid of parameters, its table, and neighbours that start from each other."""

import csv

import numpy as np
import pytest
from click.testing import CliRunner

import trajopt
from problems.cli.command_line import main
from problems.cli.sweep import axes_of, grid, sweep, values_of
from trajopt.errors import OptionError, UnknownNameError


def run(*arguments):
    return CliRunner().invoke(main, ["sweep", *map(str, arguments)])


def rows(folder):
    with open(folder / "table.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_neighbours_in_a_grid_differ_in_one_step_of_one_parameter():
    points = grid({"a": [1, 2, 3], "b": [10, 20], "c": ["x", "y", "z"]})
    assert len(points) == 18 and len({tuple(point.values()) for point in points}) == 18
    places = {"a": [1, 2, 3], "b": [10, 20], "c": ["x", "y", "z"]}
    at = np.array([[places[name].index(value) for name, value in point.items()] for point in points])
    assert np.all(np.abs(np.diff(at, axis=0)).sum(axis=1) == 1)


def test_commas_inside_brackets_belong_to_a_value():
    assert values_of("q_end=[1, -1],[2, pi/2],3") == ("q_end", [[1, -1], [2, pytest.approx(np.pi / 2)], 3])
    assert values_of("start=measured,standing") == ("start", ["measured", "standing"])
    for text in ("mass", "mass=", "mass=1,,2", "=1,2", "my mass=1"):
        with pytest.raises(OptionError, match="is no list of values: write NAME=VALUE,VALUE"):
            values_of(text)


def test_commas_inside_quotes_belong_to_a_value():
    assert values_of("without='posture, heel strike',push") == ("without", ["posture, heel strike", "push"])


def test_a_parameter_that_is_set_twice_is_refused():
    assert axes_of(["u=1,2", "mass=3"]) == {"u": [1, 2], "mass": [3]}
    with pytest.raises(OptionError, match="'u' is set twice: give all its values at once"):
        axes_of(["u=1", "u=2"])


def test_a_sweep_writes_a_table_and_a_solution_of_every_point(tmp_path):
    answer = run("double_integrator", "--set", "mass=1,4", "--set", "force=1,2", "--out", tmp_path)
    assert answer.exit_code == 0, answer.output
    assert "4 of 4 converged" in answer.output
    for row in rows(tmp_path):
        mass, force = float(row["mass"]), float(row["force"])
        assert float(row["duration"]) == pytest.approx(2.0 * np.sqrt(mass / force), rel=1e-6)
        solution = trajopt.Solution.load(tmp_path / row["file"])
        assert solution.recipe.parameters["mass"] == mass and solution.converged
    starts = [row["start"] for row in rows(tmp_path)]
    assert starts == ["its own guess", "point 0", "point 1", "point 2"]


def test_points_start_cold_on_request(tmp_path):
    points = list(sweep("minimum_acceleration", {"distance": [1.0, 2.0]}, tmp_path, warm=False))
    assert [point.start for point in points] == ["its own guess"] * 2


def test_failures_stand_in_the_table(tmp_path):
    answer = run("two_link_pr", "--set", "u=2,0.02", "--set", "intervals=6", "--out", tmp_path)
    assert answer.exit_code == 1 and "1 of 2 converged" in answer.output
    failed, fine = rows(tmp_path)
    assert failed["status"] == "failed" and "expected a weight between 0" in failed["error"]
    assert fine["status"] == "converged" and failed["file"] == ""


def test_processes_take_parts_of_the_grid_and_find_the_same(tmp_path):
    axes = {"mass": [1.0, 2.0, 3.0, 4.0]}
    alone = list(sweep("sliding_mass", axes, tmp_path / "one"))
    shared = list(sweep("sliding_mass", axes, tmp_path / "two", processes=2))
    for one, two in zip(alone, shared, strict=True):
        assert one.results["objective"] == pytest.approx(two.results["objective"], rel=1e-7)
    assert [point.start for point in shared] == ["its own guess", "point 0", "its own guess", "point 2"]


def test_what_cannot_be_swept_is_refused_before_anything_is_solved(tmp_path):
    with pytest.raises(UnknownNameError, match="double_integrator has no parameter 'weight'"):
        next(sweep("double_integrator", {"weight": [1]}, tmp_path))
    with pytest.raises(OptionError, match="processes is 0: give a whole number"):
        next(sweep("double_integrator", {"mass": [1]}, tmp_path, processes=0))
    assert not list(tmp_path.iterdir())
    assert run("double_integrator").exit_code == 2 and run("nothing", "--set", "a=1").exit_code == 2


def test_an_interrupted_point_ends_the_sweep(tmp_path, monkeypatch):
    from dataclasses import replace

    solve = trajopt.solve

    def interrupted(problem, solver=None):
        return replace(solve(problem, solver), status=trajopt.Status.INTERRUPTED)

    monkeypatch.setattr(trajopt, "solve", interrupted)
    points = list(sweep("minimum_acceleration", {"distance": [1.0, 2.0]}, tmp_path))
    assert [point.results["status"] for point in points] == ["interrupted"]
