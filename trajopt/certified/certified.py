"""Certified refinement: limits that hold between nodes too, and exact optima whose structure is confirmed.

A uniform spline approaches a bang-bang optimum only as h^2 in the knot distance h. Once the switching
structure is known, the motion is smooth between the switches: one arc of high degree between each two
switches, with a free duration, converges spectrally. Where no structure is confirmed, knots are added where
the objective could gain by them, and then nodes where limits are violated, until the largest violation is
below the tolerance; what is left to gain brackets the objective, by an estimate. The certificate of the
solution has the method that was used.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trajopt.base.arguments import check_count, check_instance, check_positive
from trajopt.certificates.certificate import Certificate
from trajopt.certified.added_nodes import NodeRefinement
from trajopt.certified.bracket import BracketSearch
from trajopt.certified.search_settings import DEFAULT, LOWEST_DEGREE, SearchSettings
from trajopt.certified.switching.structure_detection import is_regular
from trajopt.certified.switching.structure_search import StructureSearch
from trajopt.checks.path_equations import path_equations
from trajopt.checks.violations import equation_tolerance
from trajopt.problem.problem_graph import depends_on_jerk
from trajopt.refinement.refinements import Refined
from trajopt.solution.journal import INTERRUPTED, Attempt, ByAttempts, Entry, Journal, Policy, driven
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.records import NO_STRUCTURE, Certification
from trajopt.solution.solution import Answer, Solution
from trajopt.solvers.run import SolvesStopped
from trajopt.splines.node_sets import PATH, ArcNodes, Instants, TimeWindow

__all__ = ["Certificate", "Certified"]


@dataclass(frozen=True)
class Certified(ByAttempts):
    """Certified refinement: `solve(problem, refine=Certified(tol=1e-6))`.

    The solution has a `certificate`: on switching arcs, or else on a spline with added nodes. Phases are
    certified on their splines with added nodes. Iterations and seconds of the solution count those of the
    refinement, its checks included. Where the certification ends in an error, the solution comes back with a
    certificate that does not hold and names it.

    tol : largest violation of any limit, between nodes too, in the limit's own unit
    equation_tol : largest residual of an equation over an interval of time, relative to its scale; None: tol
    degree : of the arcs between switches; where limits are violated between Gauss points it is raised, or
        arcs are cut in parts
    rounds : largest number of corrections of a structure, and of times that nodes are added
    time_limit : seconds for all of it; at the limit, as after Ctrl-C, the best solution so far is returned
        with a certificate of what holds for it. None: the effort is limited by iterations alone, so that the
        answer does not depend on the machine and its load
    settings : thresholds of the search, `trajopt.SearchSettings(...)`
    """

    tol: float = 1e-6
    degree: int = 16
    rounds: int = 12
    time_limit: float | None = None
    settings: SearchSettings = field(default=DEFAULT, repr=False)
    equation_tol: float | None = None

    def __post_init__(self) -> None:
        check_positive("tol", self.tol)
        check_positive("time_limit", self.time_limit, optional=True)
        check_count("rounds", self.rounds, 1)
        check_positive("equation_tol", self.equation_tol, optional=True)
        check_instance("settings", self.settings, SearchSettings, "a SearchSettings()")
        most = self.settings.highest_degree
        check_count("degree (up to settings.highest_degree)", self.degree, LOWEST_DEGREE, most)

    def attempts(self, journal: Journal, first: Entry) -> Policy[Entry]:
        """Make the attempts of the searches in the journal, and return the certified solution."""
        # What is tried next follows from the searches within, so that nothing is ever sent to this.
        yield from ()  # pyrefly: ignore[invalid-yield]
        began, solved = time.perf_counter(), journal.seconds
        try:
            found = self._refined(first.answer, journal)
        except Exception as error:  # whatever it is, the finished solve must not be lost
            failed = f"the certification ended in an error ({type(error).__name__}: {error})"
            found = self._failed(first.answer, failed)
        if journal.raised:  # by the callback
            raise journal.raised[0]
        journal.checked.append(time.perf_counter() - began - (journal.seconds - solved))
        return replace(first, answer=found)

    def _failed(self, answer: Any, failed: str) -> Solution | PhasesSolution:
        """The answer with a certificate that does not hold, and its reason."""
        if isinstance(answer, PhasesSolution):
            certification = Certification(self.tol, self.equation_tol, 0, failed=failed)
            return replace(answer, certification=certification)
        certificate = Certificate(
            self.tol, "none", None, 0, "", motion=answer, failed=failed, equation_tolerance=self.equation_tol
        )
        return replace(answer, certificate=certificate)

    def _refined(self, solution: Any, journal: Journal) -> Any:
        shares = (1.0, self.settings.search_share, self.settings.bracket_end)
        limits = [None if self.time_limit is None else share * self.time_limit for share in shares]
        budget, for_search, for_bracket = map(journal.within, limits)
        search = StructureSearch(solution, for_search, self.tol, self.degree, self.rounds, self.settings)
        by_nodes = NodeRefinement(self.tol, self.rounds, self.settings, self.equation_tol)
        unsuited = _unsuited(solution)
        try:
            reason = unsuited or search.run()
        except (SolvesStopped, KeyboardInterrupt) as stop:
            reason = str(stop) or INTERRUPTED
            if "time limit" not in reason:
                return by_nodes.certified(solution, reason)
        except Exception as error:  # nodes may still be added
            reason = f"the search for a structure ended in an error ({type(error).__name__}: {error})"
        if search.found is not None:
            certificate: Any = search.found.certificate
            if self.equation_tol is not None:
                certificate = replace(certificate, equation_tolerance=self.equation_tol)
            return replace(search.found, certificate=certificate)
        finest = solution if search.finest is None else search.finest
        finest = replace(finest, recipe=solution.recipe)
        if finest.converged and any(path_equations(part.problem) for part in solution.parts):
            # Nodes cannot mend them, finer knots do.
            knots = Refined(
                tol=equation_tolerance(self.equation_tol, self.tol), rounds=self.rounds, errors="equations"
            )
            rounds = knots.attempts(for_search, Entry(Attempt(finest.asked), finest))
            finest = driven(for_search.attempt, rounds).answer
        if unsuited or not finest.converged or not self.settings.bracket_rounds:
            return by_nodes.run(finest, budget, reason)
        start = replace(search.moderate or solution, recipe=solution.recipe)
        regular = is_regular(start, self.settings)
        known = None if regular else finest
        local = BracketSearch(start, for_bracket, regular, self.settings, known)
        return self._bracketed(finest, local, by_nodes, budget, reason)

    def _bracketed(
        self,
        finest: Solution,
        search: BracketSearch,
        by_nodes: NodeRefinement,
        budget: Journal,
        reason: str,
    ) -> Any:
        """The certified solution with a bracket of its objective, as far as the time allows.

        Of the finest and the locally refined spline the better one; the other where its limits do not hold.
        """
        try:
            search.run()
        except (SolvesStopped, KeyboardInterrupt):
            by_nodes = replace(by_nodes, rounds=0)
        except Exception as error:
            logging.getLogger("trajopt").warning("no bracket: %s: %s", type(error).__name__, error)
        mesh = search.narrowest
        motions = [finest, search.refined] if search.meshes else [finest]
        tried: list[Any] = []
        for motion in sorted(motions, key=lambda each: each.objective):
            s, width = self.settings, mesh.width / abs(motion.objective) if mesh else 0.0
            slack = min(s.scaled_share * width, s.most_scaled)
            best = by_nodes.run(motion, budget, reason, slack)
            if best.certificate.holds:
                return replace(best, certificate=best.certificate.noting(bracket=search.bracket(best)))
            tried.append(best)
        return min(tried, key=lambda each: each.certificate.largest_violation)


def _unsuited(solution: Answer) -> str:
    """Reason why no switching structure is searched for; empty otherwise."""
    if not isinstance(solution, Solution):
        return NO_STRUCTURE
    problem = solution.problem
    if not solution.problem.path_limits():
        return "the problem bounds nothing over the whole motion"
    stated = (*problem.costs, *problem.constraints, *problem.integrals)
    if any(isinstance(each.over, TimeWindow) for each in stated):
        return "a window of normalised time means another time on arcs"
    if any(isinstance(each.over, Instants) for each in stated):
        return "single times within the motion mean other nodes on arcs"
    if any(isinstance(each.over, ArcNodes) or each.over.is_difference for each in stated):
        return "nodes of an arc, or neighbouring nodes, are others on switching arcs"
    jerk = [each.name for each in stated if depends_on_jerk(problem, each.term)]
    if jerk:
        return f"'{jerk[0]}' depends on the jerk, and accelerations jump where arcs meet"
    if any(c.over == PATH and np.any(c.lower == c.upper) for c in problem.constraints):
        return "an equality over the whole path leaves no freedom at the ends of arcs"
    if problem.extras:
        return "additional curves beside the joints have no switching structure that is known to the search"
    if len(problem.trajectory.arcs) > 1:
        return "the motion has arcs of its own"
    return ""
