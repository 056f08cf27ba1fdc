"""x = N y + c solves A x = b for every y."""

import numpy as np
import pytest
from scipy import sparse

from trajopt.errors import DegreesOfFreedomError
from trajopt.transcription.elimination import eliminate

NONE = np.zeros(0, dtype=int)


def random_system(seed, rows=6, columns=15):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.4)
    A[:, 0] += 0.1
    return A, rng.standard_normal(rows), rng


@pytest.mark.parametrize("seed", range(5))
def test_every_y_satisfies_the_equalities_and_nothing_is_lost(seed):
    A, b, rng = random_system(seed)
    elimination = eliminate(sparse.csr_array(A), b, ["row"] * len(b), NONE)
    y = rng.standard_normal(elimination.free.size)
    x = elimination.expand(y)
    assert np.allclose(A @ x, b, atol=1e-10)
    assert np.array_equal(elimination.reduce(x), y)
    assert y.size == A.shape[1] - np.linalg.matrix_rank(A)


def test_a_repeated_row_is_dropped_and_a_contradicting_one_is_named():
    A, b, _ = random_system(9)
    twice, rhs = np.vstack([A, 2 * A[0] - A[1]]), np.append(b, 2 * b[0] - b[1])
    names = [f"row {i}" for i in range(len(rhs))]
    plain = eliminate(sparse.csr_array(A), b, names, NONE)
    assert eliminate(sparse.csr_array(twice), rhs, names, NONE).free.size == plain.free.size
    with pytest.raises(DegreesOfFreedomError, match="'row 6' contradicts 'row"):
        eliminate(sparse.csr_array(twice), rhs + np.eye(len(rhs))[-1], names, NONE)


def test_unknowns_of_last_resort_stay_free_where_another_pivot_exists():
    A = sparse.csr_array(np.array([[1.0, 0.0, 5.0], [0.0, 0.0, 2.0]]))
    one = eliminate(A[[0], :], np.array([1.0]), ["velocity"], np.array([2]))
    assert one.free.tolist() == [1, 2]
    both = eliminate(A, np.array([1.0, 4.0]), ["velocity", "duration"], np.array([2]))
    assert both.free.tolist() == [1] and both.c[2] == 2.0
