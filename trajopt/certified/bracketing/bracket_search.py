"""Local refinement of a spline until little is left to gain, for optima whose structure is not confirmed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from trajopt.base.arguments import pluralize
from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError
from trajopt.certificates.objective_bracket import ObjectiveBracket
from trajopt.certified.bracketing.local_mesh import cut, raised, span_limit
from trajopt.certified.bracketing.remaining_gain import RemainingGain, remaining_gain
from trajopt.certified.search_settings import SearchSettings
from trajopt.certified.switching.arc_solves import converged_to_rounding
from trajopt.refinement.knots import split
from trajopt.refinement.optimality_error import gains_of_halving
from trajopt.solution.solution import SolutionData
from trajopt.solution.solve_once import solve_once
from trajopt.solvers.run import SolvesStopped, TimedSolver
from trajopt.solvers.solver import StartKind
from trajopt.splines.trajectory import Trajectory

STARTS = (StartKind.NEAR_OPTIMUM, StartKind.SAME_MOTION, StartKind.NEAR_START)  # tried in turn


@dataclass(frozen=True)
class Mesh:
    """One mesh of a search: its spans, its objective, and the estimated least objective of the optimum."""

    spans: int
    objective: float
    lower: float

    @property
    def width(self) -> float:
        """Of the bracket, in units of the objective."""
        return self.objective - self.lower


@dataclass
class BracketSearch:
    """Solves on locally refined splines, each from the motion before.

    refined : on one arc, where the search begins; then the motion on the mesh with the narrowest bracket
    regular : controls are continuous in time
    meshes : those that were solved, in turn
    newest : the motion on the last mesh
    iterations : of all solves, those before the search included
    """

    refined: SolutionData
    solver: TimedSolver
    regular: bool
    settings: SearchSettings
    meshes: list[Mesh] = field(default_factory=list, init=False)
    why_ended: str = field(default="", init=False)
    newest: SolutionData = field(init=False)
    iterations: int = field(init=False)

    def __post_init__(self) -> None:
        self.newest, self.iterations = self.refined, self.refined.iterations

    @property
    def narrowest(self) -> Mesh | None:
        """The mesh with the narrowest bracket; None before the first."""
        return min(self.meshes, key=lambda mesh: mesh.width, default=None)

    def run(self) -> None:
        """Refine until the bracket is narrow enough, or no more is allowed."""
        s, idle = self.settings, 0
        trajectory = raised(self.refined.problem.trajectory, s.bracket_degree, self.regular)
        for _ in range(s.bracket_rounds):
            former, narrowest = self.newest.objective, self.narrowest
            try:
                found = self._solved(trajectory)
            except SolvesStopped as stop:
                self.why_ended = str(stop)
                if "time limit" not in self.why_ended:
                    raise
                return
            except TrajoptError as error:
                self.why_ended = str(error)
                return
            if found is None:
                return
            self.newest = found
            gain = remaining_gain(found, s)
            left = max(s.bracket_factor * (gain.total + gain.by_oversteps), former - found.objective)
            self._add(Mesh(found.curve.bases[0].span_count, found.objective, found.objective - left))
            wanted = s.bracket_width * abs(found.objective)
            if left <= wanted:
                self.why_ended = "the bracket is as narrow as asked for"
                return
            narrowed = narrowest is None or left <= s.bracket_narrowing * narrowest.width
            idle = 0 if narrowed else idle + 1
            if idle == s.bracket_idle:
                self.why_ended = f"{idle} finer meshes in a row hardly narrowed the bracket"
                return
            trajectory = self._next(found, gain, wanted)
            if trajectory is None:
                return
        self.why_ended = f"{pluralize(s.bracket_rounds, 'round')}, the most allowed"

    def _add(self, mesh: Mesh) -> None:
        """Note a mesh, and keep its motion where no bracket was narrower before."""
        self.meshes.append(mesh)
        if mesh is self.narrowest:
            self.refined = self.newest

    def _solved(self, trajectory: Trajectory) -> SolutionData | None:
        """The solution on a mesh; None where that does not converge from any start."""
        for kind in STARTS:
            most = self.settings.bracket_iterations
            solver = self.solver.asking(start_kind=kind, max_iterations=most)
            found = solve_once(self.newest.asked_on(trajectory), solver)
            self.iterations += found.iterations
            found = converged_to_rounding(found, self.settings)
            if found.converged:
                kept = {"recipe": self.refined.recipe, "refinement": self.refined.refinement}
                return replace(found, **kept, iterations=self.iterations)
            self.why_ended = f"a finer mesh did not converge ({found.status.value})"
        return None

    def _next(self, found: SolutionData, gain: RemainingGain, wanted: float) -> Trajectory | None:
        """The next mesh; None where there is none."""
        trajectory = found.problem.trajectory
        spans = trajectory.arcs[0].basis.span_count
        extra, most = self._smooth(found, spans), span_limit(self.settings, spans)
        least = max(
            self.settings.bracket_share * wanted / spans,
            self.settings.bracket_mark * float((gain.by_span + extra).max()),
        )
        finer = cut(trajectory, gain, extra, least, most)
        if finer.arcs[0].basis.span_count > spans:
            return finer
        if 2 * spans > self.settings.bracket_spans:
            self.why_ended = f"{spans} spans, and at most {self.settings.bracket_spans} are allowed"
            return None
        return split(trajectory, [np.ones(spans, dtype=bool)])  # shows that no more is gained

    def _smooth(self, found: SolutionData, spans: int) -> Array:
        """Of continuous controls, what halving spans could gain to second order, (spans,)."""
        gains = gains_of_halving(found) if self.regular else None
        return np.zeros(spans) if gains is None else gains[0]

    def bracket(self, certified: SolutionData) -> ObjectiveBracket | None:
        """Of the objective, from the narrowest estimate to a motion whose limits hold; None where unknown.

        Limits hold to a tolerance: what the oversteps gain is added to the upper end.
        """
        mesh, certificate = self.narrowest, certified.certificate
        if mesh is None or not certified.objective >= mesh.lower:
            return None
        gain = 0.0 if certificate is None or certificate.gain is None else certificate.gain.of_oversteps
        upper = certified.objective + gain * abs(certified.objective)
        return ObjectiveBracket(mesh.lower, upper, self.settings.bracket_factor, self.why_ended)
