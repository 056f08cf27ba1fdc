"""Checks of the integrals of a problem over a motion, bounded ones and costs, without smoothing.

They are enclosed by Taylor models, or estimated by adaptive quadrature, once for reports and certificates,
which compare them with tolerances of their own. Every integral is also computed again by the quadrature over
the problem's own nodes.

Costs count as zero below the sizes that their terms leave where they cancel, and that rounding leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from trajopt.base.arrays import Array, finite_size
from trajopt.base.tolerances import AGREEMENT, AT_TIMES, BETWEEN
from trajopt.checks.constraint_checks import OF_MARGIN, term_models
from trajopt.checks.line import IntegralEnds, Interval, Line, Worst
from trajopt.checks.path_equations import LEAST_SIZE
from trajopt.checks.peaks_between_nodes import dense_samples, interval_of, node_samples, single_times
from trajopt.graph.graph import ChainRule
from trajopt.graph.quantities import extra_leaf
from trajopt.problem.constraints.slacks import IntegralConstraint
from trajopt.problem.costs_and_constraints import Cost
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.solution import Solution, confirmed_mesh_of
from trajopt.solvers.solver import ROUNDING
from trajopt.splines.basis import BORDER_SIDE, Curve
from trajopt.splines.node_sets import ArcNodes, NodeSet
from trajopt.splines.quadrature import adaptive_integral
from trajopt.taylor_models.suprema import LeafPieces, Model, enclosed_integrals
from trajopt.terms.nonsmooth import SMALLEST, Slacked, SlackedNorm, exact_of
from trajopt.terms.term import operands_of

if TYPE_CHECKING:
    from trajopt.graph.protocols import Term


Size = Callable[[str, Array], Array]  # leaf and its values (K, width) -> what counts as their sizes


def size_of_parts_and_rounding(solution: Solution) -> tuple[float, float, float]:
    """The sum over all costs of |weight| times the integral, or the value at an end, of

        sum_j |dc/dz_j| |z_j| + 1/2 sum_ij |z_i| |d2c / dz_i dz_j| |z_j|

    with z the curves and their derivatives. Of a square c = (sum_j A_j z_j)^2 that is zero it is
    (sum_j |A_j z_j|)^2. Zero where a cost has no second derivatives or where one of the numbers is not
    finite. With three kinds of z_j:

    * those of the motion. Every z_j counts by no more than its range over the motion, and parameters do not:
      an offset of kilometres that cancels in millimetres would excuse anything;
    * those that solvers leave of curves: the cost of a body that rests away from zero. They leave 1e-12 of
      the control points P, and of the l-th derivative of a curve of degree d therefore 1e-12 |P| (2 d / h)^l,
      with h the shortest span in seconds;
    * these and slacks by what solvers leave of their rows s >= piece: 1e-9 of the sum over j of
      |dpiece/dz_j| |z_j|, where control points that are zero count as their bound, at most as 1. The slack
      of a norm counts by its least value.
    """
    rounding = _rounding(solution, False)
    slacked = any(any(_slacks_of(cost.term)) for cost in solution.problem.costs)
    with_slacks = _rounding(solution, True) if slacked else rounding
    parts, left, left_of_slacks = _sizes_of_costs(solution, _within_range, rounding, with_slacks)
    return parts, left, left_of_slacks


def _rounding(solution: Solution, with_slacks: bool) -> Size:
    """The sizes that solvers leave of leaves, with or without those of slacks."""
    problem, curve = solution.problem, solution.curve
    leaves, least = problem.spline_leaves, np.zeros(curve.n)
    rounding = {leaf: ROUNDING * _largest(curve, of.order, least)[of.curves] for leaf, of in leaves.items()}

    def size(leaf: str, z: Array) -> Array:
        return np.broadcast_to(rounding.get(leaf, 0.0), z.shape)

    if not with_slacks:
        return size
    for name, extra in problem.extras.items():
        bound = finite_size([extra.lower, extra.upper])
        least[leaves[extra_leaf(name)].curves] = np.where((bound > 0.0) & (bound < 1.0), bound, 1.0)
    least[: problem.dynamics.n] = 1.0
    largest = {leaf: _largest(curve, of.order, least)[of.curves] for leaf, of in leaves.items()}
    at_nodes = node_samples(solution).times
    for slacked in {each for cost in problem.costs for each in _slacks_of(cost.term)}:
        if isinstance(slacked, SlackedNorm):
            rounding[slacked.slack] = np.array([slacked.exact.smallest])
            continue
        sizes = [
            _sizes(solution, piece, at_nodes, lambda leaf, z: np.maximum(np.abs(z), largest.get(leaf, 1.0)))
            for piece in slacked.exact.pieces
        ]
        rounding[slacked.quantity] = np.array([AGREEMENT * np.max(sizes)])
    return size


def _compared(cost: Cost) -> Term:
    """The term that a cost is compared with: the exact one of an integral or of slacks."""
    exact = cost.over.integrates or any(_slacks_of(cost.term))
    return exact_of(cost.term) if exact else cost.term


def _slacks_of(term: Term) -> Iterator[Slacked | SlackedNorm]:
    """The terms with slacks that a term is made of."""
    if isinstance(term, Slacked | SlackedNorm):
        yield term
    else:
        for part in operands_of(term):
            yield from _slacks_of(part)


def norms_out_of_range(solution: Solution) -> str:
    """A norm whose largest value is far from a million times its least one, in words; empty: none."""
    problem, times = solution.problem, node_samples(solution).times
    terms = [each.term for each in (*problem.costs, *problem.integrals)]
    for exact in {of.exact for term in terms for of in _slacks_of(term) if isinstance(of, SlackedNorm)}:
        largest = float(np.max(solution.value(exact, times)))
        if 0.0 < largest < np.inf and not NORMS[0] <= largest / exact.smallest <= NORMS[1]:
            needed = 10.0 ** np.round(np.log10(SMALLEST * largest))
            return (
                f"the {exact.name} is up to {largest:.2g}, for which its smallest={exact.smallest:g} is "
                f"unfit: give trajopt.norm(..., smallest={needed:.0e})"
            )
    return ""


def _largest(curve: Curve, order: int, least: Array) -> Array:
    """Sizes that control points allow of a derivative of every curve, (n,).

    least : of the control points (n,)
    """
    found, first = [], 0
    for group in curve.groups:
        arcs = zip(group.bases, group.control_points, curve.durations, strict=True)
        own = least[first : first + group.n]
        of_arcs = [
            np.maximum(np.abs(P).max(axis=0), own)
            * (2.0 * basis.degree / (np.diff(basis.breakpoints).min() * T)) ** order
            for basis, P, T in arcs
        ]
        found.append(np.max(of_arcs, axis=0))
        first += group.n
    return np.concatenate(found)


def _sizes_of_costs(solution: Solution, *sizes: Size) -> list[float]:
    """The sum of `size_of_parts_and_rounding` for each of these sizes of leaves."""
    costs, nodes, dense = solution.problem.costs, node_samples(solution), dense_samples(solution)
    totals = np.zeros(len(sizes))
    for cost in costs:
        here = dense if cost.over.integrates else nodes
        found = abs(cost.weight) * _sizes(solution, cost.term, here.times, *sizes) * cost.over.mask(here)
        steps = 0.5 * np.diff(here.times) if cost.over.integrates else None
        totals += found.sum(axis=1) if steps is None else (found[:, :-1] + found[:, 1:]) @ steps
    return np.where(np.isfinite(totals), totals, 0.0).tolist()


def _sizes(solution: Solution, term: Term, times: Array, *sizes: Size) -> Array:
    """The sum above of one term at times (K,), all components together, (sizes, K)."""
    graph = graph_of(solution.problem, [term])
    if not graph.has_curvature:
        return np.zeros((len(sizes), times.size))
    z = solution.leaves(times)
    chain = ChainRule(graph, [], [term.quantity], list(graph.leaves))
    with np.errstate(all="ignore"):
        u = graph.values(z)
        partials = graph.partials(u)
        D = chain.jacobian(partials, times.size, np.dtype(float))
        at = [np.concatenate([size(leaf, z[leaf]) for leaf in graph.leaves], axis=1) for size in sizes]
        by_size = np.stack(at, axis=2)  # (K, leaves, sizes)
        first = (np.abs(D[:, chain.rows[term.quantity]]) @ by_size).sum(axis=1)
        ones = np.zeros((times.size, chain.used_count))
        ones[:, chain.rows[term.quantity]] = 1.0
        H = np.abs(chain.hessian(u, D, chain.adjoints(partials, ones)))
        return (first + 0.5 * (by_size * (H @ by_size)).sum(axis=1)).T


def _within_range(leaf: str, values: Array) -> Array:
    return np.zeros_like(values) if leaf == "t" else np.minimum(np.abs(values), np.ptp(values, axis=0))


OF_QUADRATURE = 1e-2  # of the tolerance, and of the integral of the absolute value: the same of a quadrature
NEGLIGIBLE_COST = AT_TIMES  # of the costs together: too small to compare with
CANCELLED = NEGLIGIBLE_COST**2  # of the size of their parts: costs below are zero, as the square of 1e-6 is
NORMS = (1e3, 1e9)  # times its smallest value: the largest one, for which costs of it are solved well
MISSED = BETWEEN**2  # of the size of their parts: the square of what equations may be missed by

RangeOf = Callable[..., "IntegralRange"]  # `enclosed_range` or `sampled_range`


@dataclass(frozen=True, eq=False)
class IntegralRange:
    """Integrals of a term's components over a part of the motion, (width,) each.

    low, high : ends of a range that holds the integral: proved of an enclosure, infinite where there is none;
        of a quadrature its value and the estimate of its error, NaN where a value is not finite
    size : the integral of the absolute value is at least this, by an enclosure or by an estimate
    resolution : seconds between the samples of a quadrature; what happens on a shorter interval may be
        missed; 0 of an enclosure
    time : seconds, the first time at which a value is not finite; 0 where all are
    """

    low: Array
    high: Array
    size: Array
    resolution: float = 0.0
    time: float = 0.0

    @staticmethod
    def unknown(width: int) -> IntegralRange:
        """The ranges of which nothing is known."""
        return IntegralRange(np.full(width, -np.inf), np.full(width, np.inf), np.zeros(width))

    def __add__(self, other: IntegralRange) -> IntegralRange:
        return IntegralRange(
            self.low + other.low,
            self.high + other.high,
            self.size + other.size,
            max(self.resolution, other.resolution),
            self.time or other.time,
        )

    def times(self, factor: float) -> IntegralRange:
        """The ranges of a multiple."""
        if factor == 0.0:
            return IntegralRange(0.0 * self.size, 0.0 * self.size, 0.0 * self.size)
        one, other = factor * self.low, factor * self.high
        low, high = np.minimum(one, other), np.maximum(one, other)
        return IntegralRange(low, high, abs(factor) * self.size, self.resolution, self.time)

    def within(self, proved: IntegralRange) -> IntegralRange:
        """These ranges, ends that are known to be wrong moved into the proved ones."""
        low, high = (np.clip(end, proved.low, proved.high) for end in (self.low, self.high))
        return IntegralRange(low, high, np.maximum(self.size, proved.size), self.resolution, self.time)


def enclosed_range(
    solution: Solution, term: Term, over: NodeSet, least: Array, accuracy: float, together: bool = False
) -> IntegralRange:
    """Ranges that are proved by Taylor models, infinite where the term has none.

    least : scales (width,) that the components have at least
    accuracy : of the scale, the tolerance, which says how small an error is sought
    together : the sum of all components, as one
    """
    models = term_models(solution, [term], _whole_interval(over, solution.curve))
    if models is None:
        return IntegralRange.unknown(least.size)
    pieces, evaluate = models

    def integrand(some: LeafPieces) -> dict[str, Model]:
        found = evaluate(some)[term.quantity]
        return {term.quantity: [sum(found)] if together else found}

    try:
        found = enclosed_integrals(pieces, integrand, term.quantity, OF_MARGIN * accuracy, least)
    except NotImplementedError:
        return IntegralRange.unknown(least.size)
    return IntegralRange(found.value - found.error, found.value + found.error, found.least_size)


def sampled_range(
    solution: Solution, term: Term, over: NodeSet, least: Array, accuracy: float, together: bool = False
) -> IntegralRange:
    """Ranges by adaptive quadrature, whose errors are estimates; arguments as of `enclosed_range`."""
    interval = _whole_interval(over, solution.curve)
    knots = solution.curve.knot_times
    inside = knots[(knots > interval.first) & (knots < interval.last)]

    def integrand(times: Array) -> Array:
        found = solution.value(term, times)
        return found.sum(axis=1, keepdims=True) if together else found

    edges = np.unique(np.concatenate([[interval.first], inside, [interval.last]]))
    found = adaptive_integral(integrand, edges, (OF_QUADRATURE * accuracy, OF_QUADRATURE), least)
    size = np.nan_to_num(np.maximum(found.size - found.size_error, 0.0))
    time = float(np.nan_to_num(np.fmin.reduce(found.first_bad)))
    return IntegralRange(found.value - found.error, found.value + found.error, size, found.resolution, time)


def decided(
    proved: IntegralRange,
    sampled: Callable[[], IntegralRange],
    bounds: tuple[Array, Array],
    scale: Callable[[IntegralRange], Array],
    accuracy: float,
) -> Iterator[Line]:
    """Violations of bounds on integrals, or of reported values, which are both bounds, without names.

    A range decides whose violations are all within the tolerance or all beyond. Of a quadrature the largest
    violation in the range counts, which its estimated error widens. At the nodes stands what a violation is
    at least, proved or estimated; at any time an upper bound where it is tolerated, else a lower one.

    scale : of all components, what violations in these ranges are compared with
    accuracy : of the scale: the tolerance
    """
    lower, upper = bounds

    def violations(of: IntegralRange) -> tuple[Array, Array]:
        """Least and largest values anywhere in a range, (width,) each."""
        at_ends = [np.maximum(lower - end, end - upper) for end in (of.low, of.high)]
        return np.maximum(lower - of.high, of.low - upper), np.maximum(0.0, np.maximum(*at_ends))

    with np.errstate(invalid="ignore"):  # an infinite end beside a missing bound decides nothing
        (least, most), tolerance = violations(proved), accuracy * scale(proved)
    holds, fails = most <= tolerance, least > tolerance
    measured = proved if np.all(holds | fails) else sampled().within(proved)
    low, high = violations(measured)
    value = np.where(holds, most, np.where(fails, least, high))
    for i, known in enumerate((holds | fails).tolist()):
        of, at_least = (proved, least) if known else (measured, low)
        size, nowhere = float(scale(of)[i]), Worst(-np.inf, of.time)
        at_nodes = nowhere, Worst(max(float(at_least[i]), 0.0), of.time)
        at_any = nowhere, Worst(float(value[i]), of.time)
        evidence: Literal["enclosure", "sampled"] = "enclosure" if known else "sampled"
        stated = ("", "", "", 0.0, 0.0, (size, size), at_nodes, at_any, evidence, of.resolution)
        yield Line(*stated, integral=IntegralEnds(*map(float, (of.low[i], of.high[i], of.size[i]))))


def _whole_interval(over: NodeSet, curve: Curve) -> Interval:
    """The interval of an integral, its ends included."""
    when = interval_of(over, curve)
    if isinstance(over, ArcNodes) and not isinstance(over.part, tuple):
        first, last = curve.starts[over.arc : over.arc + 2]
        return Interval(float(first), float(last))
    side = BORDER_SIDE * curve.duration  # by which limits are looked at from inside
    first = when.first - side if when.first > 0.0 else 0.0
    last = when.last + side if when.last < curve.duration else curve.duration
    return Interval(first, last)


def integral_checks(solution: Solution, accuracy: float, enclose: bool = True) -> Iterator[Line]:
    """Bounded integrals of terms without smoothing, as the motion gives them.

    At nodes they are by the program's own quadrature, where its nodes are known.

    accuracy : relative to the scale, what a violation is compared with
    enclose : whether an enclosure is tried first
    """
    problem, end = solution.problem, solution.duration
    trajectory = confirmed_mesh_of(solution) if problem.integrals else None
    for bounded in problem.integrals:
        several = list(_measured(solution, bounded, accuracy, enclose))
        at_nodes = np.array([found.at_nodes[1].value for found in several])
        if trajectory is not None:
            T = solution.curve.durations[trajectory.nodes.arc]
            weights = T * bounded.over.cost_weights(trajectory)
            at_nodes = bounded.violation(weights @ solution.value(bounded.term, node_samples(solution).times))
        units = problem.term_units(bounded.term, len(several))
        for i, (found, unit) in enumerate(zip(several, units, strict=True)):
            yield replace(
                found,
                name=bounded.name,
                component=str(i) if len(several) > 1 else "",
                unit=f"{unit} s" if unit else "",
                lower=float(bounded.lower[i]),
                upper=float(bounded.upper[i]),
                at_nodes=(Worst(-np.inf, end), Worst(float(at_nodes[i]), end)),
            )


def _measured(
    solution: Solution, bounded: IntegralConstraint, accuracy: float, enclose: bool
) -> Iterator[Line]:
    """Violation of the bounds of an integral without smoothing, for every component.

    The scale is the bound that is overstepped, or nearer to it: what is integrated may be much larger and
    cancel. A bound of zero says nothing of sizes: there it is a hundredth of the integral of the absolute
    value, of which an enclosure gives a lower bound and a quadrature an estimate; 1 where that is rounding.

    accuracy : relative to the scale, what a violation is compared with
    enclose : whether an enclosure is tried first
    """
    term = exact_of(bounded.term)
    sides = np.abs([bounded.lower, bounded.upper])
    bound = finite_size(sides)

    def scale(of: IntegralRange) -> Array:
        size = np.where(of.size > ROUNDING, LEAST_SIZE * of.size, 1.0)
        below, above = np.where(sides == 0.0, size, sides)
        with np.errstate(invalid="ignore"):  # of infinite ends, of sides without a bound
            lower = (bounded.lower - of.low) / below > (of.high - bounded.upper) / above
        return np.where(np.isinf(above) | (lower & np.isfinite(below)), below, above)

    def sampled() -> IntegralRange:
        return sampled_range(solution, term, bounded.over, bound, accuracy)

    proved = IntegralRange.unknown(bound.size)
    if enclose:
        proved = enclosed_range(solution, term, bounded.over, bound, accuracy)
    return decided(proved, sampled, (bounded.lower, bounded.upper), scale, accuracy)


@dataclass(frozen=True)
class CostCheck:
    """A cost as the solution reports it, and as its motion gives it.

    value : what was minimized, from the solution
    by_nodes : the same quadrature over the solution's nodes again; NaN where its nodes are not known
    integral : by adaptive quadrature, or the value at an end; of a smoothed term that of the exact one
    size : integral of the absolute value
    total : sizes of all costs together, which the error of the integral is compared with; at least `zero`
    time : of the first sample that is not finite; 0 where all are
    smoothed : whether a smooth term stood for an exact one
    error : of the integral, estimated by the difference of two rules
    zero : where all costs are zero because their parts cancel, 1e-4 of the size of the parts; where they
        are what solvers leave of curves, a million times that, of slacks a hundred times; 0 elsewhere
    jump : time of the node at which it jumps most, where jumps at nodes may be all the difference of `value`
        and `by_nodes`; NaN elsewhere
    """

    name: str
    value: float
    by_nodes: float
    integral: float
    size: float
    total: float
    time: float = 0.0
    smoothed: bool = False
    error: float = 0.0
    zero: float = 0.0
    jump: float = np.nan

    @property
    def changed(self) -> float:
        """Relative difference of the recomputed quadrature to the solution's value; 0 where not known."""
        size = max(self.size, NEGLIGIBLE_COST * self.total)
        return 0.0 if np.isnan(self.by_nodes) else float(abs(self.by_nodes - self.value)) / float(size)

    @property
    def relative(self) -> float:
        """Largest difference of the integral to the solution's value, relative to all costs together."""
        return float(abs(self.integral - self.value) + self.error) / float(self.total)  # inf, no overflow


def cost_results(solution: Solution, enclose: bool = True) -> dict[str, Line]:
    """Results by name: the difference of costs to their integral, or value at an end, without smoothing.

    Costs of one name are added. The scale of a difference is the integral of the absolute value of the sum of
    the cost's components, at least 1e-6 of the objective.

    enclose : whether an enclosure is tried first
    """
    least, found = float(np.fmax(NEGLIGIBLE_COST * abs(solution.objective), ROUNDING)), {}
    for name, costs in _by_name(solution).items():
        reported = float(solution.cost_terms.get(name, np.nan))
        integrates = any(cost.over.integrates for cost in costs)
        result = _difference(solution, costs, reported, least, BETWEEN if integrates else AT_TIMES, enclose)
        evidence = result.evidence if integrates else "evaluated"
        found[name] = replace(result, name=f"cost '{name}'", evidence=evidence)
    return found


def _difference(
    solution: Solution, costs: list[Cost], reported: float, least: float, accuracy: float, enclose: bool
) -> Line:
    """The difference of some costs together to the value that a solution reports."""
    size = float(np.nansum(np.abs(list(solution.cost_terms.values()))))  # below `least` of zero costs

    def summed(range_of: RangeOf) -> IntegralRange:
        sought = least if range_of is enclosed_range else min(least, size)
        return _summed(solution, costs, sought, accuracy, range_of)

    proved, value = summed(enclosed_range) if enclose else IntegralRange.unknown(1), np.array([reported])
    (found,) = decided(
        proved,
        lambda: summed(sampled_range),
        (value, value),
        lambda of: np.maximum(of.size, least),
        accuracy,
    )
    return found


def cost_checks(solution: Solution, of_equations: float = 0.0) -> list[CostCheck]:
    """One entry per name of a cost, without enclosures.

    of_equations : what missed equations change of the objective, which is compared with the total, too

    Costs that are zero have no size of their own: a spring may give all the torque, so that what is left to
    the motor is rounding at the nodes and the error of the spline between them. Such a cost is an equation,
    and is held to what equations are held to, relative to the size of its parts. A body at rest has parts
    that are rounding themselves (`size_of_parts_and_rounding`).
    """
    by_nodes, found = _by_nodes(solution), []
    costs = solution.problem.costs
    smoothed = {cost.name for cost in costs if _compared(cost) is not cost.term}
    for name, result in cost_results(solution, enclose=False).items():
        value, (low, high, size) = float(solution.cost_terms.get(name, np.nan)), result.integral
        seen = {"time": result.worst.time, "smoothed": name in smoothed, "error": 0.5 * (high - low)}
        found.append(CostCheck(name, value, by_nodes[name], 0.5 * (low + high), size, size, **seen))
    total = max(float(np.nansum([check.size for check in found])), np.finfo(float).tiny)
    found = [replace(check, total=total) for check in found]
    wrong = any(c.relative > BETWEEN or c.changed > NEGLIGIBLE_COST for c in found)
    zero = _zero(solution, found) if wrong or abs(of_equations) > BETWEEN * total else 0.0
    found = [replace(check, total=max(total, zero), zero=zero) for check in found]
    return [_with_jump(solution, check) for check in found]


def _with_jump(solution: Solution, check: CostCheck) -> CostCheck:
    """A cost with `CostCheck.jump`, which values just before and after the nodes tell."""
    differs, trajectory = abs(check.by_nodes - check.value), confirmed_mesh_of(solution)
    if trajectory is None or not differs > AT_TIMES * max(check.size, NEGLIGIBLE_COST * check.total):
        return check
    nodes = node_samples(solution)
    jumps, by_time = np.zeros(nodes.times.size), solution.curve.durations[nodes.arc]
    beside, end = 1e-9 * by_time, float(nodes.times[-1])
    for cost in _by_name(solution)[check.name]:
        if cost.over.integrates:
            before, after = (
                solution.values([cost.term], np.clip(times, 0.0, end))[cost.term.quantity].sum(axis=1)
                for times in (nodes.times - beside, nodes.times + beside)
            )
            jumps += np.abs(cost.weight * cost.over.cost_weights(trajectory) * by_time * (after - before))
    if not differs <= (1.0 + AT_TIMES) * jumps.sum():
        return check
    return replace(check, jump=float(nodes.times[np.argmax(jumps)]))


def _by_nodes(solution: Solution) -> dict[str, float]:
    """The costs of every name by the quadrature over the solution's nodes; NaN where these are not known."""
    costs, trajectory = solution.problem.costs, confirmed_mesh_of(solution)
    found = dict.fromkeys(_by_name(solution), np.nan if trajectory is None else 0.0)
    if trajectory is None or not costs:
        return found
    nodes = node_samples(solution)
    values = solution.values([cost.term for cost in costs], nodes.times)
    for cost in costs:
        at_nodes = cost.weight * values[cost.term.quantity].sum(axis=1)
        by_time = solution.curve.durations[nodes.arc] * at_nodes if cost.over.integrates else at_nodes
        found[cost.name] += float(cost.over.cost_weights(trajectory) @ by_time)
    return found


def _zero(solution: Solution, found: Sequence[CostCheck]) -> float:
    """`CostCheck.zero`, which is needed only where something is wrong by the costs' own sizes."""
    parts, rounding, left = size_of_parts_and_rounding(solution)
    at_nodes = sum(max(abs(c.value), abs(np.nan_to_num(c.by_nodes))) for c in found)
    if at_nodes <= CANCELLED * parts:
        return MISSED * parts
    if at_nodes <= rounding:
        return rounding / NEGLIGIBLE_COST
    return left / BETWEEN if at_nodes <= left else 0.0


def _by_name(solution: Solution) -> dict[str, list[Cost]]:
    """The costs of every name, which are added."""
    named: dict[str, list[Cost]] = {}
    for cost in solution.problem.costs:
        named.setdefault(cost.name, []).append(cost)
    return named


def _summed(
    solution: Solution, costs: Sequence[Cost], least: float, accuracy: float, range_of: RangeOf
) -> IntegralRange:
    """The range of some costs together: integrals of terms without smoothing, and values at an end."""
    found = IntegralRange(np.zeros(1), np.zeros(1), np.zeros(1))
    for cost in costs:
        if cost.over.integrates:
            own_least = np.array([least / max(abs(cost.weight), np.finfo(float).tiny)])
            own = range_of(solution, _compared(cost), cost.over, own_least, accuracy, together=True)
            found += own.times(cost.weight)
        else:
            when = single_times(cost.over, solution.curve)
            values = cost.weight * solution.value(_compared(cost), when).sum(axis=1)
            value, size = np.array([values.sum()]), np.array([np.abs(values).sum()])
            wrong = ~np.isfinite(values)
            found += IntegralRange(value, value, size, time=when[np.argmax(wrong)] if wrong.any() else 0.0)
    return found
