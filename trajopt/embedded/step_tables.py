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
from trajopt.base.errors import OptionError
from trajopt.parametric.affine_program import Affine, AffineProgram, AffineShift
from trajopt.parametric.inputs import Input
from trajopt.parametric.node_terms import NodeTerms
from trajopt.parametric.plan_shift import PlanShifts
from trajopt.parametric.replanning import Step
from trajopt.problem.problem import Problem
from trajopt.solvers.interior.bands import bands_of
from trajopt.splines.basis import Curve
from trajopt.transcription.nlp import NLP, ProgramStructure
from trajopt.transcription.transcribe import program_at, values_of


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
    affine = AffineProgram.of(structure, base, nlp, inputs)
    c, position = affine.part("c"), np.argsort(order)
    if c.matrix[np.arange(layout.size)[layout.durations]].nnz:
        raise OptionError("an input changes the duration: a receding horizon as C needs one that is given")
    limits = np.concatenate([np.arange(rows), rows + order, rows + n + np.arange(affine.bounded.size)])

    B = _sorted(nlp.leaf_map.B[:, order])
    weights = sparse.vstack(
        [sparse.csr_array((linear, nlp.row_weights.shape[1])), nlp.row_weights], format="csr"
    )
    jacobian = _jacobian_pattern(nlp, B, weights, terms.slope_places, order)
    return StepTables(
        nlp=nlp,
        order=order,
        B=B,
        offset=affine.part("offset"),
        lower=affine.part("lower").taken(limits),
        upper=affine.part("upper").taken(limits),
        bounded=position[affine.bounded],
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
        inputs=np.concatenate([each.numbers(step.problem) for each in inputs]),
    )


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
    layout, N, rows = structure.spline_map.layout, nlp.unknowns.elimination.N, nlp.row_count
    durations, size = c.constant[layout.durations], c.constant.size
    shift = AffineShift.of(structure, shifts, nlp, c, elapsed)
    by_x, start = shift.by_plan[order], shift.start.taken(order)
    moved = np.concatenate([np.arange(rows), rows + np.argsort(order), [-1]])  # places in this order
    own = np.append(np.arange(rows), rows + order)
    at = np.clip(times + elapsed, 0.0, durations.sum())

    def outputs(x: Array) -> Array:
        return of_curve(at, layout.curve(x)).ravel()

    seen = _linear(outputs, size, layout.durations, durations)
    return SampleTables(
        start=Affine(start.constant + by_x @ c.constant, start.matrix),
        by_plan=_sorted((by_x @ N)[:, order]),
        by_before=sparse.csr_array(by_x @ c.matrix),
        sources=moved[shift.sources[own]],
        factors=shift.factors[own],
        outputs=Affine(seen.constant + seen.matrix @ c.constant, sparse.csr_array(seen.matrix @ c.matrix)),
        outputs_by_plan=_sorted((seen.matrix @ N)[:, order]),
    )


def _linear(function: Callable[[Array], Array], size: int, durations: slice, given: Array) -> Affine:
    """A function of x that is linear in all but the durations, which have given values."""
    x = np.zeros(size)
    x[durations] = given
    here, units = function(x), np.eye(size)
    units[durations] = 0.0
    return Affine(here, sparse.csr_array(np.transpose([function(x + unit) - here for unit in units])))


def _ones(matrix: sparse.csr_array) -> sparse.csr_array:
    found = sparse.csr_array(matrix, copy=True)
    found.data = np.ones_like(found.data)
    return found


def _sorted(matrix: sparse.csr_array) -> sparse.csr_array:
    found = sparse.csr_array(matrix)
    found.sum_duplicates()
    found.sort_indices()
    return found
