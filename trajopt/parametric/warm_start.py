"""Starts from a solution for other values: its motion, its multipliers, and the scaling they belong to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.base.arrays import Array
from trajopt.problem.problem import Problem
from trajopt.solution.solution import Answer, Solution
from trajopt.solvers.solver import WarmStart
from trajopt.transcription.conditions import given_limits
from trajopt.transcription.leaf_map import nearest_point
from trajopt.transcription.linked_program import (
    AskedStructure,
    AskedValues,
    LinkedProgram,
    unknowns_at_motion,
)
from trajopt.transcription.nlp import NLP, ProgramStructure, ProgramValues, Scaling


def warm_program(
    structure: AskedStructure, values: AskedValues, start: Answer
) -> tuple[NLP | LinkedProgram, WarmStart | None]:
    """The program with these values, and a start for it: of a solution of the same structure its point.

    Where the linear equations have other values it is, in every phase, the nearest motion that meets them. Of
    any other solution the motion is the guess, as `guess` of the problem or of the phases takes it.
    """
    point, scaling = start.point, start.scaling
    each = list(zip(structure.parts, values.parts, values.problems, start.parts, strict=True))
    fits = all(own.unknowns.fits(part.curve, part.parameters) for _, own, _, part in each)
    if point is None or scaling is None or not fits or not _same_sizes(structure, point, scaling):
        starts = unknowns_at_motion(start, values.asked, values.parts)
        return structure.program_at(values, starts, [None] * len(each)), None
    starts = [_nearest(own_structure, own, part) for own_structure, own, _, part in each]
    same = all(_same_scale(own, problem, part.known_problem) for own, _, problem, part in each)
    program = structure.program_at(values, starts, [part.scaling if same else None for part in start.parts])
    known = point.hessian if same and not any(own.data for own in values.parts) else None
    at = scaling.rescaled(point, program.scaling)
    return program, replace(at, y=np.concatenate(starts), hessian=known)


def _nearest(structure: ProgramStructure, values: ProgramValues, start: Solution) -> Array:
    """The unknowns of the motion nearest to a solution."""
    unknowns, fixed = values.unknowns, structure.solution.fixed
    x = unknowns.layout.vector(start.curve, start.parameters)
    return values.bounds.clipped(nearest_point(unknowns.elimination, structure.nearest_change, fixed, x))


def _same_sizes(structure: AskedStructure, point: WarmStart, scaling: Scaling) -> bool:
    rows = 0 if structure.coupling is None else len(structure.coupling.pairs)
    rows += sum(part.linear.kept.size + sum(group.count for group in part.groups) for part in structure.parts)
    unknowns = sum(part.solution.free.size for part in structure.parts)
    return point.has_multipliers and point.y.size == unknowns and scaling.rows.size == rows


def _same_scale(structure: ProgramStructure, problem: Problem, before: Problem | None) -> bool:
    """True if limits and weights, by which programs are scaled, are the same as `before`."""
    if before is None or [cost.weight for cost in problem.costs] != [cost.weight for cost in before.costs]:
        return False
    now, then = given_limits(problem), given_limits(before)
    sources = {group.source for group in structure.groups}
    return all(np.array_equal(now[i], then[i]) for i in sources)
