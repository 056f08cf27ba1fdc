"""Knot insertion until the errors are small: `solve(problem, refine=Refined(tol=1e-6))`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from trajopt.arguments import check_count, check_positive
from trajopt.errors import OptionError
from trajopt.problem.problem import Problem
from trajopt.refinement.comparison import objection
from trajopt.refinement.error_estimate import ErrorEstimate, estimated, estimated_equations
from trajopt.refinement.knots import on_trajectory, split
from trajopt.refinement.search_settings import DEFAULT
from trajopt.solution.records.refinement_record import RefinementRecord, RefinementRound
from trajopt.solution.solution import Solution
from trajopt.solution.solve_once import solve_once
from trajopt.solvers.capabilities import StartPreset, with_max_iterations, with_start_preset
from trajopt.solvers.time_budget import SolvesStopped

if TYPE_CHECKING:
    from trajopt.solvers.solver import Callback, Solver

MOST_WITHOUT_GAIN = 3  # rounds in a row whose error does not fall
LEAST_ITERATIONS = 200  # that a solve on a finer mesh may take
ITERATION_FACTOR = 2  # times those of the first solve, where that is more


@dataclass(frozen=True)
class Refined:
    """Refinement of knots: `solve(problem, refine=Refined())` halves spans until the errors are small.

    Two relative errors are estimated in every span: that of path equations between nodes, and what finer
    knots could gain of the objective. An answer is replaced only by one whose larger error is smaller;
    `solution.refinement` says what was tried, and whether the tolerance was reached.

    tol : relative error below which refinement ends
    rounds : largest number of rounds in which spans are halved
    spans : "adaptive", those with the largest errors, or "uniform", all of them
    most : number of spans of an arc at which no more are added
    errors : "both", or "equations", only that of path equations between nodes
    """

    tol: float = 1e-6
    rounds: int = 6
    spans: Literal["adaptive", "uniform"] = "adaptive"
    most: int = 400
    errors: Literal["both", "equations"] = "both"

    def __post_init__(self) -> None:
        check_positive("tol", self.tol)
        check_count("rounds", self.rounds, 1)
        check_count("most", self.most, 1)
        if self.spans not in ("adaptive", "uniform"):
            raise OptionError(f"spans is {self.spans!r}: use 'adaptive' or 'uniform'")
        if self.errors not in ("both", "equations"):
            raise OptionError(f"errors is {self.errors!r}: use 'both' or 'equations'")

    def refine(self, solution: Solution, solver: Solver, progress: Callback | None = None) -> Solution:
        """The solution with the smallest error, with the record of its refinement."""
        best = last = solution
        near = with_start_preset(solver, StartPreset.NEAR_START)
        near = with_max_iterations(near, max(LEAST_ITERATIONS, ITERATION_FACTOR * solution.iterations))
        estimate = estimated if self.errors == "both" else estimated_equations
        error = errors = estimate(solution)
        tried, without_gain = [_round(solution, error)], 0
        iterations, seconds = solution.iterations, solution.seconds
        reason = "" if solution.converged else f"the solve did not converge ({solution.status.value})"
        while not reason and not (reason := self._ended(last, errors, len(tried) - 1)):
            try:
                last = solve_once(self._split(last, errors), near, progress)
            except (SolvesStopped, KeyboardInterrupt) as stop:
                reason = str(stop) or "interrupted"
                break
            errors = estimate(last)
            iterations, seconds = iterations + last.iterations, seconds + last.seconds
            why_not = objection(best, error.largest, last, errors.largest, self.tol)
            tried.append(_round(last, errors, why_not))
            without_gain = without_gain + 1 if why_not else 0
            if not why_not:
                best, error = last, errors
            elif not last.converged or errors.largest < error.largest or without_gain == MOST_WITHOUT_GAIN:
                reason = f"the finer answer was not better: {why_not}"
        record = RefinementRecord(self.tol, tuple(tried), reason)
        total = {"iterations": iterations, "seconds": seconds, "recipe": solution.recipe}
        return replace(best, **total, refinement=record)

    def _ended(self, last: Solution, errors: ErrorEstimate, rounds: int) -> str:
        """Why no further round is needed or allowed; empty where one is."""
        if errors.largest <= self.tol:
            return "the errors are below the tolerance"
        most = max(basis.span_count for basis in last.curve.bases)
        if most >= self.most:
            return f"an arc has {most} spans, the most allowed are {self.most}"
        return f"{rounds} rounds are over" * (rounds == self.rounds)

    def _split(self, solution: Solution, errors: ErrorEstimate) -> Problem:
        trajectory = solution.problem.trajectory
        marks = errors.marks(self.tol, DEFAULT.marked_share)
        if self.spans == "uniform":
            marks = [np.ones_like(mark) for mark in marks]
        return on_trajectory(solution, split(trajectory, marks))


def _round(solution: Solution, errors: ErrorEstimate, note: str = "") -> RefinementRound:
    spans = sum(basis.span_count for basis in solution.curve.bases)
    figures = errors.of_equations, errors.of_optimality
    return RefinementRound(spans, solution.objective, *figures, kept=not note, note=note)
