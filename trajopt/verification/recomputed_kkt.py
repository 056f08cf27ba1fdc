"""KKT residuals of a solution, computed again from its problem and its curve.

The KKT conditions hold where any multipliers make the residuals small. Two candidates are tried: those of the
solver, brought to the factors of the NLP that is built again, and those of least squares. Whichever have the
smaller error are taken, for the residuals and for what else is looked at with multipliers. The objective of a
single motion has the factor of the solve, whose tolerance was one in that factor: the NLP that is built again
takes its factor from the motion found, and a residual of 1e-6 would become 3e-5 where the cost fell from 11
to 0.3 on the way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError
from trajopt.base.tolerances import AGREEMENT, ESTIMATED
from trajopt.problem.problem import ProblemData
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.solution import SolutionData, mesh_of
from trajopt.solvers.optimality.kkt import KKT, kkt_residuals
from trajopt.solvers.optimality.multipliers import kkt_of_fit, least_squares_multipliers
from trajopt.solvers.solver import WarmStart
from trajopt.transcription.links.linked_program import LinkedProgram
from trajopt.transcription.nlp import NLP
from trajopt.transcription.transcribe import cold_program, program_at, structure_of, values_of

COARSEST = 100.0  # times the factor of the NLP built again: no larger ratio is taken from a file


class RebuiltProgram(NamedTuple):
    """The NLP of a solution, built again from its problem, and its motion as unknowns of that NLP."""

    nlp: NLP
    y: Array


def rebuilt_program(solution: SolutionData) -> RebuiltProgram | None:
    """The NLP scaled at the motion, or at the guess where the cost fell far from there to the motion.

    A cost that is zero but for rounding has no scale of its own. None where the NLP cannot be known: the
    problem contradicts itself or has other knots, limits were tightened, the motion was slowed, or the
    refined problem is no longer the one that was asked.
    """
    point, before, certified = solution.point, solution.scaling, solution.certificate is not None
    if certified and (point is None or point.row_multipliers is None):
        return None
    try:
        problem = _refined_problem(solution) if certified else _own_mesh(solution)
        if problem is None:
            return None
        structure = structure_of(problem)
        values = values_of(structure, problem)
        if not values.unknowns.fits(solution.curve, solution.parameters):
            return None
        y = values.unknowns.of(solution.curve, solution.parameters)
        nlp = program_at(structure, values, y)
        if before is None or nlp.objective_scale > COARSEST * before.objective:
            nlp = cold_program(structure, values, problem)
    except (TrajoptError, IndexError, ValueError):
        # The problem contradicts itself, or a file holds margins and limits that it does not have; the
        # violations and `claims` say where.
        return None
    return None if certified and not multipliers_fit(nlp, point) else RebuiltProgram(nlp, y)


def point_and_kkt(program: RebuiltProgram, solution: SolutionData) -> tuple[WarmStart, KKT]:
    """The motion in its NLP with the multipliers that make the KKT residuals small, and these residuals."""
    nlp, before = program.nlp, solution.scaling
    ratio = 1.0
    if before is not None and before.objective > 0.0 and multipliers_fit(nlp, solution.point):
        ratio = float(np.clip(nlp.scaling.objective / before.objective, 1.0, COARSEST))
    return smallest_kkt(nlp, program.y, solution, ratio)


def smallest_kkt(
    program: NLP | LinkedProgram, y: Array, solution: SolutionData | PhasesSolutionData, ratio: float = 1.0
) -> tuple[WarmStart, KKT]:
    """y with the solver's multipliers, or those of least squares where these are better, and the residuals.

    The solver's stay where their error is at most 10 times the one that the solve left.

    ratio : of the objective's factor in the program to that of the solve, by which residuals are divided
    """
    point, own = solution.point, None
    if multipliers_fit(program, point):
        assert point is not None
        before = solution.scaling
        kept = replace(before.rescaled(point, program.scaling) if before else point, y=y)
        own = kept, _in_smaller_factor(kkt_residuals(program, kept), ratio)
        if own[1].error <= ESTIMATED * max(solution.kkt.error, AGREEMENT):
            return own
    # Files of former versions have no factors, and the guess of another version gives others.
    point = least_squares_multipliers(program, y, signed=False)
    fitted = point, _in_smaller_factor(kkt_of_fit(program, point), ratio)
    return fitted if own is None else min(own, fitted, key=lambda each: each[1].error)


def multipliers_fit(nlp: NLP | LinkedProgram, point: WarmStart | None) -> bool:
    """True if a solver's point has the sizes of the NLP, and multipliers, all finite."""
    if point is None or point.row_multipliers is None:
        return False
    given = (point.row_multipliers, point.lower_multipliers, point.upper_multipliers)
    finite = all(each is None or np.all(np.isfinite(each)) for each in given)
    return finite and (nlp.variable_count, nlp.row_count) == (point.y.size, point.row_multipliers.size)


def _own_mesh(solution: SolutionData) -> ProblemData:
    """The problem that was asked, on the knots and with the added nodes of the solution."""
    mesh, asked = mesh_of(solution), solution.problem
    if mesh is None or mesh is asked.trajectory:
        return asked
    each = zip(mesh.arcs, asked.trajectory.arcs, strict=True)
    same = all(np.array_equal(own.basis.knots, arc.basis.knots) for own, arc in each)
    if not same:
        return solution.asked_on(mesh)
    if any(map(any, (solution.extra_points, solution.limit_points))):
        asked = asked.independent_copy()
        asked.trajectory = mesh
    return asked


def _in_smaller_factor(kkt: KKT, ratio: float) -> KKT:
    """The residuals for an objective whose factor is smaller by a ratio, with which they grow."""
    return replace(
        kkt,
        stationarity=kkt.stationarity / ratio,
        complementarity=kkt.complementarity / ratio,
        sign=kkt.sign / ratio,
    )


def _refined_problem(solution: SolutionData) -> ProblemData | None:
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
        return certificate.arc_problem(solution)
    mesh = mesh_of(solution)
    return None if mesh is None else solution.asked_on(mesh)
