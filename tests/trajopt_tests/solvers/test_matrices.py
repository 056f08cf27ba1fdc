"""Rows of a matrix of which all others are combinations, and products with vectors."""

import numpy as np
import pytest
from scipy import sparse

from trajopt.solvers import matrices
from trajopt.solvers.matrices import independent_rows, product


@pytest.mark.parametrize(
    ("count", "rank", "columns"), [(9, 4, 7), (5, 5, 5), (12, 3, 3), (4, 0, 6), (0, 0, 3)]
)
def test_rows_that_are_taken_span_all_others_whatever_their_sizes(count, rank, columns):
    rng = np.random.default_rng(11)
    rows = rng.standard_normal((count, rank)) @ rng.standard_normal((rank, columns))
    taken = independent_rows(rows * 10.0 ** rng.uniform(-6.0, 6.0, count)[:, None], 1e-9)
    assert len(set(taken.tolist())) == taken.size == rank
    basis = np.linalg.qr(rows[taken].T)[0]
    left = rows - (rows @ basis) @ basis.T
    assert np.all(np.abs(left) <= 1e-9)


@pytest.mark.parametrize("has_private", [True, False])
def test_products_are_those_of_scipy(monkeypatch, has_private):
    if not has_private:
        monkeypatch.setattr(matrices, "csr_matvec", None)
    A = sparse.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, -3.0, 4.0], [0.0, 5.0, 0.0]]))
    for x in (np.arange(3.0), np.arange(6.0)[::2], np.arange(3), 1j * np.arange(3), np.ones((3, 1))):
        assert np.array_equal(product(A, x), A @ x)
    for size in (2, 4):
        with pytest.raises(ValueError, match="mismatch"):
            product(A, np.ones(size))
