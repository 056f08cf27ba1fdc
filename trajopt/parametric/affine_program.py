"""The parts of a program that inputs p change, as functions affine in p, and the start of a step as one.

Constants c of x = N y + c and limits of rows and unknowns are affine in p. So is the start of a step in the
plan before, x_before: with W the motion later by the time that went by,

    y_start = the nearest y of N y + c(p) to W x_before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, OptionError
from trajopt.parametric.inputs import Input
from trajopt.parametric.plan_shift import PlanShifts
from trajopt.problem.problem import Problem
from trajopt.solvers.matrices import product
from trajopt.solvers.solver import SUM_ROUNDING, WarmStart
from trajopt.transcription.bounds import Bounds, variable_bounds
from trajopt.transcription.elimination import Elimination
from trajopt.transcription.nlp import NLP, ProgramStructure
from trajopt.transcription.transcribe import values_of

PROBE = 2.0**-8  # of an input, or of 1: what is affine has exact differences over it, but for rounding
NEARER = 1.0, 2.0**-10, 2.0**-20  # of that, where limits are as near to each other
AFFINE = 1e-9  # of values, by which what is affine in the inputs may differ at another place


@dataclass(frozen=True, eq=False)
class Affine:
    """constant + matrix @ p."""

    constant: Array
    matrix: sparse.csr_array

    def at(self, p: Array) -> Array:
        return self.constant + product(self.matrix, p)

    def taken(self, places: Array) -> Affine:
        return Affine(self.constant[places], sparse.csr_array(self.matrix[places]))


@dataclass(frozen=True, eq=False)
class AffineProgram:
    """The numbers of a program that inputs change, one part after the other in `all`, at the places `parts`.

    offset : of the leaves of all nodes
    lower, upper : limits of rows, linear ones without their constants, of unknowns, and further ones of the
        unknowns `bounded`, of which the tighter one counts
    c : of x = N y + c
    """

    all: Affine
    bounded: Array
    parts: dict[str, slice]

    @staticmethod
    def of(structure: ProgramStructure, base: Problem, nlp: NLP, inputs: Sequence[Input]) -> AffineProgram:
        """The numbers of a program of the problem, whose scaling stays.

        Raises OptionError, naming the input, for one that changes it otherwise.
        """
        linear, rows = nlp.linear.count, nlp.row_count

        def numbers(p: Array) -> Array:
            other = base.independent_copy()
            put_numbers(other, inputs, p)
            values = values_of(structure, other)
            if values.linear.A is not nlp.linear.A:
                raise OptionError(
                    "limits of velocities of a hull change the rows: they can be no inputs in C"
                )
            limits = values.row_bounds(structure.groups).scaled(nlp.row_scale)
            constant = np.zeros(rows)
            constant[:linear] = nlp.row_scale[:linear] * values.linear.b
            own, _, by_rows = _parts_of_bounds(structure, other, values.unknowns.elimination)
            c = values.unknowns.elimination.c
            lower, upper = [limits.lower - constant, own.lower], [limits.upper - constant, own.upper]
            return np.concatenate([nlp.leaf_map.offset(c), *lower, by_rows.lower, *upper, by_rows.upper, c])

        affine = _affine(numbers, np.concatenate([each.numbers(base) for each in inputs]), inputs)
        bounded = _parts_of_bounds(structure, base, nlp.unknowns.elimination)[1]
        limits = rows + nlp.variable_count + bounded.size
        leaves = nlp.leaf_map.nodes * nlp.leaf_map.width
        ends = np.cumsum([0, leaves, limits, limits, affine.constant.size - leaves - 2 * limits]).tolist()
        names = "offset", "lower", "upper", "c"
        return AffineProgram(affine, bounded, dict(zip(names, map(slice, ends, ends[1:]), strict=True)))

    def part(self, name: str) -> Affine:
        place = self.parts[name]
        return self.all.taken(np.arange(place.start, place.stop))


@dataclass(frozen=True, eq=False)
class AffineShift:
    """The start of a step from a plan that is some seconds old.

    y = start(p) + by_plan @ x_before, then clipped to its bounds;
    multipliers[i] = factors[i] * multipliers_before[sources[i]], 0 where that is -1; rows, then unknowns
    """

    start: Affine
    by_plan: sparse.csr_array
    sources: Array
    factors: Array

    @staticmethod
    def of(
        structure: ProgramStructure, shifts: PlanShifts, nlp: NLP, c: Affine, elapsed: float
    ) -> AffineShift:
        """c : of x = N y + c, by inputs that leave the durations as they are."""
        size, elimination, fixed = c.constant.size, nlp.unknowns.elimination, structure.solution.fixed
        place = structure.spline_map.layout.durations
        durations = c.constant[place]
        whole = sparse.eye_array(size, format="csr")
        W, constant = whole, np.zeros(size)
        if elapsed:
            W = shifts.motion(structure, elapsed, durations, durations)
            constant[place] = durations
        chosen, G = whole[elimination.free], sparse.csr_array(structure.nearest_change)
        E = sparse.csr_array(chosen + G @ (elimination.N @ chosen - whole)[fixed])
        of_c = c.taken(fixed)
        start = Affine(E @ constant + G @ of_c.constant, sparse.csr_array(G @ of_c.matrix))
        return AffineShift(start, sparse.csr_array(E @ W), *_sources(shifts, nlp, elapsed))


def _sources(shifts: PlanShifts, nlp: NLP, elapsed: float) -> tuple[Array, Array]:
    """The constraint whose multiplier each takes over, -1 for none, and the factor; rows, then unknowns."""
    rows, n, factors = nlp.row_count, nlp.variable_count, nlp.row_scale
    numbered = 1.0 + np.arange(rows), 1.0 + np.arange(n)
    point = WarmStart(nlp.start, numbered[0] / factors, numbered[1], np.zeros(n))
    moved = shifts.multipliers(nlp, nlp, shifts.structure, point, elapsed)
    assert moved.row_multipliers is not None and moved.lower_multipliers is not None
    of_rows = np.rint(moved.row_multipliers * factors).astype(int) - 1
    of_unknowns = np.rint(moved.lower_multipliers).astype(int) - 1
    sources = np.concatenate([of_rows, np.where(of_unknowns < 0, -1, rows + of_unknowns)])
    scale = np.append(factors, np.ones(n))
    return sources, scale[sources] / scale


def put_numbers(problem: Problem, inputs: Sequence[Input], p: Array) -> None:
    """Give a problem, an independent copy, these values of inputs, one after the other."""
    at = 0
    for each in inputs:
        count = len(each.labels)
        each.put_numbers(problem, p[at : at + count])
        at += count


def _parts_of_bounds(
    structure: ProgramStructure, problem: Problem, elimination: Elimination
) -> tuple[Bounds, Array, Bounds]:
    """Bounds of y as they are stated; unknowns that linear rows bound, one each, and these bounds.

    They are those of `bounds_and_linear_block`, where the tightest counts; each of these parts is affine.
    """
    of_x, free = variable_bounds(problem, structure.spline_map), elimination.free
    by_rows = structure.linear.block(problem, elimination, of_x).of_single_unknowns()
    return Bounds(of_x.lower[free], of_x.upper[free]), *by_rows


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
