"""The verdict of a report, of one motion or of phases: PASS or FAIL, the reason, and its largest numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arguments import LISTED
from trajopt.base.facts import Facts
from trajopt.base.tolerances import BETWEEN, ESTIMATED, LIMIT_ACCURACY, LOOSEST, OPTIMAL
from trajopt.checks.path_equations import EquationResidual
from trajopt.checks.violations import Violation
from trajopt.solution.solution import Answer
from trajopt.solvers.optimality.kkt import KKT

COARSE_ABOVE = BETWEEN  # of all costs: an error of the optimum as large as a cost may be off between nodes
COARSE = "solve on more intervals, or with refine=trajopt.Refined()"


def accuracies(accuracy: float | None) -> tuple[float, float]:
    """The accuracies between nodes and of limits over time that a user gives, or the defaults."""
    return (BETWEEN, LIMIT_ACCURACY) if accuracy is None else (float(accuracy), float(accuracy))


def fields_of(answer: Answer, title: str, kkt: KKT | None, accuracy: float | None) -> dict[str, Any]:
    """The fields of a verdict that follow from an answer; kkt : recomputed, None where it is not known."""
    allowed, of_limits = accuracies(accuracy)
    return {
        "title": title,
        "kkt": kkt or answer.kkt,
        "kkt_of_solve": answer.kkt,
        "kkt_recomputed": kkt is not None,
        "accuracy": allowed,
        "limit_accuracy": of_limits,
        "converged": answer.converged,
        "status": answer.status.value,
    }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Verdict(ABC):
    """The verdict of a report, of one motion or of phases: PASS where no reason stands against it.

    violations : of every bounded component of every constraint, at nodes and between them
    equations : residuals of the path equations, those that the spline meets identically among them
    kkt : KKT residuals, recomputed where `kkt_recomputed`, else those of `kkt_of_solve`
    kkt_of_solve : those that the solver ended with
    accuracy : relative, between nodes: of the scale of an equation, an integral, a cost
    limit_accuracy : the same of limits over time, of their size
    error_of_optimum : by how much a finer mesh could lower the objective, an estimate; None where not known
    """

    title: str
    kkt: KKT
    kkt_of_solve: KKT
    kkt_recomputed: bool
    accuracy: float = BETWEEN
    limit_accuracy: float = LIMIT_ACCURACY
    converged: bool = True
    status: str = ""
    error_of_optimum: float | None = None
    if TYPE_CHECKING:  # fields of one motion's report

        @property
        def violations(self) -> tuple[Violation, ...]: ...
        @property
        def equations(self) -> tuple[EquationResidual, ...]: ...

    @property
    @abstractmethod
    def named_parts(self) -> tuple[tuple[str, Any], ...]:
        """(name, report) of every phase; of one motion the report itself, without a name."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """The most important reason why the solution fails; empty where none does."""

    @property
    @abstractmethod
    def simulation_error(self) -> float | None:
        """Largest gap of the simulation restarted at every knot; None where there is none."""

    @property
    def kkt_error(self) -> float:
        """The largest residual of the optimality conditions."""
        return self.kkt.error

    @property
    def holds(self) -> bool:
        """The verdict: whether nothing was found to be wrong."""
        return not self.reason

    @property
    def verdict(self) -> str:
        """ "PASS" or "FAIL"."""
        return "PASS" if self.holds else "FAIL"

    @property
    def max_violation_nodes(self) -> float:
        """The largest violation at nodes and of links, each in its own unit; NaN where one is."""
        return float(np.max([0.0, *(v.node_violation for v in self.violations)]))

    @property
    def max_violation_dense(self) -> float:
        """The largest violation at nodes, between them and of links; NaN where one is."""
        return float(np.max([0.0, *(v.dense_violation for v in self.violations)]))

    @property
    def largest_excess(self) -> Violation | None:
        """The limit over time that is exceeded most between nodes, relative to its size; None: there is none.

        NaN is the largest.
        """
        limits = (v for v in self.violations if v.is_limit_over_time)
        return max(limits, key=lambda v: np.nan_to_num(v.dense_relative, nan=np.inf), default=None)

    @property
    def cost_of_equations(self) -> float | None:
        """First-order amount by which the objective is too low because path equations are missed."""
        known = [equation.cost for equation in self.equations if equation.cost is not None]
        return float(np.sum(known)) if known else None

    def worst(self, count: int = 5) -> tuple[Violation, ...]:
        """The components violated most at nodes, largest first; those that are not finite before all."""
        violated = [v for v in self.violations if not v.node_violation <= 0.0]
        return tuple(sorted(violated, key=lambda v: -np.nan_to_num(v.node_violation, nan=np.inf))[:count])

    def _not_optimal(self, what: str) -> str:
        """`what` and both KKT errors, where this one is above an optimum's and what the solve left."""
        if self.kkt_error <= max(OPTIMAL, min(ESTIMATED * self.kkt_of_solve.error, LOOSEST)):
            return ""
        reported = f"{self.kkt_of_solve.error:.2g} by the solution"
        return f"{what}: KKT error {self.kkt_error:.2g}, {reported}"

    @property
    def optimum(self) -> str:
        """Estimate of how much a finer mesh could lower the objective, in words; empty where not known."""
        costs = [cost for _, report in self.named_parts for cost in report.costs]
        error, objective = self.error_of_optimum, sum(cost.value for cost in costs)
        if error is None or not costs:
            return ""
        text = f"optimal on this mesh; error of the optimum about {error:.2g} of {objective:.7g}"
        return text + f": {COARSE}" * (error > COARSE_ABOVE * sum(cost.size for cost in costs))

    @property
    def _kkt_source(self) -> str:
        return "recomputed" if self.kkt_recomputed else "as the solution reports, not recomputed"

    def __repr__(self) -> str:
        return str(self._facts())

    def _repr_html_(self) -> str:
        """The facts, and all lines behind a click."""
        return self._facts().html(details=str(self))

    def _facts(self) -> Facts:
        """The verdict, the reason, and the largest numbers."""
        gap, worst = self.simulation_error, () if self.holds else self.worst(LISTED)
        rows = [
            ("reason", self.reason),
            ("solve", self.title),
            ("accuracy", f"{self.accuracy:.2g} between nodes, of limits {self.limit_accuracy:.2g}"),
            ("at nodes", f"largest violation {self.max_violation_nodes:.3g}"),
            ("between", f"largest violation {self.max_violation_dense:.3g}"),
            ("optimum", self.optimum),
            ("KKT error", f"{self.kkt_error:.3e}"),
            ("simulation", "" if gap is None else f"gap {gap:.1e}, restarted at every knot"),
            *(("violated", str(violation)) for violation in worst),
        ]
        return Facts(f"Report: {self.verdict}", rows, good=self.holds)
