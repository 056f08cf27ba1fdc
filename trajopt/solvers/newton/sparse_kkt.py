"""Sparse factors L D L' of the matrix of a quadratic program with active constraints.

    K = [H  A_W'; A_W  0]      H (n, n), A_W the rows of the active constraints

Pivots have an order that is found once, and stays with the program: a factorization is then one compiled loop
over the entries of L. What it does not solve, SuperLU factorizes, last with exchanges of rows.

The order of pivots is found from where the entries of the matrix stand:

    K = [H  A'; A  0]      H (n, n), A (m, n)

Every constraint is paired with an unknown of its own, and both are one pivot, a block of two: [h a; a 0] has
pivots of both signs however small h is, so that no rows need to be exchanged. The pairing has the largest
product of |a| (Duff and Pralet, SIAM J. Matrix Anal. Appl. 27, 2005, 313); the blocks follow each other by
least degree, which keeps L sparse. Constraints that become active later are pivots of their own behind all
blocks, and those that are no longer active keep their rows, without entries: no other order has to be found.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from trajopt.base.tolerances import NOT_ZERO
from trajopt.solvers.matrices import Triplets, largest_entry, scattered
from trajopt.solvers.solver import DEPENDENT, FEASIBILITY, REGULARIZATION, ROUNDING

if TYPE_CHECKING:
    from scipy.sparse.linalg import SuperLU

EPS = float(np.finfo(float).eps)
MOST_FILL = 1.3  # of the entries of L and of the constraints, in an order that was found for others
MOST_PATTERNS = 4  # that are kept: the active sets of steps and of checks, and those of a few inputs


class KktPattern:
    """Places of the entries of K with the constraints `active`.

    kept : the entries of A in rows of active constraints, at (held_rows, held_columns) of A_W
    place : of every constraint its row of A_W, -1 where it is none of them
    known : the order of unknowns for other active constraints, see `PivotOrder`
    partner : of every constraint its unknown, -1 for those behind all unknowns; None: these are found
    is_joined : whether `partner` was given, with constraints behind all unknowns
    is_poor : whether a factorization had pivots whose signs are not certain
    """

    def __init__(
        self,
        H: Triplets,
        A: Triplets,
        active: list[int],
        known: UnknownOrder | None = None,
        partner: np.ndarray | None = None,
    ) -> None:
        self._known, self.is_joined, self.is_poor = known, partner is not None, False
        self._partner = None if partner is None else partner[active]
        n, row = H.shape[0], np.full(A.shape[0], -1)
        row[active] = np.arange(len(active))
        self.place = row
        self.kept = np.flatnonzero(row[A.rows] >= 0)
        held = Triplets(row[A.rows[self.kept]], A.columns[self.kept], A.data[self.kept], (len(active), n))
        self._parts = H, held
        self.held_rows, self.held_columns = held.rows, held.columns
        self.rows = np.concatenate([H.rows, n + held.rows, held.columns])
        self.columns = np.concatenate([H.columns, held.columns, n + held.rows])
        self.shape = (n + len(active), n + len(active))

    @functools.cached_property
    def order(self) -> PivotOrder | None:
        """The order of pivots; None where a constraint has no unknown of its own, and K is singular."""
        H, held = self._parts
        partner = paired(held) if self._partner is None else self._partner
        return None if partner is None else PivotOrder(H, held, partner, self._known)

    @property
    def partner(self) -> np.ndarray:
        """The unknown that every constraint of A is paired with, -1 where there is none."""
        assert self.order is not None
        return np.append(self.order.partner, -1)[self.place]

    @property
    def known(self) -> UnknownOrder | None:
        """The order of unknowns, as far as it is known without another search for one."""
        order = vars(self).get("order")
        return self._known if order is None else order.of_unknowns


Factors: TypeAlias = Any  # `OrderedFactors` or `SuperLuFactors`; None where K is singular
Patterns = dict[tuple[int, ...], KktPattern]  # by active constraints: the last ones


def pattern_of(
    H: Triplets, A: Triplets, active: list[int], patterns: Patterns, partner: np.ndarray | None = None
) -> KktPattern:
    """The pattern of K for these constraints, made where it is not among the last ones.

    Constraints that joined are paired at last where the pivots behind all unknowns were poor: an unknown that
    nothing but such a constraint holds is no pivot by itself.
    """
    key = tuple(active)
    found = patterns.get(key)
    if found is None or (found.is_joined and found.is_poor):
        for old in list(patterns)[: max(0, len(patterns) - MOST_PATTERNS + 1)]:
            patterns.pop(old, None)  # another thread may have done so
        known = next((each.known for each in reversed(tuple(patterns.values())) if each.known), None)
        found = patterns[key] = KktPattern(H, A, active, known, partner)
    return found


def pattern_around(H: Triplets, A: Triplets, active: list[int], patterns: Patterns) -> KktPattern:
    """A pattern with these constraints, and with others that were active before.

    Limits of a horizon come and go, some tens of them beside hundreds of equations. Rows that join come last
    in the order of pivots, so that those before keep their places.
    """
    most = MOST_FILL * len(active)
    last = [each for each in reversed(tuple(patterns.values())) if not each.is_poor]
    for found in last:
        if found.shape[0] - H.shape[0] <= most and (found.place[active] >= 0).all():
            return found
    if last and (order := last[0].order) is not None:
        place = last[0].place.copy()
        place[active] = 0
        rows = np.flatnonzero(place >= 0).tolist()
        if len(rows) <= min(most, H.shape[0]) and tuple(rows) not in patterns:
            found = pattern_of(H, A, rows, patterns, last[0].partner)
            if found.order is not None and found.order.of_unknowns is order.of_unknowns:
                return found
            patterns.pop(tuple(rows), None)  # L would be too long
    return pattern_of(H, A, active, patterns)


class SparseKkt:
    """K and its factors, those of a fixed order of pivots first.

    The signs of the pivots show whether H is positive definite along the constraints (Sylvester). The order
    may hold further constraints: while these are not active, their rows are zero but for -1 on the diagonal,
    which gives one negative pivot for each, and multipliers of zero. Where such an order, or one with
    constraints that joined, leaves a sign uncertain, one of the active constraints alone takes its place.

    is_single : for few factorizations with this pattern: SuperLU says how definite H is, where it can, which
        takes a tenth of the time that the order of pivots does
    """

    def __init__(
        self, H: Triplets, A: Triplets, active: list[int], patterns: Patterns, is_single: bool = False
    ) -> None:
        self._n, self._m, self._is_single = H.shape[0], len(active), is_single
        self._H, self._size = H, largest_entry(H)
        find = pattern_of if is_single else pattern_around
        self._take(A, active, find(H, A, active, patterns))
        if (self._idle.any() or self._pattern.is_joined) and not (self._factors and self._factors.is_sure):
            self._pattern.is_poor = True
            del self._factors
            self._take(A, active, pattern_of(H, A, active, patterns))

    def _take(self, A: Triplets, active: list[int], pattern: KktPattern) -> None:
        self._pattern, self._held = pattern, A.data[pattern.kept]
        #: places of the unknowns and of the active constraints among the rows of the pattern, and the others
        self._own = np.concatenate([np.arange(self._n), self._n + pattern.place[active]])
        self._idle = np.ones(pattern.shape[0], dtype=bool)
        self._idle[self._own] = False
        if self._own.size < self._idle.size:
            self._held[self._idle[self._n + pattern.held_rows]] = 0.0

    @functools.cached_property
    def _factors(self) -> Factors:
        order = self._pattern.order
        if order is None:
            return None
        return OrderedFactors(order, self._H.data, self._held, self._size, self._idle)

    @property
    def is_solved_in_order(self) -> bool:
        """True if the factors in the order of pivots solve a right-hand side in the rows of constraints."""
        return self._probed is not None and self._probed[1] <= FEASIBILITY

    @property
    def exists(self) -> bool:
        """True if K is regular: else a right-hand side of size 1 in the rows of constraints is not solved."""
        if self.is_solved_in_order:
            return True
        self._factors = self._by_superlu
        if self._factors is not None and self._factors.solve(self._probe)[1] <= FEASIBILITY:
            return True
        self._factors = superlu_factors(self._K, self._lowered, exchanges=True)
        return self._factors is not None and self._is_unique

    @property
    def _is_unique(self) -> bool:
        """True if the factors solve the probe and find a known solution again, as those of a regular K do."""
        known = self._whole(np.cos(np.arange(self._n + self._m)))
        found = self._factors.solve(self._K @ known)[0]
        return max(self._factors.solve(self._probe)[1], np.abs(found - known).max(initial=0.0)) <= FEASIBILITY

    @property
    def dependent(self) -> np.ndarray:
        """Places of active constraints of which a combination w is zero, A_W' w = 0, as far as K tells.

        The solution for a right-hand side in the rows of constraints grows along all such w.
        """
        if self._probed is None:
            return np.zeros(0, dtype=int)
        w = self._probed[0][self._n :]
        w = w / max(float(np.abs(w).max(initial=0.0)), NOT_ZERO)
        rest = np.bincount(self._pattern.held_columns, self._held * w[self._pattern.held_rows], self._n)
        is_one = w.any() and np.abs(rest).max() <= DEPENDENT
        large = np.flatnonzero(np.abs(w[self._own[self._n :] - self._n]) > np.sqrt(DEPENDENT))
        return large if is_one else np.zeros(0, dtype=int)

    @property
    def _probe(self) -> np.ndarray:
        return self._whole(np.append(np.zeros(self._n), np.cos(np.arange(self._m))))

    def _whole(self, right: np.ndarray) -> np.ndarray:
        """A right-hand side with the rows of the pattern, zero in those that are not active."""
        return scattered(right, self._own, self._idle.size)

    @functools.cached_property
    def _probed(self) -> tuple[np.ndarray, float] | None:
        """The solution for the probe by the factors in the order of pivots, and its residual."""
        return None if self._factors is None else self._factors.solve(self._probe)

    @functools.cached_property
    def is_strict(self) -> bool:
        """True if H is positive definite along the constraints."""
        return self.negative == 0

    @functools.cached_property
    def negative(self) -> int:
        """The number of directions along the constraints in which H is negative; n where none is known."""
        factors = self._sure_factors
        return self._n if factors is None or factors.positive > self._n else self._n - factors.positive

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution, corrected by its residual once."""
        return self._factors.solve(self._whole(right))[0][self._own]

    def solve_along(self, right: np.ndarray) -> np.ndarray:
        """x (n,) of K [x; z] = [right; 0], along the constraints, where H is strict along them."""
        return self._sure_factors.solve(scattered(right, slice(self._n), self._idle.size))[0][: self._n]

    @functools.cached_property
    def _sure_factors(self) -> Factors:
        """The factors whose signs of pivots are certain; None where there are none."""
        if self._is_single and self._by_superlu is not None:
            return self._by_superlu
        if self._factors is None or not self._factors.is_sure:
            self._pattern.is_poor = True
            return self._by_superlu
        return self._factors

    @functools.cached_property
    def _K(self) -> Triplets:
        pattern = self._pattern
        data = np.concatenate([self._H.data, self._held, self._held])
        return Triplets(pattern.rows, pattern.columns, data, pattern.shape)

    @functools.cached_property
    def _by_superlu(self) -> SuperLuFactors | None:
        return superlu_factors(self._K, self._lowered)

    @property
    def _lowered(self) -> np.ndarray:
        # Of 1 / |H|, so that no pivot is zero: what that changes is corrected by the residual of a solve.
        lowered = np.where(self._idle, -1.0, -REGULARIZATION / self._size)
        lowered[: self._n] = 0.0
        return lowered


class OrderedFactors:
    """L D L' in a fixed order of pivots.

    A pivot below 1e-9 of |H|, or of 1 / |H| of a constraint, is lifted to that.

    H, A : the entries of both
    size : of the largest entry of H
    idle : rows of constraints that are not active, which have no entries of A: -1 stands on their diagonal
    positive : the number of positive pivots
    is_sure : whether no pivot was lifted, and rounding has changed the diagonal by less than such a pivot
    """

    def __init__(
        self, order: PivotOrder, H: np.ndarray, A: np.ndarray, size: float, idle: np.ndarray
    ) -> None:
        from trajopt.solvers.newton import ldl_kernels

        self._kernels, self._order = ldl_kernels, order
        layout, rows = order.layout, order.order.size
        self._values = np.empty(layout.own.size)
        ldl_kernels.upper_triangle(order.slots, H, A, self._values)
        self._L, self._inverse = np.empty(layout.columns[-1]), np.empty((rows, 2))
        least = np.where(order.is_unknown, REGULARIZATION * size, -REGULARIZATION / size)
        least[idle[order.order]] = -1.0
        self._layout = tuple(layout)
        found = ldl_kernels.factorize(self._layout, self._values, least, ROUNDING, self._L, self._inverse)
        self.positive, lifted, growth = found
        self.is_sure = bool(lifted == 0 and growth * EPS <= 1.0)

    def solve(self, right: np.ndarray) -> tuple[np.ndarray, float]:
        """The solution, corrected by its residual once, and the largest entry of the residual."""
        order, L, inverse = self._order, self._L, self._inverse
        return self._kernels.corrected_solution(self._layout, order.order, self._values, L, inverse, right)


class SuperLuFactors:
    """L D L' by SuperLU without exchanges of rows, or L U with them, whose pivots' signs tell nothing."""

    def __init__(self, K: Triplets, factors: SuperLU) -> None:
        self._K, self._factors = K.tocsc(), factors
        self.is_sure = np.array_equal(factors.perm_r, factors.perm_c)

    @functools.cached_property
    def positive(self) -> int:
        """The number of positive pivots."""
        return int(np.count_nonzero(self._factors.U.diagonal() > 0.0))

    def solve(self, right: np.ndarray) -> tuple[np.ndarray, float]:
        """Solve as `OrderedFactors.solve` does."""
        found = self._factors.solve(right)
        found = found + self._factors.solve(right - self._K @ found)
        return found, float(np.abs(right - self._K @ found).max(initial=0.0))


def superlu_factors(K: Triplets, added: np.ndarray, exchanges: bool = False) -> SuperLuFactors | None:
    """Factors of K + diag(added); None where a pivot is zero, or rows have to be exchanged and may not be."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import splu

    how: dict[str, Any] = (
        {"permc_spec": "COLAMD"}
        if exchanges
        else {
            "permc_spec": "MMD_AT_PLUS_A",
            "diag_pivot_thresh": 0.0,
            "panel_size": 1,  # faster for columns as short as these
            "options": {"SymmetricMode": True},
        }
    )
    try:
        found = SuperLuFactors(K, splu((K.tocsc() + diags_array(added)).tocsc(), **how))
    except RuntimeError:
        return None
    return found if exchanges or found.is_sure else None


class FactorLayout(NamedTuple):
    """Places of entries; all arrays are of integers, and rows are counted in the order of the pivots.

    Neighbouring columns of L whose rows below them are the same ones are a panel. A panel is factorized in a
    dense matrix of its own rows and of those below, its front, to which panels whose first row below is one
    of its own, its children, add what they leave (Duff and Reid, ACM Trans. Math. Softw. 9, 1983, 302).

    starts : (blocks + 1,), the first row of every block, and behind the last the number of rows
    heads, own : rows of the upper triangle of K: row i has the columns own[heads[i]:heads[i + 1]]
    panels : (panels + 1,), the first row of every panel, as `starts`
    first, below : the rows below panel p, below[first[p]:first[p + 1]], ascending
    places : of the entries in `own`, their column in the front of the panel of row i
    columns : (panels + 1,), where the columns of every panel begin in the array of L
    children, child : panel p has the children child[children[p]:children[p + 1]]
    onto : of the rows in `below`, their place in the front that they are added to
    held : (panels + 1,), where what a panel leaves is held until its parent takes it; last the room for all
    turns : (panels,), the order of the factorization, in which all that a front takes has just been left
    blocks : (panels,), the first block of every panel
    """

    starts: np.ndarray
    heads: np.ndarray
    own: np.ndarray
    panels: np.ndarray
    first: np.ndarray
    below: np.ndarray
    places: np.ndarray
    columns: np.ndarray
    children: np.ndarray
    child: np.ndarray
    onto: np.ndarray
    held: np.ndarray
    turns: np.ndarray
    blocks: np.ndarray


class UnknownOrder(NamedTuple):
    """Places of the unknowns in an order of pivots, and the number of entries of L where it was found."""

    places: np.ndarray
    entries: int


class PivotOrder:
    """The order of the rows of K, and where entries of K and of its factors stand.

    Unknowns keep the order that was found for other active constraints, as long as L stays nearly as sparse:
    the search takes three times as long as all that follows from it.

    order : (n + m,), row k of the factors is row order[k] of K
    is_unknown : (n + m,), which of its rows belong to unknowns
    partner : (m,), the unknown that every constraint is paired with, -1 for those behind all unknowns
    slots : for every entry of H, which has both triangles, and of A its place in the upper triangle of K in
        this order; entries of the lower triangle have one more than there are
    """

    def __init__(
        self, H: Triplets, A: Triplets, partner: np.ndarray, known: UnknownOrder | None = None
    ) -> None:
        self.partner = partner
        if known is not None:
            self._arrange(H, A, known.places)
            self.of_unknowns = known
            if self.layout.columns[-1] <= MOST_FILL * known.entries:
                return
        n, paired = H.shape[0], partner[A.rows] >= 0
        rows = np.concatenate([H.rows, A.columns[paired]])
        places = _least_degree(rows, np.concatenate([H.columns, partner[A.rows[paired]]]), n)
        self._arrange(H, A, places)
        self.of_unknowns = UnknownOrder(places, int(self.layout.columns[-1]))

    def _arrange(self, H: Triplets, A: Triplets, places: np.ndarray) -> None:
        n, m, behind = H.shape[0], A.shape[0], self.partner < 0
        rows, columns = np.concatenate([H.rows, A.columns]), np.concatenate([H.columns, n + A.rows])
        blocks = np.concatenate([places, np.where(behind, n - 1 + np.cumsum(behind), places[self.partner])])
        self.order = np.lexsort((np.arange(n + m), blocks))
        place, self.is_unknown = np.argsort(self.order), self.order < n
        starts = np.searchsorted(blocks[self.order], np.arange(n + np.count_nonzero(behind) + 1))
        above, below = place[rows], place[columns]
        above[H.rows.size :], below[H.rows.size :] = np.sort([above[H.rows.size :], below[H.rows.size :]], 0)
        upper = np.flatnonzero(above <= below)
        by_row = np.argsort(above[upper].astype(np.min_scalar_type(n + m)), kind="stable")
        upper = upper[by_row]
        self.slots = np.full(rows.size, upper.size)
        self.slots[upper] = np.arange(upper.size)
        self.layout = _layout(starts, above[upper], below[upper])


def paired(A: Triplets) -> np.ndarray | None:
    """An unknown for every row of A (m,), no two of them the same; None where there are no such pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    entries = coo_array((A.data, (A.rows, A.columns)), shape=A.shape).tocsr()
    sizes = np.abs(entries.data)
    ratio = sizes.max(initial=0.0) / np.maximum(sizes, NOT_ZERO)
    entries.data = 1.0 + np.log(np.maximum(ratio, 1.0))  # zero would be no entry
    try:
        rows, columns = min_weight_full_bipartite_matching(entries)
    except ValueError:  # there is none
        return None
    return columns[np.argsort(rows)] if len(rows) == A.shape[0] else None


def _least_degree(i: np.ndarray, j: np.ndarray, size: int) -> np.ndarray:
    """The place of every node of a graph with edges (i, j), by SuperLU, of a matrix without zero pivots."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import splu

    own = np.arange(size)
    ones = coo_array((np.ones(2 * i.size), (np.append(i, j), np.append(j, i))), shape=(size, size)).tocsr()
    ones.data[:] = -1.0
    dominant = ones + coo_array((np.full(size, 2.0 + size), (own, own)), shape=(size, size))
    options = {"SymmetricMode": True}
    factors = splu(dominant.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    return factors.perm_c.astype(np.int64)


def _layout(starts: np.ndarray, row: np.ndarray, column: np.ndarray) -> FactorLayout:
    """The layout of a matrix with entries at (row, column) of its upper triangle, in their order.

    A column of L has the rows of K's column and of all columns whose first row below the diagonal it is.
    """
    from trajopt.solvers.newton import ldl_kernels

    size, blocks = int(starts[-1]), starts.size - 1
    block = np.repeat(np.arange(blocks), np.diff(starts))
    i, j = block[row], block[column]
    counts, rows = ldl_kernels.filled_columns(blocks, i[i < j], j[i < j])
    ends, parent = np.append(0, np.cumsum(counts)), np.full(blocks, blocks)
    parent[counts > 0] = np.minimum.reduceat(rows, ends[:-1][counts > 0]) if rows.size else 0
    is_joined = (parent[:-1] == np.arange(1, blocks)) & (counts[:-1] == counts[1:] + 1)
    begin = np.flatnonzero(np.append(True, ~is_joined)[:blocks])
    last = np.append(begin[1:], blocks)[: begin.size] - 1
    panels, here = starts[np.append(begin, blocks)], np.repeat(np.arange(begin.size), counts[last])
    kept = rows[np.repeat(np.isin(np.arange(blocks), last), counts)]
    kept = np.sort(here * blocks + kept) - here * blocks
    lengths = np.diff(starts)[kept]
    before = np.cumsum(lengths) - lengths
    below = np.repeat(starts[kept] - before, lengths) + np.arange(lengths.sum())
    here = np.repeat(here, lengths)
    first, widths = np.searchsorted(here, np.arange(begin.size + 1)), np.diff(panels)
    panel, keys = np.repeat(np.arange(begin.size), widths), here * size + below

    def places(of: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Places of rows in the fronts of panels."""
        behind = np.searchsorted(keys, of * size + row) - first[of] + widths[of]
        return np.where(row < panels[of + 1], row - panels[of], behind)

    counts = np.diff(first)
    above = np.full(begin.size, begin.size)
    above[counts > 0] = panel[below[first[:-1][counts > 0]]]
    child = np.argsort(above, kind="stable")
    children = np.searchsorted(above[child], np.arange(begin.size + 1))
    return FactorLayout(
        starts,
        np.searchsorted(row, np.arange(size + 1)),
        column,
        panels,
        first,
        below,
        places(panel[row], column),
        np.append(0, np.cumsum(widths * (widths + counts))),
        children,
        child,
        places(above[here], below),
        *_held(above, children, child, counts * (counts + 1) // 2),
        begin,
    )


def _held(
    parent: np.ndarray, children: np.ndarray, child: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """`held` and `turns` of a layout, of panels that leave so many numbers: children before their parents."""
    count = parent.size
    turns: list[int] = []
    waiting = np.flatnonzero(parent == count).tolist()
    while waiting:
        turns.append(waiting.pop())
        waiting += child[children[turns[-1]] : children[turns[-1] + 1]].tolist()
    turns.reverse()
    held, top, room = np.zeros(count + 1, dtype=np.int64), 0, 0
    for panel in turns:
        top -= int(sizes[child[children[panel] : children[panel + 1]]].sum())
        held[panel] = top
        top += int(sizes[panel])
        room = max(room, top)
    held[count] = room
    return held, np.array(turns, dtype=np.int64)
