"""Barman's recursion beside the production kernels: agreement and time per node."""

from __future__ import annotations

from functools import partial

import numpy as np

import dynamics
from benchmarks.papers.models import binary, biped, serial
from benchmarks.papers.production import NODES, kernel_time
from benchmarks.shared.markdown import seconds, section, small, table
from benchmarks.shared.timing import time_of
from dynamics.papers.barman.newton_euler import newton_euler
from dynamics.papers.barman.sensitivities import newton_euler_sensitivities


def barman_section() -> str:
    """Torques and their derivatives by q, v, a: largest relative difference, and both times per node."""
    rows = []
    for name, model in (
        ("serial, 10", serial(10)),
        ("serial, 20", serial(20)),
        ("binary, 20", binary(20)),
        ("biped, 20 + 6", biped(20)),
    ):
        q, v, a = np.random.default_rng(0).normal(size=(3, NODES, model.n))
        ours, theirs = (
            newton_euler_sensitivities(model, q, v, a).tau,
            dynamics.rnea_derivatives(model, q, v, a),
        )
        pairs = ((ours.q, theirs.dtau_dq), (ours.v, theirs.dtau_dv), (ours.a, theirs.dtau_da))
        worst = max(np.abs(x - y).max() / np.abs(x).max() for x, y in pairs)
        rows.append(
            [
                name,
                seconds(time_of(partial(newton_euler, model, q, v, a)) / NODES),
                seconds(kernel_time("rnea", model, 3).node),
                seconds(time_of(partial(newton_euler_sensitivities, model, q, v, a)) / NODES),
                seconds(kernel_time("rnea_derivatives", model, 3).node),
                small(worst),
            ]
        )
    return section(
        "Barman: recursive Newton-Euler and its sensitivities",
        f"Per node of {NODES} evaluated together:",
        table(
            [
                "",
                "recursion, NumPy",
                "production `rnea`",
                "with sensitivities, NumPy",
                "production `rnea_derivatives`",
                "largest relative difference",
            ],
            rows,
        ),
        "The thesis prints no run time of the recursion itself. Its sensitivities carry a 3 x N matrix for "
        "every vector of every link, O(N^2) whatever the tree; the production kernel sums composite "
        "quantities instead, O(N d), and calls no interpreter. Barman's also gives all internal forces and "
        "moments, and everything by the loads. The published optima (two-link arms, gait) belong to the "
        "problems and stand with them.",
    )
