"""The numbers of a step of replanning, as constant tables: of functions, limits, shifts and outputs.

Everything that inputs p change is affine in them: constants c of x = N y + c, limits of rows and unknowns.
So is the start of a step in the plan before: with W the motion later by the time that went by,

    x = W (N y + c(p_before)),      y_start = the nearest y of N y + c(p).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, OptionError
from trajopt.parametric.inputs import Input
from trajopt.parametric.node_terms import NodeTerms
from trajopt.parametric.plan_shift import PlanShifts
from trajopt.parametric.replanning import Step
from trajopt.problem.problem import Problem
from trajopt.solvers.interior.bands import bands_of
from trajopt.solvers.solver import SUM_ROUNDING, WarmStart
from trajopt.splines.curve import Curve
from trajopt.transcription.bounds import Bounds, variable_bounds
from trajopt.transcription.linear_equations.elimination import Elimination
from trajopt.transcription.nlp import NLP
from trajopt.transcription.transcribe import ProgramStructure, program_at, values_of

PROBE = 2.0**-8  # of an input, or of 1: what is affine has exact differences over it, but for rounding
NEARER = 1.0, 2.0**-10, 2.0**-20  # of that, where limits are as near to each other
AFFINE = 1e-9  # of values, by which what is affine in the inputs may differ at another place


@dataclass(frozen=True, eq=False)
class Affine:
    """constant + matrix @ p."""

    constant: Array
    matrix: sparse.csr_array

    def taken(self, places: Array) -> Affine:
        return Affine(self.constant[places], sparse.csr_array(self.matrix[places]))


@dataclass(frozen=True, eq=False)
class SampleTables:
    """A plan that is some samples old: the start of the next step, and its states and controls.

    y = start + by_plan @ y_before + by_before @ p_before + by_now @ p, then clipped to its bounds;
    multipliers[i] = factors[i] * multipliers_before[sources[i]], 0 where that is -1

    start : by inputs now;  by_plan, by_before : of the plan
    outputs, outputs_by_plan : at the times asked for
    """

    start: Affine
    by_plan: sparse.csr_array
    by_before: sparse.csr_array
    sources: Array
    factors: Array
    outputs: Affine
    outputs_by_plan: sparse.csr_array


@dataclass(frozen=True, eq=False)
class StepTables:
    """All tables of one program; unknowns stand in the order of time, `order`.

    offset : of the leaves of all nodes
    lower, upper : of rows, linear ones without constants, of unknowns, and further ones of those in `bounded`
    row_weights : (rows, nodes quantities), nothing for linear rows; jacobian : its pattern, with linear rows
    first : of every unknown, the first one that the matrix of a step couples with it
    """

    nlp: NLP
    order: Array
    B: sparse.csr_array
    offset: Affine
    lower: Affine
    upper: Affine
    bounded: Array
    row_weights: sparse.csr_array
    jacobian: sparse.csr_array
    first: Array
    samples: tuple[SampleTables, ...]
    y: Array
    multipliers: Array
    inputs: Array


def step_tables(
    problem: Problem,
    shifts: PlanShifts,
    inputs: Sequence[Input],
    step: Step,
    elapsed: float,
    most_samples: int,
    times: Array,
    terms: NodeTerms,
    of_curve: Callable[[Array, Curve], Array],
) -> StepTables:
    """The tables of steps every `elapsed` seconds from a plan, with these inputs, the state among them.

    terms : of the program's nodes
    of_curve : times (k,) and a curve -> the numbers at them, linear in its control points, (k, numbers)
    Raises OptionError for what is not affine, or a duration that is free.
    """
    structure, result = shifts.structure, step.result
    base, layout = problem.independent_copy(), structure.spline_map.layout
    base.measured = True
    nlp = program_at(structure, values_of(structure, base), result.y, step.nlp.scaling)
    if nlp.unknowns.elimination.N[np.arange(layout.size)[layout.durations]].nnz:
        raise OptionError("the duration is free: a receding horizon as C needs one that is given")
    order = bands_of(
        nlp.unknown_spans,
        (nlp.jacobian_rows, nlp.jacobian_columns, nlp.row_count),
        (nlp.hessian_rows, nlp.hessian_columns),
    ).order
    n, linear, rows = order.size, nlp.linear.count, nlp.row_count
    leaves = nlp.leaf_map.nodes * nlp.leaf_map.width

    def numbers(p: Array) -> Array:
        other = base.independent_copy()
        put_numbers(other, inputs, p)
        values = values_of(structure, other)
        if values.linear.A is not nlp.linear.A:
            raise OptionError("limits of velocities of a hull change the rows: they can be no inputs in C")
        limits = values.row_bounds(structure.groups).scaled(nlp.row_scale)
        constant = np.zeros(rows)
        constant[:linear] = nlp.row_scale[:linear] * values.linear.b
        own, _, by_rows = _parts_of_bounds(structure, other, values.unknowns.elimination)
        c = values.unknowns.elimination.c
        lower = [limits.lower - constant, own.lower[order], by_rows.lower]
        upper = [limits.upper - constant, own.upper[order], by_rows.upper]
        return np.concatenate([nlp.leaf_map.offset(c), *lower, *upper, c])

    p_before = np.concatenate([each.numbers(step.problem) for each in inputs])
    affine = _affine(numbers, np.concatenate([each.numbers(base) for each in inputs]), inputs)
    bounded = _parts_of_bounds(structure, base, nlp.unknowns.elimination)[1]
    limits = rows + n + bounded.size
    places = np.split(np.arange(affine.constant.size), np.cumsum([leaves, limits, limits]))
    offset, lower, upper, c = (affine.taken(place) for place in places)
    if c.matrix[np.arange(layout.size)[layout.durations]].nnz:
        raise OptionError("an input changes the duration: a receding horizon as C needs one that is given")

    B = _sorted(nlp.leaf_map.B[:, order])
    weights = sparse.vstack(
        [sparse.csr_array((linear, nlp.row_weights.shape[1])), nlp.row_weights], format="csr"
    )
    jacobian = _jacobian_pattern(nlp, B, weights, terms.slope_places, order)
    return StepTables(
        nlp=nlp,
        order=order,
        B=B,
        offset=offset,
        lower=lower,
        upper=upper,
        bounded=np.argsort(order)[bounded],
        row_weights=weights,
        jacobian=jacobian,
        first=_first(nlp, B, jacobian, terms),
        samples=tuple(
            _sample(structure, shifts, nlp, order, c, k * elapsed, times, of_curve)
            for k in range(most_samples + 1)
        ),
        y=result.y[order],
        multipliers=np.concatenate(
            [result.row_multipliers, (result.upper_multipliers - result.lower_multipliers)[order]]
        ),
        inputs=p_before,
    )


def _parts_of_bounds(
    structure: ProgramStructure, problem: Problem, elimination: Elimination
) -> tuple[Bounds, Array, Bounds]:
    """Bounds of y as they are stated; unknowns that linear rows bound, one each, and these bounds.

    They are those of `bounds_and_linear_block`, where the tightest counts; each of these parts is affine.
    """
    rows, c = structure.linear, elimination.c
    of_x, (A, by_hull) = variable_bounds(problem, structure.spline_map), rows.matrices(problem, elimination.N)
    single, is_upper = np.flatnonzero(rows.entries == 1), rows.hull.rows["is_upper"]
    b = np.concatenate([c[rows.bounded], by_hull @ c])[single]
    lower = np.concatenate([of_x.lower[rows.bounded], np.where(is_upper, -np.inf, 0.0)])[single]
    upper = np.concatenate([of_x.upper[rows.bounded], np.where(is_upper, 0.0, np.inf)])[single]
    unknown, value = A.indices[A.indptr[single]], A.data[A.indptr[single]]
    ends = (lower - b) / value, (upper - b) / value
    free = elimination.free
    return Bounds(of_x.lower[free], of_x.upper[free]), unknown, Bounds(np.minimum(*ends), np.maximum(*ends))


def put_numbers(problem: Problem, inputs: Sequence[Input], p: Array) -> None:
    """Give a problem, an independent copy, these values of inputs, one after the other."""
    at = 0
    for each in inputs:
        count = len(each.labels)
        each.put_numbers(problem, p[at : at + count])
        at += count


def _affine(numbers: Callable[[Array], Array], p: Array, inputs: Sequence[Input]) -> Affine:
    """Numbers of p, which must be affine in it, as such."""
    here = numbers(p)
    finite = np.isfinite(here)
    columns = []
    names = [each.keyword for each in inputs for _ in each.labels]
    for i, name in enumerate(names):
        probe, low, high = _around(numbers, p, i)
        if not (np.array_equal(np.isfinite(low), finite) and np.array_equal(np.isfinite(high), finite)):
            raise OptionError(f"'{name}' decides which limits there are: it can be no input of steps as C")
        column, middle = np.zeros(here.size), np.zeros(here.size)
        column[finite] = (high[finite] - low[finite]) / (2.0 * probe)
        middle[finite] = 0.5 * (high[finite] + low[finite]) - here[finite]
        if np.any(np.abs(middle[finite]) > AFFINE * np.maximum(1.0, np.abs(here[finite]))):
            raise OptionError(
                f"'{name}' does not change the program linearly, as limits of which the tighter one counts: "
                "it can be no input of steps as C"
            )
        column[probe * np.abs(column) <= SUM_ROUNDING * np.abs(here)] = 0.0  # of what it does not change
        columns.append(column)
    matrix = sparse.csr_array(np.array(columns).T if columns else np.zeros((here.size, 0)))
    constant = here.copy()
    constant[finite] -= (matrix @ p)[finite]
    return Affine(constant, matrix)


def _around(numbers: Callable[[Array], Array], p: Array, i: int) -> tuple[float, Array, Array]:
    """The distance to both sides of entry i, less where limits would cross each other, and numbers there."""
    size = 2.0 ** np.ceil(np.log2(max(1.0, abs(p[i]))))
    for nearer in NEARER:
        probe = nearer * PROBE * size
        unit = probe * (np.arange(p.size) == i)
        try:
            return probe, numbers(p - unit), numbers(p + unit)
        except InfeasibleBoundsError:
            if nearer == NEARER[-1]:
                raise
    raise AssertionError("there is a last one")


def _jacobian_pattern(
    nlp: NLP, B: sparse.csr_array, weights: sparse.csr_array, slopes: Array, order: Array
) -> sparse.csr_array:
    """The rows with linear ones first, whose values it has; ones elsewhere."""
    count, width, nodes = nlp.chain.used_count, nlp.leaf_map.width, nlp.leaf_map.nodes
    unit = sparse.csr_array((np.ones(slopes.shape[1]), slopes), shape=(count, width))
    by_leaf = sparse.kron(sparse.eye_array(nodes), unit, format="csr")
    found = (_ones(weights) @ by_leaf @ _ones(B))[nlp.linear.count :]
    return _sorted(sparse.vstack([nlp.A[:, order], _ones(found)], format="csr"))


def _first(nlp: NLP, B: sparse.csr_array, jacobian: sparse.csr_array, terms: NodeTerms) -> Array:
    """The first unknown in the row of each, of the lower triangle of H + A' A."""
    width, nodes = nlp.leaf_map.width, nlp.leaf_map.nodes
    seconds = np.concatenate([np.zeros((2, 0), dtype=int), *(each.places for each in terms.seconds)], axis=1)
    unit = _ones(sparse.coo_array((np.ones(seconds.shape[1]), seconds), shape=(width, width)))
    by_leaf, own = sparse.kron(sparse.eye_array(nodes), unit, format="csr"), _ones(B)
    rows, H = _ones(jacobian), own.T @ by_leaf @ own
    coupled = sparse.coo_array(rows.T @ rows + H + H.T)
    first = np.arange(B.shape[1])
    np.minimum.at(first, coupled.row, coupled.col)
    return first


def _sample(
    structure: ProgramStructure,
    shifts: PlanShifts,
    nlp: NLP,
    order: Array,
    c: Affine,
    elapsed: float,
    times: Array,
    of_curve: Callable[[Array, Curve], Array],
) -> SampleTables:
    layout, elimination, fixed = (
        structure.spline_map.layout,
        nlp.unknowns.elimination,
        structure.solution.fixed,
    )
    durations, N, free = c.constant[layout.durations], elimination.N, elimination.free
    size = layout.size
    if elapsed:
        W = _linear(
            lambda x: shifts.unknowns(structure, x, elapsed, durations), size, layout.durations, durations
        )
    else:
        W = Affine(np.zeros(size), sparse.eye_array(size, format="csr"))
    chosen = sparse.eye_array(size, format="csr")[free]
    G = sparse.csr_array(structure.nearest_change)
    E = sparse.csr_array(chosen + G @ (N @ chosen - sparse.eye_array(size, format="csr"))[fixed])[order]
    by_x, of_c = sparse.csr_array(E @ W.matrix), c.taken(fixed)
    G = G[order]
    constant = E @ W.constant + by_x @ c.constant + G @ of_c.constant
    sources, factors = _sources(shifts, nlp, order, elapsed)
    at = np.clip(times + elapsed, 0.0, durations.sum())

    def outputs(x: Array) -> Array:
        return of_curve(at, layout.curve(x)).ravel()

    seen = _linear(outputs, size, layout.durations, durations)
    return SampleTables(
        start=Affine(constant, sparse.csr_array(G @ of_c.matrix)),
        by_plan=_sorted((by_x @ N)[:, order]),
        by_before=sparse.csr_array(by_x @ c.matrix),
        sources=sources,
        factors=factors,
        outputs=Affine(seen.constant + seen.matrix @ c.constant, sparse.csr_array(seen.matrix @ c.matrix)),
        outputs_by_plan=_sorted((seen.matrix @ N)[:, order]),
    )


def _sources(shifts: PlanShifts, nlp: NLP, order: Array, elapsed: float) -> tuple[Array, Array]:
    """The constraint whose multiplier each takes over, -1 for none, and the factor; rows, then unknowns."""
    rows, n, factors = nlp.row_count, order.size, nlp.row_scale
    numbered = 1.0 + np.arange(rows), 1.0 + np.arange(n)
    point = WarmStart(nlp.start, numbered[0] / factors, numbered[1], np.zeros(n))
    moved = shifts.multipliers(nlp, nlp, shifts.structure, point, elapsed)
    assert moved.row_multipliers is not None and moved.lower_multipliers is not None
    of_rows = np.rint(moved.row_multipliers * factors).astype(int) - 1
    of_unknowns = np.rint(moved.lower_multipliers[order]).astype(int) - 1
    position, scale = np.append(np.argsort(order), -1 - rows), np.append(factors, np.ones(n))
    sources = np.concatenate([of_rows, rows + position[of_unknowns]])
    return sources, scale[sources] / scale


def _linear(function: Callable[[Array], Array], size: int, durations: slice, given: Array) -> Affine:
    """A function of x that is linear in all but the durations, which have given values."""
    x = np.zeros(size)
    x[durations] = given
    here, columns = function(x), []
    for i in range(size):
        if durations.start <= i < durations.stop:
            columns.append(np.zeros(here.size))
            continue
        other = x.copy()
        other[i] = 1.0
        columns.append(function(other) - here)
    return Affine(here, sparse.csr_array(np.array(columns).T))


def _ones(matrix: sparse.csr_array) -> sparse.csr_array:
    found = sparse.csr_array(matrix, copy=True)
    found.data = np.ones_like(found.data)
    return found


def _sorted(matrix: sparse.csr_array) -> sparse.csr_array:
    found = sparse.csr_array(matrix)
    found.sum_duplicates()
    found.sort_indices()
    return found
