"""The program of several phases: exact derivatives, sparsity, and the optimum of the undivided problem."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from taylor_slopes import slopes
from tiers import fast_first

import problems
import trajopt
from trajopt.transcription.linked_program import linked_program


@trajopt.term
def effort(node):
    return node.u**2


def rates(node):
    return [node.v, np.sin(node.x) * node.u - 0.3 * node.v * node.m, -0.1 * node.u**2]


def part(name, intervals, duration):
    system = trajopt.system(("x", "v", "m"), ("u",), rates)
    mesh = trajopt.Trajectory.collocation(intervals, order=3, duration=duration)
    problem = trajopt.Problem(system, mesh, name=name)
    problem.minimize(effort)
    problem.minimize(trajopt.duration, weight=0.3)
    return problem


def bounded(problem, start, end):
    if start:
        problem.start_at(x=[1.0, 0.0, 1.0])
    if end:
        problem.end_at(x=[2.0, 0.0, None])
    return problem


def divided(duration=(0.2, 4.0)):
    """The motion in two phases of different meshes, whose ends meet through functions that are not linear."""
    first = bounded(part("first", 3, duration), True, False)
    second = bounded(part("second", 2, duration), False, True)
    both = trajopt.Phases(first, second)
    both.link(
        lambda a, b: [a.x * b.m - b.x * a.m, a.v - b.v, a.m**2 - b.m**2],
        first.at("end"), second.at("start"), name="meet",
    )  # fmt: skip
    both.minimize(lambda a, b: a.duration * b.v**2, first.at("end"), second.at("start"), name="linked")
    both.subject_to(trajopt.duration, upper=7.0)
    return both


def test_first_and_second_derivatives_of_linked_phases_are_exact():
    program, rng = linked_program(divided()), np.random.default_rng(3)
    y = program.start + 0.3 * rng.uniform(0.5, 1.0, program.variable_count)
    direction = rng.uniform(-1.0, 1.0, program.variable_count)
    multipliers = rng.uniform(-1.0, 1.0, program.row_count)
    assert slopes(program, y, direction, multipliers) == pytest.approx((2.0, 2.0), abs=0.05)


def test_the_jacobian_is_the_difference_of_the_rows():
    program, rng = linked_program(divided()), np.random.default_rng(4)
    y = program.start + 0.3 * rng.uniform(0.5, 1.0, program.variable_count)
    shape = (program.row_count, program.variable_count)
    places = (program.jacobian_rows, program.jacobian_columns)
    J = sparse.coo_array((program.jacobian(y), places), shape=shape).toarray()
    step = 1e-6
    for column in range(program.variable_count):
        forth, back = y.copy(), y.copy()
        forth[column] += step
        back[column] -= step
        slope = (program.rows(forth) - program.rows(back)) / (2.0 * step)
        assert np.allclose(J[:, column], slope, atol=1e-7 * max(1.0, np.abs(slope).max()))


def test_phases_touch_each_other_in_constant_rows_alone():
    program = linked_program(divided())
    edges = [place.stop for place in program.variables]
    phase = np.searchsorted(edges, np.arange(program.variable_count), side="right")
    assert np.array_equal(phase[program.hessian_rows], phase[program.hessian_columns])
    own = program.jacobian_rows < program.own_rows[-1].stop
    of_row = np.searchsorted(
        [rows.stop for rows in program.own_rows], program.jacobian_rows[own], side="right"
    )
    assert np.array_equal(of_row, phase[program.jacobian_columns[own]])
    rng = np.random.default_rng(5)
    one, other = (
        program.jacobian(program.start + 0.1 * rng.random(program.variable_count)) for _ in range(2)
    )
    assert np.array_equal(one[~own], other[~own]) and not np.array_equal(one[own], other[own])


@fast_first("by_function", [False, True], 1)
@fast_first("duration", [1.5, (0.5, 4.0)])
def test_a_problem_cut_at_a_breakpoint_has_the_optimum_of_the_whole(by_function, duration):
    """Two arcs of one trajectory and two phases are the same splines."""
    whole = bounded(part("whole", 3, duration), True, True)
    arcs = replace(whole.trajectory, arcs=whole.trajectory.arcs * 2)
    whole = whole.on(arcs)
    tight = trajopt.Ipopt(tol=1e-11)
    expected = trajopt.solve(whole, tight)
    first = bounded(part("first", 3, duration), True, False)
    second = bounded(part("second", 3, duration), False, True)
    both = trajopt.Phases(first, second)
    ends = first.at("end"), second.at("start")
    if by_function:
        both.link(lambda a, b: [a.x - b.x, a.v - b.v, a.m - b.m], *ends)
    else:
        both.link(trajopt.q, *ends)
    solution = trajopt.solve(both, tight)
    assert solution.converged and expected.converged
    assert solution.objective == pytest.approx(expected.objective, rel=1e-9)
    for phase, arc in zip(solution.phases, range(2), strict=True):
        assert phase.duration == pytest.approx(expected.curve.durations[arc], abs=1e-7)
        assert np.allclose(phase.curve.control_points[0], expected.curve.control_points[arc], atol=1e-7)


@pytest.mark.long
def test_a_robots_motion_cut_in_two_has_the_optimum_of_the_whole():
    """Position, velocity and acceleration meet, as they do between arcs of a trajectory."""

    def problem(name, start, end, arcs=1):
        mesh = trajopt.Trajectory.uniform(intervals=4, degree=5, duration=0.5)
        made = trajopt.Problem(
            problems.two_link_rr.build().dynamics, replace(mesh, arcs=mesh.arcs * arcs), name=name
        )
        if start:
            made.start_at(q=[0.0, 0.0], v=[0.0, 0.0])
        if end:
            made.end_at(q=[1.0, -0.5], v=[0.0, 0.0])
        made.minimize(trajopt.tau**2, name="effort")
        return made

    tight = trajopt.Ipopt(tol=1e-11)
    expected = trajopt.solve(problem("whole", True, True, arcs=2), tight)
    first, second = problem("first", True, False), problem("second", False, True)
    both = trajopt.Phases(first, second)
    for term in (trajopt.q, trajopt.v, trajopt.a):
        both.link(term, first.at("end"), second.at("start"))
    solution = trajopt.solve(both, tight)
    assert solution.converged and expected.converged
    assert solution.objective == pytest.approx(expected.objective, rel=1e-9)
    t = np.linspace(0.0, 0.5, 11)
    assert np.allclose(solution.phases[0].q(t), expected.q(t), atol=1e-8)
    assert np.allclose(solution.phases[1].q(t), expected.q(0.5 + t), atol=1e-8)


@pytest.mark.long
def test_quantities_of_a_robot_and_of_a_system_may_be_linked():
    """Two joints throw a point at their own coordinates and speeds, with a torque that depends on it."""
    arm = trajopt.Problem(
        problems.two_link_rr.build().dynamics, trajopt.Trajectory.uniform(6, duration=0.7), name="arm"
    )
    arm.start_at(q=[0.0, 0.0], v=[0.0, 0.0])
    arm.minimize(trajopt.tau**2, name="effort")
    ball = trajopt.Problem(
        trajopt.system(("x", "y", "vx", "vy"), (), lambda node: [node.vx, node.vy, 0.0, -9.81]),
        trajopt.Trajectory.collocation(2, order=2, duration=0.3),
        name="ball",
    )
    ball.end_at(x=[0.9, 0.1, None, None])
    both = trajopt.Phases(arm, ball)
    both.link(
        lambda a, b: [a.q[0] - b.x, a.q[1] - b.y, a.v[0] - b.vx, a.v[1] - b.vy, a.tau[1] - 0.1 * b.vx],
        arm.at("end"), ball.at("start"), name="throw",
    )  # fmt: skip
    solution = trajopt.solve(both)
    assert solution.converged and solution.verify().holds
    x, y, vx, vy = solution.phases[1].q(0.0)
    assert [x + 0.3 * vx, y + 0.3 * vy - 0.5 * 9.81 * 0.3**2] == pytest.approx([0.9, 0.1], abs=1e-8)


def three_bounded_phases(unit):
    """From rest to rest over one unit in three phases of free durations, |u| <= unit: 2 s, in a unit."""
    phases = []
    for _ in range(3):
        system = trajopt.system(["x", "v"], ["u"], lambda node: [node.v, node.u])
        phase = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=(0.2, 3.0)))
        phase.control("u", -unit, unit)
        phase.minimize(trajopt.duration)
        phases.append(phase)
    phases[0].start_at(x=[0.0, 0.0])
    phases[2].end_at(x=[unit, 0.0])
    asked = trajopt.Phases(*phases)
    for before, after in pairwise(phases):
        asked.link(trajopt.q, before.at("end"), after.at("start"))
    return asked


@pytest.mark.long
@pytest.mark.parametrize("unit", [1e-6, 1e6, 1e9])
def test_phases_guessed_at_rest_meet_in_any_unit(unit):
    """Speeds at the links are zero at the guess, and counted as one beside 1e9: 2.16 s, which was refused."""
    solution = trajopt.solve(three_bounded_phases(unit), refine=None)
    assert solution.objective == pytest.approx(2.0, rel=1e-6) and solution.verify().holds
