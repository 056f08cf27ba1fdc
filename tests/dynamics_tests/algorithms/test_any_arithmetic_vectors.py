"""Blocks of robots with rotation vectors, computed in any arithmetic."""

import numpy as np
import pytest
from complex_number import Number
from random_trees import floating_tree, random_state

FORCES = ("tau", "motor_torque", "base_wrench", "wrench:wrist", "wrench:hip_x")
PLACES = ("position:tool", "velocity:palm", "orientation:floating_rx", "momentum", "kinetic_energy")


@pytest.mark.parametrize("outputs", [FORCES, PLACES, ("position:tool", "potential_energy")], ids="-".join)
def test_blocks_in_any_arithmetic_are_those_of_the_kernels(outputs):
    model = floating_tree(2, rotors=True)
    block = model.block(outputs)
    u = {
        name: part[0]
        for name, part in zip("qva", random_state(model, 1), strict=True)
        if name in block.inputs
    }
    of_kernel = block.value({name: value[None] for name, value in u.items()})
    here = block.value_over({name: [Number(x) for x in value] for name, value in u.items()}, Number)
    for name in outputs:
        found = np.array(here[name], dtype=complex)
        np.testing.assert_allclose(found, of_kernel[name][0], rtol=0.0, atol=1e-11)


def test_beyond_a_whole_turn_there_is_no_enclosure():
    block = floating_tree(2).block(("potential_energy",))
    q = np.zeros(block.inputs["q"])
    q[3:6] = 4.0
    with pytest.raises(NotImplementedError, match="longer than 2 pi"):
        block.value_over({"q": [Number(x) for x in q]}, Number)
