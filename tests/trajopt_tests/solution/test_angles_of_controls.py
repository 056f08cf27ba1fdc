"""Controls that are angles: steps by whole turns between the nodes of a span are taken back."""

from dataclasses import replace

import numpy as np
import pytest

import trajopt
from trajopt.solution.answers import angles_unwrapped, program_of
from trajopt.solvers.solver import Run


def steered(by_angle=0.0):
    """x' = cos(phi) + c phi, y' = sin(phi) near the unit circle, with phi of about t and u within 5."""
    system = trajopt.system(
        ("x", "y", "z"),
        ("phi", "u"),
        lambda node: [np.cos(node.phi) + by_angle * node.phi, np.sin(node.phi), node.u],
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=2.0))
    problem.start_at(x=[0.0, 0.0, 0.0])
    problem.control("phi", guess=1.0)
    problem.control("u", -5.0, 5.0)
    problem.minimize(trajopt.term(lambda node: (node.x - np.sin(node.t)) ** 2, name="x is met"))
    problem.minimize(trajopt.term(lambda node: (node.y + np.cos(node.t) - 1.0) ** 2, name="y is met"))
    problem.minimize(trajopt.term(lambda node: node.u * (node.t - 0.8), name="u jumps"))
    return problem


def wound(program, result, turns):
    """The result with so many turns more of phi at the last node of every span."""
    spline, y = program.spline_map, result.y.copy()
    for node in np.flatnonzero(np.diff(spline.nodes.span, append=99) > 0):
        own = np.flatnonzero((spline.nodes.span == spline.nodes.span[node]) & (spline.nodes.weight > 0.0))
        entries = [spline.entries("extra:phi", 0, each) for each in own]
        columns = np.unique(np.concatenate([each for each, _ in entries]))
        factors = np.zeros((own.size, columns.size))
        for row, (each, part) in zip(factors, entries, strict=True):
            row[np.searchsorted(columns, each)] += part
        change = np.zeros(program.unknowns.layout.size)
        change[columns] = np.linalg.solve(factors, np.where(own == own[-1], 2.0 * np.pi * turns, 0.0))
        y += program.unknowns.elimination.reduce(change)
    return replace(result, y=y)


def test_turns_of_an_angle_are_taken_back_beside_a_control_that_jumps():
    program = program_of(steered())
    result = trajopt.Ipopt().solve(program, None, Run())
    assert result.converged and angles_unwrapped(program, result) is result
    for turns in (1, -2):
        given = wound(program, result, turns)
        assert np.abs(given.y - result.y).max() > 6.0
        assert angles_unwrapped(program, given).y == pytest.approx(result.y, abs=1e-9)


def test_a_control_that_is_no_angle_keeps_its_steps():
    program = program_of(steered(by_angle=1e-4))
    result = trajopt.Ipopt().solve(program, None, Run())
    given = wound(program, result, 1)
    assert result.converged and angles_unwrapped(program, given) is given


@pytest.mark.long
def test_a_transfer_steered_by_an_angle_passes():
    """Moyer and Pinkham's, radius 1.5253 at 3.32: the thrust turns round once, within an interval."""

    def rates(node):
        thrust = 0.1405 / (1.0 - 0.0749 * node.t)
        return [
            node.u,
            node.v**2 / node.r - 1.0 / node.r**2 + thrust * np.sin(node.phi),
            -node.u * node.v / node.r + thrust * np.cos(node.phi),
        ]

    system = trajopt.system(("r", "u", "v"), ("phi",), rates)
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(16, 3, duration=3.32))
    problem.start_at(x=[1.0, 0.0, 1.0])
    problem.end_at(x=[None, 0.0, None])
    circular = trajopt.term(lambda node: node.v - node.r**-0.5, name="circular")
    problem.subject_to(circular, equals=0.0, over="end")
    problem.minimize(-1 * trajopt.state("r"), over="end")
    solution = trajopt.solve(problem)
    assert solution.objective == pytest.approx(-1.5253, abs=1e-4)
    assert solution.verify().holds
