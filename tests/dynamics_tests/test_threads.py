"""Threads change the time a batch takes and nothing else."""

import numpy as np
import pytest
from random_trees import random_state, random_tree
from tiers import every

import dynamics

MODEL = random_tree(2, rotors=True)


@every("nodes", [0, 5, 64, 101])
@every("threads", [1, 2, 3])
def test_threads_give_bit_for_bit_the_same(nodes, threads):
    q, v, a = random_state(MODEL, nodes)
    found = dynamics.in_threads(dynamics.rnea_derivatives, MODEL, q, v, a, threads=threads)
    expected = dynamics.rnea_derivatives(MODEL, q, v, a)
    np.testing.assert_array_equal(found.tau, expected.tau)
    np.testing.assert_array_equal(found.dtau_dq, expected.dtau_dq)
    assert dynamics.in_threads(dynamics.crba, MODEL, q, threads=threads).shape == (nodes, MODEL.n, MODEL.n)


def test_misuse_of_threads_is_named():
    q = np.zeros((4, MODEL.n))
    with pytest.raises(dynamics.DynamicsError, match="threads is 0; give a whole number from 1 to 1024"):
        dynamics.in_threads(dynamics.crba, MODEL, q, threads=0)
    with pytest.raises(dynamics.ShapeError, match=r"lengths \[3, 4\]; they must be equal"):
        dynamics.in_threads(dynamics.rnea, MODEL, q, q[:3], q)
    with pytest.raises(dynamics.ShapeError, match="q has shape"):
        dynamics.in_threads(dynamics.crba, MODEL, np.zeros((40, 1)))
