"""Inverse dynamics in any arithmetic is that of the kernel."""

import numpy as np
import pytest
from complex_number import Number
from random_trees import random_state, random_tree
from slopes import STEP
from tiers import every

from dynamics.algorithms.rnea import inverse_dynamics, motion_batch
from dynamics.algorithms.rnea_any_arithmetic import rnea_any_arithmetic
from dynamics.blocks.inverse_dynamics import InverseDynamicsBlock


def both(model, q, v, a):
    """Torques, joint wrenches and wrench of the ground by the kernel, and in the arithmetic of `Number`."""
    nodes = motion_batch(model.packed, q, v, a)
    tau, wrenches, ground = inverse_dynamics(model, nodes, wrenches=True, base=True)
    of_kernel = np.concatenate([np.ravel(tau), np.ravel(wrenches), np.ravel(ground)])
    motion = ([Number(x) for x in each] for each in (q, v, a))
    tau, wrenches, ground = rnea_any_arithmetic(model.packed, *motion, Number)
    flat = [*tau, *(x for pair in (*wrenches, ground) for three in pair for x in three)]
    return of_kernel, np.array(flat, dtype=complex)


@every("seed", range(12))
@every("rotors", [False, True])
def test_torques_and_wrenches_are_those_of_the_kernel(seed, rotors):
    model = random_tree(seed, rotors=rotors, mimic=seed % 4 == 3)
    q, v, a = random_state(model, seed=seed)
    of_kernel, here = both(model, q, v, a)
    assert np.abs(here - of_kernel).max() <= 1e-13 * np.abs(of_kernel).max()


@pytest.mark.long
def test_a_complex_step_gives_the_kernels_derivative():
    model = random_tree(4, rotors=True)
    q, v, a = random_state(model, seed=4)
    q = q + 1j * STEP * np.arange(1.0, model.n + 1.0)
    of_kernel, here = both(model, q, v, a)
    assert np.allclose(here.imag / STEP, of_kernel.imag / STEP, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_torques_under_loads_are_those_of_the_kernel(seed):
    model = random_tree(seed, rotors=seed % 2 == 0)
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.choice(model.link_names, size=2, replace=False)]
    block = InverseDynamicsBlock(
        model, ("tau", "base_wrench", f"wrench:{model.joint_names[0]}"), tuple(names)
    )
    u = dict(zip("qva", random_state(model, seed=seed), strict=True))
    u |= {f"load:{name}": rng.normal(size=6) for name in names}
    of_kernel = block.value({name: value[None] for name, value in u.items()})
    here = block.value_over({name: [Number(x) for x in value] for name, value in u.items()}, Number)
    for name, values in of_kernel.items():
        assert np.allclose(np.array(here[name], dtype=complex), values[0], rtol=0.0, atol=1e-12)
