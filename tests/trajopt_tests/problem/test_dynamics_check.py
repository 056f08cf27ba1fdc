"""A dynamics of one's own that lacks something, or gives another thing than it was asked for, is told so."""

from types import SimpleNamespace

import numpy as np
import pytest

import trajopt
from trajopt.base.errors import ProblemError, ShapeError, TrajoptError
from trajopt.graph.trace import trace


def limits(n=2, **others):
    free = np.full(n, np.inf)
    given = {"q_lower": -free, "q_upper": free, "velocity": free, "torque_lower": -free, "torque_upper": free}
    return SimpleNamespace(**(given | others))


def masses(tau=lambda node: node.a, name="tau"):
    return SimpleNamespace(
        n=2,
        joint_names=("left", "right"),
        limits=limits(),
        block=lambda outputs, loads=(): trace(tau, name, lambda quantity: 2),
    )


def without(part):
    dynamics = masses()
    delattr(dynamics, part)
    return dynamics


def altered(**others):
    dynamics = masses()
    vars(dynamics).update(others)
    return dynamics


@pytest.mark.parametrize("part", ["n", "joint_names", "limits", "block"])
def test_a_missing_part_is_named_when_the_problem_is_made(part):
    with pytest.raises(
        ProblemError, match=f"the dynamics SimpleNamespace has no `{part}`, .*: see docs.own_dynamics.md"
    ):
        trajopt.Problem(without(part))


@pytest.mark.parametrize(
    ("dynamics", "message"),
    [
        (altered(joint_names=("left",)), "has n = 2 but the joint_names left: name each"),
        (altered(limits=SimpleNamespace()), "the limits of SimpleNamespace have no `q_lower`"),
        (
            altered(limits=limits(velocity=3.0)),
            r"limits.velocity of .* is no array: give an array of shape \(2,\)",
        ),
        (
            altered(limits=limits(3)),
            r"limits.q_lower of .* is of shape \(3,\): give an array of shape \(2,\)",
        ),
        (SimpleNamespace, "the dynamics is the class SimpleNamespace itself: make one"),
        ("ur5.urdf", r"the dynamics is 'ur5.urdf': give dynamics.load_urdf\(path\) of a file"),
        (SimpleNamespace(model=1.0), "the dynamics is a SimpleNamespace: give its `model`"),
        (5.0, "the dynamics float has no `n`"),
        (trajopt.Trajectory.uniform(4), "the dynamics is a Trajectory: write trajopt.Problem"),
    ],
)
def test_a_part_of_the_wrong_size_is_named_when_the_problem_is_made(dynamics, message):
    with pytest.raises(TrajoptError, match=message):
        trajopt.Problem(dynamics)


def asked(dynamics, term=trajopt.tau):
    problem = trajopt.Problem(dynamics, trajopt.Trajectory.uniform(3, duration=1.0))
    problem.minimize(term**2)
    return trajopt.transcribe(problem)


def test_a_block_that_computes_something_else_is_named():
    with pytest.raises(ProblemError, match=r"does not compute 'tau': its block\(\['tau'\]\) gives torque"):
        asked(masses(name="torque"))
    with pytest.raises(
        ProblemError, match=r"does not compute 'position:hand': .* gives tau; leave the term out"
    ):
        asked(masses(), trajopt.position("hand"))
    with pytest.raises(ProblemError, match="gives nothing"):
        asked(altered(block=lambda outputs: None))
    with pytest.raises(
        ShapeError, match="'tau' of the dynamics SimpleNamespace has 1 components: expected 2"
    ):
        asked(masses(lambda node: node.a[0]))
    assert asked(masses()).variable_count > 0
