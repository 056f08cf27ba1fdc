"""Refinements of an answer, in turn: halved spans until errors are small, and nodes for limits alone.

`Refined` halves spans. `LimitNodes` adds nodes where a motion leaves limits between its other nodes. More
nodes everywhere cost time and do not help where a violation is short. Here all limits are evaluated at
the times of `verify`, the peaks of their violations become nodes for limits, and the problem is solved again
from the motion found before; peaks move, so this is repeated. Newton's method from that motion takes a few
steps; where it finds no optimum, the solver goes on. Equations get no further nodes: a spline has no
coefficients for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from trajopt.base.arguments import check_choice, check_count, check_positive, pluralize
from trajopt.base.arrays import Array
from trajopt.base.errors import warn_user
from trajopt.base.tolerances import BETWEEN, LIMIT_ACCURACY
from trajopt.checks.constraint_checks import LimitPeaks, limit_peaks
from trajopt.problem.phases import Asked
from trajopt.problem.problem_parts import Refinement
from trajopt.refinement.error_estimate import ErrorEstimate, estimated, estimated_between_nodes, little_gain
from trajopt.refinement.mesh_levels import STOPPED
from trajopt.solution.journal import (
    Attempt,
    ByAttempts,
    Entry,
    Journal,
    Policy,
    better,
    iterations_on,
    objection,
)
from trajopt.solution.records import RefinementRecord, RefinementRound
from trajopt.solution.solution import Answer, Solution
from trajopt.solvers.newton.newton import MOST_STEPS, ActiveSetNewton, NewtonFromMotion
from trajopt.solvers.run import Fallback, SolvesStopped, TimedSolver, takes_hessian, without_checkpoints
from trajopt.solvers.scaled_program import scaled_point
from trajopt.solvers.solver import DENSE, Program, Run, Solver, StartKind, WarmStart
from trajopt.splines.knots import split
from trajopt.splines.trajectory import Trajectory
from trajopt.transcription.linked_program import LinkedProgram
from trajopt.transcription.nlp import NLP

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
    newton : whether Newton's method is tried before the solver, until a round needs many of its steps. It
        finds no optimum where the rows of a program change with the motion, as those of clearances do

    Every further solve takes at most twice the iterations spent so far, or 200 if that is more.
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
                last = yield from _near(Attempt(asked, None, run, solver, LIMITS, first.attempt.number))
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


def _near(attempt: Attempt) -> Policy[Entry]:
    """A solve from near its optimum, and once more as from any guess where that stops short.

    IPOPT may stand for a thousand iterations at the small barrier of a near start, beside slopes that jump.
    """
    entry = yield attempt
    if entry.answer.status not in STOPPED:
        return entry
    return (yield replace(attempt, run=replace(attempt.run, start_kind=None), solver=None))


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
        old = is_old[group.node] if group.takes_single_nodes else np.ones(group.shape[0], dtype=bool)
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


MARKED_SHARE = 0.1  # of the largest error: spans above it are halved
SPANS = "halved spans"
MOST_WITHOUT_GAIN = 3  # rounds in a row whose error does not fall


@dataclass(frozen=True)
class Refined(ByAttempts):
    """Refinement of knots: `solve(problem, refine=Refined())` halves spans until the errors are small.

    Two relative errors are estimated in every span: that of path equations between nodes, and what finer
    knots could gain of the objective. An answer is replaced only by one whose larger error is smaller;
    `solution.journal.refinement` says what was tried, and whether the tolerance was reached. `LimitNodes()`
    follows in `solve`.

    tol : relative error below which refinement ends
    rounds : largest number of rounds in which spans are halved
    spans : "adaptive", those with the largest errors, or "uniform", all of them
    most : number of spans of an arc at which no more are added
    errors : "both", or "equations", only that of path equations between nodes
    """

    holds_limits: ClassVar[bool] = False

    tol: float = 1e-6
    rounds: int = 6
    spans: Literal["adaptive", "uniform"] = "adaptive"
    most: int = 400
    errors: Literal["both", "equations"] = "both"

    def __post_init__(self) -> None:
        check_positive("tol", self.tol)
        check_count("rounds", self.rounds, 1)
        check_count("most", self.most, 1)
        check_choice("spans", self.spans, ("adaptive", "uniform"))
        check_choice("errors", self.errors, ("both", "equations"))

    def attempts(self, journal: Journal, first: Entry) -> Policy[Entry]:
        """Halve spans of the last answer until its errors are small, and return the best, with its record."""
        run = Run(max_iterations=iterations_on(journal.iterations), start_kind=StartKind.NEAR_START)
        best, last, note, change = first, first, "", np.inf
        errors = least = self._measured(first)
        rounds, notes = [_row(first, errors, note)], [note]
        while not (reason := self._end(last, errors, least, notes, change)):
            finer, before = self._finer(last.answer, errors), last.value
            try:
                last = yield from _near(Attempt(finer, None, run, None, SPANS, first.attempt.number))
            except SolvesStopped as stop:
                reason = str(stop)
                break
            errors = self._measured(last)
            change = abs(last.value - before) / (last.answer.size_of_costs or 1.0)
            note = objection(best, last)
            best, least = (best, least) if note else (last, errors)
            rounds.append(_row(last, errors, note))
            notes.append(note)
        if best is first and self.is_silent(rounds):
            return first
        former = first.answer.journal.refinement
        all_rounds = tuple(rounds) if former is None else (*former.rounds, *rounds[1:])
        record = RefinementRecord(self.tol, all_rounds, reason)
        return replace(best, answer=best.answer.refined_by(record))

    def is_silent(self, rounds: Sequence[RefinementRound]) -> bool:
        """True if an answer that needed no finer mesh gets no record."""
        return False

    def estimate(self, solution: Solution) -> ErrorEstimate:
        """The errors that are asked for, in every span of a solution."""
        return estimated(solution, optimality=self.errors == "both")

    def size(self, errors: ErrorEstimate) -> float:
        """The number that must be smaller of an answer that replaces another."""
        return errors.largest

    def _measured(self, entry: Entry) -> ErrorEstimate:
        """The errors of an answer, which its entry is judged by."""
        errors = self._estimates(entry.answer)
        entry.excess, entry.accuracy, entry.explains_rise = self.size(errors), self.tol, True
        return errors

    def _estimates(self, answer: Answer) -> ErrorEstimate:
        """The errors of all arcs of all parts, the gains relative to the costs of all.

        What phases share is held at its value.
        """
        errors = [self.estimate(part) for part in answer.parts]
        total = answer.size_of_costs or 1.0
        shares = [(part.size_of_costs or 1.0) / total for part in answer.parts]
        each = zip(shares, errors, strict=True)
        return ErrorEstimate(
            tuple(values for one in errors for values in one.equations),
            tuple(share * values for share, one in each for values in one.optimality),
            tuple(values for one in errors for values in one.pointwise),
        )

    def _finer(self, answer: Answer, errors: ErrorEstimate) -> Asked:
        """The problem or the phases with the spans halved that have large errors, or all."""
        meshes: list[Trajectory] = []
        left = errors.marks(self.tol, MARKED_SHARE)
        if self.spans == "uniform":
            left = [np.ones_like(mark) for mark in left]
        for problem in answer.asked.parts:
            arcs = len(problem.trajectory.arcs)
            meshes.append(split(problem.trajectory, left[:arcs]))
            del left[:arcs]
        return answer.asked_on(*meshes)

    def _end(
        self, last: Entry, errors: ErrorEstimate, least: ErrorEstimate, notes: Sequence[str], change: float
    ) -> str:
        """Reason why no further round is needed or allowed; empty where one is.

        A residual at single times is no error where a control jumps, and one where halving its spans changes
        the objective by more than a little, or may.

        least : the errors of the best answer;  notes : of every round, why it did not replace the best one
        change : of the objective by the last round, relative to the size of the costs
        """
        rounds, status = len(notes) - 1, last.answer.status.value
        if not rounds and not last.converged:
            return f"the solve did not converge ({status})"
        if notes[-1]:
            without_gain = all(notes[-MOST_WITHOUT_GAIN:])
            if not last.converged or errors.largest < least.largest or without_gain:
                return f"the finer answer was not better: {notes[-1]}"
        changes = max(change, errors.of_optimality)
        if errors.largest <= self.tol and (
            errors.at_single_times <= self.tol or changes <= little_gain(self.tol)
        ):
            return "the errors are below the tolerance"
        most = max(values.size for values in errors.equations)
        if most >= self.most:
            return f"an arc has {most} spans, the most allowed are {self.most}"
        return f"{pluralize(rounds, 'round')}, the most allowed" * (rounds >= self.rounds)


@dataclass(frozen=True)
class RefinedUntilVerified(Refined):
    """The default refinement of `solve` with path equations: halve spans until `verify` passes them.

    tol : the accuracy between nodes that `verify` asks for
    """

    tol: float = BETWEEN
    rounds: int = 12
    errors: Literal["both", "equations"] = "equations"

    def is_silent(self, rounds: Sequence[RefinementRound]) -> bool:
        """An answer that is fine enough is no refined one."""
        return len(rounds) == 1

    def estimate(self, solution: Solution) -> ErrorEstimate:
        """The errors that `verify` looks at, in every span of a solution."""
        return estimated_between_nodes(solution)

    def size(self, errors: ErrorEstimate) -> float:
        """The error of equations; where `tol` allows it, a number below `tol` that rises with the changes."""
        changes = errors.of_optimality
        within = self.tol * changes / (1.0 + changes)
        return errors.of_equations if errors.of_equations > self.tol else within


def _row(entry: Entry, errors: ErrorEstimate, note: str) -> RefinementRound:
    spans = sum(values.size for values in errors.equations)
    figures = errors.of_equations, errors.of_optimality
    return RefinementRound(spans, entry.answer.objective, *figures, kept=not note, note=note)


def default_refinement(asked: Asked) -> Refinement:
    """The recommendation of a problem; else nodes for limits, after halved spans with path equations."""
    if asked.refinement is not None:
        return asked.refinement
    equations = any(c.is_path_equation for part in asked.parts for c in part.constraints)
    return RefinedUntilVerified() if equations else LimitNodes()


def refinements(journal: Journal, refine: Refinement | None) -> Policy[None]:
    """Refine the best answer as asked; with limit nodes, lower optima that the starts found, too.

    Nodes for limits may reverse the order of two optima.
    """
    others = journal.other_optima() if isinstance(refine, LimitNodes) else []
    journal.chosen = yield from _in_turn(journal, refine, journal.best)
    for other in others:
        if other.value < journal.best.value and not journal.stopped:
            journal.chosen = better(journal.best, (yield from _in_turn(journal, refine, other)))


def _in_turn(journal: Journal, refine: Refinement | None, first: Entry) -> Policy[Entry]:
    """An answer after its refinement, and after limit nodes where it leaves limits between nodes to them.

    Equations may be missed by more on these nodes than before: where they are, both follow once more.
    """
    best = yield from _by(refine, journal, first)
    if getattr(refine, "holds_limits", True):
        return best
    count = len(journal.entries)
    held = yield from _by(LimitNodes(), journal, best)
    if len(journal.entries) == count or not getattr(held.answer.journal.refinement, "reached", True):
        return held
    count = len(journal.entries)
    finer = yield from _by(refine, journal, held)
    return held if len(journal.entries) == count else (yield from _by(LimitNodes(), journal, finer))


def _by(refine: Any, journal: Journal, entry: Entry) -> Policy[Entry]:
    """The entry that one refinement leads to; the former one where a deadline or an error ends it.

    What the callback raises leaves the solve.
    """
    if refine is None or (journal.stopped and not isinstance(refine, LimitNodes)):
        return entry  # limits are looked at even then
    try:
        if hasattr(refine, "attempts"):
            steps: Policy[Entry] = refine.attempts(journal, entry)
            return (yield from steps)
        return _by_others(refine, journal, entry)
    except SolvesStopped:
        return entry
    except Exception as error:  # whatever it is, the finished solve must not be lost
        if any(error is each for each in journal.raised):
            raise
        warn_user(
            f"the refinement ended in an error, the solution is as it was before ({type(error).__name__}: "
            f"{error})"
        )
        return entry


def _by_others(refine: Refinement, journal: Journal, entry: Entry) -> Entry:
    """The entry of a refinement that makes solves of its own."""
    solver = without_checkpoints(journal.solver)
    limited = TimedSolver(solver, journal.run) if np.isfinite(journal.run.deadline) else solver
    before = journal.solution(entry)
    answer = refine.refine(before, limited, journal.run.callback)
    if answer is before:
        return entry
    attempt = Attempt(entry.attempt.asked, policy=type(refine).__name__, number=entry.attempt.number)
    return journal.note(attempt, answer, before)
