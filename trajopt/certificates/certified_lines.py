"""Base of the certificates of a motion and of phases: the verdict that follows from their lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from trajopt.base.arguments import pluralize
from trajopt.base.facts import Facts
from trajopt.certificates.certificate_lines import CertificateLine
from trajopt.display.solution_facts import small_plots

#: The end of a search that has spent the iterations it may on added nodes; their number comes before it.
OUT_OF_NODES = "with added nodes, the most allowed"


class CertifiedLines(ABC):
    """The verdict that lines give: a certificate holds where no reason stands against it."""

    motion: Any  # the solution of one motion or of phases that is certified, or None
    method: str
    tolerance: Any
    rounds: Any
    reason: Any
    structure: Any
    bracket: Any

    @property
    @abstractmethod
    def lines(self) -> Sequence[CertificateLine]:
        """One line for every component of every constraint."""

    @property
    @abstractmethod
    def first_violation(self) -> str:
        """The first line that does not hold, or nothing."""

    @property
    @abstractmethod
    def undecided(self) -> str:
        """The error that ended the certification, or why constraints cannot be checked, or nothing."""

    @property
    def why_not(self) -> str:
        """The first reason why the certificate does not hold, or nothing."""
        if self.motion is not None and not self.motion.converged:
            return f"the solve did not converge ({self.motion.status.value})"
        return self.undecided or self.first_violation

    @property
    def failing(self) -> tuple[CertificateLine, ...]:
        """The lines that do not hold, the worst first, in multiples of their tolerance."""
        return tuple(sorted((line for line in self.lines if not line.holds), key=lambda line: -line.ratio))

    @property
    def resolution(self) -> float:
        """Seconds: the coarsest of the sampled lines; a violation on an interval as long as that is seen."""
        return max((line.resolution for line in self.lines if line.evidence == "sampled"), default=0.0)

    @property
    def holds(self) -> bool:
        """True if every line holds, on a solve and a certification that ended well.

        Sampled lines say nothing of violations shorter than their resolution: see `proved`.
        """
        return not self.why_not

    @property
    def proved(self) -> bool:
        """True if the certificate holds and no line of it is sampled."""
        return self.holds and all(line.evidence != "sampled" for line in self.lines)

    @property
    def verdict(self) -> str:
        """ "proved", "holds, sampled" or "DOES NOT HOLD"."""
        if not self.holds:
            return "DOES NOT HOLD"
        return "proved" if self.proved else "holds, sampled"

    def summary(self) -> dict[str, Any]:
        """The numbers that `summary.json` holds."""
        return {
            "holds": self.holds,
            "verdict": self.verdict,
            "why_not": self.why_not,
            "resolution": float(self.resolution),
            "statements": len(self.lines),
            "failing": [line.label for line in self.failing],
            "method": self.method,
            "tolerance": self.tolerance,
            "rounds": self.rounds,
            "reason": self.reason,
        }

    def __repr__(self) -> str:
        return str(self._facts())

    def _repr_html_(self) -> str:
        """The facts with small plots of the motion, and all lines behind a click."""
        parts = () if self.motion is None else self.motion.parts[:2]
        pictures = [plot for part in parts for plot in small_plots(part)]
        return self._facts().html(*pictures, details=str(self))

    def _facts(self) -> Facts:
        """The verdict, the first reason against it, and how it was reached."""
        proved = sum(line.holds and line.evidence != "sampled" for line in self.lines)
        motion, structure, failing = self.motion, self.structure, len(self.failing)
        how = f"{self.method}, {pluralize(self.rounds, 'round')}, tolerance {self.tolerance:.1e}"
        moved = "" if motion is None else f"{motion.duration:.12g} s, objective {motion.objective:.12g}"
        rows = [
            ("because", self.why_not),
            ("method", how),
            ("constraints", f"{len(self.lines)} lines, {proved} proved for all times, {failing} failing"),
            ("motion", moved),
            ("structure", self.reason if structure is None else f"{structure.arc_count - 1} switches"),
            ("optimum", "" if self.bracket is None else str(self.bracket)),
        ]
        return Facts(f"Certificate: {self.verdict}", rows, good=self.holds)

    @property
    def _largest_tolerance(self) -> str:
        """The largest tolerance of a constraint over time, in its unit, where it is above that of limits."""
        over_time = [line for line in self.lines if line.evidence in ("enclosure", "sampled")]
        constraints = [line for line in over_time if not line.name.startswith("cost '")]
        largest = max(constraints, key=lambda line: line.tolerance, default=None)
        if largest is None or largest.tolerance <= self.tolerance:
            return ""
        return f", up to {largest.tolerance:.1e} of {largest.label}"

    @property
    def headline(self) -> list[str]:
        """The first lines of the page."""
        motion, reason = self.motion, self.reason
        sampled = f", resolution {self.resolution:.1e} s" if self.holds and not self.proved else ""
        lines = [
            f"certificate: {self.verdict} ({self.method}, {pluralize(self.rounds, 'round')}, "
            f"tolerance {self.tolerance:.1e}{self._largest_tolerance}{sampled})"
        ]
        if not self.holds:
            lines.append(f"because: {self.why_not}")
            lines += [f"to do: {self._advice}"] if self._advice else []
        if motion is not None:
            lines.append(f"duration {motion.duration:.12g} s, objective {motion.objective:.12g}")
        return lines + ([f"no switching structure: {reason}"] if reason else [])

    def optimality(self, when: str) -> str:
        """The residuals of the optimality conditions, in a line; when : of which solve they are."""
        kkt = self.motion.kkt
        return (
            f"KKT residuals{when}: stationarity {kkt.stationarity:.1e}, primal {kkt.primal:.1e}, "
            f"complementarity {kkt.complementarity:.1e}"
        )

    @property
    def _advice(self) -> str:
        """Advice for a certificate that does not hold, or nothing."""
        if "time limit" in self.reason:
            return "give it more time, a larger Certified(time_limit=...)"
        if OUT_OF_NODES in self.reason:
            return "allow more iterations, Certified(settings=SearchSettings(node_total=...))"
        if self.motion is not None and not self.motion.converged:
            return "solution.diagnose() names the limits in conflict"
        if self.undecided:
            return ""
        return "solve on more intervals, or allow more: a larger tol, more rounds"
