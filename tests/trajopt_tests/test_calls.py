"""Calls with arguments that a function does not take: refused with what to write."""

import pickle
from inspect import Parameter, signature
from types import FunctionType

import pytest

import trajopt
from problems import identification, moves, two_link_rr
from trajopt.base.arguments import INSTEAD, with_checked_calls
from trajopt.base.errors import CallError, OptionError

STATED = two_link_rr.build(intervals=8)
# pyright: reportCallIssue=false, reportAttributeAccessIssue=false


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: STATED.minimize(wieght=2.0), r"^minimize has no argument 'wieght' \(did you mean 'weight'"),
        (lambda: STATED.minimize(), "^minimize: missing .* 'term': it takes term, weight, over, name$"),
        (lambda: STATED.start_at(position=0.0), "^start_at has no argument 'position': write q=$"),
        (
            lambda: STATED.start_at(0, 0, 0, 0),
            "^start_at: too many positional arguments: it takes q, v, a, x",
        ),
        (lambda: trajopt.solve(STATED, max_iter=9), r"'max_iter': write solver=trajopt.Ipopt\("),
        (lambda: trajopt.Ipopt(max_iter=9), "^Ipopt has no argument 'max_iter': write max_iterations=$"),
        (lambda: trajopt.Problem(STATED.dynamics, nmae="a"), "^Problem has no argument 'nmae'"),
        (lambda: trajopt.Trajectory.uniform(nodes=9), "^uniform has no argument 'nodes': write intervals="),
        (lambda: trajopt.maximum(floor=0.0), r"^maximum has no argument 'floor': it takes \*terms$"),
        (lambda: trajopt.report.html(None, titel="a"), "^html has no argument 'titel'"),
        (lambda: moves.Task(robot=None, obstacles=None), "'obstacles': it takes robot, scene"),
    ],
)
def test_wrong_arguments_are_answered_with_what_to_write(call, reason):
    with pytest.raises(CallError, match=reason):
        call()


def test_every_solver_that_an_answer_tells_to_write_exists_with_that_argument():
    told = [each.removeprefix("solver=") for each in INSTEAD if each.startswith("solver=")]
    assert len(told) == 3
    assert all(isinstance(eval(each, {"trajopt": trajopt}), trajopt.Ipopt) for each in told)
    with pytest.raises(CallError, match=r"write solver=trajopt.Ipopt\(tol=1e-8\)$"):
        trajopt.solve(STATED, tolerance=1e-9)


def of_package(kind):
    return (each for each in kind.__mro__ if each.__module__.startswith(("trajopt", "problems")))


def public_functions():
    """Every function that users call: exported ones, constructors and methods of exported classes."""
    for package in (trajopt, moves, identification):
        for name in getattr(package, "__all__", None) or vars(package):
            value = None if name.startswith("_") else getattr(package, name)
            if isinstance(value, FunctionType) and value.__module__.startswith(("trajopt", "problems")):
                yield value
            for kind in of_package(value) if isinstance(value, type) else ():
                yield from (
                    member
                    for called, member in vars(kind).items()
                    if isinstance(member, FunctionType)
                    and (called == "__init__" or not called.startswith("_"))
                )


def test_no_public_function_answers_a_strange_keyword_with_another_error():
    taking = [
        each
        for each in public_functions()
        if all(p.kind != Parameter.VAR_KEYWORD for p in signature(each).parameters.values())
        and not each.__qualname__.startswith(("DynamicsError", "TrajoptError"))
    ]
    assert len(taking) > 300
    for function in taking:
        with pytest.raises(CallError, match="has no argument 'no_such_word'"):
            function(object(), no_such_word=1)


def test_type_errors_of_what_was_called_stay_themselves():
    def broken(node):
        return node + "1"

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        with_checked_calls(broken, "tests")(1)
    assert not isinstance(caught.value, CallError)


def test_answered_functions_keep_their_signatures_and_are_sent_to_processes():
    assert list(signature(trajopt.solve).parameters)[:2] == ["problem", "solver"]
    assert pickle.loads(pickle.dumps(trajopt.solve)) is trajopt.solve
    assert pickle.loads(pickle.dumps(moves.retime)) is moves.retime
    assert issubclass(CallError, OptionError) and issubclass(CallError, TypeError)


def test_names_that_a_problem_or_the_package_lacks_are_answered_with_near_ones():
    with pytest.raises(AttributeError, match="did you mean 'subject_to' or 'subject_to_periodic'"):
        STATED.subjct_to  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'absolute'"):
        trajopt.absolut  # noqa: B018
