"""The nonlinear program of several phases: their programs side by side, and equations between them.

    minimize sum_i f_i(y_i)   with   the rows of every phase,   A (y_1, y_2, ...) = b

Jacobian and Hessian are block diagonal but for the rows of A, which are constant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import TrajoptError
from trajopt.problem.links.phases import Asked, Phases
from trajopt.problem.problem import ProblemData
from trajopt.solvers.optimality.kkt import lagrangian_gradient
from trajopt.solvers.solver import Result
from trajopt.transcription.bounds import Bounds
from trajopt.transcription.derivative_check import check_problem
from trajopt.transcription.initial_point import first_guess
from trajopt.transcription.links.link_constraints import LinkedProblems, Links, linked_problems
from trajopt.transcription.links.shared_parameters import Coupling, coupling_of
from trajopt.transcription.nlp import NLP, Scaling
from trajopt.transcription.transcribe import (
    ProgramStructure,
    ProgramValues,
    cold_program,
    program_at,
    structure_of,
    values_of,
)

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class LinkedProgram:
    """The programs of all phases as one, scaled like the one whose objective is scaled down most.

    The unknowns are those of the phases one after the other, rows likewise, then those of the coupling.
    """

    phases: Phases
    linked: LinkedProblems
    programs: tuple[NLP, ...]
    coupling: Coupling
    variables: tuple[slice, ...]  # the places of every phase among the unknowns
    own_rows: tuple[slice, ...]  # and among the rows
    lower: Array
    upper: Array
    row_lower: Array
    row_upper: Array
    start: Array
    jacobian_rows: Array
    jacobian_columns: Array
    hessian_rows: Array
    hessian_columns: Array

    @staticmethod
    def of(linked: LinkedProblems, programs: tuple[NLP, ...], coupling: Coupling) -> LinkedProgram:
        """The programs of all phases as one; InfeasibleBoundsError where two of them cannot meet."""
        b = coupling.right_sides(programs, linked.phases.phase_names)
        variables = _slices([program.variable_count for program in programs])
        own_rows = _slices([program.row_count for program in programs])
        row, column = coupling.A.tocoo().coords
        placed = list(zip(programs, variables, own_rows, strict=True))
        return LinkedProgram(
            linked.phases,
            linked,
            programs,
            coupling,
            variables,
            own_rows,
            lower=np.concatenate([program.lower for program in programs]),
            upper=np.concatenate([program.upper for program in programs]),
            row_lower=np.concatenate([*(program.row_lower for program in programs), b]),
            row_upper=np.concatenate([*(program.row_upper for program in programs), b]),
            start=np.concatenate([program.start for program in programs]),
            jacobian_rows=np.concatenate(
                [*(r.start + p.jacobian_rows for p, _, r in placed), own_rows[-1].stop + row]
            ),
            jacobian_columns=np.concatenate([*(y.start + p.jacobian_columns for p, y, _ in placed), column]),
            hessian_rows=np.concatenate([y.start + p.hessian_rows for p, y, _ in placed]),
            hessian_columns=np.concatenate([y.start + p.hessian_columns for p, y, _ in placed]),
        )

    # -- sizes and scaling --------------------------------------------------------------------------------

    @property
    def variable_count(self) -> int:
        return self.variables[-1].stop

    @property
    def row_count(self) -> int:
        return self.own_rows[-1].stop + len(self.coupling.pairs)

    @property
    def durations(self) -> Array:
        """The places of all durations among the unknowns."""
        each = zip(self.variables, self.programs, strict=True)
        return np.concatenate([place.start + program.durations for place, program in each])

    @property
    def has_hessian(self) -> bool:
        return all(program.has_hessian for program in self.programs)

    @property
    def objective_scale(self) -> float:
        """The factor of the sum of all objectives."""
        return min(program.objective_scale for program in self.programs)

    @property
    def scaling(self) -> Scaling:
        """The factors of every row and of the objective."""
        rows = [program.row_scale for program in self.programs]
        return Scaling(np.concatenate([*rows, np.ones(len(self.coupling.pairs))]), self.objective_scale)

    @property
    def unknown_sizes(self) -> Array | None:
        """The size of every unknown at the start where these differ much, (n,); else None."""
        if all(program.unknown_sizes is None for program in self.programs):
            return None
        each = [(p.unknown_sizes, np.ones(p.variable_count)) for p in self.programs]
        return np.concatenate([ones if sizes is None else sizes for sizes, ones in each])

    @cached_property
    def unknown_spans(self) -> Array:
        """First and last span of every unknown, counted on from phase to phase, (n, 2)."""
        each = [program.unknown_spans for program in self.programs]
        counts = [program.unknowns.nodes.span[-1] + 1 for program in self.programs]
        before = np.cumsum(counts) - counts
        return np.concatenate([own + first for own, first in zip(each, before, strict=True)])

    @property
    def weights(self) -> Array:
        """The weight of the objective of every phase's program here, (phases,)."""
        return self.objective_scale / np.array([program.objective_scale for program in self.programs])

    def with_objective_times(self, factor: float) -> LinkedProgram:
        """The same program with another factor of every phase's objective."""
        return replace(
            self, programs=tuple(program.with_objective_times(factor) for program in self.programs)
        )

    # -- functions ----------------------------------------------------------------------------------------

    def parts(self, y: Array) -> list[Array]:
        """The unknowns of every phase."""
        return [np.ascontiguousarray(y[place]) for place in self.variables]

    def objective(self, y: Array) -> float:
        """f(y), scaled."""
        each = [p.objective(part) for p, part in zip(self.programs, self.parts(y), strict=True)]
        return float(self.weights @ each)

    def gradient(self, y: Array) -> Array:
        """Gradient of the scaled objective, (variable_count,)."""
        each = zip(self.weights, self.programs, self.parts(y), strict=True)
        return np.concatenate([weight * program.gradient(part) for weight, program, part in each])

    def rows(self, y: Array) -> Array:
        """All rows, (row_count,)."""
        each = [p.rows(part) for p, part in zip(self.programs, self.parts(y), strict=True)]
        return np.concatenate([*each, self.coupling.A @ y])

    def jacobian(self, y: Array) -> Array:
        """Nonzeros of the Jacobian in the order of `jacobian_rows`, `jacobian_columns`."""
        each = [p.jacobian(part) for p, part in zip(self.programs, self.parts(y), strict=True)]
        return np.concatenate([*each, self.coupling.A.data])

    def hessian(self, y: Array, row_multipliers: Array, objective_factor: float = 1.0) -> Array:
        """Nonzeros of the lower triangle of objective_factor * f'' + sum_r lambda_r g_r''."""
        each = zip(self.weights, self.programs, self.parts(y), self.own_rows, strict=True)
        return np.concatenate(
            [
                program.hessian(part, np.ascontiguousarray(row_multipliers[rows]), objective_factor * weight)
                for weight, program, part, rows in each
            ]
        )

    # -- reports ------------------------------------------------------------------------------------------

    def culprit(self, y: Array) -> str:
        """Phase, term, node and joint that are not finite at y; "" when all is finite."""
        for name, program, part in zip(self.phases.phase_names, self.programs, self.parts(y), strict=True):
            found = program.culprit(part)
            if found:
                return f"phase '{name}': {found}"
        return ""

    def shared_values(self, k: int, y: Array) -> dict[str, Array]:
        """The parameters that phase k shares, and its copies, at the phase's own unknowns y."""
        known = self.programs[k].unknowns.parameters(y)
        return {name: known[name] for name, having in self.linked.shared.items() if k in having}

    def of_phase(self, k: int, result: Result) -> tuple[NLP, Result]:
        """Phase k with its shared parameters held at their values: its program, and the result as one of it.

        What the other phases ask of these parameters is then the multiplier of the bounds that hold them.
        """
        program, weight = self.programs[k], self.weights[k]
        y = result.y[self.variables[k]]
        rows = result.row_multipliers[self.own_rows[k]] / weight
        lower, upper = (
            multipliers[self.variables[k]] / weight
            for multipliers in (result.lower_multipliers, result.upper_multipliers)
        )
        held = self._held_unknowns(k)
        bounds = Bounds(program.lower.copy(), program.upper.copy())
        bounds.lower[held] = bounds.upper[held] = y[held]
        slope = lagrangian_gradient(program, y, rows)[held]
        lower[held], upper[held] = np.maximum(slope, 0.0), np.maximum(-slope, 0.0)
        own = replace(
            result,
            y=y,
            row_multipliers=rows,
            lower_multipliers=lower,
            upper_multipliers=upper,
            objective=program.objective(y),
        )
        return replace(program, bounds=bounds), own

    def _held_unknowns(self, k: int) -> Array:
        """Unknowns of phase k that are shared parameters."""
        unknowns = self.programs[k].unknowns
        is_held = np.zeros(unknowns.layout.size, dtype=bool)
        for name, having in self.linked.shared.items():
            if k in having:
                is_held[unknowns.layout.parameters[name]] = True
        return np.flatnonzero(is_held[unknowns.elimination.free])


def _of_every_phase(asked: Asked, function: Callable[..., T], *arguments: Iterable[Any]) -> tuple[T, ...]:
    """`function` of every part; an error of a phase begins with its name."""
    names = asked.phase_names if isinstance(asked, Phases) else repeat("")
    found = []
    for name, *own in zip(names, *arguments, strict=False):
        try:
            found.append(function(*own))
        except TrajoptError as error:
            if name and f"'{name}'" not in str(error):
                error.args = (f"phase '{name}': {error}",)
            raise
    return tuple(found)


@dataclass(frozen=True, eq=False)
class AskedValues:
    """The values that a problem, or phases, put into the structure of their program.

    linked : the problems of phases with their links, None for a problem
    parts : of every part
    """

    asked: Asked
    linked: LinkedProblems | None
    parts: tuple[ProgramValues, ...]

    @property
    def problems(self) -> tuple[ProblemData, ...]:
        """Problems of every part, with what links add to them."""
        return self.asked.parts if self.linked is None else self.linked.problems


@dataclass(frozen=True, eq=False)
class AskedStructure:
    """The structure of the program of a problem, or of phases: that of every part, and of what joins them.

    links, coupling : None for a problem, whose program is that of its only part
    """

    parts: tuple[ProgramStructure, ...]
    links: Links | None = None
    coupling: Coupling | None = None

    @staticmethod
    def of(asked: Asked, kept_as_rows: Sequence[Collection[int]], check: bool = False) -> AskedStructure:
        """The structure of what is asked; kept_as_rows, check : as `structure_of` takes them, by part."""
        if not isinstance(asked, Phases):
            return AskedStructure((structure_of(asked, *kept_as_rows, check=check),))
        linked = linked_problems(asked, guessed=False)
        parts = _of_every_phase(asked, structure_of, linked.problems, kept_as_rows, repeat(check))
        return AskedStructure(parts, linked.links, coupling_of(linked, parts))

    def values_of(self, asked: Asked, *, guessed: bool = True) -> AskedValues:
        """The values of what is asked, which has this structure.

        guessed : whether copies get guesses, for `cold_program`
        Raises what `transcribe.values_of` and `linked_problems` raise.
        """
        linked = None
        if isinstance(asked, Phases):
            linked = linked_problems(asked, self.links, guessed=guessed)
        problems = asked.parts if linked is None else linked.problems
        return AskedValues(asked, linked, _of_every_phase(asked, values_of, self.parts, problems))

    def cold_program(self, values: AskedValues) -> NLP | LinkedProgram:
        """The program that starts from the guess, scaled there."""
        parts = _of_every_phase(values.asked, cold_program, self.parts, values.parts, values.problems)
        return self._joined(values, parts)

    def program_at(
        self, values: AskedValues, starts: Sequence[Array], scalings: Sequence[Scaling | None]
    ) -> NLP | LinkedProgram:
        """The program with a known starting point of every part, scaled there where no scaling is given."""
        return self._joined(values, tuple(map(program_at, self.parts, values.parts, starts, scalings)))

    def _joined(self, values: AskedValues, programs: tuple[NLP, ...]) -> NLP | LinkedProgram:
        if self.coupling is None or values.linked is None:
            return programs[0]
        return LinkedProgram.of(values.linked, programs, self.coupling)


def linked_program(phases: Phases, check: bool = False) -> LinkedProgram:
    """The program of phases as they are stated now.

    check : whether users' blocks are checked first, those of phases that were not yet, and those of links
    Raises ProblemError or a subclass where a phase contradicts itself, or two phases cannot meet.
    """
    if check:
        _of_every_phase(phases, check_problem, phases.parts)
        _of_every_phase(phases, check_problem, linked_problems(phases).problems)
    structure = AskedStructure.of(phases, [()] * len(phases.parts))
    program: Any = structure.cold_program(structure.values_of(phases))
    return program


def unknowns_at_motion(motion: Any, asked: Asked, parts: Sequence[NLP | ProgramValues]) -> list[Array]:
    """The unknowns of every part, within their bounds, where a motion is the guess, as `guess` takes it."""
    guessed = asked.on(*(part.trajectory for part in asked.parts))
    guessed.guess(motion)
    problems = linked_problems(guessed).problems if isinstance(guessed, Phases) else guessed.parts
    guesses = []
    for own, problem in zip(parts, problems, strict=True):
        x = first_guess(problem, own.unknowns.layout)
        guesses.append(own.bounds.clipped(own.unknowns.elimination.reduce(x)))
    return guesses


def unknowns_of_motions(parts: Sequence[NLP | ProgramValues], answer: Any) -> list[Array] | None:
    """The unknowns of every part at its motion of an answer; None where one is on other knots."""
    found = []
    for own, part in zip(parts, answer.parts, strict=True):
        if not own.unknowns.fits(part.curve, part.parameters):
            return None
        found.append(own.unknowns.of(part.curve, part.parameters))
    return found


def placed_parts(program: NLP | LinkedProgram) -> Iterator[tuple[NLP, slice, slice, float]]:
    """Every part of a program, its places among the unknowns and the rows, and what its objective counts."""
    if isinstance(program, LinkedProgram):
        weights = program.weights.tolist()
        return zip(program.programs, program.variables, program.own_rows, weights, strict=True)
    return iter([(program, slice(0, program.variable_count), slice(0, program.row_count), 1.0)])


def _slices(counts: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum(counts).tolist()
    return tuple(map(slice, [0, *ends], ends))
