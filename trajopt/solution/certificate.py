"""Certificate of a refined solution: violations of its limits for all t, switching structure, optimality."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from trajopt.solution.sign_check import Signs, component_label
from trajopt.solution.simulation import Simulation, simulate
from trajopt.solution.switching_structure import ArcSettings, Saturation, Structure
from trajopt.solution.violation import LimitViolation, path_limits

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was checked about a solution, and what came out; `print` gives the page.

    tolerance : largest violation of a limit with which the certificate holds, in the limit's own unit
    violations : the largest violation of every component of every path limit over all t
    method : "switching arcs", one polynomial arc between each two switches, or "added nodes", a spline
    structure : the confirmed switching structure, or None
    rounds : number of solves on switching arcs, or number of times that nodes were added
    reason : why no switching structure was confirmed; empty where one was
    signs : Pontryagin's sign check of that structure, or None
    settings : how limits were imposed on switching arcs, margins included, or None
    motion : the solution that is certified
    slowed : relative increase of the duration by which time was scaled so that the limits hold; KKT residuals
        are then those of the motion before scaling
    """

    tolerance: float
    violations: tuple[LimitViolation, ...]
    method: str
    structure: Structure | None
    rounds: int
    reason: str
    signs: Signs | None = None
    settings: ArcSettings | None = None
    motion: Solution | None = field(default=None, repr=False)
    slowed: float = 0.0

    @property
    def largest_violation(self) -> float:
        """Of all limits, each in its own unit; negative where all hold with a margin, -inf without limits."""
        return max((violation.value for violation in self.violations), default=-np.inf)

    @property
    def excesses(self) -> tuple[LimitViolation, ...]:
        """Former name of `violations`."""
        return self.violations

    @property
    def largest_excess(self) -> float:
        """Former name of `largest_violation`."""
        return self.largest_violation

    @property
    def holds(self) -> bool:
        """Whether every limit holds for all t to the tolerance, on a solve that converged."""
        converged = self.motion is None or self.motion.converged
        return bool(converged and self.largest_violation <= self.tolerance)

    @cached_property
    def simulation(self) -> Simulation | None:
        """Forward simulation of the torques, integrated on first access; None without forward dynamics."""
        return None if self.motion is None else simulate(self.motion)

    def summary(self) -> dict[str, float | bool | str | int | None]:
        """The numbers that `summary.json` holds."""
        return {
            "holds": self.holds,
            "method": self.method,
            "tolerance": self.tolerance,
            "largest_excess": float(self.largest_violation) if self.violations else None,
            "switches": None if self.structure is None else self.structure.arc_count - 1,
            "wrong_sign": None if self.signs is None else self.signs.wrong,
            "rounds": self.rounds,
            "slowed": self.slowed,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        return "\n".join([*self._verdict(), *self._limits(), *self._structure(), *self._optimality()])

    def _verdict(self) -> list[str]:
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        lines = [
            f"certificate: {verdict} ({self.method}, {self.rounds} rounds, tolerance {self.tolerance:.1e})"
        ]
        if self.motion is not None:
            lines.append(f"duration {self.motion.duration:.12g} s, objective {self.motion.objective:.12g}")
        return lines + ([f"no switching structure: {self.reason}"] if self.reason else [])

    def _limits(self) -> list[str]:
        lines = ["", f"{'limit, for all t':<42}{'largest violation':>18}{'t [s]':>12}"]
        for violation in self.violations:
            when = "hull" if violation.hull else f"{violation.time:.6f}"
            lines.append(f"{violation.label:<42}{violation.value:>18.3e}{when:>12}")
        if not self.violations:
            lines.append("none: the problem bounds nothing over the whole motion")
        margins = [size for limit in (self.settings.margins if self.settings else ()) for size in limit]
        if any(size > 0.0 for size in margins):
            lines.append(f"limits were tightened by up to {max(margins):.1e} so that they hold for all t")
        if self.slowed:
            lines.append(
                f"time scaling: the duration was lengthened by {self.slowed:.1e} of itself so that they hold"
            )
        return lines

    def _structure(self) -> list[str]:
        if self.structure is None or self.motion is None:
            return []
        lines = ["", f"{'arc':<5}{'from [s]':>14}{'to [s]':>14}  saturated"]
        times = self.structure.times
        for number, saturated in enumerate(self.structure.saturated):
            bounds = ", ".join(self._bound(s) for s in sorted(saturated)) or "nothing"
            lines.append(f"{number:<5}{times[number]:>14.9f}{times[number + 1]:>14.9f}  {bounds}")
        return lines

    def _bound(self, saturation: Saturation) -> str:
        assert self.motion is not None
        limit = path_limits(self.motion)[saturation.limit]
        bound = (limit.upper if saturation.side > 0 else limit.lower)[saturation.component]
        return f"{component_label(self.motion, saturation)} = {bound:+.6g}"

    def _optimality(self) -> list[str]:
        if self.motion is None:
            return []
        kkt, when = self.motion.kkt, " before time scaling" if self.slowed else ""
        return [
            "",
            f"KKT residuals{when}, recomputed: stationarity {kkt.stationarity:.1e}, primal {kkt.primal:.1e}, "
            f"complementarity {kkt.complementarity:.1e}",
            *self._signs(),
            self._simulated(),
        ]

    def _signs(self) -> list[str]:
        if self.signs is None:
            return []
        wrong = f"largest wrong impulse {self.signs.wrong:.1e}, {self.signs.where}"
        lines = [
            f"signs of multipliers (Pontryagin): {self.signs.checked} saturated arcs checked, "
            + (wrong if self.signs.wrong else "all right")
        ]
        if self.signs.unchecked:
            lines.append(f"signs not checked: {self.signs.unchecked} arcs with a position at its limit")
        if self.signs.free > 0.0:
            lines.append(
                f"for {self.signs.free:.6f} s fewer limits are saturated than there are joints: the optimal "
                "objective is determined, the motion is the one of least effort, one motion among many"
            )
        return lines

    def _simulated(self) -> str:
        if self.simulation is None:
            return "forward simulation: the dynamics offers no forward dynamics"
        return (
            f"forward simulation of the torques: gap {self.simulation.restarted:.1e} restarted at knots, "
            f"{self.simulation.end_to_end:.1e} end to end"
        )
