"""Pontryagin's sign condition: multipliers of saturated limits against the bounds at which the limits sit.

An upper limit that is active at an optimum has a multiplier >= 0, a lower one a multiplier <= 0. A multiplier
of the other sign says that the objective would fall if the limit were left.
"""

from __future__ import annotations

from dataclasses import dataclass

from trajopt.certificates.switching_structure import Saturation, Structure
from trajopt.problem.limit_order import limit_order
from trajopt.solution.solution import SolutionData


@dataclass(frozen=True)
class Contradiction:
    """A time interval within an arc on which a saturated limit's multiplier has the sign of the other bound.

    arc : index of the arc, of the first one where a velocity is held over several
    start, end : seconds
    impulse : of the wrong sign, the integral of the multiplier's density over the interval, relative to the
        largest impulse of a saturated limit over an arc
    """

    arc: int
    saturation: Saturation
    start: float
    end: float
    impulse: float


@dataclass(frozen=True)
class Signs:
    """Result of the sign check of all saturated limits of a switching structure.

    checked : number of pairs of arc and saturated component that were checked
    unchecked : number of pairs that were not checked: positions at their limits
    wrong : largest impulse of the wrong sign over an interval, relative to the largest over an arc
    where : the component and the interval in seconds of that impulse; empty where all signs are right
    free : seconds during which fewer limits are saturated than there are joints, in a problem whose controls
        are not determined by an effort; the optimal motion is not unique there
    """

    checked: int
    unchecked: int
    wrong: float
    where: str
    free: float


def sign_check(
    motion: SolutionData,
    structure: Structure,
    contradictions: tuple[Contradiction, ...],
    regular: bool,
    boundaries_checked: int = 0,
) -> Signs:
    """Summary of the sign check.

    contradictions : all wrong signs that were found, the largest impulse first
    regular : controls are continuous, see `ArcSettings`
    boundaries_checked : number of pairs of arc and velocity or position at its limit that were checked
    """
    limits, n = motion.problem.path_limits(), motion.problem.dynamics.n
    orders = [limit_order(motion.problem, limit) for limit in limits]
    saturated_orders = [orders[s.limit] for saturated in structure.saturated for s in saturated]
    checked = saturated_orders.count(2) + boundaries_checked
    unchecked = len(saturated_orders) - checked
    spans = zip(structure.durations, structure.saturated, strict=True)
    free = 0.0 if regular else float(sum(seconds for seconds, saturated in spans if len(saturated) < n))
    if not contradictions:
        return Signs(checked, unchecked, 0.0, "", free)
    worst = contradictions[0]
    what = component_label(motion, worst.saturation)
    where = f"{what} from {worst.start:.6f} to {worst.end:.6f} s"
    return Signs(checked, unchecked, worst.impulse, where, free)


def component_label(motion: SolutionData, saturation: Saturation) -> str:
    """The saturated quantity and its joint, such as `tau of elbow`."""
    limit = motion.problem.path_limits()[saturation.limit]
    labels = motion.problem.component_names(limit.term.quantity, limit.lower.size)
    label = labels[saturation.component]
    return f"{limit.term.name} of {label}" if label else limit.term.name
