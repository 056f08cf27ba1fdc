"""Knot insertion until the objective settles: `solve(problem, refine=Refined(tol=1e-6))`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from trajopt.errors import OptionError
from trajopt.problem.problem import Problem
from trajopt.refinement.knots import adaptively_refined, uniformly_refined
from trajopt.solution.solution import Solution
from trajopt.solution.solve_once import solve_once

if TYPE_CHECKING:
    from trajopt.solvers.solver import Callback, Solver


@dataclass(frozen=True)
class Refined:
    """Refinement of knots: `solve(problem, refine=Refined())` halves spans until the objective settles.

    tol : relative change of the objective between two rounds at which refinement ends
    rounds : largest number of rounds in which spans are halved
    spans : "adaptive", those with the largest refinement indicators, or "uniform", all of them
    most : number of spans of an arc from which on no more are added
    """

    tol: float = 1e-6
    rounds: int = 6
    spans: Literal["adaptive", "uniform"] = "adaptive"
    most: int = 400

    def __post_init__(self) -> None:
        if not (np.isfinite(self.tol) and self.tol > 0.0):
            raise OptionError(f"tol is {self.tol!r}: give a positive relative change of the objective")
        if not isinstance(self.rounds, int) or self.rounds < 1:
            raise OptionError(f"rounds is {self.rounds!r}: give a whole number of at least 1")
        if self.spans not in ("adaptive", "uniform"):
            raise OptionError(f"spans is {self.spans!r}: use 'adaptive' or 'uniform'")
        if not isinstance(self.most, int) or self.most < 1:
            raise OptionError(f"most is {self.most!r}: give a whole number of at least 1")

    def refine(self, solution: Solution, solver: Solver, progress: Callback | None = None) -> Solution:
        """The last solution that converged, on its refined knots."""
        best = solution
        for _ in range(self.rounds):
            if (
                not best.converged
                or max(arc.basis.span_count for arc in best.problem.trajectory.arcs) >= self.most
            ):
                break
            finer = solve_once(self._split(best), solver, progress)
            if not finer.converged:
                break
            finer = replace(finer, recipe=best.recipe, iterations=best.iterations + finer.iterations)
            change = abs(finer.objective - best.objective) / max(abs(best.objective), 1e-300)
            best = finer
            if change <= self.tol:
                break
        return best

    def _split(self, solution: Solution) -> Problem:
        return (uniformly_refined if self.spans == "uniform" else adaptively_refined)(solution)
