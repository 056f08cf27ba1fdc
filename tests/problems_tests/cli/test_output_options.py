"""Output of commands: JSON alone on standard output, nothing with --quiet, more with --verbose."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import problems
from problems.cli.command_line import main
from problems.cli.literal import literal, parameters_of, split_values
from trajopt.base.errors import OptionError, near_matches


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def json_of(outcome):
    """Standard output as strict JSON: numbers that are none are refused."""
    return json.loads(outcome.stdout, parse_constant=pytest.fail)


@pytest.mark.parametrize("option", ["--json", "--quiet", "--verbose"])
def test_the_page_lists_the_commands_that_have_an_option(option):
    page = Path(__file__).parents[3] / "docs" / "howto" / "command_line.md"
    rows = [
        line.split("|") for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `--")
    ]
    (listed,) = [row[2] for row in rows if option in row[1]]
    having = {name for name, each in main.commands.items() if any(option in p.opts for p in each.params)}
    assert {name.strip(" `") for name in listed.split(",")} == having


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A solve that was asked for JSON, and its folder."""
    folder = tmp_path_factory.mktemp("results")
    return folder, run("solve", "two_link_rr", "--set", "intervals=5", "--json", "--out", folder)


def test_solve_prints_its_summary_with_the_names_of_its_files(solved):
    folder, outcome = solved
    told, written = json_of(outcome), json.loads((folder / "summary.json").read_text())
    assert outcome.exit_code == 0 and told["folder"] == str(folder)
    assert told["files"] == ["summary.json", "solution.npz"]
    assert {name: told[name] for name in written} == written


def test_verify_prints_the_verdict_and_every_statement(solved):
    folder, _ = solved
    told = json_of(run("verify", folder / "solution.npz", "--json"))
    assert told["verdict"] in ("PASS", "FAIL") and told["reason"] is not None
    report = problems_report(folder)
    assert len(told["statements"]) == len(report.violations)
    assert {each["name"] for each in told["statements"]} >= {"torque limits"}
    assert told["statements"][0]["node_violation"] == pytest.approx(report.violations[0].node_violation)


def problems_report(folder):
    import trajopt

    return trajopt.Solution.load(folder / "solution.npz").verify()


@pytest.mark.long
def test_the_folder_of_a_solution_is_as_good_as_its_file(solved):
    folder, _ = solved
    for command in ("verify", "show"):
        assert run(command, folder, "--json").stdout == run(command, folder / "solution.npz", "--json").stdout


def test_list_prints_names_and_parameters_as_json():
    assert json_of(run("list", "--json")).keys() == {*problems.__all__}
    told = json_of(run("list", "two_link_rr", "--json"))
    assert told["parameters"]["torque_upper"] == [10.0, 10.0]
    assert told["parameters"]["q_upper"] == ["inf", "inf"]


def test_list_prints_the_parameters_of_all_problems_where_that_is_asked_for():
    lines = run("list", "--verbose").stdout.splitlines()
    assert "    intervals=20" in lines and "    torque_limit=2.0" in lines


@pytest.mark.long
def test_a_sweep_prints_its_points_as_json(tmp_path):
    command = ("sweep", "double_integrator", "--set", "force=1,4", "--processes", 1, "--json")
    outcome = run(*command, "--out", tmp_path)
    told = json_of(outcome)
    assert told["converged"] == 2 and "[2 of 2]" in outcome.stderr
    durations = [point["duration"] for point in told["points"]]
    assert durations[0] == pytest.approx(2.0 * durations[1], rel=1e-6)  # T = 2 sqrt(m d / F)


@pytest.mark.long
def test_quiet_commands_print_nothing_but_complaints(tmp_path):
    done = run("solve", "two_link_rr", "--set", "intervals=5", "--plot", "--quiet", "--out", tmp_path)
    assert done.exit_code == 0 and done.output == ""
    failed = run("solve", "two_link_rr", "--option", "max_iterations=2", "--quiet", "--out", tmp_path)
    assert failed.exit_code == 1 and failed.stdout == ""
    assert failed.stderr.startswith("not converged: reached the iteration limit")


def test_a_quiet_solve_in_json_prints_json_alone(tmp_path):
    outcome = run("solve", "two_link_rr", "--set", "intervals=5", "--json", "--quiet", "--out", tmp_path)
    assert json_of(outcome)["converged"] and outcome.stderr == ""


@pytest.mark.long
def test_a_verbose_solve_shows_the_problem_every_iteration_and_the_time(tmp_path):
    outcome = run("solve", "two_link_rr", "--set", "intervals=5", "--verbose", "--out", tmp_path)
    count = json.loads((tmp_path / "summary.json").read_text())["iterations"]
    lines = outcome.stderr.splitlines()
    assert lines[0].startswith("Problem 'two_link_rr'")
    assert sum(line.startswith("iteration ") for line in lines) >= count
    assert lines[-1].startswith("time in ms: functions ")


@pytest.mark.long
def test_figures_are_told_while_they_are_drawn(tmp_path):
    outcome = run("solve", "two_link_rr", "--set", "intervals=5", "--plot", "--report", "--out", tmp_path)
    drawn = [line for line in outcome.stderr.splitlines() if line.startswith("drawing ")]
    assert [line.removeprefix("drawing ") for line in drawn] == [
        "torques.png", "joint_forces.png", "joints.png", "motion.png",
    ]  # fmt: skip
    assert "writing report.html" in outcome.stderr


def test_quiet_and_verbose_exclude_each_other():
    outcome = run("solve", "two_link_rr", "-q", "-v")
    assert outcome.exit_code == 2 and "--quiet and --verbose exclude each other" in outcome.stderr


def test_values_with_commas_between_mean_several_solves_everywhere():
    """`masses=1,2` was one list in `solve` and two points in `sweep`."""
    assert parameters_of(["a=1", "b=[1, 2]", "c='x, y'"]) == {"a": 1, "b": [1, 2], "c": "x, y"}
    outcome = run("solve", "two_link_rr", "--set", "masses=1,2")
    assert outcome.exit_code == 2 and "a list is written masses=[1,2]" in outcome.stderr
    with pytest.raises(OptionError, match="'u' is set twice: give it once"):
        parameters_of(["u=1", "u=2"])
    assert list(split_values("[1, (2, 3)],'a, b',4")) == ["[1, (2, 3)]", "'a, b'", "4"]


@pytest.mark.parametrize("path", ["./z1.urdf", "../z1.urdf", "7dof.urdf", "/robots/z1.urdf", "a b/z1.urdf"])
def test_a_path_is_a_value(path):
    assert literal(path) == path
    outcome = run("solve", "urdf_arm", "--set", f"robot={path}")
    assert outcome.exit_code == 2 and f"{path} is not a file" in outcome.stderr


def test_the_home_folder_is_put_into_a_path(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("USERPROFILE", "/home/ada")
    assert literal("~/z1.urdf") == "/home/ada/z1.urdf"


@pytest.mark.parametrize("text", ["[1.5.urdf", "1.5.5", "(a/b", "1e"])
def test_what_begins_like_a_number_or_a_list_and_is_no_path_is_refused(text):
    with pytest.raises(OptionError, match="is no value"):
        literal(text)


def test_a_name_that_begins_with_another_is_near():
    assert near_matches("tolerance", ["tol", "max_iterations"]) == " (did you mean 'tol'?)"
    assert near_matches("max", ["max_iterations"]) == " (did you mean 'max_iterations'?)"
    assert near_matches("to", ["tol_of_rows"]) == near_matches("xyz", ["tol"]) == ""
    for solver in ("ipopt", "slsqp"):
        outcome = run("solve", "two_link_rr", "--solver", solver, "--option", "tolerance=1e-6")
        assert outcome.exit_code == 2 and "did you mean 'tol'" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("solve", "arm.pyy"), "arm.pyy is not a file (did you mean 'arm.py'?)"),
        (("solve", "two_link_rr.py"), "did you mean the problem 'two_link_rr'?"),
        (("verify", "run/solution.npy"), "(did you mean 'run/solution.npz'?)"),
        (("verify", "rum"), "rum does not exist (did you mean 'run'?)"),
        (("show", "empty"), "empty is a folder without solution.npz"),
        (("show", "z2.urdf"), "z2.urdf is not a file (did you mean 'z1.urdf'?)"),
        (("solve", "urdf_arm", "--set", "robot=ur"), "(did you mean 'ur5'?)"),
    ],
)
def test_files_with_another_ending_or_nearly_the_same_name_are_suggested(
    arguments, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "empty").mkdir()
    for name in ("arm.py", "z1.urdf", "run/solution.npz"):
        (tmp_path / name).write_text("")
    outcome = run(*arguments)
    assert outcome.exit_code == 2 and message in outcome.stderr.replace("\\", "/"), outcome.stderr


def test_json_has_words_for_numbers_that_are_none():
    from problems.cli.summary import plain

    assert [plain(value) for value in (1.5, np.inf, np.nan, 3, "x", None)] == [1.5, None, None, 3, "x", None]
