"""Motions with a start time, fixed or free, and data as steps or lines on a mesh that fits."""

import numpy as np
import pytest

import trajopt
from trajopt.base.errors import OptionError

MASS = {"states": ("x", "v"), "controls": ("u",), "rates": lambda node: [node.v, node.u]}


def drifting(interpolation, order=3, points="radau", **options):
    """x' = u + w(time) from time 1 to 3, with samples of w at times that are no breakpoints of the mesh."""
    system = trajopt.system(("x",), ("u",), lambda node: [node.u + node.data("w")])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(6, order, points, duration=2.0))
    problem.start_at(x=[0.0], time=1.0)
    problem.end_at(x=[0.0])
    problem.data("w", [1.0, 1.3, 2.1, 2.5], [0.0, 2.0, -1.0, 3.0], interpolation=interpolation, **options)
    problem.minimize(trajopt.state("u") ** 2)
    return problem


def breakpoints(problem):
    return problem.trajectory.arcs[0].basis.breakpoints


@pytest.mark.filterwarnings("ignore::trajopt.base.errors.OutsideTableWarning")  # the last value goes on
@pytest.mark.long
@pytest.mark.parametrize("points", ["radau", "gauss"])
@pytest.mark.parametrize("interpolation", ["steps", "linear"])
def test_the_optimum_is_that_of_the_mean_drift(interpolation, points):
    # u is constant, minus the mean of w: of the steps 0, 2, -1, 3, of the lines the trapezoidal rule
    mean = {"steps": (0.8 * 2.0 - 0.4 + 0.5 * 3.0) / 2.0, "linear": (0.3 + 0.4 + 0.4 + 1.5) / 2.0}
    solution = trajopt.solve(drifting(interpolation, points=points), starts=1)
    assert solution.objective == pytest.approx(2.0 * mean[interpolation] ** 2, rel=1e-9)
    assert solution.verify().verdict == "PASS"


def test_breakpoints_of_data_become_those_of_the_mesh_and_stay():
    problem = drifting("steps")
    assert np.allclose(breakpoints(problem), [0.0, 0.15, 1 / 3, 0.5, 0.55, 2 / 3, 0.75, 5 / 6, 1.0])
    finer = problem.on(trajopt.Trajectory.collocation(12, 3, duration=2.0))
    assert {0.15, 0.55, 0.75} <= set(breakpoints(finer).round(9).tolist())
    again = problem.on(problem.trajectory)
    assert np.array_equal(breakpoints(again), breakpoints(problem))


def test_a_cubic_spline_or_fine_samples_leave_the_mesh_alone():
    assert breakpoints(drifting("cubic")).size == 7
    problem = drifting("steps")
    times = np.linspace(1.0, 3.0, 300)
    problem.data("fine", times, np.sin(9.0 * times), interpolation="linear")
    assert breakpoints(problem).size == 9


def test_over_progress_breakpoints_are_known_for_a_free_duration():
    system = trajopt.system(("x",), ("u",), lambda node: [node.u * node.data("gain")])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 2))
    problem.data("gain", [0.0, 0.4], [1.0, 2.0], clock="progress", interpolation="steps")
    assert 0.4 in breakpoints(problem)


def test_data_are_read_before_at_and_behind_their_jumps():
    data = drifting("steps").datasets["w"]
    at = data.at(np.array([0.0, 1.0, 1.2, 1.3, np.nextafter(1.3, 2.0), 1.3 + 1e-12, 2.5, 9.0]))
    assert at.ravel().tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, -1.0, 3.0]
    line = drifting("linear").datasets["w"]
    assert line.at(np.array([0.0, 1.15, 9.0])).ravel() == pytest.approx([0.0, 1.0, 3.0])
    assert line.at(np.array([0.0, 1.15, 9.0]), 1).ravel() == pytest.approx([0.0, 2.0 / 0.3, 0.0])


def weighted_push(problem, around):
    @trajopt.term
    def push(node):
        return node.u**2 * (1.0 + (node.time - around) ** 2)

    problem.minimize(push)


@pytest.mark.long
def test_a_free_start_is_found():
    problem = trajopt.Problem(trajopt.system(**MASS), trajopt.Trajectory.collocation(6, 3, duration=2.0))
    problem.start_at(x=[0.0, 0.0], time=(0.0, 10.0))
    problem.end_at(x=[1.0, 0.0])
    weighted_push(problem, around=5.0)
    solution = trajopt.solve(problem, starts=1)
    assert solution.parameters["start time"][0] == pytest.approx(4.0, abs=1e-4)
    assert solution.verify().verdict == "PASS"


@pytest.mark.filterwarnings("ignore::trajopt.base.errors.OutsideTableWarning")  # the last value goes on
@pytest.mark.long
def test_time_goes_on_through_phases_and_files(tmp_path):
    names, durations = ("first", "second"), (2.0, (1.0, 3.0))
    first, second = (
        trajopt.Problem(
            trajopt.system(**MASS), trajopt.Trajectory.collocation(6, 3, duration=each), name=name
        )
        for name, each in zip(names, durations, strict=True)
    )
    first.start_at(x=[0.0, 0.0], time=3.0)
    second.start_at(time=(0.0, 100.0))
    second.end_at(x=[1.0, 0.0])
    for part in (first, second):
        weighted_push(part, around=5.0)
    both = trajopt.Phases(first, second)
    both.link(trajopt.q, first.at("end"), second.at("start"))
    both.link(trajopt.time, first.at("end"), second.at("start"))
    solution = trajopt.solve(both)
    assert solution.verify().verdict == "PASS"
    assert solution.phases[1].parameters["start time"] == pytest.approx(5.0)
    trajopt.solve(drifting("steps")).save(tmp_path / "drift.npz")
    loaded = trajopt.Solution.load(tmp_path / "drift.npz")
    assert loaded.problem.start_time == 1.0 and loaded.verify().verdict == "PASS"


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(OptionError, match="Lobatto points are at the same time on both sides"):
        drifting("steps", points="lobatto")
    with pytest.raises(OptionError, match="interpolation"):
        drifting("quadratic")
    problem = drifting("linear")
    with pytest.raises(OptionError, match="give seconds, or"):
        problem.start_at(time=(1.0, 2.0, 3.0))
