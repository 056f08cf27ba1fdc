"""What is guaranteed about a solution, as a page that a reviewer can check."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from trajopt.problem.limit_order import limit_order
from trajopt.solution.switching_structure import Saturation, Structure
from trajopt.solution.violation import Excess, path_limits

if TYPE_CHECKING:
    from trajopt.refinement.arc_problem import ArcSettings
    from trajopt.refinement.structure_correction import Contradiction
    from trajopt.solution.simulation import Simulation
    from trajopt.solution.solution import Solution


@dataclass(frozen=True)
class Signs:
    """Pontryagin's sign check: multipliers of saturated torques against the sides they sit at.

    checked : how many pairs of arc and saturated component were checked, held velocities included
    unchecked : how many were not: held positions
    wrong : the largest impulse of the wrong sign over a stretch, relative to the largest over an arc
    where : what and when that is
    free : seconds on which fewer torques are saturated than there are joints; a time-optimal motion is not
        unique there
    """

    checked: int
    unchecked: int
    wrong: float
    where: str
    free: float


def signs_of(
    motion: Solution,
    structure: Structure,
    wrong: tuple[Contradiction, ...],
    regular: bool,
    held: int = 0,
) -> Signs:
    """The check of a structure whose contradictions, gravest first, are known; held: velocities checked."""
    limits, n = path_limits(motion), motion.problem.dynamics.n
    orders = [limit_order(motion.problem, limit) for limit in limits]
    every = [orders[s.limit] for saturated in structure.saturated for s in saturated]
    checked = every.count(2) + held
    unchecked = len(every) - checked
    spans = zip(structure.durations, structure.saturated, strict=True)
    free = 0.0 if regular else float(sum(seconds for seconds, saturated in spans if len(saturated) < n))
    if not wrong:
        return Signs(checked, unchecked, 0.0, "", free)
    first = wrong[0]
    what = _component(motion, first.saturation)
    return Signs(
        checked, unchecked, first.impulse, f"{what} from {first.start:.6f} to {first.end:.6f} s", free
    )


def _component(motion: Solution, saturation: Saturation) -> str:
    limit = path_limits(motion)[saturation.limit]
    labels = motion.problem.component_names(limit.term.quantity, limit.lower.size)
    label = labels[saturation.component]
    return f"{limit.term.name} of {label}" if label else limit.term.name


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is guaranteed about a solution; print it.

    excesses : the largest excess of every component of every limit over all t, in its own unit
    method : "switching arcs" or "added nodes"
    structure : the confirmed switching structure, or None
    signs : Pontryagin's sign check on that structure, or None
    rounds : solves it took
    reason : why there are no switching arcs, empty where there are
    settings : how limits were met on switching arcs, margins taken off their bounds included, or None
    slowed : by what part of its duration the motion was slowed so that its limits hold; the KKT residuals are
        then those of the faster motion
    """

    tolerance: float
    excesses: tuple[Excess, ...]
    method: str
    structure: Structure | None
    rounds: int
    reason: str
    signs: Signs | None = None
    settings: ArcSettings | None = None
    motion: Solution | None = field(default=None, repr=False)
    slowed: float = 0.0

    @property
    def largest_excess(self) -> float:
        return max((excess.value for excess in self.excesses), default=-np.inf)

    @property
    def holds(self) -> bool:
        """Whether every limit holds for all t to the tolerance, on a solve that converged."""
        converged = self.motion is None or self.motion.converged
        return bool(converged and self.largest_excess <= self.tolerance)

    @cached_property
    def simulation(self) -> Simulation | None:
        """Forward simulation of the torques, integrated when it is first asked for."""
        from trajopt.solution.simulation import simulate

        return None if self.motion is None else simulate(self.motion)

    def summary(self) -> dict[str, float | bool | str | int | None]:
        """The numbers that `summary.json` holds."""
        return {
            "holds": self.holds,
            "method": self.method,
            "tolerance": self.tolerance,
            "largest_excess": float(self.largest_excess) if self.excesses else None,
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
        lines = ["", f"{'limit, for all t':<44}{'largest excess':>16}{'t [s]':>12}"]
        for excess in self.excesses:
            when = "hull" if excess.hull else f"{excess.time:.6f}"
            lines.append(f"{excess.label:<44}{excess.value:>16.3e}{when:>12}")
        if not self.excesses:
            lines.append("none: the problem bounds nothing over the whole motion")
        margins = [size for limit in (self.settings.margins if self.settings else ()) for size in limit]
        if any(size > 0.0 for size in margins):
            lines.append(f"limits were tightened by up to {max(margins):.1e} so that they hold for all t")
        if self.slowed:
            lines.append(f"the motion was slowed by {self.slowed:.1e} of its duration so that they hold")
        return lines

    def _structure(self) -> list[str]:
        if self.structure is None or self.motion is None:
            return []
        lines = ["", f"{'arc':<5}{'from [s]':>14}{'to [s]':>14}  saturated"]
        times = self.structure.times
        for number, saturated in enumerate(self.structure.saturated):
            held = ", ".join(self._named(s) for s in sorted(saturated)) or "nothing"
            lines.append(f"{number:<5}{times[number]:>14.9f}{times[number + 1]:>14.9f}  {held}")
        return lines

    def _named(self, saturation: Saturation) -> str:
        assert self.motion is not None
        limit = path_limits(self.motion)[saturation.limit]
        bound = (limit.upper if saturation.side > 0 else limit.lower)[saturation.component]
        return f"{_component(self.motion, saturation)} = {bound:+.6g}"

    def _optimality(self) -> list[str]:
        if self.motion is None:
            return []
        kkt, when = self.motion.kkt, " before slowing" if self.slowed else ""
        lines = [
            "",
            f"KKT residuals{when}, recomputed: stationarity {kkt.stationarity:.1e}, primal {kkt.primal:.1e}, "
            f"complementarity {kkt.complementarity:.1e}",
        ]
        if self.signs is not None:
            lines.append(
                f"signs of multipliers (Pontryagin): {self.signs.checked} saturated arcs checked, "
                + (
                    f"largest wrong impulse {self.signs.wrong:.1e}, {self.signs.where}"
                    if self.signs.wrong
                    else "all right"
                )
            )
            if self.signs.unchecked:
                lines.append(
                    f"not checked: the signs on {self.signs.unchecked} arcs that hold something else"
                )
            if self.signs.free > 0.0:
                lines.append(
                    f"for {self.signs.free:.6f} s fewer limits are saturated than joints exist: the "
                    "optimum is determined, the other joints move with least effort, one motion among many"
                )
        if self.simulation is None:
            lines.append("forward simulation: the dynamics offers no forward dynamics")
        else:
            lines.append(
                f"forward simulation of the torques: gap {self.simulation.restarted:.1e} restarted at knots, "
                f"{self.simulation.end_to_end:.1e} end to end"
            )
        return lines
