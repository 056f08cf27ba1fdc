"""Quantities that a model declares are those that its blocks compute."""

import numpy as np
import pytest

import problems
from dynamics.blocks.declared_quantities import QUANTITIES

MODEL = problems.two_link_rr.build().dynamics
NAMED = {"link": MODEL.link_names[-1], "joint": MODEL.joint_names[-1]}


@pytest.mark.parametrize("name", QUANTITIES)
def test_every_declared_quantity_is_computed_with_its_width_from_its_inputs(name):
    declared = MODEL.quantities[name]
    quantity = f"{name}:{NAMED[declared.argument]}" if declared.argument else name
    block = MODEL.block([quantity])
    width = MODEL.n if declared.width is None else declared.width
    assert block.outputs == {quantity: width}
    assert {source for _, source in block.pattern()} == set(declared.inputs) == set(block.inputs)
    assert len(declared.components) in (0, width)
    u = {name: np.full((2, size), 0.3) for name, size in block.inputs.items()}
    assert block.value(u)[quantity].shape == (2, width)
    assert declared.unit
    assert declared.description
