"""Resolution of arcs: rates of Legendre coefficients, degrees and parts."""

import numpy as np
import pytest

from trajopt.certificates.switching_structure import Saturation, Structure
from trajopt.certified.switching.arc_resolution import coefficient_rate, finer
from trajopt.splines.basis import Curve, SplineBasis

UP, DOWN = frozenset({Saturation(0, 0, 1)}), frozenset({Saturation(0, 0, -1)})


def curve_with_pole(pole: float, degree: int = 16) -> Curve:
    """The interpolant of 1 / (pole - x) with x in [-1, 1], as one arc of one second."""
    basis = SplineBasis.uniform(1, degree)
    nodes = 0.5 - 0.5 * np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    points = np.linalg.solve(basis.evaluate(np.eye(degree + 1), nodes), 1.0 / (pole - (2.0 * nodes - 1.0)))
    return Curve((basis,), (points[:, None],), np.ones(1))


@pytest.mark.parametrize("pole", [1.5, 3.0])
def test_coefficients_fall_as_the_ellipse_through_the_nearest_pole_says(pole):
    """Bernstein: by pole - sqrt(pole^2 - 1) each; the second derivative has a factor k^2 beside it."""
    exact = pole - np.sqrt(pole**2 - 1.0)
    assert exact < coefficient_rate(curve_with_pole(pole), 0) < 1.5 * exact


def test_small_errors_raise_the_degree_and_large_ones_cut_the_arc():
    curve = curve_with_pole(3.0)
    assert finer(curve, [1], 18, np.array([0.5])) is None
    assert finer(curve, [1], 18, np.array([2.0])).degree == 18
    cut = finer(curve, [1], 18, np.array([1e4]))
    assert cut.degree == 16 and cut.parts == (2,)


def test_only_arcs_with_errors_are_cut_and_parts_join_again():
    whole = Structure((0.0, 1.0, 3.0), (UP, DOWN))
    cut = whole.in_parts((1, 2))
    assert cut.times == (0.0, 1.0, 2.0, 3.0) and cut.parts == (1, 2)
    assert cut.merged() == whole and whole.on(np.array(cut.times)) == cut
