"""Detects links that no motion can meet, before the solve: their sides leave the bounds of the link.

Boundary values and limits of states, bounds of controls and parameters give an interval for every quantity
at an instant. A link that is affine in them, g = g(0) + J u, then lies in an interval as well; any other is
looked at where all that it depends on is fixed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.quantities import extra_leaf, own_term, parameter_leaf
from trajopt.problem.links.link import Link, PhaseInstant, TermLink, place
from trajopt.problem.links.phases import Phases
from trajopt.splines.node_sets import PATH


def refuse_links_out_of_bounds(phases: Phases) -> None:
    """InfeasibleBoundsError for a link that the conditions of its phases contradict, with both intervals."""
    for link in phases.links:
        if isinstance(link, TermLink):
            first, second = (
                _interval(phases, instant, link.term.quantity, link.width) for instant in link.instants
            )
            _refuse(phases, link, link.instants, first, second, "in the first and")
        else:
            wanted = np.stack([link.lower, link.upper])
            _refuse(phases, link, link.function.instants, _range(phases, link), wanted, "but has to be")


def _refuse(
    phases: Phases,
    link: Link | TermLink,
    instants: Iterable[PhaseInstant],
    found: Array,
    wanted: Array,
    relation: str,
) -> None:
    size = 1.0 + np.nan_to_num(np.abs(np.concatenate([found, wanted])), posinf=0.0).max(axis=0)
    apart = (found[0] > wanted[1] + AGREEMENT * size) | (found[1] < wanted[0] - AGREEMENT * size)
    crossed = (found[0] > found[1]) | (wanted[0] > wanted[1])  # what contradicts itself is reported elsewhere
    for i in np.flatnonzero(apart & ~crossed)[:1]:
        names = dict.fromkeys(f"'{phases.phase_names[instant.phase]}'" for instant in instants)
        which = f", component {i}," if found.shape[1] > 1 else ""
        here, there = _interval_text(*found[:, i]), _interval_text(*wanted[:, i])
        raise InfeasibleBoundsError(
            f"phases {' and '.join(names)} cannot meet: '{link.name}'{which} is {here} {relation} {there}"
            f"{' in the second' * isinstance(link, TermLink)}, by boundary values and bounds: free one of "
            "them, None among the boundary values, or drop the link"
        )


def _interval_text(low: float, high: float) -> str:
    return f"{low:.6g}" if low == high else f"between {low:.6g} and {high:.6g}"


def _range(phases: Phases, link: Link) -> Array:
    """Least and greatest values (2, width) of a link's function; infinite where they are not known."""
    function, block = link.function, link.function.block
    intervals = {
        place(i, quantity): _interval(phases, instant, quantity, block.inputs[place(i, quantity)])
        for i, (instant, used) in enumerate(zip(function.instants, function.used, strict=True))
        for quantity in used
    }
    unknown = np.stack([np.full(function.width, -np.inf), np.full(function.width, np.inf)])
    fixed = all(np.all(interval[0] == interval[1]) for interval in intervals.values())
    if block.curvature_pattern() and not fixed:
        return unknown
    at = {
        name: (interval[:1] if fixed else np.zeros((1, interval.shape[1])))
        for name, interval in intervals.items()
    }
    value = block.value(at)[own_term(link.name)]
    found = np.concatenate([value, value])
    if fixed:
        return found
    for (_, name), part in block.partials(at).items():
        low, high = intervals[name]
        slope = part[0]
        with np.errstate(invalid="ignore"):
            ends = np.where(slope != 0.0, np.stack([slope * low, slope * high]), 0.0)
        found += np.stack([ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)])
    return found


def _interval(phases: Phases, instant: PhaseInstant, quantity: str, width: int) -> Array:
    """Least and greatest values (2, width) of a quantity that the conditions at an instant leave."""
    problem = phases.problems[instant.phase]
    low, high = np.full(width, -np.inf), np.full(width, np.inf)
    bounds: list[Any] = [
        constraint
        for constraint in problem.constraints
        if constraint.term.quantity == quantity
        and (constraint.over == instant.over or (constraint.over == PATH and constraint.continuous))
    ]
    bounds += [extra for name, extra in problem.extras.items() if extra_leaf(name) == quantity]
    bounds += [given for name, given in problem.parameters.items() if parameter_leaf(name) == quantity]
    for bound in bounds:
        low, high = np.maximum(low, bound.lower), np.minimum(high, bound.upper)
    return np.stack([low, high])
