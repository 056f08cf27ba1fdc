"""Inverse dynamics along a given path, as time-optimal path following needs it (Safeea, (5))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.echeandia_thesis.mcrba import gravity_forces
from dynamics.papers.echeandia_wensing.coriolis_algorithm import coriolis_algorithm
from dynamics.papers.safeea.christoffel_recursion import christoffel_symbols_serial


@dataclass(frozen=True, eq=False)
class PathForm:
    """tau = m sddot + c sdot^2 + d, each (n,), at one point of the path."""

    m: np.ndarray
    c: np.ndarray
    d: np.ndarray

    def torque(self, rate: float, acceleration: float) -> np.ndarray:
        """tau (n,) when the path is travelled with sdot = rate and sddot = acceleration."""
        return self.m * acceleration + self.c * rate**2 + self.d


def path_form(model: KinematicTree, q: np.ndarray, slope: np.ndarray, bend: np.ndarray) -> PathForm:
    """m = M q', c = M q'' + q' Gamma q' and d = g of the path q(s), with ' = d/ds.

    q, slope, bend : (n,), the path, q' and q'', at one s
    Raises TreeError when the model is not a serial chain.
    Source: Safeea, Neto and Bearee 2019, (5), after Lipp and Boyd.
    """
    M = coriolis_algorithm(model, q, slope).M
    curved = christoffel_symbols_serial(model, q) @ slope @ slope
    return PathForm(M @ slope, M @ bend + curved, gravity_forces(model, q))
