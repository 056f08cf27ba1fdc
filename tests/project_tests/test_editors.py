"""Types of the packages as type checkers and editors see them in a script outside the checkout."""

import json
import os
import shutil
import subprocess
import sys

import pytest

SCRIPT = """\
import dynamics
import problems
import trajopt

problem = problems.two_link_rr.build(intervals=3)
problems.two_link_rr.build(intervalls=3)
solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
trajopt.solve(problem, refin=None)
trajopt.Trajectory.uniform(intervall=20)
trajopt.no_such_name
trajopt.library.no_such_name
dynamics.no_such_name
problems.no_such_problem
body = dynamics.Body("link", dynamics.Joint("slide", "prismatic", axis=(1, 0, 0)), mass=1.0)
arm = dynamics.RigidBodyModel([body], gravity=(0, 0, -9.81))
problem.minimize(trajopt.library.power**2 + 2.0 * trajopt.tau**2)
trajopt.Problem(arm, problem.trajectory).minimize(trajopt.duration)
reveal_type(solution.q(0.0))
reveal_type(arm.gravity)
reveal_type(problems.kirk.build())
"""
WRONG = {
    6: 'No parameter named "intervalls"',
    8: 'No overloads for "solve" match the provided arguments',
    9: 'No parameter named "intervall"',
    10: '"no_such_name" is not a known attribute of module "trajopt"',
    11: '"no_such_name" is not a known attribute of module "trajopt.library"',
    12: '"no_such_name" is not a known attribute of module "dynamics"',
    13: '"no_such_problem" is not a known attribute of module "problems"',
}


@pytest.mark.long
def test_pyright_finds_the_packages_and_reports_wrong_keywords_in_a_script_elsewhere(tmp_path):
    pyright = shutil.which("pyright", path=os.path.dirname(sys.executable))
    if pyright is None:
        pytest.skip("pyright is not installed beside this Python")
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [pyright, "--outputjson", "--pythonpath", sys.executable, "script.py"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    found = json.loads(answer.stdout)["generalDiagnostics"]
    errors = {
        each["range"]["start"]["line"] + 1: each["message"] for each in found if each["severity"] == "error"
    }
    assert errors.keys() == WRONG.keys(), errors
    for line, message in WRONG.items():
        assert message in errors[line]
    shown = [each["message"] for each in found if each["severity"] == "information"]
    kinds = [message.partition(" is ")[2].strip('"').partition("[")[0] for message in shown]
    assert kinds == ["ndarray", "ndarray", "Problem"], shown
