"""Diagnosis of a solve that did not converge: which limits are in conflict, by how much, and the smallest
change of a single limit that restores feasibility.

Conflicts are found by elastic relaxation: every row and bound gets a slack on each side, and the sum of
slacks is minimized,

    minimize sum(s)   subject to   row_lower - s_low <= g(y) <= row_upper + s_high,   s >= 0,

an L1 penalty, whose minimizers are sparse: the few limits with a positive slack are those in conflict. The
NLP is scaled, so slacks are parts of the limits' sizes; they are reported in the limits' units.

The smallest change of one limit is the minimum of the same relaxation with a single slack, shared by all rows
of that limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arguments import LISTED, short_repr
from trajopt.base.errors import ShapeError
from trajopt.checks.optimality.dependent_equations import sentences
from trajopt.checks.optimality.elastic import Elastic
from trajopt.checks.optimality.limit_labels import LimitLabels, LimitPlace
from trajopt.problem.links.phases import Asked, Phases, checked_asked
from trajopt.solution.answers import program_of
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.solution import Answer, SolutionData
from trajopt.solvers.run import create, run_solver, without_checkpoints
from trajopt.solvers.solver import Solver
from trajopt.solvers.solver_constants import FEASIBILITY
from trajopt.transcription.links.linked_program import LinkedProgram, unknowns_at_motion, unknowns_of_motions
from trajopt.transcription.nlp import NLP

BADLY_SCALED = 1e6  # ratio of row gradients, or of gradients by unknowns, that is reported


@dataclass(frozen=True)
class Conflict:
    """A limit that is violated."""

    place: LimitPlace  # where it is violated most
    amount: float  # in the limit's unit
    relative: float  # of the limit's size
    rows: int  # how many of its rows are violated


@dataclass(frozen=True)
class Change:
    """The smallest change of one limit that makes the problem feasible, alone."""

    limit: str
    component: str
    absolute: float  # in the limit's unit
    relative: float  # of the limit's size


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis; print it.

    status : how the diagnosed solve ended
    worst : the limits violated at its point, largest first; empty for a motion on other knots
    conflicts : the limits with slack in the elastic relaxation; empty for a feasible problem
    changes : each restores feasibility alone, the smallest relative one first; empty where none does
    warnings : dependent equations and bad scaling
    """

    name: str
    status: str
    feasible: bool
    worst: tuple[Conflict, ...]
    conflicts: tuple[Conflict, ...]
    changes: tuple[Change, ...]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"diagnosis of {self.name}: {self.status}"]
        lines += self._table("violated most at the last point", self.worst)
        if self.feasible:
            lines.append("the limits can be met together: elastic relaxation needed no slack")
        else:
            lines += self._table("limits in conflict (elastic relaxation)", self.conflicts)
            lines += self._changes()
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def _changes(self) -> list[str]:
        if not self.changes:
            return ["no change of a single limit restores feasibility"]
        lines = ["smallest change of one limit that restores feasibility:"]
        for change in self.changes:
            what = f"{change.limit}, {change.component or 'everywhere'}"
            lines.append(f"  {what:<52}{change.absolute:>12.4g} {change.relative:>10.2%}")
        return lines

    @staticmethod
    def _table(title: str, conflicts: Sequence[Conflict]) -> list[str]:
        if not conflicts:
            return []
        lines = [f"{title}:"]
        for conflict in conflicts:
            lines.append(
                f"  {conflict.place!s:<52}{conflict.amount:>12.4g} {conflict.relative:>10.2%}"
                f"  ({conflict.rows} rows)"
            )
        return lines


def diagnose(problem: Asked, solver: Solver | None = None, solution: Answer | None = None) -> Diagnosis:
    """Diagnose a problem, or phases: solve it (unless a solution is given), then minimize its relaxation.

    Of phases every limit begins with the name of its phase. Raises ProblemError as `solve` does;
    contradictions found there need no diagnosis. Raises ShapeError for objects of another kind.
    """
    if isinstance(problem, Answer):
        raise ShapeError(
            "diagnose takes the problem first and got a solution: write trajopt.diagnose(solution.problem, "
            "solution=solution)"
        )
    kind = PhasesSolutionData if isinstance(problem, Phases) else SolutionData
    if solution is not None and not isinstance(solution, kind):
        raise ShapeError(f"solution is {short_repr(solution)}: give the trajopt.Solution of this problem")
    checked_asked(problem)
    solver = solver or problem.solver or create()
    nlp = program_of(problem)
    if solution is None:
        answer = run_solver(solver, nlp)
        status, y, known = answer.status, answer.y, True
    else:
        status, (y, known) = solution.status, unknowns_of(problem, nlp, solution)
    labels = LimitLabels(problem, nlp, y)
    relaxed, solver = Elastic(nlp), without_checkpoints(solver)
    y_relaxed = run_solver(solver, relaxed, relaxed.warm(y)).y
    over = relaxed.violations(y_relaxed)
    feasible = float(over.max(initial=0.0)) <= FEASIBILITY
    conflicts = () if feasible else conflicts_of(labels, over)
    worst = conflicts_of(labels, relaxed.violations(y)) if known else ()
    return Diagnosis(
        name=problem.name,
        status=str(status.value),
        feasible=feasible,
        worst=worst,
        conflicts=conflicts,
        changes=()
        if feasible
        else changes(nlp, labels, (*conflicts, *worst), solver, y_relaxed[: nlp.variable_count]),
        warnings=tuple(warnings_of(nlp, y, labels)),
    )


def repeated_equations(answer: Answer) -> list[str]:
    """Equations of what was asked that follow from others or contradict them where the solve ended.

    Each as a sentence that names constraint, component and time; at most eight.
    """
    program = program_of(answer.asked)
    y, _ = unknowns_of(answer.asked, program, answer)
    return sentences(program, y, LimitLabels(answer.asked, program, y).name)


def unknowns_of(asked: Asked, program: NLP | LinkedProgram, answer: Answer) -> tuple[NDArray, bool]:
    """The unknowns y at which a program has the motions of an answer, and whether these are on its knots.

    On other knots, motions near them.
    """
    found = unknowns_of_motions(program.programs, answer)
    near = unknowns_at_motion(answer, asked, program.programs) if found is None else found
    return np.concatenate(near), found is not None


def changes(
    nlp: NLP | LinkedProgram, labels: LimitLabels, conflicts: Sequence[Conflict], solver: Solver, y: NDArray
) -> tuple[Change, ...]:
    """The smallest change of each conflicting limit that restores feasibility alone, where there is one."""
    found = []
    places = [conflict.place for conflict in conflicts[:LISTED]]
    places += [LimitPlace(name, "", None) for name in dict.fromkeys(place.limit for place in places)]
    tried: set[bytes] = set()
    for place in dict.fromkeys(LimitPlace(place.limit, place.component, None) for place in places):
        members = labels.members(place)
        if members.tobytes() in tried:
            continue
        tried.add(members.tobytes())
        alone = Elastic(nlp, members)
        answer = run_solver(solver, alone, alone.warm(y))
        hard = alone.violations(answer.y)
        hard[:, members] = 0.0
        if hard.max(initial=0.0) <= FEASIBILITY:
            slack = float(answer.y[nlp.variable_count])
            unit, part = (float(np.median(values[members])) for values in (labels.units, labels.parts))
            found.append(Change(place.limit, place.component, slack * unit, slack * part))
    return tuple(sorted(found, key=lambda change: change.relative))


def conflicts_of(labels: LimitLabels, over: NDArray) -> tuple[Conflict, ...]:
    """Violated limits, each at its worst place, the largest relative violation first."""
    size = over.max(axis=0)
    found: dict[tuple[str, str], list[int]] = {}
    for index in np.flatnonzero(size > FEASIBILITY):
        found.setdefault(labels.keys[index], []).append(int(index))
    result = []
    for indices in found.values():
        worst = max(indices, key=lambda i: size[i])
        amount = float(size[worst] * labels.units[worst])
        relative = float(size[worst] * labels.parts[worst])
        result.append(Conflict(labels.place(worst), amount, relative, len(indices)))
    return tuple(sorted(result, key=lambda conflict: -conflict.relative))


def warnings_of(nlp: NLP | LinkedProgram, y: NDArray, labels: LimitLabels) -> list[str]:
    """Bad scaling of rows and unknowns, and equalities that follow from each other, at y."""
    found = []
    values = np.abs(nlp.jacobian(y))
    by_row = np.zeros(nlp.row_count)
    np.maximum.at(by_row, nlp.jacobian_rows, values)
    by_unknown = np.zeros(nlp.variable_count)
    np.maximum.at(by_unknown, nlp.jacobian_columns, values)
    for what, sizes, offset in (("row", by_row, 0), ("unknown", by_unknown, nlp.row_count)):
        alive = np.flatnonzero(sizes > 0.0)
        if alive.size and sizes[alive].max() > BADLY_SCALED * sizes[alive].min():
            low, high = alive[np.argmin(sizes[alive])], alive[np.argmax(sizes[alive])]
            found.append(
                f"gradients by {what} differ {sizes[high] / sizes[low]:.1e} times: least for "
                f"{labels.name(offset + low)}, largest for {labels.name(offset + high)}; use units where "
                "both are near one"
            )
    return found + sentences(nlp, y, labels.name)
