"""Jumps of costs and equations that a motion crosses, and what no derivative at a node shows of them.

An integrand c that jumps by J where the motion crosses a surface s(z) = 0 at a time t* adds

    d/dy  int c dt  =  ... - J dt*/dy

to the slope of its integral. Solvers see the slopes of c at the nodes, which are those of its two sides: a
cost by `casadi.if_else(v > 1, 10, 0)` has none. A motion is a minimum in spite of that only where what is
left out is held by rows and limits, or gains less than what is allowed.

Between two nodes with leaves z_0 and z_1 a jump is bracketed on the line z_0 + alpha (z_1 - z_0), and again
on lines beside it. With h the time between the nodes

    dt* = h sum_i (dalpha/dz_i) dz_i,      dz = (1 - alpha) dz_0 + alpha dz_1.

Equations 0 = g, such as x' - f, whose multipliers have the density lambda, jump by J = lambda [g].
Between nodes they are missed where they jump. At a knot, where curves change their polynomials, both sides
may hold exactly: there lines go on beyond the knot from either side, as controls may jump, too. The smaller J
of both counts, and none where their signs differ. Its change as the crossing moves is not looked at: J = 0
may be a maximum, which `MissingSlope.crossed` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import legvander

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AT_TIMES
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.graph import Graph, part_of
from trajopt.graph.protocols import Block
from trajopt.graph.quantities import bare, entry
from trajopt.solvers.kkt import lagrangian_gradient, multipliers_of
from trajopt.solvers.solver import WarmStart
from trajopt.transcription.leaf_map import LeafMap
from trajopt.transcription.linked_program import LinkedProgram, placed_parts
from trajopt.transcription.nlp import NLP
from trajopt.verification.nearby_points import NearbyPoints

BESIDE = 0.25  # of the way: how far to both sides a jump is looked for on lines beside it
MINOR = 0.1  # of what is allowed: the least jump that counts; of a descent: what leaving limits adds
ACROSS = (
    "the motion need not be optimal: {}, and the objective falls as it jumps elsewhere on the motion, which "
    "no derivative shows; make the transition smooth (by np.tanh) or let phases (trajopt.Phases) meet there"
)
CROSSED = "{}: whether an earlier or later crossing is better was looked at to first order alone"


def lower_across_jumps(nearby: NearbyPoints, size: float, allowed: float) -> tuple[str, str]:
    """Reason against a minimum, the objective falls as the motion crosses a jump elsewhere, and `crossed`.

    Rows and limits do not hold the slope with what derivatives leave out: to first order the objective falls
    by more than is allowed as the unknowns change by their own sizes. Where limits stay as they are, and the
    objective is convex along them, Newton's step gains as much.

    size, allowed : of all costs together, scaled as the objective, and the part of them that may be gained
    """
    nlp, y = nearby.nlp, nearby.point.y
    found = missing_slope(nlp, nearby.point, MINOR * allowed * size)
    if not found.total > allowed * size:
        return "", found.crossed
    held, left = (nearby.descent(found.slope, all_stay) for all_stay in (True, False))
    if not left > allowed * size:
        return "", found.crossed
    if left - held <= MINOR * left and (factors := nearby.convex if nlp.has_hessian else None):
        rest = lagrangian_gradient(nlp, y, multipliers_of(nlp, nearby.point)[0]) + found.slope
        rest = rest[nearby.free]
        if not 0.5 * float(rest @ factors.solve_along(rest / nearby.sharpest)) > allowed * size:
            return "", found.crossed
    return ACROSS.format(found.cause), ""


class Jumping(NamedTuple):
    """A quantity that may jump, and what it counts at the nodes per second, (K, width), in the objective."""

    graph: Graph
    quantity: str
    weights: Array


class Jump(NamedTuple):
    """A jump of a quantity between two nodes, or at one of them.

    before, after : its values on both sides, (width,); weights : what they count per second, (width,)
    node : the first of the nodes; where, time : on the way to the next one, 0 to 1, and in seconds
    turns : dalpha/dz_i, of every component of every leaf
    """

    of: Jumping
    before: Array
    after: Array
    weights: Array
    node: int
    where: float
    time: float
    turns: dict[str, Array]

    @property
    def size(self) -> float:
        """J, by which what counts per second jumps."""
        return float((self.weights * (self.after - self.before)).sum())


class MissingSlope(NamedTuple):
    """The slope of an objective that its derivatives at nodes leave out, (n,), and the cause in words.

    total : the sum of the sizes of all jumps, times the duration, scaled as the objective
    crossed : the jump at a knot in words that counts most where multipliers are largest, if unknowns move it
    """

    slope: Array
    total: float
    cause: str
    crossed: str


def missing_slope(program: NLP | LinkedProgram, point: WarmStart, least: float) -> MissingSlope:
    """The slope that jumps along the motions add to that of the objective.

    least : jumps that change the objective by less, if they moved over the whole motion, are left out; scaled
        as the objective
    """
    slope, total, cause, crossed = np.zeros(program.variable_count), 0.0, (0.0, ""), (0.0, "")
    multipliers, *_ = multipliers_of(program, point)
    for nlp, place, rows, share in placed_parts(program):
        x = nlp.unknowns.elimination.expand(point.y[place])
        leaves = nlp.spline_map.leaf_values(x, {"t", "duration", "arc_duration", *nlp.graph.leaves})
        duration = float(leaves["duration"][0, 0])
        costs = _costs(nlp, share * nlp.objective_scale)
        equations = _equations(nlp, multipliers[rows], leaves["arc_duration"][:, 0])
        jumps = [jump for of in costs for jump in _between_nodes(nlp, of, leaves, least / duration)]
        for of in (*costs, *equations):
            for jump, weights in _at_knots(nlp, of, leaves, least / duration):
                if _slope_of(nlp, point.y[place], leaves, [jump]).any():
                    named = CROSSED.format(_named(jump, nlp, leaves))
                    crossed = max(crossed, (abs(jump.size) * duration, named))
                    jumps.append(jump._replace(weights=weights))
        for jump in jumps:
            total += abs(jump.size) * duration
            cause = max(cause, (abs(jump.size) * duration, _named(jump, nlp, leaves)))
        if jumps:
            slope[place] += _slope_of(nlp, point.y[place], leaves, jumps)
    return MissingSlope(slope, total, cause[1], crossed[1])


def _costs(nlp: NLP, factor: float) -> list[Jumping]:
    """The integrated costs that may jump; factor : of the objective."""
    costs, span = [], nlp.spline_map.nodes.span
    for objective in nlp.objectives:
        quantity = bare(objective.quantity)
        graph = part_of(nlp.graph, [quantity])
        if quantity != objective.quantity and any(map(_may_jump, graph.blocks)):
            weighed = np.isin(span, span[objective.node_weights != 0.0])
            weights = factor * objective.weight * weighed[:, None]
            costs.append(Jumping(graph, quantity, weights))
    return costs


def _equations(nlp: NLP, multipliers: Array, durations: Array) -> list[Jumping]:
    """The equations over time that may jump, with the densities of their multipliers.

    These are polynomials through mu / (w T) at the nodes with a weight w of each span.

    multipliers : of all rows; durations : T at the nodes
    """
    equations, nodes, cursor = [], nlp.spline_map.nodes, nlp.linear.b.size
    unscaled = multipliers * nlp.row_scale
    for group in nlp.groups:
        of_rows = group.spread(unscaled[cursor : cursor + group.count])
        cursor += group.count
        graph = part_of(nlp.graph, [group.quantity])
        if group.order is not None or np.any(np.diff(group.weights.indptr) != 1):
            continue
        if not group.is_equation.any() or not any(map(_may_jump, graph.blocks)):
            continue
        row = np.flatnonzero(nodes.weight[group.node] > 0.0)
        node = group.node[row]
        values = np.where(group.is_equation, of_rows, 0.0)[row]
        values = values / (nodes.weight[node] * durations[node])[:, None]
        density = np.zeros((nodes.count, values.shape[1]))
        for span in np.unique(nodes.span[node]):
            known, every = nodes.span[node] == span, nodes.span == span
            first, last = nodes.s[every].min(), nodes.s[every].max()
            along = (2.0 * nodes.s - first - last) / ((last - first) or 1.0)
            basis = legvander(along, int(known.sum()) - 1)  # powers of twenty nodes would lose 14 digits
            density[every] = basis[every] @ np.linalg.solve(basis[node[known]], values[known])
        equations.append(Jumping(graph, group.quantity, density))
    return equations


def _between_nodes(nlp: NLP, of: Jumping, leaves: dict[str, Array], least: float) -> Iterator[Jump]:
    """The jumps of a quantity between nodes of one span; least : of what counts per second."""
    span, t = nlp.spline_map.nodes.span, leaves["t"][:, 0]
    inside = (np.diff(span) == 0) & (np.diff(t) > 0.0) & of.weights[:-1].any(axis=1)
    first = np.flatnonzero(inside)  # curves may jump at knots
    begins, ends = np.diff(span, prepend=span[0]) > 0, np.diff(span, append=span[-1]) > 0
    low, high = np.where(begins, AT_TIMES, 0.0)[first], np.where(ends, 1.0 - AT_TIMES, 1.0)[first + 1]
    line = _Line(of, of.weights[first], leaves, first)
    low, high, change = line.steepest(low, high, least)
    sizes = np.abs(change)
    # The hundred largest tell whether a motion is a minimum: a staircase may have one between any nodes
    for i in sorted(np.argsort(-sizes, kind="stable")[:100]):
        if sizes[i] > least:
            yield line.jump(int(i), float(low[i]), float(high[i]), t)


def _at_knots(nlp: NLP, of: Jumping, leaves: dict[str, Array], least: float) -> Iterator[tuple[Jump, Array]]:
    """The jumps of a quantity at knots that the motion crosses, and what they count per second, (width,).

    The jumps themselves have the largest weights of the motion, by which they are looked for.
    """
    span, t = nlp.spline_map.nodes.span, leaves["t"][:, 0]
    within = (np.diff(span) == 0) & (np.diff(t) > 0.0)
    knots = 1 + np.flatnonzero(within[:-2] & within[2:] & (np.diff(span)[1:-1] > 0))
    largest = np.repeat(np.abs(of.weights).max(axis=0)[None], knots.size, axis=0)
    sides = []
    for first, at in ((knots - 1, 1.0), (knots + 1, 0.0)):
        line = _Line(of, largest, leaves, first)
        sides.append((line, *line.steepest(at - AT_TIMES, at + AT_TIMES, least)))
    change = np.stack([change for *_, change in sides])
    for i in np.flatnonzero((change.prod(axis=0) > 0.0) & (np.abs(change).min(axis=0) > least)):
        weights = 0.5 * (of.weights[knots[i]] + of.weights[knots[i] + 1])
        jumps = [line.jump(int(i), float(low[i]), float(high[i]), t) for line, low, high, _ in sides]
        left, right = (jump._replace(weights=weights).size for jump in jumps)
        yield jumps[int(abs(right) < abs(left))], weights * (left * right > 0.0)


def _may_jump(block: Block) -> bool:
    """True for traced terms with comparisons, steps or turns, and for functions not looked into."""
    if isinstance(block, ExpressionBlock):
        return any(kind in ("comparison", "step", "turn") for kind, _ in block.borders)
    return not getattr(block, "derivatives_are_tested", False)


class _Line:
    """Lines from nodes to the next ones, and on them a quantity as it counts."""

    def __init__(self, of: Jumping, weights: Array, leaves: dict[str, Array], first: Array) -> None:
        self.of, self.weights, self.first, names = of, weights, first, of.graph.leaves
        self.start = {name: leaves[name][first] for name in names}
        self.way = {name: leaves[name][first + 1] - leaves[name][first] for name in names}
        self.size = {name: np.abs(leaves[name]).max(axis=0) for name in names}

    def values(self, alpha: Array, rows: Array, beside: dict[str, Array] | None = None) -> Array:
        """The quantity at alpha on the lines of some rows, (rows, width), moved aside by `beside`."""
        z = {name: self.start[name][rows] + alpha[:, None] * self.way[name][rows] for name in self.start}
        for name, moved in (beside or {}).items():
            z[name] = z[name] + moved
        with np.errstate(all="ignore"):
            return self.of.graph.values(z)[self.of.quantity]

    def counted(self, alpha: Array, rows: Array, beside: dict[str, Array] | None = None) -> Array:
        """The sum of the components as they count, (rows,)."""
        return (self.weights[rows] * self.values(alpha, rows, beside)).sum(axis=1)

    def steepest(
        self,
        low: Array | float,
        high: Array | float,
        least: float,
        rows: Array | None = None,
        beside: dict | None = None,
    ) -> tuple[Array, Array, Array]:
        """Both sides of alpha where half after half what counts changes most, and by how much it changes.

        Lines on which it changes by no more than `least` are left.
        """
        rows = np.arange(self.first.size) if rows is None else rows
        one, other = np.full(rows.size, low), np.full(rows.size, high)
        here, there = self.counted(one, rows, beside), self.counted(other, rows, beside)
        for _ in range(30):  # to a billionth of the way between nodes: what changes on more is no jump
            left = np.flatnonzero(np.abs(there - here) > least)
            if not left.size:
                break
            middle = 0.5 * (one[left] + other[left])
            aside = None if beside is None else {name: moved[left] for name, moved in beside.items()}
            found = self.counted(middle, rows[left], aside)
            first = np.abs(found - here[left]) >= np.abs(there[left] - found)
            near, far = left[first], left[~first]
            other[near], there[near] = middle[first], found[first]
            one[far], here[far] = middle[~first], found[~first]
        return one, other, there - here

    def jump(self, row: int, low: float, high: float, t: Array) -> Jump:
        """The jump on a line between low and high."""
        sides = np.array([low, high])
        before, after = self.values(sides, np.full(2, row))
        size = float((self.weights[row] * (after - before)).sum())
        alpha, node = 0.5 * (low + high), int(self.first[row])
        time = float(t[node] + alpha * (t[node + 1] - t[node]))
        turns = self.turns(row, alpha, size)
        return Jump(self.of, before, after, self.weights[row], node, alpha, time, turns)

    def turns(self, row: int, alpha: float, size: float) -> dict[str, Array]:
        """dalpha/dz_i at a jump, of every component of every leaf; zero where the jump is not met again."""
        found = {}
        for name, way in self.way.items():
            width = way.shape[1]
            # Lines beside are apart by a small part of the largest value of a leaf
            steps = 1e-5 * np.where(self.size[name] > 0.0, self.size[name], 1.0)
            moved = {name: np.concatenate([np.diag(steps), -np.diag(steps)])}
            low, high, change = self.steepest(
                alpha - BESIDE, alpha + BESIDE, 0.0, np.full(2 * width, row), moved
            )
            met = np.abs(change) >= 0.5 * abs(size)
            slopes = (0.5 * (low + high) - alpha) / np.concatenate([steps, -steps])
            counts = np.maximum(met[:width].astype(int) + met[width:], 1)
            slopes = np.where(met, slopes, 0.0)
            found[name] = (slopes[:width] + slopes[width:]) / counts
        return found


def _slope_of(nlp: NLP, y: Array, leaves: dict[str, Array], jumps: Sequence[Jump]) -> Array:
    """The missing slope of one program, (variables,)."""
    names = sorted({name for jump in jumps for name in jump.turns})
    leaf_map = LeafMap.of(nlp.spline_map, nlp.leaf_map.N, names)
    bar, t = np.zeros((leaf_map.nodes, leaf_map.width)), leaves["t"][:, 0]
    for jump in jumps:
        sooner = jump.size * (t[jump.node + 1] - t[jump.node])
        for name, turns in jump.turns.items():
            place = leaf_map.columns[name]
            bar[jump.node, place] -= (1.0 - jump.where) * sooner * turns
            bar[jump.node + 1, place] -= jump.where * sooner * turns
    point = leaf_map.at(y, leaf_map.offset(nlp.unknowns.elimination.c))
    return leaf_map.gradient(point, bar)


def _named(jump: Jump, nlp: NLP, leaves: dict[str, Array]) -> str:
    """The jump in words: the quantity, its values, where and when."""
    of = {name: np.abs(turns * np.ptp(leaves[name], axis=0)) for name, turns in jump.turns.items()}
    name = max(of, key=lambda each: float(of[each].max(initial=0.0)))
    component = int(np.argmax(of[name]))
    ends = leaves[name][jump.node, component], leaves[name][jump.node + 1, component]
    value = (1.0 - jump.where) * ends[0] + jump.where * ends[1]
    most = int(np.argmax(np.abs(jump.weights * (jump.after - jump.before))))
    sides = np.array([jump.before[most], jump.after[most]])
    before, after = np.where(np.abs(sides) > AT_TIMES * np.abs(sides).max(), sides, 0.0)
    of_what = entry(jump.of.quantity, most, jump.after.size, nlp.component_names)
    at = entry(name, component, leaves[name].shape[1], nlp.component_names)
    return f"{of_what} jumps from {before:.4g} to {after:.4g} at {at} = {value:.4g}, t = {jump.time:.4g} s"
