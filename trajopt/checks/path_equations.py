"""Path equations of a solution: constraints value(t) = bound over a part of the motion, and their residuals.

A spline meets a nonlinear equation at its nodes only. Between them it leaves a residual r(t) = value - bound,
which the motion found needs as a disturbance: the torque at a joint without a motor, for instance. Residuals
of equations without torques are compared with the sum of what they add up, those of forces as
`residual_forces` says.

The solution is an optimum of the problem with value(t) = bound + r(t). By the multipliers, which are
objective per unit of a row, its objective is to first order too low by

    cost = integral of lambda(t) r(t) dt,   lambda(t_k) = multiplier_k / (T w_k),

where w_k is the quadrature weight of node k and T the duration of its arc; lambda is interpolated between the
nodes of a span. Nodes without weight carry no density.

Residuals of rates are changes of states by interval: r = x' - f(x, u, t) integrated over time.

A control that jumps inside an interval is met by one polynomial, and a state by another: with f a square of
the control, x' cannot follow, and |r| there is a part of the jump however short the interval is. Its integral
is not: collocation makes that over the whole interval vanish to a high order, and within the interval it
falls with the length h. To first order in h the state that starts on the motion, and is led by the controls
over one interval, leaves the motion by e(t) = - integral of r. Of every interval and component the largest
counts of

    mean     |integral of r over the interval| / (h scale): a force that is missing for a while
    inside   the sum over all intervals of max |e| / (T scale), in proportion to max |e| in the interval
    rest     |r - p| / scale, with p the polynomial through r at Gauss' points: a spike or a pulse
    state    max |e| in the interval / range of the state, this at least 0.01 T scale

with `scale` that of the equation, the largest sum of its parts; `state` counts by max |r| / scale at most.
Parts that cancel, as a push against gravity, may be far larger than what they change of a state in T: by the
first three alone a pendulum on one interval passed with 5 % of its speed missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arrays import Array, finite_size
from trajopt.base.tolerances import AGREEMENT, HALF_OF_DIGITS, NOT_ZERO
from trajopt.checks.line import OfComponent
from trajopt.checks.peaks_between_nodes import limits_over, node_samples
from trajopt.graph.data import blocks_of_data
from trajopt.graph.graph import ChainRule, Graph
from trajopt.graph.quantities import PARAMETER, TORQUES, extra_leaf
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.solution import Solution, confirmed_mesh_of
from trajopt.solvers.solver import FEASIBILITY, ROUNDING
from trajopt.splines.basis import BORDER_SIDE, SAME_TIME
from trajopt.splines.node_sets import MotionSamples
from trajopt.splines.quadrature import GAUSS_POINTS, gauss, lagrange_polynomials

if TYPE_CHECKING:
    from trajopt.graph.protocols import Term


LEAST_SIZE = 1e-2  # of a curve's largest size, or of an integral of sizes: its part in a scale for zero
RESOLVED = HALF_OF_DIGITS  # of a state, over a span: what rounding leaves of its rate is a millionth of that
LEAF_OF_RATE = {"v": "q"}  # of a system's states; further states of robots are curves of their own
STEEP = 30.0  # times a change: above what exponentials of reactions, exp(-E / R T), have


def path_equations(problem: Problem) -> list[Constraint]:
    """The constraints that are equations, in some component, over the path, an arc or a window."""
    return [c for c in problem.constraints if c.is_path_equation]


def torque_equations(problem: Problem) -> list[Constraint]:
    """The path equations that contain torques directly: those that torques alone can satisfy."""
    return [c for c in path_equations(problem) if contains_torques(problem, c)]


def contains_torques(problem: Problem, constraint: Constraint) -> bool:
    """True if a constraint contains torques directly.

    False where there is not one torque per coordinate, as of a robot on a path.
    """
    if problem.quantities.knows("tau") and problem.width_of("tau") != problem.dynamics.n:
        return False
    return not set(TORQUES).isdisjoint(inputs_of(problem, constraint.term))


def inputs_of(problem: Problem, term: Term) -> list[str]:
    """The quantities that a term's own blocks ask for, or the quantity that it is."""
    blocks = problem.blocks_of(term)
    if not blocks:
        return [term.quantity]
    made = {name for block in blocks for name in block.outputs}
    return sorted({name for block in blocks for name in block.inputs} - made)


def part_sums(solution: Solution, several: Sequence[Term], times: Array) -> dict[str, Array]:
    """sum_j |dy/dz_j| |z_j| of every term y at times (K,), (K, width); z are all leaves but t.

    Zero where it is not finite. A position counts by no more than its range over the times, so that a joint
    that starts some turns away has the same scale; a curve by no less than a hundredth of its largest size
    over the times: held at zero for a while, it would be compared with what solvers leave. One that is zero
    at all times to what solvers leave counts by a hundredth of its bounds, or of one unit if less. Where a
    whole sum is what solvers leave because parameters are zero, these count by a hundredth of their guesses,
    or of one unit. Of a robot that hardly moves, travel and speed are what solvers leave: a joint travels
    1e-5 of the largest coordinate or of one unit, whichever is smaller, at least. A state of a system that
    rests has a rate of 1e-8 of its size over a span. A term of time alone has its own size. Of a system, a
    part that is above `STEEP` times what the term changes by without it, or with half of it, counts by that
    change: the slope of a narrow spike in a state does not make the spike small.
    """
    if not several:
        return {}
    graph = graph_of(solution.problem, several)
    problem, z = solution.problem, solution.leaves(times)
    bounds = {extra_leaf(name): finite_size([e.lower, e.upper]) for name, e in problem.extras.items()}
    travel = 0.0
    if problem.quantities.knows("tau"):  # a robot, however far from its origin; states have other units
        # 1e-5 of the largest coordinate of the robot, or of one rad or m
        travel = 1e-5 * min(1.0, float(np.abs(z["q"]).max(initial=0.0)))
    least: dict[str, Array | float] = {"q": travel, "v": travel / solution.duration}
    if not travel:  # a state that rests, far from zero: its rate is known to rounding over a span
        spans = solution.knot_times.size - 1
        least["v"] = RESOLVED * np.abs(z["q"]).max(axis=0, initial=0.0) * spans / solution.duration
    with np.errstate(all="ignore"):
        values = graph.values(z)
        partials = graph.partials(values)
        chain = ChainRule(graph, [term.quantity for term in several], [], list(graph.leaves))
        D = np.abs(chain.jacobian(partials, times.size, np.dtype(float))[:, : chain.used_count])
        sizes = {
            leaf: _size(leaf, z[leaf], bounds.get(leaf, 0.0), least.get(leaf, 0.0)) for leaf in graph.leaves
        }
        parts = _parts(D, sizes)
        if not problem.quantities.knows("tau"):
            rows_of_terms = {quantity: chain.rows[quantity] for quantity in chain.used}
            _shorten_steep_parts(parts, D, graph, z, sizes, rows_of_terms)
        sums = parts.sum(axis=2)
        if guessed := {leaf: size for leaf, size in _guessed_sizes(problem).items() if leaf in sizes}:
            most = {leaf: np.maximum(size, guessed.get(leaf, 0.0)) for leaf, size in sizes.items()}
            usual = _parts(D, most).sum(axis=2)
            at_zero = sums.max(axis=0, initial=0.0) <= FEASIBILITY * usual.max(axis=0, initial=0.0)
            sums = np.where(at_zero, LEAST_SIZE * usual, sums)
        moving = np.concatenate([np.full(z[leaf].shape[1], leaf != "t") for leaf in graph.leaves])
        of_time = ~np.any(np.any(D != 0.0, axis=0)[:, moving], axis=1)
    found = {}
    for term in several:
        rows = chain.rows[term.quantity]
        own = np.where(of_time[rows], np.abs(values[term.quantity]), sums[:, rows])
        found[term.quantity] = np.where(np.isfinite(own), own, 0.0)
    return found


def data_parts(solution: Solution, several: Sequence[Term], times: Array) -> dict[str, Array]:
    """The parts that data add to terms at times (K,), (K, width), where no curve changes that.

    y - y without the data, here and where all curves are half as large; zero where these differ.
    """
    problem = solution.problem
    if not several or not problem.datasets:
        return {}
    graph = graph_of(problem, several)
    zero = {name: replace(data, values=0.0 * data.values) for name, data in problem.datasets.items()}
    others = blocks_of_data(graph, zero)
    if not others:
        return {}
    here, added = solution.leaves(times), []
    half = {leaf: 0.5 * z if leaf in problem.spline_leaves else z for leaf, z in here.items()}
    with np.errstate(all="ignore"):
        for z in (here, half):
            with_data, without = graph.values(z), graph.with_blocks(others).values(z)
            added.append(
                {each.quantity: with_data[each.quantity] - without[each.quantity] for each in several}
            )
    found: dict[str, Array] = {}
    for quantity, own in added[0].items():
        size = np.abs(own).max(axis=0, initial=0.0)
        apart = np.abs(own - added[1][quantity]).max(axis=0, initial=0.0) <= AGREEMENT * size
        found[quantity] = np.where(apart, own, 0.0)
    return found


def least_sizes(parts: Array, times: Array, zero: Array) -> Array:
    """The least size (width,) of parts (K, width) at rising times (K,); infinite where all are zero.

    It is the least local minimum of |parts| above zero. Near places where parts go through or to zero their
    size hangs on where samples lie: there it is the size below which they are for a hundredth of the time.

    zero : (width,), sizes that are none
    """
    sizes, through = np.abs(parts), np.diff(np.sign(parts), axis=0) != 0.0
    none, rises = np.zeros((1, zero.size), dtype=bool), np.diff(sizes, axis=0) > 0.0
    falls = np.diff(sizes, axis=0) < 0.0
    lowest = ~(np.vstack([none, rises | through]) | np.vstack([falls | through, none])) & (sizes > zero)
    least = np.where(lowest, sizes, np.inf).min(axis=0, initial=np.inf)
    order = np.argsort(sizes, axis=0)
    sizes = np.take_along_axis(sizes, order, axis=0)
    lasting = np.diff(times, prepend=times[:1]) + np.diff(times, append=times[-1:])
    lasting = np.cumsum(np.where(sizes > zero, lasting[order], 0.0), axis=0)
    usual = (sizes > zero) & (lasting >= LEAST_SIZE * lasting[-1:])
    return np.minimum(least, np.where(usual, sizes, np.inf).min(axis=0, initial=np.inf))


def _size(leaf: str, values: Array, bound: Array | float, least: Array | float) -> Array:
    if leaf == "t":
        return np.zeros_like(values)
    size = np.abs(values)
    if leaf == "q":
        return np.maximum(np.minimum(size, np.ptp(values, axis=0)), least)
    largest, bound = size.max(axis=0, initial=0.0), np.minimum(bound, 1.0)
    own = LEAST_SIZE * np.where(largest <= FEASIBILITY * bound, bound, largest)
    return np.maximum(size, np.maximum(own, least))


def _parts(D: Array, sizes: Mapping[str, Array]) -> Array:
    """D_rj sizes_j, (K, rows, columns), of D (K, rows, columns) and sizes (K, width) of leaves in turn."""
    return D * np.concatenate(list(sizes.values()), axis=1)[:, None, :]


def _shorten_steep_parts(
    parts: Array,
    D: Array,
    graph: Graph,
    z: Mapping[str, Array],
    sizes: Mapping[str, Array],
    rows: Mapping[str, slice],
) -> None:
    """Put the change of a term without z_j, or with half of it, in place of steep parts (K, rows, all)."""
    columns = [(leaf, number) for leaf, size in sizes.items() for number in range(size.shape[1])]
    values = graph.values(dict(z))
    for column in np.flatnonzero(np.ptp(D, axis=0).any(axis=0)):  # others enter linearly
        leaf, number = columns[column]
        changes = np.zeros(parts.shape[:2])
        for share in (0.5, 1.0):
            moved = z[leaf].copy()
            moved[:, number] -= share * np.copysign(sizes[leaf][:, number], moved[:, number])
            other = graph.values({**z, leaf: moved})
            for quantity, place in rows.items():
                changed = np.nan_to_num(np.abs(values[quantity] - other[quantity]), nan=np.inf)
                changes[:, place] = np.maximum(changes[:, place], changed)
        largest = changes.max(axis=0, initial=0.0)
        steep = (largest > 0.0) & (parts[:, :, column].max(axis=0, initial=0.0) > STEEP * largest)
        parts[:, steep, column] = np.minimum(parts[:, steep, column], changes[:, steep])


def _guessed_sizes(problem: Problem) -> dict[str, Array]:
    """The size of every parameter's guess up to one unit, one where that is zero, (width,), by its leaf."""
    guesses = {PARAMETER + name: np.abs(each.guess) for name, each in problem.parameters.items()}
    return {leaf: np.minimum(np.where(guess > 0.0, guess, 1.0), 1.0) for leaf, guess in guesses.items()}


def scale_of(sums: Array) -> Array:
    """The largest of sums (K, width) over time, (width,).

    A component below a millionth of the largest one counts as that millionth, where rounding is; where all
    are what rounding leaves of a motion at rest they count as one unit.
    """
    scale = sums.max(axis=0, initial=0.0)
    largest = float(scale.max(initial=0.0))
    return np.maximum(scale, 1e-6 * largest) if largest > ROUNDING else np.ones_like(scale)


@dataclass(frozen=True)
class EquationResidual(OfComponent):
    """Largest residual |r| of one component of a path equation between nodes, and what it gains.

    scale : what it is compared with, in the equation's unit (`part_sums`, `residual_forces`)
    cost : by how much the objective is too low because of it, to first order; None where the multipliers of
        its rows are not known, NaN where r is
    """

    name: str
    component: str
    residual: float
    time: float
    scale: float
    unit: str
    cost: float | None

    @property
    def relative(self) -> float:
        return self.residual / self.scale

    def summary(self) -> dict[str, float | str | None]:
        """The numbers that `summary.json` holds."""
        return {name: getattr(self, name) for name in ("residual", "time", "scale", "unit", "cost")}


def cost_of_equations(equations: Sequence[EquationResidual]) -> float | None:
    """The sum of their costs that are known; None where none is."""
    known = [equation.cost for equation in equations if equation.cost is not None]
    return float(np.sum(known)) if known else None


def costs_of_residuals(solution: Solution) -> dict[Constraint, Array | None]:
    """The cost of r to first order, in every span, (spans, width), of every equation.

    None where multipliers are not known.
    """
    equations = path_equations(solution.problem)
    trajectory = confirmed_mesh_of(solution) if equations else None
    if trajectory is None:
        return dict.fromkeys(equations)
    times, weights, spans = quadrature(solution)
    values = solution.values([c.term for c in equations], times)
    here, nodes = MotionSamples.at(solution.curve, times), node_samples(solution)
    found: dict[Constraint, Array | None] = {}
    for constraint in equations:
        rows = solution.multipliers.get(constraint.name)
        mine = np.flatnonzero(constraint.over.mask(nodes))
        if rows is None or len(rows) != mine.size:
            found[constraint] = None
            continue
        density = np.zeros((nodes.times.size, rows.shape[1]))
        weight = trajectory.nodes.weight * solution.curve.durations[trajectory.nodes.arc]
        heavy = weight[mine] > 0.0
        density[mine[heavy]] = rows[heavy] / weight[mine[heavy]][:, None]
        mask = np.zeros(nodes.times.size, dtype=bool)
        mask[mine[heavy]] = True
        lower, _ = limits_over(constraint, solution.curve, times)
        residual = values[constraint.term.quantity] - np.where(
            constraint.lower == constraint.upper, lower, np.nan
        )
        inside = weights * constraint.over.mask(here)
        between = _interpolated(nodes.times[mask], density[mask], times, spans, solution)
        by_time = inside[:, None] * between * residual
        found[constraint] = by_time.reshape(-1, GAUSS_POINTS, by_time.shape[1]).sum(axis=1)
    return found


def quadrature(solution: Solution) -> tuple[Array, Array, Array]:
    """Times, weights in seconds and the number of the span, of Gauss points in every span."""
    knots = solution.knot_times
    points, weights = gauss(GAUSS_POINTS)
    lengths = np.diff(knots)
    times = knots[:-1, None] + lengths[:, None] * points
    return (
        times.ravel(),
        (lengths[:, None] * weights).ravel(),
        np.repeat(np.arange(lengths.size), GAUSS_POINTS),
    )


def _interpolated(at: Array, values: Array, times: Array, spans: Array, solution: Solution) -> Array:
    """The polynomial through the values at the nodes of each span, at times (K,), (K, width).

    Nodes, times and their spans rise.
    """
    knots, side = solution.knot_times, SAME_TIME * solution.duration
    found = np.zeros((times.size, values.shape[1]))
    firsts, lasts = np.searchsorted(at, knots[:-1] - side), np.searchsorted(at, knots[1:] + side, "right")
    for span, here in enumerate(
        np.split(np.arange(times.size), np.searchsorted(spans, range(1, knots.size - 1)))
    ):
        start, end = knots[span : span + 2]
        own = np.arange(firsts[span], lasts[span])
        # Of two nodes at a breakpoint, one on either side, only the inner one belongs to the span.
        keep = np.ones(own.size, dtype=bool)
        if own.size > 1 and at[own[1]] - at[own[0]] < side:
            keep[0] = False
        if own.size > 1 and at[own[-1]] - at[own[-2]] < side:
            keep[-1] = False
        own = own[keep]
        if own.size:
            s, points = ((seconds - start) / (end - start) for seconds in (at[own], times[here]))
            found[here] = lagrange_polynomials(s, points) @ values[own]
    return found


def _ranges_of_states(solution: Solution, times: Array) -> Array:
    """Largest less least value of every state of x' = f at times (K,), (width,)."""
    dynamics: Any = solution.problem.dynamics
    places = [(LEAF_OF_RATE.get(rate, extra_leaf(name)), i) for name, rate, i in dynamics.rates_of_states]
    leaves = solution.leaves(times, {leaf for leaf, _ in places})
    return np.array([np.ptp(leaves[leaf][:, i]) for leaf, i in places])


def interval_errors(
    solution: Solution, constraint: Constraint, scale: Array, times: Array, values: Array
) -> Array:
    """The relative errors above of every interval between knots, (intervals, width), of residuals of rates.

    times, values : (K,) in rising order and (K, width), at which r is compared with its polynomial, and
        between which states have their ranges
    """
    knots = solution.knot_times
    lengths, (points, weights) = np.diff(knots), gauss(GAUSS_POINTS)
    gauss_times, *_ = quadrature(solution)
    r = solution.value(constraint.term, gauss_times).reshape(lengths.size, GAUSS_POINTS, -1)
    r = r - constraint.lower
    mean = np.abs(np.einsum("i,kic->kc", weights, r))
    inside = lengths[:, None] * np.abs(np.einsum("ji,kic->kjc", _running_integrals(), r)).max(axis=1)
    interval = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, lengths.size - 1)
    s = (times - knots[interval]) / lengths[interval]
    # The polynomials through r (intervals, points, width) at s (K,) of their intervals, (K, width)
    between: Array = np.einsum("ki,kic->kc", lagrange_polynomials(points, s), r[interval])
    apart = np.abs(values - constraint.lower - between)
    at_knot = (
        np.abs(times[:, None] - knots[interval[:, None] + [0, 1]]) < 0.5 * BORDER_SIDE * solution.duration
    )
    apart[at_knot.any(axis=1)] = 0.0  # of either side: controls jump there
    rest = np.zeros_like(mean)
    np.maximum.at(rest, interval, apart)
    total, largest = inside.sum(axis=0) / solution.duration, inside.max(axis=0)
    shares = total * inside / np.maximum(largest, NOT_ZERO)
    peak = np.zeros_like(mean)
    np.maximum.at(peak, interval, np.abs(values - constraint.lower))
    ranges = _ranges_of_states(solution, times)
    of_state = inside / np.maximum(ranges, LEAST_SIZE * solution.duration * scale)
    return np.maximum(np.maximum(np.maximum(mean, rest), shares) / scale, np.minimum(of_state, peak / scale))


def _running_integrals() -> Array:
    """(m, GAUSS_POINTS): from 0 to m places in (0, 1] of the polynomials through one at Gauss' points."""
    points, weights = gauss(GAUSS_POINTS)
    ends = np.linspace(0.0, 1.0, 2 * GAUSS_POINTS + 1)[1:]
    return np.array([end * weights @ lagrange_polynomials(points, end * points) for end in ends])
