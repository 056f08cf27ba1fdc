"""Transcription of a problem: builds its nonlinear program, the structure first, then its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.data import blocks_of_data
from trajopt.graph.protocols.block import Block
from trajopt.problem.problem import Problem
from trajopt.transcription.bounds import Bounds, LinearBlock, bounds_and_linear_block
from trajopt.transcription.initial_point import first_guess, with_guessed_duration
from trajopt.transcription.nlp import NLP
from trajopt.transcription.program_functions import ProgramFunctions
from trajopt.transcription.row_groups import Limits, Objective, RowGroup, given_limits
from trajopt.transcription.scaling import Scaling, scaling_of
from trajopt.transcription.structure import ProgramStructure, structure_of
from trajopt.transcription.unknowns import Unknowns


def transcribe(problem: Problem) -> NLP:
    """Build the program of a problem: unknowns, bounds, rows, sparsity, starting point and scaling.

    Without costs the objective is zero: any point that meets the constraints is a solution.
    Raises ProblemError or a subclass, such as InfeasibleBoundsError, when the problem contradicts itself.
    """
    structure = structure_of(problem)
    values = values_of(structure, problem)
    return cold_program(structure, values, problem)


@dataclass(frozen=True, eq=False)
class ProgramValues:
    """The numbers that a problem puts into the structure of its program.

    unknowns : with the c of x = N y + c
    bounds : of y
    linear : the linear rows
    given : limits of all other rows, `given_limits`
    objectives : with the weights of the problem
    data : blocks of the structure's graphs -> those with the data of the problem, where they are others
    """

    unknowns: Unknowns
    bounds: Bounds
    linear: LinearBlock
    given: Sequence[Limits]
    objectives: tuple[Objective, ...]
    data: dict[Block, Block]

    def row_bounds(self, groups: Sequence[RowGroup]) -> Bounds:
        """The bounds of all rows, not scaled: the linear ones, then those of every group."""
        limits = [(group.kept, *group.limits(self.given)) for group in groups]
        lower = [self.linear.bounds.lower, *(low.ravel()[kept] for kept, low, _ in limits)]
        upper = [self.linear.bounds.upper, *(high.ravel()[kept] for kept, _, high in limits)]
        return Bounds(np.concatenate(lower), np.concatenate(upper))


def values_of(structure: ProgramStructure, problem: Problem) -> ProgramValues:
    """The values of a problem that has this structure.

    Raises DegreesOfFreedomError where equations contradict each other, InfeasibleBoundsError where they fix
    an unknown outside its bounds.
    """
    elimination = structure.solution.at(structure.equations.right_sides(problem))
    spline_map = structure.spline_map
    bounds, linear = bounds_and_linear_block(problem, spline_map, structure.linear, elimination)
    return ProgramValues(
        unknowns=Unknowns(spline_map.layout, elimination, spline_map.nodes),
        bounds=bounds,
        linear=linear,
        given=given_limits(problem),
        objectives=tuple(
            replace(objective, weight=cost.weight)
            for objective, cost in zip(structure.objectives, problem.costs, strict=True)
        ),
        data=blocks_of_data(structure.graph, problem.datasets),
    )


def cold_program(structure: ProgramStructure, values: ProgramValues, problem: Problem) -> NLP:
    """The program with the starting point that the problem's guess gives, scaled there."""
    unknowns, bounds = values.unknowns, values.bounds
    guess = bounds.clipped(unknowns.of(*first_guess(problem, layout=unknowns.layout)))
    _check_constant_rows(structure, values, guess)
    functions, row_bounds = _functions(structure, values), values.row_bounds(structure.groups)
    linear = values.linear
    start = with_guessed_duration(
        problem,
        unknowns,
        guess,
        bounds,
        lambda y: row_bounds.violation(functions.rows(y)),
        (lambda y: linear.bounds.violation(linear.A @ y + linear.b)) if linear.count else None,
    )
    return _program(structure, values, functions, row_bounds, start, None)


def program_at(
    structure: ProgramStructure, values: ProgramValues, start: Array, scaling: Scaling | None = None
) -> NLP:
    """The program with a known starting point, scaled there where no scaling is given."""
    _check_constant_rows(structure, values, start)
    functions, row_bounds = _functions(structure, values), values.row_bounds(structure.groups)
    return _program(structure, values, functions, row_bounds, start, scaling)


def _program(
    structure: ProgramStructure,
    values: ProgramValues,
    functions: ProgramFunctions,
    row_bounds: Bounds,
    start: Array,
    scaling: Scaling | None,
) -> NLP:
    scaling = scaling or scaling_of(
        row_bounds,
        functions.jacobian_places[0],
        functions.jacobian(start),
        functions.objective(start),
        functions.gradient(start),
    )
    return NLP(
        functions=functions.scaled(scaling),
        scaling=scaling,
        bounds=values.bounds,
        row_bounds=row_bounds.scaled(scaling.rows),
        start=start,
        unknowns=values.unknowns,
        objectives=values.objectives,
        linear=values.linear,
        groups=structure.groups,
        graph=structure.graph.with_blocks(values.data),
        spline_map=structure.spline_map,
        component_names=structure.component_names,
    )


def _functions(structure: ProgramStructure, values: ProgramValues) -> ProgramFunctions:
    """The functions of the program, not scaled."""
    linear, c, chain = values.linear, values.unknowns.elimination.c, structure.maps.chain
    chain = chain.on(chain.graph.with_blocks(values.data))
    return structure.maps.functions(chain, c, values.objectives, linear.A, linear.b)


def _check_constant_rows(structure: ProgramStructure, values: ProgramValues, y: Array) -> None:
    """InfeasibleBoundsError where a row that no unknown changes does not hold; any y will do."""
    constant, unknowns = structure.constant, values.unknowns
    if constant.groups:
        found = constant.values(y, unknowns.elimination.c, values.data)
        constant.check(found, values.given, unknowns.node_times(y), structure.component_names)
