"""Lagrange polynomials: one at their own node, zero at the others, exact for polynomials of their degree."""

from __future__ import annotations

import numpy as np

from trajopt.splines.quadrature import lagrange_polynomials


def test_each_polynomial_is_one_at_its_own_node_and_zero_at_the_others():
    nodes = np.array([0.0, 0.1, 0.55, 1.0])
    np.testing.assert_array_equal(lagrange_polynomials(nodes, nodes), np.eye(4))
    np.testing.assert_array_equal(lagrange_polynomials(nodes[:1], np.array([0.3, 2.0])), np.ones((2, 1)))


def test_polynomials_below_the_number_of_nodes_are_interpolated_exactly():
    rng = np.random.default_rng(0)
    nodes, points = np.sort(rng.uniform(size=6)), np.linspace(0.0, 1.0, 11)
    for degree in range(6):
        polynomial = np.polynomial.Polynomial(rng.normal(size=degree + 1))
        found = lagrange_polynomials(nodes, points) @ polynomial(nodes)
        np.testing.assert_allclose(found, polynomial(points), atol=1e-8)
