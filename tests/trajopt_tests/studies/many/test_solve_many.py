"""Lists of problems: order, what can be sent, folders that are gone on with, and the figure of a study."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import problems
import trajopt
from problems import catalogue
from trajopt.base.errors import OptionError, ResultFolderError
from trajopt.studies.many import portable
from trajopt.studies.many.point import StudyPoint
from trajopt.studies.many.study import Study

MASSES = (4.0, 1.0, 2.25)
DURATIONS = [4.0, 2.0, 3.0]  # 2 sqrt(mass): a metre under 1 N, half of it braking


def moved(mass):
    return problems.double_integrator.build(mass=mass, intervals=4)


@pytest.mark.long
def test_solutions_come_in_the_order_given_and_know_their_problems(forked_workers):
    given, seen = [moved(mass) for mass in MASSES], []
    study = trajopt.solve_many(given, processes=2, progress=lambda done: seen.append(done.point.number))
    assert [solution.duration for solution in study.solutions] == pytest.approx(DURATIONS, rel=1e-6)
    assert sorted(seen) == [0, 1, 2] and study.converged_count == 3
    for problem, solution in zip(given, study.solutions, strict=True):
        assert solution.problem is problem and abs(solution.tau(0.1)[0]) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.long
def test_wherever_they_are_solved_the_answers_are_the_same():
    alone = trajopt.solve_many([moved(mass) for mass in MASSES], processes=1)
    with ThreadPoolExecutor(3) as threads:
        together = trajopt.solve_many([moved(mass) for mass in MASSES], executor=threads)
    for one, other in zip(alone.solutions, together.solutions, strict=True):
        assert np.array_equal(one.curve.control_points[0], other.curve.control_points[0])


@pytest.mark.long
def test_one_problem_twice_in_a_list_is_two_problems_in_threads():
    problem = moved(1.0)
    with ThreadPoolExecutor(2) as threads:
        study = trajopt.solve_many([problem] * 4, executor=threads)
    assert [point.duration for point in study.points] == pytest.approx([2.0] * 4, rel=1e-6)


@pytest.mark.long
def test_recipes_functions_and_problems_with_own_terms_can_be_sent(monkeypatch):
    def by_catalogue(recipe):  # what the installed package's entry point does
        return catalogue.build(recipe.problem, recipe.parameters)

    monkeypatch.setattr(portable, "built", by_catalogue)
    scale = 2.0

    @trajopt.term
    def power(node):  # of this function, and it needs what is around it
        return scale * node.tau * node.v

    own = moved(1.0)
    own.minimize(power**2, weight=1e-3)
    own.guess(trajopt.solve(moved(1.0)))
    given = [own, moved(1.0).recipe, partial(moved, 4.0), lambda: moved(2.25)]
    study = trajopt.solve_many(given, processes=1)
    assert [point.duration for point in study.points[1:]] == pytest.approx([2.0, 4.0, 3.0], rel=1e-6)
    assert study.solutions[0].objective == pytest.approx(trajopt.solve(own).objective, rel=1e-9)
    assert study.solutions[2].recipe.parameters["mass"] == 4.0


def test_what_cannot_be_sent_is_refused_by_name_before_anything_is_solved():
    locked, lock = moved(1.0), threading.Lock()
    locked.guess(lambda s: np.full((*np.shape(s), 1), float(lock.locked())))
    with pytest.raises(
        OptionError, match=r"cannot be sent to another process .*lock.*: give its recipe \(pro"
    ):
        trajopt.solve_many([moved(1.0), locked])
    for wrong in (5, trajopt.Problem, trajopt.Phases):
        with pytest.raises(OptionError, match=r"is no problem: give a trajopt\.Problem or trajopt\.Phases"):
            trajopt.solve_many([wrong])

    class Locked(trajopt.Ipopt):
        lock = None

        def __reduce__(self):
            raise TypeError("not this one")

    with pytest.raises(OptionError, match="cannot be sent to another process"):
        trajopt.solve_many([moved(1.0)], Locked())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"problems": []}, "there are no problems"),
        ({"problems": "kirk"}, "problems is 'kirk': give a list"),
        ({"starts": 1, "start": 1}, "no option of solve is called 'start' .did you mean 'starts'"),
        ({"time_limit": -1.0}, "time_limit = -1.0"),
        ({"progress": "loud"}, "progress is 'loud'"),
        ({"folder": 5}, "the path is an object of type int"),
        ({"anew": "yes"}, "anew = 'yes': expected True or False"),
    ],
)
def test_impossible_requests_are_refused(arguments, message):
    with pytest.raises(OptionError, match=message):
        trajopt.solve_many(**({"problems": [partial(moved, 1.0)]} | arguments))


def failing(mass):
    raise trajopt.base.errors.ProblemError(f"no mass of {mass}\nis known")


def test_failures_stand_in_their_rows_and_the_rest_is_solved():
    study = trajopt.solve_many([partial(failing, 1), partial(moved, 4.0), partial(abs, 5)], processes=1)
    first, second, third = study.points
    assert first.error == "ProblemError: no mass of 1 is known" and first.status == "failed"
    assert second.converged and second.error == ""
    assert "give a trajopt.Problem" in third.error and study.solutions[2] is None
    assert str(study).startswith("1 of 3 converged") and "no mass of 1" in str(study)


def test_options_of_solve_reach_the_workers():
    study = trajopt.solve_many([moved(1.0)], trajopt.Ipopt(tol=1e-6), processes=1, starts=2)
    assert len(study.solutions[0].journal.starts.starts) == 2 and "1e-06" in study.solutions[0].run.solver


@pytest.mark.long
def test_a_folder_is_gone_on_with_and_that_of_another_study_is_refused(tmp_path):
    given, seen = [moved(mass) for mass in MASSES], []
    first = trajopt.solve_many(given[:2], processes=1, folder=tmp_path)
    assert [point.file for point in first.points] == ["0000.npz", "0001.npz"]
    (tmp_path / "0001.npz").write_bytes(b"cut by a power failure")
    report = lambda done: seen.append((done.point.number, done.done, done.total))  # noqa: E731
    again = trajopt.solve_many(
        [moved(mass) for mass in MASSES], processes=1, folder=tmp_path, progress=report
    )
    assert seen == [(1, 2, 3), (2, 3, 3)]
    assert [solution.duration for solution in again.solutions] == pytest.approx(DURATIONS, rel=1e-6)
    assert again.solutions[0].tau(0.1).shape == (1,)
    with pytest.raises(ResultFolderError, match=r"holds the points of another study \(row 0 of table\.csv"):
        trajopt.solve_many(given[1:], processes=1, folder=tmp_path)
    with pytest.raises(ResultFolderError, match="another study"):
        trajopt.solve_many(given, trajopt.Ipopt(tol=1e-6), processes=1, folder=tmp_path)
    (tmp_path / "own.npz").touch()
    anew = trajopt.solve_many(given[1:], processes=1, folder=tmp_path, anew=True)
    left = {path.name for path in tmp_path.iterdir()}
    assert left >= {"0000.npz", "0001.npz", "own.npz"} and "0002.npz" not in left
    assert [point.duration for point in anew.points] == pytest.approx(DURATIONS[1:], rel=1e-6)


@pytest.mark.long
def test_a_problem_is_the_same_bytes_in_every_process(tmp_path):
    """Else a folder would not be known again after a new start."""
    import os
    import subprocess
    import sys

    code = (
        "import hashlib, problems; from trajopt.studies.many.portable import packed\n"
        "for build in (problems.two_link_rr, problems.cart_pole, problems.urdf_arm):\n"
        "    print(hashlib.sha256(packed(build.build())).hexdigest())"
    )
    path = os.pathsep.join(filter(None, sys.path))
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def test_a_problem_of_the_library_survives_being_sent():
    for build in (problems.two_link_rr.build, problems.cart_pole.build, problems.kirk.build):
        problem = build()
        sent = portable.unpacked(portable.packed(problem))
        one, other = trajopt.transcribe(problem), trajopt.transcribe(sent)
        assert np.array_equal(one.start, other.start)
        assert np.array_equal(one.rows(one.start), other.rows(other.start))
        assert sent.recipe == problem.recipe


def point(number, converged=True, **parameters):
    return StudyPoint(number, parameters, "converged", converged, 1.0 + number, 2.0 + number, 5, 0.1, 1e-9)


@pytest.mark.long
def test_the_figure_has_a_curve_for_each_combination_and_crosses_where_nothing_converged():
    points = [
        point(0, mass=1.0, name="a"),
        point(1, mass=2.0, name="a"),
        point(2, False, mass=2.0, name="b"),
        point(3, mass=3.0, name="b"),
        point(4, mass=1.0, name="b"),
    ]
    figure = trajopt.plot.study(Study(tuple(points)))
    objective = figure.axes[0]
    drawn = {line.get_label(): line.get_xydata().tolist() for line in objective.lines}
    assert drawn["name = a"] == [[1.0, 2.0], [2.0, 3.0]]
    assert drawn["name = b"] == [[1.0, 6.0], [3.0, 5.0]]
    assert drawn["not converged"] == [[2.0, 0.0]]
    assert figure.axes[-1].get_xlabel() == "mass"
    by_name = trajopt.plot.study(Study(tuple(points)), over="name")
    assert [label.get_text() for label in by_name.axes[-1].get_xticklabels()] == ["a", "b"]
    numbered = trajopt.plot.study(Study((point(0), point(1))))
    assert numbered.axes[0].lines[0].get_xydata().tolist() == [[0.0, 2.0], [1.0, 3.0]]
    with pytest.raises(
        OptionError, match="no parameter of the sweep is called 'speed': there are mass, name"
    ):
        trajopt.plot.study(Study(tuple(points)), over="speed")
    assert figure._repr_png_().startswith(b"\x89PNG")  # shown by a notebook
    ends = [point(number, end=np.array([0.0, number])) for number in range(2)]
    by_end = trajopt.plot.study(Study(tuple(ends)))
    assert [label.get_text() for label in by_end.axes[-1].get_xticklabels()] == ["[0. 0.]", "[0. 1.]"]
    counted = trajopt.plot.study(Study(tuple(point(int(n), count=n) for n in np.arange(2))))
    assert counted.axes[0].lines[0].get_xydata()[:, 0].tolist() == [0.0, 1.0]


SCRIPT = """
import dynamics
import trajopt

def build(mass):
    row = dynamics.DhRow(kind="prismatic", mass=mass, limits=dynamics.JointLimits.symmetric(torque=1.0))
    problem = trajopt.Problem(dynamics.from_dh([row], gravity=(0, 0, 0)), trajopt.Trajectory.uniform(4))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem

if __name__ == "__main__":
    study = trajopt.sweep(build, {"mass": [4.0, 1.0]}, processes=2)
    print(*(f"{point.duration:.6f}" for point in study.points))
"""


@pytest.mark.long
def test_a_script_sweeps_over_a_function_of_its_own(tmp_path):
    """Its function names the packages as modules of the script, which no other process can import."""
    import subprocess
    import sys

    script = tmp_path / "own_sweep.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    heavy, light = map(float, done.stdout.split())  # times under one force go with the root of the mass
    assert heavy / light == pytest.approx(2.0, rel=1e-5) and light == pytest.approx(2.0, rel=0.05)
