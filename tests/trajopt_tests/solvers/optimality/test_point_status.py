"""Objectives that fall for ever, told from optima that lie far from their start."""

import numpy as np
import pytest
from small_nlps import INF, quadratic_with_rows

from trajopt.solvers.kkt import falls_for_ever
from trajopt.solvers.solver import WarmStart

START, FAR = WarmStart(np.array([0.0, 1.0])), np.array([1e9, 1.0])


def program(curvature, upper=INF, row_upper=INF):
    """curvature y0^2 / 2 - y0 + y1^2 / 2 - y1 with y0 <= upper and y0 + y1 <= row_upper."""
    return quadratic_with_rows(
        np.diag([curvature, 1.0]),
        [-1.0, -1.0],
        [[1.0, 1.0]],
        [-INF],
        [row_upper],
        lower=np.array([-INF, -INF]),
        upper=np.array([upper, INF]),
    )


def test_a_cost_without_a_minimum_falls_for_ever():
    assert falls_for_ever(program(0.0), START, FAR)


@pytest.mark.parametrize(
    ("curvature", "upper", "row_upper"), [(1e-9, INF, INF), (0.0, 1e9, INF), (0.0, INF, 1e9 + 1.0)]
)
def test_a_minimum_far_from_the_start_is_one(curvature, upper, row_upper):
    """Held by its curvature, by a bound and by a row."""
    assert not falls_for_ever(program(curvature, upper, row_upper), START, FAR)


def test_unknowns_of_their_usual_size_are_not_looked_at():
    assert not falls_for_ever(program(0.0), START, np.array([1e5, 1.0]))
