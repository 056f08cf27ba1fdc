"""Inverse dynamics in any arithmetic is that of the kernel."""

import cmath

import numpy as np
import pytest
from random_trees import STEP, random_state, random_tree

from dynamics.algorithms.rnea import inverse_dynamics, motion_batch
from dynamics.algorithms.rnea_any_arithmetic import rnea_any_arithmetic


class Number(complex):
    """A complex number with its functions as methods."""

    def __mul__(self, other):
        return Number(complex(self) * complex(other))

    def __add__(self, other):
        return Number(complex(self) + complex(other))

    def __sub__(self, other):
        return Number(complex(self) - complex(other))

    def __neg__(self):
        return Number(-complex(self))

    __rmul__, __radd__ = __mul__, __add__

    def sin(self):
        return Number(cmath.sin(self))

    def cos(self):
        return Number(cmath.cos(self))


def both(model, q, v, a):
    """Torques, joint wrenches and wrench of the ground by the kernel, and in the arithmetic of `Number`."""
    nodes = motion_batch(model.packed, q, v, a)
    tau, wrenches, ground = inverse_dynamics(model, nodes, wrenches=True, base=True)
    of_kernel = np.concatenate([np.ravel(tau), np.ravel(wrenches), np.ravel(ground)])
    motion = ([Number(x) for x in each] for each in (q, v, a))
    tau, wrenches, ground = rnea_any_arithmetic(model.packed, *motion, Number)
    flat = [*tau, *(x for pair in (*wrenches, ground) for three in pair for x in three)]
    return of_kernel, np.array(flat, dtype=complex)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rotors", [False, True])
def test_torques_and_wrenches_are_those_of_the_kernel(seed, rotors):
    model = random_tree(seed, rotors=rotors, mimic=seed % 4 == 3)
    q, v, a = random_state(model, seed=seed)
    of_kernel, here = both(model, q, v, a)
    assert np.abs(here - of_kernel).max() <= 1e-13 * np.abs(of_kernel).max()


def test_a_complex_step_gives_the_kernels_derivative():
    model = random_tree(4, rotors=True)
    q, v, a = random_state(model, seed=4)
    q = q + 1j * STEP * np.arange(1.0, model.n + 1.0)
    of_kernel, here = both(model, q, v, a)
    assert np.allclose(here.imag / STEP, of_kernel.imag / STEP, rtol=1e-12, atol=1e-12)
