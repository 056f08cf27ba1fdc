"""Sums over groups of rows are the product of the whole matrix, whatever stands where."""

from __future__ import annotations

import numpy as np
import pytest

from trajopt.solvers.sequential.elastic_program import row_windows


def banded(seed, rows=400, n=100, width=9, border=(3, 99), empty=5):
    """Rows in random order with entries in a window each, some columns that all use, rows of these alone."""
    rng = np.random.default_rng(seed)
    J = np.zeros((rows, n))
    begin = rng.integers(0, n - width, rows)
    for r in range(rows - empty):
        own = begin[r] + rng.choice(width, rng.integers(1, width), replace=False)
        J[r, own] = rng.standard_normal(own.size)
    J[:, border] = rng.standard_normal((rows, len(border)))
    return rng.permutation(J), rng.uniform(0.0, 1e3, rows)


def of(J):
    return row_windows(*np.nonzero(J), J.shape)


@pytest.mark.parametrize("border", [(), (99,), (0, 50)])
@pytest.mark.parametrize("seed", range(3))
def test_the_sum_over_groups_is_the_product_of_all_rows(seed, border):
    J, S = banded(seed, border=border)
    windows = of(J)
    assert windows is not None and windows.columns.shape[1] < 20
    np.testing.assert_allclose(windows.gram(J, S), J.T @ (S[:, None] * J), rtol=0, atol=1e-9)


def test_a_group_with_many_rows_is_divided():
    J, S = banded(0)
    J[:200, 20:99] = 0.0  # half of the rows in one window, beside others
    J[:200, 10:14] = 1.0
    windows = of(J)
    assert windows is not None and windows.rows.shape[1] < 100
    np.testing.assert_allclose(windows.gram(J, S), J.T @ (S[:, None] * J), rtol=0, atol=1e-9)


def test_a_row_with_entries_far_apart_is_in_a_group():
    J, S = banded(0)
    J[7, [0, 98]] = 1.0
    windows = of(J)
    assert windows is not None
    np.testing.assert_allclose(windows.gram(J, S), J.T @ (S[:, None] * J), rtol=0, atol=1e-9)


def test_rows_across_all_columns_and_no_rows_have_no_groups():
    assert of(np.ones((400, 100))) is None
    assert row_windows(np.zeros(0, int), np.zeros(0, int), (0, 100)) is None
