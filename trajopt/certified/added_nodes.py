"""Limits that hold between the nodes of a spline: the times of violations become nodes.

The problem is solved again from the last motion until the largest violation is below the tolerance. Where
that solve does not converge, limits are tightened by their violations; where limits still do not hold at the
end, time is scaled. Returned is the answer whose limits were violated least, and none whose path equations
are missed more than before. Phases are solved again together, without tighter limits and time scaling.

Uniform time scaling traverses the same path more slowly until violated limits hold.

With q(t) replaced by q(t / k), k > 1, velocities fall by k, accelerations by k^2, and torques approach those
of standing still, tau = g + (tau - g) / k^2. States of rest stay at rest. The result is the optimum of no
program, but all its limits hold, its duration is k times the former one, and its costs are those of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.base.tolerances import CONTROL_POINT_ROUNDING, NOT_ZERO
from trajopt.certificates.certificate import OUT_OF_NODES, Certificate, certificate_of_phases
from trajopt.certificates.certificate_record import FirstOrderGain, impulses_by_component
from trajopt.certified.search_settings import DEFAULT, SearchSettings
from trajopt.certified.switching.structure_attempt import converged_to_rounding
from trajopt.checks.constraint_checks import limit_peaks
from trajopt.checks.peaks_between_nodes import SEARCH_DENSITY
from trajopt.checks.violations import equation_tolerance, largest_violations
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.refinement.error_estimate import equation_errors
from trajopt.refinement.refinements import asked_with_limit_nodes
from trajopt.solution.answers import costs_at, program_of
from trajopt.solution.journal import Attempt, Journal
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.records import Certification
from trajopt.solution.solution import Answer, Solution
from trajopt.solvers.run import OUT_OF_TIME, SolvesStopped
from trajopt.solvers.solver import Run, StartKind, Status
from trajopt.splines.node_sets import END, START


def time_scaled(solution: Solution, tolerance: float, settings: SearchSettings = DEFAULT) -> Solution | None:
    """The slower motion, no violation of it above `tolerance`; None where time scaling does not help.

    Only between two states of rest, on one arc of free duration, for problems that minimize the duration too.
    """
    if not may_be_scaled(solution, settings.most_time_scaling):
        return None
    growth, slower, first = 0.0, solution, 0.0
    for _ in range(settings.time_scaling_attempts + 1):
        violations = largest_violations(slower)
        if growth and all(violation.value <= tolerance for violation in violations):
            return slower
        # Torques fall by twice the growth of the duration, but for the part that carries gravity.
        largest = max((each.share for each in violations), default=0.0)
        first = first or largest
        more = settings.margin_factor * largest / max(first - largest, largest, NOT_ZERO)
        growth = growth * (1.0 + more) if growth else largest
        # Where no limit is exceeded, what fails is no limit over the path.
        if largest <= 0.0 or growth > settings.most_time_scaling:
            return None
        slower = _scaled(solution, 1.0 + growth)
    return None


def may_be_scaled(solution: Solution, most: float) -> bool:
    """True if the motion is one that may last longer by the part `most` of its duration."""
    problem = solution.problem
    ends = np.array([0.0, solution.duration])
    at_rest = np.abs(solution.v(ends)).max() <= CONTROL_POINT_ROUNDING
    room = all(arc.duration_bounds[1] > (1.0 + most) * solution.duration for arc in problem.trajectory.arcs)
    takes_time = any(cost.term.quantity == "duration" for cost in problem.costs)
    limits = solution.problem.path_limits()
    timeless = all(
        c in limits or (c.over in (START, END) and c.term.quantity in ("q", "v")) for c in problem.constraints
    )
    bare = not (problem.extras or problem.parameters or problem.periodicities or problem.integrals)
    return bool(at_rest and room and takes_time and timeless and bare and len(problem.trajectory.arcs) == 1)


def _scaled(solution: Solution, factor: float) -> Solution:
    """q(t / factor), without the solver's own point, which belongs to the faster motion."""
    curve = replace(solution.curve, durations=solution.curve.durations * factor)
    nlp: Any = program_of(solution.problem)
    costs = costs_at(nlp, nlp.unknowns.of(curve, solution.parameters))
    return replace(
        solution,
        curve=curve,
        node_times=solution.node_times * factor,
        cost_terms=costs,
        objective=sum(costs.values()),
        point=None,
    )


Margins = list[Array]  # of every path limit, (width,) each

NODES, NEAR = "added nodes", Run(start_kind=StartKind.SAME_MOTION)


class _NoFurtherNodes(Exception):
    """Raised in place of a motion with further nodes where there is none that counts, with the reason."""


@dataclass(frozen=True)
class NodeRefinement:
    """Certification of a spline solution by adding nodes.

    tol : largest violation of any limit that is found, in the limit's own unit
    rounds : largest number of times that nodes are added
    equation_tol : largest residual of an equation, relative to its scale, as in `Certified`
    effort : of all solves so far, one number as `SearchSettings.effort_of` counts it; copies share it
    """

    tol: float
    rounds: int
    settings: SearchSettings
    equation_tol: float | None = None
    effort: list[float] = field(default_factory=lambda: [0.0], repr=False, compare=False)

    def run(self, solution: Answer, journal: Journal, reason: str, slack: float = 0.0) -> Any:
        """The solution with a certificate, on as many nodes as its limits needed.

        reason : why there is no switching structure
        slack : of the duration, by which time may be scaled in place of more nodes
        """
        missed = _missed(solution)
        # Nodes that carry no equations cannot double the error of path equations
        allowed = max(equation_tolerance(self.equation_tol, self.tol), 2.0 * missed)
        last: Any = solution
        best, ended = last, ""
        tried = [least := self._certificate(solution, reason)]
        while len(tried) <= self.rounds and not self._ready(last, tried, slack):
            try:
                if self.effort[0] >= (most := self.settings.node_total):
                    raise _NoFurtherNodes(f"{most} iterations {OUT_OF_NODES}")
                last, margins = self._finer(last, tried[-1], journal)
                self.effort[0] += self.settings.effort_of(last)
                if (now := _missed(last)) > allowed:
                    worse = f"added nodes made equations worse, from {missed:.1e} to {now:.1e} of their scale"
                    raise _NoFurtherNodes(worse)
            except (_NoFurtherNodes, SolvesStopped) as end:
                ended = str(end)
                break
            tried.append(self._certificate(last, reason, margins))
            if last.converged and _violated(tried[-1]) < _violated(least):
                best, least = last, tried[-1]
        best = replace(best, recipe=solution.recipe, journal=solution.journal)
        reasons = "; ".join(dict.fromkeys(filter(None, (reason, ended))))
        noted: Any = {"rounds": len(tried) - 1, "reason": reasons}
        if least.phases:
            return replace(best, certification=Certification(self.tol, self.equation_tol, **noted))
        return self._scaled(best, least.noting(**noted))

    def _ready(self, answer: Any, tried: Sequence[Certificate], slack: float) -> bool:
        """True if no further nodes are wanted: time is scaled by so little, or nodes hardly help."""
        if not answer.converged or slack == 0.0 or not may_be_scaled(answer, slack):
            return not answer.converged
        # Relative growth of the duration by which time scaling would remove the largest violation
        growth = [max((each.share for each in one.violations), default=0.0) for one in tried]
        before, now = [np.inf, *growth][-2:]
        most = self.settings.most_scaled
        if not (now <= slack or self.settings.scaled_share * before < now <= most):
            return False
        slower = time_scaled(answer, self.tol, self.settings)  # under gravity by more than the estimate
        return slower is not None and slower.duration <= (1.0 + most) * answer.duration

    def _finer(self, solution: Any, certificate: Certificate, journal: Journal) -> tuple[Any, Margins | None]:
        """The motion with added nodes, and the margins by which limits were tightened, where they were."""
        each = zip(solution.parts, certificate.parts, strict=True)
        times = [times_of_violations(part, own, self.tol, self.settings) for part, own in each]
        if not any(times):
            raise _NoFurtherNodes
        problem = asked_with_limit_nodes(solution, times)
        refined = journal.answer(Attempt(problem, run=NEAR, policy=NODES))
        refined = converged_to_rounding(refined, self.settings)
        if refined.converged:
            return refined, None
        if certificate.phases:
            raise _NoFurtherNodes("with added nodes the solve did not converge")
        factor = self.settings.tightening_factor
        sizes = [max(0.0, factor * violation.value) for violation in certificate.violations]
        margins = by_limit(sizes, solution.problem.path_limits())
        tighter = self._within_tighter_limits(solution, margins, journal)
        if tighter is None:
            raise _NoFurtherNodes("adding nodes and tightening limits did not converge")
        return tighter, margins

    def certified(self, solution: Solution, reason: str) -> Solution:
        """The solution with its certificate, after time scaling where its limits do not hold otherwise."""
        return self._scaled(solution, self._certificate(solution, reason))

    def _scaled(self, solution: Solution, certificate: Certificate) -> Solution:
        if not certificate.holds and solution.converged:
            slower = time_scaled(solution, self.tol, self.settings)
            if slower is not None:
                growth = slower.duration / solution.duration - 1.0
                solution = slower
                certificate = replace(certificate, motion=solution, slowed=growth, gain=None)
        return replace(solution, certificate=certificate)

    def _certificate(self, solution: Any, reason: str, margins: Margins | None = None) -> Any:
        if isinstance(solution, PhasesSolution):
            certification = Certification(self.tol, self.equation_tol, 0, reason)
            return certificate_of_phases(replace(solution, certification=certification))
        limits = solution.problem.path_limits()
        known = {"motion": solution, "equation_tolerance": self.equation_tol}
        certificate = Certificate(self.tol, "added nodes", None, 0, reason, **known)
        if certificate.unchecked:
            return certificate
        over = by_limit([violation.value for violation in certificate.violations], limits)
        oversteps = cost = 0.0
        for k, limit in enumerate(limits):
            impulses = impulses_by_component(solution.multipliers, [limit.name], limit.lower.size)
            oversteps += float(impulses @ np.maximum(over[k], 0.0))
            cost += float(impulses @ margins[k]) if margins else 0.0
        gain = FirstOrderGain.of(oversteps, cost, solution.objective)
        return certificate.noting(gain=gain)

    def _within_tighter_limits(
        self, solution: Solution, margins: Margins, journal: Journal
    ) -> Solution | None:
        """Solve again with every limit tightened by a margin; None where that does not converge.

        Raises SolvesStopped where the time is over.
        """
        original = solution.problem
        problem = solution.asked_on(original.trajectory)
        for limit, margin in zip(solution.problem.path_limits(), margins, strict=True):
            tighter = replace(limit, lower=limit.lower + margin, upper=limit.upper - margin)
            if np.any(tighter.lower > tighter.upper) or not np.all(np.isfinite(margin)):
                return None
            problem.constraints[problem.constraints.index(limit)] = tighter
        try:
            refined = journal.answer(Attempt(problem, run=NEAR, policy=NODES))
        except InfeasibleBoundsError:  # no motion is within such limits
            return None
        if refined.status is Status.TIME_LIMIT:
            raise SolvesStopped(OUT_OF_TIME)
        return replace(refined, known_problem=original, point=None) if refined.converged else None


def times_of_violations(
    solution: Solution, certificate: Certificate, tol: float, settings: SearchSettings
) -> list[float]:
    """Peaks of limits that are violated, of those over windows and arcs too; none where limits hold.

    Equations are left to finer knots: a spline has no coefficients for more nodes of theirs.
    """
    threshold: float = settings.node_threshold * tol
    failing = [
        line.time
        for line in certificate.lines
        if line.evidence == "sampled" and not (line.holds or line.equation or line.note)
    ]
    if certificate.largest_violation <= tol and not failing:
        return []
    peaks = limit_peaks(solution, -np.inf, SEARCH_DENSITY, solution.problem.path_limits())
    return peaks.times[peaks.values > threshold].tolist() + failing


def by_limit(values: Sequence[float], limits: Sequence[Constraint]) -> Margins:
    """Values of all components of all limits as one array for each limit."""
    ends = np.cumsum([limit.lower.size for limit in limits])
    return np.split(np.asarray(values, dtype=float), ends[:-1]) if len(ends) else []


def _violated(certificate: Certificate) -> float:
    """The largest violation of a limit in multiples of its tolerance; less than any where all lines hold."""
    if certificate.holds:
        return -np.inf
    return max((line.ratio for line in certificate.lines if not line.equation), default=-np.inf)


def _missed(solution: Answer) -> float:
    """Residual of the path equations between nodes, relative to their scale."""
    return float(np.max([errors.max() for part in solution.parts for errors in equation_errors(part)]))
