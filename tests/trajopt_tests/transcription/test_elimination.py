"""x = N y + c solves A x = b for every y."""

import numpy as np
import pytest
from scipy import sparse
from tiers import fast_first

from trajopt.base.errors import DegreesOfFreedomError
from trajopt.splines.basis import SplineBasis
from trajopt.transcription import elimination as component
from trajopt.transcription.elimination import eliminate

NONE = np.zeros(0, dtype=int)
SEEDS = [range(5), *(range(start, start + 15) for start in range(5, 200, 15))]


def random_system(seed, rows=6, columns=15):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.4)
    A[:, 0] += 0.1
    return A, rng.standard_normal(rows), rng


@pytest.mark.parametrize("seed", range(5))
def test_every_y_satisfies_the_equalities_and_nothing_is_lost(seed):
    A, b, rng = random_system(seed)
    elimination = eliminate(sparse.csr_array(A), ["row"] * len(b), NONE).at(b)
    y = rng.standard_normal(elimination.free.size)
    x = elimination.expand(y)
    assert np.allclose(A @ x, b, atol=1e-10)
    assert np.array_equal(elimination.reduce(x), y)
    assert y.size == A.shape[1] - np.linalg.matrix_rank(A)


def test_equal_components_are_solved_once_and_others_anew(monkeypatch):
    solved = []
    original = component.scales  # of every component with more than one entry
    monkeypatch.setattr(component, "scales", lambda A: solved.append(A.shape) or original(A))
    A, b, rng = random_system(17)  # no other test has its entries
    for factor in (1.0, 1.0, 2.0):
        matrix = sparse.csr_array(factor * A)
        found = eliminate(matrix, ["row"] * len(b), NONE).at(b)
        x = found.expand(rng.standard_normal(found.free.size))
        assert np.allclose(matrix @ x, b, atol=1e-10)
    assert solved and len(solved) == 2 * len(set(solved))


def test_a_repeated_row_is_dropped_and_a_contradicting_one_is_named():
    A, b, _ = random_system(9)
    twice, rhs = np.vstack([A, 2 * A[0] - A[1]]), np.append(b, 2 * b[0] - b[1])
    names = [f"row {i}" for i in range(len(rhs))]
    plain = eliminate(sparse.csr_array(A), names, NONE).at(b)
    assert eliminate(sparse.csr_array(twice), names, NONE).at(rhs).free.size == plain.free.size
    with pytest.raises(DegreesOfFreedomError, match="'row 6' contradicts 'row"):
        eliminate(sparse.csr_array(twice), names, NONE).at(rhs + np.eye(len(rhs))[-1])


def test_rows_that_differ_by_more_than_a_ten_billionth_are_two():
    for apart, free in ((1e-8, 0), (1e-11, 1)):
        A = sparse.csr_array(np.array([[1.0, 1.0], [1.0, 1.0 + apart]]))
        found = eliminate(A, ["one", "other"], NONE).at(np.zeros(2))
        assert found.free.size == free, apart


def test_what_rounding_leaves_where_entries_cancel_is_no_entry():
    """The second row less a part of the first says that the second unknown is zero, and nothing else."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        row = rng.uniform(0.5, 1.0, 4)
        A = sparse.csr_array(np.array([row, row / rng.uniform(2.0, 9.0) + [0.0, 1.0, 0.0, 0.0]]))
        found = eliminate(A, ["one", "other"], NONE).at(np.zeros(2))
        assert found.free.size == 2 and not np.any(found.N.toarray()[1])


def test_unknowns_of_last_resort_stay_free_where_another_pivot_exists():
    A = sparse.csr_array(np.array([[1.0, 0.0, 5.0], [0.0, 0.0, 2.0]]))
    one = eliminate(A[[0], :], ["velocity"], np.array([2]))
    assert one.free.tolist() == [1, 2]
    both = eliminate(A, ["velocity", "duration"], np.array([2])).at(np.array([1.0, 4.0]))
    assert both.free.tolist() == [1] and both.c[2] == 2.0


def planted(seed):
    """A system of B-spline values and derivatives of degree 3 to 8 with planted repetitions, badly scaled.

    Every row is that of a value or derivative at a random place, or a combination of a few of those; rows and
    unknowns are multiplied by factors from 1e-6 to 1e6. Returns A, b (consistent), the rank, A plain.
    """
    rng = np.random.default_rng(seed)
    degree, spans = int(rng.integers(3, 9)), int(rng.integers(4, 9))
    repeats = rng.integers(1, degree // 2 + 1, spans - 1)
    basis = SplineBasis.clamped(np.linspace(0.0, 1.0, spans + 1), degree, repeats)
    places = np.sort(rng.uniform(0.05, 0.95, basis.count // 2))
    own = np.concatenate(
        [dense_values(basis, places, int(rng.integers(0, 2))), dense_values(basis, [0, 1], 0)]
    )
    pairs = [rng.choice(len(own), 3, replace=False) for _ in range(4)]
    combinations = np.array([rng.uniform(0.5, 2.0, 3) @ own[pair] for pair in pairs])
    A, motion = np.concatenate([own, combinations]), rng.uniform(0.5, 2.0, basis.count)
    unscaled = A[rng.permutation(len(A))]
    rows, columns = 10.0 ** rng.uniform(-6, 6, len(A)), 10.0 ** rng.uniform(-6, 6, basis.count)
    scaled = rows[:, None] * unscaled * columns
    return scaled, scaled @ (motion / columns), np.linalg.matrix_rank(own), unscaled, rng


def dense_values(basis, at, derivative):
    found = np.zeros((len(at), basis.count))
    for row, s in enumerate(at):
        span = min(int(np.searchsorted(basis.breakpoints, s, side="right")) - 1, basis.span_count - 1)
        first = basis.first_control_point[span]
        found[row, first : first + basis.degree + 1] = basis.local_values(span, np.array([s]))[derivative, 0]
    return found


@fast_first("seeds", SEEDS, 1, 3, ids=str)
def test_planted_repetitions_are_dropped_at_any_degree_and_scale(seeds):
    for seed in seeds:
        A, b, rank, _, rng = planted(seed)
        names = [f"row {i}" for i in range(len(b))]
        elimination = eliminate(sparse.csr_array(A), names, NONE).at(b)
        assert elimination.free.size == A.shape[1] - rank, seed
        size = np.abs(A[:, elimination.free]).max(axis=0)
        y = rng.standard_normal(elimination.free.size) / np.where(size > 0.0, size, 1.0)
        x = elimination.expand(y)
        assert np.all(np.abs(A @ x - b) <= 1e-9 * (np.abs(A) @ np.abs(x) + np.abs(b))), seed


@fast_first("seeds", SEEDS, 1, 3, ids=str)
def test_planted_contradictions_are_named_at_any_degree_and_scale(seeds):
    """A row that depends on others, moved by a thousandth of its terms: it is named, or one it depends on."""
    for seed in seeds:
        A, b, rank, plain, rng = planted(seed)
        names = [f"row {i}" for i in range(len(b))]
        depends = [i for i in range(len(b)) if np.linalg.matrix_rank(np.delete(plain, i, axis=0)) == rank]
        chosen = int(rng.choice(depends))
        b[chosen] *= 1.001
        with pytest.raises(DegreesOfFreedomError, match="contradicts 'row") as caught:
            eliminate(sparse.csr_array(A), names, NONE).at(b)
        assert f"'row {chosen}'" in str(caught.value) or " more by " in str(caught.value), seed


def test_blocks_that_share_no_unknowns_are_solved_alike_alone_and_together():
    A, b, _, _, _ = planted(3)
    names = [f"row {i}" for i in range(len(b))]
    alone = eliminate(sparse.csr_array(A), names, NONE).at(b)
    twice = sparse.block_diag([sparse.coo_array(A), sparse.coo_array(A)])
    both = eliminate(sparse.csr_array(twice), names + names, NONE).at(np.append(b, b))
    assert np.array_equal(both.free, np.append(alone.free, A.shape[1] + alone.free))
    assert np.array_equal(both.c, np.append(alone.c, alone.c))


@pytest.mark.long
def test_pivots_do_not_depend_on_the_last_digits():
    for seed in range(50):
        A, b, _, _, rng = planted(seed)
        names = ["row"] * len(b)
        noise = 1.0 + 1e-15 * rng.standard_normal(A.shape)
        one, other = (eliminate(sparse.csr_array(each), names, NONE).at(b) for each in (A, A * noise))
        assert np.array_equal(one.free, other.free), seed


@fast_first(("degree", "spans", "repeats"), [(5, 20, 3), (8, 10, 5), (6, 30, 1), (4, 40, 2), (3, 60, 1)])
def test_a_joint_locked_at_any_value_follows_from_its_ends(degree, spans, repeats):
    """q = 0.7 and v = 0 at every node, and q, v and a at both ends: all control points are 0.7."""
    basis = SplineBasis.clamped(np.linspace(0.0, 1.0, spans + 1), degree, [repeats] * (spans - 1))
    nodes = np.linspace(0.0, 1.0, 3 * degree * spans)
    rows = [dense_values(basis, at, order) for order, at in ((0, nodes), (1, nodes), (2, [0.0, 1.0]))]
    A, b = np.concatenate(rows), np.repeat([0.7, 0.0, 0.0], [len(row) for row in rows])
    locked = eliminate(sparse.csr_array(A), [""] * len(b), NONE).at(b)
    assert locked.free.size == 0 and np.abs(locked.c - 0.7).max() < 1e-12
    ends = [0, len(nodes) - 1]
    b[ends] += 1e-5
    with pytest.raises(DegreesOfFreedomError, match="contradicts"):
        eliminate(sparse.csr_array(A), [""] * len(b), NONE).at(b)


@fast_first("seed", range(5), 2)
def test_one_elimination_serves_every_right_hand_side_and_checks_each(seed):
    """c is that of an elimination made for b alone, and a contradiction is seen with the b that has it."""
    A, _, rank, _, rng = planted(seed)
    general = eliminate(sparse.csr_array(A), [f"row {i}" for i in range(len(A))], NONE)
    size = np.abs(A).max(axis=0)
    for _ in range(3):
        motion = rng.standard_normal(A.shape[1]) / np.where(size > 0.0, size, 1.0)
        b = A @ motion
        found = general.at(b)
        assert found.N is general.N and np.array_equal(found.free, general.free)
        gap = np.abs(A @ found.expand(found.reduce(motion)) - b)
        assert np.all(gap <= 1e-9 * (np.abs(A) @ np.abs(motion)))
    broken = b + np.abs(b).max() * np.eye(len(b))[general.left_over[0]]
    with pytest.raises(DegreesOfFreedomError, match="contradicts"):
        general.at(broken)
    assert general.at(b).free.size == A.shape[1] - rank
