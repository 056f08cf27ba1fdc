"""Steps by composed maps are the general steps, where the active set stays; elsewhere there is none."""

import pickle

import numpy as np
import pytest

import trajopt
from benchmarks.solvers import mpc
from trajopt.parametric.replanning import ComposedSteps
from trajopt.solvers.solver import Status

PERIOD = 0.02
STATE = np.array([0.05, 0.02, 0.0, 0.0])
NAMES = ("x at the start", "force")


@pytest.fixture(scope="module")
def cart():
    compiled = mpc.compiled_problem()
    return compiled, compiled.step(STATE, force=(-15.0, 15.0))


def general(compiled, monkeypatch, *args, **given):
    with monkeypatch.context() as patch:
        patch.setattr(ComposedSteps, "next", lambda *_: None)
        return compiled.step(*args, **given)


def is_composed(compiled, step, names=NAMES):
    maps = compiled._composed.prepare(step, names)
    return maps is not None and step.program is maps.nlp


def test_it_is_the_general_step_up_to_rounding(cart, monkeypatch):
    compiled, step = cart
    rng = np.random.default_rng(2)
    for k in range(5):
        state = step.x(PERIOD) + 0.01 * rng.standard_normal(4)
        given = dict(before=step, elapsed=(1 + k % 2) * PERIOD, force=(-15.0 + k, 15.0))
        other = general(compiled, monkeypatch, state, **given)
        step = compiled.step(state, **given)
        assert is_composed(compiled, step) and not is_composed(compiled, other)
        assert step.status is other.status and step.is_new
        for name in ("y", "row_multipliers", "lower_multipliers", "upper_multipliers"):
            one, two = getattr(step.result, name), getattr(other.result, name)
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-10 * max(1.0, np.abs(two).max()))
        assert step.result.objective == pytest.approx(other.result.objective, rel=1e-10)
        assert abs(step.violation - other.violation) < 1e-12


def test_limits_that_join_the_active_set_are_left_to_the_general_step(cart, monkeypatch):
    compiled, first = cart
    given = dict(before=first, elapsed=PERIOD, force=(-15.0, 15.0))
    state = np.array([0.0, 0.35, 0.0, 0.5])
    step = compiled.step(state, **given)
    assert step.is_new and not is_composed(compiled, step)
    assert step.u(0.0)[0] == pytest.approx(-15.0, abs=1e-9)
    # Rows that joined keep their places in the factors: what is kept decides the last digits
    again = general(compiled, monkeypatch, state, **given).result.y
    np.testing.assert_allclose(step.result.y, again, rtol=0.0, atol=1e-12)


def test_problem_and_program_of_a_step_are_those_of_its_values(cart):
    compiled, first = cart
    step = compiled.step(first.x(PERIOD), before=first, elapsed=PERIOD, force=(-12.0, 15.0))
    assert is_composed(compiled, step)
    np.testing.assert_allclose(step.x(0.0), first.x(PERIOD), atol=1e-12)
    assert step.problem.extras["force"].lower == -12.0 and step.nlp.lower[-1] == -12.0
    assert np.abs(step.nlp.rows(step.result.y)).max() == pytest.approx(step.violation, abs=1e-12)
    assert step.solution.objective == pytest.approx(step.result.objective / step.nlp.objective_scale)
    functions = compiled._composed.prepare(step, NAMES).functions
    u = pickle.loads(pickle.dumps(functions)).values(np.ones((3, 10)))
    np.testing.assert_array_equal(u, functions.values(np.ones((3, 10))))


def test_loops_from_several_first_plans_in_turns_keep_their_maps(cart, monkeypatch):
    """First plans from other states have other scalings, and a new set of maps takes as long as ten steps."""
    compiled, first = cart
    plans, given = [first, compiled.step([0.3, 0.2, 0.0, 0.0], force=(-15.0, 15.0))], {"force": (-15.0, 15.0)}
    assert not plans[0].program.scaling.same(plans[1].program.scaling)
    monkeypatch.setattr(ComposedSteps, "_composed", None)
    for k in range(4):
        plans[k % 2] = compiled.step(plans[k % 2].x(PERIOD), before=plans[k % 2], elapsed=PERIOD, **given)
        assert is_composed(compiled, plans[k % 2])


def test_a_plan_of_another_duration_is_no_start_of_a_composed_step(cart, monkeypatch):
    compiled, first = cart
    longer = compiled.step(STATE, before=first, duration=2.1, force=(-15.0, 15.0))
    given = dict(before=longer, elapsed=PERIOD, force=(-15.0, 15.0))
    step = compiled.step(STATE, **given)
    assert step.is_new and not is_composed(compiled, step)
    np.testing.assert_array_equal(step.result.y, general(compiled, monkeypatch, STATE, **given).result.y)


def test_what_contradicts_itself_holds_the_plan(cart):
    compiled, first = cart
    bad = {Status.EVALUATION_ERROR: STATE * np.nan, Status.TIME_LIMIT: STATE}
    for status, state in bad.items():
        seconds = 1e-9 if status is Status.TIME_LIMIT else None
        held = compiled.step(state, before=first, force=(-15.0, 15.0), seconds=seconds)
        assert held.status is status and not held.is_new


@trajopt.term
def towards_goal(node):
    return (1.0 + node.t) * (node.x - node.parameter("goal")) ** 2


@trajopt.term
def power(node):
    return node.push**2


@pytest.mark.long
def test_goals_times_integrals_ends_and_ramps_are_in_the_maps(monkeypatch):
    """A mass whose push is continuous and of limited effort goes to a place, an input."""
    mass = trajopt.system(("x", "v"), ("push",), lambda node: [node.v, node.push - np.sin(node.x)])
    mesh = trajopt.Trajectory.collocation(14, 3, "radau", duration=1.5)
    problem = trajopt.Problem(mass, mesh, name="mass")
    problem.control("push", -6.0, 6.0, degree=1)
    problem.parameter("goal", 0.0, 0.0)
    problem.start_at(x=[0.4, 0.0])
    problem.end_at(x=[0.0, 0.0])
    problem.minimize(towards_goal)
    problem.minimize(power, weight=0.1)
    problem.subject_to(trajopt.integral(power), -np.inf, 9.0, name="effort")
    compiled, random = trajopt.compile(problem), np.random.default_rng(4)
    given = {"goal": 0.05, "x_end": np.array([0.1, 0.0])}
    step = compiled.step([0.4, 0.0], given)
    for k in range(4):
        state = step.x(0.03) + 0.01 * random.standard_normal(2)
        given = {"goal": 0.05 - 0.01 * k, "x_end": [0.1, 0.02 * k]}
        other = general(compiled, monkeypatch, state, given, before=step, elapsed=0.03)
        step = compiled.step(state, given, before=step, elapsed=0.03)
        assert is_composed(compiled, step, ("x at the start", "goal", "x_end"))
        np.testing.assert_allclose(step.result.y, other.result.y, rtol=0, atol=1e-10)
        np.testing.assert_allclose(step.x(1.5), [0.1, 0.02 * k], atol=1e-10)
