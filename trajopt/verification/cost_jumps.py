"""Jumps of costs that a motion crosses, and what no derivative at a node shows of them.

An integrand c that jumps by J where the motion crosses a surface s(z) = 0 at a time t* adds

    d/dy  int c dt  =  ... - J dt*/dy

to the slope of its integral. Solvers see the slopes of c at the nodes, which are those of its two sides: a
cost by `casadi.if_else(v > 1, 10, 0)` has none. A motion is a minimum in spite of that only where what is
left out is held by rows and limits, or gains less than what is allowed.

Between two nodes with leaves z_0 and z_1 a jump is bracketed on the line z_0 + alpha (z_1 - z_0), and again
on lines beside it. With h the time between the nodes

    dt* = h sum_i (dalpha/dz_i) dz_i,      dz = (1 - alpha) dz_0 + alpha dz_1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.graph import Graph, part_of
from trajopt.graph.protocols import Block
from trajopt.graph.quantities import bare, entry, term_of
from trajopt.solvers.kkt import lagrangian_gradient, multipliers_of
from trajopt.transcription.leaf_map import LeafMap
from trajopt.transcription.linked_program import LinkedProgram, placed_parts
from trajopt.transcription.nlp import NLP
from trajopt.transcription.row_groups import Objective
from trajopt.verification.nearby_points import NearbyPoints

BESIDE = 0.25  # of the way: how far to both sides a jump is looked for on lines beside it
MINOR = 0.1  # of what is allowed: the least jump that counts; of a descent: what leaving limits adds
ACROSS = (
    "the motion need not be optimal: {}, and the objective falls as it jumps elsewhere on the motion, which "
    "no derivative shows; make the transition smooth (by np.tanh) or let phases (trajopt.Phases) meet there"
)


def lower_across_jumps(nearby: NearbyPoints, size: float, allowed: float) -> str:
    """Reason against a minimum: the objective falls as the motion crosses a jump of a cost elsewhere.

    Rows and limits do not hold the slope with what derivatives leave out: to first order the objective falls
    by more than is allowed as the unknowns change by their own sizes. Where limits stay as they are, and the
    objective is convex along them, Newton's step gains as much.

    size, allowed : of all costs together, scaled as the objective, and the part of them that may be gained
    """
    nlp, y = nearby.nlp, nearby.point.y
    found = missing_slope(nlp, y, MINOR * allowed * size)
    if found is None or not found.total > allowed * size:
        return ""
    held, left = (nearby.descent(found.slope, all_stay) for all_stay in (True, False))
    if not left > allowed * size:
        return ""
    if left - held <= MINOR * left and (factors := nearby.convex if nlp.has_hessian else None):
        rest = lagrangian_gradient(nlp, y, multipliers_of(nlp, nearby.point)[0]) + found.slope
        rest = rest[nearby.free]
        if not 0.5 * float(rest @ factors.solve_along(rest / nearby.sharpest)) > allowed * size:
            return ""
    return ACROSS.format(found.cause)


class Jump(NamedTuple):
    """A jump of a cost, times its weight, between two nodes.

    before, after : the weighted costs per second on both sides
    node : the first of the nodes; where, time : on the way to the next one, 0 to 1, and in seconds
    turns : dalpha/dz_i, of every component of every leaf
    """

    objective: Objective
    before: float
    after: float
    node: int
    where: float
    time: float
    turns: dict[str, Array]


class MissingSlope(NamedTuple):
    """The slope of an objective that its derivatives at nodes leave out, (n,), and the cause in words.

    total : the sum of the sizes of all jumps, times the duration, scaled as the objective
    """

    slope: Array
    total: float
    cause: str


def missing_slope(program: NLP | LinkedProgram, y: Array, least: float) -> MissingSlope | None:
    """The slope that jumps of costs along the motions add to that of the objective; None where none does.

    least : jumps that change the objective by less, if they moved over the whole motion, are left out; scaled
        as the objective
    """
    slope, total, largest, cause = np.zeros(program.variable_count), 0.0, 0.0, ""
    for nlp, place, _, share in placed_parts(program):
        factor = share * nlp.objective_scale
        x = nlp.unknowns.elimination.expand(y[place])
        leaves = nlp.spline_map.leaf_values(x, {"t", "duration", *nlp.graph.leaves})
        duration = float(leaves["duration"][0, 0])
        jumps = list(_jumps(nlp, leaves, least / (factor * duration)))
        if jumps:
            slope[place] += factor * _slope_of(nlp, y[place], leaves, jumps)
        for jump in jumps:
            size = factor * abs(jump.after - jump.before) * duration
            total += size
            if size > largest:
                largest, cause = size, _named(jump, nlp, leaves)
    return MissingSlope(slope, total, cause) if cause else None


def _jumps(nlp: NLP, leaves: dict[str, Array], least: float) -> Iterator[Jump]:
    """The jumps of all integrated costs between nodes.

    least : weighted costs per second that are left out
    """
    nodes, t = nlp.spline_map.nodes, leaves["t"][:, 0]
    inside = (np.diff(nodes.span) == 0) & (np.diff(t) > 0.0)  # curves may jump at knots
    for objective in nlp.objectives:
        graph = part_of(nlp.graph, [bare(objective.quantity)])
        if bare(objective.quantity) == objective.quantity or not any(map(_may_jump, graph.blocks)):
            continue
        weighed = np.isin(nodes.span, nodes.span[objective.node_weights != 0.0])
        first = np.flatnonzero(inside & weighed[:-1])
        line = _Line(graph, bare(objective.quantity), objective.weight, leaves, first)
        alpha, before, after = line.steepest(0.0, 1.0, least)
        sizes = np.abs(after - before)
        # The hundred largest tell whether a motion is a minimum: a staircase may have one between any nodes
        for i in sorted(np.argsort(-sizes, kind="stable")[:100]):
            if not sizes[i] > least:
                continue
            turns = line.turns(int(i), float(alpha[i]), float(sizes[i]))
            time = float(t[first[i]] + alpha[i] * (t[first[i] + 1] - t[first[i]]))
            sides = float(before[i]), float(after[i])
            yield Jump(objective, *sides, int(first[i]), float(alpha[i]), time, turns)


def _may_jump(block: Block) -> bool:
    """True for traced terms with comparisons, steps or turns, and for functions not looked into."""
    if isinstance(block, ExpressionBlock):
        return any(kind in ("comparison", "step", "turn") for kind, _ in block.borders)
    return not getattr(block, "derivatives_are_tested", False)


class _Line:
    """Lines between pairs of nodes, and a weighted cost per second on them."""

    def __init__(
        self, graph: Graph, quantity: str, weight: float, leaves: dict[str, Array], first: Array
    ) -> None:
        self.graph, self.quantity, self.weight, self.count = graph, quantity, weight, first.size
        self.start = {name: leaves[name][first] for name in graph.leaves}
        self.way = {name: leaves[name][first + 1] - leaves[name][first] for name in graph.leaves}
        self.size = {name: np.abs(leaves[name]).max(axis=0) for name in graph.leaves}

    def cost(self, alpha: Array, rows: Array, beside: dict[str, Array] | None = None) -> Array:
        """The cost at alpha on the lines of some rows, (rows,), moved aside by `beside`."""
        z = {name: self.start[name][rows] + alpha[:, None] * self.way[name][rows] for name in self.start}
        for name, moved in (beside or {}).items():
            z[name] = z[name] + moved
        with np.errstate(all="ignore"):
            return self.weight * self.graph.values(z)[self.quantity].sum(axis=1)

    def steepest(
        self, low: float, high: float, least: float, rows: Array | None = None, beside: dict | None = None
    ) -> tuple[Array, Array, Array]:
        """alpha, and the costs on both sides, where half after half the cost changes most.

        Lines on which it changes by no more than `least` are left.
        """
        rows = np.arange(self.count) if rows is None else rows
        one, other = np.full(rows.size, low), np.full(rows.size, high)
        here, there = self.cost(one, rows, beside), self.cost(other, rows, beside)
        for _ in range(30):  # to a billionth of the way between nodes: what changes on more is no jump
            left = np.flatnonzero(np.abs(there - here) > least)
            if not left.size:
                break
            middle = 0.5 * (one[left] + other[left])
            aside = None if beside is None else {name: moved[left] for name, moved in beside.items()}
            found = self.cost(middle, rows[left], aside)
            first = np.abs(found - here[left]) >= np.abs(there[left] - found)
            near, far = left[first], left[~first]
            other[near], there[near] = middle[first], found[first]
            one[far], here[far] = middle[~first], found[~first]
        return 0.5 * (one + other), here, there

    def turns(self, row: int, alpha: float, size: float) -> dict[str, Array]:
        """dalpha/dz_i at a jump, of every component of every leaf; zero where the jump is not met again."""
        found = {}
        for name, way in self.way.items():
            width = way.shape[1]
            # Lines beside are apart by a small part of the largest value of a leaf
            steps = 1e-5 * np.where(self.size[name] > 0.0, self.size[name], 1.0)
            moved = {name: np.concatenate([np.diag(steps), -np.diag(steps)])}
            where, here, there = self.steepest(
                alpha - BESIDE, alpha + BESIDE, 0.0, np.full(2 * width, row), moved
            )
            met = np.abs(there - here) >= 0.5 * size
            slopes = (where - alpha) / np.concatenate([steps, -steps])
            counts = np.maximum(met[:width].astype(int) + met[width:], 1)
            slopes = np.where(met, slopes, 0.0)
            found[name] = (slopes[:width] + slopes[width:]) / counts
        return found


def _slope_of(nlp: NLP, y: Array, leaves: dict[str, Array], jumps: Sequence[Jump]) -> Array:
    """The missing slope of one program, of its objective without its factor, (variables,)."""
    names = sorted({name for jump in jumps for name in jump.turns})
    leaf_map = LeafMap.of(nlp.spline_map, nlp.leaf_map.N, names)
    bar, t = np.zeros((leaf_map.nodes, leaf_map.width)), leaves["t"][:, 0]
    for jump in jumps:
        sooner = (jump.after - jump.before) * (t[jump.node + 1] - t[jump.node])
        for name, turns in jump.turns.items():
            place = leaf_map.columns[name]
            bar[jump.node, place] -= (1.0 - jump.where) * sooner * turns
            bar[jump.node + 1, place] -= jump.where * sooner * turns
    point = leaf_map.at(y, leaf_map.offset(nlp.unknowns.elimination.c))
    return leaf_map.gradient(point, bar)


def _named(jump: Jump, nlp: NLP, leaves: dict[str, Array]) -> str:
    """The jump in words: the cost, its values, where and when."""
    of = {name: np.abs(turns * np.ptp(leaves[name], axis=0)) for name, turns in jump.turns.items()}
    name = max(of, key=lambda each: float(of[each].max(initial=0.0)))
    component = int(np.argmax(of[name]))
    ends = leaves[name][jump.node, component], leaves[name][jump.node + 1, component]
    value = (1.0 - jump.where) * ends[0] + jump.where * ends[1]
    before, after = (side / jump.objective.weight for side in (jump.before, jump.after))
    at = entry(name, component, leaves[name].shape[1], nlp.component_names)
    return (
        f"{term_of(bare(jump.objective.quantity))} jumps from {before:.4g} to {after:.4g} "
        f"at {at} = {value:.4g}, t = {jump.time:.4g} s"
    )
