"""Costs and rates that jump by a comparison: motions stationary in spite of them fail, optima pass."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import casadi
import numpy as np
import pytest

import trajopt

pytestmark = pytest.mark.filterwarnings("ignore::trajopt.base.errors.KinkWarning")

Asked = trajopt.Problem | trajopt.Phases
EFFORT = trajopt.state("u") ** 2


def mass(duration: Any = 1.0, distance: float = 1.0, limit: float | None = None) -> trajopt.Problem:
    """A mass from rest to rest, x'' = u."""
    system = trajopt.system(["x", "v"], ["u"], lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(10, 3, duration=duration))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[distance, 0.0])
    if limit is not None:
        problem.control("u", -limit, limit)
    return problem


def point(duration: Any = 1.0, limit: float | None = None, end: float | None = 1.0) -> trajopt.Problem:
    """The point x' = u, from 0."""
    system = trajopt.system(["x"], ["u"], lambda node: [node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(9, 3, duration=duration))
    problem.start_at(x=[0.0])
    if end is not None:
        problem.end_at(x=[end])
    if limit is not None:
        problem.control("u", -limit, limit)
    return problem


def jump(condition: Callable[[Any], Any], high: float, low: float = 0.0) -> Any:
    return trajopt.term(lambda node: casadi.if_else(condition(node), high, low), name="jump")


def costing(problem: trajopt.Problem, *terms: Any) -> trajopt.Problem:
    for term in terms:
        problem.minimize(term)
    return problem


def toll_after_a_parameter() -> Asked:
    problem = point()
    problem.parameter("p", 0.0, 1.0, guess=0.55)
    problem.minimize(trajopt.term(lambda node: (node.parameter("p") - 0.55) ** 2), over="end")
    return costing(problem, EFFORT, jump(lambda node: node.x > node.parameter("p"), 3.0))


def side_of_phases() -> Asked:
    system = trajopt.system(["x"], ["u"], lambda node: [node.u])
    first, last = (
        trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=1.0)) for _ in range(2)
    )
    first.start_at(x=[0.0])
    last.end_at(x=[2.0])
    costing(first, EFFORT)
    costing(last, EFFORT, trajopt.term(lambda node: 2 * casadi.sign(node.x - 1.3) + 3, name="side {x}"))
    phases = trajopt.Phases(first, last)
    phases.link(trajopt.q, first.at("end"), last.at("start"))
    return phases


def field(before: float, after: float, duration: Any = 2.0) -> trajopt.Problem:
    """A mass from rest to rest against a force, x'' = u - F(x), that jumps where it is at a knot.

    Its motion is symmetric about that knot with every force, x - 1/2 but for rounding, which does not decide.
    """
    system = trajopt.system(
        ["x", "v"],
        ["u"],
        lambda node: [node.v, node.u - casadi.if_else(node.x > 0.5 + 1e-12, after, before)],
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=duration))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    return costing(problem, EFFORT)


def drag() -> trajopt.Problem:
    """Drag above a speed that constant push reaches at a knot."""
    system = trajopt.system(["v"], ["u"], lambda n: [n.u - casadi.if_else(n.v > 0.75 + 1e-12, 0.5, 0.0)])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=2.0))
    problem.start_at(x=[0.0])
    problem.end_at(x=[1.0])
    return costing(problem, EFFORT)


def field_and_line() -> trajopt.Phases:
    system = trajopt.system(["x", "v"], ["u"], lambda node: [node.v, node.u])
    line = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=1.0))
    line.start_at(x=[1.0, 0.0])
    line.end_at(x=[1.5, 0.0])
    return trajopt.Phases(field(0.0, 2.0), costing(line, EFFORT))


class Toll:
    """10 per second above a speed of 1, as a function without CasADi."""

    inputs: ClassVar = {"q": 2}
    outputs: ClassVar = {"toll": 1}

    def value(self, u):
        return {"toll": np.where(u["q"][:, 1:] > 1.0, 10.0, 0.0)}

    def partials(self, u):
        return {("toll", "q"): np.zeros((len(u["q"]), 1, 2))}


WRONG = {
    # 1.25 is reached with v <= 1; the motion found drives up to 2, 6
    "speed": lambda: costing(mass((0.5, 5.0), limit=4.0), trajopt.duration, jump(lambda n: n.v > 1.0, 10.0)),
    "place": lambda: costing(mass(), EFFORT, jump(lambda n: n.x > 0.45, 20.0)),
    "units": lambda: costing(mass(distance=1e6), EFFORT, jump(lambda n: n.x > 0.45e6, 20e12)),
    "steps": lambda: costing(
        point(2.0), 0.2 * EFFORT, trajopt.term(lambda n: casadi.floor(10 * n.x - 0.03) / 10 + 1, name="s")
    ),
    "product": lambda: costing(
        mass(), EFFORT, trajopt.term(lambda n: n.x * casadi.if_else(n.v > 1.2, 30.0, 1.0), name="p")
    ),
    "function": lambda: costing(mass((0.5, 5.0), limit=4.0), trajopt.duration, trajopt.block_term(Toll())),
    "parameter": toll_after_a_parameter,
    "phases": side_of_phases,
    # 1.56395 in two phases that meet at the jump; the motion found costs 2
    "rates": lambda: field(0.0, 2.0),
    "rates that fall": lambda: field(3.0, 0.0),
    "rates in free time": lambda: costing(field(0.0, 2.0, (0.5, 5.0)), trajopt.duration),
    "rates by speed": drag,  # 0.8565 for 1.125
    "rates in a phase": field_and_line,
    "rates and more": lambda: costing(field(0.0, 2.0), jump(lambda n: n.x > 0.5 + 1e-12, -8.0)),
    "rest of a division": lambda: costing(
        mass(), EFFORT, trajopt.term(lambda n: 30.0 * casadi.fmod(n.x + 2.0, 0.7), name="rest")
    ),
    "nearest rest": lambda: costing(
        mass(), EFFORT, trajopt.term(lambda n: 60.0 * casadi.remainder(n.x, 0.9) + 30.0, name="rest")
    ),
    "angle": lambda: costing(
        mass(),
        EFFORT,
        trajopt.term(
            lambda n: 40.0 + 10.0 * casadi.atan2(casadi.sin(8.0 * n.x), casadi.cos(8.0 * n.x)), name="a"
        ),
    ),
}


@pytest.mark.parametrize("name", ["parameter", *(pytest.param(n, marks=pytest.mark.long) for n in WRONG)])
def test_a_motion_that_a_jump_of_its_cost_makes_worse_fails(name):
    report = trajopt.solve(WRONG[name]()).verify()

    assert report.verdict == "FAIL"
    assert "need not be optimal: term '" in report.reason
    assert "jumps from" in report.reason and "no derivative shows" in report.reason


def pinned() -> trajopt.Problem:
    problem = point()
    problem.subject_to(trajopt.state("x"), equals=0.5, over=[0.5])
    return costing(problem, EFFORT, jump(lambda node: node.x > 0.5, 2.0))


def clock() -> trajopt.Problem:
    system = trajopt.system(["x", "c"], ["u"], lambda node: [node.u, 1.0 + 0.0 * node.c])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(9, 3, duration=1.0))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, None])
    return costing(problem, EFFORT, jump(lambda node: node.c > 0.4, 2.0))


def data() -> trajopt.Problem:
    problem = point()
    problem.data("price", [0.0, 0.4], [1.0, 5.0], interpolation="steps")
    return costing(problem, EFFORT, trajopt.term(lambda node: node.data("price"), name="price"))


def field_held() -> trajopt.Problem:
    problem = field(0.0, 2.0)
    problem.subject_to(trajopt.state("x"), equals=0.5, over=[1.0])
    return problem


RIGHT = {
    # Full speed all the way: limits hold what the jump adds
    "at a limit": (lambda: costing(point((0.1, 5.0), 1.0), jump(lambda n: n.x > 0.45, 4.0, 1.0)), 2.65),
    # Bang-bang, whose speed at the toll's border is the highest that can still be braked
    "bang-bang": (lambda: costing(mass((0.1, 9.0), limit=1.0), jump(lambda n: n.x > 0.5, 2.0, 1.0)), 3.0),
    "given time": (lambda: costing(point(), EFFORT, jump(lambda n: n.t > 0.4, 2.0)), 2.2),
    "given steps of time": (
        lambda: costing(point(), EFFORT, trajopt.term(lambda n: casadi.floor(4 * n.t + 0.4), name="s")),
        1.0 + (1.0 + 2.0 + 3.0) / 4 + 4.0 * 0.1,
    ),
    "never crossed": (lambda: costing(mass(), EFFORT, jump(lambda n: n.x > 5.0, 10.0)), 12.0),
    "little": (lambda: costing(mass(), EFFORT, jump(lambda n: n.x > 0.45, 0.02)), 12.0105),
    "held at a node": (pinned, 2.0),
    "a state that nothing moves": (clock, 2.2),
    "data": (data, 1.0 + 0.4 + 3.0),
    "at the start": (lambda: costing(point(), EFFORT, jump(lambda n: n.x > 0.0, 5.0)), 6.0),
    "signs of rest": (lambda: costing(mass(), EFFORT, jump(lambda n: n.v > 0.0, 3.0, 1.0)), 15.0),
    "no jump of the product": (
        lambda: costing(mass(), EFFORT, trajopt.term(lambda n: casadi.sign(n.v) * n.v, name="p")),
        13.0,
    ),
    "rates by symmetry": (lambda: field(1.0, -1.0), 6.0),
    "rates at a knot that is held": (field_held, 2.0),
    "rates that a cost balances": (
        lambda: costing(field(0.0, 2.0), jump(lambda n: n.x > 0.5 + 1e-12, -4.0)),
        -2.0,
    ),
    "joined": (
        # x starts at 0: the pieces meet at x = 0.5 in value
        lambda: costing(
            point(end=None), EFFORT, trajopt.term(lambda n: casadi.if_else(n.x > 0.5, n.x, 0.5), name="p")
        ),
        0.5,
    ),
}


@pytest.mark.parametrize(
    "name", ["at the start", "given time", *(pytest.param(n, marks=pytest.mark.long) for n in RIGHT)]
)
def test_an_optimum_of_a_cost_that_jumps_passes(name):
    problem, optimum = RIGHT[name]
    solution = trajopt.solve(problem())
    report = solution.verify()

    assert report.holds, report.reason
    assert solution.objective == pytest.approx(optimum, rel=1e-2)


@pytest.mark.long
@pytest.mark.parametrize(("intervals", "size"), [(2, 0.3), (8, 30.0)])
def test_a_jump_at_a_node_is_named_where_rounding_decides_its_value(intervals, size):
    """x is 1/2 at t = 1/2, where two intervals meet, whatever the size of the toll."""
    problem = mass()
    problem = problem.on(trajopt.Trajectory.collocation(intervals, 3, duration=1.0))
    report = trajopt.solve(costing(problem, EFFORT, jump(lambda node: node.x > 0.5, size))).verify()

    assert report.verdict == "FAIL"
    assert "or jumps at a node, t = 0.5 s, where rounding decides its value" in report.reason


@pytest.mark.long
def test_a_cost_that_has_changed_jumps_nowhere(tmp_path):
    trajopt.solve(costing(mass(), EFFORT)).save(tmp_path / "x.npz")
    cheaper = costing(mass(), EFFORT)
    cheaper.costs[0] = replace(cheaper.costs[0], weight=0.999)
    report = trajopt.Solution.load(tmp_path / "x.npz", problem=cheaper).verify()

    assert "whose cost must have changed" in report.reason and "at a node" not in report.reason


@pytest.mark.long
@pytest.mark.parametrize(("before", "after"), [(1.0, -1.0), (-5.0, 5.0)])
def test_a_crossing_at_a_knot_that_is_stationary_is_not_called_optimal(before, after):
    """6 is the optimum of the first, of the second 24 is the largest of all crossings: 23.551 in phases."""
    report = trajopt.solve(field(before, after)).verify()

    assert report.holds, report.reason
    assert "locally optimal" not in str(report)
    assert "jumps from" in report.optimum and "to first order alone" in report.optimum
    assert report.error_of_optimum is None


@pytest.mark.long
def test_rates_that_jump_at_a_given_time_leave_the_motion_optimal():
    system = trajopt.system(
        ["x", "v"], ["u"], lambda node: [node.v, node.u - casadi.if_else(node.t > 1.0 + 1e-12, 2.0, 0.0)]
    )
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(4, 3, duration=2.0))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    report = trajopt.solve(costing(problem, EFFORT)).verify()

    assert report.holds, report.reason
    assert report.optimum.startswith("locally optimal")
