"""Wrong objects given to public functions of `trajopt`: a TrajoptError that names the argument."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hand_written import TwoLinkArm  # pyright: ignore

import dynamics
import problems
import trajopt
from trajopt.base import arguments, errors
from trajopt.base.arguments import implements, numbers, short_repr
from trajopt.display.curves import held_at_zero
from trajopt.graph.protocols import Block, NamedTerm, SecondOrderBlock, SymbolicBlock, Term
from trajopt.solvers.solver import Solver

WRONG = {
    "text": "abc",
    "text of a number": "0.5",
    "None inside": [0.1, None],
    "bytes": b"ab",
    "an object": object(),
    "a masked array": np.ma.masked_array([0.1, 0.2], mask=[False, True]),
    "dates": np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]"),
    "complex": 1j,
    "a number too large": 10**400,
}


class WithoutCurvature:
    """A block whose second derivatives are refused, as a class does that inherits them."""

    curvature = curvature_pattern = None

    def __init__(self):
        self.inputs = self.outputs = {"q": 1}

    def value(self, u): ...
    def partials(self, u): ...
    def pattern(self): ...


def test_an_object_implements_a_protocol_where_isinstance_says_so():
    given = [
        pendulum().dynamics.block(("tau",)),
        WithoutCurvature(),
        trajopt.tau,
        trajopt.q[0],
        object(),
        None,
        trajopt.Ipopt(),
        trajopt.ConstraintGeneration(),
    ]
    of_terms = Block, SecondOrderBlock, SymbolicBlock, Term, NamedTerm
    for candidate, protocol in itertools.product(given, (*of_terms, Solver)):
        assert implements(candidate, protocol) == isinstance(candidate, protocol), (candidate, protocol)
    assert [implements(candidate, SecondOrderBlock) for candidate in given[:3]] == [True, False, False]


def pendulum():
    links = [dynamics.Body("rod", dynamics.Joint("hinge"), None, 1.0, (0.5, 0.0, 0.0))]
    return trajopt.Problem(dynamics.RigidBodyModel(links), trajopt.Trajectory.uniform(4, duration=1.0))


@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
def test_numbers_of_a_problem_are_numbers(wrong):
    bounds = (
        lambda p: p.subject_to(trajopt.q, lower=wrong),
        lambda p: p.subject_to(trajopt.q, equals=wrong),
        lambda p: p.extra("e", upper=wrong),
    )
    for call in (
        *(() if isinstance(wrong, list) and None in wrong else bounds),  # None frees a component of a bound
        lambda p: p.minimize(trajopt.tau, weight=wrong),
        lambda p: p.start_at(q=wrong),
        lambda p: p.lock("hinge", at=wrong),
        lambda p: p.subject_to_periodic(trajopt.q, signs=wrong),
        lambda p: p.subject_to_periodic(trajopt.q, order=wrong),
        lambda p: p.parameter("p", guess=wrong),
        lambda p: p.data("d", wrong, [0.0, 1.0]),
        lambda p: p.data("d", [0.0, 1.0], wrong),
        lambda p: p.guess(duration=wrong),
        lambda p: p.minimize(trajopt.q * wrong),
        lambda p: p.minimize(trajopt.q + wrong),
        lambda p: trajopt.Trajectory.uniform(4, duration=wrong),
        lambda p: trajopt.SplineBasis.clamped(wrong, 3),
    ):
        with pytest.raises(errors.TrajoptError):
            call(pendulum())


@pytest.mark.parametrize("wrong", [5, None, "abc", trajopt.Problem, np.zeros(2)], ids=str)
def test_objects_of_a_problem_are_of_their_kind(wrong):
    for call in (
        lambda p: p.minimize(wrong),
        lambda p: p.minimize(trajopt.q, over=wrong) if wrong is not None else p.minimize(wrong),
        lambda p: p.recommend(wrong),
        lambda p: p.on(wrong),
        lambda p: trajopt.Problem(wrong),
        lambda p: trajopt.Problem(p.dynamics, wrong) if wrong is not None else p.minimize(wrong),
        lambda p: trajopt.Arc(wrong),
        lambda p: trajopt.Trajectory(wrong),
        lambda p: trajopt.term(wrong) if wrong is not None else p.minimize(wrong),
        lambda p: trajopt.solve(wrong),
        lambda p: p.parameter(wrong) if not isinstance(wrong, str) else p.minimize(wrong),
    ):
        with pytest.raises(errors.TrajoptError):
            call(pendulum())


@pytest.mark.parametrize("size", [10**9, 10**30])
def test_sizes_that_no_machine_holds_are_refused_at_once(size):
    for call, argument in (
        (lambda: trajopt.Trajectory.uniform(size), "intervals"),
        (lambda: trajopt.Trajectory.uniform(4, degree=size), "degree"),
        (lambda: trajopt.Trajectory.uniform(4, nodes_per_span=size), "nodes_per_span"),
        (lambda: pendulum().extra("e", size), "width"),
        (lambda: trajopt.solve(pendulum(), starts=size), "starts"),
        (lambda: trajopt.multistart(pendulum, starts=size), "starts"),
        (lambda: trajopt.multistart(pendulum, processes=size), "processes"),
        (lambda: trajopt.Ipopt(max_iterations=size * 10), "max_iterations"),
    ):
        with pytest.raises(errors.TrajoptError, match=argument):
            call()


def test_a_frame_or_joint_that_does_not_exist_is_named_where_the_term_is_written():
    for term in (trajopt.position("hand"), trajopt.wrench("elbow")):
        with pytest.raises(dynamics.UnknownNameError, match=r"hand|elbow"):
            pendulum().minimize(term)

    @trajopt.term
    def height(node):
        return node.position("hand")[2]

    with pytest.raises(dynamics.UnknownNameError, match="hand"):
        pendulum().subject_to(height, lower=0.0)
    with pytest.raises(dynamics.UnknownNameError, match="hand"):
        pendulum().load("hand", trajopt.wrench("hinge"))


def test_a_component_of_a_quantity_is_a_term():
    problem = trajopt.Problem(TwoLinkArm(), trajopt.Trajectory.uniform(6, duration=1.0))
    problem.minimize(trajopt.a**2)
    problem.start_at(q=0.0, v=0.0)
    problem.subject_to(trajopt.q[1], equals=0.5, over="end")
    problem.subject_to(trajopt.q[0], equals=-0.25, over="end")
    solution = trajopt.solve(problem)
    np.testing.assert_allclose(solution.q(1.0), [-0.25, 0.5], atol=1e-9)
    assert solution.value(trajopt.q[1], 1.0)[0] == pytest.approx(0.5)
    with pytest.raises(errors.OptionError, match="number of a component"):
        trajopt.q["elbow"]  # pyright: ignore
    with pytest.raises(errors.OptionError, match=r"q\[7\]"):
        problem.minimize(trajopt.q[7])
    with pytest.raises(TypeError, match="not iterable"):
        list(itertools.islice(trajopt.q, 3))  # pyright: ignore


def test_a_slice_of_a_quantity_is_a_term_with_its_units_and_names():
    robot = problems.six_axis_arm.build().dynamics
    problem = trajopt.Problem(robot, trajopt.Trajectory.uniform(6, duration=1.0))
    problem.minimize(trajopt.tau[3:] ** 2)
    problem.minimize(trajopt.a**2)
    problem.start_at(q=0.0, v=0.0)
    problem.subject_to(trajopt.q[1:6:2], equals=[0.1, 0.2, 0.3], over="end")
    problem.subject_to(trajopt.position(robot.link_names[-1])[:2], lower=-5.0)
    solution = trajopt.solve(problem)
    np.testing.assert_allclose(solution.q(1.0)[1::2], [0.1, 0.2, 0.3], atol=1e-9)
    t = np.linspace(0.0, 1.0, 7)
    np.testing.assert_allclose(solution.value(trajopt.tau[3:], t), solution.tau(t)[:, 3:], rtol=1e-12)
    np.testing.assert_array_equal(solution.value(trajopt.q[-2:], t), solution.q(t)[:, -2:])
    assert problem.component_names(trajopt.tau[3:].quantity, 3) == list(robot.joint_names[3:])
    assert problem.term_units(trajopt.tau[3:], 3) == ["N m"] * 3
    with pytest.raises(errors.OptionError, match=r"q\[6:\] has no component: q has 6, counted from 0"):
        problem.minimize(trajopt.q[6:])
    for wrong in (slice(None, None, 0), slice(0.5, 2), slice("a", None), None, True):
        with pytest.raises(errors.OptionError, match="or a slice of them"):
            trajopt.q[wrong]  # pyright: ignore


@pytest.mark.long
def test_torques_of_a_slice_that_are_zero_are_those_of_joints_without_motors():
    problem = trajopt.Problem(TwoLinkArm(), trajopt.Trajectory.uniform(6, duration=1.0))
    problem.minimize(trajopt.a**2)
    problem.start_at(q=0.0, v=0.0)
    problem.subject_to(trajopt.tau[1:], equals=0.0)
    assert held_at_zero(trajopt.solve(problem)).tolist() == [False, True]


def test_what_is_no_number_is_refused_and_what_is_one_is_taken():
    for wrong in WRONG.values():
        with pytest.raises(errors.ShapeError, match=r"^x is"):
            numbers(wrong, "x")
    assert numbers([1, True, np.float32(0.5)], "x").tolist() == [1.0, 1.0, 0.5]
    with pytest.raises(errors.ShapeError, match="give one number"):
        arguments.number([1.0], "x")
    with pytest.raises(errors.NotFiniteError, match="x is inf"):
        arguments.number(np.inf, "x")
    with pytest.raises(errors.OptionError, match="at most 200"):
        arguments.name("x" * 201, "a name")
    assert len(short_repr("x" * 1000)) == 80


def test_one_of_something_is_told_in_the_singular():
    assert [arguments.pluralize(n, "round") for n in (0, 1, 2)] == ["0 rounds", "1 round", "2 rounds"]
    once = replace(trajopt.solve(problems.minimum_acceleration.build()), iterations=1)
    assert "converged in 1 iteration, " in str(once)
