"""Gauss and Gauss-Lobatto rules: exact up to their degree and no further."""

import numpy as np
import pytest

from trajopt.splines.quadrature import gauss, gauss_lobatto


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7])
@pytest.mark.parametrize(("rule", "lost"), [(gauss, 1), (gauss_lobatto, 3)])
def test_a_rule_is_exact_to_its_degree_and_no_further(rule, lost, count):
    points, weights = rule(count)
    beyond = 2 * count - lost + 1
    for degree in range(beyond):
        assert np.isclose(weights @ points**degree, 1.0 / (degree + 1), rtol=1e-12)
    assert abs(weights @ points**beyond - 1.0 / (beyond + 1)) > 1e-9


def test_only_lobatto_has_the_ends_among_its_points():
    assert gauss_lobatto(4)[0][[0, -1]].tolist() == [0.0, 1.0]
    assert gauss(4)[0].min() > 0.0 and gauss(4)[0].max() < 1.0
