"""Equations that give several phases the same parameter: linear in the unknowns of their programs.

Links between phases are not here: `linked_problems.py` makes them constraints on copies of quantities, which
are such parameters.

Boundary values may fix a copy in both phases. The equation between them then says nothing that their own
equations do not say, or it contradicts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.base.rounding import AGREEMENT
from trajopt.transcription.links.linked_problems import LinkedProblems
from trajopt.transcription.nlp import NLP


@dataclass(frozen=True, eq=False)
class Coupling:
    """Equations A y = b between the unknowns y of all phases, and the parameter that each is of."""

    A: sparse.csr_array
    b: Array
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Part:
    """One component of a shared parameter in one phase.

    columns, factors, constant : the parameter is factors @ y[columns] + constant
    fixed : the value that the phase's own equations give it; NaN where they leave it free
    """

    phase: int
    columns: Array
    factors: Array
    constant: float
    fixed: float


def coupling_of(linked: LinkedProblems, programs: Sequence[NLP], names: Sequence[str]) -> Coupling:
    """The equations of all shared parameters; y are the unknowns of the programs one after the other.

    Raises InfeasibleBoundsError where two phases fix a parameter at different values.
    """
    offsets = np.cumsum([0, *(program.variable_count for program in programs)])
    rows, columns, factors, rhs, labels = [], [], [], [], []
    for name, phases in linked.shared.items():
        for component in range(linked.problems[phases[0]].parameters[name].lower.size):
            parts = [_part(linked, programs[k], k, name, component) for k in phases]
            for one, other in _pairs(parts, name, component, names):
                for part, sign in ((one, 1.0), (other, -1.0)):
                    rows.append(np.full(part.columns.size, len(labels)))
                    columns.append(offsets[part.phase] + part.columns)
                    factors.append(sign * part.factors)
                rhs.append(other.constant - one.constant)
                labels.append(name)
    shape = (len(labels), int(offsets[-1]))
    if not labels:
        return Coupling(sparse.csr_array(shape), np.zeros(0), ())
    places = (np.concatenate(rows), np.concatenate(columns))
    A = sparse.coo_array((np.concatenate(factors), places), shape=shape).tocsr()
    return Coupling(A, np.array(rhs), tuple(labels))


def _pairs(
    parts: Sequence[_Part], name: str, component: int, names: Sequence[str]
) -> Iterator[tuple[_Part, _Part]]:
    """Pairs of phases that must agree: every phase with one that fixes the value, where there is one."""
    fixed = [part for part in parts if not np.isnan(part.fixed)]
    first = fixed[0] if fixed else parts[0]
    for part in parts:
        if part is first:
            continue
        if np.isnan(first.fixed) or np.isnan(part.fixed):
            yield first, part
        elif abs(first.fixed - part.fixed) > AGREEMENT * max(1.0, abs(first.fixed)):
            where = f", component {component}," if component else ""
            raise InfeasibleBoundsError(
                f"phases '{names[first.phase]}' and '{names[part.phase]}' cannot meet: '{name}'{where} is "
                f"{first.fixed:.9g} in the first and {part.fixed:.9g} in the second, fixed by the conditions "
                "of each: free one of them, None among the boundary values, or drop the link"
            )


def _part(linked: LinkedProblems, program: NLP, phase: int, name: str, component: int) -> _Part:
    place = program.unknowns.layout.parameters[name].start + component
    row = program.unknowns.elimination.N[[place]].tocoo()
    constant = float(program.unknowns.elimination.c[place])
    columns, factors = row.coords[1], row.data
    fixed = np.nan if columns.size else constant
    if columns.size == 1 and name in linked.copies[phase]:
        fixed = _defined(program, name, int(columns[0]), component)
    return _Part(phase, columns, factors, constant, fixed)


def _defined(program: NLP, name: str, column: int, component: int) -> float:
    """The value of a copy whose quantity the phase's conditions fix; NaN where an unknown changes it."""
    cursor = program.linear.count
    for group in program.groups:
        if group.name == name:
            spread = group.spread(1.0 + np.arange(cursor, cursor + group.count))
            own = int(spread[0, component]) - 1
            entries = program.jacobian_rows == own
            if own < 0 or np.any(program.jacobian_columns[entries] != column):
                return np.nan
            slope = float(program.jacobian(program.start)[entries].sum())
            gap = float(program.row_lower[own] - program.rows(program.start)[own])
            return float(program.start[column]) + gap / slope
        cursor += group.count
    return np.nan
