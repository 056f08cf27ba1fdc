"""The three weights of the walk's cost, fitted to each of two measured walks and tried on the other one.

Logarithms x of the factors of the weights of power, steadiness and rate of leg forces minimize

    sum over curves of integral (predicted(x) - measured)^2 + strength |x|^2

over the cycle, at the speed and step length of the walk that is fitted (inverse optimal control). Every
curve is taken less its mean and divided by its deviation, so that an integral is 2 (1 - r): zeros of
measured angles depend on where markers sit. The strength, which holds the weights near those with sources,
is chosen by leaving out one curve of the same walk at a time; the other walk has no part in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
STEP = 0.25  # of a logarithm, in central differences: torques are no output of a layer
STRENGTHS = (*np.geomspace(0.1, 1e4, 26), 1e12)  # the last one leaves the weights as they are
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
        """Every curve of the walk less that of the source, both standardized, (curves, times)."""
        body = whole_body(gait_cycle(self.solved(logarithms)))
        curves = predicted_curves(body)
        return np.array(
            [
                standardized(np.interp(PERCENT, body.cycle.percent, curves[quantity]))
                - standardized(curve.at(PERCENT))
                for quantity in EVERY
                for curve in measured(quantity)
                if curve.source == self.source
            ]
        )

    def slopes(self) -> np.ndarray:
        """Derivatives of `difference` at the weights unchanged, (curves, times, 3)."""
        steps = STEP * np.eye(len(SOUGHT))
        return np.stack(
            [(self.difference(step) - self.difference(-step)) / (2.0 * STEP) for step in steps], axis=-1
        )


def standardized(curve: np.ndarray) -> np.ndarray:
    """A curve less its mean, divided by its deviation."""
    return (curve - curve.mean()) / curve.std()


def cautious_fit(difference: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Logarithms (3,) that the curves support: one step of least squares with a penalty on their size.

    The penalty is the strongest whose error on curves left out, one at a time, is within one standard error
    of the least (Hastie, Tibshirani, Friedman: The Elements of Statistical Learning, 7.10).

    difference (curves, times) and slopes (curves, times, 3) at the weights unchanged
    """
    normal, gradient = np.swapaxes(slopes, 1, 2) @ slopes, np.einsum("ctk,ct->ck", slopes, difference)

    def found(curves: np.ndarray, strength: float) -> np.ndarray:
        penalty = strength * np.eye(normal.shape[-1])
        return -np.linalg.solve(normal[curves].sum(axis=0) + penalty, gradient[curves].sum(axis=0))

    every = np.arange(len(difference))
    errors = np.array(
        [
            [np.square(difference[k] + slopes[k] @ found(every[every != k], strength)).sum() for k in every]
            for strength in STRENGTHS
        ]
    )
    best = errors.sum(axis=1).argmin()
    most = errors[best].sum() + np.sqrt(len(every)) * errors[best].std(ddof=1)
    return found(every, STRENGTHS[np.flatnonzero(errors.sum(axis=1) <= most)[-1]])


def weights(size: Size) -> list[dict[str, Any]]:
    """Factors of weights and mean correlations with both walks: as they are, and fitted to each walk."""
    walks = {source: Walk(source, size) for source in WALKS}
    factors = {"none": np.zeros(len(SOUGHT))}
    for source, walk in walks.items():
        factors[source] = cautious_fit(walk.difference(factors["none"]), walk.slopes())
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
