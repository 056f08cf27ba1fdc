"""Phases in lists, sweeps and multiple starts: sent to other processes with their links, and known optima."""

import numpy as np
import pytest

import trajopt
from trajopt.studies.multistart import multistart

MASS = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])


@trajopt.term
def effort(node):
    """u^2."""
    return node.u**2


def halves(jump=0.0, duration=1.0):
    """Least effort over one metre in two phases, between which the speed gains `jump` at the middle."""
    mesh = trajopt.Trajectory.collocation(2, 3, duration=duration)
    first, second = (trajopt.Problem(MASS, mesh, name=name) for name in ("first", "second"))
    for problem in (first, second):
        problem.control("u")
        problem.minimize(effort)
    first.start_at(x=[0.0, 0.0])
    second.end_at(x=[1.0, 0.0])
    both = trajopt.Phases(first, second)
    both.link(lambda a, b: [a.x - b.x, a.v + jump - b.v], first.at("end"), second.at("start"), name="middle")
    return both


def least(jump, duration=1.0):
    """12 d^2 / T^3 of the whole move, with the part of the way and of the speed that the jump gives."""
    T = 2.0 * duration
    gramian = np.array([[T**3 / 3.0, T**2 / 2.0], [T**2 / 2.0, T]])
    asked = np.array([1.0 - jump * duration, -jump])
    return asked @ np.linalg.solve(gramian, asked)


@pytest.mark.long
def test_phases_of_a_list_are_solved_in_other_processes(forked_workers):
    jumps = [0.0, 0.3, -0.2]
    study = trajopt.solve_many([halves(jump) for jump in jumps], processes=2)
    assert [point.objective for point in study.points] == pytest.approx(list(map(least, jumps)), rel=1e-8)
    for jump, solution in zip(jumps, study.solutions, strict=True):
        first, second = solution.phases
        assert second.q(0.0)[1] - first.q(1.0)[1] == pytest.approx(jump, abs=1e-8)
        assert solution.multipliers.keys() == {"middle"}


@pytest.mark.long
def test_a_sweep_of_phases_starts_from_neighbours():
    axes = {"jump": [0.0, 0.2], "duration": [1.0, 2.0]}
    study = trajopt.sweep(halves, axes, processes=1)
    wanted = [least(**point.parameters) for point in study.points]
    assert len(wanted) == 4
    assert [point.objective for point in study.points] == pytest.approx(wanted, rel=1e-8)
    assert {point.start for point in study.points[1:]} == {"point 0", "point 1", "point 2"}


@pytest.mark.long
def test_starts_of_phases_in_processes_are_those_of_solve():
    table = multistart(halves(0.3), starts=3, processes=1)
    assert [start.objective for start in table.starts] == pytest.approx([least(0.3)] * 3, rel=1e-8)
    assert table.best is not None and len(table.best.phases) == 2
    assert table.best.verify().holds  # the best one knows its phases
