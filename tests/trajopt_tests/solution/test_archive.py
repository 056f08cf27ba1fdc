"""Saved solutions of before: they are read, verified, and compared with a problem that has changed."""

import json
from pathlib import Path

import numpy as np
import pytest

import problems
import trajopt
from trajopt.base.errors import SolutionFileError
from trajopt.solution import rebuilt_problem

# problems.two_link_rr.build(intervals=4), solved and saved by the version before modules moved into rooms
FORMER = Path(__file__).parents[2] / "support" / "solution_of_former_layout.npz"
# problems.bryson_denham.build(), solved and saved while it was problems/gallery/bryson_denham.py
FORMER_GALLERY = FORMER.with_name("solution_of_former_gallery.npz")


@pytest.fixture
def rebuilt_by_this_checkout(monkeypatch):
    """Rebuild problems as the entry point does, also where another checkout is installed."""
    from problems.catalogue import build

    monkeypatch.setattr(rebuilt_problem, "built", lambda recipe: build(recipe.problem, recipe.parameters))


def with_header(path, **changes):
    with np.load(FORMER) as file:
        arrays = dict(file)
    header = json.loads(str(arrays["header"])) | changes
    np.savez(path, **(arrays | {"header": np.array(json.dumps(header))}))  # pyright: ignore
    return path


@pytest.mark.usefixtures("rebuilt_by_this_checkout")
def test_a_solution_of_the_former_version_is_read_built_again_and_verified():
    solution = trajopt.Solution.load(FORMER)
    assert solution.converged and solution.recipe.parameters["intervals"] == 4  # pyright: ignore
    report = solution.verify(accuracy=0.03)  # four intervals exceed a torque limit by 2.7 %
    assert report.holds and report.kkt_recomputed
    again = trajopt.solve(solution.problem, refine=None)
    assert again.objective == pytest.approx(solution.objective, rel=1e-6)


@pytest.mark.usefixtures("rebuilt_by_this_checkout")
def test_a_solution_saved_before_the_gallery_had_folders_is_built_again_from_its_recipe():
    solution = trajopt.Solution.load(FORMER_GALLERY)
    assert solution.problem.recipe == problems.bryson_denham.build().recipe
    assert solution.verify().holds
    assert solution.objective == pytest.approx(problems.bryson_denham.REFERENCE, rel=1e-6)


def test_every_constraint_that_the_problem_has_lost_is_named_and_so_is_what_it_has_besides():
    problem = problems.two_link_rr.build(intervals=4, velocity=(9.0, 9.0))
    problem.constraints[:] = [each for each in problem.constraints if each.name != "torque limits"]
    problem.subject_to(trajopt.tau, -1.0, 1.0, name="weaker motors")
    with pytest.raises(SolutionFileError) as caught:
        trajopt.Solution.load(FORMER, problem=problem)
    told = str(caught.value)
    assert "was solved under 'torque limits', which the problem does not have" in told
    assert "'weaker motors' in addition" in told and told.endswith("pass the problem that was solved")


def test_other_joints_and_other_constraints_are_told_together():
    problem = problems.three_link_arm.build(intervals=4)
    problem.constraints.clear()
    told = r"moves the joints \(shoulder, elbow\) but the problem has .*wrist\); it was solved under 'torque"
    with pytest.raises(SolutionFileError, match=told):
        trajopt.Solution.load(FORMER, problem=problem)


@pytest.mark.usefixtures("rebuilt_by_this_checkout")
@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (
            {"problem": "two_link_rr", "parameters": {"spans": 4}},
            "no parameter of two_link_rr is called 'spans'",
        ),
        ({"problem": "two_link", "parameters": {}}, "no problem is called 'two_link'"),
        ({"problem": "two_link_rr", "parameters": {"lengths": [1.0, 1.0, 1.0]}}, "has 3 entries: expected 2"),
    ],
)
def test_a_recipe_that_the_library_no_longer_builds_says_what_differs(tmp_path, recipe, message):
    solution = trajopt.Solution.load(with_header(tmp_path / "x.npz", recipe=recipe))
    assert solution.q(0.0).shape == (2,)
    with pytest.raises(
        SolutionFileError, match=f"cannot be built again.*perhaps by another version.*{message}"
    ):
        solution.verify()
