"""Starts from a solution for other values: its motion, its multipliers, and the scaling they belong to."""

from __future__ import annotations

import numpy as np

from trajopt.base.arrays import Array
from trajopt.problem.problem import ProblemData
from trajopt.solution.solution import SolutionData
from trajopt.solvers.solver import WarmStart
from trajopt.transcription.initial_point import first_guess
from trajopt.transcription.linear_equations.nearest_motion import nearest_point
from trajopt.transcription.nlp import NLP, Scaling
from trajopt.transcription.row_groups import given_limits
from trajopt.transcription.transcribe import ProgramStructure, ProgramValues, program_at


def warm_program(
    structure: ProgramStructure, values: ProgramValues, problem: ProblemData, start: SolutionData
) -> tuple[NLP, WarmStart | None]:
    """The program with these values, and a start for it: of a solution of the same structure its point.

    Where the linear equations have other values it is the nearest motion that meets them. Of any other
    solution the motion is the guess, as `Problem.guess` takes it.
    """
    point, scaling = start.point, start.scaling
    fits = values.unknowns.fits(start.curve, start.parameters)
    if point is None or scaling is None or not fits or not _same_sizes(structure, point, scaling):
        guessed = problem.on(problem.trajectory)
        guessed.guess(start)
        y = values.unknowns.of(*first_guess(guessed))
        return program_at(structure, values, values.bounds.clipped(y)), None
    unknowns, fixed = values.unknowns, structure.solution.fixed
    x = unknowns.layout.vector(start.curve, start.parameters)
    y = values.bounds.clipped(nearest_point(unknowns.elimination, structure.nearest_change, fixed, x))
    kept = scaling if _same_scale(structure, problem, start.known_problem) else None
    nlp = program_at(structure, values, y, kept)
    return nlp, _rescaled(point, y, scaling, nlp.scaling)


def _same_sizes(structure: ProgramStructure, point: WarmStart, scaling: Scaling) -> bool:
    rows = structure.linear.kept.size + sum(group.count for group in structure.groups)
    return (
        point.has_multipliers and point.y.size == structure.solution.free.size and scaling.rows.size == rows
    )


def _same_scale(structure: ProgramStructure, problem: ProblemData, before: ProblemData | None) -> bool:
    """Whether limits and weights, by which programs are scaled, are the same as `before`."""
    if before is None or [cost.weight for cost in problem.costs] != [cost.weight for cost in before.costs]:
        return False
    now, then = given_limits(problem), given_limits(before)
    sources = {group.source for group in structure.groups}
    return all(np.array_equal(now[i], then[i]) for i in sources)


def _rescaled(point: WarmStart, y: Array, before: Scaling, now: Scaling) -> WarmStart:
    """A point with its multipliers for another scaling of the rows and the objective."""
    weight = now.objective / before.objective
    of_rows, of_lower, of_upper = (
        np.zeros(0) if each is None else each
        for each in (point.row_multipliers, point.lower_multipliers, point.upper_multipliers)
    )
    return WarmStart(y, of_rows * (before.rows / now.rows) * weight, of_lower * weight, of_upper * weight)
