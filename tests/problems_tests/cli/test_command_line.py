"""The command `trajopt`: what it writes, how it ends, and what it says to misuse."""

import json
import math
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from interrupts import hears_ctrl_c
from tiers import every

import trajopt
from problems.cli.command_line import main
from problems.cli.literal import assignment, literal
from problems.cli.summary import write_json
from trajopt.base.errors import OptionError
from trajopt.base.files import finite, words

KEYS = [
    "problem",
    "parameters",
    "status",
    "converged",
    "duration",
    "objective",
    "cost_terms",
    "iterations",
    "seconds",
    "n_variables",
    "n_constraints",
    "max_violation_nodes",
    "max_violation_dense",
    "kkt_error",
    "simulation_error",
    "verdict",
    "reason",
    "accuracy",
    "equations",
    "cost_of_equations",
    "differences",
    "run",
]
OWN_PROBLEM = """
import problems

def build(*, heavy=0.5):
    return problems.two_link_rr.build(intervals=6, masses=(heavy, heavy))
"""


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """One solved problem for all that only read it."""
    folder = tmp_path_factory.mktemp("results") / "deep" / "folder"
    outcome = run("solve", "two_link_rr", "--set", "intervals=10", "--out", folder)
    return folder, outcome


def test_solve_writes_solution_and_summary_and_ends_with_zero(solved):
    folder, outcome = solved
    assert outcome.exit_code == 0, outcome.output
    assert sorted(path.name for path in folder.iterdir()) == ["run.json", "solution.npz", "summary.json"]
    summary = json.loads((folder / "summary.json").read_text(), parse_constant=pytest.fail)
    assert list(summary) == KEYS
    assert summary["problem"] == "two_link_rr" and summary["converged"] and summary["status"] == "converged"
    assert summary["parameters"]["intervals"] == 10
    assert summary["parameters"]["q_upper"] == ["inf", "inf"]  # strict JSON has no infinity
    assert summary["duration"] == pytest.approx(0.3968675109, rel=1e-6)  # 0.3966494642 on the mesh alone
    assert summary["max_violation_nodes"] < 1e-7 < summary["max_violation_dense"] < 0.1
    assert summary["kkt_error"] < 1e-7 and summary["simulation_error"] < 1e-9


def test_the_report_goes_to_standard_output_and_progress_to_standard_error(solved):
    _, outcome = solved
    assert "largest excess over limits" in outcome.stdout and "iteration" in outcome.stderr
    assert "objective  " not in outcome.stdout


@pytest.mark.long
def test_verify_and_plot_read_what_solve_wrote(solved):
    folder, _ = solved
    checked = run("verify", folder / "solution.npz")
    assert checked.exit_code == 0 and len(checked.stdout.splitlines()) == 3
    checked = run("verify", folder / "solution.npz", "--verbose")
    assert checked.exit_code == 0 and "torque limits, elbow" in checked.stdout
    drawn = run("plot", folder / "solution.npz", "--out", folder / "figures", "--format", "svg")
    assert drawn.exit_code == 0, drawn.output
    names = ["joint_forces.svg", "joints.svg", "motion.svg", "torques.svg"]
    assert sorted(path.name for path in (folder / "figures").iterdir()) == names
    assert all(name in drawn.stdout for name in names)


@pytest.mark.long
def test_solve_draws_when_asked(tmp_path):
    outcome = run("solve", "pendulum_swing_up", "--plot", "--out", tmp_path)
    assert outcome.exit_code == 0, outcome.output
    pictures = sorted(tmp_path.glob("*.png"))
    assert [path.stem for path in pictures] == ["joint_forces", "joints", "motion", "torques"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


def test_results_go_to_a_folder_named_after_the_problem(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("solve", "two_link_rr", "--set", "intervals=5").exit_code == 0
    assert (tmp_path / "results" / "two_link_rr" / "summary.json").is_file()


@pytest.mark.long
def test_slsqp_and_solver_options_are_reached(tmp_path):
    outcome = run(
        "solve",
        "two_link_pr",
        "--set",
        "intervals=6",
        "--solver",
        "slsqp",
        "--option",
        "tol=1e-9",
        "--out",
        tmp_path,
    )
    assert outcome.exit_code == 0, outcome.output
    native = run(
        "solve", "two_link_rr", "--set", "intervals=5", "--option", "mu_strategy=adaptive", "--out", tmp_path
    )
    assert native.exit_code == 0, native.output


def test_not_converging_ends_with_one_and_still_writes(tmp_path):
    outcome = run("solve", "two_link_rr", "--option", "max_iterations=2", "--out", tmp_path)
    assert outcome.exit_code == 1
    assert "not converged: reached the iteration limit" in outcome.stderr
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["status"] == "iteration_limit" and summary["converged"] is False
    assert run("verify", tmp_path / "solution.npz").exit_code == 1


def test_an_impossible_duration_names_joints_and_times(tmp_path):
    impossible = ("--set", "intervals=8", "--set", "duration=0.2", "--starts", "1")
    outcome = run("solve", "two_link_rr", *impossible, "--out", tmp_path)
    assert outcome.exit_code == 1
    assert "probably infeasible" in outcome.stderr
    assert "torque limits, shoulder" in outcome.stderr and "(t = 0." in outcome.stderr


def test_list_shows_problems_and_parameters():
    shown = run("list")
    assert (
        shown.exit_code == 0
        and " ".join(shown.stdout.split()).count("pendulum_swing_up Pendulum swung up") == 1
    )
    one = run("list", "two_link_rr")
    assert "torque_upper=[10.0, 10.0]" in one.stdout and "q_upper=[inf, inf]" in one.stdout


MISUSES = [
    (["solve", "two_link_r"], "no problem is called 'two_link_r' (did you mean 'two_link_rr'"),
    (["list", "two_link_r"], "did you mean 'two_link_rr'"),
    (["solve", "two_link_rr", "--set", "interval=3"], "is called 'interval' (did you mean 'intervals'"),
    (["solve", "two_link_rr", "--set", "intervals"], "'intervals' is no assignment: write NAME=VALUE"),
    (["solve", "two_link_rr", "--set", "intervals=many"], "expected a whole number"),
    (["solve", "two_link_rr", "--set", "intervals=-3"], "expected a whole number, 1 or more"),
    (["solve", "two_link_rr", "--set", "masses=[1,"], "'[1,' is no value"),
    (["solve", "two_link_rr", "--set", "masses=1/0"], "divides by zero"),
    (["solve", "two_link_rr", "--set", "masses=-1"], "body 'shoulder': mass is -1.0 kg"),
    (["solve", "two_link_rr", "--set", "masses=[nan,1]"], "is NaN"),
    (["solve", "two_link_rr", "--set", "q_start=[1,2,3]"], "has 3 entries: expected 2"),
    (["solve", "two_link_rr", "--set", "duration=[2,1]"], "shortest <= longest"),
    (["solve", "two_link_rr", "--set", "q_upper=0.5"], "shoulder"),
    (["solve", "two_link_rr", "--set", "intervals=1", "--set", "degree=2"], "use more intervals"),
    (["solve", "two_link_rr", "--option", "toll=1"], "did you mean 'tol'"),
    (["solve", "two_link_rr", "--option", "tol=small"], "tol = 'small': expected a finite number above 0"),
    (["solve", "two_link_rr", "--solver", "slsqp", "--option", "toll=1"], "of slsqp is called 'toll' (did"),
    (["solve", "two_link_rr", "--solver", "slsqp", "--option", "xyz=1"], "called 'xyz': there are tol"),
    (["solve", "two_link_rr", "--solver", "simplex"], "'simplex' is not one of"),
    (["solve", "nowhere/arm.py"], "arm.py is not a file"),
    (["verify", "nowhere.npz"], "nowhere.npz does not exist"),
    (["plot", __file__], "is not a solution that trajopt saved"),
    (["solve"], "Missing argument"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), MISUSES)
def test_misuse_ends_with_two_and_one_paragraph(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = run(*arguments)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert "Traceback" not in outcome.output
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_folder_that_cannot_be_made_is_misuse(tmp_path):
    (tmp_path / "taken").write_text("a file")
    outcome = run("solve", "two_link_rr", "--out", tmp_path / "taken")
    assert outcome.exit_code == 2 and "taken cannot be made (File exists)" in outcome.stderr


@pytest.mark.long
def test_a_problem_of_ones_own_is_solved_verified_and_drawn(tmp_path):
    file, saved = tmp_path / "my_arm.py", tmp_path / "out" / "solution.npz"
    file.write_text(OWN_PROBLEM)
    outcome = run("solve", file, "--set", "heavy=0.7", "--out", saved.parent)
    assert outcome.exit_code == 0, outcome.output
    summary = json.loads((saved.parent / "summary.json").read_text())
    assert summary["problem"] == "my_arm.py" and summary["parameters"] == {"heavy": 0.7}
    alone = run("verify", saved)  # the file holds what was stated, and its program is not run
    assert alone.exit_code == 0 and "PASS" in alone.stdout
    assert run("verify", saved, "--problem", file).exit_code == 0
    assert np.allclose(trajopt.Solution.load(saved).q(0.0), [0.0, -2.0])
    other = run("verify", saved, "--problem", "pendulum_swing_up")
    assert other.exit_code == 2 and "called 'heavy'" in other.stderr


@pytest.mark.long
def test_remarks_of_a_problem_are_printed_below_its_report(tmp_path):
    file = tmp_path / "my_arm.py"
    file.write_text(
        OWN_PROBLEM + "\ndef remarks(solution):\n    return [f'it took {solution.duration:g} s']\n"
    )
    outcome = run("solve", file, "--out", tmp_path / "out")
    assert outcome.exit_code == 0 and "\nit took " in outcome.stdout
    file.write_text(OWN_PROBLEM + "\ndef remarks(solution):\n    return 1 / 0\n")
    outcome = run("solve", file, "--out", tmp_path / "out")
    assert outcome.exit_code == 2 and "ZeroDivisionError" in outcome.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "has no function build"),
        ("def build(:", "broken.py, line 1: SyntaxError"),
        ("def build(): return 1 / 0", "broken.py, line 1: ZeroDivisionError"),
        ("def build(): return 7", "the build of broken.py returned 7"),
        ("def build(mass): pass", "parameter 'mass' of broken.build has no default"),
    ],
)
def test_a_broken_file_is_explained_by_its_line(text, message, tmp_path):
    (tmp_path / "broken.py").write_text(text)
    outcome = run("solve", tmp_path / "broken.py")
    assert outcome.exit_code == 2 and message in outcome.stderr and "Traceback" not in outcome.output


def test_a_file_may_hold_dataclasses_and_leaves_no_module_behind(tmp_path):
    head = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    data = "@dataclass\nclass Mass:\n    kilograms: float = 1.0\n"
    (tmp_path / "own_masses.py").write_text(head + OWN_PROBLEM + data)
    assert run("list", tmp_path / "own_masses.py").exit_code == 0
    assert "own_masses" not in sys.modules


def test_a_file_with_another_ending_is_no_problem(tmp_path):
    (tmp_path / "arm.txt").write_text(OWN_PROBLEM)
    outcome = run("solve", tmp_path / "arm.txt")
    assert outcome.exit_code == 2 and "its name must end in .py" in outcome.stderr


def test_the_whole_way_of_an_error_is_shown_on_request(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAJOPT_TRACEBACK", "1")
    (tmp_path / "broken.py").write_text("def build(): return 1 / 0")
    assert isinstance(run("solve", tmp_path / "broken.py").exception.__cause__, ZeroDivisionError)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a single process")
def test_an_interrupt_keeps_the_best_point_of_the_installed_command(tmp_path):
    command = [Path(sys.executable).parent / "trajopt", "solve", "two_link_rr", "--set", "intervals=1000"]
    process = subprocess.Popen(
        [*command, "--out", tmp_path],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=hears_ctrl_c,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("iteration     2"):
            process.send_signal(signal.SIGINT)
            break
    _, complaints = process.communicate(timeout=600)
    assert process.returncode == 1 and "not converged: interrupted" in complaints
    assert json.loads((tmp_path / "summary.json").read_text())["status"] == "interrupted"
    assert (tmp_path / "solution.npz").is_file()


def test_an_interrupt_of_the_check_keeps_the_solution(tmp_path, monkeypatch):
    def interrupted(solution):
        raise KeyboardInterrupt

    monkeypatch.setattr(trajopt.Solution, "verify", interrupted)
    outcome = run("solve", "two_link_rr", "--set", "intervals=5", "--out", tmp_path)
    assert outcome.exit_code == 1 and "the check was interrupted: see `trajopt verify" in outcome.stderr
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["converged"] and summary["max_violation_nodes"] is None
    assert (tmp_path / "solution.npz").is_file()


@every(
    "text, value",
    [
        ("40", 40),
        ("-1e-3", -1e-3),
        ("[0, -2]", [0, -2]),
        ("(0.1, [pi/4, -pi/4])", [0.1, [math.pi / 4, -math.pi / 4]]),
        ("2*(1+3)-1", 7),
        ("true", True),
        ("null", None),
        ("-inf", -math.inf),
        ('"two words"', "two words"),
        ("lbfgs", "lbfgs"),
        ("two-words", "two-words"),
        ("abs(1)", "abs(1)"),
    ],
)
def test_values_are_read_as_in_json_with_a_little_arithmetic(text, value):
    assert literal(text) == value
    assert assignment(f"name = {text}") == ("name", value)


@pytest.mark.parametrize("text", ["[1, os]", "1 + true", "'a' + 'b'", "(", "--", "2**9", "[1][0]"])
def test_values_never_run_code(text):
    with pytest.raises(OptionError, match="is no value"):
        literal(text)


def test_summaries_hold_only_what_strict_json_has(tmp_path):
    assert finite(math.nan) is None and finite(None) is None and finite(2) == 2.0
    assert words({"a": (1.0, [-math.inf])}) == {"a": [1.0, ["-inf"]]}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "summary.json", {"a": math.nan})
    with pytest.raises(OSError, match=r"directory|denied"):
        write_json(tmp_path, {"a": 1})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys\nsys.exit(3)\n", r"mine.py, line 2: the file ends the program, sys.exit\(3\)"),
        (
            "def build(*, a=1.0):\n    return half(a)\n\ndef half(a):\n    return a / 0\n",
            "mine.py, line 5: ZeroD",
        ),
        ("def build(:\n", "mine.py, line 1: SyntaxError: invalid syntax"),
        (
            "def build():\n    raise SystemExit\n",
            r"mine.py, line 2: the file ends the program, sys.exit\(None\)",
        ),
    ],
)
def test_a_problem_file_that_fails_or_exits_is_a_problem_error_that_names_the_line(tmp_path, text, message):
    from problems.cli.problem_file import build_file
    from trajopt.base.errors import ProblemError

    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(ProblemError, match=message):
        build_file(tmp_path / "mine.py", {})


def test_an_empty_folder_for_results_is_refused():
    answer = CliRunner().invoke(main, ["solve", "double_integrator", "--out", ""])
    assert answer.exit_code == 2 and "the name of the folder is empty" in answer.output


def test_parameters_of_a_file_are_listed_and_its_ending_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def build(*, mass: float = 2.5):\n    return None\n", encoding="utf-8")
    listed = CliRunner().invoke(main, ["list", "mine.py"])
    assert listed.exit_code == 0 and "mass=2.5" in listed.output
    asked = CliRunner().invoke(main, ["solve", "mine"])
    assert asked.exit_code == 2 and "the file mine.py is here, name it with its ending" in asked.output
    Path("empty.py").write_text("", encoding="utf-8")
    assert "empty.py has no function build" in CliRunner().invoke(main, ["list", "empty.py"]).output


@pytest.mark.long
def test_an_answer_that_is_wrong_between_nodes_is_told_by_solve_and_refused_by_verify(tmp_path):
    outcome = run("solve", "cart_pole", "--set", "intervals=6", "--mesh-alone", "--out", tmp_path)
    assert outcome.exit_code == 0 and "FAIL: no motor at pole: missed by" in outcome.stdout
    summary = json.loads((tmp_path / "summary.json").read_text(), parse_constant=pytest.fail)
    assert summary["verdict"] == "FAIL" and summary["reason"].startswith("no motor at pole")
    assert summary["equations"]["no motor at pole"]["unit"] == "N m"
    assert summary["equations"]["no motor at pole"]["residual"] > 0.4 and summary["cost_of_equations"] > 2.0
    checked = run("verify", tmp_path / "solution.npz")
    assert checked.exit_code == 1 and checked.stdout.startswith("FAIL: ")
    assert "the answer fails: no motor at pole" in checked.stderr
    assert (
        run("verify", tmp_path / "solution.npz", "--accuracy", "0.2").exit_code == 1
    )  # it is 0.31 of its scale
    assert run("verify", tmp_path / "solution.npz", "--accuracy", "0.4").exit_code == 0
    assert run("verify", tmp_path / "solution.npz", "--accuracy", "-1").exit_code == 2
    both = run("solve", "cart_pole", "--mesh-alone", "--certify", "1e-6", "--out", tmp_path)
    assert both.exit_code == 2 and "leave out --mesh-alone" in both.stderr


@pytest.mark.long
def test_starts_and_a_time_limit_can_be_asked_for(tmp_path):
    outcome = run("solve", "cart_pole", "--set", "intervals=10", "--starts", "3", "--out", tmp_path)
    assert "best of 3 starts" in outcome.stdout
    assert trajopt.Solution.load(tmp_path / "solution.npz").journal.starts is not None
    outcome = run("solve", "two_link_rr", "--time-limit", "0", "--out", tmp_path)
    assert outcome.exit_code != 0 and "time_limit = 0.0: expected a finite number above 0" in outcome.stderr
