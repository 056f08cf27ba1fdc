"""A step of replanning by maps that are composed once: a few sparse products and three calls of CasADi.

With Q = B y + offset the leaves of all nodes, u and s the quantities and their slopes by the leaves, w the
adjoints and h the second derivatives of w . u, both in one call for all nodes,

    rows, f, g, J  =  M (u, s),        w = W' mu + objective,        H  =  M_2 h,

and everything that inputs change is affine in them (`affine_program`). It is the step of `RealTimeIteration`
where the active set of the plan before, later, stays; for all else there is the general step.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.graph.expression import MappedExpression
from trajopt.parametric.affine_program import AffineProgram, AffineShift
from trajopt.parametric.inputs import LimitInput
from trajopt.parametric.node_terms import NodeTerms, mapped_terms, node_terms
from trajopt.parametric.plan_shift import PlanShifts, last_kept
from trajopt.problem.problem import Problem
from trajopt.solvers.kkt import grown
from trajopt.solvers.matrices import Entries, EntryMap, Matrices, all_entries, product, product_entries
from trajopt.solvers.newton.newton import active_sides_of
from trajopt.solvers.newton.sparse_kkt import EPS, KktPattern, pattern_of
from trajopt.solvers.solver import FEASIBILITY, LITTLE, REGULARIZATION, ROUNDING, Result, Status
from trajopt.transcription.elimination import Elimination
from trajopt.transcription.nlp import NLP
from trajopt.transcription.unknowns import Unknowns

MOST_KEPT = 8  # the last maps, shifts by different times, and patterns of active sets, each
ACCURATE = 10.0 * ROUNDING  # of the right-hand side, a residual that is none
NUMBERS = FEASIBILITY, ROUNDING, REGULARIZATION, ROUNDING, EPS, ACCURATE  # see `ldl_kernels.step_along`


@dataclass(frozen=True, eq=False)
class ComposedFunctions:
    """The functions of a program at a point: two calls for all nodes, and one sparse product each.

    values : Q -> u;  slopes : Q -> (u, s);  seconds : Q, w -> h, of one node
    of_values : u of all nodes -> nonlinear rows and f
    of_slopes : (u, s) of all nodes -> g and the entries of J in nonlinear rows
    adjoints : nonlinear rows' mu -> w, to which `objective` is added
    of_seconds : h of all nodes -> the entries of the lower triangle of H
    """

    values: MappedExpression
    slopes: MappedExpression
    seconds: MappedExpression
    of_values: sparse.csr_array
    of_slopes: sparse.csr_array
    adjoints: sparse.csr_array
    objective: Array
    of_seconds: sparse.csr_array

    @staticmethod
    def of(nlp: NLP, terms: NodeTerms) -> ComposedFunctions | None:
        """The functions of a program; None where it has no second derivatives, or no places for theirs."""
        if not terms.seconds:
            return None
        nodes, width, used = nlp.leaf_map.nodes, nlp.leaf_map.width, nlp.chain.used_count
        B, weights, n = nlp.leaf_map.B, nlp.objective_weights, nlp.variable_count
        quantity, leaf = terms.slope_places
        node, stride = np.arange(nodes)[:, None], used + quantity.size
        index = (node * stride + used + np.arange(quantity.size)).ravel()
        of_u, of_Q = (node * used + quantity).ravel(), (node * width + leaf).ravel()
        J = product_entries(index, sparse.csr_array(nlp.row_weights.T), of_u, B, of_Q)
        line = sparse.csr_array(weights[:, None])
        g = product_entries(index, line, of_u, B, of_Q)
        one, other = np.concatenate([each.places for each in terms.seconds], axis=1)
        place = (node * one.size + np.arange(one.size)).ravel()
        first, second = (node * width + one).ravel(), (node * width + other).ravel()
        apart = np.tile(one != other, nodes)
        H = all_entries(
            [
                product_entries(place, B, first, B, second),
                product_entries(place[apart], B, second[apart], B, first[apart]),
            ]
        )
        lower = H.row >= H.column
        H = Entries(H.index[lower], H.row[lower], H.column[lower], H.factor[lower])
        linear = nlp.A.nnz
        J_rows, J_columns = nlp.jacobian_rows[linear:] - nlp.linear.count, nlp.jacobian_columns[linear:]
        of_J = _placed(J, nodes * stride, J_rows, J_columns, n)
        of_H = _placed(H, nodes * one.size, nlp.hessian_rows, nlp.hessian_columns, n)
        of_g = _placed(g, nodes * stride, np.zeros(n, dtype=int), np.arange(n), n)
        if of_J is None or of_H is None or of_g is None:
            return None
        return ComposedFunctions(
            *mapped_terms(terms, width, used),
            of_values=sparse.csr_array(
                sparse.vstack([nlp.row_weights, sparse.csr_array(weights[None])], format="csr")
            ),
            of_slopes=sparse.csr_array(sparse.vstack([of_g, of_J], format="csr")),
            adjoints=sparse.csr_array(nlp.row_weights.T),
            objective=weights,
            of_seconds=of_H,
        )


def _placed(entries: Entries, size: int, rows: Array, columns: Array, width: int) -> sparse.csr_array | None:
    """The map to entries at (rows, columns), in their order; None where there are others."""
    found, keys = EntryMap.of(entries, size), rows * width + columns
    order = np.argsort(keys)
    at = np.searchsorted(keys[order], own := found.rows * width + found.columns)
    if own.size and (keys.size == 0 or np.any(keys[order[np.minimum(at, keys.size - 1)]] != own)):
        return None
    ones = np.ones(own.size), (order[at], np.arange(own.size))
    return sparse.csr_array(sparse.coo_array(ones, shape=(keys.size, own.size)).tocsr() @ found.matrix)


@dataclass(frozen=True, eq=False)
class Composition:
    """All maps of a program with these inputs and its scaling.

    nlp : the program of one plan, whose structure and scaling they have
    """

    nlp: NLP
    shifts: PlanShifts
    inputs: tuple[LimitInput, ...]
    program: AffineProgram
    functions: ComposedFunctions
    matrices: Matrices
    kept: dict[float, AffineShift]
    patterns: dict[bytes, KktPattern | None]

    @staticmethod
    def of(base: Problem, shifts: PlanShifts, nlp: NLP, inputs: Sequence[LimitInput]) -> Composition | None:
        """The maps of a program; None where durations are free, or where rows that no unknown changes and
        equations that follow from others have to be checked for every state.

        Raises OptionError for an input that changes the program otherwise than linearly.
        """
        structure, matrices = shifts.structure, Matrices(nlp, is_sparse=True)
        durations = np.arange(nlp.unknowns.layout.size)[nlp.unknowns.layout.durations]
        if structure.constant.groups or structure.solution.left_over.size or nlp.unknown_sizes is not None:
            return None
        program = AffineProgram.of(structure, base, nlp, inputs)
        if nlp.unknowns.elimination.N[durations].nnz or program.part("c").matrix[durations].nnz:
            return None
        functions = ComposedFunctions.of(nlp, node_terms(nlp, "composed"))
        if functions is None:
            return None
        return Composition(nlp, shifts, tuple(inputs), program, functions, matrices, {}, {})

    def step(
        self, x: Array, multipliers: Array, elapsed: float, p: Array, tol: float, worst: float
    ) -> tuple[Unknowns, Result] | None:
        """The unknowns and the result of one step from a plan; None where the general step is asked for.

        x, multipliers : of the plan, of rows, then of bounds;  elapsed : s since its state
        """
        from trajopt.solvers.newton import ldl_kernels

        began, nlp, functions = time.perf_counter(), self.nlp, self.functions
        linear, m, n = nlp.linear.count, nlp.row_count, nlp.variable_count
        numbers, shift = self.program.all.at(p), self.shift(elapsed)
        offset, lower, upper, c = (numbers[place] for place in self.program.parts.values())
        if self.program.bounded.size:
            np.maximum.at(lower, m + self.program.bounded, lower[m + n :])
            np.minimum.at(upper, m + self.program.bounded, upper[m + n :])
            lower, upper = lower[: m + n], upper[: m + n]
        durations = nlp.unknowns.layout.durations
        if not ((lower <= upper).all() and np.array_equal(x[durations], c[durations])):
            return None
        start = shift.start.at(p) + product(shift.by_plan, x)
        start = np.minimum(np.maximum(start, lower[m:]), upper[m:])
        mu = np.append(multipliers, 0.0)[shift.sources] * shift.factors
        side = active_sides_of(mu, lower, upper, tol)

        def leaves(y: Array) -> Array:
            return (product(nlp.leaf_map.B, y) + offset).reshape(nlp.leaf_map.nodes, -1)

        def values(y: Array, u: Array) -> Array:
            return np.concatenate([product(nlp.A, y), product(functions.of_values, u)])

        Q = leaves(start)
        at = functions.slopes(Q)
        here = values(start, np.ascontiguousarray(at[:, : nlp.chain.used_count]).ravel())
        first = product(functions.of_slopes, at.ravel())
        weights = functions.objective + product(functions.adjoints, mu[linear:m])
        H = product(
            functions.of_seconds, functions.seconds(Q, weights.reshape(nlp.leaf_map.nodes, -1)).ravel()
        )
        A = np.concatenate([nlp.A.data, first[n:], np.ones(n)])
        here[m] = 0.0
        before = np.concatenate([here[:m], start])
        pattern = self.pattern(side, H, A)
        if pattern is None or pattern.order is None:
            return None
        order, both = pattern.order, self.matrices.both_triangles
        rows, columns = self.matrices.constraint_places
        found, d, mu = ldl_kernels.step_along(
            tuple(order.layout), order.order, order.is_unknown, order.slots, both, pattern.kept,
            rows, columns, side, H, A, first[:n], lower - before, upper - before, NUMBERS,
        )  # fmt: skip
        y = start + d
        if not found or grown(start, y).any():
            return None
        there = values(y, functions.values(leaves(y)).ravel())
        violation = _violation(there[:m], y, lower, upper)
        clipped = np.minimum(np.maximum(y, lower[m:]), upper[m:])
        if not np.array_equal(clipped, y):
            inside = values(clipped, functions.values(leaves(clipped)).ravel())
            least = _violation(inside[:m], clipped, lower, upper)
            if least <= max(violation, LITTLE * tol):
                y, there, violation = clipped, inside, least
        if not (violation <= worst and np.isfinite(there).all()):
            return None
        bounds, seconds = mu[m:], time.perf_counter() - began
        of_bounds = np.maximum(-bounds, 0.0), np.maximum(bounds, 0.0)
        result = Result(Status.ITERATION_LIMIT, y, mu[:m], *of_bounds, float(there[m]), violation, 1, seconds)
        elimination = nlp.unknowns.elimination
        moved = Elimination(elimination.N, c.copy(), elimination.free)
        return Unknowns(nlp.unknowns.layout, moved, nlp.unknowns.nodes), result

    def shift(self, elapsed: float) -> AffineShift:
        def made() -> AffineShift:
            c = self.program.part("c")
            return AffineShift.of(self.shifts.structure, self.shifts, self.nlp, c, elapsed)

        return last_kept(self.kept, elapsed, MOST_KEPT, made)

    def pattern(self, side: Array, H: Array, A: Array) -> KktPattern | None:
        """Places of the entries of K for an active set; None where it has more constraints than unknowns."""

        def made() -> KktPattern | None:
            active, matrices = np.flatnonzero(side).tolist(), self.matrices
            if len(active) > self.nlp.variable_count:
                return None
            places = matrices.hessian(H), matrices.constraints(A[: A.size - self.nlp.variable_count])
            return pattern_of(*places, active, matrices.patterns)

        return last_kept(self.patterns, side.tobytes(), MOST_KEPT, made)


def _violation(rows: Array, y: Array, lower: Array, upper: Array) -> float:
    at = np.concatenate([rows, y])
    return float(np.maximum(lower - at, at - upper).max(initial=0.0))
