"""Knot insertion until the errors are small: `solve(problem, refine=Refined(tol=1e-6))`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np

from trajopt.base.arguments import check_choice, check_count, check_positive, pluralize
from trajopt.base.arrays import Array
from trajopt.base.tolerances import BETWEEN, ESTIMATED, NOT_ZERO
from trajopt.refinement.error_estimate import ErrorEstimate, estimated, estimated_between_nodes
from trajopt.refinement.knots import split
from trajopt.refinement.rounds import Round, Rounds, iterations_on, run_rounds
from trajopt.solution.records import RefinementRecord, RefinementRound
from trajopt.solution.solution import Answer, SolutionData
from trajopt.solution.solve_once import solve_once
from trajopt.solvers.solver import Run, StartKind
from trajopt.solvers.solver_constants import ROUNDING

if TYPE_CHECKING:
    from trajopt.solvers.solver import Callback, Solver

AnswerT = TypeVar("AnswerT", bound=Answer)

MARKED_SHARE = 0.1  # of the largest error: spans above it are halved
MOST_WITHOUT_GAIN = 3  # rounds in a row whose error does not fall


@dataclass(frozen=True)
class Refined:
    """Refinement of knots: `solve(problem, refine=Refined())` halves spans until the errors are small.

    Two relative errors are estimated in every span: that of path equations between nodes, and what finer
    knots could gain of the objective. An answer is replaced only by one whose larger error is smaller;
    `solution.refinement` says what was tried, and whether the tolerance was reached. `LimitNodes()` follows
    in `solve`.

    tol : relative error below which refinement ends
    rounds : largest number of rounds in which spans are halved
    spans : "adaptive", those with the largest errors, or "uniform", all of them
    most : number of spans of an arc at which no more are added
    errors : "both", or "equations", only that of path equations between nodes
    """

    takes_links: ClassVar[bool] = True
    holds_limits: ClassVar[bool] = False

    tol: float = 1e-6
    rounds: int = 6
    spans: Literal["adaptive", "uniform"] = "adaptive"
    most: int = 400
    errors: Literal["both", "equations"] = "both"

    def __post_init__(self) -> None:
        check_positive("tol", self.tol)
        check_count("rounds", self.rounds, 1)
        check_count("most", self.most, 1)
        check_choice("spans", self.spans, ("adaptive", "uniform"))
        check_choice("errors", self.errors, ("both", "equations"))

    def refine(self, solution: AnswerT, solver: Solver, progress: Callback | None = None) -> AnswerT:
        """The answer, of a problem or of phases, with the smallest error, and the record of the rounds."""
        run = near_run(solution, progress)
        rounds = run_rounds(
            solution,
            measure=self._estimates,
            ended=self._ended,
            finer=lambda rounds: self._finer(rounds.last, solver, run),
            objection=lambda best, new: objection(
                best.answer, self.size(best.measure), new.answer, self.size(new.measure), self.tol
            ),
        )
        record = RefinementRecord(self.tol, tuple(map(_row, rounds.tried)), rounds.reason)
        return rounds.answer(refinement=record)

    def estimate(self, solution: SolutionData) -> ErrorEstimate:
        """The errors that are asked for, in every span of a solution."""
        return estimated(solution, optimality=self.errors == "both")

    def size(self, errors: ErrorEstimate) -> float:
        """What an answer must have less of to replace another."""
        return errors.largest

    def _estimates(self, answer: Answer) -> ErrorEstimate:
        """The errors of all arcs of all parts, the gains relative to the costs of all.

        What phases share is held at its value.
        """
        errors = [self.estimate(part) for part in answer.parts]
        total = answer.size_of_costs or 1.0
        shares = [(part.size_of_costs or 1.0) / total for part in answer.parts]
        each = zip(shares, errors, strict=True)
        return ErrorEstimate(
            tuple(values for one in errors for values in one.equations),
            tuple(share * values for share, one in each for values in one.optimality),
            max(one.pointwise for one in errors),
        )

    def _finer(self, last: Round[ErrorEstimate], solver: Solver, run: Run) -> Answer:
        """The answer with the spans halved that have large errors, or all."""
        meshes, left = [], self._marks(last.measure)
        for problem in last.answer.asked.parts:
            arcs = len(problem.trajectory.arcs)
            meshes.append(split(problem.trajectory, left[:arcs]))
            del left[:arcs]
        return solve_once(last.answer.asked_on(*meshes), solver, run)

    def _ended(self, rounds: Rounds[ErrorEstimate]) -> str | None:
        """Why no further round is needed or allowed; None where one is."""
        last, errors = rounds.last, rounds.last.measure
        if not rounds.count and not last.answer.converged:
            return f"the solve did not converge ({last.answer.status.value})"
        if last.objection:
            without_gain = all(each.objection for each in rounds.tried[-MOST_WITHOUT_GAIN:])
            if not last.answer.converged or errors.largest < rounds.best.measure.largest or without_gain:
                return f"the finer answer was not better: {last.objection}"
        if errors.within(self.tol):
            return "the errors are below the tolerance"
        most = max(values.size for values in errors.equations)
        if most >= self.most:
            return f"an arc has {most} spans, the most allowed are {self.most}"
        return (
            f"{pluralize(rounds.count, 'round')}, the most allowed" if rounds.count >= self.rounds else None
        )

    def _marks(self, errors: ErrorEstimate) -> list[Array]:
        """The spans to halve, one boolean per span and arc."""
        marks = errors.marks(self.tol, MARKED_SHARE)
        return [np.ones_like(mark) for mark in marks] if self.spans == "uniform" else marks


@dataclass(frozen=True)
class RefinedUntilVerified(Refined):
    """What `solve` does by default with path equations: spans are halved until `verify` passes them.

    tol : the accuracy between nodes that `verify` asks for
    """

    tol: float = BETWEEN
    rounds: int = 12
    errors: Literal["both", "equations"] = "equations"

    def refine(self, solution: AnswerT, solver: Solver, progress: Callback | None = None) -> AnswerT:
        """The answer with the smallest error; the given one, without a record, where that is small enough."""
        found = super().refine(solution, solver, progress)
        finer = found.refinement is not None and len(found.refinement.rounds) > 1
        return found if finer else solution

    def estimate(self, solution: SolutionData) -> ErrorEstimate:
        """The errors that `verify` looks at, in every span of a solution."""
        return estimated_between_nodes(solution)

    def size(self, errors: ErrorEstimate) -> float:
        """The error of equations; where `tol` allows it, a number below `tol` that rises with the changes."""
        changes = errors.of_optimality
        within = self.tol * changes / (1.0 + changes)
        return errors.of_equations if errors.of_equations > self.tol else within


def objection(former: Any, error: float, later: Any, later_error: float, tol: float) -> str:
    """Why `later` does not replace `former`, two solutions or two of phases; empty where it does.

    error, later_error : the largest relative errors of the two; where both are below tol, the objective
        decides. Above it, the objective of an answer with errors is no measure, but a rise far beyond what
        those errors explain means another local optimum.
    """
    if not later.converged:
        return later.status.value
    rise = (later.objective - former.objective) / max(abs(former.objective), NOT_ZERO)
    if max(error, later_error) <= tol:
        return f"its objective is {rise:.1e} higher at errors below the tolerance" * bool(rise > ROUNDING)
    if not later_error < error:
        return f"its largest relative error is {later_error:.1e}, not below {error:.1e}"
    if rise > ESTIMATED * error:
        return f"another local optimum: {rise:.1%} higher, which errors of {error:.1e} do not explain"
    return ""


def near_run(solution: Any, progress: Callback | None) -> Run:
    """The run of a solve on a finer mesh from a solution, which may take about as long as that one took."""
    most = iterations_on(solution.iterations)
    return Run(max_iterations=most, start_kind=StartKind.NEAR_START, callback=progress)


def _row(each: Round[ErrorEstimate]) -> RefinementRound:
    errors, note = each.measure, each.objection
    spans = sum(values.size for values in errors.equations)
    figures = errors.of_equations, errors.of_optimality
    return RefinementRound(spans, each.answer.objective, *figures, kept=not note, note=note)
