"""A problem made in a script is built again from its saved solution, or what is missing is named."""

import copy
import json

import casadi
import numpy as np
import pytest
from tiers import every, fast_first

import dynamics
import trajopt
from problems.cli.command_line import main
from problems.stated_problem import build
from trajopt.archive.problem_statement import statement_of
from trajopt.base.errors import SolutionFileError, TrajoptError
from trajopt.graph.saved_expression import BINARY, UNARY, SavedExpression, saved_expression
from trajopt.graph.trace import trace

ROD = dict(a=0.4, mass=0.5, centre_of_mass=(-0.2, 0, 0), inertia=[[0, 0, 0], [0, 0.1, 0], [0, 0, 0.1]])


def arm():
    rods = [ROD | {"limits": dynamics.JointLimits.symmetric(torque=10)}] * 2
    return dynamics.from_dh(rods, gravity=(0, -9.81, 0))


@trajopt.term(unit="W")
def power(node):
    return node.tau * node.v


@trajopt.term(name="effort", components=("sum",))
def effort(node):
    return casadi.sqrt(casadi.sumsqr(node.tau) + 0.25) * node.parameter("price") + casadi.cos(node.q[1])


def stated():
    """Two joints, with a term of every kind that has a form in a file."""
    problem = trajopt.Problem(arm(), trajopt.Trajectory.uniform(6), name="own arm")
    problem.start_at(q=[0, -2], v=0)
    problem.end_at(q=[1, None], v=0)
    problem.parameter("price", 0.5, 2.0, guess=1.0)
    problem.data("wanted", [0.0, 1.0, 2.0], [[0.0, -2.0], [0.5, -1.5], [1.0, -1.0]], clock="progress")
    problem.minimize(trajopt.duration)
    problem.minimize(effort, weight=1e-3)
    problem.minimize((trajopt.q - [0.5, -1.0]) ** 2, weight=1e-3, over=(0.5, 1.0))
    problem.minimize(1e-4 * trajopt.tau[1] ** 2 + 1e-3 * trajopt.v[:1] ** 2, name="mixed")
    problem.subject_to_joint_limits()
    problem.subject_to(power, upper=40, name="actuator power")
    problem.subject_to(trajopt.integral(trajopt.absolute(trajopt.tau)), upper=50.0)
    return problem


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    solution = trajopt.solve(stated(), refine=None, starts=1)
    path = tmp_path_factory.mktemp("stated") / "own.npz"
    solution.save(path)
    return solution, path


def assert_same_report(loaded, solution):
    """The estimate of the optimum is a difference of two solves, and repeats to their tolerance."""
    read, kept = loaded.verify().summary(), solution.verify().summary()
    size = max(1.0, abs(solution.objective))
    assert read.pop("error_of_optimum") == pytest.approx(kept.pop("error_of_optimum"), abs=1e-8 * size)
    assert read == kept


@pytest.mark.long
def test_a_loaded_solution_has_torques_and_a_report_without_its_script(solved, tmp_path):
    solution, path = solved
    loaded = trajopt.Solution.load(path)
    t = np.linspace(0.0, solution.duration, 7)
    np.testing.assert_array_equal(loaded.tau(t), solution.tau(t))
    assert not loaded.problem.unsaved
    assert_same_report(loaded, solution)
    loaded.save(tmp_path / "again.npz")  # what was read is written again
    assert trajopt.Solution.load(tmp_path / "again.npz").statement == loaded.statement


@pytest.mark.long
def test_the_rebuilt_problem_has_the_same_program(solved):
    """Not only the same optimum: the same objective, rows and multipliers away from it."""
    solution, path = solved
    again = trajopt.solve(trajopt.Solution.load(path).problem, refine=None, starts=1)
    assert (again.objective, again.iterations) == (solution.objective, solution.iterations)


@pytest.mark.long
@pytest.mark.parametrize("command", ["plot", "verify", "view"])
def test_commands_read_the_solution_of_a_script(solved, tmp_path, command, capsys):
    pytest.importorskip("viser") if command == "view" else None
    _, path = solved
    out = {"plot": ["--out", str(tmp_path)], "view": ["--out", str(tmp_path / "view.html")]}.get(command, [])
    with pytest.raises(SystemExit) as ended:
        main([command, str(path), *out])
    assert ended.value.code in (0, 1 if command == "verify" else 0), capsys.readouterr()


@pytest.mark.long
def test_a_system_of_a_script_is_built_again(tmp_path):
    pendulum = trajopt.system(
        states=["angle", "omega"], controls=["u"], rates=lambda n: [n.omega, n.u - casadi.sin(n.angle)]
    )
    problem = trajopt.Problem(pendulum, trajopt.Trajectory.collocation(6))
    problem.start_at(x=[0, 0])
    problem.end_at(x=[1, 0])
    problem.subject_to(trajopt.duration, upper=2.0)
    problem.control("u", -3, 3)
    problem.minimize(trajopt.state("u") ** 2)
    solution = trajopt.solve(problem, refine=None, starts=1)
    solution.save(tmp_path / "system.npz")
    loaded = trajopt.Solution.load(tmp_path / "system.npz")
    assert_same_report(loaded, solution)


@pytest.mark.long
def test_a_term_that_reads_a_table_is_named_and_passes_for_unchecked(tmp_path):
    table = casadi.interpolant("table", "bspline", [np.linspace(-5, 5, 20)], np.linspace(-5, 5, 20) ** 2)
    problem = trajopt.Problem(arm(), trajopt.Trajectory.uniform(4))
    problem.start_at(q=[0, -2], v=0)
    problem.end_at(q=[1, -1], v=0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    problem.subject_to(trajopt.term(name="height")(lambda node: table(node.q[0])), upper=30.0)
    trajopt.solve(problem, refine=None, starts=1).save(tmp_path / "x.npz")
    loaded = trajopt.Solution.load(tmp_path / "x.npz")
    assert list(loaded.problem.unsaved) == ["height"]
    report = loaded.verify()
    assert not report.holds and "the file does not hold height" in report.reason
    trajopt.plot.torques(loaded)


@every("name", [*UNARY, *BINARY])
def test_every_operation_is_read_back_as_it_was_written(name):
    code = getattr(casadi, f"OP_{name}")

    def function(node):
        return (
            casadi.SX.unary(code, node.q[0])
            if name in UNARY
            else casadi.SX.binary(code, node.q[0], node.q[1])
        )

    block = trace(function, "term:x", lambda quantity: 2)
    saved = saved_expression(block)
    plain = json.loads(json.dumps(saved.steps))
    again = trace(
        SavedExpression(saved.inputs, tuple(map(tuple, plain)), saved.outputs), "term:x", lambda _: 2
    )
    q = np.array([[0.3, 0.7], [0.5, 0.5]])
    np.testing.assert_array_equal(again.value({"q": q})["term:x"], block.value({"q": q})["term:x"])


def mutated(value, rng):
    """The statement with one value of it replaced by another kind of value."""
    places = [value]
    nested = []
    while places:
        place = places.pop()
        keys = list(place) if isinstance(place, dict) else range(len(place))
        for key in keys:
            nested.append((place, key))
            if isinstance(place[key], dict | list):
                places.append(place[key])
    place, key = nested[rng.integers(len(nested))]
    place[key] = [None, -1, "x", [], {}, 1e300, [[1]], {"kind": "Arc", "fields": {}}, True][rng.integers(9)]
    return value


@fast_first("count", [8, 40, 120], 1, 1)
def test_statements_that_nobody_wrote_are_refused_in_our_words_or_change_nothing(count):
    statement = json.loads(json.dumps(statement_of(stated())))
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(count):
        try:
            problem = build(**mutated(copy.deepcopy(statement), rng))
            problem.summary()
        except (TrajoptError, dynamics.DynamicsError):
            refused += 1
    assert refused > count // 3
    with pytest.raises(SolutionFileError, match="has no name"):
        build(dynamics=3)
