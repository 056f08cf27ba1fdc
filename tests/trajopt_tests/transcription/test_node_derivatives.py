"""Derivatives over nonzero entries alone are those of dense products, node by node."""

import copy
import pickle
from itertools import combinations_with_replacement, product

import numba
import numpy as np
import pytest
from hand_written import PointMasses
from tiers import every, fast_first

import trajopt
from problems import catalogue
from trajopt.graph.graph import ChainRule, Graph
from trajopt.transcription import tape_kernels
from trajopt.transcription.hessian import SecondDerivatives
from trajopt.transcription.node_derivatives import FirstDerivatives


class RandomBlock:
    """Numbers that no function has, on patterns that are drawn."""

    def __init__(self, rng, inputs, outputs, nodes):
        self.inputs, self.outputs = inputs, outputs
        pairs = list(product(outputs, inputs))
        kept = [pair for pair in pairs if rng.random() < 0.7] or pairs[:1]
        self._pattern = {(y, u): rng.random((outputs[y], inputs[u])) < 0.5 for y, u in kept}
        self._partials = {p: m * rng.standard_normal((nodes, *m.shape)) for p, m in self._pattern.items()}
        self._second, self._tensors = {}, {}
        for u, w in combinations_with_replacement(inputs, 2):
            if rng.random() < 0.6:
                u, w = (u, w) if rng.random() < 0.5 else (w, u)
                mask = rng.random((inputs[u], inputs[w])) < 0.5
                mask |= mask.T if u == w else False
                self._second[u, w] = mask
                of_outputs = {y: rng.standard_normal((m, *mask.shape)) * mask for y, m in outputs.items()}
                if u == w:
                    of_outputs = {y: part + part.transpose(0, 2, 1) for y, part in of_outputs.items()}
                self._tensors[u, w] = of_outputs

    def value(self, u):
        raise NotImplementedError

    def pattern(self):
        return self._pattern

    def partials(self, u):
        return self._partials

    def curvature_pattern(self):
        return self._second

    def curvature(self, u, adjoints):
        return {
            pair: sum(np.einsum("kr,rij->kij", adjoints[y], tensor) for y, tensor in tensors.items())
            for pair, tensors in self._tensors.items()
        }


class NonzerosOfRandomBlock(RandomBlock):
    """The same, of which the nonzeros are given side by side."""

    def value_and_nonzeros(self, u):
        return {}, side_by_side(self._pattern, self._partials)

    def curvature_nonzeros(self, u, adjoints):
        return side_by_side(self._second, self.curvature(u, adjoints))


def side_by_side(pattern, pairs):
    """Nonzeros of a pattern, pair after pair and row by row."""
    if not pattern:
        return np.zeros((0, 0))
    return np.concatenate([pairs[pair][:, mask] for pair, mask in pattern.items()], axis=1)


def leaf_map_of(free):
    """Leaves of two arcs at their nodes, and a point."""
    problem = trajopt.Problem(PointMasses(2, 1.0, 5.0), trajopt.Trajectory.uniform(3, duration=(0.5, 2.0)))
    if not free:
        problem = trajopt.Problem(PointMasses(2, 1.0, 5.0), trajopt.Trajectory.uniform(3, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.minimize(trajopt.ExpressionTerm(lambda node: node.q[0] + node.v[0] + node.a[0], "sum"))
    problem.minimize(trajopt.duration)
    nlp = trajopt.transcribe(problem)
    y = nlp.start + 0.1 * np.sin(np.arange(nlp.variable_count))
    return nlp.leaf_map, nlp.leaf_map.at(y, nlp.leaf_offset)


def random_chain(rng, leaf_map):
    """Blocks in three floors over the leaves, some of whose quantities are bounded or weighted."""
    widths = {leaf: place.stop - place.start for leaf, place in leaf_map.columns.items()}
    known, blocks = dict(widths), []
    for floor in range(3):
        names = list(known)
        for number in range(2):
            chosen = rng.choice(names, size=min(3, len(names)), replace=False)
            outputs = {f"y{floor}{number}{i}": int(rng.integers(1, 4)) for i in range(2)}
            kind = NonzerosOfRandomBlock if (floor + number) % 2 else RandomBlock
            blocks.append(kind(rng, {name: known[name] for name in chosen}, outputs, leaf_map.nodes))
            known |= outputs
    used = [name for name in known if rng.random() < 0.4] or ["y200"]
    half = len(used) // 2
    return ChainRule(Graph(widths, blocks), used[:half], used[half:], leaf_map.leaves)


def dense(chain, leaf_map, used):
    """D, b and H of weighted quantities by plain products; used : their weights, (nodes, used_count)."""
    slopes = {leaf: np.eye(chain.width)[place] for leaf, place in chain.columns.items()}
    slopes = {leaf: np.tile(part, (leaf_map.nodes, 1, 1)) for leaf, part in slopes.items()}
    for block in chain.graph.blocks:
        for name, width in block.outputs.items():
            slopes[name] = np.zeros((leaf_map.nodes, width, chain.width))
        for (name, source), part in block.partials({}).items():
            slopes[name] += np.einsum("kij,kjc->kic", part, slopes[source])
    weights = {name: np.zeros((leaf_map.nodes, width)) for name, width in chain.graph.width.items()}
    for name in chain.used:
        weights[name] += used[:, chain.rows[name]]
    b = sum(np.einsum("kr,krc->kc", weights[name], slopes[name]) for name in chain.used)
    H = np.zeros((leaf_map.nodes, chain.width, chain.width))
    for block in reversed(chain.graph.blocks):
        for (u, w), part in block.curvature({}, {name: weights[name] for name in block.outputs}).items():
            whole = np.einsum("kia,kij,kjb->kab", slopes[u], part, slopes[w])
            H += whole if u == w else whole + whole.transpose(0, 2, 1)
        for (name, source), part in block.partials({}).items():
            weights[source] += np.einsum("kr,krj->kj", weights[name], part)
    return slopes, b, H


def by_numerators(leaf_map, point, b, H):
    """Second derivatives by (Q, T) at every node, but for the factors 1 / T^l."""
    order, T, found = leaf_map.order, leaf_map.duration_column, H.copy()
    if leaf_map.free_durations:
        Hz, by_T = np.einsum("kij,kj->ki", H, point.slope), point.inverse * b
        found[:, :, T] += Hz - order * by_T
        found[:, T] += Hz - order * by_T
        found[:, T, T] += np.einsum("ki,ki->k", point.slope, Hz - (order + 1) * by_T)
    return found


@every("seed", range(12), fast=4)
def test_on_random_patterns_they_are_those_of_dense_products(seed):
    rng = np.random.default_rng(seed)
    leaf_map, point = leaf_map_of(free=seed % 3 > 0)
    chain = random_chain(rng, leaf_map)
    pattern = np.zeros((chain.row_count, chain.width), dtype=bool)
    for name, place in chain.rows.items():
        for leaf, part in chain.graph.leaf_pattern(name).items():
            pattern[place, chain.columns[leaf]] = part
    weighed = np.arange(chain.used_count) >= chain.bounded_count
    first = FirstDerivatives(chain, leaf_map, pattern, weighed)
    used = rng.standard_normal((leaf_map.nodes, chain.used_count))
    slopes, b, H = dense(chain, leaf_map, used)
    numbers = first.numbers(point, chain.graph.nonzeros({}))

    def close(found, expected):
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * size)

    def numbers_at(rows, values):
        return np.where((rows >= 0)[..., None], values[rows, : leaf_map.nodes], 0.0)

    D = np.concatenate([slopes[name] for name in chain.rows], axis=1)
    close(numbers_at(first.D, numbers.at.values), np.moveaxis(D, 0, -1))
    first.jacobian(numbers)
    by_Q = D[:, : chain.bounded_count] * point.scale[:, None]
    if leaf_map.free_durations:
        by_Q[:, :, leaf_map.duration_column] += np.einsum(
            "krc,kc->kr", D[:, : chain.bounded_count], point.slope
        )
    found = numbers_at(first.by_rows, numbers.by_row.values)
    close(found, np.moveaxis(by_Q, 0, -1))
    bar = np.einsum("kr,krc->kc", used * weighed, D[:, : chain.used_count])
    close(first.gradient(numbers, first.lanes_of(used)), bar)

    second = SecondDerivatives(chain, first)
    assert all(block in chain.graph.second_order_blocks for block in chain.graph.blocks)
    for _ in range(2):  # what the first evaluation leaves behind does not enter the second one
        second.raw(chain, {}, numbers, first.lanes_of(used).copy())
    upper = np.triu(by_numerators(leaf_map, point, b, H))
    found = numbers_at(second.H, second.numbers.at.values)
    close(found, np.moveaxis(upper, 0, -1))


@fast_first("name", ["two_link_pr", "urdf_arm", "planar_walker", "hop", "gait"], 2, 3)
def test_the_hessian_of_a_program_is_that_of_dense_products(name):
    nlp = trajopt.transcribe(catalogue.build(name, {}))
    y = nlp.start + 0.01 * np.sin(np.arange(nlp.variable_count))
    rng = np.random.default_rng(5)
    multipliers = rng.standard_normal(nlp.row_count)
    leaf_map, chain, point = nlp.leaf_map, nlp.chain, nlp.at(y)
    used = (nlp.row_weights.T @ multipliers[nlp.b.size :] + nlp.objective_weights).reshape(leaf_map.nodes, -1)
    partials = chain.graph.partials(point.values)
    D = chain.jacobian(partials, leaf_map.nodes, np.dtype(float))
    H = chain.hessian(point.values, D, chain.adjoints(partials, used))
    b = np.einsum("kr,krc->kc", used, D[:, : chain.used_count])
    at = point.leaves
    H = by_numerators(leaf_map, at, b, H) * at.scale[:, :, None] * at.scale[:, None]
    expected = np.zeros((y.size, y.size))
    for k in range(leaf_map.nodes):
        B = leaf_map.B[k * leaf_map.width : (k + 1) * leaf_map.width]
        expected += B.T @ (H[k] @ B.toarray())
    found = np.zeros_like(expected)
    found[nlp.hessian_rows, nlp.hessian_columns] = nlp.hessian(y, multipliers, 1.0)
    np.testing.assert_allclose(found, np.tril(expected), rtol=0.0, atol=1e-11 * np.abs(expected).max())


def test_numbers_of_one_point_are_computed_anew_after_those_of_another():
    nlp = trajopt.transcribe(catalogue.build("two_link_pr", {}))
    y, other = nlp.start + 0.01, nlp.start + 0.02
    multipliers = np.ones(nlp.row_count)
    kept = nlp.at(y)
    before = nlp.jacobian(y), nlp.hessian(y, multipliers)
    scaled = nlp.scaled(np.full(nlp.row_count, 2.0), 1.0)
    nlp.hessian(other, multipliers)
    vars(nlp)["_last"] = kept
    np.testing.assert_array_equal(nlp.hessian(y, multipliers), before[1])
    np.testing.assert_allclose(scaled.jacobian(y), 2.0 * before[0], rtol=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        before[0][0] = 1.0


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="no loop is compiled")
def test_copies_run_the_loops_that_are_compiled():
    """Arrays lose their flag when they are copied or read back, and loops are compiled for read-only ones."""
    nlp = trajopt.transcribe(catalogue.build("two_link_pr", {}))
    y, multipliers = nlp.start + 0.01, np.ones(nlp.row_count)
    expected = nlp.jacobian(y), nlp.hessian(y, multipliers)
    loops = tape_kernels.add_row_products, tape_kernels.add_over_spans
    before = [len(loop.signatures) for loop in loops]
    for other in (copy.deepcopy(nlp), pickle.loads(pickle.dumps(nlp))):
        np.testing.assert_array_equal(other.hessian(y, multipliers), expected[1])
        np.testing.assert_array_equal(other.jacobian(y), expected[0])
    assert [len(loop.signatures) for loop in loops] == before
