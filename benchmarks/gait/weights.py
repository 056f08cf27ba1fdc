"""The three weights of the walk's cost, fitted to each of two measured walks and tried on the other one.

Factors of the weights of power, steadiness and rate of leg forces minimize

    sum over curves of integral ((predicted - measured) / deviation of the measured curve)^2

over the cycle, at the speed and step length of the walk that is fitted (inverse optimal control).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import least_squares

import trajopt
from benchmarks.gait.score import AT_TRIAL, AT_WINTER
from benchmarks.gait.size import Size
from problems import gait
from problems.human.assessment.measured import TRIAL, WINTER, measured
from problems.human.assessment.score import EVERY, predicted_curves, scores
from problems.human.assessment.whole_body import whole_body
from problems.human.gait.cycle import gait_cycle

SOUGHT: tuple[str, ...] = (
    "weight_mechanical_power_of_muscles",
    "weight_unsteadiness_of_pelvis_and_head",
    "weight_rate_of_leg_forces",
)
WALKS = {TRIAL: AT_TRIAL, WINTER: AT_WINTER}
STEP = 0.1  # of a logarithm, in differences: torques are no output of a layer
PERCENT = np.linspace(0.0, 100.0, 51)  # of the cycle


class Walk:
    """Walks at the speed and step length of one source, each solved from that with the weights unchanged."""

    def __init__(self, source: str, size: Size) -> None:
        problem = gait.build(**WALKS[source])
        self.source, self._solver = source, size.solver(problem)
        self._compiled = trajopt.compile(problem)
        self._first: trajopt.Solution = self._compiled.solve(solver=self._solver)
        given = {each.keyword: each for each in self._compiled.inputs}
        self._weights = np.array([given[name].numbers(problem)[0] for name in SOUGHT])

    def solved(self, logarithms: np.ndarray) -> trajopt.Solution:
        """The walk with every weight times the exponential of its number."""
        weights = dict(zip(SOUGHT, self._weights * np.exp(logarithms), strict=True))
        return self._compiled.solve(weights, start=self._first, solver=self._solver)

    def difference(self, logarithms: np.ndarray) -> np.ndarray:
        """All curves of the walk less those of the source, each by the measured one's deviation, (k,)."""
        body = whole_body(gait_cycle(self.solved(logarithms)))
        curves = predicted_curves(body)
        found = []
        for quantity in EVERY:
            for curve in measured(quantity):
                if curve.source == self.source:
                    beside = np.interp(PERCENT, body.cycle.percent, curves[quantity])
                    found.append((beside - curve.at(PERCENT)) / np.std(curve.at(PERCENT)))
        return np.concatenate(found)

    def slopes(self, logarithms: np.ndarray) -> np.ndarray:
        """Derivatives of `difference` by one-sided differences, (values, 3)."""
        here = self.difference(logarithms)
        moved = [self.difference(logarithms + STEP * axis) for axis in np.eye(len(SOUGHT))]
        return np.stack([(there - here) / STEP for there in moved], axis=1)


def weights(size: Size) -> list[dict[str, Any]]:
    """Factors of weights and mean correlations with both walks: as they are, and fitted to each walk."""
    walks = {source: Walk(source, size) for source in WALKS}
    factors = {"none": np.zeros(len(SOUGHT))}
    for source, walk in walks.items():
        fit = least_squares(
            walk.difference, factors["none"], walk.slopes, method="lm", ftol=1e-3, max_nfev=size.fits
        )
        factors[source] = fit.x
    rows = []
    for fitted, logarithms in factors.items():
        solved = {source: walk.solved(logarithms) for source, walk in walks.items()}
        r = {
            source: float(np.mean([each.correlation for each in scores(solution, source)]))
            for source, solution in solved.items()
        }
        status = {source: solution.status.name.lower() for source, solution in solved.items()}
        rows.append({"fitted": fitted, "factors": np.exp(logarithms).tolist(), "r": r, "status": status})
        print(fitted, np.round(np.exp(logarithms), 2), r, status, flush=True)
    return rows
