"""Blocks of coupled robots: first and second derivatives of every quantity, against slopes."""

import numpy as np
import pytest
from block_derivatives import adjoints, check_curvature, check_partials, inputs
from random_trees import coupled_tree
from slopes import both_ways

from dynamics.blocks.declared_quantities import QUANTITIES

NO_KNOT = {"step": 0.01, "seed": 4}  # differences that pass no knot of the couplings
NAMED = {"link": ":tool", "joint": ":joint1", "": ""}
ALONE = [f"{name}{NAMED[declared.argument]}" for name, declared in QUANTITIES.items()]
CASES = [
    (("tau", "base_wrench", "wrench:joint2", "motor_torque"), ("link1", "link2")),
    (("velocity:link1", "position:tool", "orientation:tool", "centre_of_mass", "momentum"), ()),
    (("kinetic_energy", "potential_energy"), ()),
    *(pytest.param(((name,), ()), marks=pytest.mark.long) for name in ALONE),
]


@pytest.fixture(params=[4, pytest.param(9, marks=pytest.mark.long)])
def model(request):
    return coupled_tree(request.param)


@pytest.fixture(params=CASES, ids=lambda case: "+".join(case[0]))
def block(request, model):
    return model.block(*request.param)


@both_ways
def test_partials_are_exact_and_within_their_pattern(block, slope):
    check_partials(block, slope, **NO_KNOT)


@both_ways
def test_curvature_is_exact_and_within_its_pattern(block, slope):
    check_curvature(block, slope, **NO_KNOT)


def test_torques_of_the_block_are_those_of_inverse_dynamics(model):
    block = model.block(("tau",), ("link1",))
    u = inputs(block)
    external = np.zeros((5, model.tree.link_count, 6))
    external[:, model.tree.link_index("link1")] = u["load:link1"]
    expected = model.inverse_dynamics(u["q"], u["v"], u["a"], external)
    np.testing.assert_array_equal(block.value(u)["tau"], expected)


def test_adjoints_that_are_left_out_count_as_zero(model):
    block = model.block(("tau", "base_wrench"))
    u, y = inputs(block), adjoints(block)
    some = block.curvature(u, {"tau": y["tau"]})
    full = block.curvature(u, y | {"base_wrench": 0.0 * y["base_wrench"]})
    for pair in full:
        np.testing.assert_allclose(some[pair], full[pair], rtol=0.0, atol=1e-11)
