"""Sparse factors in a fixed order of pivots, beside numpy's eigenvalues and solutions."""

import itertools
import pickle

import numpy as np
import pytest
from tiers import fast_first

from trajopt.solvers.matrices import Triplets
from trajopt.solvers.newton import ldl_kernels
from trajopt.solvers.newton.sparse_kkt import (
    MOST_PATTERNS,
    OrderedFactors,
    PivotOrder,
    SparseKkt,
    SuperLuFactors,
    paired,
)

SHIFT = 1e-8  # of the largest entry of H, on its diagonal: what the minimum of a program is asked with


def triplets(M, shift=None):
    i, j = np.nonzero(M)
    if shift is None:
        return Triplets(i, j, M[i, j], M.shape)
    own = np.arange(len(M))
    data = np.append(M[i, j], np.full(own.size, shift))
    return Triplets(np.append(i, own), np.append(j, own), data, M.shape)


def random_program(rng, kind):
    """H (n, n) and rows A (m, n) of length one, and a shift of H."""
    n = int(rng.integers(2, 50))
    m, density = int(rng.integers(0, n // 2 + 1)), rng.uniform(0.02, 0.4)
    H = np.where(rng.random((n, n)) < density, rng.normal(size=(n, n)), 0.0)
    H = H + H.T
    if kind == "convex":
        H += np.diag(np.abs(H).sum(axis=1) + 0.1)
    elif kind == "flat":  # half of the unknowns have no curvature
        H = np.diag(np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n)))
    elif kind == "scaled":
        sizes = 10.0 ** rng.uniform(-4.0, 4.0, n)
        H *= np.outer(sizes, sizes)
    elif rng.random() < 0.7:  # convex along some constraints, and not along others
        H += np.diag(rng.uniform(0.2, 1.0) * np.abs(H).sum(axis=1) + rng.uniform(-0.1, 0.1, n))
    H *= 10.0 ** rng.uniform(-5.0, 5.0)
    A = np.where(rng.random((m, n)) < max(density, 2.0 / n), rng.normal(size=(m, n)), 0.0)
    for i in np.flatnonzero(rng.random(m) < 0.3):  # bounds of unknowns
        A[i], A[i, rng.integers(n)] = 0.0, 1.0
    A /= np.maximum(np.linalg.norm(A, axis=1), 1e-12)[:, None]
    return H, A, SHIFT * max(1.0, np.abs(H).max())


@pytest.mark.long
@fast_first("kind", ["scaled", "flat", "indefinite", "convex"])
def test_the_signs_of_pivots_are_those_of_the_eigenvalues_along_the_constraints(kind):
    rng, sure, seen = np.random.default_rng(0), 0, set()
    for _ in range(150):
        H, A, shift = random_program(rng, kind)
        m, n = A.shape
        of_A, basis = np.linalg.svd(A)[1:] if m else (np.ones(1), np.eye(n))
        along = basis[m:] @ (H + shift * np.eye(n)) @ basis[m:].T
        least = np.linalg.eigvalsh(along).min(initial=np.inf) / max(1.0, np.abs(H).max())
        if of_A.min() < 1e-6 or abs(least) < SHIFT:
            continue  # singular up to rounding
        kkt = SparseKkt(triplets(H, shift), triplets(A), list(range(m)), {})
        assert least > 0.0 or not kkt.is_strict
        if kkt._factors.is_sure:
            assert kkt.is_strict == (least > 0.0)
            sure, seen = sure + 1, seen | {kkt.is_strict}
    assert sure > 15 and (kind == "convex" or len(seen) == 2)


@fast_first("kind", ["scaled", "flat", "indefinite", "convex"])
def test_solutions_leave_the_residual_that_they_say(kind):
    rng, small = np.random.default_rng(1), 0
    for _ in range(100):
        H, A, shift = random_program(rng, kind)
        m, n = A.shape
        kkt = SparseKkt(triplets(H, shift), triplets(A), list(range(m)), {})
        if not kkt.exists:
            continue
        K = np.block([[H + shift * np.eye(n), A.T], [A, np.zeros((m, m))]])
        limits = np.append(np.zeros(n), rng.normal(size=m))
        found, missed = kkt._factors.solve(limits)
        rounding = 1e-14 * (np.abs(K) @ np.abs(found)).max(initial=1.0)
        assert abs(np.abs(K @ found - limits).max() - missed) <= rounding
        small += missed <= 1e-9
    assert small > 30


def test_dependent_constraints_have_no_factors_and_nearly_dependent_ones_are_told():
    rng = np.random.default_rng(2)
    n = 20
    H, A = np.diag(rng.uniform(1.0, 2.0, n)), rng.normal(size=(6, n))
    A /= np.linalg.norm(A, axis=1)[:, None]
    active = list(range(6))
    assert SparseKkt(triplets(H, 0.0), triplets(A), active, {}).exists
    for change in (0.0, 1e-9 * rng.normal(size=n)):
        A[-1] = A[0] + change
        assert not SparseKkt(triplets(H, 0.0), triplets(A), active, {}).exists
    A[:, 1:] = 0.0  # six rows of one unknown
    assert paired(triplets(A)) is None
    assert not SparseKkt(triplets(H, 0.0), triplets(A), active, {}).exists


def without_diagonal(seed, diagonal=0.0):
    """K (n + m, n + m) with few curvatures of single unknowns, and its parts H and A."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    m, density = int(rng.integers(0, n // 2 + 1)), rng.uniform(0.1, 0.6)
    H = np.where(rng.random((n, n)) < density, rng.normal(size=(n, n)), 0.0)
    H = H + H.T
    H[np.diag_indices(n)] *= rng.random(n) < diagonal
    A = np.where(rng.random((m, n)) < max(density, 2.0 / n), rng.normal(size=(m, n)), 0.0)
    return np.block([[H, A.T], [A, np.zeros((m, m))]]), H, A


@fast_first("diagonal", [0.5, 0.0])
def test_regular_matrices_whose_pivots_need_exchanges_of_rows_are_solved(diagonal):
    rng, exchanged = np.random.default_rng(5), 0
    for seed in range(200):
        K, H, A = without_diagonal(seed, diagonal)
        if np.linalg.cond(K) > 1e4:
            continue
        kkt = SparseKkt(triplets(H), triplets(A), list(range(len(A))), {})
        assert kkt.exists
        if isinstance(kkt._factors, SuperLuFactors) and not kkt._factors.is_sure:
            right, exchanged = rng.normal(size=len(K)), exchanged + 1
            np.testing.assert_allclose(kkt.solve(right), np.linalg.solve(K, right), rtol=0.0, atol=1e-7)
            assert not kkt.is_strict  # the signs of such pivots tell nothing
    assert exchanged > 3


@pytest.mark.parametrize("seed", range(12))
def test_singular_matrices_are_refused_with_exchanges_of_rows(seed):
    """A combination of rows of A that is zero, and a direction that neither H nor A sees."""
    _, H, A = without_diagonal(seed + 300)
    rng, n = np.random.default_rng(seed), len(H)
    rows = np.vstack([A, rng.normal(size=(2, n))])
    rows = np.vstack([rows, rows[-1] - 2.0 * rows[-2]])
    assert not SparseKkt(triplets(H), triplets(rows), list(range(len(rows))), {}).exists
    twice = np.zeros((n + 2, n + 2))  # the last two unknowns are seen as their sum alone
    twice[: n - 1, : n - 1], twice[-2:, : n - 1], twice[: n - 1, -2:] = H[:-1, :-1], 1.0, 1.0
    kkt = SparseKkt(triplets(twice), triplets(np.zeros((0, n + 2))), [], {})
    kkt.__dict__["_factors"] = None
    assert not kkt.exists


def test_a_matrix_that_is_not_finite_has_no_factors():
    H, A = np.eye(3), np.eye(3)[:1]
    for bad in (np.nan, np.inf):
        spoilt = triplets(H, 0.0)
        spoilt.data[0] = bad
        kkt = SparseKkt(spoilt, triplets(A), [0], {})
        assert not kkt.exists and not kkt.is_strict


def test_a_pivot_of_zero_is_lifted_and_superlu_decides():
    """x^2 / 2 with y free of curvature: the pivot of y is lifted, and no minimum is claimed from it."""
    H = triplets(np.diag([1.0, 0.0]), 0.0)
    kkt = SparseKkt(H, triplets(np.zeros((0, 2))), [], {})
    assert not kkt._factors.is_sure and not kkt.is_strict


def test_superlu_solves_what_the_order_does_not(monkeypatch):
    """Factors that are off by a wrong pivot miss the limits, and are replaced."""
    rng = np.random.default_rng(3)
    H, A, shift = random_program(rng, "convex")
    active = list(range(len(A)))
    assert len(A)
    inner = ldl_kernels.factorize

    def spoilt(layout, values, least, singular, L, inverse):
        found = inner(layout, values, least, singular, L, inverse)
        inverse *= 3.0
        return found

    right = rng.normal(size=sum(A.shape))
    wanted = SparseKkt(triplets(H, shift), triplets(A), active, {}).solve(right)
    monkeypatch.setattr(ldl_kernels, "factorize", spoilt)
    kkt = SparseKkt(triplets(H, shift), triplets(A), active, {})
    assert kkt.exists and kkt.is_strict
    np.testing.assert_allclose(kkt.solve(right), wanted, rtol=0.0, atol=1e-7 * np.abs(wanted).max())


def test_factors_of_a_chain_take_no_more_entries_than_its_links():
    """Stages that only meet their neighbours: L grows with the stages, not with their square."""
    counts = []
    for stages in (20, 40):
        n = 3 * stages
        H = np.eye(n) + 0.1 * np.eye(n, k=1) + 0.1 * np.eye(n, k=-1)
        A = np.eye(n)[3::3] - 0.9 * np.eye(n)[0 : n - 3 : 3]
        rows = triplets(A)
        partner = paired(rows)
        assert partner is not None and np.unique(partner).size == len(A)
        assert np.all(A[np.arange(len(A)), partner] != 0.0)
        counts.append(PivotOrder(triplets(H, 0.0), rows, partner).layout.below.size)
    assert counts[1] < 2.2 * counts[0]


def test_the_order_is_made_once_for_an_active_set_and_travels_with_the_program():
    rng, patterns = np.random.default_rng(4), {}
    H, A = np.diag(rng.uniform(1.0, 2.0, 8)), np.eye(8)
    SparseKkt(triplets(H, 0.0), triplets(A), [1, 2], patterns)
    (kept,) = patterns.values()
    again = SparseKkt(triplets(3.0 * H, 0.0), triplets(A), [1, 2], patterns)
    assert patterns[1, 2] is kept and again.exists
    right = rng.normal(size=10)
    copied = SparseKkt(triplets(3.0 * H, 0.0), triplets(A), [1, 2], pickle.loads(pickle.dumps(patterns)))
    np.testing.assert_array_equal(copied.solve(right), again.solve(right))
    for i in range(8):
        SparseKkt(triplets(H, 0.0), triplets(A), [i], patterns)
    assert len(patterns) == MOST_PATTERNS


def test_what_numba_keeps_on_disk_names_no_class_of_this_project():
    """Else a kept file could not be read after the class was renamed, and every sparse solve would fail."""
    kkt = SparseKkt(triplets(np.eye(3), 0.0), triplets(np.eye(3)), [0, 2], {})
    assert kkt.exists
    for kernel in (ldl_kernels.upper_triangle, ldl_kernels.factorize, ldl_kernels.corrected_solution):
        assert kernel.signatures
        assert b"trajopt" not in pickle.dumps(kernel.signatures)


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_the_factors_are_those_of_an_elimination_by_sets(seed):
    """A column of L has the rows of the matrix and of all columns whose first row below it is."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    H = np.where(rng.random((n, n)) < rng.uniform(0.02, 0.5), 1.0, 0.0)
    i, j = np.nonzero(H + H.T + np.eye(n))
    order = PivotOrder(
        Triplets(i, j, np.ones(i.size), (n, n)), triplets(np.zeros((0, n))), np.zeros(0, dtype=int)
    )
    place = np.argsort(order.order)
    columns = [{int(place[k]) for k in j[place[i] == row] if place[k] > row} for row in range(n)]
    for column in columns:
        if column:
            columns[min(column)] |= column - {min(column)}
    layout = order.layout
    found, parents = [], {}
    for p, (begin, end) in enumerate(itertools.pairwise(layout.panels)):
        below = layout.below[layout.first[p] : layout.first[p + 1]].tolist()
        found += [[*range(k + 1, end), *below] for k in range(begin, end)]
        parents[p] = below
    assert found == [sorted(column) for column in columns]
    for p, below in parents.items():  # what a panel leaves is added to the rows of its parent's front
        if below:
            (parent,) = (q for q in parents if layout.panels[q] <= below[0] < layout.panels[q + 1])
            front = [*range(layout.panels[parent], layout.panels[parent + 1]), *parents[parent]]
            onto = layout.onto[layout.first[p] : layout.first[p + 1]]
            assert [front[k] for k in onto] == below
            assert p in layout.child[layout.children[parent] : layout.children[parent + 1]]
            turns = layout.turns.tolist()
            assert turns.index(p) < turns.index(parent)


@pytest.mark.parametrize("seed", range(4))
def test_unknowns_keep_their_order_for_other_active_constraints(seed):
    """The order that was found for others solves as one of its own does, and is left where L grows."""
    rng = np.random.default_rng(seed)
    H, A, shift = random_program(rng, "convex")
    rows, own = triplets(A), triplets(H, shift)
    active, patterns = list(range(len(A))), {}
    SparseKkt(own, rows, active[1:], patterns).solve(np.ones(H.shape[0] + len(A[1:])))
    again, alone = SparseKkt(own, rows, active, patterns), SparseKkt(own, rows, active, {})
    right = rng.normal(size=sum(A.shape))
    wanted = alone.solve(right)
    np.testing.assert_allclose(again.solve(right), wanted, rtol=0.0, atol=1e-9 * np.abs(wanted).max())
    known, found = (patterns[tuple(each)].order for each in (active[1:], active))
    assert again.is_strict == alone.is_strict
    assert (
        found.of_unknowns is known.of_unknowns
        or found.layout.columns[-1] <= (alone._pattern.order.layout.columns[-1])
    )


@fast_first("kind", ["scaled", "flat", "indefinite", "convex"])
def test_constraints_that_are_not_active_stay_in_the_pattern_and_change_nothing(kind):
    """Subsets of active constraints, in any order, solve as with a pattern of their own, SuperLU as well.

    The last rows of the pattern joined later, and are behind all unknowns.
    """
    rng, kept, compared = np.random.default_rng(6), 0, 0
    for _ in range(60):
        H, A, shift = random_program(rng, kind)
        if len(A) < 5:
            continue
        rows, own, patterns = triplets(A), triplets(H, shift), {}
        for count in (len(A) - len(A) // 5, len(A)):
            SparseKkt(own, rows, list(range(count)), patterns)
        last = next(reversed(patterns.values()))
        if last.order is None:
            continue
        behind = last.partner[-(len(A) // 5) :] < 0
        active = rng.permutation(len(A))[: len(A) - len(A) // 5].tolist()
        around, alone = (SparseKkt(own, rows, active, each) for each in (patterns, {}))
        kept += len(patterns) == 2 and behind.all()
        if not (around.is_solved_in_order and alone.is_solved_in_order):
            continue
        K = np.block([[H + shift * np.eye(len(H)), A[active].T], [A[active], np.zeros(2 * (len(active),))]])
        right, compared = np.append(np.zeros(len(H)), rng.normal(size=len(active))), compared + 1

        def assert_solves(kkt, K=K, right=right):
            found = kkt.solve(right)
            rest, size = np.abs(K @ found - right).max(), (np.abs(K) @ np.abs(found)).max()
            assert rest <= max(1e-6, 1e-12 * size)

        assert_solves(around)
        if around._factors.is_sure and alone._factors.is_sure:
            assert around.negative == alone.negative
        if (by_superlu := around._by_superlu) is not None:
            around._factors = by_superlu
            if by_superlu.solve(around._whole(right))[1] <= 1e-6:
                assert_solves(around)
            if around._sure_factors is by_superlu and alone._factors.is_sure:
                assert by_superlu.positive == alone._factors.positive
    # Where signs of pivots behind are uncertain, most sets have patterns of their own
    assert compared > 10 and kept > (10 if kind in ("indefinite", "convex") else -1)


def test_limits_that_join_share_a_pattern_with_those_that_left():
    rng, n, patterns = np.random.default_rng(7), 30, {}
    H, A = triplets(np.diag(rng.uniform(1.0, 2.0, n)), 0.0), triplets(np.eye(n)[:20])
    for active in ([*range(10)], [*range(1, 11)], [*range(9), 10], [*range(2, 10)]):
        SparseKkt(H, A, active, patterns)
    assert [*patterns] == [(*range(10),), (*range(11),)]
    SparseKkt(H, A, [15, 16], patterns)  # with the rows of twelve others L would be longer than its own
    assert (15, 16) in patterns


def test_dependent_constraints_are_named_beside_those_that_are_not_active():
    rng, n, patterns = np.random.default_rng(8), 20, {}
    A = rng.normal(size=(8, n))
    A /= np.linalg.norm(A, axis=1)[:, None]
    A[6] = (A[1] - A[3]) / np.linalg.norm(A[1] - A[3])
    H, rows = triplets(np.diag(rng.uniform(1.0, 2.0, n)), 0.0), triplets(A)
    SparseKkt(H, rows, list(range(8)), patterns)
    kkt = SparseKkt(H, rows, [7, 6, 5, 4, 3, 2, 1], patterns)
    assert not kkt.exists
    np.testing.assert_array_equal(SparseKkt(H, rows, [7, 6, 5, 4, 3, 2, 1], patterns).dependent, [1, 4, 6])
    assert SparseKkt(H, rows, [7, 6, 5, 4, 3, 2], patterns).exists


def test_a_pattern_with_poor_pivots_is_left_to_its_own_active_set():
    n, patterns = 12, {}
    H, A = triplets(np.eye(n), 0.0), triplets(np.eye(n)[:8])
    flat = Triplets(H.rows, H.columns, H.data * (H.rows < n - 1), H.shape)  # one pivot is lifted
    assert not SparseKkt(flat, A, [*range(8)], patterns).is_strict
    assert SparseKkt(H, A, [*range(7)], patterns).is_strict
    assert SparseKkt(H, A, [*range(8)], patterns).is_strict
    assert [*patterns] == [(*range(8),), (*range(7),)]


def test_a_direction_that_only_a_joining_limit_holds_leaves_its_signs_certain():
    """Behind all unknowns the limit would leave a pivot of zero before it."""
    n, patterns = 12, {}
    A = np.eye(n)[[*range(7), n - 1]]
    A[7, n - 2] = 0.5
    H, rows = triplets(np.eye(n), 0.0), triplets(A)
    flat = Triplets(H.rows, H.columns, H.data * (H.rows < n - 1), H.shape)
    bent = Triplets(H.rows, H.columns, np.where(H.rows < n - 2, H.data, -0.3), H.shape)
    assert SparseKkt(H, rows, [*range(7)], patterns).is_strict
    for _ in range(2):
        kkt = SparseKkt(flat, rows, [*range(8)], patterns)
        assert kkt.exists and kkt.is_strict and isinstance(kkt._factors, OrderedFactors)
    assert SparseKkt(bent, rows, [*range(8)], patterns).negative == 1
    assert SparseKkt(H, rows, [*range(7)], patterns).is_strict
