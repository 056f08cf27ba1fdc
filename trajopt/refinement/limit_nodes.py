"""Limit nodes: nodes that carry limits alone, where a motion leaves limits between its other nodes.

More nodes everywhere cost time and do not help where a violation is short. Here all limits are evaluated at
the times of `verify`, the peaks of their violations become nodes for limits, and the problem is solved again
from the motion found before; peaks move, so this is repeated. Newton's method from that motion takes a few
steps; where it finds no optimum, the solver goes on. Equations get no further nodes: a spline has no
coefficients for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arguments import check_count, check_positive, pluralize
from trajopt.base.arrays import Array
from trajopt.base.tolerances import LIMIT_ACCURACY
from trajopt.checks.limit_peaks import LimitPeaks, limit_peaks
from trajopt.problem.phases import Asked
from trajopt.solution.journal import Attempt, ByAttempts, Entry, Journal, Policy, iterations_on, objection
from trajopt.solution.solution import Answer, Solution
from trajopt.solvers.newton.newton import MOST_STEPS, ActiveSetNewton, NewtonFromMotion
from trajopt.solvers.run import Fallback, SolvesStopped, TimedSolver, takes_hessian, without_checkpoints
from trajopt.solvers.scaled_program import scaled_point
from trajopt.solvers.solver import DENSE, Program, Run, StartKind, WarmStart
from trajopt.splines.trajectory import Trajectory
from trajopt.transcription.linked_program import LinkedProgram
from trajopt.transcription.nlp import NLP

if TYPE_CHECKING:
    from trajopt.solvers.solver import Solver

LIMITS = "limit nodes"
FAR = 0.1  # of a limit's size: above it, the first round adds two nodes in every interval


@dataclass(frozen=True)
class LimitNodes(ByAttempts):
    """Limits between nodes: `solve(problem, refine=LimitNodes())` adds nodes where they are violated.

    It is what `solve` does by default; `solve(refine=None)` holds limits at the nodes of the mesh alone.
    Every inequality over an interval of time is looked at between the nodes as `verify` does. Where one is
    violated by more than `accuracy` of the larger of its two bounds, peaks become nodes for limits, and the
    problem is solved again from its motion. Returned is the motion whose limits are violated least; where
    that is still more than `accuracy`, its `warning` says which limit is, and by how much. Limits are
    sampled, not proved; `Certified` bounds them for all t.

    accuracy : largest violation between nodes, relative to a limit's size, as in `Solution.verify`
    rounds : largest number of times that nodes are added
    newton : whether Newton's method is tried in every round before the solver. It finds no optimum where the
        rows of a program change with the motion, as those of clearances do

    Every further solve takes at most twice the iterations of the first, at least 200.
    """

    accuracy: float = LIMIT_ACCURACY
    rounds: int = 6
    newton: bool = True

    def __post_init__(self) -> None:
        check_positive("accuracy", self.accuracy)
        check_count("rounds", self.rounds, 1)

    @property
    def _least_peak(self) -> float:
        """Smaller than the accuracy: peaks below that grow when others are held down."""
        return 0.5 * self.accuracy

    def attempts(self, journal: Journal, first: Entry) -> Policy[Entry]:
        """Add nodes at the peaks of the last answer until its limits hold, and return the best one."""
        if not first.converged:
            return first
        run = Run(max_iterations=iterations_on(journal.iterations), start_kind=StartKind.SAME_MOTION)
        best = last = first
        peaks = least = self._measured(first)
        newton, reason, count = self.newton, "", 0
        while last.converged and last.excess > self.accuracy and count < self.rounds:
            # Where limits are exceeded by far, nodes are too far apart everywhere: in the first round two
            # more in every interval, as peaks that are held down let others grow beside them.
            times = [
                _thirds(part) if not count and own.largest > FAR else own.above(self._least_peak)
                for part, own in zip(last.answer.parts, peaks, strict=True)
            ]
            if not any(own.size for own in times):
                break
            before = journal.iterations
            solver = _from_answer(last.answer, without_checkpoints(journal.solver), newton)
            asked = asked_with_limit_nodes(last.answer, times)
            try:
                last = yield Attempt(asked, None, run, solver, LIMITS, first.attempt.number)
            except SolvesStopped as stop:
                reason = str(stop)
                break
            # It fails again on more nodes of the same program, at the cost of several solves.
            newton = newton and journal.iterations - before <= MOST_STEPS
            count, peaks = count + 1, self._measured(last)
            best, least = (best, least) if objection(best, last) else (last, peaks)
        warning = self._warning(best.answer, least, count, reason)
        if best is first and warning == first.answer.warning:
            return first
        answer = best.answer.refined_by(first.answer.journal.refinement)
        return replace(best, answer=replace(answer, warning=warning))

    def _measured(self, entry: Entry) -> list[LimitPeaks]:
        """The peaks of all parts of an answer, which its entry is judged by."""
        peaks = [limit_peaks(part, self._least_peak) for part in entry.answer.parts]
        entry.excess, entry.accuracy = max(peak.largest for peak in peaks), self.accuracy
        entry.explains_rise = False
        return peaks

    def _warning(self, answer: Answer, peaks: list[LimitPeaks], count: int, reason: str) -> str:
        """The limit that an answer exceeds by more than the accuracy; else the warning that it has."""
        sizes = [peak.largest for peak in peaks]
        worst = int(np.argmax(sizes))
        if sizes[worst] <= self.accuracy:
            return answer.warning
        name, _ = answer.named_parts[worst]
        tried = f"{pluralize(count, 'round')} of further nodes did not mend it" * bool(count)
        sentence = f"phase '{name}': " * bool(name) + peaks[worst].sentence
        return "; ".join(filter(None, (sentence, reason or tried)))


def _thirds(solution: Solution) -> Array:
    """Two times in every interval between neighbouring nodes, seconds."""
    nodes = np.unique(solution.node_times)
    steps = np.diff(nodes) / 3.0
    return np.concatenate([nodes[:-1] + steps, nodes[1:] - steps])


def _from_answer(answer: Answer, solver: Solver, newton: bool) -> Solver:
    """A solver from the multipliers of an answer on fewer limit nodes, then, if it fails, `solver`.

    Newton's method, or the interior-point method, which takes half the iterations with them in tasks
    among obstacles; IPOPT takes more than without. A solver without a tolerance, or without second
    derivatives, stays as it is.
    """
    if isinstance(solver, TimedSolver):
        return replace(solver, solver=_from_answer(answer, solver.solver, newton))
    tol, first = getattr(solver, "tol", None), getattr(solver, "alone", None)
    if newton and tol is not None and takes_hessian(solver):
        first = ActiveSetNewton(tol, NewtonFromMotion.shift, NewtonFromMotion.finer)
    if first is None:
        return solver

    def known(nlp: Program) -> WarmStart | None:
        own: Any = getattr(nlp, "unscaled", None) or nlp
        small = nlp.variable_count <= DENSE or not newton
        start = start_on_more_nodes(answer, own) if small else None
        return start if start is None or own is nlp else scaled_point(start, own.unknown_sizes)

    return Fallback(first, solver, known)


def start_on_more_nodes(answer: Answer, program: NLP | LinkedProgram) -> WarmStart | None:
    """An answer as the start of a program on the same knots with further limit nodes; None where none fits.

    program : of the problem, or of the phases, that were solved, with these nodes
    """
    point, before, now = answer.point, answer.scaling, program.scaling
    if point is None or before is None or point.y.size != program.variable_count:
        return None
    of_rows, of_lower, of_upper = point.row_multipliers, point.lower_multipliers, point.upper_multipliers
    if of_rows is None or of_lower is None or of_upper is None:
        return None
    of_parts = np.concatenate(list(map(_on_more_nodes, answer.parts, program.programs)))
    between_phases = program.row_count - of_parts.size  # equations, the last rows
    of_links = of_rows[of_rows.size - between_phases :] / before.objective
    weight = now.objective / before.objective
    whole = np.concatenate([of_parts, of_links]) * now.objective / now.rows
    return WarmStart(point.y, whole, of_lower * weight, of_upper * weight)


def _on_more_nodes(solution: Solution, program: NLP) -> Array:
    """Row multipliers without scaling, (rows,), zero at nodes that the solution has not."""
    point, scaling, linear = solution.point, solution.scaling, program.linear.count
    assert point is not None and point.row_multipliers is not None and scaling is not None
    before, after = solution.problem.trajectory.nodes, program.unknowns.nodes
    known = set(zip(before.arc.tolist(), before.s.tolist(), strict=True))
    is_old = np.array([each in known for each in zip(after.arc.tolist(), after.s.tolist(), strict=True)])
    found = [point.row_multipliers[:linear] * scaling.rows[:linear] / scaling.objective]
    cursor: dict[str, int] = defaultdict(int)
    for group in program.groups:
        single = np.all(np.diff(group.weights.indptr) == 1)
        old = is_old[group.weights.indices] if single else np.ones(group.shape[0], dtype=bool)
        first, rows = cursor[group.name], np.zeros(group.shape)
        last = cursor[group.name] = first + int(old.sum())
        given = solution.multipliers.get(group.name, np.empty((0, 0)))[first:last]
        if given.shape == rows[old].shape:  # a limit of which no node was in its window had no rows
            rows[old] = given
        found.append(rows.ravel()[group.kept])
    return np.concatenate(found)


def asked_with_limit_nodes(answer: Answer, times: Sequence[Sequence[float] | Array]) -> Asked:
    """The problem with limit nodes added at these times (s) of every part, started from its solution."""
    return answer.asked_on(*map(with_limit_nodes, answer.parts, times))


def with_limit_nodes(solution: Solution, times: Sequence[float] | Array) -> Trajectory:
    """The trajectory of a solution's problem with limit nodes at these times (k,), seconds, too."""
    curve, seconds = solution.curve, np.asarray(times, dtype=float)
    arc = curve.arc_at(seconds)
    s = (seconds - curve.starts[arc]) / curve.durations[arc]
    return solution.problem.trajectory.with_limit_nodes(arc, s)
