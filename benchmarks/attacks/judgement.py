"""Outcome of an attack: refused in words, right, or silently wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy.integrate import solve_ivp

import trajopt
from trajopt.verification.report import Report

Rng = np.random.Generator
LIMIT = 1.05e-3  # of a limit's size: verify lets limits be exceeded by 1e-3 between nodes
BETWEEN = 1.05e-2  # of a scale: the same of equations, integrals and costs
OPTIMUM = 1e-2  # of the optimum, with `ESTIMATED`: how far an answer may be from it
ESTIMATED = 3.0  # times the printed estimate of the error of the optimum


@dataclass(frozen=True)
class Judgement:
    """A verdict and what it is about."""

    verdict: Literal["right", "refused", "DISTRUSTED", "WRONG", "raw"]
    what: str


Attack = Callable[[Rng], Judgement]


def judged(solution: Any, what: str, *wrong: Callable[[Report], str]) -> Judgement:
    """Wrong where `verify` passes and an independent evaluation says what is wrong with the answer."""
    if not solution.converged:
        return Judgement("refused", f"{what}: {solution.status.value}")
    report = solution.verify()
    if not report.holds:
        return Judgement("refused", f"{what}: {report.reason}")
    found = next(filter(None, (each(report) for each in wrong)), "")
    return Judgement("WRONG" if found else "right", f"{what}: {found}" if found else what)


def believed(solution: Any, optimum: float, what: str, small: float = 0.0) -> Judgement:
    """Distrusted where `verify` refuses an answer with the optimum; wrong where it passes another.

    small : of objectives that are zero, or 1e-9 of one
    """
    if not solution.converged:
        return Judgement("refused", f"{what}: {solution.status.value}")
    report = solution.verify()
    reached = abs(solution.objective - optimum) <= max(OPTIMUM * abs(optimum), small, 1e-9 * (optimum == 0.0))
    if not report.holds:
        return Judgement("DISTRUSTED" if reached else "refused", f"{what}: {report.reason}")
    wrong = "" if reached else off_the_optimum(solution, optimum, report)
    return Judgement("WRONG" if wrong else "right", f"{what}: {wrong}" if wrong else what)


def off_the_optimum(solution: Any, optimum: float, report: Report) -> str:
    """The objective beside the optimum, where the report's estimate does not cover the gap; else empty."""
    covered = OPTIMUM * abs(optimum) + ESTIMATED * (report.error_of_optimum or 0.0)
    away = solution.objective - optimum
    return f"objective {solution.objective:.8g}, optimum {optimum:.8g}" if abs(away) > covered else ""


def integrated(solution: Any, rates: Callable[..., Any], control: str, size: np.ndarray) -> str:
    """The gap to where DOP853, led by the control of a system, ends; each span begins where the last ended.

    rates(t, x, u) : of the states;  size : of the states, which the distance is compared with
    """
    knots, x = solution.knot_times, solution.q(0.0)
    side = 1e-12 * solution.duration
    for left, right in pairwise(knots):

        def rate(t: float, state: np.ndarray, left: float = left, right: float = right) -> Any:
            at = min(max(t, left + side), right - side)
            return rates(t, state, float(solution.value(trajopt.state(control), at)[0]))

        found = solve_ivp(rate, (left, right), x / size * size, "DOP853", rtol=1e-8, atol=1e-10 * size)
        x = found.y[:, -1]
    away = np.abs(x - solution.q(solution.duration)) / size
    return f"DOP853 ends {away.max():.2e} of the states' size away" if away.max() > 3.0 * BETWEEN else ""
