"""The sizes of a program's unknowns at its start: those of their values, equations, costs and pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.tolerances import HALF_OF_DIGITS
from trajopt.problem.systems.state_equations import EQUATIONS
from trajopt.solvers.solver import ROUNDING
from trajopt.transcription.bounds import Bounds
from trajopt.transcription.program_functions import ProgramFunctions
from trajopt.transcription.unknowns import LARGE, nearest_powers

if TYPE_CHECKING:
    from trajopt.transcription.transcribe import ProgramStructure, ProgramValues


def with_idle_curves(
    structure: ProgramStructure,
    values: ProgramValues,
    start: Array,
    sizes: Array | None,
    functions: ProgramFunctions,
    bounds: Bounds,
) -> Array | None:
    """The sizes of unknowns with those of curves that are guessed as zero, by the equations that they enter.

    In x' = u a control is as large as the states, 1e9. Each curve is so large that it changes no equation by
    more than the largest of the other unknowns does, or than the start misses it; equations with a single
    curve of unknown size go first. Where they say nothing, a curve is as large as its way down the costs to
    the least value along it, which costs that are never negative have, as those of a fit do; then parameters
    that are zero count as one. Values below 1e-12 are zeros, and small ones if one is below 1e-8 of its way.

    sizes : known so far, None: all are about one;  bounds : of the rows of the functions, not scaled
    """
    is_robot = "tau" in structure.graph.width  # in SI units, whatever currents a first guess would take
    has_equations = not is_robot and any(group.name == EQUATIONS for group in structure.groups)
    if sizes is None and not has_equations:
        return None
    unknowns, lower, upper = values.unknowns, values.bounds.lower, values.bounds.upper
    (numbers, parts), largest = unknowns.smooth_changes(), unknowns.largest_values(start)
    limits, kept = np.zeros(largest.size), np.zeros(largest.size, dtype=bool)
    np.maximum.at(limits, numbers, np.maximum(np.abs(lower), np.abs(upper)))
    if sizes is not None:
        kept[numbers[sizes != 1.0]] = True
        largest[numbers] = np.where(kept[numbers], np.maximum(largest[numbers], sizes), largest[numbers])
    kept[numbers[structure.is_slack[unknowns.elimination.free]]] = True
    states, curves = unknowns.layout.curve_count, np.arange(largest.size) < unknowns.layout.curves
    kept[:states] |= not has_equations
    faint = curves & (largest > 0.0) & (largest < 1.0 / LARGE) & (limits > largest)
    faint[numbers[structure.is_slack[unknowns.elimination.free]]] = False
    faint[:states] &= has_equations
    ways = np.zeros(largest.size)
    if faint.any():  # beside what the costs ask for, a value of rounding is no size, nor are others like it
        ways = np.minimum(_ways_down(functions, start, numbers, faint), limits)
        ways[HALF_OF_DIGITS * ways <= largest] = 0.0
        faint &= ways.any()
    kept &= ~faint
    largest[faint | (~kept & (largest <= ROUNDING))] = 0.0
    idle = curves & ~kept & (largest == 0.0) & (limits > 0.0)
    if not idle.any():
        return sizes
    changes, missed = _changes_of_equations(structure, values, functions, start, bounds, numbers, parts)
    largest = _by_equations(np.maximum(largest, ways), idle, limits, changes, missed)
    if np.any(idle & (largest == 0.0)):
        by_costs = _ways_down(functions, start, numbers, idle & (largest == 0.0))
        largest = _by_equations(np.maximum(largest, by_costs), idle, limits, changes, missed)
        largest = np.where(~curves & (largest == 0.0), np.minimum(limits, 1.0), largest)
        largest = _by_equations(largest, idle, limits, changes, missed)
    # A bounded control that is small at first may not stay so, nor a state beside others that are not small
    least = np.where(np.isfinite(limits), np.minimum(limits, 1.0 / LARGE), 0.0)
    least[:states] = 1.0 / LARGE if largest[:states].max() >= 1.0 / LARGE else 0.0
    largest = np.maximum(largest, least)
    powers = nearest_powers(np.where(idle & (largest > 0.0), largest, 1.0))[numbers]
    sizes = np.where(idle[numbers], powers, 1.0 if sizes is None else sizes)
    return None if np.all(sizes == 1.0) else sizes


def _changes_of_equations(
    structure: ProgramStructure,
    values: ProgramValues,
    functions: ProgramFunctions,
    y: Array,
    bounds: Bounds,
    numbers: Array,
    parts: Array,
) -> tuple[Array, Array]:
    """Changes of equations by smooth changes of every curve by one, (equations, curves), and their misses.

    An equation over the path counts once, with its largest change and its largest miss at y, if that is more
    than rounding. Durations and parameters stand behind the curves; their changes count alike.

    numbers, parts : see `Unknowns.smooth_changes`
    """
    linear = np.arange(structure.linear.kept.size)
    layout, own, count = values.unknowns.layout, [linear], linear.size
    for group in structure.groups:
        own.append(count + np.flatnonzero(group.kept) % group.shape[1])
        count += group.shape[1]
    entries = np.nan_to_num(functions.jacobian(y), posinf=0.0, neginf=0.0) * parts[functions.jacobian_columns]
    places = functions.jacobian_rows, numbers[functions.jacobian_columns]
    shape = functions.row_count, layout.curves + layout.size - layout.control_point_count
    by_row = sparse.coo_array(sparse.csr_array((entries, places), shape))  # summed over every curve
    equation, is_equation = np.concatenate(own), bounds.lower == bounds.upper
    changes, missed = np.zeros((count, shape[1])), np.zeros(count)
    rows, columns = by_row.coords
    np.maximum.at(changes, (equation[rows], columns), np.where(is_equation[rows], np.abs(by_row.data), 0.0))
    miss = np.nan_to_num(np.abs(functions.rows(y) - bounds.lower), posinf=0.0)
    np.maximum.at(missed, equation, np.where(is_equation, miss, 0.0))
    rounding, others = ROUNDING * changes.max(axis=1, initial=0.0), changes[:, layout.curves :]
    others[others <= rounding[:, None]] = 0.0
    return changes, np.where(missed > rounding, missed, 0.0)


def _by_equations(largest: Array, idle: Array, limits: Array, changes: Array, missed: Array) -> Array:
    """The sizes of curves (curves,), those of idle ones that are zero by the equations that they enter."""
    largest = largest.copy()
    while (unknown := np.flatnonzero(idle & (largest == 0.0))).size:
        others = np.maximum(missed, (changes * largest).max(axis=1, initial=0.0))
        enters = (changes[:, unknown] > 0.0) & (others > 0.0)[:, None]
        alone = enters & (np.count_nonzero(changes[:, unknown], axis=1) == 1)[:, None]
        used = alone if alone.any() else enters
        if not used.any():
            break
        ratios = others[:, None] / np.where(used, changes[:, unknown], 1.0)
        found = np.where(used, ratios, np.inf).min(axis=0)
        largest[unknown] = np.where(np.isfinite(found), np.minimum(found, limits[unknown]), 0.0)
    return largest


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


def sizes_at(structure: ProgramStructure, values: ProgramValues, start: Array) -> Array | None:
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
