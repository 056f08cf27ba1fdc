"""Scripts do what their first lines say."""

import runpy
from pathlib import Path

import trajopt

SCRIPTS = Path(__file__).parents[2] / "scripts"


def test_a_problem_is_solved_kept_and_drawn(tmp_path, capsys):
    names = runpy.run_path(str(SCRIPTS / "solve_problem.py"))
    solution = names["main"]("two_link_pr", tmp_path)
    assert "KKT error" in capsys.readouterr().out
    assert trajopt.Solution.load(tmp_path / "solution.npz").objective == solution.objective
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == {"torques.png", "joint_forces.png", "joints.png", "motion.png"}
