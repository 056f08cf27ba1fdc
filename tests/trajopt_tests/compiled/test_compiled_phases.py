"""Compiled phases with other values are the phases that are stated with them; so are derivatives."""

import pickle

import numpy as np
import pytest
from hand_written import PointMasses
from tiers import fast_first

import trajopt
from trajopt.base.errors import (
    EvaluationError,
    InfeasibleBoundsError,
    NotFiniteError,
    OptionError,
    ShapeError,
    StructureError,
    UnknownNameError,
)

TIGHT = trajopt.Ipopt(tol=1e-11)
PLACES = np.linspace(0.0, 1.0, 7)


@trajopt.term
def effort(node):
    return node.u**2


@trajopt.term
def drag(node):
    return node.u - node.parameter("load") * node.v**2


@trajopt.term
def mass(node):
    return node.parameter("mass") ** 2


def rates(node):
    return [node.v, node.u]


def gap(before, after):
    return [after.x - before.x, after.v - before.v]


def late(before, after):
    return before.duration**2 * after.v**2


def stated(
    *,
    first_x_start=(0.0, 0.1),
    last_x_end=(3.0, 0.0),
    gap_value=(0.1, -0.2),
    most=3.0,
    least=None,
    load=0.3,
    total=2.0,
    weight_late=0.2,
    force=0.6,
    speed=0.9,
):
    """Three phases of a unit mass: jumps of given size, a shared load, free durations with a limited sum."""
    phases = []
    for number, name in enumerate(("first", "middle", "last")):
        mesh = trajopt.Trajectory.collocation(3 + number, order=3, duration=(0.7, 5.0))
        problem = trajopt.Problem(trajopt.system(("x", "v"), ("u",), rates), mesh, name=name)
        problem.parameter("load", lower=load, upper=load)
        problem.minimize(drag**2, name="drag")
        phases.append(problem)
    first, middle, last = phases
    first.start_at(x=first_x_start)
    last.end_at(x=last_x_end)
    middle.subject_to(trajopt.state("u"), -force, force, name="force")
    middle.subject_to(trajopt.state("v"), -3.0, 3.0, name="rate")
    together = trajopt.Phases(first, middle, last)
    together.link(gap, first.at("end"), middle.at("start"), equals=gap_value)
    together.link(trajopt.q, middle.at("end"), last.at("start"))
    together.link(lambda end: end.v, middle.at("end"), lower=least, upper=speed, name="speed")
    together.minimize(late, first.at("end"), last.at("start"), weight=weight_late)
    together.minimize(trajopt.duration, weight=total)
    together.subject_to(trajopt.duration, upper=most)
    return together


VALUES = {
    "first_x_start": {"first_x_start": (0.1, 0.05)},
    "last_x_end": {"last_x_end": (2.9, 0.05)},
    "gap": {"gap_value": (0.15, -0.15)},
    "speed": {"speed": 0.85},
    "total_duration": {"most": 2.95},
    "load": {"load": 0.35},
    "weight_late": {"weight_late": 0.25},
    "weight_total_duration": {"total": 2.2},
    "middle_force": {"force": 0.55},
}


def written(name, value):
    """A value as `CompiledProgram.solve` takes it."""
    if name in ("speed", "total_duration"):
        return (None, value)
    return (-value, value) if name == "middle_force" else value


@pytest.fixture(scope="module")
def compiled():
    return trajopt.compile(stated(), solver=TIGHT)


@pytest.fixture(scope="module")
def optimum(compiled):
    return compiled.solve()


# The other kinds of values are written in the same way.
@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [name if name == "speed" else pytest.param(name, marks=pytest.mark.long) for name in VALUES],
)
def test_other_values_give_the_solution_of_the_phases_that_are_stated_with_them(compiled, optimum, name):
    ((argument, value),) = VALUES[name].items()
    expected = trajopt.solve(stated(**{argument: value}), TIGHT, refine=None, starts=1, coarse_to_fine=False)
    cold, warm = (compiled.solve({name: written(name, value)}, start=each) for each in (None, optimum))
    assert expected.converged and cold.converged and warm.converged
    assert cold.iterations == expected.iterations and warm.iterations < expected.iterations
    assert cold.objective == pytest.approx(expected.objective, rel=1e-12)
    assert warm.objective == pytest.approx(expected.objective, rel=1e-8)
    for one, other, same in zip(cold.phases, warm.phases, expected.phases, strict=True):
        at_cold, at_warm, states = (each.q(each.duration * PLACES) for each in (one, other, same))
        assert np.allclose(at_cold, states, atol=1e-10) and np.allclose(at_warm, states, atol=1e-6)
    assert cold.multipliers.keys() == expected.multipliers.keys()
    assert warm.verify(accuracy=2e-2).holds and np.abs(warm.objective - optimum.objective) > 1e-4


def test_a_start_at_the_optimum_ends_there_at_once(compiled, optimum):
    again = compiled.solve(start=optimum)
    assert again.converged and again.iterations <= 1
    assert again.objective == pytest.approx(optimum.objective, rel=1e-10)


def test_the_values_of_a_compiled_program_change_nothing_else(compiled):
    before = compiled.problem.links[0].lower.copy()
    changed = compiled.problem_with(gap=(0.5, 0.5), last_x_end=(1.0, 0.0))
    assert changed.links[0].lower.tolist() == [0.5, 0.5]
    assert np.array_equal(compiled.problem.links[0].lower, before)
    assert compiled.problem.problems[2].constraints[-1].lower.tolist() != [1.0, 0.0]


def test_phases_with_terms_of_modules_can_be_pickled_when_compiled(compiled):
    mesh = trajopt.Trajectory.uniform(4, 4, 1.0)
    parts = [trajopt.Problem(PointMasses(1, 1.0), mesh, name=name) for name in ("a", "b")]
    parts[0].start_at(q=0.0, v=0.0)
    parts[1].end_at(q=1.0, v=0.0)
    both = trajopt.Phases(*parts)
    for part in parts:
        part.minimize(trajopt.tau**2, name="effort")
    for term in (trajopt.q, trajopt.v):
        both.link(term, parts[0].at("end"), parts[1].at("start"))
    program = trajopt.compile(both)
    there = pickle.loads(pickle.dumps(program)).solve(q_end=1.5)
    assert there.objective == pytest.approx(program.solve(b_q_end=1.5).objective, rel=1e-12)


@pytest.mark.long
def test_a_solution_of_other_phases_is_taken_as_a_guess(compiled):
    other = trajopt.solve(stated().on(*[trajopt.Trajectory.collocation(4, order=3, duration=0.7)] * 3), TIGHT)
    assert compiled.solve(start=other).objective == pytest.approx(compiled.solve().objective, rel=1e-8)


def test_inputs_are_found_by_phase_or_by_themselves_where_one_has_them(compiled):
    listed = {each.keyword for each in compiled.inputs}
    assert {*VALUES, "middle_duration", "last_weight_drag"} <= listed
    assert not any(name.endswith("_load") for name in listed)
    assert compiled.inputs.find("x_end") is compiled.inputs.find("last: x at the end")
    with pytest.raises(OptionError, match="3 inputs are called 'duration': name one, first_duration, middle"):
        compiled.solve(duration=(0.2, 1.0))
    with pytest.raises(UnknownNameError, match="'q_finish'"):
        compiled.solve(q_finish=1.0)


@pytest.mark.long
def test_a_parameter_with_other_bounds_in_every_phase_is_an_input_of_each():
    phases = stated()
    phases.problems[1].parameter("mass", lower=1.0, upper=2.0)
    phases.problems[2].parameter("mass", lower=1.0, upper=3.0)
    for problem in phases.problems[1:]:
        problem.minimize(mass, name="mass", over="end")
    listed = trajopt.compile(phases)
    assert {"middle_mass", "last_mass"} <= {each.keyword for each in listed.inputs}
    moved = listed.solve(last_mass=(1.5, 3.0))
    assert moved.phases[1].parameters["mass"] == pytest.approx([1.5], abs=1e-6)


@pytest.mark.long
def test_a_constraint_may_have_the_name_of_a_shared_parameter():
    phases = stated()
    for problem in phases.problems[1:]:
        problem.parameter("mass", lower=1.0, upper=3.0)
        problem.minimize(mass, name="cost of mass", over="end")
    phases.problems[1].subject_to(mass, lower=4.0, over="end", name="mass")
    solution = trajopt.compile(phases).solve()
    assert solution.converged and solution.verify().holds_at_nodes
    assert [part.parameters["mass"][0] for part in solution.phases[1:]] == pytest.approx([2.0] * 2, abs=1e-7)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"gap": (0.1, None)}, StructureError, "'gap', component 1, was fixed when the problem was compiled"),
        ({"gap": (0.1, 0.1, 0.1)}, ShapeError, "gap"),
        ({"gap": (np.nan, 0.1)}, NotFiniteError, "gap"),
        ({"speed": (0.0, 0.9)}, StructureError, "'speed' has a lower limit but had none"),
        ({"x_end": (None, 0.0)}, StructureError, "in phase 'last' 'x at the end', component x, was fixed"),
        ({"load": (0.1, 0.2)}, ShapeError, "in phase 'first' .*load"),
        ({"middle_duration": 1.0}, StructureError, "in phase 'middle' .*equal limits"),
        ({"speed": (None, -3.5)}, InfeasibleBoundsError, "phases 'middle' cannot meet: 'speed'"),
    ],
)
def test_what_needs_another_program_or_contradicts_itself_is_refused(compiled, values, error, message):
    with pytest.raises(error, match=message):
        compiled.solve(values)


@pytest.mark.long
def test_a_value_that_both_sides_of_a_link_fix_can_change_on_both_only():
    mesh, system = trajopt.Trajectory.collocation(2, order=3, duration=1.0), ("x", "v")
    first, second = (trajopt.Problem(trajopt.system(system, ("u",), rates), mesh, name=n) for n in "ab")
    first.start_at(x=(0.0, 0.0))
    first.end_at(x=(1.0, None))
    second.start_at(x=(1.0, None))
    second.end_at(x=(2.0, 0.0))
    for part in (first, second):
        part.minimize(effort)
    both = trajopt.Phases(first, second)
    both.link(trajopt.q, first.at("end"), second.at("start"))
    program = trajopt.compile(both, solver=TIGHT)
    with pytest.raises(InfeasibleBoundsError, match="phases 'a' and 'b' cannot meet"):
        program.solve(a_x_end=(1.2, None))
    with pytest.raises(EvaluationError, match=r"no derivative by 'a_x_end'.* cannot meet"):
        program.solve().sensitivity("a_x_end")
    moved = program.solve(a_x_end=(1.2, None), b_x_start=(1.2, None))
    assert moved.converged and moved.verify().holds


def test_starts_of_another_kind_are_refused(compiled, optimum):
    with pytest.raises(OptionError, match="give a PhasesSolution of these 3 phases"):
        compiled.solve(start=optimum.phases[0])
    alone = trajopt.compile(stated().problems[0])
    with pytest.raises(OptionError, match="give a Solution of this problem"):
        alone.solve(start=optimum)


SLOPES = {
    "first_x_start": (1, lambda p: (0.0, 0.1 + p)),
    "last_x_end": (0, lambda p: (3.0 + p, 0.0)),
    "gap": (1, lambda p: (0.1, -0.2 + p)),
    "speed": (0, lambda p: (None, 0.9 + p)),
    "total_duration": (0, lambda p: (None, 3.0 + p)),
    "load": (0, lambda p: 0.3 + p),
    "weight_late": (0, lambda p: 0.2 + p),
    "weight_total_duration": (0, lambda p: 2.0 + p),
    "middle_force": (1, lambda p: (-0.6, 0.6 + p)),
}


@fast_first("name", SLOPES)
def test_derivatives_are_those_of_differences_of_solves(compiled, optimum, name):
    number, moved = SLOPES[name]
    found = optimum.sensitivity(name)
    step = 1e-4
    low, high = (compiled.solve({name: moved(p)}, start=optimum) for p in (-step, step))
    assert optimum.converged and low.converged and high.converged
    for attribute in ("objective", "duration"):
        slope = (getattr(high, attribute) - getattr(low, attribute)) / (2.0 * step)
        assert abs(getattr(found, attribute)[number] - slope) <= 2e-5 * (1.0 + abs(slope)), attribute
        total = sum(getattr(part, attribute)[number] for part in found.phases)
        assert total == pytest.approx(getattr(found, attribute)[number], abs=1e-6)
    for k, part in enumerate(found.phases):
        places = [each.phases[k].curve.at_progress(PLACES)[:, :2] for each in (low, high)]
        np.testing.assert_allclose(
            part.q(PLACES)[..., number], (places[1] - places[0]) / (2.0 * step), atol=2e-4
        )


@pytest.mark.long
def test_derivatives_by_what_is_no_input_or_of_no_optimum_are_refused(optimum):
    with pytest.raises(UnknownNameError, match="'q_finish'"):
        optimum.sensitivity("q_finish")
    with pytest.raises(OptionError, match=r"sensitivity\.phases\[0\]"):
        optimum.sensitivity("gap").q(0.5)
    with pytest.raises(OptionError, match="not converged"):
        trajopt.solve(stated(), trajopt.Ipopt(max_iterations=0)).sensitivity("gap")
