"""What `solve` does with an answer by default: what `verify` asks for between the nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trajopt.base.rounding import BETWEEN
from trajopt.problem.links.phases import Asked, Phases
from trajopt.problem.problem_parts import Refinement
from trajopt.refinement.error_estimate import ErrorEstimate, estimated_between_nodes
from trajopt.refinement.limit_nodes import LimitNodes
from trajopt.refinement.refined import AnswerT, Refined
from trajopt.solution.solution import SolutionData

if TYPE_CHECKING:
    from trajopt.solvers.solver import Callback, Solver


def default_refinement(asked: Asked) -> Refinement:
    """What a problem recommends; else nodes for limits, after halved spans where there are path equations."""
    if not isinstance(asked, Phases) and asked.refinement is not None:
        return asked.refinement
    equations = any(c.is_path_equation for part in asked.parts for c in part.constraints)
    return RefinedUntilVerified() if equations else LimitNodes()


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
