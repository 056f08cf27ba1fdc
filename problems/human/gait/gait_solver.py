"""Solver for gaits in three dimensions; reports where and when an infeasible step fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

import trajopt
from problems.human.gait.step import Step
from trajopt.solvers.kkt import bound_violation
from trajopt.solvers.solver import Program, Result, Run, Status, WarmStart
from trajopt.transcription.nlp import NLP
from trajopt.transcription.unknowns import RowLabel

# Steps of up to COARSE intervals that can be walked came near their constraints within 26 iterations of every
# round, finer ones within 172. Where feet must not drift by LOOSELY_HELD, in m, some take many more and are
# found all the same.
PATIENCE, COARSE, PATIENCE_IF_FINER, LOOSELY_HELD = 110, 5, 250, 2.5e-3
NAMED = 3  # constraints in the message
BROKEN = 1e-4  # scaled violation, beyond which a search that ended has found no step
SIDES = MappingProxyType({"r": "right", "l": "left"})
# A start near the optimum: pushes keep IPOPT from moving the start away from what is active, and multipliers
# begin at zero, as those of least squares are none of a start that is not feasible.
_PUSHED = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac")
NEAR = MappingProxyType({
    "mu_strategy": "monotone", "mu_init": 3e-6, "constr_mult_init_max": 0.0,
    **dict.fromkeys(_PUSHED[:2], 1e-3), **dict.fromkeys(_PUSHED[2:], 1e-2),
})  # fmt: skip
# A stride of different sides begins further away, at a walk whose sides are equal, and a run at that of
# another speed: with NEAR a stride takes 325 iterations in place of 185, a run of 4 m/s 128 in place of 75.
FURTHER = MappingProxyType({"mu_strategy": "monotone", "mu_init": 1e-6, **dict.fromkeys(_PUSHED, 1e-3)})
# Six of ten rows are torque limits, of which few are near: without the far ones an iteration takes two thirds
# of the time. Rows that are not near enter by another round, which takes as long as the first; with a margin
# of 0.03 a step that cannot be walked is refused after 539 iterations in place of 110.
MARGIN = 0.1


@dataclass(frozen=True)
class GaitSolver(trajopt.ConstraintGeneration):
    """`ConstraintGeneration` with words for a gait that cannot be walked.

    phases : what each part of the motion is called, and when it ends, s; None where it ends with its arc
    """

    phases: tuple[tuple[str, float | None], ...] = ()

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """Solve `nlp`; where no step is found, the detail names joints or foot points and phases."""
        result = super().solve(nlp, start, run)
        ended = result.status.converged or result.status is Status.INTERRUPTED
        if ended or not result.infeasibility > BROKEN or not isinstance(nlp, NLP):
            return result
        broken = "; ".join(self._broken(nlp, result.y))
        return replace(result, detail=f"no such step was found: {broken} ({result.detail})")

    def _broken(self, nlp: NLP, y: np.ndarray) -> list[str]:
        """The constraints that are violated most, with joint or axis, and the phase of their worst time."""
        violation = bound_violation(nlp.rows(y), nlp.row_lower, nlp.row_upper)
        times, arcs = nlp.unknowns.node_times(y), nlp.unknowns.nodes.arc
        found: dict[tuple[str, str], str] = {}
        for row in np.argsort(-violation):
            label = nlp.row_labels[int(row)]
            if not violation[row] > 0.0 or len(found) == NAMED:
                break
            which = (label.constraint, label.component)
            node = label.node if isinstance(label, RowLabel) else None
            when = "" if node is None else f" in {self._phase(float(times[node]), int(arcs[node]))}"
            found.setdefault(which, ", ".join(filter(None, which)) + when)
        return list(found.values())

    def _phase(self, time: float, arc: int) -> str:
        ended = (arc <= k if end is None else time <= end for k, (_, end) in enumerate(self.phases))
        name = next((name for (name, _), here in zip(self.phases, ended, strict=True) if here), "the motion")
        return f"{name} (t = {time:.3f} s)"


def double_support(leads: str) -> str:
    """Words for the phase in which both feet stand, `leads`, "r" or "l", in front."""
    return f"double support with the {SIDES[leads]} foot in front"


def single_support(side: str) -> str:
    """Words for the phase in which one foot stands."""
    return f"single support with the {SIDES[side]} foot on the ground"


def imposed_gait_solver(
    steps: Sequence[Step], drift: float, intervals: int, near: bool = False
) -> GaitSolver:
    """The solver for gaits in three dimensions, of whose many constraint rows few are active.

    A step that comes nowhere near its constraints is given up after `PATIENCE` iterations, with more
    intervals than `COARSE` after `PATIENCE_IF_FINER`, unless feet must stay within less than `LOOSELY_HELD`
    of their places: `drift`, in m, is how far they may be from them. `near` is for starts from a walk
    that was solved before: a small barrier leaves it where it is, and only rows near their bounds enter.

    IPOPT adds multiples of the identity to indefinite Hessians; with `perturb_dec_fact` 0.1 they decay faster
    than by default. Rows of large gradients, such as the free moment's at the end of a step, are scaled by
    1e-5: bounds relaxed by 1e-10, as by default, would be violated by more than `verify` allows at nodes.
    """
    options = {"perturb_dec_fact": 0.1, "bound_relax_factor": 1e-11}
    ipopt = trajopt.Ipopt(tol=1e-6, options={**options, **(NEAR if near else {})})
    phases: list[tuple[str, float | None]] = []
    for step in steps:
        phases.append((double_support(step.leads), step.begins + step.toe_off * step.duration))
        phases.append((single_support(step.leads), step.begins + step.duration))
    patience = PATIENCE if intervals <= COARSE else PATIENCE_IF_FINER
    solver = GaitSolver(ipopt, patience=patience if drift >= LOOSELY_HELD else None, phases=tuple(phases))
    return replace(solver, margin=MARGIN, coarse=0.0) if near else solver
