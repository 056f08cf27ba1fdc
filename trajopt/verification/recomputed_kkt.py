"""KKT residuals of a solution, computed again from its problem and its curve.

The KKT conditions hold where any multipliers make the residuals small. Two candidates are tried: those of the
solver and, as an NLP that is built again may be scaled differently, those of least squares; the smaller error
is returned.
"""

from __future__ import annotations

from dataclasses import replace

from trajopt.errors import TrajoptError
from trajopt.problem.problem import Problem
from trajopt.refinement.knots import on_trajectory
from trajopt.refinement.switching.arc_problem import arc_problem
from trajopt.solution.solution import Solution
from trajopt.solvers.kkt import KKT, kkt_residuals
from trajopt.solvers.multipliers import least_squares_kkt
from trajopt.splines.trajectory import Trajectory
from trajopt.transcription.transcribe import transcribe

FAR = 10.0  # times the error that the solve left: beyond, other multipliers are compared with the saved ones
ROUNDING = 1e-9  # errors below are none


def recomputed_kkt(solution: Solution) -> KKT | None:
    """The KKT residuals of the curve in an NLP that is built again.

    None where that NLP cannot be known: the problem contradicts itself, limits were tightened, the motion
    was slowed, or the refined problem is no longer the one that was asked.
    """
    point = solution.point
    if point is None or point.row_multipliers is None:
        return None
    problem = solution.problem if solution.certificate is None else _refined_problem(solution)
    if problem is None:
        return None
    try:
        nlp = transcribe(problem)
    except TrajoptError:  # it contradicts itself; the violations say where
        return None
    if (nlp.variable_count, nlp.row_count) != (point.y.size, point.row_multipliers.size):
        return None
    if not nlp.unknowns.fits(solution.curve, solution.parameters):
        return None
    y = nlp.unknowns.of(solution.curve, solution.parameters)
    found = kkt_residuals(nlp, replace(point, y=y))
    as_left = found.error <= FAR * max(solution.kkt.error, ROUNDING)
    if solution.certificate is None and as_left:
        return found
    # Factors of rows are found at the guess: the guess of another version gives other factors.
    return min(found, least_squares_kkt(nlp, y), key=lambda kkt: kkt.error)


def _refined_problem(solution: Solution) -> Problem | None:
    """The problem that a certified solution solves, on its arcs or knots, from the one that was asked."""
    certificate, asked = solution.certificate, solution.problem
    assert certificate is not None
    arcs = asked.trajectory.arcs
    if len(arcs) != 1:
        return None
    basis = solution.curve.bases[0]
    if certificate.structure is not None and certificate.settings is not None:
        if arcs[0].basis.knots.shape == basis.knots.shape:  # it is on its arcs already
            return None
        structure = certificate.structure.on(solution.curve.starts)  # on arcs that were cut, too
        return arc_problem(asked, structure, solution, basis.degree, certificate.settings)
    trajectory = Trajectory((replace(arcs[0], basis=basis),), extra_points=solution.extra_points)
    return on_trajectory(replace(solution, known_problem=asked), trajectory)
