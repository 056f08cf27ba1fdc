"""Equations that give several phases the same parameter: linear in the unknowns of their programs.

Links between phases are not here: `link_constraints.py` makes them constraints on copies of quantities, which
are such parameters.

Boundary values may fix a copy in both phases. The equation between them then says nothing that their own
equations do not say, or it contradicts them. Which copies are fixed follows from the structure of the
programs; at what, from their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.base.tolerances import AGREEMENT
from trajopt.solvers.matrices import matrix_of_parts
from trajopt.transcription.links.link_constraints import Copy, LinkedProblems
from trajopt.transcription.nlp import NLP
from trajopt.transcription.transcribe import ProgramStructure


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
    """

    A: sparse.csr_array
    pairs: tuple[Pair, ...]
    fixed: tuple[Pair, ...]

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
