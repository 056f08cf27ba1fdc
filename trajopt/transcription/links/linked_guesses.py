"""First guesses of phases whose ends are fixed nowhere but by links to where other phases start and end.

Between the values that are fixed, q changes alike in all phases. A phase by itself would stay at the only
value that it knows, and its first duration would be that of a motion that goes nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from trajopt.base.arrays import Array
from trajopt.base.tolerances import AGREEMENT
from trajopt.problem.links.link import Link, TermLink, place
from trajopt.problem.links.phases import Phases
from trajopt.problem.problem import ProblemData
from trajopt.splines.node_sets import END, START
from trajopt.transcription.initial_point import FALLBACK_DURATION, fixed_ends, smooth_curve

__all__ = ["guess_curves_that_meet", "values_between"]

ENDS = (START, END)


def guess_curves_that_meet(phases: Phases, problems: Sequence[ProblemData]) -> None:
    """Guess a curve in problems without one whose free ends are linked to others by linear equations of q.

    problems : of the phases, copies that may change
    """
    widths = [problem.dynamics.n for problem in problems]
    points = _Points(phases, widths)
    links = [each for link in phases.links if (each := points.equations(link)) is not None]
    if not links:
        return
    fixed = np.concatenate([np.concatenate(fixed_ends(problem)) for problem in problems])
    found = values_between(fixed, widths, *(np.concatenate(each) for each in zip(*links, strict=True)))
    for k, problem in enumerate(problems):
        first, last = (found[points.place(k, end)] for end in (0, 1))
        more = ~np.isnan((first, last)) & np.isnan(fixed_ends(problem))
        if problem.guessed_curve is None and more.any():
            problem.guessed_curve = smooth_curve(problem, FALLBACK_DURATION, (first, last))


def values_between(fixed: Array, widths: Sequence[int], A: Array, b: Array) -> Array:
    """Values z where phases start and end that meet A z = b, with the least sum of squared changes of phases.

    fixed : z, of one phase after the other, where it starts and where it ends, NaN where free
    widths : of the phases, 2 sum(widths) = z.size
    returned : z, NaN in components that neither the fixed values nor the equations decide
    """
    given, largest = ~np.isnan(fixed), np.abs(A).max(axis=1, initial=0.0)
    scale = np.where(largest > 0.0, largest, 1.0)  # units of an equation decide nothing
    A, b = A / scale[:, None], b / scale
    equations = np.concatenate([np.eye(fixed.size)[given], A])
    right = np.concatenate([fixed[given], b])
    changes = np.zeros((sum(widths), fixed.size))
    row = 0
    for width in widths:
        own = np.arange(row, row + width)
        changes[own, row + own], changes[own, row + width + own] = -1.0, 1.0
        row += width
    # Coordinates that no link mixes are solved for apart.
    mixed = csr_array(np.concatenate([changes, equations]) != 0.0).astype(int)
    _, coordinate = connected_components(mixed.T @ mixed, directed=False)
    z = np.empty(fixed.size)
    for chosen in (coordinate == each for each in range(coordinate.max() + 1)):
        rows = equations[:, chosen].any(axis=1)
        mine = changes[:, chosen].any(axis=1)
        z[chosen] = _least_changes(changes[mine][:, chosen], equations[rows][:, chosen], right[rows])
    return z


def _least_changes(changes: Array, equations: Array, right: Array) -> Array:
    """z that meets equations @ z = right with the least |changes @ z|, NaN where both leave it open."""
    _, sizes, directions = np.linalg.svd(np.concatenate([changes, equations]))
    undecided = directions[np.count_nonzero(sizes > AGREEMENT * sizes.max()) :]
    zero = np.zeros((len(equations),) * 2)
    conditions = np.block([[changes.T @ changes, equations.T], [equations, zero]])
    count = changes.shape[1]
    z = np.linalg.lstsq(conditions, np.concatenate([np.zeros(count), right]))[0][:count]
    z[np.any(np.abs(undecided) > AGREEMENT, axis=0)] = np.nan
    return z


class _Points:
    """The places of q at the starts and ends of phases in one vector, and links as equations in it."""

    def __init__(self, phases: Phases, widths: Sequence[int]) -> None:
        self.phases, self.widths = phases, widths
        self.before = np.cumsum([0, *widths]).tolist()

    def place(self, k: int, end: int) -> slice:
        """Slice of q of phase k at its start (0) or its end (1)."""
        first = 2 * self.before[k] + end * self.widths[k]
        return slice(first, first + self.widths[k])

    def equations(self, link: Link | TermLink) -> tuple[Array, Array] | None:
        """A and b of A z = b that a link says, None where it says something else.

        It says such equations where it is linear in q at starts and ends, and its value is given.
        """
        if isinstance(link, TermLink):
            instants, right, is_linear = link.instants, np.zeros(link.width), link.term.quantity == "q"
            slopes = [np.eye(link.width), -np.eye(link.width)]
        else:
            instants, of_q = link.function.instants, all(set(used) <= {"q"} for used in link.function.used)
            is_value = of_q and np.array_equal(link.lower, link.upper)
            parts, constant = (link.function.linear() if is_value else None) or ({}, 0.0)
            slopes, is_linear = [parts.get(place(i, "q"), 0.0) for i in range(len(instants))], bool(parts)
            right = link.lower - constant
        if not is_linear or any(instant.over not in ENDS for instant in instants):
            return None
        A = np.zeros((right.size, 2 * self.before[-1]))
        for instant, slope in zip(instants, slopes, strict=True):
            A[:, self.place(instant.phase, ENDS.index(instant.over))] += slope
        return A, right
