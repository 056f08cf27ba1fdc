"""Phases as they are stated: links, shared parameters, durations, and what is refused."""

import numpy as np
import pytest

import trajopt
from trajopt.base.errors import InfeasibleBoundsError, OptionError, ShapeError, UnknownNameError
from trajopt.transcription.linked_program import linked_program


@trajopt.term
def effort(node):
    return node.u**2


def moving_mass(name, duration=1.0, states=("x", "v"), intervals=3):
    """A unit mass in a line under a force u, with the effort 1/2 u^2."""
    system = trajopt.system(
        states=states, controls=("u",), rates=lambda node: [getattr(node, states[1]), node.u]
    )
    mesh = trajopt.Trajectory.collocation(intervals, order=3, duration=duration)
    problem = trajopt.Problem(system, mesh, name=name)
    problem.minimize(effort, weight=0.5)
    return problem


def two_masses():
    first, second = moving_mass("first"), moving_mass("second")
    first.start_at(x=[0.0, 0.0])
    second.end_at(x=[1.0, 0.0])
    return first, second, trajopt.Phases(first, second)


@pytest.mark.long
def test_a_link_may_be_a_function_of_one_two_or_three_instants():
    first, second, both = two_masses()
    both.link(trajopt.q, first.at("end"), second.at("start"))
    both.link(lambda end: end.v, first.at("end"), lower=0.3, upper=0.4, name="speed between")
    both.link(
        lambda a, b, c: [a.u + b.u + c.u],
        first.at("start"), first.at("end"), second.at("end"),
        equals=0.5, name="sum of forces",
    )  # fmt: skip
    solution = trajopt.solve(both)
    assert solution.converged and all(link.dense_relative < 1e-8 for link in solution.verify().links)
    one, other = solution.phases
    assert 0.3 - 1e-8 <= one.v(1.0)[0] <= 0.4 + 1e-8
    force = trajopt.state("u")
    total = one.value(force, 0.0) + one.value(force, 1.0) + other.value(force, 1.0)
    assert total[0] == pytest.approx(0.5, abs=1e-8)


def test_a_jump_of_the_speed_is_an_impact_whose_optimum_has_a_closed_form():
    """The speed is halved between the phases: from rest to (1, free), least effort by the adjoints.

    With w the speed after the impact and 2 w before it, each phase is the cubic between its boundary values.
    """
    first, second, both = two_masses()
    both.link(lambda a, b: [a.x - b.x, 0.5 * a.v - b.v], first.at("end"), second.at("start"), name="impact")
    solution = trajopt.solve(both)

    def cost(z):
        """1/2 integral u^2 of cubics from (x0, v0) to (x1, v1) in unit time, in closed form."""
        x, w = z
        total = 0.0
        for x0, v0, x1, v1 in ((0.0, 0.0, x, 2.0 * w), (x, w, 1.0, 0.0)):
            d = x1 - x0
            total += 2.0 * (3.0 * d**2 - 3.0 * d * (v0 + v1) + v0**2 + v0 * v1 + v1**2)
        return total

    from scipy.optimize import minimize

    best = minimize(cost, [0.5, 0.5], tol=1e-14)
    assert solution.objective == pytest.approx(best.fun, rel=1e-9)
    assert solution.phases[0].q(1.0) == pytest.approx([best.x[0], 2.0 * best.x[1]], abs=1e-6)
    assert solution.phases[1].q(0.0) == pytest.approx(best.x, abs=1e-6)


@pytest.mark.long
def test_the_multiplier_of_a_link_is_the_slope_of_the_objective():
    def objective(gap):
        first, second, both = two_masses()
        both.link(lambda a, b: [a.x - b.x, a.v - b.v], first.at("end"), second.at("start"),
                  equals=[gap, 0.0], name="meet")  # fmt: skip
        return trajopt.solve(both)

    step = 1e-4
    slope = (objective(step).objective - objective(-step).objective) / (2.0 * step)
    assert -objective(0.0).multipliers["meet"][0] == pytest.approx(slope, rel=1e-6)


@pytest.mark.long
def test_a_phase_may_be_linked_with_itself_so_that_it_is_a_cycle():
    """Against drag, v' = u - v, a unit distance in a unit time takes u = v = 1 throughout."""
    drag = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u - node.v])
    mass = trajopt.Problem(drag, trajopt.Trajectory.collocation(3, order=3, duration=1.0), name="cycle")
    mass.start_at(x=[0.0, None])
    mass.minimize(effort, weight=0.5)
    both = trajopt.Phases(mass)
    both.link(lambda end, start: [end.x - start.x - 1.0, end.v - start.v], mass.at("end"), mass.at("start"))
    solution = trajopt.solve(both)
    (phase,) = solution.phases
    assert solution.verify().holds
    assert phase.q(1.0) - phase.q(0.0) == pytest.approx([1.0, 0.0], abs=1e-9)
    assert solution.objective == pytest.approx(0.5, rel=1e-9)
    assert phase.v(np.linspace(0.0, 1.0, 7))[:, 0] == pytest.approx(1.0, abs=1e-7)


def test_parameters_of_one_name_are_one_unknown():
    def problem(name, pull):
        system = trajopt.system(("x",), (), lambda node: [pull - node.parameter("k") * node.x])
        made = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=1.0), name=name)
        made.parameter("k", 0.1, 10.0, guess=1.0)
        made.start_at(x=[1.0])
        return made

    first, second = problem("first", 0.0), problem("second", 1.0)
    second.end_at(x=[1.0])  # an equilibrium, so that k = 1
    solution = trajopt.solve(trajopt.Phases(first, second))
    assert [float(s.parameters["k"][0]) for s in solution.phases] == pytest.approx([1.0, 1.0], abs=1e-9)
    assert solution.phases[0].q(1.0)[0] == pytest.approx(np.exp(-1.0), rel=1e-5)


@pytest.mark.long
def test_durations_are_free_by_phase_and_bounded_in_sum():
    """Least effort over a unit distance from rest to rest falls with the cube of the time T, as 6 / T^3."""
    first, second = moving_mass("first", (0.2, 5.0)), moving_mass("second", (0.2, 5.0))
    first.start_at(x=[0.0, 0.0])
    second.end_at(x=[1.0, 0.0])
    both = trajopt.Phases(first, second)
    both.link(trajopt.q, first.at("end"), second.at("start"))
    both.subject_to(trajopt.duration, upper=2.0)
    solution = trajopt.solve(both)
    assert solution.duration == pytest.approx(2.0, abs=1e-7)
    assert solution.objective == pytest.approx(6.0 / 2.0**3, rel=1e-6)
    both = trajopt.Phases(first, second)
    both.link(trajopt.q, first.at("end"), second.at("start"))
    both.minimize(trajopt.duration, weight=18.0 / 16.0)  # d/dT (6 / T^3 + w T) = 0 at T = 2 for w = 18 / 2^4
    assert trajopt.solve(both).duration == pytest.approx(2.0, abs=1e-5)


def test_a_cost_may_depend_on_several_phases():
    first, second, both = two_masses()
    both.link(trajopt.q, first.at("end"), second.at("start"))
    both.minimize(lambda a, b: (a.v - 0.2) ** 2 + (b.v - 0.2) ** 2, first.at("end"), second.at("start"),
                  weight=1e3, name="slow")  # fmt: skip
    solution = trajopt.solve(both)
    assert solution.phases[0].v(1.0)[0] == pytest.approx(0.2, abs=1e-2)
    assert "second: slow" in solution.cost_terms
    assert sum(solution.cost_terms.values()) == pytest.approx(solution.objective, rel=1e-12)


def test_boundary_values_on_both_sides_of_a_link_may_agree_but_not_contradict_each_other():
    first, second, both = two_masses()
    first.end_at(x=[0.5, None])
    second.start_at(x=[0.5, None])
    both.link(trajopt.q, first.at("end"), second.at("start"))
    solution = trajopt.solve(both)
    assert solution.converged and solution.verify().holds
    second.start_at(x=[0.6, None])  # of what is stated later, the first contradicts
    apart = moving_mass("apart")
    apart.start_at(x=[0.6, 0.0])
    apart.end_at(x=[1.0, None])
    both = trajopt.Phases(first, apart)
    both.link(trajopt.q, first.at("end"), apart.at("start"))
    with pytest.raises(
        InfeasibleBoundsError, match=r"phases 'first' and 'apart' cannot meet: .* 0\.5 .* 0\.6"
    ):
        trajopt.solve(both)


def test_a_quantity_that_a_phase_does_not_have_is_named_with_the_phase():
    first, second = moving_mass("first"), moving_mass("second", states=("h", "w"))
    both = trajopt.Phases(first, second)
    ends = first.at("end"), second.at("start")
    with pytest.raises(UnknownNameError, match="in phase 'second' no quantity is called 'x'"):
        both.link(lambda a, b: a.x - b.x, *ends)
    with pytest.raises(UnknownNameError, match="in phase 'second' no quantity is called 'x'"):
        both.link(trajopt.state("x"), *ends)
    with pytest.raises(UnknownNameError, match="in phase 'first' no quantity is called 'parameter:m'"):
        both.link(lambda a, b: a.parameter("m") - b.h, *ends)
    with pytest.raises(ShapeError, match=r"\(x, v\) in 'first' and \(h, w\) in 'second'"):
        both.link(trajopt.q, *ends)


def test_shared_parameters_of_different_sizes_or_without_a_common_value_are_refused():
    first, second, both = two_masses()
    first.parameter("load", lower=[0.0, 0.0], upper=[1.0, 1.0])
    second.parameter("load", lower=0.0, upper=1.0)
    with pytest.raises(ShapeError, match=r"parameter 'load' is one unknown .* 2 in 'first', 1 in 'second'"):
        linked_program(both)
    first, second, both = two_masses()
    first.parameter("load", 0.0, 1.0)
    second.parameter("load", 2.0, 3.0)
    with pytest.raises(InfeasibleBoundsError, match=r"parameter 'load' .* leave it no value"):
        linked_program(both)


def test_phases_that_were_refused_can_be_shown_by_a_debugger():
    with pytest.raises(OptionError) as refused:
        trajopt.Phases()
    assert repr(refused.traceback[-1].locals["self"]) == "Phases(; 0 links)"


def test_what_cannot_be_meant_is_refused():
    first, second, both = two_masses()
    ends = first.at("end"), second.at("start")
    for call, error, words in (
        (lambda: trajopt.Phases(), OptionError, "there are no phases"),
        (lambda: trajopt.Phases(first, first), OptionError, "given twice"),
        (lambda: trajopt.Phases([first, second]), ShapeError, "given as a list"),
        (lambda: both.link(lambda a: a.x), OptionError, "no instant is given"),
        (lambda: both.link(lambda a: a.x, "end"), ShapeError, "an instant is 'end': give problem.at"),
        (
            lambda: both.link(lambda a: a.x, moving_mass("third").at("end")),
            OptionError,
            "'third' belongs to none",
        ),
        (lambda: both.link(3.0, *ends), OptionError, r"is 3\.0: give a function"),
        (lambda: both.link(lambda a: a.x, *ends), OptionError, "is called with 2 nodes"),
        (lambda: both.link(lambda a, b: 1.0, *ends), OptionError, "uses no quantity"),
        (lambda: both.link(lambda a, b: a.x - b.x, *ends, equals=[0.0, 1.0]), ShapeError, "1 components"),
        (lambda: both.link(trajopt.q, *ends, lower=0.0), OptionError, "give bounds with a function"),
        (lambda: both.link(trajopt.q, ends[0]), OptionError, "agree at 1 instants"),
        (lambda: both.subject_to(trajopt.q, 0.0), OptionError, "belongs to a phase"),
        (
            lambda: both.minimize(lambda a, b: a.x, *ends, weight=np.nan),
            trajopt.TrajoptError,
            "finite number",
        ),
        (lambda: first.at("path"), OptionError, "not one instant"),
        (lambda: first.at(trajopt.ArcNodes(3, "end")), OptionError, "arcs count from 0"),
        (lambda: both.recommend("ipopt"), OptionError, "solver"),
    ):
        with pytest.raises(error, match=words):
            call()
    both.link(lambda a, b: a.x - b.x, *ends, name="meet")
    with pytest.raises(OptionError, match="two links are called 'meet'"):
        both.link(lambda a, b: a.v - b.v, *ends, name="meet")


def test_phases_are_no_problem():
    both = two_masses()[2]
    with pytest.raises(ShapeError, match=r"give a trajopt\.Problem"):
        trajopt.transcribe(both)


def test_too_many_equations_are_counted_over_all_phases():
    first, second, both = two_masses()
    for problem in (first, second):
        problem.subject_to(trajopt.state("u"), equals=0.0, name="no force")
    both.link(lambda a, b: [a.x - b.x, a.v - b.v], first.at("end"), second.at("start"))
    solution = trajopt.solve(both)
    assert solution.status is trajopt.Status.NOT_ENOUGH_FREEDOM
    assert "42 equations, those of links among them, for 40 unknowns of all phases" in solution.detail


def test_a_problem_stays_as_it_was_when_its_phases_are_solved():
    first, second, both = two_masses()
    both.link(trajopt.q, first.at("end"), second.at("start"))
    trajopt.solve(both)
    assert not first.parameters and not second.parameters
    assert [c.name for c in first.constraints] == ["state equations", "x at the start"]
