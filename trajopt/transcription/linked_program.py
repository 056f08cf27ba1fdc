"""The nonlinear program of several phases: their programs side by side, and equations between them.

    minimize sum_i f_i(y_i)   with   the rows of every phase,   A (y_1, y_2, ...) = b

Jacobian and Hessian are block diagonal but for the rows of A, which are constant.

Equations that give several phases the same parameter are linear in the unknowns of their programs.

Links between phases are not here: `link_constraints.py` makes them constraints on copies of quantities, which
are such parameters.

Boundary values may fix a copy in both phases. The equation between them then says nothing that their own
equations do not say, or it contradicts them. Which copies are fixed follows from the structure of the
programs; at what, from their values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, TrajoptError
from trajopt.base.tolerances import AGREEMENT
from trajopt.problem.phases import Asked, Phases
from trajopt.problem.problem import Problem
from trajopt.solvers.kkt import lagrangian_gradient
from trajopt.solvers.matrices import matrix_of_parts
from trajopt.solvers.solver import Result
from trajopt.transcription.bounds import Bounds
from trajopt.transcription.derivative_check import check_problem
from trajopt.transcription.initial_point import first_guess
from trajopt.transcription.link_constraints import Copy, LinkedProblems, Links, linked_problems
from trajopt.transcription.nlp import NLP, ProgramStructure, ProgramValues, Scaling
from trajopt.transcription.transcribe import cold_program, program_at, structure_of, values_of

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

    @property
    def layouts(self) -> dict[str, Any]:
        """See `Program`."""
        return self.coupling.layouts

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
        return replace(self, programs=tuple(p.with_objective_times(factor) for p in self.programs))

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
        unknowns = self.programs[k].unknowns
        is_held = np.zeros(unknowns.layout.size, dtype=bool)  # of this phase, what others share
        for name, having in self.linked.shared.items():
            if k in having:
                is_held[unknowns.layout.parameters[name]] = True
        held = np.flatnonzero(is_held[unknowns.elimination.free])
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


def _linked(asked: Asked, links: Links | None = None, *, guessed: bool = True) -> LinkedProblems | None:
    """The problems of phases with all links, see `linked_problems`; None for a problem."""
    return linked_problems(asked, links, guessed=guessed) if isinstance(asked, Phases) else None


def _of_every_phase(asked: Asked, function: Callable[..., T], *arguments: Iterable[object]) -> tuple[T, ...]:
    """`function` of every part; an error of a phase begins with its name."""
    found = []
    for name, *own in zip(asked.phase_names, *arguments, strict=False):
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
    def problems(self) -> tuple[Problem, ...]:
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
        linked = _linked(asked, guessed=False)
        problems = asked.parts if linked is None else linked.problems
        parts = _of_every_phase(asked, structure_of, problems, kept_as_rows, repeat(check))
        if linked is None:
            return AskedStructure(parts)
        return AskedStructure(parts, linked.links, coupling_of(linked, parts))

    def values_of(self, asked: Asked, *, guessed: bool = True) -> AskedValues:
        """The values of what is asked, which has this structure.

        guessed : whether copies get guesses, for `cold_program`
        Raises what `transcribe.values_of` and `linked_problems` raise.
        """
        linked = _linked(asked, self.links, guessed=guessed)
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
    return cast("LinkedProgram", structure.cold_program(structure.values_of(phases)))


def unknowns_at_motion(motion: Any, asked: Asked, parts: Sequence[NLP | ProgramValues]) -> list[Array]:
    """The unknowns of every part, within their bounds, where a motion is the guess, as `guess` takes it."""
    guessed = asked.on(*(part.trajectory for part in asked.parts))
    guessed.guess(motion)
    linked, guesses = _linked(guessed), []
    problems = guessed.parts if linked is None else linked.problems
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


@dataclass(frozen=True, eq=False)
class Part:
    """One component of a shared parameter in one phase: the entry `place` of the phase's x = N y + c.

    columns, factors : the nonzeros of its row of N, so that it is factors @ y[columns] + c
    row : the only row of the phase's program that the parameter's unknown is in where it defines a copy by
        what the phase's conditions fix, else None
    """

    phase: int
    place: int
    columns: Array
    factors: Array
    row: int | None

    @property
    def is_fixed(self) -> bool:
        """True if the phase's own conditions give it a value."""
        return self.row is not None or not self.columns.size

    def constant(self, programs: Sequence[NLP]) -> float:
        """Its entry of c."""
        return float(programs[self.phase].unknowns.elimination.c[self.place])

    def value(self, programs: Sequence[NLP]) -> float:
        """The value that it is fixed at."""
        if self.row is None:
            return self.constant(programs)
        program = programs[self.phase]
        slope = float(program.jacobian(program.start)[program.jacobian_rows == self.row].sum())
        gap = float(program.row_lower[self.row] - program.rows(program.start)[self.row])
        return float(program.start[self.columns[0]]) + gap / slope


@dataclass(frozen=True, eq=False)
class Pair:
    """One component of a parameter in two phases that have to agree."""

    name: str
    component: int
    one: Part
    other: Part


@dataclass(frozen=True, eq=False)
class Coupling:
    """Equations A y = b between the unknowns y of all phases, one for every pair.

    fixed : pairs to which both phases give a value, which is the same, or contradicts the other
    layouts : of the programs of all phases as one, see `Program`
    """

    A: sparse.csr_array
    pairs: tuple[Pair, ...]
    fixed: tuple[Pair, ...]
    layouts: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def labels(self) -> tuple[str, ...]:
        """The parameter that each equation is of."""
        return tuple(pair.name for pair in self.pairs)

    def right_sides(self, programs: Sequence[NLP], names: Sequence[str]) -> Array:
        """b for the programs of all phases.

        names : of the phases
        Raises InfeasibleBoundsError where two phases fix a parameter at different values.
        """
        for pair in self.fixed:
            first, second = pair.one.value(programs), pair.other.value(programs)
            if abs(first - second) > AGREEMENT * max(1.0, abs(first)):
                where = f", component {pair.component}," if pair.component else ""
                raise InfeasibleBoundsError(
                    f"phases '{names[pair.one.phase]}' and '{names[pair.other.phase]}' cannot meet: "
                    f"'{pair.name}'{where} is {first:.9g} in the first and {second:.9g} in the second, fixed "
                    "by the conditions of each: free one of them, None among the boundary values, or drop "
                    "the link"
                )
        return np.array([pair.other.constant(programs) - pair.one.constant(programs) for pair in self.pairs])


def coupling_of(linked: LinkedProblems, structures: Sequence[ProgramStructure]) -> Coupling:
    """The equations of all shared parameters; y are the unknowns of the programs one after the other."""
    offsets = np.cumsum([0, *(structure.solution.free.size for structure in structures)])
    every = tuple(_pairs(linked, structures))
    fixed = tuple(pair for pair in every if pair.one.is_fixed and pair.other.is_fixed)
    pairs = tuple(pair for pair in every if pair not in fixed)
    entries = [
        (np.full(part.columns.size, number), offsets[part.phase] + part.columns, sign * part.factors)
        for number, pair in enumerate(pairs)
        for part, sign in ((pair.one, 1.0), (pair.other, -1.0))
    ]
    return Coupling(matrix_of_parts(entries, (len(pairs), int(offsets[-1]))), pairs, fixed)


def _pairs(linked: LinkedProblems, structures: Sequence[ProgramStructure]) -> Iterator[Pair]:
    """Phases that must agree: every phase with one that fixes the parameter, where there is one."""
    for name, phases in linked.shared.items():
        for component in range(linked.problems[phases[0]].parameters[name].lower.size):
            parts = [_part(linked, structures[k], k, name, component) for k in phases]
            first = next((part for part in parts if part.is_fixed), parts[0])
            yield from (Pair(name, component, first, part) for part in parts if part is not first)


def _part(linked: LinkedProblems, structure: ProgramStructure, phase: int, name: str, component: int) -> Part:
    place = structure.spline_map.layout.parameters[name].start + component
    entries = structure.solution.N[[place]].tocoo()
    columns, row = entries.coords[1], None
    if columns.size == 1 and isinstance(linked.links.sides[phase].parameters.get(name), Copy):
        row = _defining_row(structure, name, int(columns[0]), component)
    return Part(phase, place, columns, entries.data, row)


def _defining_row(structure: ProgramStructure, name: str, column: int, component: int) -> int | None:
    """The row that defines a copy by what the phase's conditions fix; None where an unknown changes that."""
    first, entries = structure.linear.kept.size, structure.maps.jacobian_map
    for group in structure.groups:
        if group.name == name:
            row = int(group.spread(1.0 + np.arange(first, first + group.count))[0, component]) - 1
            if row < 0 or np.any(entries.columns[entries.rows == row] != column):
                return None
            return row
        first += group.count
    return None
