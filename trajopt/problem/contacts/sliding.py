"""No friction where a standing point may slide: along tangents that no contact of the robot holds.

Friction would be any force inside the cone there, also one that pushes the point on as it slides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.graph.trace import column_of
from trajopt.problem.contacts.contact import WORLD, Contact
from trajopt.problem.contacts.loop_poses import REPEATED
from trajopt.problem.contacts.pose_search import SEED, PoseSearch
from trajopt.splines.node_sets import ArcNodes
from trajopt.terms import term as terms
from trajopt.terms.term import ExpressionTerm

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.trace import NodeSymbols

POSES, WIDTH = 3, 0.5  # at which rows are looked at, and how far from zero, rad or m


def leave_out_friction(problem: Any, arcs: Sequence[int]) -> None:
    """State that there is none where points may slide in these arcs, in place of what was stated before."""
    every = list(problem.contacts.values())
    gone = {
        name
        for each in every
        for arc in each.arcs
        if arc in arcs
        for way in (0, 1)
        for name in statements_of(each, arc, way)
    }
    problem.constraints = [constraint for constraint in problem.constraints if constraint.name not in gone]
    for arc in arcs:
        stands = [each for each in every if arc in each.arcs]
        for each, ways in sliding_ways(problem, stands, arc).items():
            for way in ways:
                _without_friction(problem, each, arc, way)


def _without_friction(problem: Any, contact: Contact, arc: int, way: int) -> None:
    """Let pushes to both sides of a tangent, 0 or 1, be equal, and the impulses where the arc begins."""
    of_force, of_impulse = statements_of(contact, arc, way)
    pushes = terms.extra(contact.curve_of(arc)).quantity
    both = terms.term(name=of_force, unit="BW")(partial(sides_of, pushes, way))
    problem.subject_to(both, equals=0.0, over=ArcNodes(arc, "whole"), name=of_force)
    if (own := contact.impulse_name(arc)) in problem.parameters:
        both = terms.term(name=of_impulse, unit="BW s")(partial(sides_of, terms.parameter(own).quantity, way))
        problem.subject_to(both, equals=0.0, over="end", name=of_impulse)


def statements_of(contact: Contact, arc: int, way: int) -> tuple[str, str]:
    """Names of the constraints of no friction along a tangent, of forces and of impulses."""
    name = f"no friction on {contact.frame} along {'xy'[way]}, arc {arc}"
    return name, f"{name}, impulse"


def sides_of(quantity: str, way: int, node: NodeSymbols) -> Expression:
    """Difference of the pushes to both sides of a tangent."""
    shares = column_of(node, quantity)
    return shares[2 * way] - shares[2 * way + 1]


def sliding_ways(problem: Any, contacts: Sequence[Contact], arc: int) -> dict[Contact, tuple[int, ...]]:
    """Point feet that stand in an arc -> tangents, 0 and 1, along which each may slide.

    A heel holds a ball of the same foot along their line, and a toe holds it by their hinge: rows that depend
    on those of all contacts at every pose do not slide.
    """
    loose = [contact for contact in contacts if contact.is_point and len(contact.held[arc]) < len(WORLD)]
    if not loose:
        return {}
    rows = [_velocity(contact, arc) for contact in contacts]
    every = [_slips(each, arc) for each in loose]
    poses, found = PoseSearch(problem.independent_copy(), [*rows, *every]), {}
    random = np.random.default_rng(SEED)
    looked_at = [random.uniform(-WIDTH, WIDTH, poses.n) for _ in range(POSES)]
    for each, slips in zip(loose, every, strict=True):
        free = np.zeros(2, dtype=bool)
        for q in looked_at:
            held, own = (
                poses.slope(q, np.zeros(poses.n), [term.quantity for term in some], "v")
                for some in (rows, [slips])
            )
            left = own - own @ np.linalg.pinv(held, rcond=REPEATED) @ held
            size = max(np.abs(own).max(initial=0.0), np.abs(held).max(initial=0.0))
            free |= np.abs(left).max(axis=1) > REPEATED * size
        if free.any():
            found[each] = tuple(np.flatnonzero(free).tolist())
    return found


def _velocity(contact: Contact, arc: int) -> ExpressionTerm:
    return ExpressionTerm(partial(contact.velocity, arc=arc), f"{contact.frame} held, arc {arc}")


def _slips(contact: Contact, arc: int) -> ExpressionTerm:
    return ExpressionTerm(partial(contact.slip_speed, arc=arc), f"{contact.frame} slips, arc {arc}")
