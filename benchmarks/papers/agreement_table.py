"""Quantities that agree if the algorithms are right."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.models import serial
from benchmarks.papers.safeea_tables import random_robot
from benchmarks.shared.markdown import section, small, table
from dynamics.papers.echeandia_wensing.christoffel_algorithm import christoffel_algorithm
from dynamics.papers.echeandia_wensing.coordinate_change import changed_matrices
from dynamics.papers.echeandia_wensing.coriolis_algorithm import coriolis_algorithm
from dynamics.papers.safeea.christoffel_recursion import christoffel_symbols_serial
from dynamics.papers.savin.lagrangian import Lagrangian

STEP = 1e-30


def symbols_of(slope: np.ndarray) -> np.ndarray:
    """(4), from dM_ij/dq_k."""
    return (slope + slope.transpose(0, 2, 1) - slope.transpose(2, 1, 0)) / 2.0


def mass_slope(mass_matrix, q: np.ndarray) -> np.ndarray:
    """dM_ij/dq_k by complex step."""
    return np.stack([mass_matrix(q + 1j * STEP * unit).imag / STEP for unit in np.eye(len(q))], axis=-1)


def theorem_1(model) -> float:
    """Relative error of (27) under q = qbar + sin(qbar shifted) / 5, against the symbols of Mbar itself."""
    qbar, vbar = np.random.default_rng(4).normal(size=(2, model.n))

    def q_of(x):
        return x + np.sin(np.roll(x, 1)) / 5.0

    def A_of(x):
        return np.eye(model.n) + np.diag(np.cos(np.roll(x, 1)) / 5.0) @ np.roll(np.eye(model.n), 1, axis=0)

    def changed_mass(x):
        return A_of(x).T @ coriolis_algorithm(model, q_of(x), 0 * vbar).M @ A_of(x)

    expected = symbols_of(mass_slope(changed_mass, qbar)) @ vbar
    inner = coriolis_algorithm(model, q_of(qbar), A_of(qbar) @ vbar)
    A_rate = A_of(qbar + 1j * STEP * vbar).imag / STEP
    found = changed_matrices(inner.M, inner.C, A_of(qbar), A_rate).C
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def agreement_section() -> str:
    """Four routes to the symbols, and theorem 1."""
    rows = []
    for name, model in (
        ("random, 5", random_robot(5)),
        ("random, 7", random_robot(7)),
        ("tubes, 10", serial(10)),
    ):
        q = np.random.default_rng(3).normal(size=model.n)
        tree = christoffel_algorithm(model, q)
        routes = (
            christoffel_symbols_serial(model, q),
            symbols_of(mass_slope(lambda x: coriolis_algorithm(model, x, 0 * x).M, q)),  # noqa: B023
            Lagrangian(model).christoffel_symbols(q),
        )
        scale = np.abs(tree).max()
        rows.append(
            [name, *(small(np.abs(route - tree).max() / scale) for route in routes), small(theorem_1(model))]
        )
    return section(
        "Four routes to the Christoffel symbols, and theorem 1",
        "Largest difference from Algorithm 2, relative to the largest symbol; required: 1e-10.",
        table(["chain", "Safeea", "dM/dq by complex step", "Lagrangian (Savin, CasADi)", "theorem 1"], rows),
    )
