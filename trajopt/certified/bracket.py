"""Local refinement of a spline until little is left to gain, where no structure is confirmed.

Knots are placed around single switches, in splines of higher degree whose accelerations may jump there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from trajopt.base.arguments import pluralize
from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError
from trajopt.certificates.certificate_record import ObjectiveBracket
from trajopt.certified.remaining_gain import RemainingGain, remaining_gain
from trajopt.certified.search_settings import SearchSettings
from trajopt.certified.switching.structure_attempt import converged_to_rounding
from trajopt.refinement.optimality_error import gains_of_halving
from trajopt.solution.journal import INTERRUPTED, Attempt, Journal
from trajopt.solution.solution import Solution
from trajopt.solvers.run import SolvesStopped
from trajopt.solvers.solver import Run, StartKind
from trajopt.splines.basis import SplineBasis
from trajopt.splines.knots import multiplicity_of_new_knots, with_breakpoints, with_spans_halved
from trajopt.splines.trajectory import Trajectory

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
        meshes = [*self.before, *self.meshes]
        return min(meshes, key=lambda mesh: mesh.width) if meshes else None

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
