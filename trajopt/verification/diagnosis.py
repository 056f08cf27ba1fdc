"""Diagnosis of a solve that did not converge: which limits are in conflict, by how much, and the smallest
change of a single limit that restores feasibility.

Conflicts are found by elastic relaxation: every row and bound gets a slack on each side, and the sum of
slacks is minimized,

    minimize sum(s)   subject to   row_lower - s_low <= g(y) <= row_upper + s_high,   s >= 0,

an L1 penalty, whose minimizers are sparse: the few limits with a positive slack are those in conflict. The
NLP is scaled, so slacks are parts of the limits' sizes; they are reported in the limits' units.

The smallest change of one limit is the minimum of the same relaxation with a single slack, shared by all rows
of that limit.

Linearly dependent equality constraints at a point are rows of the Jacobian that combine to zero.

The linear independence constraint qualification (LICQ) fails there, and multipliers are not unique. Each row
in turn is made orthogonal to the earlier ones (Gram-Schmidt); where next to nothing is left,

    row_i = sum_j w_j row_j   with few j,

so at this point equation i follows from the equations j, or contradicts them where its residual is not that
combination of theirs (a Farkas certificate of the linearized equations).

Rows that only come to depend on each other at the optimum, as circles that touch there, have multipliers that
grow without bound while grad f + J' lambda stays small: then J' lambda / max_i |lambda_i row_i| is next to
nothing, and the largest terms of that sum are the rows that depend on each other, limits among them.

Elastic relaxation lets every row and bound of an NLP be violated, and minimizes the sum of violations:

    minimize sum(s) + w/2 |y - y_start|^2
    subject to   row_lower - s_low <= g(y) <= row_upper + s_high,   s >= 0

with a small w that makes the minimizer unique.

Bounds on unknowns become rows, so that they can be violated too; only durations stay positive. Rows may
share a slack: it is then the smallest change of a whole limit, the same at all times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arguments import LISTED, list_names, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import ShapeError
from trajopt.base.tolerances import NOT_ZERO
from trajopt.checks.limit_labels import LimitLabels, LimitPlace
from trajopt.graph.quantities import extra_leaf
from trajopt.problem.costs_and_constraints import limits_over_path
from trajopt.problem.phases import Asked, Phases, checked_asked
from trajopt.solution.answers import program_of
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.solution import Answer, Solution
from trajopt.solvers.kkt import multipliers_of, side_violations
from trajopt.solvers.matrices import dense_jacobian
from trajopt.solvers.newton.newton import MOST_ENTRIES
from trajopt.solvers.run import create, run_solver, without_checkpoints
from trajopt.solvers.solver import DEPENDENT, FEASIBILITY, Solver, WarmStart
from trajopt.transcription.elimination import combined
from trajopt.transcription.linked_program import LinkedProgram, unknowns_at_motion, unknowns_of_motions
from trajopt.transcription.nlp import NLP


@dataclass(frozen=True)
class Dependence:
    """A row of the NLP that is a combination of others, and the gap between their residuals."""

    row: int
    others: tuple[int, ...]
    gap: float

    def sentence(self, name: Callable[[int], str]) -> str:
        """The dependence in words, with the names of rows."""
        if not self.others:
            return f"{name(self.row)} is fixed by other conditions: no unknown changes it here"
        partners = " and ".join(name(other) for other in self.others[:LISTED])
        more = len(self.others) - LISTED
        partners += f" and {more} more" * (more > 0)
        if abs(self.gap) > FEASIBILITY:
            return f"{name(self.row)} contradicts {partners} by {abs(self.gap):.3g} of its limit: drop one"
        return f"{name(self.row)} follows from {partners}: drop one"


def dependent_equations(nlp: NLP | LinkedProgram, y: Array) -> tuple[Dependence, ...]:
    """Equality rows that depend on earlier ones at y, in order."""
    rows = np.flatnonzero(nlp.row_lower == nlp.row_upper)
    if rows.size == 0 or nlp.row_count * nlp.variable_count > MOST_ENTRIES:
        return ()
    matrix = dense_jacobian(nlp, nlp.jacobian(y))[rows]
    if not np.all(np.isfinite(matrix)):
        return ()
    residual = nlp.rows(y)[rows] - nlp.row_lower[rows]
    independent, dependent = _split(matrix)
    found = []
    for i in dependent:
        earlier = [j for j in independent if j < i]
        others = combined(matrix[earlier], matrix[i], earlier) if matrix[i].any() and earlier else []
        gap = float(residual[i])
        if others:
            weights = np.linalg.lstsq(matrix[others].T, matrix[i], rcond=None)[0]
            gap -= float(weights @ residual[others])
        found.append(Dependence(int(rows[i]), tuple(int(rows[j]) for j in others), gap))
    return tuple(found)


def cancelling_rows(nlp: NLP | LinkedProgram, point: WarmStart) -> Array:
    """Rows, then bounds (counted on from the rows), whose multipliers times gradients cancel, largest first.

    Empty where the sum of all is above 1e-8 of the largest, or one is not finite. Those below 1e-4 of
    the largest are no part of it.
    """
    rows, lower, upper = multipliers_of(nlp, point)
    entries = nlp.jacobian(point.y)
    lengths = np.sqrt(np.bincount(nlp.jacobian_rows, entries**2, nlp.row_count))
    sizes = np.concatenate([np.abs(rows) * lengths, np.abs(upper - lower)])
    terms = entries * rows[nlp.jacobian_rows]
    total = np.bincount(nlp.jacobian_columns, terms, nlp.variable_count) + upper - lower
    largest = float(sizes.max(initial=0.0))
    if not (0.0 < largest < np.inf and np.linalg.norm(total) <= DEPENDENT * largest):
        return np.array([], int)
    found = np.flatnonzero(sizes >= np.sqrt(DEPENDENT) * largest)
    return found[np.argsort(-sizes[found], kind="stable")]


def sentence_of_multipliers(asked: Asked, nlp: NLP | LinkedProgram, point: WarmStart) -> str:
    """The rows whose multipliers cancel, each limit once, as a sentence; empty where none do."""
    found = cancelling_rows(nlp, point)
    if found.size < 2:  # one alone, without a gradient, is told by the equations
        return ""
    labels = LimitLabels(asked, nlp, point.y)
    names = [labels.name(first) for first, *_ in labels.grouped(found.tolist()).values()]
    return (
        f"{found.size} rows and limits depend on each other where the solve ended, as their multipliers grow "
        f"and cancel: {list_names(names)}: drop one of them, or ask for less there"
    )


def sentences(nlp: NLP | LinkedProgram, y: Array, name: Callable[[int], str]) -> list[str]:
    """The first few dependent equations at y, each as a sentence, and how many there are."""
    found = dependent_equations(nlp, y)
    if not found:
        return []
    count = int(np.sum(nlp.row_lower == nlp.row_upper))
    worst = sorted(found, key=lambda dependence: -abs(dependence.gap))[:LISTED]
    lines = [dependence.sentence(name) for dependence in worst]
    return [f"{len(found)} of {count} equations depend on others; {lines[0]}", *lines[1:]]


def _split(matrix: Array) -> tuple[list[int], list[int]]:
    """Numbers of the rows that are independent of earlier ones, and of those that are not."""
    basis = np.empty((min(matrix.shape), matrix.shape[1]))
    independent: list[int] = []
    dependent: list[int] = []
    for i, row in enumerate(matrix):
        length, left, rank = np.linalg.norm(row), row.copy(), len(independent)
        for _ in range(2):  # once is not enough where little is left
            left -= (basis[:rank] @ left) @ basis[:rank]
        size = np.linalg.norm(left)
        if rank == basis.shape[0] or size <= DEPENDENT * max(length, NOT_ZERO):
            dependent.append(i)
        else:
            basis[rank] = left / size
            independent.append(i)
    return independent, dependent


MARGIN = 1e-2  # of slack beyond the violation at the start, so that the start lies in the interior
TIE = 1e-6  # w above


class Elastic:
    """The elastic relaxation of `nlp`, an NLP over (y, s).

    members : rows, then bounds, that share one slack, while all others are kept; by default every side of
        every row and bound has its own
    """

    def __init__(self, nlp: NLP | LinkedProgram, members: Array | None = None) -> None:
        self.nlp, self.has_hessian = nlp, nlp.has_hessian
        self.m, self.n = nlp.row_count, nlp.variable_count
        lower, upper = np.append(nlp.row_lower, nlp.lower), np.append(nlp.row_upper, nlp.upper)
        self.bounds = np.stack([lower, upper])
        finite = np.isfinite(self.bounds)
        # Rows here: lower sides, g + s >= lower, then upper sides, g - s <= upper.
        number = np.where(finite, np.cumsum(finite).reshape(finite.shape) - 1, -1)
        self.shared = number  # the slack of each side of each row and bound, -1 for none, (2, m + n)
        if members is not None:
            self.shared = np.full(finite.shape, -1)
            self.shared[:, members] = np.where(finite[:, members], 0, -1)
        self._side, self._of = np.nonzero(finite)
        self._slack, self._sign = self.shared[finite], 1.0 - 2.0 * self._side
        self.slack_count = int(self.shared.max(initial=-1)) + 1
        self._origin = np.array(nlp.start, dtype=float)
        self.variable_count, self.row_count = self.n + self.slack_count, self._of.size
        # Bounds of unknowns are rows here, but durations are not shortened below a thousandth of theirs.
        least = np.full(self.n, -np.inf)
        least[nlp.durations] = 1e-3 * np.maximum(nlp.lower[nlp.durations], 0.0)
        self.lower = np.concatenate([least, np.zeros(self.slack_count)])
        self.upper = np.full(self.variable_count, np.inf)
        self.row_lower = np.where(self._side == 0, self.bounds[finite], -np.inf)
        self.row_upper = np.where(self._side == 1, self.bounds[finite], np.inf)
        self.hessian_rows = np.concatenate([nlp.hessian_rows, np.arange(self.n)])
        self.hessian_columns = np.concatenate([nlp.hessian_columns, np.arange(self.n)])
        # Entries: those of the Jacobian of g and ones of y, for each side that is finite, then the slacks.
        rows = np.concatenate([nlp.jacobian_rows, self.m + np.arange(self.n)])
        columns = np.concatenate([nlp.jacobian_columns, np.arange(self.n)])
        side, self._takes = np.nonzero(number[:, rows] >= 0)
        self._has = np.flatnonzero(self._slack >= 0)
        self.jacobian_rows = np.append(number[side, rows[self._takes]], self._has)
        self.jacobian_columns = np.append(columns[self._takes], self.n + self._slack[self._has])
        self.start = self.warm(self._origin).y

    # -- functions ----------------------------------------------------------------------------------------

    def objective(self, y: Array) -> float:
        away = y[: self.n] - self._origin
        return float(y[self.n :].sum() + 0.5 * TIE * away @ away)

    def gradient(self, y: Array) -> Array:
        return np.concatenate([TIE * (y[: self.n] - self._origin), np.ones(self.slack_count)])

    def rows(self, y: Array) -> Array:
        slacks = np.append(y[self.n :], 0.0)[self._slack]
        return self._constraints(y[: self.n])[self._of] + self._sign * slacks

    def jacobian(self, y: Array) -> Array:
        values = np.append(self.nlp.jacobian(y[: self.n]), np.ones(self.n))
        return np.append(values[self._takes], self._sign[self._has])

    def hessian(self, y: Array, row_multipliers: Array, objective_factor: float) -> Array:
        full = np.bincount(self._of, row_multipliers, minlength=self.m + self.n)
        own = self.nlp.hessian(y[: self.n], full[: self.m], 0.0)
        return np.concatenate([own, np.full(self.n, TIE * objective_factor)])

    # -- points -------------------------------------------------------------------------------------------

    def warm(self, y: Array) -> WarmStart:
        """A start at y with slacks just large enough."""
        slack, has = np.full(self.slack_count, MARGIN), self.shared >= 0
        np.maximum.at(slack, self.shared[has], self.violations(y)[has] + MARGIN)
        return WarmStart(np.concatenate([y, slack]))

    def violations(self, y: Array) -> Array:
        """Violations of both sides of rows and bounds, (2, m + n), >= 0, scaled as the NLP."""
        return np.maximum(side_violations(self._constraints(y[: self.n]), *self.bounds), 0.0)

    def _constraints(self, y: Array) -> Array:
        return np.concatenate([self.nlp.rows(y), y])


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
    unbounded : controls without bounds of their own, of a feasible problem whose solve did not converge
    """

    name: str
    status: str
    feasible: bool
    worst: tuple[Conflict, ...]
    conflicts: tuple[Conflict, ...]
    changes: tuple[Change, ...]
    warnings: tuple[str, ...]
    unbounded: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"diagnosis of {self.name}: {self.status}"]
        lines += self._table("violated most at the last point", self.worst)
        if self.feasible:
            lines.append("the limits can be met together: elastic relaxation needed no slack")
            if self.unbounded:
                lines.append(
                    f"without bounds of their own: {list_names(self.unbounded)}; a solve may run away with "
                    f"such controls between its nodes: problem.control('{self.unbounded[0]}', lower, upper), "
                    "bounds well beyond what you expect"
                )
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
    kind = PhasesSolution if isinstance(problem, Phases) else Solution
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
        unbounded=tuple(_without_bounds(problem)) if feasible and not status.converged else (),
    )


def _without_bounds(asked: Asked) -> Iterator[str]:
    """The controls of a problem, or of phases, that nothing bounds as they are, each name once."""
    problems = asked.parts
    curves = {name: curve for each in problems for name, curve in each.extras.items() if not curve.is_state}
    slacks = {name for each in problems for name in each.slacks}
    limits = [limit for each in problems for limit in each.constraints]
    for name, curve in curves.items():
        over_path = limits_over_path(limits, extra_leaf(name), np.size(curve.lower))
        if name not in slacks and not np.isfinite([curve.lower, curve.upper, *over_path]).any():
            yield name


def repeated_equations(answer: Answer) -> list[str]:
    """Equations of what was asked that follow from others or contradict them where the solve ended.

    Each as a sentence that names constraint, component and time; at most eight.
    """
    program = program_of(answer.asked)
    y, _ = unknowns_of(answer.asked, program, answer)
    return sentences(program, y, LimitLabels(answer.asked, program, y).name)


def unknowns_of(asked: Asked, program: NLP | LinkedProgram, answer: Answer) -> tuple[Array, bool]:
    """The unknowns y at which a program has the motions of an answer, and whether these are on its knots.

    On other knots, motions near them.
    """
    found = unknowns_of_motions(program.programs, answer)
    near = unknowns_at_motion(answer, asked, program.programs) if found is None else found
    return np.concatenate(near), found is not None


def changes(
    nlp: NLP | LinkedProgram, labels: LimitLabels, conflicts: Sequence[Conflict], solver: Solver, y: Array
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


def conflicts_of(labels: LimitLabels, over: Array) -> tuple[Conflict, ...]:
    """Violated limits, each at its worst place, the largest relative violation first."""
    size = over.max(axis=0)
    result: list[Conflict] = []
    for indices in labels.grouped(np.flatnonzero(size > FEASIBILITY).tolist()).values():
        worst = max(indices, key=lambda i: size[i])
        amount = float(size[worst] * labels.units[worst])
        relative = float(size[worst] * labels.parts[worst])
        result.append(Conflict(labels.place(worst), amount, relative, len(indices)))
    return tuple(sorted(result, key=lambda conflict: -conflict.relative))


def warnings_of(nlp: NLP | LinkedProgram, y: Array, labels: LimitLabels) -> list[str]:
    """Bad scaling of rows and unknowns, and equalities that follow from each other, at y."""
    found = []
    values = np.abs(nlp.jacobian(y))
    by_row = np.zeros(nlp.row_count)
    np.maximum.at(by_row, nlp.jacobian_rows, values)
    by_unknown = np.zeros(nlp.variable_count)
    np.maximum.at(by_unknown, nlp.jacobian_columns, values)
    for what, sizes, offset in (("row", by_row, 0), ("unknown", by_unknown, nlp.row_count)):
        alive = np.flatnonzero(sizes > 0.0)
        # Ratios of gradients above 1e6 are reported
        if alive.size and sizes[alive].max() > 1e6 * sizes[alive].min():
            low, high = alive[np.argmin(sizes[alive])], alive[np.argmax(sizes[alive])]
            found.append(
                f"gradients by {what} differ {sizes[high] / sizes[low]:.1e} times: least for "
                f"{labels.name(offset + low)}, largest for {labels.name(offset + high)}; use units where "
                "both are near one"
            )
    return found + sentences(nlp, y, labels.name)
