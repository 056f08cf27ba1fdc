"""Muscles along a given motion: derivatives of their block against slopes."""

import numpy as np
import pytest
from block_derivatives import check_curvature, check_partials
from slopes import extrapolated

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


def slope(function, _):
    return extrapolated(function, 1e-3)


@pytest.mark.parametrize("tendon", ["rigid", "compliant"])
def test_derivatives_of_the_block_are_exact_and_within_their_patterns(tendon):
    block = block_of(tendon)
    for check in (check_partials, check_curvature):
        check(block, slope, u=inputs_of(block), within=1e-9)
