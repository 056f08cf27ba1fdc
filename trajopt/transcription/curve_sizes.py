"""The sizes of a program's unknowns at a start, and those of the rows that they enter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.tolerances import HALF_OF_DIGITS
from trajopt.problem.systems.state_equations import EQUATIONS
from trajopt.solvers.solver import ROUNDING
from trajopt.transcription.bounds import Bounds
from trajopt.transcription.nlp import ProgramStructure, ProgramValues
from trajopt.transcription.program_functions import ProgramFunctions
from trajopt.transcription.unknowns import LARGE, nearest_powers


def sizes_at(
    structure: ProgramStructure,
    values: ProgramValues,
    start: Array,
    functions: ProgramFunctions,
    row_bounds: Bounds,
    first: bool,
) -> Array | None:
    """The size of every unknown at a start, (n,); None where all are about one.

    Values and bounds tell it first, see `Unknowns.sizes`. Those of curves that are zero there follow from the
    equations that they enter: in x' = u a control is as large as the states, 1e9. Each is so large that it
    changes no equation by more than the largest of the other unknowns does, or than the start misses it.
    Where equations say nothing, a curve is as large as its way down the costs to the least value along it,
    which costs that are never negative have, as those of a fit do; then parameters that are zero count as
    one, but for copies. Values below 1e-12 are zeros, and small ones if one is below 1e-8 of its way.

    functions, row_bounds : of the program, in any scale
    first : False leaves a program in which all values are about one as it is
    """
    sizes = _sizes_of_curves(structure, values, start, functions, row_bounds, first)
    if sizes is None:
        return None
    return _with_copies(structure, values, start, functions, sizes)


def _sizes_of_curves(
    structure: ProgramStructure,
    values: ProgramValues,
    start: Array,
    functions: ProgramFunctions,
    row_bounds: Bounds,
    first: bool,
) -> Array | None:
    """The sizes of all but parameters that are defined by curves, see `sizes_at`."""
    sizes = _sizes_of_values(structure, values, start)
    # Robots are in SI units, whatever currents a first guess would take
    has_equations = not _is_robot(structure) and any(group.name == EQUATIONS for group in structure.groups)
    if sizes is None and not (first and has_equations):
        return None
    unknowns, lower, upper = values.unknowns, values.bounds.lower, values.bounds.upper
    free, states = unknowns.elimination.free, unknowns.layout.curve_count
    numbers, x = unknowns.layout.curve_numbers[free], unknowns.elimination.expand(start)
    largest = unknowns.largest_of_curves(np.abs(x))
    curves = np.arange(largest.size) < unknowns.layout.curves
    limits, known = np.zeros(largest.size), np.zeros(largest.size, dtype=bool)
    np.maximum.at(limits, numbers, np.maximum(np.abs(lower), np.abs(upper)))
    if sizes is not None:
        known[numbers[sizes != 1.0]] = True
        largest[numbers] = np.where(known[numbers], np.maximum(largest[numbers], sizes), largest[numbers])
    others = np.zeros_like(known)  # whose sizes follow from their values alone
    others[numbers[structure.is_slack[free]]] = True
    others[:states] |= not has_equations
    faint = curves & ~others & (largest > 0.0) & (largest < 1.0 / LARGE) & (limits > largest)
    ways = np.zeros(largest.size)
    if faint.any():  # beside what the costs ask for, a value of rounding is no size, nor are others like it
        ways = np.minimum(_ways_down(functions, start, numbers, faint), limits)
        ways[HALF_OF_DIGITS * ways <= largest] = 0.0
        faint &= ways.any()
    known = others | (known & ~faint)
    largest[faint | (~known & (largest <= ROUNDING))] = 0.0
    idle = curves & ~known & (largest == 0.0) & (limits > 0.0)
    if not idle.any():
        return sizes
    equations = _equations_at(structure, values, functions, row_bounds, start)
    for evidence in (
        lambda _: ways,
        lambda zero: _ways_down(functions, start, numbers, idle & zero),
        lambda zero: np.where(~curves & zero, 1.0, 0.0),
    ):
        zero = largest == 0.0
        if np.any(idle & zero):
            largest = np.maximum(largest, np.minimum(evidence(zero), limits))
            largest = equations.sizes(largest, idle, limits)
    # A bounded control that is small at first may not stay so, nor a state beside others that are not small
    least = np.where(np.isfinite(limits), np.minimum(limits, 1.0 / LARGE), 0.0)
    least[:states] = 1.0 / LARGE if largest[:states].max() >= 1.0 / LARGE else 0.0
    largest = np.maximum(largest, least)
    powers = nearest_powers(np.where(idle & (largest > 0.0), largest, 1.0))[numbers]
    sizes = np.where(idle[numbers], powers, 1.0 if sizes is None else sizes)
    return None if np.all(sizes == 1.0) else sizes


def _with_copies(
    structure: ProgramStructure,
    values: ProgramValues,
    start: Array,
    functions: ProgramFunctions,
    sizes: Array,
) -> Array:
    """The sizes with those of copies, parameters by which phases are linked.

    A copy has a row of its name, and is as large as the rest of it changes where all of a curve is moved by
    its size. Guessed at rest it is zero, though the speed that it copies is 1e9. Copies of rates stay about
    one.
    """
    unknowns, row = values.unknowns, structure.linear.kept.size
    places, free = unknowns.layout.parameters, unknowns.elimination.free
    copy = np.full(functions.row_count, -1)
    for group in structure.groups:
        place, width = places.get(group.name, slice(0, 0)), group.shape[1]
        if place.stop - place.start == width:
            copy[row : row + group.count] = place.start + np.flatnonzero(group.kept) % width
        row += group.count
    if copy.max(initial=-1) < 0:
        return sizes
    rows, columns, sizes = functions.jacobian_rows, functions.jacobian_columns, sizes.copy()
    own = copy[rows] == free[columns]
    jacobian = _finite(functions.jacobian(start))
    entries = np.where(own, 0.0, jacobian * sizes[columns])
    of_curves = rows, unknowns.layout.curve_numbers[free[columns]]
    moved = sparse.coo_array(sparse.csr_array((entries, of_curves)))
    steepest, largest = np.zeros(functions.row_count), np.zeros(functions.row_count)
    np.maximum.at(steepest, rows, np.abs(entries))
    np.maximum.at(largest, moved.coords[0], np.abs(moved.data))
    largest[largest <= ROUNDING * steepest] = 0.0
    own &= (sizes[columns] == 1.0) & (largest[rows] > 0.0) & (jacobian != 0.0)
    sizes[columns[own]] = nearest_powers(largest[rows[own]] / np.abs(jacobian[own]))
    return sizes


def sizes_of_rows(
    structure: ProgramStructure, values: ProgramValues, functions: ProgramFunctions, sizes: Array
) -> tuple[Array, Array]:
    """The least and the largest size of the unknowns in every row, at most and at least one, (rows,) each.

    A row is as small as its slack or, before others, as the states whose rates it holds, or as its curves: a
    control or a parameter of one multiplies a state of 1e-9.
    """
    rows, by_row = functions.jacobian_rows, sizes[functions.jacobian_columns]
    equation, rates = _equations_of_rows(structure)
    least, most = np.zeros(functions.row_count), np.ones(functions.row_count)
    np.maximum.at(most, rows, by_row)
    column = values.unknowns.elimination.free[functions.jacobian_columns]
    is_curve, others = column < values.unknowns.layout.control_point_count, np.zeros(rows.size, dtype=bool)
    is_rate = is_curve.copy()
    numbers = values.unknowns.layout.curve_numbers[column[is_curve]]
    is_rate[is_curve] = rates[equation[rows[is_curve]], numbers]
    for first in (structure.is_slack[column], is_rate, is_curve):
        others |= np.isin(rows, rows[first]) & ~first
    np.maximum.at(least, rows, np.where(others, 0.0, np.minimum(by_row, 1.0)))
    return least, most


@dataclass(frozen=True, eq=False)
class _Equations:
    """Equations over the path, each counted once, and what unknowns change in them at a start.

    changes : (equations, curves) the largest change by a smooth change of a curve by one, then by durations
        and parameters
    missed : (equations,) the largest miss, if that is more than rounding
    rates : (equations, curves) the states whose rates they hold
    """

    changes: Array
    missed: Array
    rates: Array

    def sizes(self, largest: Array, idle: Array, limits: Array) -> Array:
        """The sizes of curves (curves,), those of idle ones that are zero by the equations that they enter.

        Equations of rates that are known, and those with a single curve of unknown size, go first: x' says
        of each control in x' = u + w how large it is, though u stands nowhere else and w, weakly, in y'.
        """
        largest = largest.copy()
        while (unknown := np.flatnonzero(idle & (largest == 0.0))).size:
            others = np.maximum(self.missed, (self.changes * largest).max(axis=1, initial=0.0))
            enters = (self.changes[:, unknown] > 0.0) & (others > 0.0)[:, None]
            first = np.count_nonzero(self.changes[:, unknown], axis=1) == 1
            first |= self.rates.any(axis=1) & ~np.any(
                self.rates & (largest[: self.rates.shape[1]] == 0.0), axis=1
            )
            used = enters & first[:, None] if enters[first].any() else enters
            if not used.any():
                break
            ratios = others[:, None] / np.where(used, self.changes[:, unknown], 1.0)
            found = np.where(used, ratios, np.inf).min(axis=0)
            largest[unknown] = np.where(np.isfinite(found), np.minimum(found, limits[unknown]), 0.0)
        return largest


def _equations_at(
    structure: ProgramStructure,
    values: ProgramValues,
    functions: ProgramFunctions,
    bounds: Bounds,
    y: Array,
) -> _Equations:
    equation, rates = _equations_of_rows(structure)
    unknowns, count = values.unknowns, rates.shape[0]
    layout, numbers = unknowns.layout, unknowns.layout.curve_numbers[unknowns.elimination.free]
    entries = _finite(functions.jacobian(y)) * unknowns.smooth_changes()[functions.jacobian_columns]
    width = layout.curves + layout.size - layout.control_point_count
    keys = functions.jacobian_rows * width + numbers[functions.jacobian_columns]
    keys, place = np.unique(keys, return_inverse=True)
    rows, columns = np.divmod(keys, width)
    by_row = np.bincount(place, entries, minlength=keys.size)  # summed over every curve
    is_equation = bounds.lower == bounds.upper
    changes, missed = np.zeros((count, width)), np.zeros(count)
    here = equation[rows] * width + columns
    np.maximum.at(changes.reshape(-1), here, np.where(is_equation[rows], np.abs(by_row), 0.0))
    miss = _finite(np.abs(functions.rows(y) - bounds.lower))
    np.maximum.at(missed, equation, np.where(is_equation, miss, 0.0))
    rounding, others = ROUNDING * changes.max(axis=1, initial=0.0), changes[:, layout.curves :]
    others[others <= rounding[:, None]] = 0.0
    return _Equations(changes, np.where(missed > rounding, missed, 0.0), rates)


def _equations_of_rows(structure: ProgramStructure) -> tuple[Array, Array]:
    """The number of the equation over the path that is every row's, (rows,), and the states of its rates.

    States count as curves, (equations, curves): all of a system, or those beside a robot's joints, whose
    speeds are no rates there. Linear rows are equations of their own.
    """
    if "equations" in structure.layouts:
        return structure.layouts["equations"]
    spline_map, graph = structure.spline_map, structure.graph
    count, curves = structure.linear.kept.size, spline_map.layout.curves
    own, rates = [np.arange(count)], [np.zeros((count, curves), dtype=bool)]
    for group in structure.groups:
        width = group.shape[1]
        own.append(count + np.flatnonzero(group.kept) % width)
        rates.append(np.zeros((width, curves), dtype=bool))
        if group.name == EQUATIONS:
            for leaf, pattern in graph.leaf_pattern(group.quantity).items():
                spline = spline_map.spline.get(leaf)
                if spline and spline.order == 1 and (leaf == "v") != _is_robot(structure):
                    rates[-1][:, spline.curves] = pattern
        count += width
    structure.layouts["equations"] = found = np.concatenate(own), np.concatenate(rates)
    return found


def _finite(values: Array) -> Array:
    """The values, zero in place of those that are not finite."""
    return np.where(np.isfinite(values), values, 0.0)


def _is_robot(structure: ProgramStructure) -> bool:
    return "tau" in structure.graph.width


def _ways_down(functions: ProgramFunctions, y: Array, numbers: Array, idle: Array) -> Array:
    """The steps of curves (curves,) down the slope of the costs to the least value; 0 if it is negative."""
    steps, slope = np.zeros(idle.size), np.nan_to_num(functions.gradient(y))
    if not (functions.has_hessian and slope[idle[numbers]].any()):
        return steps
    entries = functions.hessian(y, np.zeros(functions.row_count))
    i, j = functions.hessian_rows, functions.hessian_columns
    same = (numbers[i] == numbers[j]) & np.isfinite(entries)
    twice = np.where(i == j, 1.0, 2.0) * entries * slope[i] * slope[j]
    bent = np.bincount(numbers[i][same], twice[same], minlength=idle.size)
    squares = np.bincount(numbers, slope**2, minlength=idle.size)
    steepest = np.zeros(idle.size)
    np.maximum.at(steepest, numbers, np.abs(slope))
    lengths = squares / np.where(bent > 0.0, bent, np.inf)
    whole = 0.5 * lengths * squares <= (1.0 + HALF_OF_DIGITS) * abs(functions.objective(y))
    ways = lengths * steepest
    return np.where(idle & whole & (ways > ROUNDING), ways, 0.0)


def _sizes_of_values(structure: ProgramStructure, values: ProgramValues, start: Array) -> Array | None:
    """The sizes of all unknowns at a start, see `Unknowns.sizes`; slacks have those of their pieces.

    A piece is as large as its largest value at the nodes, at the start or where every curve is moved by a
    part of its size, each by another, so that no difference of two cancels.
    """
    unknowns, spline_map = values.unknowns, structure.spline_map
    sizes = unknowns.sizes(start, values.bounds.lower, values.bounds.upper)
    if not structure.slacks:
        return sizes
    graph, leaves = structure.graph.with_blocks(values.data), set(structure.graph.leaves)
    x, of_slacks = unknowns.elimination.expand(start), np.ones(unknowns.layout.size)
    largest = {slack: np.zeros(structure.graph.width[slack]) for slack in structure.slacks}
    for at in (x, x + unknowns.steps_aside(sizes)):
        z = spline_map.leaf_values(at, leaves)
        z.update({slack: np.zeros_like(z[slack]) for slack in structure.slacks})
        with np.errstate(all="ignore"):
            u = graph.values(z)
        for slack, quantities in structure.slacks.items():
            for quantity in quantities:
                here = np.nan_to_num(np.abs(u[quantity]), posinf=0.0).max(axis=0)
                one = here.size == largest[slack].size  # or a norm, of several components
                largest[slack] = np.maximum(largest[slack], here if one else here.max())
    for slack, size in largest.items():
        spline_map.fill(of_slacks, slack, np.where(size > 0.0, size, 1.0))
    of_slacks = nearest_powers(of_slacks)[unknowns.elimination.free]
    if sizes is None:
        return of_slacks if np.any(of_slacks != 1.0) else None
    return np.where(structure.is_slack[unknowns.elimination.free], of_slacks, sizes)
