"""KKT residuals of a solution, computed again from its problem and its curve.

The KKT conditions hold where any multipliers make the residuals small. Two candidates are tried: those of the
solver, brought to the factors of the NLP that is built again, and those of least squares; the smaller error
is returned. The objective has the factor of the solve, whose tolerance was one in that factor: the NLP that
is built again takes its factor from the motion found, and a residual of 1e-6 would become 3e-5 where the cost
fell from 11 to 0.3 on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.base.errors import TrajoptError
from trajopt.problem.problem import ProblemData
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.kkt import KKT, kkt_residuals
from trajopt.solvers.optimality.multipliers import least_squares_kkt, least_squares_multipliers
from trajopt.solvers.solver import WarmStart
from trajopt.splines.trajectory import Trajectory
from trajopt.transcription.nlp import NLP, Scaling
from trajopt.transcription.transcribe import transcribe

FAR = 10.0  # times the error that the solve left: beyond, other multipliers are compared with the saved ones
ROUNDING = 1e-9  # errors below are none
COARSEST = 100.0  # times the factor of the NLP built again: no larger ratio is taken from a file


@dataclass(frozen=True, eq=False)
class RebuiltProgram:
    """The NLP of a solution, built again from its problem, and its motion as unknowns of that NLP."""

    nlp: NLP
    y: NDArray[np.float64]

    @property
    def node_times(self) -> NDArray[np.float64]:
        """Seconds, of the nodes at which the NLP states everything."""
        return self.nlp.unknowns.node_times(self.y)

    def multipliers_of(self, point: WarmStart, scaling: Scaling) -> dict[str, NDArray[np.float64]] | None:
        """The multipliers (rows, width) of a solver's point by constraint; None for one of another NLP."""
        if not _fits(self.nlp, point) or scaling.rows.shape != self.nlp.scaling.rows.shape:
            return None
        rows = rescaled(point, scaling, self.nlp.scaling).row_multipliers
        return None if rows is None else self.nlp.physical_multipliers(rows)


def rebuilt_program(solution: SolutionData) -> RebuiltProgram | None:
    """None where that NLP cannot be known: the problem contradicts itself, limits were tightened, the motion
    was slowed, or the refined problem is no longer the one that was asked.
    """
    point = solution.point
    if solution.certificate is not None and (point is None or point.row_multipliers is None):
        return None
    try:
        problem = _own_mesh(solution) if solution.certificate is None else _refined_problem(solution)
        nlp = None if problem is None else transcribe(problem)
    except (TrajoptError, IndexError, ValueError):
        # The problem contradicts itself, or a file holds margins and limits that it does not have; the
        # violations and `claims` say where.
        return None
    if nlp is None:
        return None
    if solution.certificate is not None and not _fits(nlp, point):
        return None
    if not nlp.unknowns.fits(solution.curve, solution.parameters):
        return None
    return RebuiltProgram(nlp, nlp.unknowns.of(solution.curve, solution.parameters))


def recomputed_kkt(solution: SolutionData) -> KKT | None:
    """The KKT residuals of the motion in the NLP that is built again; None where that cannot be known."""
    program = rebuilt_program(solution)
    return None if program is None else kkt_in(program, solution)


def point_in(program: RebuiltProgram, solution: SolutionData) -> WarmStart:
    """The motion in its NLP with the multipliers of `kkt_in`."""
    nlp, y, point = program.nlp, program.y, solution.point
    if point is None or not _fits(nlp, point):
        return least_squares_multipliers(nlp, y, signed=False)
    own = replace(rescaled(point, solution.scaling, nlp.scaling), y=y)
    if kkt_residuals(nlp, own).error <= FAR * max(solution.kkt.error, ROUNDING):
        return own
    fitted = least_squares_multipliers(nlp, y, signed=False)
    return min(own, fitted, key=lambda each: kkt_residuals(nlp, each).error)


def kkt_in(program: RebuiltProgram, solution: SolutionData) -> KKT:
    """The KKT residuals of a motion in its NLP, with the multipliers that make them small."""
    nlp, y, point = program.nlp, program.y, solution.point
    if point is None or not _fits(nlp, point):
        return least_squares_kkt(nlp, y)
    found = kkt_residuals(nlp, replace(rescaled(point, solution.scaling, nlp.scaling), y=y))
    found = _in_factor_of_solve(found, solution.scaling, nlp.scaling)
    as_left = found.error <= FAR * max(solution.kkt.error, ROUNDING)
    if solution.certificate is None and as_left:
        return found
    # Files of former versions have no factors, and the guess of another version gives others.
    fitted = _in_factor_of_solve(least_squares_kkt(nlp, y), solution.scaling, nlp.scaling)
    return min(found, fitted, key=lambda kkt: kkt.error)


def _fits(nlp: NLP, point: WarmStart | None) -> bool:
    """Whether a solver's point has the sizes of the NLP."""
    if point is None or point.row_multipliers is None:
        return False
    return (nlp.variable_count, nlp.row_count) == (point.y.size, point.row_multipliers.size)


def _own_mesh(solution: SolutionData) -> ProblemData:
    """The problem that was asked, on the knots and with the added nodes of the solution."""
    asked, bases = solution.problem, solution.curve.bases
    arcs = asked.trajectory.arcs
    same = len(arcs) != len(bases) or all(
        np.array_equal(arc.basis.knots, basis.knots) for arc, basis in zip(arcs, bases, strict=True)
    )
    added = {"extra_points": solution.extra_points, "limit_points": solution.limit_points}
    if same and not any(map(any, added.values())):
        return asked
    finer = tuple(replace(arc, basis=basis) for arc, basis in zip(arcs, bases, strict=True))
    trajectory = replace(asked.trajectory, arcs=finer, **added)
    return solution.asked_on(trajectory)


def rescaled(point: WarmStart, before: Scaling | None, now: Scaling) -> WarmStart:
    """The same point and multipliers for other factors of rows and objective."""
    if before is None or before.rows.shape != now.rows.shape:
        return point
    factor = now.objective / before.objective

    def scaled(multipliers: NDArray | None, by: NDArray | float) -> NDArray | None:
        return None if multipliers is None else multipliers * by

    return WarmStart(
        point.y,
        scaled(point.row_multipliers, factor * before.rows / now.rows),
        scaled(point.lower_multipliers, factor),
        scaled(point.upper_multipliers, factor),
    )


def _in_factor_of_solve(kkt: KKT, before: Scaling | None, now: Scaling) -> KKT:
    """Residuals that grow with the objective's factor, for that of the solve where it was the smaller one."""
    if before is None or not before.objective > 0.0:
        return kkt
    ratio = float(np.clip(now.objective / before.objective, 1.0, COARSEST))
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
    arc = replace(arcs[0], basis=basis)
    trajectory = Trajectory((arc,), extra_points=solution.extra_points, limit_points=solution.limit_points)
    return solution.asked_on(trajectory)
