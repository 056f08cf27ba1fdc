"""A compiled program with other values is the program of the problem that is stated with them."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hand_written import PointMasses
from tiers import every, fast_first

import problems
import trajopt
from trajopt.base.errors import (
    DegreesOfFreedomError,
    InfeasibleBoundsError,
    OptionError,
    ShapeError,
    StructureError,
    UnknownNameError,
)
from trajopt.transcription.nlp import NLP
from trajopt.transcription.transcribe import program_at, program_like, values_of

DATA = np.linspace(0.0, 1.0, 5), np.sin(np.linspace(0.0, 3.0, 5))


@trajopt.term
def payload_power(node):
    return [node.parameter("payload") * node.v[0] ** 2 + node.data("measured") * node.q[1]]


def build(
    *,
    q_start=(0.0, 0.2),
    q_end=(1.0, -0.5),
    a_end=0.0,
    torque=((-8.0, -9.0), (8.0, 9.0)),
    speed=(-2.5, 2.5),
    reach=3.0,
    energy=4.0,
    weight=0.1,
    payload=2.0,
    force=5.0,
    measured=DATA,
    duration=1.2,
):
    """Two masses with every kind of input: boundary values, hulls, rows, an integral, weights, data ..."""
    problem = trajopt.Problem(PointMasses(2, 2.0), trajopt.Trajectory.uniform(6, 4, duration))
    problem.parameter("payload", lower=payload, upper=payload)
    curve = problem.extra("force", 1, lower=-force, upper=force)
    problem.data("measured", *measured)
    problem.start_at(q=q_start, v=0.0)
    problem.end_at(q=q_end, a=a_end)
    problem.subject_to(trajopt.q, -reach, reach, hold="hull", name="reach")
    problem.subject_to(trajopt.v, *speed, hold="hull", name="speed")
    problem.subject_to(trajopt.tau, *torque, name="torque limits")
    problem.subject_to(trajopt.integral(payload_power), upper=energy, name="energy")
    problem.minimize(trajopt.tau**2, weight=weight, name="effort")
    problem.minimize(payload_power, name="power")
    problem.minimize(curve**2, name="force")
    return problem


def assert_same_program(one, other):
    """Sizes, bounds, start, scaling and all functions at a random point."""
    assert (one.variable_count, one.row_count) == (other.variable_count, other.row_count)
    for name in ("lower", "upper", "row_lower", "row_upper", "start", "row_scale"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9, err_msg=name
        )
    rng = np.random.default_rng(3)
    y = one.start + 0.1 * rng.standard_normal(one.variable_count)
    multipliers = rng.standard_normal(one.row_count)
    for name, arguments in (("objective", ()), ("gradient", ()), ("rows", ()), ("jacobian", ())):
        here, there = (getattr(nlp, name)(y, *arguments) for nlp in (one, other))
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(
        one.hessian(y, multipliers), other.hessian(y, multipliers), rtol=1e-9, atol=1e-8
    )
    x, same = (nlp.unknowns.elimination.expand(y) for nlp in (one, other))
    np.testing.assert_allclose(x, same, rtol=1e-12, atol=1e-12)


CASES = {
    "several": (
        {"q_end": 0.1, "weight_effort": 2.0, "duration": 1.5},
        {"q_end": (0.1, 0.1), "weight": 2.0, "duration": 1.5},
    ),
    "boundary values": ({"q_start": (0.1, -0.3), "q_end": [0.4, 0.6]},) * 2,
    "one number for all joints": ({"q_end": 0.3}, {"q_end": (0.3, 0.3)}),
    "an acceleration at a fixed duration": ({"a_end": 1.5},) * 2,
    "limits": ({"torque_limits": ((-3.0, -4.0), (5.0, 6.0))}, {"torque": ((-3.0, -4.0), (5.0, 6.0))}),
    "hulls": ({"reach": (-2.0, 2.0), "speed": (-3.0, 3.0)}, {"reach": 2.0, "speed": (-3.0, 3.0)}),
    "an integral": ({"energy": (None, 2.5)}, {"energy": 2.5}),
    "a weight": ({"weight_effort": 0.7}, {"weight": 0.7}),
    "a parameter": ({"payload": 3.5}, {"payload": 3.5}),
    "bounds of a curve": ({"force": (-2.0, 2.0)}, {"force": 2.0}),
    "data": ({"measured": (DATA[0], 2.0 * DATA[1])}, {"measured": (DATA[0], 2.0 * DATA[1])}),
    "values alone": ({"measured": 2.0 * DATA[1]}, {"measured": (DATA[0], 2.0 * DATA[1])}),
    "the duration": ({"duration": 0.9},) * 2,
}


@pytest.fixture(scope="module")
def compiled():
    return trajopt.compile(build())


@every("case", CASES, fast=4)
def test_other_values_give_the_program_of_the_problem_that_is_stated_with_them(compiled, case):
    values, stated = CASES[case]
    nlp, start = compiled.program(values)
    assert start is None
    assert_same_program(nlp, trajopt.transcribe(build(**stated)))


@every("case", CASES, fast=4)
def test_functions_that_a_step_takes_over_are_those_of_a_program_made_anew(compiled, case):
    structure, problem = compiled.structure.parts[0], compiled.problem_with(CASES[case][0])
    values, before = values_of(structure, problem), compiled.program()[0]
    start = values.bounds.clipped(before.start)
    rows = before.rows(start)  # the last point is kept, and must not be that of the other program
    taken, anew = (
        program_like(before, structure, values, start),
        program_at(structure, values, start, before.scaling),
    )
    np.testing.assert_allclose(taken.rows(start), anew.rows(start), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(before.rows(start), rows)
    assert_same_program(taken, anew)
    if case == "boundary values":
        assert taken.row_weights is before.row_weights


def test_velocities_at_free_durations_are_rows_where_they_are_declared():
    """The optimum is that of the problem stated with these velocities, where they are eliminated."""

    def moving(v_start, v_end):
        problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(8, 3, (0.2, 5.0)))
        problem.start_at(q=0.0, v=v_start)
        problem.end_at(q=1.0, v=v_end)
        problem.subject_to(trajopt.tau, -1.0, 1.0)
        problem.minimize(trajopt.duration)
        return problem

    compiled = trajopt.compile(moving(0.0, 0.0), inputs=["v_start", "v_end", "q_end"])
    first = compiled.solve()
    assert abs(first.duration / trajopt.solve(moving(0.0, 0.0)).duration - 1.0) < 1e-7
    found = compiled.solve(v_start=0.4, v_end=0.2, start=first)
    assert found.converged
    assert abs(found.duration / trajopt.solve(moving(0.4, 0.2)).duration - 1.0) < 1e-7
    np.testing.assert_allclose([found.v(0.0)[0], found.v(found.duration)[0]], [0.4, 0.2], atol=1e-8)
    with pytest.raises(StructureError, match=r"'v at the start'.*inputs=\['v_start'") as caught:
        trajopt.compile(moving(0.0, 0.0)).solve(v_start=0.4)
    assert "durations are free" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "error", "told"),
    [
        ({"q_finish": 1.0}, UnknownNameError, "no input is called 'q_finish'.*q_end"),
        ({"q_end": (1.0, 2.0, 3.0)}, ShapeError, "shape \\(3,\\) are given for the 2 components"),
        ({"q_end": (1.0, None)}, StructureError, "component slider 1, was fixed"),
        ({"torque_limits": (-1.0, None)}, StructureError, "lacks an upper limit but had one"),
        (
            {"torque_limits": ((-1.0, 2.0), (1.0, 2.0))},
            StructureError,
            "slider 1, has equal limits but had none",
        ),
        ({"torque_limits": 3.0}, ShapeError, "give \\(lower, upper\\)"),
        ({"torque_limits": (2.0, 1.0)}, InfeasibleBoundsError, "above upper bound"),
        ({"energy": (0.0, 1.0)}, StructureError, "has a lower limit but had none"),
        ({"measured": np.zeros((5, 2))}, StructureError, "2 columns but had 1"),
        ({"duration": (0.5, 2.0)}, StructureError, "lacks equal limits"),
        ({"reach": (-0.5, 0.5)}, InfeasibleBoundsError, "boundary"),
    ],
)
def test_values_that_are_none_or_need_another_program_are_typed_errors(compiled, values, error, told):
    with pytest.raises(error, match=told):
        compiled.program(values)
    assert_same_program(compiled.program()[0], trajopt.transcribe(build()))  # and nothing has changed


def test_a_velocity_limit_of_zero_at_a_free_duration_needs_another_program():
    free: dict[str, Any] = {"duration": (0.5, 2.0)}
    compiled = trajopt.compile(build(**free))
    stated = trajopt.transcribe(build(**free, speed=(-2.0, 2.2)))
    assert_same_program(compiled.program(speed=(-2.0, 2.2))[0], stated)
    with pytest.raises(StructureError, match="sparsity"):
        compiled.program(speed=(-1.0, 0.0))


def test_only_declared_inputs_change():
    compiled = trajopt.compile(build(), inputs=["q_end"])
    assert [each.keyword for each in compiled.inputs] == ["q_end"]
    with pytest.raises(UnknownNameError, match=r"no input is called 'payload'.*inputs=\[...\]"):
        compiled.program(payload=1.0)
    with pytest.raises(UnknownNameError, match="'q_finish'"):
        trajopt.compile(build(), inputs=["q_finish"])
    with pytest.raises(OptionError, match="inputs is 'q_end'"):
        trajopt.compile(build(), inputs="q_end")
    with pytest.raises(OptionError, match="start is 3: give a Solution"):
        compiled.solve(start=3)


def test_conditions_that_repeat_each_other_are_checked_for_every_value():
    """q is given twice at the end; one of the two rows is dropped, and must hold with new values too."""
    problem = build()
    problem.subject_to(trajopt.q, equals=(1.0, -0.5), over="end", name="target")
    compiled = trajopt.compile(problem)
    with pytest.raises(DegreesOfFreedomError, match="contradicts"):
        compiled.program(q_end=(1.1, -0.5))
    nlp, _ = compiled.program(q_end=(1.1, -0.5), target=(1.1, -0.5))
    assert_same_program(nlp, trajopt.transcribe(build(q_end=(1.1, -0.5))))


def test_rows_that_no_unknown_changes_are_checked_for_every_value():
    """At the end q is fixed, so that a bound on its square is a constant row."""

    @trajopt.term
    def square(node):
        return node.q[0] ** 2

    problem = build()
    problem.subject_to(square, upper=2.0, over="end", name="square")
    compiled = trajopt.compile(problem)
    assert compiled.program(q_end=(1.2, 0.0))[0].row_count == trajopt.transcribe(build()).row_count
    with pytest.raises(InfeasibleBoundsError, match=r"'square' is 2\.25 at t = 1\.2 s"):
        compiled.program(q_end=(1.5, 0.0))


def test_later_changes_of_the_problem_have_no_effect():
    problem = build()
    compiled = trajopt.compile(problem)
    problem.minimize(trajopt.v**2)
    problem.end_at(q=0.0)
    assert_same_program(compiled.program()[0], trajopt.transcribe(build()))


GOALS = [(1.1, -1.0), (1.0, -0.9), (0.95, -1.1), (1.05, -1.05)]


@pytest.fixture(scope="module")
def arm():
    compiled = trajopt.compile(problems.two_link_rr.build(intervals=10))
    return compiled, compiled.solve()


def test_warm_starts_find_the_optimum_of_a_cold_solve(arm):
    compiled, first = arm
    assert first.converged
    for goal in GOALS:
        warm = compiled.solve(q_end=goal, start=first)
        cold = compiled.solve(q_end=goal)
        assert warm.converged and cold.converged and warm.kkt.error < 1e-8
        assert abs(warm.objective / cold.objective - 1.0) < 1e-8
        np.testing.assert_allclose(warm.q(warm.duration), goal, atol=1e-12)
        assert warm.problem.constraints[2].lower.tolist() == list(goal)


def test_the_hessian_at_an_optimum_is_that_of_the_first_step_to_the_next(monkeypatch):
    """One evaluation less where boundary values alone changed; the same optimum, to the tolerance."""
    compiled = trajopt.compile(problems.two_link_pr.build(u=0.1, intervals=10))
    end, _ = compiled.inputs.find("q_end").limits(compiled.problem)
    first = compiled.solve()
    before = compiled.solve(q_end=end + np.array([0.01, 0.0]), start=first)
    assert first.point.hessian is None and before.point.hessian is not None
    bare = replace(before, point=replace(before.point, hessian=None))
    points, hessian = [], NLP.hessian
    monkeypatch.setattr(NLP, "hessian", lambda *given: points.append(given[1]) or hessian(*given))
    counts, answers = [], []
    for start in (before, bare):
        points.clear()
        answers.append(compiled.solve(q_end=end + np.array([0.02, 0.0]), start=start))
        counts.append(len(points))
    assert counts[0] == counts[1] - 1
    assert answers[0].objective == pytest.approx(answers[1].objective, rel=1e-9)
    assert compiled.program(start=before)[1].hessian is before.point.hessian
    wider = [2.0 * each for each in compiled.inputs.find("torque_limits").limits(compiled.problem)]
    assert compiled.program(torque_limits=wider, start=before)[1].hessian is None


def test_a_hessian_of_another_size_is_refused(arm):
    compiled, first = arm
    nlp, start = compiled.program(start=first)
    with pytest.raises(ShapeError, match=r"start.hessian has shape \(3,\) but the problem has \d+ entries"):
        replace(start, hessian=np.zeros(3)).check(nlp)


def test_a_solver_that_is_told_to_do_without_second_derivatives_makes_no_newton_steps():
    compiled = trajopt.compile(problems.double_integrator.build())
    start = compiled.solve()
    exact, without = (
        compiled.solve(start=start, solver=trajopt.Ipopt(hessian=each)) for each in ("exact", "lbfgs")
    )
    assert exact.converged and "Newton steps" in exact.detail
    assert without.converged and "Newton steps" not in without.detail


@pytest.mark.long
def test_threads_give_the_same_answers_as_one_after_the_other(arm):
    compiled, first = arm
    alone = [compiled.solve(q_end=goal, start=first) for goal in GOALS]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda goal: compiled.solve(q_end=goal, start=first), GOALS * 3))
    for expected, found in zip(alone * 3, together, strict=True):
        assert np.array_equal(expected.curve.control_points[0], found.curve.control_points[0])


@fast_first("make", [build, lambda: problems.two_link_rr.build(intervals=4)])
def test_a_pickled_program_is_the_same_program(make):
    compiled = trajopt.compile(make())
    copy = pickle.loads(pickle.dumps(compiled))
    value = {"q_end": (0.4, 0.3)}
    assert_same_program(copy.program(value)[0], compiled.program(value)[0])
    again = copy.solve(value)
    assert np.array_equal(again.curve.control_points[0], compiled.solve(value).curve.control_points[0])
    assert again.verify() is not None  # terms evaluate without the functions that made them


def test_truth_values_are_no_values_of_an_input():
    compiled = trajopt.compile(problems.double_integrator.build())
    for values in ({"q_end": True}, {"q_end": [True]}, {"torque_limits": (False, True)}):
        with pytest.raises(ShapeError, match="it holds True or False"):
            compiled.solve(values)


def test_an_input_with_the_name_of_an_argument_is_set_by_name():
    problem = problems.double_integrator.build()
    problem.subject_to(trajopt.v, -9.0, 9.0, name="start")
    compiled = trajopt.compile(problem)
    assert "start            (lower, upper), each a number; give it by name, {'start': ...}" in str(compiled)
    solution = compiled.solve({"start": (-1.0, 0.5)})
    assert solution.v(np.linspace(0.0, solution.duration, 50)).max() <= 0.5 + 1e-6
    with pytest.raises(OptionError, match=r"the input of this name is set by solve\(\{'start': value\}\)"):
        compiled.solve(start=(-1.0, 0.5))
