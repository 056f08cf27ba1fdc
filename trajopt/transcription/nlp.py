"""The nonlinear program in the unknowns y, scaled: functions for solvers, labels and units for reports.

minimize f(y)   subject to   row_lower <= g(y) <= row_upper,   lower <= y <= upper

Its structure is what all programs of a problem with other values share.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.base.errors import EvaluationError
from trajopt.base.tolerances import HALF_OF_DIGITS, NOT_ZERO
from trajopt.graph.graph import Graph
from trajopt.graph.protocols import Block, SecondOrderBlock, Values
from trajopt.graph.quantities import entry, term_of
from trajopt.solvers.solver import ROUNDING, WarmStart
from trajopt.transcription.bounds import Bounds, LinearBlock, LinearRows
from trajopt.transcription.conditions import ConstantRows, Limits, LinearEquations, Objective, RowGroup
from trajopt.transcription.elimination import GeneralSolution
from trajopt.transcription.leaf_map import SplineMap, nearest_change, unknown_spans
from trajopt.transcription.program_functions import ProgramFunctions, ProgramMaps
from trajopt.transcription.unknowns import Label, Unknowns


@dataclass(frozen=True, eq=False)
class ProgramStructure:
    """The parts that all programs with these unknowns, equations, terms and kinds of bounds share.

    equations, solution : the linear equations A x = b, and x = N y + R b
    linear : rows that are linear in y
    objectives : their weights are values and may be others
    groups : all other rows
    constant : rows that no unknown changes; they are no rows of the program but must hold
    graph : all quantities, of which `maps` evaluate some in larger blocks
    component_names : (quantity, width) -> names of its components in messages
    slacks : leaf of every slack -> the quantities that bound it, or whose norm it stands for
    layouts : see `Program`
    """

    spline_map: SplineMap
    equations: LinearEquations
    solution: GeneralSolution
    linear: LinearRows
    objectives: tuple[Objective, ...]
    groups: tuple[RowGroup, ...]
    constant: ConstantRows
    graph: Graph
    maps: ProgramMaps
    component_names: Callable[[str, int], list[str]]
    slacks: Mapping[str, Sequence[str]]
    layouts: dict[str, Any] = field(default_factory=dict[str, Any])

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"layouts": {}}  # found again where they are asked for

    @cached_property
    def nearest_change(self) -> Array:
        """The change of y by one of the entries of x that the equations fix, see `nearest_point`."""
        return nearest_change(self.spline_map, self.solution)

    @cached_property
    def is_slack(self) -> Array:
        """Mask of the entries of x that are slacks."""
        mask = np.zeros(self.spline_map.layout.size, dtype=bool)
        for slack in self.slacks:
            self.spline_map.fill(mask, slack, True)
        return mask


@dataclass(frozen=True, eq=False)
class ProgramValues:
    """The numbers that a problem puts into the structure of its program.

    unknowns : with the c of x = N y + c
    bounds : of y
    linear : the linear rows
    given : limits of all other rows, `given_limits`
    objectives : with the weights of the problem
    data : blocks of the structure's graphs -> those with the data of the problem, where they are others
    """

    unknowns: Unknowns
    bounds: Bounds
    linear: LinearBlock
    given: Sequence[Limits]
    objectives: tuple[Objective, ...]
    data: dict[Block, Block]

    def row_bounds(self, groups: Sequence[RowGroup]) -> Bounds:
        """The bounds of all rows, not scaled: the linear ones, then those of every group."""
        lower, upper = [self.linear.bounds.lower], [self.linear.bounds.upper]
        for group in groups:
            low, high = group.limits(self.given)
            lower.append(low.ravel()[group.kept])
            upper.append(high.ravel()[group.kept])
        return Bounds(np.concatenate(lower), np.concatenate(upper))


@dataclass(frozen=True, eq=False)
class NLP(ProgramFunctions):
    """Objective, rows and their exact derivatives by y, scaled; made by `transcribe`.

    Rows are the linear ones first, then those of every group in turn, node by node, component by component.
    Multipliers follow grad f + J' lambda - z_lower + z_upper = 0.

    row_bounds : scaled, as the functions are
    linear, groups, objectives : the parts that they are made of, not scaled
    graph : all quantities, of which the functions evaluate some in larger blocks
    component_names : (quantity, width) -> names of its components in messages
    unknown_sizes : the size of every unknown at the start where these differ much, (n,); else None
    layouts : those of its structure
    """

    scaling: Scaling
    bounds: Bounds
    row_bounds: Bounds
    start: Array
    unknowns: Unknowns
    objectives: tuple[Objective, ...]
    linear: LinearBlock
    groups: tuple[RowGroup, ...]
    graph: Graph
    spline_map: SplineMap
    component_names: Callable[[str, int], list[str]]
    unknown_sizes: Array | None
    layouts: dict[str, Any]

    variable_count: int = field(init=False)
    lower: Array = field(init=False)
    upper: Array = field(init=False)
    row_lower: Array = field(init=False)
    row_upper: Array = field(init=False)
    objective_scale: float = field(init=False)
    durations: Array = field(init=False)  # their places among the unknowns

    def __post_init__(self) -> None:
        bounds, rows, unknowns = self.bounds, self.row_bounds, self.unknowns
        vars(self).update(lower=bounds.lower, upper=bounds.upper, row_lower=rows.lower, row_upper=rows.upper)
        vars(self).update(variable_count=unknowns.elimination.free.size, durations=unknowns.durations)
        vars(self).update(objective_scale=self.scaling.objective)

    @property
    def programs(self) -> tuple[NLP, ...]:
        """The program itself; of phases one for each."""
        return (self,)

    @property
    def row_scale(self) -> Array:
        return self.scaling.rows

    @property
    def unknown_spans(self) -> Array:
        """First and last span of every unknown, see `leaf_map.unknown_spans`."""
        if "spans" not in self.layouts:
            N = self.leaf_map.N
            self.layouts["spans"] = unknown_spans(N.shape[1], self.spline_map, N)
        return self.layouts["spans"]

    def with_objective_times(self, factor: float) -> NLP:
        """The same program with another factor of its objective."""
        scaling = Scaling(self.scaling.rows, factor * self.scaling.objective)
        return replace(self, scaling=scaling, objective_weights=factor * self.objective_weights)

    def with_values(
        self,
        unknowns: Unknowns,
        bounds: Bounds,
        row_bounds: Bounds,
        linear: LinearBlock,
        start: Array,
        sizes_of: Callable[[NLP], Array | None],
    ) -> NLP:
        """The program of other right-hand sides and limits, whose functions differ in c and b alone.

        row_bounds : not scaled; of `linear`, the matrix is that of this program
        sizes_of : gives the sizes of its unknowns, once its functions are those of the values
        """
        other = copy.copy(self)
        rows = row_bounds.scaled(self.row_scale)
        vars(other).update(unknowns=unknowns, bounds=bounds, row_bounds=rows, linear=linear, start=start)
        vars(other).update(b=self.row_scale[: linear.count] * linear.b, _last=None)
        vars(other).update(leaf_offset=self.leaf_map.offset(unknowns.elimination.c))
        other.__post_init__()
        vars(other).update(unknown_sizes=sizes_of(other))
        return other

    # -- reports ------------------------------------------------------------------------------------------

    @cached_property
    def row_labels(self) -> tuple[Label, ...]:
        """The label of every row."""
        nodes = self.unknowns.nodes
        of_groups = (label for group in self.groups for label in group.labels(nodes, self.component_names))
        return (*self.linear.labels, *of_groups)

    def physical_multipliers(self, row_multipliers: Array) -> dict[str, Array]:
        """Multipliers without scaling: objective per unit of the row, by constraint name, (rows, width)."""
        unscaled = row_multipliers * self.scaling.rows / self.scaling.objective
        named: dict[str, Array] = {}
        cursor = self.linear.b.size
        for group in self.groups:
            mine = group.spread(unscaled[cursor : cursor + group.count])
            cursor += group.count
            named[group.name] = np.concatenate([named[group.name], mine]) if group.name in named else mine
        return named

    def culprit(self, y: Array) -> str:
        """Term, node and joint that are not finite at y; "" when all is finite."""
        leaves = self.spline_map.leaf_values(self.unknowns.elimination.expand(y), set(self.graph.leaves))
        with np.errstate(all="ignore"):
            return next(_not_finite(self.graph, leaves, self.component_names), "")


# A cost below this share of its gradient is zero but for rounding. No cost is divided by less, no row by more
# than the inverse, in units of its unknowns.
NEGLIGIBLE = HALF_OF_DIGITS
AT_MINIMUM = ROUNDING  # of the size of unknowns: distance to the least value of a cost that rounding leaves
LEAST_SHARE = 1e-2  # of value or gradient of the objective: as far as one may be overruled by the other


@dataclass(frozen=True, eq=False)
class Scaling:
    """The factors of every row, (m,), and of the objective."""

    rows: Array
    objective: float

    def same(self, other: Scaling) -> bool:
        """True if the factors are the same."""
        return self is other or (self.objective == other.objective and np.array_equal(self.rows, other.rows))

    def rescaled(self, point: WarmStart, now: Scaling) -> WarmStart:
        """A point with multipliers in these factors, for other factors of as many rows; else as it is."""
        if self.rows.shape != now.rows.shape:
            return point
        factor = now.objective / self.objective
        of_rows, lower, upper = point.row_multipliers, point.lower_multipliers, point.upper_multipliers
        return WarmStart(
            point.y,
            None if of_rows is None else of_rows * (factor * self.rows / now.rows),
            None if lower is None else lower * factor,
            None if upper is None else upper * factor,
        )


def scaling_at_start(
    row_bounds: Bounds,
    jacobian_rows: Array,
    jacobian: Array,
    objective: float,
    gradient: Array,
    least: Array | float = 1.0,
    most: Array | float = 1.0,
    curvature: Callable[[], float] = lambda: 0.0,
) -> Scaling:
    """The factors of a program from its functions, not scaled, at the start.

    jacobian_rows, jacobian : row and value of every nonzero of the Jacobian
    objective, gradient : value of the objective and its gradient (variables,)
    least : a row without limits is divided by no less (rows,): the size of its unknowns, at most 1
    most : and by no more than this over `NEGLIGIBLE` (rows,): the size of its unknowns, at least 1
    curvature : gives the largest second derivative of the objective; asked for where the start is a minimum
    """
    return Scaling(
        _row_factors(row_bounds, jacobian_rows, jacobian, least, most),
        _objective_factor(float(objective), gradient, curvature),
    )


def _row_factors(
    bounds: Bounds, jacobian_rows: Array, jacobian: Array, least: Array | float, most: Array | float
) -> Array:
    """Rows by the size of their limits or, where that is small, their gradient at the start."""
    sides = np.abs(np.stack([bounds.lower, bounds.upper]))
    sides[~np.isfinite(sides)] = 0.0
    # A side of -1e12 that stands for "no limit" must not loosen the tolerance of the other one, of 10.
    smaller = np.where(np.all(sides > 0.0, axis=0), sides.min(axis=0), np.inf)
    steepest = np.zeros(sides.shape[1])
    # Entries that are not finite are left to the solver, which names their term; they must not become bounds.
    known = np.isfinite(jacobian)
    np.maximum.at(steepest, jacobian_rows[known], np.abs(jacobian[known]))
    slope = np.clip(steepest, np.maximum(least, NOT_ZERO), np.divide(most, NEGLIGIBLE))
    # Beside zero, [0, 1e9] held a distance to 0.1 m: a thousandfold slope (with the ten below) is its limit
    of_zero = ((bounds.lower == 0.0) | (bounds.upper == 0.0)) & np.isfinite(bounds.lower - bounds.upper)
    smaller = np.where(of_zero & (sides.max(axis=0) > 0.0), 100.0 * slope, smaller)
    # Rows are divided by at most ten times the smaller of their limits, whatever the larger one is
    size = np.minimum(sides.max(axis=0), 10.0 * smaller)
    # Limits far narrower than a row's gradient, such as a band of millimetres, would make it a wall.
    narrow = np.maximum(size, np.minimum(steepest, 1.0))
    return 1.0 / np.where(size > 0.0, narrow, slope)


def _objective_factor(value: float, gradient: Array, curvature: Callable[[], float]) -> float:
    """The objective by its gradient or its value at the start, whichever is smaller.

    A guess that is the data of a fit has neither, though its motion violates the rows: there the objective is
    divided by its curvature.
    """
    value, steepest = abs(value), float(np.abs(gradient).max(initial=0.0))
    if np.isfinite(value) and not np.isfinite(steepest):
        return 1.0  # the solver's own look at the start names the term whose slope is not finite
    if value <= AT_MINIMUM * steepest and steepest <= AT_MINIMUM * (curved := curvature()):
        known = 0.0 < curved < np.inf and (steepest > 0.0 or curved > 1.0)
        return 1.0 / curved if known else 1.0
    # At a start that is optimal already the gradient is noise, and dividing by it would magnify rounding; a
    # gradient far above the value, where accelerations follow from millimetres, would make `tol` a loose one.
    # Squares that are zero but for rounding have a value as small as the square of their gradient.
    flat = NEGLIGIBLE if value <= NEGLIGIBLE * steepest else 0.0
    size = np.clip(steepest, max(LEAST_SHARE * value, flat), max(value, LEAST_SHARE * steepest, flat))
    if np.isinf(size):
        raise EvaluationError(
            f"the objective is {value:.3g} and its steepest slope {steepest:.3g} at the start, beyond what "
            "floats hold: divide its weights"
        )
    return 1.0 / float(size) if steepest > 0.0 else 1.0


def _not_finite(graph: Graph, leaves: Values, components: Callable[[str, int], list[str]]) -> Iterator[str]:
    """`term 'power', component knee, is nan at t = 0.12 s (node 7)`: the cause of what follows first.

    leaves : all leaves of the graph at the nodes, the time t among them
    Values of all blocks come first, then partials and curvature block by block, in the order of evaluation.
    """
    times, u = leaves["t"][:, 0], graph.values(leaves)

    def label(quantity: str, component: int) -> str:
        return entry(quantity, component, graph.width[quantity], components)

    def found(values: Array, words: str, *quantities: str) -> Iterator[str]:
        """The first number that is not finite; `words` with the labels of its entries in their places."""
        for node, *place in np.argwhere(~np.isfinite(values))[:1]:
            names = map(label, quantities, place)
            what, number = words.format(*names), values[(node, *place)]
            yield f"{what}, is {number} at t = {times[node]:.4g} s (node {node})"

    for block in graph.blocks:
        for name in block.outputs:
            yield from found(u[name], "{}", name)
    for block in graph.blocks:
        for pair, part in block.partials(u).items():
            yield from found(part, "the derivative of {} by {}", *pair)
        if graph.has_curvature and implements(block, SecondOrderBlock):
            whose = term_of(next(iter(block.outputs)))
            ones = {name: np.ones_like(u[name]) for name in block.outputs}
            for pair, part in block.curvature(u, ones).items():
                yield from found(part, f"the second derivative of {whose} by {{}} and {{}}", *pair)
