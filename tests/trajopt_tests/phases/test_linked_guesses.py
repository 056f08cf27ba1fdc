"""First guesses of phases: curves that meet where links say so, and durations that follow from them."""

import numpy as np
import pytest

import trajopt
from problems import two_link_rr
from trajopt.transcription.link_constraints import values_between
from trajopt.transcription.linked_program import linked_program

NAN = np.nan


def pairs(size, *equal):
    """A and b of z_i - z_j = offset for all (i, j, offset)."""
    A = np.zeros((len(equal), size))
    for row, (i, j, _) in enumerate(equal):
        A[row, i] += 1.0
        A[row, j] -= 1.0
    return A, np.array([offset for *_, offset in equal])


@pytest.mark.parametrize(
    ("fixed", "equal", "expected"),
    [
        ([0.0, NAN, NAN, 1.0], [(1, 2, 0)], [0.0, 0.5, 0.5, 1.0]),
        ([0.0, NAN, NAN, NAN, NAN, 3.0], [(1, 2, 0), (3, 4, 0)], [0.0, 1.0, 1.0, 2.0, 2.0, 3.0]),
        ([0.0, NAN, NAN, 2.0, NAN, 6.0], [(1, 2, 0), (3, 4, 0)], [0.0, 1.0, 1.0, 2.0, 2.0, 6.0]),
        ([0.0, NAN, NAN, NAN], [(1, 2, 0)], [0.0, 0.0, 0.0, 0.0]),
        ([NAN, NAN, NAN, NAN], [(1, 2, 0)], [NAN, NAN, NAN, NAN]),
        ([NAN, 4.0, NAN, NAN], [(2, 2, 0)], [4.0, 4.0, NAN, NAN]),
        # A stage is dropped: 10 less after than before.
        ([100.0, NAN, NAN, 10.0], [(1, 2, 10)], [100.0, 60.0, 50.0, 10.0]),
        # Three phases that start at one point and end at 0, 3 and 6.
        ([NAN, 0.0, NAN, 3.0, NAN, 6.0], [(0, 2, 0), (2, 4, 0)], [3.0, 0.0, 3.0, 3.0, 3.0, 6.0]),
    ],
)
def test_values_change_alike_between_those_that_are_fixed(fixed, equal, expected):
    widths = [1] * (len(fixed) // 2)
    found = values_between(np.array(fixed), widths, *pairs(len(fixed), *equal))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_an_equation_do_not_matter(unit):
    A, b = pairs(4, (1, 2, 10))
    found = values_between(np.array([100.0, NAN, NAN, 10.0]), [1, 1], unit * A, unit * b)
    np.testing.assert_allclose(found, [100.0, 60.0, 50.0, 10.0], atol=1e-9)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_a_state_that_is_linked_in_another_unit_changes_alike(unit):
    """a = unit b, and a + b' = unit (b + b') with b' = 0: both go half of the way."""
    A = np.array([[0.0, 1.0, -unit, 0.0]])
    found = values_between(np.array([0.0, NAN, NAN, 1.0]), [1, 1], A, np.zeros(1))
    np.testing.assert_allclose(found, [0.0, 0.5 * unit, 0.5, 1.0], rtol=1e-12)
    A = np.array([[0.0, 0.0, 1.0, 1.0, -unit, -unit, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, -unit, 0.0, 0.0]])
    fixed = np.array([0.0, 0.0, NAN, NAN, NAN, NAN, 1.0, 0.0])
    found = values_between(fixed, [2, 2], A, np.zeros(2))
    np.testing.assert_allclose(found[2:6], [0.5 * unit, 0.0, 0.5, 0.0], rtol=1e-12)  # zeros exactly


def test_coordinates_of_phases_of_other_widths_stand_apart():
    """(x, m) in the first phase, x in the second; x goes on, m is known where it starts alone."""
    A, b = np.array([[0.0, 0.0, 1.0, 0.0, -1.0, 0.0]]), np.zeros(1)
    found = values_between(np.array([0.0, 7.0, NAN, NAN, NAN, 4.0]), [2, 1], A, b)
    np.testing.assert_allclose(found, [0.0, 7.0, 2.0, 7.0, 2.0, 4.0], atol=1e-12)


def test_links_may_mix_coordinates():
    """x + y of the first phase goes on as that of the second: x^2 + y^2 + (3 - x - y)^2 is least."""
    A, b = np.array([[0.0, 0.0, 1.0, 1.0, -1.0, 0.0]]), np.zeros(1)
    found = values_between(np.array([0.0, 0.0, NAN, NAN, NAN, 3.0]), [2, 1], A, b)
    np.testing.assert_allclose(found, [0.0, 0.0, 1.0, 1.0, 2.0, 3.0], atol=1e-12)


def carts(shortest=1e-3, longest=1e3, far=100.0):
    """A unit mass that is to go far in two phases of free durations, with a force of at most one."""
    phases = []
    for name in ("first", "second"):
        system = trajopt.system(("x", "speed"), ("u",), lambda node: [node.speed, node.u])
        mesh = trajopt.Trajectory.collocation(10, order=3, duration=(shortest, longest))
        problem = trajopt.Problem(system, mesh, name=name)
        problem.control("u", lower=-1.0, upper=1.0)
        problem.minimize(trajopt.duration)
        phases.append(problem)
    phases[0].start_at(x=[0.0, 0.0])
    phases[1].end_at(x=[far, 0.0])
    both = trajopt.Phases(*phases)
    both.link(trajopt.q, phases[0].at("end"), phases[1].at("start"))
    return both


def test_two_phases_of_free_durations_find_the_least_time_of_both():
    """2 sqrt(d). From guesses that stay where they are, the solve ended with one phase of no duration."""
    solution = trajopt.solve(carts())
    assert solution.converged
    assert solution.objective == pytest.approx(20.0, rel=1e-8)
    assert min(part.duration for part in solution.phases) > 1.0


def carts_in_units(unit):
    """A cart in two phases of one second from 0 to 1 at rest, the first in units of its own."""
    both = carts(1.0, 1.0, 1.0)
    first = both.problems[0]
    for problem, size in zip(both.problems, (unit, 1.0), strict=True):
        problem.costs.clear()
        problem.control("u", lower=-1e3 * size, upper=1e3 * size)
        problem.minimize(trajopt.term(lambda node, size=size: (node.u / size) ** 2, name="effort"))
    phases = trajopt.Phases(*both.problems)
    phases.link(
        lambda a, b: [a.x - unit * b.x, a.speed - unit * b.speed],
        first.at("end"),
        both.problems[1].at("start"),
        name="units",
    )
    return phases


@pytest.mark.long
@pytest.mark.parametrize("unit", [1e-9, 1e6, 1e9])
def test_phases_in_different_units_meet_at_the_optimum_of_one(unit):
    """12 / 2^3 = 1.5; one phase alone takes 12, as it did with PASS while the guess stayed at one."""
    solution = trajopt.solve(carts_in_units(unit))
    assert solution.objective == pytest.approx(1.5, rel=1e-6)
    report = solution.verify()
    assert report.holds, report.reason


@pytest.mark.long
def test_a_phase_that_stays_small_in_its_unit_is_not_optimal():
    """Guessed at 1e-9 of its size, the first phase does next to nothing: stationary in these units alone."""
    phases = carts_in_units(1e9)
    for problem, start, end in zip(phases.problems, (0.0, 0.0), (1e-9, 1.0), strict=True):
        problem.guess(x=[[start, 0.0], [end, 0.0]], duration=1.0)
    report = trajopt.solve(phases, solver=trajopt.Slsqp(), refine=None).verify()
    assert "beside it meets every row and is lower" in report.reason


def test_a_guess_of_the_user_stays():
    both = carts()
    both.problems[0].guess(x=[[0.0, 0.0], [80.0, 1.0]], duration=3.0)
    program = linked_program(both)
    first, second = (
        own.unknowns.curve(y) for own, y in zip(program.programs, program.parts(program.start), strict=True)
    )
    np.testing.assert_allclose(first.at_progress(1.0)[:2], [80.0, 1.0], atol=1e-12)
    assert first.duration == 3.0
    np.testing.assert_allclose(second.at_progress([0.0, 1.0])[:, :2], [[50.0, 0.0], [100.0, 0.0]], atol=1e-12)


def test_robots_that_go_on_pass_the_middle():
    arms = [
        trajopt.Problem(
            two_link_rr.build().dynamics, trajopt.Trajectory.uniform(6, duration=(0.1, 5.0)), name=name
        )
        for name in ("reach", "withdraw")
    ]
    both = trajopt.Phases(*arms)
    arms[0].start_at(q=[0.0, 0.0])
    arms[1].end_at(q=[1.0, -2.0])
    both.link(trajopt.q, arms[0].at("end"), arms[1].at("start"))
    program = linked_program(both)
    parts = zip(program.programs, program.parts(program.start), strict=True)
    curves = [own.unknowns.curve(y) for own, y in parts]
    np.testing.assert_allclose(curves[0].at_progress(1.0), [0.5, -1.0], atol=1e-12)
    np.testing.assert_allclose(curves[1].at_progress(0.0), [0.5, -1.0], atol=1e-12)


def junction(link):
    """Where the first guess of the first of two carts ends, (x, speed)."""
    both = carts(5.0, 5.0)
    both.links.clear()
    first, second = (problem.at(end) for problem, end in zip(both.problems, ("end", "start"), strict=True))
    link(both, first, second)
    program = linked_program(both)
    return program.programs[0].unknowns.curve(program.parts(program.start)[0]).at_progress(1.0)[:2]


def test_functions_that_are_linear_count_and_others_do_not():
    def stop(both, first, second):
        both.link(lambda a, b: [a.x - b.x + 20.0, 0.5 * a.speed - b.speed], first, second, name="linear")

    def curved(both, first, second):
        both.link(lambda a, b: [a.x**2 - b.x**2, a.speed - b.speed], first, second, name="curved")

    def apart(both, first, second):
        both.link(lambda a, b: a.x - b.x, first, second, lower=0.0, upper=1.0, name="apart")

    np.testing.assert_allclose(junction(stop), [40.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(junction(curved), [0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(junction(apart), [0.0, 0.0], atol=1e-12)
