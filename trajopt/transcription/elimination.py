"""Linear equalities removed from the unknowns: A x = b becomes x = N y + c with constant sparse N.

N follows from A alone; c = R b is linear in the right-hand sides, so that other boundary values cost one
product. Equations may repeat each other: a joint that is locked over the path and has a position at the
start. Which follow from others is a question of rank, decided here with rows and columns scaled to entries
near one, in each connected component of A alone (rows without common unknowns are independent: those of two
joints, for example). Components with the same entries, as those of joints with the same conditions, are
solved once.

A connected component of the equations is solved by Gaussian elimination with complete pivoting.

Joints with the same conditions have equal components, and so have the problems of a study, of a sequence of
meshes or of a controller: solutions of small ones are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from trajopt.base.arguments import list_names
from trajopt.base.arrays import Array, cached_if_small
from trajopt.base.errors import DegreesOfFreedomError
from trajopt.base.tolerances import AGREEMENT, REPEATED
from trajopt.solvers.matrices import matrix_of_parts, product
from trajopt.solvers.solver import ROUNDING

CANCELLED = 1e-14  # of the largest entry of a row: what is smaller came about by rounding


@dataclass(frozen=True, eq=False)
class ComponentSolution:
    """A component in reduced echelon form: x[pivots] = by_right_side b - reduced[:, free] x[free].

    left_over : rows that follow from the others, or contradict them
    """

    pivots: Array  # (rank,)
    reduced: Array  # (rank, columns), column pivots[i] is column i of the identity
    by_right_side: Array  # (rank, rows)
    left_over: Array
    row_scale: Array  # factors of the rows of A
    column_scale: Array

    @cached_property
    def others(self) -> Array:
        """The columns that are no pivots."""
        free = np.ones(self.reduced.shape[1], dtype=bool)
        free[self.pivots] = False
        return np.flatnonzero(free)

    @cached_property
    def by_others(self) -> tuple[Array, Array, Array]:
        """Entries of x[pivots] = ... x[others]: number of the pivot, column, value."""
        rank, column = np.nonzero(self.reduced[:, self.others])
        return rank, self.others[column], -self.reduced[rank, self.others[column]]

    @cached_property
    def by_rows(self) -> tuple[Array, Array, Array]:
        """Entries of x[pivots] = ... b: number of the pivot, row, value."""
        rank, row = np.nonzero(self.by_right_side)
        return rank, row, self.by_right_side[rank, row]


@cached_if_small
def solution_of_component(A: Array, last: Array) -> ComponentSolution:
    """Solve A x = b, whatever b is, for the pivots of A; columns in `last` are pivots of last resort."""
    if A.shape == (1, 1):  # most boundary values: a control point at an end
        one, scale = np.ones(1), np.exp2(np.round(-np.log2(np.abs(A[0]))))
        return ComponentSolution(
            np.zeros(1, dtype=int), np.ones((1, 1)), 1.0 / A, np.empty(0, dtype=int), scale, one
        )
    row_scale, column_scale = scales(A)
    n = last.size
    work = np.column_stack([row_scale[:, None] * A * column_scale, np.diag(row_scale)])
    rows: list[int] = []
    pivots: list[int] = []
    for allowed in (~last, np.ones(n, dtype=bool)):
        _eliminate_downwards(work, allowed, column_scale, rows, pivots)
    for k in range(len(rows) - 1, 0, -1):
        above = np.array(rows[:k])
        above = above[work[above, pivots[k]] != 0.0]
        _subtract(work, rows[k], pivots[k], above)
    order, places = np.array(rows, dtype=int), np.array(pivots, dtype=int)
    reduced = work[order]
    reduced /= reduced[np.arange(order.size), places][:, None]
    matrix, by_right_side = reduced[:, :n], reduced[:, n:]
    matrix[np.abs(matrix) <= CANCELLED * np.abs(matrix).max(axis=1, initial=0.0)[:, None]] = 0.0
    # The scaled unknowns are x / column_scale.
    matrix *= column_scale[places][:, None] / column_scale
    return ComponentSolution(
        places,
        matrix,
        by_right_side * column_scale[places][:, None],
        np.setdiff1d(np.arange(len(A)), order),
        row_scale,
        column_scale,
    )


def _eliminate_downwards(
    work: Array, allowed: Array, column_scale: Array, rows: list[int], pivots: list[int]
) -> None:
    """Pivot on allowed columns until none holds more than rounding.

    work : the scaled matrix, and behind its columns its rows in terms of the right-hand sides
    """
    allowed, n = allowed.copy(), allowed.size
    allowed[pivots] = False
    columns = np.flatnonzero(allowed)
    open_rows = np.ones(len(work), dtype=bool)
    open_rows[rows] = False
    largest = np.where(open_rows, np.abs(work[:, columns]).max(axis=1, initial=0.0), 0.0)
    while largest.max(initial=0.0) > REPEATED:
        # Rows as large as 0.9 of the largest entry left are taken in their order
        row = int(np.argmax(largest >= 0.9 * largest.max()))
        size = np.where(allowed, np.abs(work[row, :n]), 0.0)
        # Half of the largest entry of a row, scaled: unknowns as strong may be its pivot
        natural = np.where(size >= 0.5 * largest[row], size / column_scale, 0.0)
        pivot = int(np.argmax(natural >= (1.0 - AGREEMENT) * natural.max()))
        rows.append(row)
        pivots.append(pivot)
        open_rows[row], allowed[pivot], largest[row] = False, False, 0.0
        below = np.flatnonzero(open_rows & (work[:, pivot] != 0.0))
        _subtract(work, row, pivot, below)
        largest[below] = np.abs(work[below, :n][:, allowed]).max(axis=1, initial=0.0)
    work[np.ix_(open_rows, columns)] = 0.0


def _subtract(work: Array, row: int, pivot: int, others: Array) -> None:
    """Make column `pivot` zero in the other rows; the rounding that a cancellation leaves becomes zero."""
    if others.size == 0:
        return
    columns = np.flatnonzero(work[row])
    places = np.ix_(others, columns)
    before = work[places]
    change = (work[others, pivot] / work[row, pivot])[:, None] * work[row, columns]
    after = before - change
    after[np.abs(after) <= CANCELLED * (np.abs(before) + np.abs(change))] = 0.0
    work[places] = after
    work[others, pivot] = 0.0


def scales(A: Array) -> tuple[Array, Array]:
    """Powers of two for the rows and the columns of A that bring its entries near one.

    First the geometric mean of each row and column, in turn, which finds factors that rows and columns were
    multiplied by; then the largest entry of every column, and of every row.
    """
    there = A != 0.0
    size = np.log2(np.where(there, np.abs(A), 1.0))
    rows, columns = np.zeros(A.shape[0]), np.zeros(A.shape[1])
    for _ in range(8):  # passes of scaling rows and columns in turn
        rows = -_mean(size + columns, there, axis=1)
        columns = -_mean(size + rows[:, None], there, axis=0)
    columns = -_largest(size + rows[:, None], there, axis=0)
    rows = -_largest(size + columns, there, axis=1)
    return np.exp2(np.round(rows)), np.exp2(np.round(columns))


def _mean(values: Array, there: Array, axis: int) -> Array:
    return np.where(there, values, 0.0).sum(axis) / np.maximum(there.sum(axis), 1)


def _largest(values: Array, there: Array, axis: int) -> Array:
    largest = np.where(there, values, -np.inf).max(axis, initial=-np.inf)
    return np.where(np.isfinite(largest), largest, 0.0)


@dataclass(frozen=True, eq=False)
class Elimination:
    """x = N y + c, where y are the entries `free` of x."""

    N: sparse.csr_array
    c: Array
    free: Array

    def expand(self, y: Array) -> Array:
        return product(self.N, y) + self.c

    def reduce(self, x: Array) -> Array:
        """The y whose free entries are those of x; the others follow from the equalities."""
        return x[self.free]


@dataclass(frozen=True, eq=False)
class GeneralSolution:
    """The solutions of A x = b for all right-hand sides b that the rows of A can have: x = N y + R b.

    free : the entries y of x
    left_over : rows of A that follow from the others, or contradict them, as b has it
    row_scale, column_scale : factors of the rows and columns of A
    labels, last : names of the rows, and which columns are pivots of last resort
    mesh : for messages, which end with it
    """

    A: sparse.csr_array
    N: sparse.csr_array
    R: sparse.csr_array
    free: Array
    left_over: Array
    row_scale: Array
    column_scale: Array
    labels: Sequence[object]
    last: Array
    mesh: object

    def at(self, b: Array) -> Elimination:
        """x = N y + c for right-hand sides b (rows,).

        Raises DegreesOfFreedomError where a row contradicts others, naming both, or nearly follows from them.
        """
        b = np.asarray(b, dtype=float)
        c = self.eliminated(b)
        if self.left_over.size and _contradicting(self.A, b, c, self.left_over).size:
            raise _contradiction(self.A, b, self.last, self.labels, self.mesh)
        # Rows that were solved for hold by construction, to the rounding of the elimination.
        if self.left_over.size and self._loose.size:
            raise DegreesOfFreedomError(
                f"the condition '{self.labels[self._loose[0]]}' nearly follows from others, so that rounding "
                f"decides whether it does: move the place where it holds, or drop it{_now(self.mesh)}"
            )
        return Elimination(self.N, c, self.free)

    def eliminated(self, b: Array) -> Array:
        """c = R b, improved by its residual: R has entries of 1e4 where 50 unknowns of degree 8 are fixed.

        There c is 1.2e-11 off, 1.5e-12 and 4e-13 after one and two improvements.
        """
        c = product(self.R, b)
        for _ in range(2):
            rest = b - product(self.A, c)
            if not rest.any():
                break
            c += product(self.R, rest)
        return c

    @cached_property
    def fixed(self) -> Array:
        """The entries of x that follow from the others."""
        return np.setdiff1d(np.arange(self.A.shape[1]), self.free)

    @cached_property
    def _loose(self) -> Array:
        """Rows that a change of y would change, in scaled units: none, as A N = 0 but for rounding."""
        rows, into = sparse.diags_array(self.row_scale), sparse.diags_array(self.column_scale[self.free])
        change, size = (rows @ each @ into for each in (abs(self.A @ self.N), abs(self.A) @ abs(self.N)))
        # A dropped row may leave 1e-7 of the size of its own terms of any free unknown
        return np.flatnonzero(_row_maxima(change) > 1e-7 * np.maximum(_row_maxima(size), 1.0))


def eliminate(
    A: sparse.csr_array, labels: Sequence[object], last_resort: Array, mesh: object = ""
) -> GeneralSolution:
    """Solve A x = b, whatever b is, for as many unknowns as A has independent rows.

    Gaussian elimination with complete pivoting, a connected component of A at a time, then back substitution.
    The pivot of a row is its largest entry, so that N has entries near one; rows whose entries are nearly as
    large as the largest are taken in their order, so that nothing depends on the last digits. Unknowns
    in `last_resort` (durations, whose bounds are better kept as bounds) are pivots only where a row has no
    other entry. A row in which nothing is left follows from others: it is dropped if x = N y + c satisfies it
    for every y, else `GeneralSolution.at` names it and the others, and the `mesh`.
    """
    last = np.zeros(A.shape[1], dtype=bool)
    last[last_resort] = True
    A = sparse.csr_array(A)
    A.sum_duplicates()
    return replace(_solve(A.shape[1], A, last), labels=labels, mesh=mesh)


@cached_if_small
def _solve(A: sparse.csr_array, last: Array) -> GeneralSolution:
    known: dict[tuple[object, ...], ComponentSolution] = {}
    found: list[tuple[Array, Array, ComponentSolution]] = []
    left_over: list[int] = []
    row_scale, column_scale = (np.ones(size) for size in A.shape)
    for rows, columns, dense in _components(A):
        key = (dense.shape, dense.tobytes(), last[columns].tobytes())
        if key not in known:
            known[key] = solution_of_component(columns.size, dense, last[columns])
        part = known[key]
        found.append((rows, columns, part))
        left_over.extend(rows[part.left_over])
        row_scale[rows], column_scale[columns] = part.row_scale, part.column_scale
    N, R, free = _assembled(A.shape, found)
    dropped = np.array(sorted(left_over), dtype=int)
    return GeneralSolution(A, N, R, free, dropped, row_scale, column_scale, (), last, "")


def _components(A: sparse.csr_array) -> Iterator[tuple[Array, Array, Array]]:
    """Rows, columns and entries of every connected component of A with rows, in order of its first row."""
    m, n = A.shape
    if m == 0:
        return
    row = np.repeat(np.arange(m), np.diff(A.indptr))
    starts = np.append(A.indptr, np.full(n, A.indptr[-1]))
    graph = sparse.csr_array((A.data, m + A.indices, starts), shape=(m + n, m + n))
    count, number = connected_components(graph, directed=False)
    rows, columns, entries = (_Grouped.by(part, count) for part in (number[:m], number[m:], number[row]))
    for component in dict.fromkeys(number[:m].tolist()):
        own = entries.members(component)
        dense = np.zeros((rows.members(component).size, columns.members(component).size))
        dense[rows.place[row[own]], columns.place[A.indices[own]]] = A.data[own]
        yield rows.members(component), columns.members(component), dense


@dataclass(frozen=True, eq=False)
class _Grouped:
    """Things grouped by the component that each is in, in order, and the place of each in its group."""

    order: Array
    starts: Array
    place: Array

    @staticmethod
    def by(component: Array, count: int) -> _Grouped:
        sizes = np.bincount(component, minlength=count)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        order, place = np.argsort(component, kind="stable"), np.empty(component.size, dtype=int)
        place[order] = np.arange(component.size) - np.repeat(starts[:-1], sizes)
        return _Grouped(order, starts, place)

    def members(self, component: int) -> Array:
        return self.order[self.starts[component] : self.starts[component + 1]]


def _assembled(
    shape: tuple[int, int], solved: Sequence[tuple[Array, Array, ComponentSolution]]
) -> tuple[sparse.csr_array, sparse.csr_array, Array]:
    """N, R and the free entries of x, from the components: their rows, their columns, their solution."""
    pivots = [members[part.pivots] for _, members, part in solved]
    is_free = np.ones(shape[1], dtype=bool)
    is_free[np.concatenate([np.empty(0, dtype=int), *pivots])] = False
    free, place = np.flatnonzero(is_free), np.cumsum(is_free) - 1
    of_free, of_right_side = [(free, np.arange(free.size), np.ones(free.size))], []
    for own, (rows, members, part) in zip(pivots, solved, strict=True):
        rank, column, values = part.by_others
        of_free.append((own[rank], place[members[column]], values))
        rank, row, values = part.by_rows
        of_right_side.append((own[rank], rows[row], values))
    N = matrix_of_parts(of_free, (shape[1], free.size))
    return N, matrix_of_parts(of_right_side, (shape[1], shape[0])), free


def _contradicting(A: sparse.csr_array, b: Array, c: Array, left_over: Array) -> Array:
    """Rows left over that x = N y + c does not satisfy, whatever y is."""
    gap = np.abs(A @ c - b)
    # Sides of 6e-17 are zero, in radians and metres for a largest entry of one.
    slack = AGREEMENT * (abs(A) @ np.abs(c) + np.abs(b)) + ROUNDING * _row_maxima(abs(A))
    return left_over[gap[left_over] > slack[left_over]]


def _row_maxima(matrix: sparse.csr_array) -> Array:
    """The largest entry of every row of a matrix without negative entries, zero where it has none."""
    return matrix.max(axis=1).toarray().ravel() if matrix.shape[1] else np.zeros(matrix.shape[0])


def _contradiction(
    A: sparse.csr_array, b: Array, last: Array, labels: Sequence[object], mesh: object
) -> DegreesOfFreedomError:
    """The first row, in the order in which they were added, that contradicts rows before it."""
    agreeing, count = 0, b.size
    while count - agreeing > 1:
        middle = (agreeing + count) // 2
        if _first_rows_contradicting(A, b, last, middle)[1].size:
            count = middle
        else:
            agreeing = middle
    left_over, contradicting = _first_rows_contradicting(A, b, last, count)
    kept = np.setdiff1d(np.arange(count), left_over)
    row, others, gap = _latest(A[:count], b[:count], kept, int(contradicting[0]))
    if not others:
        return DegreesOfFreedomError(
            f"the condition '{labels[row]}' asks for {gap:.3g} of what no unknown changes: "
            f"drop it{_now(mesh)}"
        )
    named = dict.fromkeys(f"'{labels[i]}'" for i in others)
    return DegreesOfFreedomError(
        f"the condition '{labels[row]}' contradicts {list_names(named)} by {gap:.3g}: "
        "drop one of the two where the same thing is fixed twice, else use more intervals or a higher "
        f"degree{_now(mesh)}"
    )


def _first_rows_contradicting(A: sparse.csr_array, b: Array, last: Array, count: int) -> tuple[Array, Array]:
    """Leftovers of the first rows alone, and those among them that contradict others."""
    solved = _solve(A.shape[1], A[:count], last)
    right = b[:count]
    return solved.left_over, _contradicting(solved.A, right, solved.eliminated(right), solved.left_over)


def _latest(A: sparse.csr_array, b: Array, kept: Array, row: int) -> tuple[int, list[int], float]:
    """Rows that depend on each other: the last, the others by falling weight, and the gap."""
    numbers = np.append(kept, row)
    dense = A[numbers].toarray()
    row_scale, column_scale = scales(dense)
    dense, rhs = row_scale[:, None] * dense * column_scale, row_scale * b[numbers]
    # sum_k weight_k row_k = 0
    weights = np.append(np.linalg.lstsq(dense[:-1].T, dense[-1], rcond=None)[0], -1.0)
    shares = np.maximum(np.abs(weights), np.abs(weights * rhs) / max(np.abs(rhs).max(), np.finfo(float).tiny))
    shares[shares <= REPEATED] = 0.0
    last = int(numbers[shares > 0.0].max())
    at = int(np.flatnonzero(numbers == last)[0])
    gap = abs(float(weights @ np.where(shares > 0.0, rhs, 0.0) / weights[at] / row_scale[at]))
    order = np.argsort(-np.round(shares / shares.max(), 6), kind="stable")
    return last, [int(numbers[i]) for i in order if shares[i] > 0.0 and i != at], gap


def combined(rows: Array, row: Array, numbers: Sequence[int]) -> list[int]:
    """The `numbers` of `rows` (m, n), by falling weight, of which `row` (n,) is a combination."""
    weights = np.abs(np.linalg.lstsq(rows.T, row, rcond=None)[0])
    parts = np.flatnonzero(weights > REPEATED * weights.max(initial=0.0))
    return [numbers[i] for i in parts[np.argsort(-weights[parts], kind="stable")]]


def _now(mesh: object) -> str:
    return f" (now {mesh})" if mesh else ""
