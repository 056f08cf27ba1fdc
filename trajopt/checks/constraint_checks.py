"""Checks of every bounded component of every constraint of a problem on a motion.

The constraints are those of the problem, and the bounds of its additional curves and parameters. Derivatives
of curves are bounded for all times by control points; all other terms are sampled over the times for which
they are stated and searched for peaks between the samples, or evaluated where these are single times.
Periodicity, continuity between arcs and durations compare ends of the motion and of its arcs.

Violations are bounded for all times by Taylor models, where every block of a term offers them.

Torques and joint wrenches, under loads too, poses and velocities of links and frames, momentum and energies
are bounded, and traced terms of them, of curves, time and parameters that are made of + - * /, powers, roots,
trigonometric and hyperbolic functions and their inverses, exp, log, |x|, min, max and comparisons. Of
everything else, given data and blocks of NumPy, there are only samples.

Tables and data that a solution reads beyond their ends, where they are only continued, are named.

Peaks between nodes of limits that a program holds at nodes alone, `limit_peaks`, become nodes of a
refinement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array, finite_size
from trajopt.base.tolerances import AT_TIMES
from trajopt.checks.line import NOWHERE, ControlPointBound, Interval, Line, Place, Worst
from trajopt.checks.path_equations import scale_of
from trajopt.checks.peaks_between_nodes import (
    CHECK_DENSITY,
    Density,
    Peaks,
    has_place,
    interval_of,
    intervals_of,
    limits_over,
    node_samples,
    sampled_constraints,
    search,
    single_times,
)
from trajopt.checks.residual_forces import equation_scales, periodicity_scales
from trajopt.graph.data import DataBlock
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.graph import Graph
from trajopt.graph.protocols import AnyArithmeticBlock, Term, Values
from trajopt.graph.quantities import parameter_leaf
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import graph_of
from trajopt.solution.solution import Solution, confirmed_mesh_of
from trajopt.solvers.kkt import side_violations
from trajopt.solvers.solver import FEASIBILITY
from trajopt.splines.node_sets import END, PATH, Instants
from trajopt.splines.polynomial_bounds import Pieces, jumping, pieces_of, pieces_of_group, upper_bound
from trajopt.splines.trajectory import Trajectory
from trajopt.taylor_models.suprema import (
    Evaluation,
    LeafPieces,
    Supremum,
    find_suprema,
    graph_models,
    leaf_pieces,
)
from trajopt.terms import term as terms
from trajopt.transcription.unknowns import continuity_name

MISPLACED = "stated for arcs that the motion does not have"
DIFFERENCES = "differences of neighbouring nodes only, nothing between two of them"


class ConstraintChecks:
    """The checks of all constraints of one motion, or of some of them.

    stated : these constraints; of all, those implied by curves and parameters are the last
    nodes : of the motion
    values : every constraint's term at all nodes: quantity -> (K, width)
    scales : (width,), of equations, and of limits that zero says nothing of
    """

    def __init__(self, solution: Solution, some: Sequence[Constraint] | None = None) -> None:
        self.solution, self.problem, self.curve = solution, solution.problem, solution.curve
        self.stated = _stated(self.problem) if some is None else list(some)
        self.leaves = self.problem.spline_leaves
        self.nodes, terms_stated = node_samples(solution), [c.term for c in self.stated]
        self.values: Values = solution.values(terms_stated, self.nodes.times) if self.stated else {}
        self.scales = equation_scales(solution, [c for c in self.stated if c.needs_scale], self.nodes)
        parameters = self.problem.parameters.values() if some is None else ()
        for bounds, given in zip(self.stated[len(self.stated) - len(parameters) :], parameters, strict=True):
            if bounds in self.scales:
                # Not the parameter's value: that may be zero.
                own = np.where(given.guess != 0.0, np.minimum(np.abs(given.guess), 1.0), 1.0)
                held = given.lower == given.upper
                self.scales[bounds] = np.where(held, self.scales[bounds], own)

    @cached_property
    def trajectory(self) -> Trajectory | None:
        """The trajectory whose nodes these are."""
        return confirmed_mesh_of(self.solution)

    def results(
        self, density: Density, only: Iterable[Constraint] | None = None, accuracy: float = 0.0
    ) -> list[Line]:
        """Results in the order of the constraints; those that are sampled are evaluated together.

        accuracy : relative; peaks that by the samples around them cannot exceed it are not narrowed
        """
        chosen, over = self.stated if only is None else list(only), intervals_of(self.solution, self.stated)
        without_bound = [c for c in chosen if c in over and not self._is_polynomial(c)]
        samples, least = sampled_constraints(self.solution, without_bound, density), None
        if accuracy:
            reached = {c: finite_size(values) for c, (_, values) in samples.items()}
            scales = {c: c.side_scales(reach, self.scales.get(c)) for c, reach in reached.items()}
            least = {c: accuracy * scale.ravel() for c, scale in scales.items()}
        found_peaks = search(self.solution, without_bound, density, samples=samples, least=least)
        sampled = {peaks.constraint: peaks for peaks in found_peaks}
        found: list[Line] = []
        for constraint in chosen:
            if constraint in sampled:
                found += self._sampled(sampled[constraint], over[constraint])
            elif not has_place(self.solution, constraint):
                found += self._misplaced(constraint)
            elif constraint.over.is_difference:
                found += self._differences(constraint)
            elif self._is_polynomial(constraint) and not isinstance(constraint.over, Instants):
                found += self._polynomial(constraint)
            else:
                found += self._at_time(constraint)
        return found

    def _is_polynomial(self, constraint: Constraint) -> bool:
        """True of derivatives of the curve with limits that do not ease."""
        return constraint.term.quantity in self.leaves and constraint.easing is None

    # -- checks of one constraint -------------------------------------------------------------------------

    def _sampled(self, peaks: Peaks, interval: Interval) -> Iterator[Line]:
        constraint = peaks.constraint
        jumps = self._jumps(constraint, interval)
        for c, blank in self._blank(constraint, peaks.reach):
            yield replace(
                blank,
                between=peaks.worst(c),
                evidence="sampled",
                resolution=peaks.resolution,
                jumps=jumps[c],
                interval=interval,
                place=Place(constraint, c),
            )

    def _polynomial(self, constraint: Constraint) -> Iterator[Line]:
        """Bounds of a derivative of the curve over an interval, or at a time, by its control points."""
        when, leaf = interval_of(constraint.over, self.curve), self.leaves[constraint.term.quantity]
        pieces, _, place = pieces_of_group(self.curve, leaf.curves.start, leaf.order)
        pieces, jumps = pieces.within(when.first, when.last), self._jumps(constraint, when)
        bounds, reach = {}, np.zeros(constraint.lower.size)
        for c in _bounded(constraint):
            own = pieces.coefficients[..., place + c]
            below = upper_bound(Pieces(pieces.start, pieces.end, -own))
            above = upper_bound(Pieces(pieces.start, pieces.end, own))
            bounds[c] = below, above
            reach[c] = np.max(np.abs([below.attained, above.attained]))
        for c, blank in self._blank(constraint, reach):
            below, above = bounds[c]
            lower, upper = constraint.lower[c], constraint.upper[c]
            beyond, times = [below.value + lower, above.value - upper], (below.time, above.time)
            worse = np.argmax(beyond)  # NaN is the largest
            hull = np.max([below.hull + lower, above.hull - upper])
            line = replace(
                blank,
                between=(Worst(below.attained + lower, times[0]), Worst(above.attained - upper, times[1])),
                bound=ControlPointBound(float(beyond[worse]), times[worse], float(hull)),
                size=max(1.0, abs(above.hull), abs(below.hull)),
            )
            if when.first < when.last:
                where = {"jumps": jumps[c], "interval": when, "place": Place(constraint, c)}
                line = replace(line, evidence="sampled", **where)
            yield line

    def _at_time(self, constraint: Constraint) -> Iterator[Line]:
        times = single_times(constraint.over, self.curve)
        values = self.solution.value(constraint.term, times)
        peaks = Peaks(constraint, self.curve, times, values, most=0)
        for c, blank in self._blank(constraint, peaks.reach):
            yield replace(blank, between=peaks.worst(c), at_nodes=peaks.worst(c))

    def _differences(self, constraint: Constraint) -> Iterator[Line]:
        """Differences between neighbouring nodes; what happens between two of them is not stated."""
        times = self.nodes.times[constraint.over.mask(self.nodes)]
        resolution = float(np.diff(times).max(initial=0.0))
        for _, blank in self._blank(constraint, self._reach_at_nodes(constraint)):
            yield replace(blank, evidence="sampled", resolution=resolution, note=DIFFERENCES)

    def _misplaced(self, constraint: Constraint) -> Iterator[Line]:
        unknown = Worst(np.nan, 0.0), Worst(np.nan, 0.0)
        for _, blank in self._blank(constraint, self._reach_at_nodes(constraint)):
            yield replace(blank, at_nodes=unknown, between=unknown, note=MISPLACED)

    # -- common parts -------------------------------------------------------------------------------------

    def _blank(self, constraint: Constraint, reach: Array) -> Iterator[tuple[int, Line]]:
        """Every bounded component with its result at nodes alone."""
        lower, upper, width = constraint.lower, constraint.upper, constraint.lower.size
        below, above = constraint.side_scales(reach, self.scales.get(constraint))
        at_nodes = self._at_nodes(constraint)
        labels = self.problem.component_names(constraint.term.quantity, width)
        units = self.problem.term_units(constraint.term, width)
        for c in _bounded(constraint):
            bounds, scales = (float(lower[c]), float(upper[c])), (float(below[c]), float(above[c]))
            worst = NOWHERE if at_nodes is None else at_nodes.worst(c)
            named = constraint.name, labels[c], units[c]
            yield c, Line(*named, *bounds, scales, worst, None, "evaluated")

    def _reach_at_nodes(self, constraint: Constraint) -> Array:
        return finite_size(self.values[constraint.term.quantity])

    def _at_nodes(self, constraint: Constraint) -> Peaks | None:
        """The violations at nodes; values that nodes do not carry are moved within their bounds."""
        if not has_place(self.solution, constraint):
            return None
        over, mask = constraint.over, constraint.over.mask(self.nodes)
        times, values = self.nodes.times[mask], self.values[constraint.term.quantity][mask]
        if over.is_difference:
            times, values = times[1:], np.diff(values, axis=0)
        elif self.trajectory is not None and over.integrates and len(values):
            held = constraint.held_at(self.trajectory)
            if len(held) == len(values):
                limits = limits_over(constraint, self.curve, times)
                values = np.where(held, values, np.clip(values, *limits))
        return Peaks(constraint, self.curve, times, values, most=0)

    # -- jumps --------------------------------------------------------------------------------------------

    def _jumps(self, constraint: Constraint, when: Interval) -> list[tuple[float, ...]]:
        """Times in an interval at which each component is infinite, because v or a jumps there.

        At the border of two arcs velocities may jump, as an impact makes them: that is no torque.
        """
        times, of_a, of_v = self._jumps_of_joints
        if not (of_a.any() or of_v.any()):
            return [()] * constraint.lower.size
        jerk, a = self._dependence(constraint)
        infinite = (of_a @ jerk.T) | (of_v @ (jerk | a).T)
        infinite &= ((times > when.first) & (times < when.last))[:, None]
        return [tuple(times[own].tolist()) for own in infinite.T]

    @cached_property
    def _jumps_of_joints(self) -> tuple[Array, Array, Array]:
        """Seconds (K,) of knots, and where the acceleration, and the velocity but at borders of arcs, jump.

        Both (K, n), of the joints.
        """
        n = self.problem.dynamics.n
        of_v, of_a = pieces_of_group(self.curve, 0, 1)[0], pieces_of_group(self.curve, 0, 2)[0]
        times = of_a.start[1:]
        inside = ~np.isin(times, self.curve.starts)
        return times, jumping(of_a, AT_TIMES)[:, :n], jumping(of_v, AT_TIMES)[:, :n] & inside[:, None]

    @cached_property
    def _graph(self) -> Graph:
        """The graph of the terms of all these constraints."""
        return graph_of(self.problem, [constraint.term for constraint in self.stated])

    def _dependence(self, constraint: Constraint) -> tuple[Array, Array]:
        """On which joints' jerk, and on which accelerations, components depend, (width, n) each."""
        quantity, n = constraint.term.quantity, self.problem.dynamics.n
        none = np.zeros((constraint.lower.size, n), dtype=bool)
        if quantity in self.leaves:
            one = np.eye(constraint.lower.size, n, dtype=bool)
            return (one if quantity == "jerk" else none), (one if quantity == "a" else none)
        pattern = self._graph.leaf_pattern(quantity)
        return np.asarray(pattern.get("jerk", none)), np.asarray(pattern.get("a", none))


def _stated(problem: Problem) -> list[Constraint]:
    """The constraints of a problem, then the bounds of its additional curves and of its parameters.

    Rows of slacks are left out: costs are compared with the exact terms that slacks stand for.
    """
    slacks = {parameter_leaf(name) for name, given in problem.parameters.items() if given.is_slack}
    read = [{part.quantity for part in terms.operands_of(each.term)} for each in problem.constraints]
    found = [each for each, parts in zip(problem.constraints, read, strict=True) if slacks.isdisjoint(parts)]
    found += [curve.bounds(terms.extra(name), PATH) for name, curve in problem.extras.items()]
    found += [given.bounds(terms.parameter(name), END) for name, given in problem.parameters.items()]
    return found


def _bounded(constraint: Constraint) -> list[int]:
    """The components that have a bound."""
    return np.flatnonzero(np.isfinite(constraint.lower) | np.isfinite(constraint.upper)).tolist()


def end_checks(solution: Solution) -> Iterator[Line]:
    """Periodicities, then continuity at the borders of arcs, then durations."""
    if solution.problem.periodicities:
        yield from _periodicities(solution)
    if len(solution.curve.bases) > 1:
        yield from _continuity(solution)
    yield from _durations(solution)


def _periodicities(solution: Solution) -> Iterator[Line]:
    """term(T)_i - signs_i term(0)_order(i) - offset_i = 0."""
    problem, T = solution.problem, solution.duration
    scales = periodicity_scales(solution, node_samples(solution))
    for periodicity in problem.periodicities:
        first, last = solution.value(periodicity.term, np.array([0.0, T]))
        gap = last - periodicity.signs * first[periodicity.order] - periodicity.offset
        names = problem.component_names(periodicity.term.quantity, gap.size)
        units = problem.term_units(periodicity.term, gap.size)
        scale = scales[periodicity.term.quantity]
        for i in periodicity.kept:
            yield _equation(periodicity.name, names[i], units[i], float(scale[i]), float(abs(gap[i])), T)


def _continuity(solution: Solution) -> Iterator[Line]:
    """Jumps at the borders of arcs of what is continuous there, the worst of each joint."""
    curve, problem = solution.curve, solution.problem
    n, borders = problem.dynamics.n, len(curve.bases) - 1
    units = [problem.term_units(leaf, n) for leaf in (terms.q, terms.v, terms.a)]
    cut = borders != len(problem.trajectory.arcs) - 1  # by a refinement: at its switches torques may jump
    kept = np.ones((borders, n)) if cut else problem.continuity_at_borders
    for order in range(int(kept.max(initial=-1)) + 1):
        sizes = scale_of(np.abs(curve(solution.node_times, order)[:, :n]))
        for joint, name in enumerate(problem.dynamics.joint_names):
            pieces = pieces_of(curve, joint, order)
            at_border = np.isin(pieces.start[1:], curve.starts[1:-1][kept[:, joint] >= order])
            if not at_border.any():
                continue
            jumps = np.abs(pieces.coefficients[1:, 0] - pieces.coefficients[:-1, -1]) * at_border
            worst = int(np.argmax(jumps))
            label, unit = continuity_name(("q", "v", "a")[order]), units[order][joint]
            yield _equation(
                label, name, unit, float(sizes[joint]), float(jumps[worst]), float(pieces.start[1:][worst])
            )


def _durations(solution: Solution) -> Iterator[Line]:
    """Durations of arcs within their bounds; of the whole motion where one arc was cut into several."""
    arcs, durations = solution.problem.trajectory.arcs, np.asarray(solution.curve.durations)
    if len(arcs) == 1:
        durations = np.array([solution.duration])
    if len(arcs) != durations.size:
        return
    for index, (arc, T) in enumerate(zip(arcs, durations.tolist(), strict=True)):
        shortest, longest = arc.duration_bounds
        lower, upper = side_violations(T, shortest, longest)
        time = float(solution.curve.starts[index])
        sides = Worst(float(lower), time), Worst(float(upper), time)
        name = "duration" if len(arcs) == 1 else f"duration of arc {index}"
        yield Line(name, "", "s", shortest, longest, (T, T), sides, None, "evaluated", size=T)


def _equation(name: str, component: str, unit: str, scale: float, miss: float, time: float) -> Line:
    sides = Worst(-miss, time), Worst(miss, time)
    return Line(name, component, unit, 0.0, 0.0, (scale, scale), sides, None, "evaluated", size=scale)


OF_MARGIN = 1e-3  # the same, of the margin with which a limit holds; of the tolerance of an integral


def term_models(
    solution: Solution, terms: Sequence[Term], interval: Interval
) -> tuple[LeafPieces, Evaluation] | None:
    """The pieces of the motion, and what evaluates terms on pieces; None where they have no models.

    The evaluation raises NotImplementedError where a block meets an operation that has no bound.
    """
    problem = solution.as_built
    graph = graph_of(problem, terms)
    if not all(implements(block, AnyArithmeticBlock) for block in graph.blocks):
        return None
    used = (graph.inputs | {term.quantity for term in terms}) & graph.leaves.keys()
    parameters = {parameter_leaf(name): value for name, value in solution.parameters.items()}
    try:
        pieces = leaf_pieces(
            solution.curve, problem.spline_leaves, parameters, used, interval.first, interval.last
        )
    except NotImplementedError:
        return None

    return pieces, partial(graph_models, graph)


def with_suprema(solution: Solution, lines: Sequence[Line]) -> list[Line]:
    """The lines with least upper bounds of violations that samples find within the tolerance of their line.

    A bound at or below the tolerance proves that no violation exceeds it at any time; where the search meets
    a larger violation between the samples, the line has that.
    """
    known = list(lines)
    together: dict[tuple[Interval, str], dict[int, Supremum]] = {}
    for number, line in enumerate(lines):
        place, worst = line.place, line.worst
        if place is None or line.interval is None or line.bound is not None or line.jumps:
            continue
        if place.constraint.easing is None and worst.value <= line.tolerance:
            quantity, bounds = place.constraint.term.quantity, (line.lower, line.upper)
            # A bound may exceed what the motion reaches by a tenth of the tolerance
            sharpness = max(0.1 * line.tolerance, -OF_MARGIN * worst.value)
            looked_at = place.component, *bounds, worst.value, sharpness, line.tolerance
            supremum = Supremum(quantity, *looked_at, time=worst.time)
            together.setdefault((line.interval, quantity), {})[number] = supremum
    for (interval, _), asked in together.items():
        place = lines[next(iter(asked))].place
        assert place is not None
        models = term_models(solution, [place.constraint.term], interval)
        if models is None:
            continue
        try:
            find_suprema(*models, list(asked.values()))
        except NotImplementedError:
            continue
        for number, supremum in asked.items():
            known[number] = lines[number].with_supremum(supremum)
    return known


def outside_tables(solution: Solution) -> list[str]:
    """One sentence for every table or data that costs and constraints read beyond its ends, by how much.

    They are read at the nodes. Less than a millionth of the range, by which bounds may be exceeded, does not
    count. Tables are those of `casadi.interpolant(name, "bspline", ...)`.
    """
    problem, worst = solution.problem, dict[str, tuple[float, str]]()
    stated = [(each.term, each.over) for each in (*problem.costs, *problem.constraints, *problem.integrals)]
    read = [
        (block, over)
        for term, over in stated
        for block in problem.blocks_of(term)
        if isinstance(block, DataBlock) or (isinstance(block, ExpressionBlock) and block.has_tables)
    ]
    if not read:
        return []
    graph = graph_of(problem, {term.quantity: term for term, _ in stated}.values())
    values, samples = graph.values(solution.leaves(solution.node_times)), node_samples(solution)
    for block, over in read:
        at = over.mask(samples)
        goes_on = "it is constant" if isinstance(block, DataBlock) else "its tangent goes on"
        for table, i, (first, last), x in block.table_arguments(values):
            beyond = np.where(at, np.maximum(first - x, x - last), -np.inf)
            k = int(np.argmax(beyond))
            if beyond[k] <= max(FEASIBILITY * (last - first), worst.get(table, (0.0, ""))[0]):
                continue
            which = table if i is None else f"{table}, argument {i + 1},"
            time = solution.node_times[k]
            worst[table] = (
                float(beyond[k]),
                (
                    f"{which} covers {first:.4g} to {last:.4g} and is read at {x[k]:.4g} (t = {time:.4g} s), "
                    f"{beyond[k]:.4g} outside: {goes_on} there"
                ),
            )
    return [text for _, text in worst.values()]


@dataclass(frozen=True, eq=False)
class LimitPeaks:
    """Local maxima of the violations of limits between nodes.

    times : seconds, (k,);  values : the violation in the unit of its limit, (k,)
    relative : the violation, relative to the size of its limit, (k,)
    spacing : seconds, of the samples around each, (k,)
    labels : the limit of each
    """

    times: Array
    values: Array
    relative: Array
    spacing: Array
    labels: tuple[str, ...] = ()

    @property
    def largest(self) -> float:
        """The largest violation, relative to its limit's size; 0 where all limits hold."""
        return float(self.relative.max(initial=0.0))

    @property
    def sentence(self) -> str:
        """The limit that is violated most, with time and size."""
        worst = int(np.argmax(self.relative))
        return (
            f"{self.labels[worst]}: exceeded between nodes by {self.relative[worst]:.2%} of the limit at "
            f"t = {self.times[worst]:.6g} s"
        )

    def above(self, least: float) -> Array:
        """Times (m,) of the peaks above `least`, the highest of those that are neighbours."""
        found: list[float] = []
        for peak in np.argsort(-self.relative, kind="stable"):
            if self.relative[peak] <= least:
                break
            if np.abs(np.array(found) - self.times[peak]).min(initial=np.inf) > self.spacing[peak]:
                found.append(float(self.times[peak]))
        return np.sort(found)


def limit_peaks(
    solution: Solution,
    least: float = 0.0,
    density: Density = CHECK_DENSITY,
    limits: Sequence[Constraint] | None = None,
) -> LimitPeaks:
    """The finite peaks of limits where these are violated.

    limits : inequalities over intervals of time; by default all that the program holds at nodes: those that
        it holds for all times, by control points, are left out
    least : relative to a limit's size; a limit of which no sample exceeds that is not searched for peaks
        between samples
    """
    asked = filter(at_nodes_alone, solution.problem.constraints) if limits is None else limits
    stated = list(intervals_of(solution, asked))
    scaled = [limit for limit in stated if limit.needs_scale]
    scales = equation_scales(solution, scaled, node_samples(solution)) if scaled else {}
    samples = sampled_constraints(solution, stated, density)
    exceeded = [
        peaks.constraint
        for peaks in search(solution, stated, density, most=0, samples=samples)
        if np.any(_relative(peaks, peaks.highest, np.arange(peaks.highest.size), scales) > least)
    ]
    found, labels = [(np.empty(0),) * 4], []
    for peaks in search(solution, exceeded, density, above=0.0, most=None, samples=samples):
        relative = _relative(peaks, peaks.values, peaks.side, scales)
        own = relative > 0.0
        found.append((peaks.times[own], peaks.values[own], relative[own], peaks.spacing[own]))
        name, width = peaks.constraint.name, peaks.constraint.lower.size
        components = solution.problem.component_names(peaks.constraint.term.quantity, width)
        labels += [", ".join(filter(None, (name, components[side % width]))) for side in peaks.side[own]]
    times, values, relative, spacing = map(np.concatenate, zip(*found, strict=True))
    return LimitPeaks(times, values, relative, spacing, tuple(labels))


def at_nodes_alone(constraint: Constraint) -> bool:
    """True if it is a limit that the program holds at nodes, and not for all times by control points."""
    return bool(np.any(constraint.lower != constraint.upper)) and constraint.hold == "nodes"


def _relative(peaks: Peaks, values: Array, side: Array, scales: Mapping[Constraint, Array]) -> Array:
    """Violations of some sides of a constraint, relative to its sizes; 0 of those that are equations."""
    constraint = peaks.constraint
    limit = (constraint.lower != constraint.upper)[side % constraint.lower.size]
    sizes = constraint.side_scales(peaks.reach, scales.get(constraint)).ravel()[side]
    return np.where(limit, values / sizes, 0.0)
