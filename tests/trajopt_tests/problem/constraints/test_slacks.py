"""Absolute values and maxima by slacks: known optima, exact at the nodes; what is not convex is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hand_written import two_link_minimum_time
from taylor_slopes import slope_and_difference_of_rows
from tiers import every, fast_first

import problems
import trajopt
from trajopt.base.errors import InfeasibleBoundsError, KinkWarning, NotFiniteError, OptionError, ShapeError
from trajopt.transcription.derivative_check import check_problem

LEAST_FUEL = 3.0 - np.sqrt(5.0)  # of one metre in T = 3 s with |u| <= 1: bang, off, bang; t1 (T - t1) = 1
SWITCH = LEAST_FUEL / 2.0


def move(mesh):
    """A unit mass from rest to rest over one metre, with a force of at most 1 N."""
    mass = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u])
    problem = trajopt.Problem(mass, mesh)
    problem.control("u", -1.0, 1.0)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    return problem


def collocated(intervals=20, points="radau", order=3, duration: float | tuple[float, float] = 3.0):
    return trajopt.Trajectory.collocation(intervals, order, points, duration)


def switching(order=2):
    return collocated([0.0, SWITCH / 3.0, 1.0 - SWITCH / 3.0, 1.0], order=order)


FUEL = trajopt.absolute(trajopt.state("u"))


@pytest.mark.long
def test_least_fuel_is_bang_off_bang():
    problem = move(switching())
    problem.minimize(FUEL, name="fuel")
    solution = trajopt.solve(problem)
    assert solution.objective == pytest.approx(LEAST_FUEL, rel=1e-8)
    t = np.linspace(0.01, 2.99, 50)
    exact = np.where(t < SWITCH, 1.0, np.where(t > 3.0 - SWITCH, -1.0, 0.0))
    assert np.allclose(solution.value(trajopt.state("u"), t)[:, 0], exact, atol=1e-6)
    report = solution.verify()
    assert report.holds
    assert report.costs[0].integral == pytest.approx(LEAST_FUEL, rel=1e-7)


@pytest.mark.long
@pytest.mark.parametrize(("intervals", "order", "excess"), [(20, 3, 1.4e-3), (80, 2, 5e-5)])
def test_on_an_even_mesh_the_interval_of_the_switch_costs_a_little(intervals, order, excess):
    """The numbers of docs/howto/terms.md."""
    problem = move(collocated(intervals, order=order))
    problem.minimize(FUEL)
    assert trajopt.solve(problem).objective / LEAST_FUEL - 1.0 == pytest.approx(excess, rel=0.15)


@fast_first("points", ["lobatto", "gauss", "radau"])
def test_slacks_are_the_absolute_values_at_the_nodes(points):
    """Whatever the control does inside an interval, the cost is the quadrature of |u| and no more."""
    problem = move(collocated(7, points))
    problem.minimize(FUEL)
    solution = trajopt.solve(problem)
    nodes, t = problem.trajectory.nodes, solution.node_times
    # a node at a jump lies on two sides: the values inside the intervals tell which
    u = solution.value(trajopt.state("u"), np.clip(t + 1e-9 * (nodes.s < 1) - 2e-9 * _right(nodes), 0.0, 3.0))
    assert solution.objective == pytest.approx(3.0 * nodes.weight @ np.abs(u[:, 0]), rel=1e-6)


def _right(nodes):
    """Mask of the nodes that are the last of their span."""
    return np.diff(nodes.span, append=-1) != 0


def test_a_robot_on_a_spline_mesh_has_one_slack_per_node():
    """On Lobatto nodes that spans share, slacks are continuous; torques cross zero inside spans."""
    problem = problems.double_integrator.build(intervals=6)
    arm = trajopt.Problem(problem.dynamics, trajopt.Trajectory.uniform(6, duration=2.0))
    arm.start_at(q=0.0, v=0.0)
    arm.end_at(q=1.0, v=0.0)
    arm.minimize(trajopt.absolute(trajopt.tau) + 0.01 * trajopt.tau**2)
    solution = trajopt.solve(arm)
    tau = solution.tau(solution.node_times)[:, 0]
    expected = 2.0 * arm.trajectory.nodes.weight @ (np.abs(tau) + 0.01 * tau**2)
    assert solution.converged and solution.objective == pytest.approx(expected, rel=1e-8)
    assert tau.min() < 0.0 < tau.max()


@pytest.mark.long
def test_a_fuel_budget_gives_the_duration_whose_least_fuel_it_is(tmp_path):
    problem = move(collocated([0.0, SWITCH / 3.0, 1.0 - SWITCH / 3.0, 1.0], order=2, duration=(0.1, 9.0)))
    problem.minimize(trajopt.duration)
    problem.subject_to(trajopt.integral(FUEL), upper=LEAST_FUEL, name="fuel")
    solution = trajopt.solve(problem)
    assert solution.duration == pytest.approx(3.0, rel=1e-8)
    report = solution.verify()
    assert report.holds
    (line,) = (violation for violation in report.violations if violation.name == "fuel")
    assert abs(line.dense_violation) < 1e-6
    solution.save(tmp_path / "fuel.npz")
    again = trajopt.Solution.load(tmp_path / "fuel.npz", problem)
    assert again.verify().holds and again.objective == solution.objective


@pytest.mark.long
def test_a_maximum_weighs_braking_more_than_driving():
    """max(u, -2 u): as much braking as driving, so 3/2 of the least fuel, by the same motion."""
    u = trajopt.state("u")
    problem = move(switching())
    problem.minimize(trajopt.maximum(u, -2.0 * u))
    assert trajopt.solve(problem).objective == pytest.approx(1.5 * LEAST_FUEL, rel=1e-8)


@pytest.mark.long
def test_only_what_is_above_a_number_costs():
    """max(u, 1/2) over three seconds: the move takes no more than half of the force, so 1.5 remain."""
    problem = move(switching())
    problem.minimize(trajopt.maximum(trajopt.state("u"), 0.5))
    solution = trajopt.solve(problem)
    assert solution.objective == pytest.approx(1.5, rel=1e-7)


@pytest.mark.long
def test_the_square_of_a_maximum_is_a_penalty_on_one_side():
    """(max(0.8 - u, 0))^2 with 0 <= u <= 1 over one second, x(1) = 1/2: u = 1/2 and 0.09."""
    drive = trajopt.system(("x",), ("u",), lambda node: [node.u])
    problem = trajopt.Problem(drive, collocated(4, duration=1.0))
    problem.control("u", 0.0, 1.0)
    problem.start_at(x=[0.0])
    problem.end_at(x=[0.5])
    problem.minimize(trajopt.maximum(-trajopt.state("u"), -0.8, 0.0) ** 2)
    assert trajopt.solve(problem).objective == pytest.approx(0.0, abs=1e-8)
    problem.minimize(trajopt.maximum(np.cos(0.0) * trajopt.state("u"), 0.0) ** 2)
    assert trajopt.solve(problem).objective == pytest.approx(0.25, rel=1e-7)


@pytest.mark.long
def test_the_least_miss_at_the_end_is_an_absolute_value_there():
    """Half a metre at most in one second with |u| <= 2 and v free: x(1) = 1 of 3 m, 2 m short."""
    problem = move(collocated(4, duration=1.0))
    problem.constraints = problem.constraints[:-1]  # the end is free
    problem.control("u", -2.0, 2.0)

    @trajopt.term
    def short(node):
        return 3.0 - node.x

    problem.minimize(trajopt.absolute(short), over="end")
    solution = trajopt.solve(problem)
    assert solution.objective == pytest.approx(2.0, rel=1e-7)
    assert solution.verify().holds


@pytest.mark.long
def test_bounds_of_absolute_values_are_bounds_on_both_sides():
    by_hand, by_word = (two_link_minimum_time(6) for _ in range(2))
    by_hand.subject_to(trajopt.v, -3.0, 3.0)
    by_word.subject_to(trajopt.absolute(trajopt.v), upper=3.0)
    assert not by_word.slacks
    assert trajopt.solve(by_word).duration == pytest.approx(trajopt.solve(by_hand).duration, rel=1e-9)


def test_the_sum_of_absolute_values_is_bounded_by_its_pieces():
    """|v_1| + |v_2| <= 3 is four planes."""
    problem = two_link_minimum_time(6)
    problem.subject_to(
        trajopt.absolute(trajopt.v[0]) + trajopt.absolute(trajopt.v[1]), upper=3.0, name="speeds"
    )
    solution = trajopt.solve(problem)
    together = np.abs(solution.v(solution.node_times)).sum(axis=1)
    assert together.max() == pytest.approx(3.0, rel=1e-7)
    assert sum(constraint.name.startswith("speeds, ") for constraint in problem.constraints) == 4


@pytest.mark.long
def test_a_minimum_is_bounded_from_below_and_a_maximum_from_above():
    problem = two_link_minimum_time(6)
    problem.subject_to(trajopt.minimum(trajopt.v[0], trajopt.v[1]), lower=-2.0)
    problem.subject_to(trajopt.maximum(trajopt.v[0], trajopt.v[1], -9.0), upper=2.5)
    solution = trajopt.solve(problem)
    v = solution.v(solution.node_times)
    assert v.min() >= -2.0 - 1e-8 and v.max() <= 2.5 + 1e-8


def test_values_of_terms_with_kinks_are_exact_anywhere():
    solution = trajopt.solve(two_link_minimum_time(6))
    t = np.linspace(0.0, solution.duration, 17)
    v = solution.v(t)
    for term, expected in (
        (trajopt.absolute(trajopt.v), np.abs(v)),
        (
            trajopt.maximum(trajopt.v, -trajopt.q, [0.1, 0.2]),
            np.maximum(np.maximum(v, -solution.q(t)), [0.1, 0.2]),
        ),
        (trajopt.minimum(trajopt.v, 0.3), np.minimum(v, 0.3)),
        (trajopt.maximum(trajopt.absolute(trajopt.v), 0.5), np.maximum(np.abs(v), 0.5)),
    ):
        assert np.allclose(solution.value(term, t), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.long
def test_slacks_follow_to_another_mesh_and_into_phases():
    problem = move(collocated(7))
    problem.minimize(FUEL)
    finer = problem.on(switching())
    assert trajopt.solve(finer).objective == pytest.approx(LEAST_FUEL, rel=1e-8)
    halves = [move(collocated([0.0, SWITCH / 1.5, 1.0], order=2, duration=1.5)) for _ in range(2)]
    halves[1] = move(collocated([0.0, 1.0 - SWITCH / 1.5, 1.0], order=2, duration=1.5))
    for half, kept in zip(halves, ("start", "end"), strict=True):
        half.constraints = [
            each for each in half.constraints if each.over != ("end" if kept == "start" else "start")
        ]
        half.minimize(FUEL)
    both = trajopt.Phases(*halves)
    both.link(trajopt.q, halves[0].at("end"), halves[1].at("start"))
    solution = trajopt.solve(both)
    assert solution.objective == pytest.approx(LEAST_FUEL, rel=1e-8)
    assert solution.verify().holds


@pytest.mark.long
def test_absolute_values_at_the_ends_of_two_phases_have_slacks_of_their_own(tmp_path):
    """From 3 m with at most 1 m/s: 2 m after one second and 1 m after two, 3 together."""
    drives = []
    for name in ("one", "two"):
        drive = trajopt.system(("x",), ("u",), lambda node: [node.u])
        problem = trajopt.Problem(drive, collocated(2, order=2, duration=1.0), name=name)
        problem.control("u", -1.0, 1.0)
        problem.minimize(trajopt.absolute(trajopt.state("x")), over="end")
        drives.append(problem)
    drives[0].start_at(x=[3.0])
    both = trajopt.Phases(*drives)
    both.link(trajopt.q, drives[0].at("end"), drives[1].at("start"))
    solution = trajopt.solve(both)
    assert solution.objective == pytest.approx(3.0, rel=1e-7)
    assert solution.verify().holds
    solution.save(tmp_path / "both.npz")
    assert trajopt.PhasesSolution.load(tmp_path / "both.npz", both).verify().holds


def test_derivatives_of_programs_with_slacks_are_exact():
    problem = two_link_minimum_time(5)
    problem.minimize(trajopt.absolute(trajopt.tau))
    slope, difference = slope_and_difference_of_rows(trajopt.transcribe(problem))
    assert np.allclose(slope, difference, rtol=1e-6, atol=1e-6)


# -- what is not convex, and bad input ---------------------------------------------------------------------


@every(
    "state, message",
    [
        (
            lambda p: p.minimize(FUEL, weight=-1.0),
            r"'\|u\|' is maximized, or counted negatively, which is not convex",
        ),
        (lambda p: p.minimize(trajopt.q[0] - FUEL), "not convex"),
        (lambda p: p.minimize(trajopt.minimum(trajopt.state("u"), 0.0)), "not convex"),
        (lambda p: p.minimize(trajopt.maximum(trajopt.state("u"), -1.0) ** 2), "has kinks, which a square"),
        (lambda p: p.minimize(np.sin(FUEL)), "has kinks, which a square or a function cannot have"),
        (lambda p: p.minimize(trajopt.absolute(FUEL)), "has kinks, which an absolute value cannot have"),
        (lambda p: p.subject_to(FUEL, lower=0.1), "is bounded from below, which is not convex"),
        (lambda p: p.subject_to(FUEL, equals=0.1), "bound it from one side only"),
        (lambda p: p.subject_to(FUEL, 0.0, 0.1), "bound it from one side only"),
        (lambda p: p.subject_to(FUEL), "has no bound"),
        (lambda p: p.subject_to(trajopt.integral(FUEL), lower=0.1), "not convex"),
        (lambda p: p.subject_to(trajopt.integral(FUEL)), r"'integral of \|u\|' has no bound"),
        (lambda p: p.subject_to(trajopt.integral(trajopt.minimum(trajopt.state("u"), 0.0))), "has no bound"),
        (
            lambda p: p.minimize(np.array([1.0, -2.0]) * trajopt.maximum(trajopt.q, 0.0)),
            "is counted negatively in some components",
        ),
        (lambda p: p.subject_to(trajopt.integral(FUEL), equals=0.1), "bound it from one side only"),
        (lambda p: p.subject_to_periodic(FUEL), "has kinks, which a periodicity cannot have"),
        (
            lambda p: p.subject_to(sum([trajopt.absolute(trajopt.state(n)) for n in "xvu"] * 3), upper=1.0),
            "64 pieces",
        ),
        (lambda p: trajopt.absolute(3.0), "3.0 is no term"),
        (lambda p: trajopt.absolute("u"), "'u' is no term"),
        (lambda p: trajopt.maximum(1.0, 2.0), "no term is given"),
    ],
)
def test_what_slacks_cannot_state_is_refused(state, message):
    problem = move(collocated(4))
    with pytest.raises(OptionError, match=message):
        state(problem)
    assert not problem.slacks and not problem.costs and not problem.integrals


def test_numbers_that_cannot_be_meant_are_refused():
    with pytest.raises(NotFiniteError, match="a number of a maximum is nan"):
        trajopt.maximum(trajopt.q, np.nan)
    with pytest.raises(InfeasibleBoundsError, match=r"is at least 2, which is above its upper bound 1\.0"):
        move(collocated(4)).subject_to(trajopt.maximum(trajopt.state("u"), 2.0), upper=1.0)


def test_links_and_designs_have_no_kinks():
    first, second = move(collocated(4)), move(collocated(4))
    both = trajopt.Phases(first, second)
    with pytest.raises(OptionError, match="has kinks, which a link cannot have"):
        both.link(trajopt.absolute(trajopt.q), first.at("end"), second.at("start"))
    problem = problems.gear_ratio.build()
    problem.designs.clear()
    with pytest.raises(OptionError, match="has kinks, which a design cannot have"):
        problem.design("axle.gear_ratio", trajopt.absolute(trajopt.Quantity("parameter:ratio")))
    assert not both.links and not problem.designs


def test_what_is_refused_leaves_the_problem_as_it_was():
    problem = move(collocated(4))
    before = list(problem.constraints), dict(problem.extras)
    with pytest.raises(InfeasibleBoundsError, match="is at least 2"):
        problem.subject_to(trajopt.maximum(trajopt.state("u"), 2.0), upper=1.0)
    with pytest.raises(ShapeError, match=r"shape \(2,\) are given for .* 'integral of \|u\|'"):
        problem.subject_to(trajopt.integral(FUEL), upper=[1.0, 2.0])
    assert (problem.constraints, problem.extras) == before and not problem.slacks


@pytest.mark.long
def test_minima_that_are_counted_negatively_component_by_component_are_convex():
    """-(1, 2) min((x, v), 0) is (1, 2) max(-(x, v), 0)."""
    problem = move(collocated(4))
    problem.minimize(np.array([-1.0, -2.0]) * trajopt.minimum(trajopt.q, 0.0))
    assert len(problem.slacks) == 1
    assert trajopt.solve(problem).objective == pytest.approx(
        0.0, abs=1e-7
    )  # neither x nor v need be negative


def test_terms_of_different_widths_have_no_maximum():
    with pytest.raises(ShapeError, match="different widths: 'q' 2, 'duration' 1"):
        two_link_minimum_time(4).minimize(trajopt.maximum(trajopt.q, trajopt.duration))
    with pytest.raises(ShapeError, match="a maximum has 2 components but is given 3 numbers"):
        two_link_minimum_time(4).minimize(trajopt.maximum(trajopt.q, [1.0, 2.0, 3.0]))


def test_a_kink_inside_an_own_term_is_told_with_its_sides_and_the_word_for_it():
    problem = move(collocated(4))
    problem.minimize(trajopt.ExpressionTerm(lambda node: 2.0 * abs(node.u), "fuel"))
    told = (
        r"term 'fuel': its slope by 'extra:u' jumps from -?2 to -?2 at 'extra:u' = 0, in an absolute value\. "
    )
    with pytest.warns(KinkWarning, match=told + r".* trajopt\.absolute\(term\), which is exact"):
        check_problem(problem)
    check_problem(problem)  # once for every term


@pytest.mark.parametrize("duration", [3.0, (2.0, 3.0)])
def test_own_terms_of_pieces_that_fit_and_kinks_at_given_times_are_not_told(duration):
    problem = move(collocated(4, duration=duration))
    problem.minimize(trajopt.ExpressionTerm(lambda node: np.maximum(node.u, 0.0) ** 2, "forwards"))
    problem.minimize(trajopt.ExpressionTerm(lambda node: node.u**2 * abs(node.t - 1.2), "early"))
    if duration == 3.0:
        check_problem(problem)
        return
    with pytest.warns(KinkWarning, match="term 'early': its slope by 't' jumps from .* at 't' = 1.2"):
        check_problem(problem)


def test_rates_with_a_kink_are_told_of():
    dry = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u - 0.1 * np.sign(node.v)])
    problem = trajopt.Problem(dry, collocated(4))
    with pytest.warns(
        KinkWarning, match=r"component v: its value jumps .* component v = .*, in a comparison"
    ):
        check_problem(problem)
