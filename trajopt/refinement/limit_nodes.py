"""Limit nodes: nodes that carry limits alone, where a motion leaves limits between its other nodes.

Nodes everywhere are dear and do not help where a violation is short. Here the violations of all limits are
looked at on the grid of `verify`, their peaks become nodes for limits, and the problem is solved again from
the motion that there is; peaks wander, so this is repeated. Equations get no further nodes: a spline has no
coefficients for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from trajopt.base.arguments import check_count, check_positive
from trajopt.base.arrays import Array
from trajopt.checks.check_times import CHECK_DENSITY
from trajopt.checks.constraint_checks import ConstraintChecks
from trajopt.checks.peaks import search
from trajopt.refinement.rounds import Rounds, run_rounds, unless_smaller
from trajopt.solution.solution import Answer, SolutionData
from trajopt.solution.solve_once import solve_once
from trajopt.solvers.solver import Run, StartKind
from trajopt.splines.basis import SAME_TIME
from trajopt.splines.trajectory import Trajectory

if TYPE_CHECKING:
    from trajopt.solvers.solver import Callback, Solver

AnswerT = TypeVar("AnswerT", bound=Answer)

SHARE = 0.5  # of the accuracy: peaks above become nodes, too, as they grow when others are held down
BESIDE_END = 1e-8  # of an arc: where a node stands for its end


@dataclass(frozen=True)
class LimitNodes:
    """Limits between nodes: `solve(problem, refine=LimitNodes())` adds nodes where they are violated.

    Every inequality over an interval of time is looked at between the nodes as `verify` does. Where one is
    violated by more than `accuracy` of its range, peaks become nodes for limits, and the problem is solved
    again from its motion. Returned is the motion whose limits are violated least. What holds is sampled, not
    proved; `Certified` bounds all of it.

    accuracy : largest violation between nodes, relative to the range of a limit, as in `Solution.verify`
    rounds : largest number of times that nodes are added
    """

    takes_links: ClassVar[bool] = True

    accuracy: float = 1e-2
    rounds: int = 6

    def __post_init__(self) -> None:
        check_positive("accuracy", self.accuracy)
        check_count("rounds", self.rounds, 1)

    def refine(self, solution: AnswerT, solver: Solver, progress: Callback | None = None) -> AnswerT:
        """The answer, of a problem or of phases, whose limits are violated least between nodes."""
        run = Run(start_kind=StartKind.SAME_MOTION, callback=progress)

        def ended(rounds: Rounds[list[LimitPeaks]]) -> str | None:
            last, found = rounds.last.answer, rounds.last.measure
            fine = _largest(found) <= self.accuracy or not any(own.size for own in self._times(found))
            return "" if not last.converged or fine or rounds.count == self.rounds else None

        def finer(rounds: Rounds[list[LimitPeaks]]) -> Any:
            return solve_once(
                asked_with_limit_nodes(rounds.last.answer, self._times(rounds.last.measure)), solver, run
            )

        return run_rounds(
            solution,
            measure=lambda answer: [limit_peaks(part) for part in answer.parts],
            ended=ended,
            finer=finer,
            objection=unless_smaller(_largest),
        ).answer()

    def _times(self, found: list[LimitPeaks]) -> list[Array]:
        """The times of the nodes to add in every part, seconds."""
        return [each.above(SHARE * self.accuracy) for each in found]


@dataclass(frozen=True, eq=False)
class LimitPeaks:
    """Local maxima of the violations of limits between nodes.

    times : seconds, (k,);  relative : the violation, relative to the range of its limit, (k,)
    spacing : seconds, of the samples around each, (k,)
    """

    times: Array
    relative: Array
    spacing: Array

    @property
    def largest(self) -> float:
        """The largest violation, relative to its range; 0 where all limits hold."""
        return float(self.relative.max(initial=0.0))

    def above(self, least: float) -> Array:
        """Times (m,) of the peaks above `least`, the highest of those that are neighbours."""
        found: list[float] = []
        for peak in np.argsort(-self.relative, kind="stable"):
            if self.relative[peak] <= least:
                break
            if np.abs(np.array(found) - self.times[peak]).min(initial=np.inf) > self.spacing[peak]:
                found.append(float(self.times[peak]))
        return np.sort(found)


def _largest(found: list[LimitPeaks]) -> float:
    return max(each.largest for each in found)


def limit_peaks(solution: SolutionData) -> LimitPeaks:
    """The peaks of all inequalities over intervals of time; those that nodes can lower, and finite ones."""
    checks = ConstraintChecks(solution)
    stated = [c for c in checks.over_intervals() if np.any(c.lower != c.upper)]
    found = [(np.empty(0),) * 3]
    for peaks in search(solution, stated, CHECK_DENSITY, above=0.0, most=None):
        constraint, width = peaks.constraint, peaks.constraint.lower.size
        relative = peaks.values / checks.side_scales(constraint, peaks.reach).ravel()[peaks.side]
        own = (constraint.lower != constraint.upper)[peaks.side % width] & (relative > 0.0)
        found.append((peaks.times[own], relative[own], peaks.spacing[own]))
    return LimitPeaks(*(np.concatenate(each) for each in zip(*found, strict=True)))


def asked_with_limit_nodes(answer: Answer, times: Sequence[Sequence[float] | Array]) -> Any:
    """What was asked, from its motions, with limit nodes at these times of every part, seconds, too."""
    each = zip(answer.parts, times, strict=True)
    return answer.asked_on(*(with_limit_nodes(part, own) for part, own in each))


def with_limit_nodes(solution: SolutionData, times: Sequence[float] | Array) -> Trajectory:
    """The trajectory of a solution's problem with limit nodes at these times (k,), seconds, too."""
    trajectory, curve = solution.problem.trajectory, solution.curve
    nodes, points = trajectory.nodes, []
    arcs = np.searchsorted(curve.starts[1:-1], times, side="right")
    for arc in range(len(trajectory.arcs)):
        s = (np.asarray(times)[arcs == arc] - curve.starts[arc]) / curve.durations[arc]
        if trajectory.arcs[arc].collocated:  # its ends without weight carry no limits of own terms
            s = np.clip(s, BESIDE_END, 1.0 - BESIDE_END)
        known = nodes.s[nodes.arc == arc]
        apart = np.abs(s[:, None] - known).min(axis=1, initial=np.inf) > SAME_TIME
        points.append(s[apart & (s > 0.0) & (s < 1.0)].tolist())
    return trajectory.with_limit_points(points)
