"""Record of a refinement: meshes that were tried, their errors, and why it ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from trajopt.base.arguments import pluralize


@dataclass(frozen=True)
class RefinementRound:
    """One mesh of a refinement.

    spans : how many there are, over all arcs
    equation_error : largest residual of a path equation between nodes, relative to its scale
    optimality_error : what finer knots could gain, relative to the objective
    kept : whether this answer replaced the one before
    note : why it did not
    """

    spans: int
    objective: float
    equation_error: float
    optimality_error: float
    kept: bool = True
    note: str = ""

    @property
    def error(self) -> float:
        """The larger one of the two relative errors."""
        return max(self.equation_error, self.optimality_error)


@dataclass(frozen=True)
class RefinementRecord:
    """What a refinement did; `print` gives the table.

    tolerance : relative error at which it ends
    rounds : the mesh it began with, then every further one in turn
    reason : why it ended
    """

    tolerance: float
    rounds: tuple[RefinementRound, ...]
    reason: str

    @property
    def before(self) -> RefinementRound:
        """The answer that was refined."""
        return self.rounds[0]

    @property
    def after(self) -> RefinementRound:
        """The answer that was returned."""
        return next(each for each in reversed(self.rounds) if each.kept)

    @property
    def reached(self) -> bool:
        """Whether both estimated errors of the answer are below the tolerance."""
        return self.after.error <= self.tolerance

    def summary(self) -> dict[str, Any]:
        """The numbers that files hold."""
        rounds = [asdict(each) for each in self.rounds]
        return {"tolerance": self.tolerance, "rounds": rounds, "reason": self.reason}

    def verdict(self) -> str:
        """One line: whether the tolerance was reached, the errors before and after, why it ended."""
        outcome = "reached" if self.reached else "NOT REACHED"
        rounds = pluralize(len(self.rounds) - 1, "round")
        return (
            f"refinement: tolerance {self.tolerance:.1e} {outcome}, {rounds}, "
            f"{self.before.spans} to {self.after.spans} spans, "
            f"largest relative error {self.before.error:.1e} to {self.after.error:.1e}; {self.reason}"
        )

    def __str__(self) -> str:
        lines = [self.verdict(), "", f"{'spans':>6}{'objective':>18}{'equations':>12}{'optimality':>12}"]
        for each in self.rounds:
            errors = f"{each.equation_error:>12.1e}{each.optimality_error:>12.1e}"
            note = "" if each.kept else f"  not kept: {each.note}"
            lines.append(f"{each.spans:>6}{each.objective:>18.10g}{errors}{note}")
        return "\n".join(lines)
