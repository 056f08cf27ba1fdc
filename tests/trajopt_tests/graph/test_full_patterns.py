"""Parts that a block of the user's own may leave out: sparsity patterns, and second derivatives."""

import numpy as np
import pytest
from hand_written import MassBlock, PointMasses

import trajopt
from trajopt.graph.graph import completed
from trajopt.graph.protocols import Block, SecondOrderBlock


class Bare:
    """y = q^2 of two coordinates, without anything that may be left out."""

    inputs, outputs = {"q": 2}, {"y": 2}

    def value(self, u):
        return {"y": u["q"] ** 2}

    def partials(self, u):
        return {("y", "q"): 2.0 * u["q"][:, :, None] * np.eye(2)}


class Curved(Bare):
    def curvature(self, u, adjoints):
        return {("q", "q"): 2.0 * adjoints["y"][:, :, None] * np.eye(2)}


class WithoutHessian(Bare):
    curvature = None

    def pattern(self):
        return {("y", "q"): np.eye(2, dtype=bool)}


class OwnTerm:
    """A term that is written as a class; it need not inherit anything."""

    name, quantity = "own", "y"

    def __init__(self, block):
        self.block = block

    def blocks(self, width_of):
        return (self.block,)


def test_patterns_that_are_left_out_are_full():
    block = completed(Curved())
    assert isinstance(block, SecondOrderBlock)
    assert block.pattern()["y", "q"].all()
    assert block.curvature_pattern()["q", "q"].all()


def test_a_block_that_states_its_patterns_stays_itself():
    block, first = MassBlock(2, 1.0), WithoutHessian()
    assert completed(block) is block
    assert completed(first) is first
    assert isinstance(first, Block)
    assert not isinstance(first, SecondOrderBlock)


@pytest.mark.parametrize(("kind", "second"), [(Bare, False), (WithoutHessian, False), (Curved, True)])
def test_a_term_that_is_a_class_may_leave_out_what_blocks_may(kind, second):
    problem = trajopt.Problem(PointMasses(2), trajopt.Trajectory.uniform(3, duration=1.0))
    problem.minimize(OwnTerm(kind()))
    problem.start_at(q=0.0)
    assert trajopt.transcribe(problem).has_hessian is second


def test_the_block_of_a_dynamics_may_leave_out_the_same():
    class Springs(PointMasses):
        def block(self, outputs, loads=()):
            block = Bare()
            block.outputs = {"tau": 2}
            block.value = lambda u: {"tau": u["q"] ** 2}
            block.partials = lambda u: {("tau", "q"): 2.0 * u["q"][:, :, None] * np.eye(2)}
            return block

    problem = trajopt.Problem(Springs(2), trajopt.Trajectory.uniform(3, duration=1.0))
    problem.minimize(trajopt.tau**2)
    nlp = trajopt.transcribe(problem)
    assert not nlp.has_hessian
    assert np.isfinite(nlp.gradient(nlp.start)).all()


def test_an_object_that_lacks_a_part_of_a_term_is_no_term():
    class Nameless:
        quantity = "q"

        def blocks(self, width_of):
            return ()

    with pytest.raises(trajopt.TrajoptError, match=r"is no term: .*write a class with name, quantity and"):
        trajopt.Problem(PointMasses(2)).minimize(Nameless())
