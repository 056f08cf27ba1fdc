"""The verdict of a report, of one motion or of phases: PASS or FAIL, the reason, and its largest numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod

from trajopt.base.facts import Facts
from trajopt.checks.violations import Violation
from trajopt.solvers.optimality.kkt import KKT

LISTED = 4  # violations of a failed verification that its facts list


class Verdict(ABC):
    """The verdict of a report, of one motion or of phases: PASS where no reason stands against it."""

    title: str
    kkt: KKT
    accuracy: float

    @property
    @abstractmethod
    def reason(self) -> str:
        """What is wrong, the most important first; empty where nothing is."""

    @property
    @abstractmethod
    def max_violation_nodes(self) -> float:
        """The largest violation at nodes, each in its own unit; NaN where one is."""

    @property
    @abstractmethod
    def max_violation_dense(self) -> float:
        """The largest violation at nodes and between them, each in its own unit; NaN where one is."""

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

    @abstractmethod
    def worst(self, count: int = 5) -> tuple[Violation, ...]:
        """The components violated most at nodes, largest first."""

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
            ("accuracy", f"{self.accuracy:.2g} between nodes"),
            ("at nodes", f"largest violation {self.max_violation_nodes:.3g}"),
            ("between", f"largest violation {self.max_violation_dense:.3g}"),
            ("KKT error", f"{self.kkt_error:.3e}"),
            ("simulation", "" if gap is None else f"gap {gap:.1e}, restarted at every knot"),
            *(("violated", str(violation)) for violation in worst),
        ]
        return Facts(f"Report: {self.verdict}", rows, good=self.holds)
