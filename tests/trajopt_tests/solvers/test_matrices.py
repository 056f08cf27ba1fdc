"""Rows of a matrix of which all others are combinations."""

import numpy as np
import pytest

from trajopt.solvers.matrices import independent_rows


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
