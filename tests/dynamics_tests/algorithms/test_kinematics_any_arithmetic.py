"""Kinematics, momentum and energies in any arithmetic are those of the kernels."""

import numpy as np
import pytest
from complex_number import Number
from random_trees import random_state, random_tree
from slopes import STEP
from tiers import every

from dynamics.blocks.kinematics import KinematicsBlock


def both(model, q, v):
    """All quantities of all links, one after the other, by the kernels and in the arithmetic of `Number`."""
    of_frames = [
        f"{kind}:{link}" for kind in ("position", "orientation", "velocity") for link in model.link_names
    ]
    of_masses = ["centre_of_mass", "momentum", "kinetic_energy", "potential_energy"]
    block = KinematicsBlock(model, (*of_frames, *of_masses))
    of_kernel = block.value({"q": q[None], "v": v[None]})
    here = block.value_over({"q": [Number(x) for x in q], "v": [Number(x) for x in v]}, Number)
    assert list(here) == list(of_kernel)
    flat = [np.array(values, dtype=complex) for values in here.values()]
    return np.concatenate([values[0] for values in of_kernel.values()]), np.concatenate(flat)


@every("seed", range(12))
def test_every_quantity_is_that_of_the_kernels(seed):
    model = random_tree(seed, rotors=seed % 2 == 0, mimic=seed % 4 == 3)
    q, v, _ = random_state(model, seed=seed)
    of_kernel, here = both(model, q, v)
    assert np.abs(here - of_kernel).max() <= 1e-12 * np.abs(of_kernel).max()


@pytest.mark.long
def test_a_complex_step_gives_the_kernels_derivative():
    model = random_tree(4)
    q, v, _ = random_state(model, seed=4)
    of_kernel, here = both(model, q + 1j * STEP * np.arange(1.0, model.n + 1.0), v)
    assert np.allclose(here.imag / STEP, of_kernel.imag / STEP, rtol=1e-11, atol=1e-11)


def test_positions_alone_ask_for_no_velocity():
    model = random_tree(3)
    q, _, _ = random_state(model, seed=3)
    block = KinematicsBlock(model, (f"position:{model.link_names[-1]}", "centre_of_mass"))
    assert set(block.inputs) == {"q"}
    here = block.value_over({"q": [Number(x) for x in q]}, Number)
    for name, values in block.value({"q": q[None]}).items():
        assert np.allclose(np.array(here[name], dtype=complex), values[0], rtol=0.0, atol=1e-12)
