"""A problem in any unit has the same motion, verdict and derivatives, and none of them in words only."""

import numpy as np
import pytest
from tiers import fast_first

import dynamics
import trajopt
from trajopt.refinement.guess_search import simulated_guesses
from trajopt.solution.answers import solution_at
from trajopt.solvers.kkt import least_squares_multipliers, multipliers_of
from trajopt.solvers.solver import Result, Status


def driven(unit, end=1.0):
    """x' = u under |u| <= 1.3, y' = x: least y(1) and squares of u, in a unit of which one is 1 / `unit`."""
    system = trajopt.system(["x", "y"], ["u"], rates=lambda node: [node.u, node.x])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(8, 3, duration=1.0))
    problem.control("u", lower=-1.3 * unit, upper=1.3 * unit)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[end * unit, None])
    problem.minimize(trajopt.state("y"), weight=1.0 / unit, over="end")
    problem.minimize(trajopt.state("u") ** 2, weight=0.05 / unit**2)
    return problem


REFERENCE = 0.44449142  # at unit 1, of the same mesh


@fast_first("unit", [1e-12, 1e9, 1e-9, 1e-8, 1e-6, 1e-3, 1e2, 1e6])
def test_the_optimum_does_not_depend_on_the_unit(unit):
    solution = trajopt.solve(driven(unit))
    u = solution.value(trajopt.state("u"), np.linspace(0.0, 1.0, 2001)) / unit
    assert solution.converged and solution.verify().holds
    assert solution.objective == pytest.approx(REFERENCE, rel=2e-7)
    assert np.abs(u).max() <= 1.3 * (1.0 + 1e-6)


@pytest.mark.long
@fast_first("unit", [1e-9, 1e-6, 1.0, 1e4, 1e6])
def test_derivatives_of_the_optimum_do_not_depend_on_the_unit(unit):
    found = trajopt.solve(driven(unit)).sensitivity("x_end").objective
    assert float(np.ravel(found)[0]) * unit == pytest.approx(0.88529412, rel=1e-5)


def test_what_is_small_at_the_start_but_not_bounded_keeps_its_size():
    problem = driven(1.0, end=2e-6)
    assert trajopt.transcribe(problem).unknown_sizes is not None
    problem.guess(lambda s: np.stack([s * (1.0 - s), s], axis=-1))
    assert trajopt.transcribe(problem).unknown_sizes is None
    assert trajopt.transcribe(driven(1e-6)).unknown_sizes is not None


@fast_first("unit", [2.0**-20, 2.0**20])
def test_simulated_guesses_do_not_depend_on_the_unit_of_one_state(unit):
    def guessed(unit):
        system = trajopt.system(["x", "y"], ["u"], rates=lambda node: [node.y / unit, unit * node.u])
        problem = trajopt.Problem(system, trajopt.Trajectory.collocation(6, 3, duration=2.0))
        problem.control("u", lower=-1.0, upper=1.0)
        problem.start_at(x=[0.0, 0.0])
        problem.end_at(x=[1.0, 0.5 * unit])
        problem.minimize(trajopt.state("u") ** 2)
        return simulated_guesses(problem, trajopt.transcribe(problem), 4)

    s = np.linspace(0.0, 1.0, 11)
    for (one, _), (other, _) in zip(guessed(1.0), guessed(unit), strict=True):
        assert one(s) == pytest.approx(other(s) / [1.0, unit], rel=1e-6, abs=1e-9)


def least_push(unit, kind):
    """A mass of `unit` kg moves 1 m at rest in 2 s: a cost or limit of |u|, or |v| at the end, in newtons."""
    system = trajopt.system(["x", "v"], ["u"], rates=lambda node: [node.v, node.u / unit])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=2.0))
    problem.control("u", lower=-4.0 * unit, upper=4.0 * unit)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, None if kind == "end" else 0.0])
    push = trajopt.absolute(trajopt.state("u"))
    if kind == "limit":
        problem.subject_to(trajopt.integral(push), upper=1.4 * unit)
        problem.minimize(trajopt.state("u") ** 2)
    else:
        problem.minimize(push, weight=1e-3 if kind == "end" else 1.0)
    if kind == "end":
        speed = unit * trajopt.state("v") - 0.3 * unit
        problem.minimize(trajopt.absolute(speed), over="end")
    return problem


@fast_first("kind, unit", [("end", 1e-20), ("limit", 1e-7), ("cost", 1e-20), ("cost", 1e-7)])
def test_the_optimum_of_kinked_terms_does_not_depend_on_the_unit(kind, unit):
    expected, solution = (trajopt.solve(least_push(each, kind), refine=None) for each in (1.0, unit))
    power = 2 if kind == "limit" else 1
    assert solution.converged and solution.iterations <= 2 * expected.iterations + 10
    assert solution.objective / unit**power == pytest.approx(expected.objective, rel=1e-5)


def fitted(unit, rates, value, **parameters):
    """One state, free at both ends and guessed as zero, whose equation is fitted to data of a unit."""
    system = trajopt.system(["x"], [], lambda node: [unit * rates(node, node.x / unit)])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(6, 3, duration=2.0))
    for name, guess in parameters.items():
        problem.parameter(name, -9.0, 9.0, guess=guess)
    times = np.linspace(0.0, 2.0, 7)
    problem.data("z", times, value(times) + 0.05 * np.cos(9.0 * times))
    problem.minimize(
        trajopt.term(lambda node: (node.x / unit - node.data("z")) ** 2, name="misfit"), over=times
    )
    return problem


def line(unit):
    """x' = b, to 3 - 2 t; b is guessed as zero: closed form by least squares."""
    return fitted(unit, lambda node, x: node.parameter("b") + 0.0 * x, lambda t: 3.0 - 2.0 * t, b=0.0)


def decay(unit):
    """x' = -k x, to 2 e^-t: at x = 0 the parameter changes nothing."""
    return fitted(unit, lambda node, x: -node.parameter("k") * x, lambda t: 2.0 * np.exp(-t), k=0.5)


@fast_first(("problem", "unit"), [(decay, 1e9), (line, 1e9), (line, 1e-9), (decay, 1e-9), (decay, 1e5)], 1)
def test_fits_without_a_guess_do_not_depend_on_the_unit(problem, unit):
    """In units of 1e9 a slope by the state is 1e-9: the solve ended where it began, and passed."""
    expected, solution = (trajopt.solve(problem(each), refine=None) for each in (1.0, unit))
    assert solution.objective == pytest.approx(expected.objective, rel=1e-6)
    assert solution.iterations <= expected.iterations + 5 and solution.verify().holds


def test_a_fit_of_a_line_in_a_large_unit_is_that_of_least_squares():
    times = np.linspace(0.0, 2.0, 7)
    data = 3.0 - 2.0 * times + 0.05 * np.cos(9.0 * times)
    residual = data - np.polyval(np.polyfit(times, data, 1), times)
    assert trajopt.solve(line(1e9), refine=None).objective == pytest.approx(residual @ residual, rel=1e-6)


@fast_first("problem", [decay, line], 1)
def test_a_fit_that_stays_at_its_guess_is_no_optimum(problem):
    """Multipliers of least squares make its slopes by the state as small as its unit is large."""
    asked = problem(1e9)
    nlp = trajopt.transcribe(asked)
    point = least_squares_multipliers(nlp, nlp.start, signed=False)
    multipliers = multipliers_of(nlp, point)
    result = Result(Status.CONVERGED, point.y, *multipliers, nlp.objective(nlp.start), 0.0, 3, 0.1)
    assert not solution_at(asked, nlp, result).verify().holds


def pushed(unit, seconds):
    """x' = v, v' = u from rest to rest over one unit, of which nothing but the distance is known."""
    system = trajopt.system(["x", "v"], ["u"], lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(6, 3, duration=seconds))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[unit, 0.0])
    problem.minimize(trajopt.state("u") ** 2)
    return problem


@fast_first(("unit", "seconds"), [(1e9, 1e3), (1e-6, 1.0), (1e9, 1e-2), (1e-9, 1e3)], 1)
def test_states_and_controls_guessed_as_zero_have_the_sizes_that_their_equations_give(unit, seconds):
    sizes = trajopt.transcribe(pushed(unit, seconds)).unknown_sizes
    assert sizes is not None
    for power in range(3):  # of x, v, u: a motion over s (1 - s) needs four times as much for each
        size = unit / seconds**power
        assert 1e-3 < size < 1e3 or np.abs(np.log10(sizes / size)).min() < 1.7
    solution = trajopt.solve(pushed(unit, seconds), refine=None)
    assert solution.objective == pytest.approx(12.0 * unit**2 / seconds**3, rel=1e-6)
    assert solution.verify().holds


@fast_first("unit, duration", [(1.0, 2.0), (1e6, (1.0, 2.0)), (1e9, 2.0), (1e-6, 2.0)], 2)
@pytest.mark.parametrize("remainder", [0.0, np.sin(np.pi)])
def test_what_rounding_leaves_of_a_start_at_zero_is_no_size(unit, duration, remainder):
    """Sizes of 1e-16 made every slope vanish: the solve ended where it began, and passed."""
    system = trajopt.system(["x", "v"], ["u"], lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(6, 3, duration=duration))
    problem.start_at(x=[unit * remainder, 0.0])
    problem.minimize(
        trajopt.term(lambda node: (node.x / unit - 1.0) ** 2 + 0.1 * (node.u / unit) ** 2, name="miss")
    )
    problem.guess(lambda s: np.stack([unit * remainder + 0.0 * s, unit * remainder * s], axis=-1))
    if duration != 2.0:
        problem.minimize(trajopt.duration, weight=-10.0)
    solution = trajopt.solve(problem, refine=None)
    expected = 0.7622565 - (20.0 if duration != 2.0 else 0.0)
    assert solution.objective == pytest.approx(expected, rel=1e-6) and solution.verify().holds


def test_a_state_that_is_small_at_the_guess_beside_others_keeps_its_size():
    """A rate of 1e-9 at the guess, as of a mass that hardly dissolves there, is one of about 1 later."""
    system = trajopt.system(["x", "y"], ["u"], lambda node: [node.u, 1e-9 + node.x**2])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=1.0))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[0.0, 1.0])
    problem.minimize(trajopt.state("u") ** 2)
    assert trajopt.transcribe(problem).unknown_sizes is None


@pytest.mark.long
@pytest.mark.parametrize("solver", [trajopt.Slsqp(), trajopt.InteriorPoint()])
def test_a_small_control_beside_small_states_is_small_in_the_verdict_too(solver):
    """The solve found 1e-9 for a control guessed as zero; `verify` counted it as one: KKT error 0.1."""
    problem = pushed(1e-9, 1.0)
    problem.minimize(trajopt.state("u") ** 2, weight=1e18)
    solution = trajopt.solve(problem, solver=solver)
    assert solution.objective == pytest.approx(12.0, rel=1e-5) and solution.verify().holds


def two_pushes(unit):
    """Two controls push x, of which one, weakly, enters y', too: as u / unit and w both are about one."""
    system = trajopt.system(
        ["x", "y"], ["u", "w"], lambda node: [node.u + unit * node.w, node.x - 1e-3 * unit * node.w]
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=2.0))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[unit, unit])
    problem.minimize(trajopt.term(lambda node: (node.u / unit) ** 2 + node.w**2, name="pushes"))
    return problem


def rise(unit):
    """A control of about one, u, moves x of a small unit: x' = unit u, y' = 0.1 y + unit exp(-x / unit)."""
    system = trajopt.system(
        ["x", "y"], ["u"], lambda node: [unit * node.u, 0.1 * node.y + unit * np.exp(-node.x / unit)]
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=2.0))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[unit, None])
    problem.minimize(trajopt.state("u") ** 2)
    problem.minimize(trajopt.state("y"), weight=1.0 / unit, over="end")
    return problem


IPOPT, INTERIOR = trajopt.Ipopt(), trajopt.InteriorPoint()
RATES = [
    (two_pushes, 1e6, IPOPT),
    (rise, 1e-6, INTERIOR),
    (two_pushes, 1e9, INTERIOR),
    (two_pushes, 1e-6, IPOPT),
]


@fast_first("problem, unit, solver", RATES, 2)
def test_an_equation_is_as_large_as_the_states_whose_rates_it_holds(problem, unit, solver):
    """w was 1e3 by y' alone, so x' was missed by 1e-4; x' by 1e-6, as u is one: 154 iterations for 3."""
    expected, solution = (trajopt.solve(problem(each), solver=solver, refine=None) for each in (1.0, unit))
    assert solution.objective == pytest.approx(expected.objective, rel=1e-6)
    assert solution.iterations <= expected.iterations + 5 and solution.verify().holds


def motor(unit):
    """A slide of 2 kg pushed by a current c of one unit per newton, c' = u - c under |u| <= 1000 units."""
    row = dynamics.DhRow(name="slide", kind="prismatic", mass=2.0)
    system = trajopt.system(
        states=["c"],
        controls=["u"],
        rates=lambda node: node.u - node.c,
        dynamics=dynamics.from_dh([row], gravity=(0.0, 0.0, 0.0)),
        torques=lambda node: node.c / unit,
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(6, 3, duration=1.0))
    problem.control("u", -1e3 * unit, 1e3 * unit)
    problem.start_at(q=0.0, v=0.0, x=[unit])
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.state("u") ** 2, weight=1.0 / unit**2)
    return problem


def test_equations_of_states_beside_joints_hold_no_speed_of_these():
    program = trajopt.transcribe(motor(1e6))
    assert program.unknown_sizes is not None and program.unknown_sizes.max() > 1e5


@pytest.mark.long
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_states_beside_joints_may_have_any_unit(unit):
    expected, solution = (trajopt.solve(motor(each), refine=None) for each in (1.0, unit))
    assert solution.objective == pytest.approx(expected.objective, rel=1e-6) and solution.verify().holds
