"""Muscles along a given motion: derivatives of their block against slopes."""

import numpy as np
import pytest
from block_derivatives import adjoints, contracted, moved
from slopes import complex_step, extrapolated

from dynamics.muscles.fibres import Fibres
from dynamics.muscles.motion_block import MotionBlock, PathMotion


def block_of(tendon):
    rng, time = np.random.default_rng(2), np.linspace(0.0, 1.0, 9)
    fibres = Fibres(
        ("one", "two", "three"), [900.0, 2500.0, 400.0], [0.09, 0.05, 0.07], [0.2, 0.3, 0.25],
        [0.0, 0.4, 0.2], 10.0,
    )  # fmt: skip
    length = fibres.tendon_slack_length + fibres.optimal_fiber_length * rng.uniform(0.9, 1.1, (9, 3))
    arms = rng.normal(size=(9, 3, 2)) * 0.05
    arms[:, 0, 1] = 0.0
    motion = PathMotion(time, length, rng.normal(size=(9, 3)) * 0.1, arms, rng.normal(size=(9, 2)) * 30.0)
    return MotionBlock(fibres, tendon, motion)


def inputs_of(block):
    rng = np.random.default_rng(7)
    found = {"t": rng.uniform(0.1, 0.9, (4, 1)), "q": rng.uniform(0.1, 0.9, (4, block.inputs["q"]))}
    if "extra:tendon_rate" in block.inputs:
        found["extra:tendon_rate"] = rng.uniform(-4.0, 4.0, (4, 3))
    return found


def slope(function, name):
    """Splines of time are real: differences there, complex steps along all else."""
    return extrapolated(function, 1e-3) if name == "t" else complex_step(function)


@pytest.mark.parametrize("tendon", ["rigid", "compliant"])
def test_derivatives_of_the_block_are_exact_and_within_their_patterns(tendon):
    block = block_of(tendon)
    u, y = inputs_of(block), adjoints(block, nodes=4)
    partials, curvature = block.partials(u), block.curvature(u, y)
    assert set(partials) == set(block.pattern())
    assert set(curvature) == set(block.curvature_pattern())
    for pair, where in (block.pattern() | block.curvature_pattern()).items():
        assert not (partials | curvature)[pair][:, ~where].any()
    for name, width in block.inputs.items():
        for column in range(width):
            stepped = slope(lambda h, at=(name, column): block.value(moved(u, *at, h)), name)
            bent = slope(lambda h, at=(name, column): block.partials(moved(u, *at, h)), name)
            for output in block.outputs:
                expected = stepped[output]
                found = partials.get((output, name), np.zeros((*expected.shape, width)))[:, :, column]
                assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max(initial=1.0)
            for other in block.inputs:
                expected = contracted(bent, y, other, u)
                found = 0.0 * expected
                if (name, other) in curvature:
                    found = curvature[name, other][:, column]
                elif (other, name) in curvature:
                    found = curvature[other, name][:, :, column]
                assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max(initial=1.0)
