"""Estimates the objective that finer knots could gain, by span, and that violations between nodes gain.

An optimum under limits g(t) <= b with multiplier densities lambda(t) has, to first order,

    gain = integral of |lambda(t)| |b(t) - g(t)| dt

left to gain, the duality gap of the linearised problem (Frank and Wolfe, Naval Res. Logist. Q. 3, 1956):
lambda of a torque limit is the switching function, and the gain vanishes where the limit is held or lambda is
zero. The multipliers of a span determine the mean of lambda. Where a span is resolved, the limit being
active at all of its Gauss points, that is used; elsewhere lambda is the straight line between the means of
both neighbours, which crosses zero at a switch. Limits that hold by control points: `control_point_gain`.

Limits on control points leave a first-order gain: the curve keeps away from them, its points do not.

The control points of a position or a velocity bound the curve for all t, but near a control point that is at
the limit the curve itself is below it by O(h^2) in the knot distance h. Finer knots set that free: to first
order the gain is the sum of |multiplier| times distance of the curve from its limit at the Greville abscissa,
where the control point has most influence.

Optima whose structure is not confirmed are refined locally, until little is left to gain.

Knots are placed around single switches, in splines of higher degree whose accelerations may jump there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from trajopt.base.arguments import pluralize
from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError
from trajopt.certificates.certificate_record import ObjectiveBracket
from trajopt.certified.search_settings import SearchSettings
from trajopt.certified.switching.structure_attempt import converged_to_rounding
from trajopt.checks.optimality import SIGNIFICANT_DENSITY, times_in_spans
from trajopt.checks.violations import limit_ranges
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.refinement.optimality_error import gains_of_halving
from trajopt.solution.journal import INTERRUPTED, Attempt, Journal
from trajopt.solution.solution import Solution
from trajopt.solvers.kkt import bound_violation
from trajopt.solvers.run import SolvesStopped
from trajopt.solvers.solver import FEASIBILITY, Run, StartKind
from trajopt.splines.basis import SplineBasis
from trajopt.splines.knots import multiplicity_of_new_knots, with_breakpoints, with_spans_halved
from trajopt.splines.trajectory import Trajectory
from trajopt.transcription.nlp import NLP
from trajopt.transcription.transcribe import transcribe
from trajopt.transcription.unknowns import RowLabel, UnknownLabel, UnknownLabels


@dataclass(frozen=True)
class HeldPoint:
    """A control point of a curve at its limit.

    order : 0 of a position, 1 of a velocity
    bound : of the limit, in its unit
    multiplier : in units of the objective per unit of the limit, not negative
    """

    order: int
    joint: int
    point: int
    bound: float
    multiplier: float


def gain_of_control_points(solution: Solution, parts: int = 1) -> Array:
    """Gain by limits on control points of one arc, in units of the objective, (spans, parts of a span)."""
    edges, curve = solution.curve.knot_times_of_arcs[0], solution.curve
    found = np.zeros((edges.size - 1, parts))
    point, scaling = solution.point, solution.scaling
    if point is None or scaling is None or not point.has_multipliers:
        return found
    every = list(_held_points(solution, transcribe(solution.problem)))
    basis = curve.bases[0]
    curves = ((solution.q, basis.greville), (solution.v, basis.slope_greville))
    for order, (motion, abscissae) in enumerate(curves):
        held = [each for each in every if each.order == order]
        at = curve.duration * abscissae[[each.point for each in held]]
        values = motion(at)[np.arange(len(held)), [each.joint for each in held]]
        gains = [each.multiplier for each in held] * np.abs([each.bound for each in held] - values)
        span = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, edges.size - 2)
        share = (at - edges[span]) / (edges[span + 1] - edges[span])
        np.add.at(found, (span, np.minimum((parts * share).astype(int), parts - 1)), gains)
    return found


def _held_points(solution: Solution, nlp: NLP) -> Iterator[HeldPoint]:
    """Control points that have a multiplier: by bounds of unknowns, and by linear rows."""
    point, scaling, joints = solution.point, solution.scaling, list(solution.joint_names)
    assert point is not None and scaling is not None and point.row_multipliers is not None
    assert point.lower_multipliers is not None and point.upper_multipliers is not None
    limits = {limit.name: limit for limit in solution.problem.path_limits() if limit.hold == "hull"}
    rows = point.row_multipliers[: nlp.linear.count] * scaling.rows[: nlp.linear.count]
    bounds = point.upper_multipliers - point.lower_multipliers
    free, named = nlp.unknowns.elimination.free, UnknownLabels(solution.problem, nlp.unknowns.layout)
    tight, held = _significant(rows), _significant(bounds)
    labels = [nlp.linear.labels[i] for i in tight] + [named.label(int(free[i])) for i in held]
    known = np.append(rows[tight], bounds[held]) / scaling.objective
    for multiplier, label in zip(known, labels, strict=True):
        if not isinstance(label, RowLabel):
            yield from _held_unknown(solution, limits.values(), label, float(multiplier))
        elif label.control_point is not None and label.constraint in limits:
            limit, joint = limits[label.constraint], joints.index(label.component)
            bound = float((limit.upper if label.side == "upper" else limit.lower)[joint])
            size = abs(float(multiplier)) * solution.duration  # a row is velocity minus limit, times duration
            yield HeldPoint(1, joint, label.control_point, bound, size)


def _significant(multipliers: Array) -> Array:
    """The places of those that are not what an interior-point solve leaves of inactive limits."""
    sizes = np.abs(multipliers)
    return np.flatnonzero(sizes > SIGNIFICANT_DENSITY * sizes.max(initial=0.0))


def _held_unknown(
    solution: Solution, limits: Iterable[Constraint], label: UnknownLabel, multiplier: float
) -> Iterator[HeldPoint]:
    """The limit that bounds a control point of a position: its own, or one of the velocities beside it.

    multiplier : in units of the objective, positive where the control point may not be larger
    """
    if label.kind != "control point" or label.name not in solution.joint_names:
        return
    joint, place, basis = solution.joint_names.index(label.name), label.control_point, solution.curve.bases[0]
    positions = solution.curve.control_points[0][:, joint]
    seconds = basis.slope_widths * solution.duration / basis.degree
    velocities = np.diff(positions) / seconds
    for limit in limits:
        sides = (limit.lower[joint], limit.upper[joint])
        if limit.term.quantity == "q" and _at(positions[place], sides[multiplier > 0.0]):
            yield HeldPoint(0, joint, place, float(sides[multiplier > 0.0]), abs(multiplier))
        for point, side in ((place - 1, multiplier > 0.0), (place, multiplier < 0.0)):
            beside = limit.term.quantity == "v" and 0 <= point < velocities.size
            if beside and _at(velocities[point], sides[side]):
                size = abs(multiplier) * float(seconds[point])
                yield HeldPoint(1, joint, point, float(sides[side]), size)


def _at(value: float, bound: float) -> bool:
    """True if a control point is at its bound."""
    return bool(abs(value - bound) <= FEASIBILITY * max(1.0, abs(bound)))


@dataclass(frozen=True, eq=False)
class RemainingGain:
    """Gains to first order, in units of the objective, of a spline on one arc.

    parts : (spans, samples), gain of equal parts of every span by limits that could be reached there, and by
        positions and velocities that control points keep from limits
    by_oversteps : what limits that are violated between nodes gain
    """

    parts: Array
    by_oversteps: float

    @property
    def by_span(self) -> Array:
        """(spans,)"""
        return self.parts.sum(axis=1)


def remaining_gain(solution: Solution, settings: SearchSettings) -> RemainingGain:
    """The gain of a solution on one arc; limits of accelerations and terms count as those of torques do."""
    edges = solution.curve.knot_times_of_arcs[0]
    lengths, count = np.diff(edges), settings.samples_per_span
    times = times_in_spans(edges, count)
    total, oversteps = np.zeros(times.shape), 0.0
    for limit in solution.problem.path_limits():
        multipliers = solution.multipliers.get(limit.name)
        if multipliers is None or multipliers.shape != (solution.node_times.size, limit.lower.size):
            continue
        values = solution.value(limit.term, times)
        density = _density(solution, limit, multipliers, times, settings)
        bound = np.where(density > 0.0, limit.upper, limit.lower)
        away = np.where(density != 0.0, bound, values) - values
        total += (np.abs(density) * np.abs(away)).sum(axis=2)
        beyond = np.maximum(bound_violation(values, limit.lower, limit.upper), 0.0).max(axis=1)
        oversteps += float((np.abs(density).max(axis=1) * beyond * lengths[:, None]).sum())
    return RemainingGain(
        total * (lengths[:, None] / count) + gain_of_control_points(solution, count), oversteps
    )


def _density(
    solution: Solution, limit: Constraint, multipliers: Array, times: Array, settings: SearchSettings
) -> Array:
    """Multipliers per second at times (spans, samples), (spans, samples, width)."""
    edges = solution.curve.knot_times_of_arcs[0]
    middles, lengths = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    nodes = solution.problem.trajectory.nodes
    mean = np.zeros((lengths.size, limit.lower.size))
    np.add.at(mean, nodes.span, multipliers)
    mean /= lengths[:, None]
    mean[np.abs(mean) <= settings.significant_density * np.abs(mean).max(initial=0.0)] = 0.0
    between = _from_neighbours(times, middles, mean)
    held = _held(solution, limit, multipliers, mean)
    return np.where(held[:, None, :], mean[:, None, :], between)


def _from_neighbours(times: Array, middles: Array, mean: Array) -> Array:
    """The straight line between the means of the spans before and after, at times (spans, samples)."""
    last = middles.size - 1
    if last < 1:
        return np.broadcast_to(mean[:, None, :], (*times.shape, mean.shape[1]))
    before, after = np.maximum(np.arange(last + 1) - 1, 0), np.minimum(np.arange(last + 1) + 1, last)
    share = (times - middles[before, None]) / (middles[after] - middles[before])[:, None]
    return mean[before, None] + share[:, :, None] * (mean[after] - mean[before])[:, None]


def _held(solution: Solution, limit: Constraint, multipliers: Array, mean: Array) -> Array:
    """Mask of the limits active at all weighted nodes of a span, on one side, (spans, width).

    Active: the multiplier, relative to the mean of the span, is larger than the distance relative to the
    range (strict complementarity).
    """
    nodes = solution.problem.trajectory.nodes
    values = solution.value(limit.term, solution.node_times)
    bound = np.where(mean[nodes.span] > 0.0, limit.upper, limit.lower)
    away = np.abs(np.where(mean[nodes.span] != 0.0, bound, np.inf) - values) / limit_ranges(limit)
    weight = nodes.weight[:, None] * solution.duration
    size = np.where(mean == 0.0, 1.0, mean)[nodes.span] * np.where(weight > 0.0, weight, 1.0)
    active = (multipliers / size > away) | (weight == 0.0)
    held = np.ones(mean.shape, dtype=bool)
    np.logical_and.at(held, nodes.span, active)
    return held & (mean != 0.0)


NARROWEST = 1.0 / 16.0  # of a span: how near two knots around a switch are at least, half of it to the ends


def raised(trajectory: Trajectory, degree: int, regular: bool) -> Trajectory:
    """The same knots with a higher degree; on one arc.

    On bang arcs a cubic follows a torque at its bound only to h^2 in the knot distance h, degree d to
    h^(d - 1). Velocities are continuous, so that torques may switch at knots; where controls are continuous
    (`regular`) accelerations are too. Every span has as many Gauss points as new coefficients, and its ends.
    """
    arc = trajectory.arcs[0]
    points = arc.basis.breakpoints
    repeats = np.full(points.size - 2, degree - (2 if regular else 1))
    basis = SplineBasis.clamped(points, degree, repeats)
    finer = replace(arc, basis=basis, nodes_per_span=degree - 1, rule="gauss")
    return replace(trajectory, arcs=(finer,), extra_points=(), limit_points=())


def cut(trajectory: Trajectory, gain: RemainingGain, extra: Array, least: float, most: int) -> Trajectory:
    """The trajectory with knots around the switches, where a span's gain is above `least`.

    extra : (spans,), gains whose place within the span is not known
    most : spans that are cut, those with the largest gains
    """
    arc = trajectory.arcs[0]
    points, total = arc.basis.breakpoints, gain.by_span + extra
    chosen = np.argsort(total)[::-1][:most]
    fresh: list[float] = []
    for span in np.sort(chosen[total[chosen] > least]):
        length = points[span + 1] - points[span]
        fresh += (points[span] + length * _places(gain.parts[span], float(total[span]))).tolist()
    bases = [with_breakpoints(arc.basis, fresh, multiplicity_of_new_knots(arc))]
    return replace(trajectory, extra_points=(), limit_points=()).with_bases(bases)


def _places(parts: Array, total: float) -> Array:
    """Cuts of a span, from the gains of its parts (samples,): around their centre; halved if unknown."""
    known = float(parts.sum())
    if known < 0.5 * total:
        return np.array([0.5])
    fractions = (np.arange(parts.size) + 0.5) / parts.size
    centre = float(parts @ fractions) / known
    spread = np.sqrt(max(float(parts @ (fractions - centre) ** 2) / known, 0.0))
    width = max(spread, NARROWEST)
    places = np.array([centre - 0.5 * width, centre + 0.5 * width])
    return places[np.abs(places - 0.5) < 0.5 - 0.5 * NARROWEST]


STARTS = (StartKind.NEAR_OPTIMUM, StartKind.SAME_MOTION, StartKind.NEAR_START)  # tried in turn


@dataclass(frozen=True, eq=False)
class Mesh:
    """One mesh of a search: its spans, its objective, and the estimated least objective of the optimum.

    gain : what is left to gain, by span
    wanted : the width of the bracket that is asked for
    narrowed : whether the width is clearly below that of all meshes before
    """

    spans: int
    objective: float
    lower: float
    gain: RemainingGain
    wanted: float
    narrowed: bool

    @property
    def width(self) -> float:
        """Width of the bracket, in units of the objective."""
        return self.objective - self.lower


class _NoFurtherMesh(Exception):
    """Raised in place of a finer solution where there is none, with the reason."""


@dataclass
class BracketSearch:
    """Solves on locally refined splines, each from the motion before.

    refined : on one arc, where the search begins; then the motion on the mesh with the narrowest bracket
    known : another one, on more knots, that has a bracket by itself; none where controls are continuous
    regular : controls are continuous in time
    meshes : those that were solved, in turn
    newest : the motion on the last mesh
    effort : of all solves, as `SearchSettings.effort_of` counts it
    """

    refined: Solution
    journal: Journal
    regular: bool
    settings: SearchSettings
    known: Solution | None = None
    meshes: list[Mesh] = field(default_factory=list, init=False)
    why_ended: str = field(default="", init=False)
    newest: Solution = field(init=False)
    before: list[Mesh] = field(default_factory=list, init=False)  # that of `known`
    effort: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.newest = self.refined

    @property
    def narrowest(self) -> Mesh | None:
        """The mesh with the narrowest bracket; None before the first."""
        return min([*self.before, *self.meshes], key=lambda mesh: mesh.width, default=None)

    def run(self) -> None:
        """Refine until the bracket is narrow enough, or no more is allowed; SolvesStopped after Ctrl-C."""
        if self.known is not None:
            self.before.append(self._mesh(self.known, -np.inf))
            if self.before[0].width <= self.settings.objective_tolerance * abs(self.known.objective):
                self.why_ended = "knots of the cubic spline gain no more"
                return
        try:
            while not (reason := self._end()):
                self._note(self._finer())
        except _NoFurtherMesh as end:
            reason = str(end)
        except (SolvesStopped, KeyboardInterrupt) as stop:
            reason = str(stop) or INTERRUPTED
            if "time limit" not in reason:
                raise SolvesStopped(reason) from None
        self.why_ended = reason

    def _note(self, found: Solution) -> None:
        """Note a mesh, with what is left to gain on it."""
        mesh = self._mesh(found, self.newest.objective)
        self.newest = found
        if all(mesh.width < each.width for each in self.meshes):
            self.refined = found
        self.meshes.append(mesh)

    def _mesh(self, found: Solution, former: float) -> Mesh:
        """The mesh of a motion, with what is left to gain: at least what it gained on the one before."""
        s, gain = self.settings, remaining_gain(found, self.settings)
        gained = float(gain.by_span.sum()) + gain.by_oversteps
        left = max(s.bracket_factor * gained, former - found.objective)
        narrowed = all(left <= s.bracket_narrowing * each.width for each in self.meshes)
        spans, wanted = found.curve.bases[0].span_count, s.bracket_width * abs(found.objective)
        return Mesh(spans, found.objective, found.objective - left, gain, wanted, narrowed)

    def _end(self) -> str:
        """The reason why the search ends at a mesh; nothing where a finer one may narrow the bracket."""
        recent, idle = self.meshes[-self.settings.bracket_idle :], self.settings.bracket_idle
        if recent and recent[-1].width <= recent[-1].wanted:
            return "the bracket is as narrow as asked for"
        if len(recent) == idle and not any(mesh.narrowed for mesh in recent):
            return f"{idle} finer meshes in a row hardly narrowed the bracket"
        return ""

    def _finer(self) -> Solution:
        """The solution on the next mesh; _NoFurtherMesh where there is none, or it does not converge."""
        last, s = self.newest, self.settings
        enough = _NoFurtherMesh(f"{s.bracket_total} iterations on local meshes, the most allowed")
        if not self.meshes:
            trajectory = raised(last.problem.trajectory, s.bracket_degree, self.regular)
            if self.before and s.bracket_least * self._effort_on(last, trajectory) > s.bracket_total:
                raise enough
        else:
            trajectory = self._next(last, self.meshes[-1])
        if len(self.meshes) == s.bracket_rounds:
            raise _NoFurtherMesh(f"{pluralize(s.bracket_rounds, 'round')}, the most allowed")
        if self.effort >= s.bracket_total:
            raise enough
        try:
            return self._solved(last, trajectory)
        except TrajoptError as error:
            raise _NoFurtherMesh(str(error)) from error

    def _effort_on(self, found: Solution, finer: Trajectory) -> float:
        """About the effort of one iteration on another mesh, whose size grows with its control points."""
        growth = finer.arcs[0].basis.count / found.curve.bases[0].count
        return self.settings.effort(int(growth * (found.n_variables + found.n_constraints)))

    def _solved(self, before: Solution, trajectory: Trajectory) -> Solution:
        """The solution on a mesh, from the first start from which it converges."""
        status = ""
        for kind in STARTS:
            run = Run(max_iterations=self.settings.bracket_iterations, start_kind=kind)
            found = self.journal.answer(Attempt(before.asked_on(trajectory), run=run, policy="bracket"))
            self.effort += self.settings.effort_of(found)
            found = converged_to_rounding(found, self.settings)
            if found.converged:
                return replace(found, recipe=before.recipe, journal=before.journal)
            status = found.status.value
        raise _NoFurtherMesh(f"a finer mesh did not converge ({status})")

    def _next(self, found: Solution, known: Mesh) -> Trajectory:
        """The next mesh; raises _NoFurtherMesh where there is none."""
        trajectory, gain = found.problem.trajectory, known.gain
        spans = trajectory.arcs[0].basis.span_count
        gains = gains_of_halving(found) if self.regular else None  # of continuous controls, to second order
        extra = np.zeros(spans) if gains is None else gains[0]
        least = max(
            self.settings.bracket_share * known.wanted / spans,
            self.settings.bracket_mark * float((gain.by_span + extra).max()),
        )
        most = max(self.settings.bracket_spans - spans, 0) // 2  # each gets up to two knots
        finer = cut(trajectory, gain, extra, least, most)
        if finer.arcs[0].basis.span_count > spans:
            return finer
        if 2 * spans > self.settings.bracket_spans:
            raise _NoFurtherMesh(f"{spans} spans, and at most {self.settings.bracket_spans} are allowed")
        return with_spans_halved(trajectory)  # shows that no more is gained

    def bracket(self, certified: Solution) -> ObjectiveBracket | None:
        """Bracket of the objective, from the narrowest estimate to a motion within limits; None if unknown.

        Limits hold to a tolerance: what the oversteps gain is added to the upper end.
        """
        mesh, certificate = self.narrowest, certified.certificate
        if mesh is None or not certified.objective >= mesh.lower:
            return None
        gain = 0.0 if certificate is None or certificate.gain is None else certificate.gain.of_oversteps
        upper = certified.objective + gain * abs(certified.objective)
        return ObjectiveBracket(mesh.lower, upper, self.settings.bracket_factor, self.why_ended)
