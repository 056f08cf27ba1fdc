"""Checks of contacts before a solve: feet that do not reach, points that slide, rows that repeat others.

Feet that stand where they cannot all reach the ground are refused.

Along tangents that no contact of the robot holds a standing point may slide. There it has no friction, which
would be any force inside the cone, also one that pushes the point on as it slides.

Rows of a contact that repeat those of others which stand with it are found by rank at poses on the ground.
Four points of one sole given as contacts of their own have 12 rows of rank 6, four edges under legs of three
joints 20 rows of rank 15. Rows that repeat others at every pose looked at are not stated, since no forces
are determined by them; what they would hold is held by the others, and `verify` looks at all points. Of a
contact that is held along all axes they are rows in axes of its link, as a heel holds its ball along their
line, wherever the foot heads.

Rows may depend on each other at one pose alone, those of two soles on legs of five joints as far apart as
their hips for instance. Such a row stays: the robot would leave the pose without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arguments import list_names
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.graph.quantities import is_parameter
from trajopt.graph.trace import column_of
from trajopt.problem.contacts.contact import WORLD, Contact, StatedRows
from trajopt.problem.contacts.loop_poses import (
    CLOSED,
    NEARLY,
    NEWTON,
    REPEATED,
    fixed_at,
    independent,
    pose_at,
)
from trajopt.problem.contacts.pose_search import SEED, PoseSearch
from trajopt.problem.costs_and_constraints import limits_over_path
from trajopt.splines.node_sets import END, START, ArcNodes
from trajopt.terms import term as terms
from trajopt.terms.term import ExpressionTerm

if TYPE_CHECKING:
    from trajopt.graph.expression import Expression
    from trajopt.graph.trace import NodeSymbols
    from trajopt.problem.problem import Problem


def refuse_out_of_reach(problem: Problem) -> None:
    """Raise InfeasibleBoundsError where no pose is found with all feet that stand in an arc on the ground.

    Looked at are the start and the end where some values of joints are fixed there, and arcs in which feet
    stand on different grounds. Joints are within the limits that are stated of them. Robots with unknown
    lengths are left to the solver.
    """
    last = len(problem.trajectory.arcs) - 1
    for place, arc in ((START, 0), *((None, arc) for arc in range(1, last)), (END, last)):
        stands = [
            each for each in problem.contacts.values() if arc in each.arcs and each.is_held_upwards(arc)
        ]
        fixed = np.zeros(problem.dynamics.n, bool) if place is None else fixed_at(problem, "q", place)[0]
        uneven = len({each.ground[arc] for each in stands}) > 1
        if not stands or fixed.all() or not (fixed.any() or uneven):  # of a whole pose, rows say how far off
            continue
        feet = FeetOnGround(problem, stands, arc)
        if any(map(is_parameter, feet.leaves)):
            continue
        pose = feet.best(pose_at(problem, place or START), fixed)
        if not feet.is_met(pose):
            where = f"in arc {arc}" if place is None else f"at the {place.written} of the motion"
            raise InfeasibleBoundsError(feet.refusal(pose, where, fixed))


def touching(problem: Problem, contacts: Sequence[Contact], q: Array, arc: int) -> Array:
    """A pose near one at which all these contacts touch what they stand on in an arc, walls say.

    Joints stay within limits that are stated of them, and those of the robot where none are, or on the side
    of these on which q is.
    Raises InfeasibleBoundsError, with the distances that are left, where none is found.
    """
    feet = FeetOnGround(problem, contacts, arc)
    own: Any = getattr(problem.dynamics, "limits", feet.limits)
    lower = np.where(np.isfinite(feet.limits.q_lower), feet.limits.q_lower, np.minimum(own.q_lower, q))
    upper = np.where(np.isfinite(feet.limits.q_upper), feet.limits.q_upper, np.maximum(own.q_upper, q))
    feet.limits = SimpleNamespace(q_lower=lower, q_upper=upper)
    found, near = feet.exact(q, lower, upper), q
    if found is None:
        near = feet.best(q)
        found = feet.exact(near, lower, upper)
    if found is None:
        nobody = np.zeros(q.size, dtype=bool)
        raise InfeasibleBoundsError(feet.refusal(near, f"in arc {arc}", nobody))
    return found


class FeetOnGround(PoseSearch):
    """The heights of feet above the ground of an arc as functions of the joints' positions.

    others : terms whose slopes are asked for at poses, beside the heights of those held upwards
    """

    def __init__(
        self, problem: Problem, contacts: Sequence[Contact], arc: int, others: Sequence[Any] = ()
    ) -> None:
        contacts = [each for each in contacts if each.is_held_upwards(arc)]
        heights = [_height(each, arc) for each in contacts]
        super().__init__(problem.independent_copy(), [*heights, *others])
        self.contacts, self.conditions = contacts, [term.quantity for term in heights]
        self.limits = stated_limits(problem)
        self.tolerances = np.full(sum(len(each.points) for each in contacts), NEARLY)

    def exact(self, q: Array, lower: Array | float = -np.inf, upper: Array | float = np.inf) -> Array | None:
        """The pose to which Newton steps lead from one near it; None where they lead to none.

        lower, upper : (n,) where a step would take joints across them, they stop, and others make up for them
        """
        for _ in range(2 * NEWTON):
            miss = self.misfit(q)
            if np.abs(miss).max(initial=0.0) < CLOSED:
                return q
            D, step, free = self.misfit_slope(q), np.zeros(q.size), np.ones(q.size, dtype=bool)
            across = free
            while across.any() and free.any():
                rest = miss - D[:, ~free] @ step[~free]
                step[free] = np.linalg.pinv(D[:, free], rcond=REPEATED) @ rest
                inside = np.clip(q - step, lower, upper)
                across = free & (inside != q - step)
                step[across], free = (q - inside)[across], free & ~across
            if not np.abs(step).max() < 1.0:
                return None
            q = np.clip(q - step, lower, upper)
        return None

    def refusal(self, q: Array, where: str, fixed: Array) -> str:
        """The text of the error, with the feet that are off the ground at the nearest pose."""
        ends = np.cumsum([len(each.points) for each in self.contacts])[:-1]
        each = zip(self.contacts, np.split(self.misfit(q), ends), strict=True)
        off = {one.frame: own[np.argmax(np.abs(own))] for one, own in each}
        least = min(NEARLY, 0.5 * max(map(abs, off.values())))
        feet = ", ".join(f"'{name}' {gap:.3g} m" for name, gap in off.items() if abs(gap) > least)
        given = " that has the values fixed there" if fixed.any() else ""
        return (
            f"feet that stand {where} are not on the ground at any pose found{given}: at the nearest, {feet} "
            "above it. Fix other values, of the base say, give another ground, or let these feet swing there"
        )


def _height(contact: Contact, arc: int) -> ExpressionTerm:
    height = partial(contact.height, arc=arc, points=contact.points)
    return ExpressionTerm(height, f"{contact.frame} above the ground at an end", unit="m")


def stated_limits(problem: Problem) -> SimpleNamespace:
    """`q_lower` and `q_upper` (n,) of the joints, those that constraints of the whole motion state."""
    lower, upper = limits_over_path(problem.path_limits(), "q", problem.dynamics.n)
    return SimpleNamespace(q_lower=lower, q_upper=upper)


WIDTH = 0.5  # rad or m: how far from zero the poses are at which rows of sliding contacts are looked at


def leave_out_friction(problem: Problem, arcs: Sequence[int]) -> None:
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


def _without_friction(problem: Problem, contact: Contact, arc: int, way: int) -> None:
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


def sliding_ways(problem: Problem, contacts: Sequence[Contact], arc: int) -> dict[Contact, tuple[int, ...]]:
    """Point feet that stand in an arc -> tangents, 0 and 1, along which each may slide.

    A heel holds a ball of the same foot along their line, and a toe holds it by their hinge: rows that depend
    on those of all contacts at every pose do not slide.
    """
    loose = [contact for contact in contacts if contact.is_point and len(contact.held[arc]) < len(WORLD)]
    if not loose:
        return {}
    rows = [_row(contact, contact.velocity, arc) for contact in contacts]
    every = [_slips(each, arc) for each in loose]
    poses, found = PoseSearch(problem.independent_copy(), [*rows, *every]), {}
    random = np.random.default_rng(SEED)
    # Rows are looked at in three poses
    looked_at = [random.uniform(-WIDTH, WIDTH, poses.n) for _ in range(3)]
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


def _slips(contact: Contact, arc: int) -> ExpressionTerm:
    return ExpressionTerm(partial(contact.slip_speed, arc=arc), f"{contact.frame} slips, arc {arc}")


NEAR = 0.2  # rad or m: how far around the first pose on the ground others are looked for


def stated_rows(problem: Problem, contact: Contact) -> dict[int, StatedRows]:
    """`Contact.stated` of a contact that is added to those of a problem."""
    found: dict[int, StatedRows] = {}
    known: dict[object, StatedRows | None] = {}
    for arc in contact.arcs:
        others = [each for each in problem.contacts.values() if arc in each.arcs]
        every = [*others, contact]
        alike = tuple((each.frame, each.ground[arc], each.held[arc], each.stated.get(arc)) for each in every)
        if alike not in known:
            known[alike] = _independent_rows(problem, others, contact, arc)
        rows = known[alike]
        if rows is not None:
            found[arc] = rows
    return found


def _independent_rows(
    problem: Problem, others: Sequence[Contact], contact: Contact, arc: int
) -> StatedRows | None:
    """None where all are, and where too few poses on the ground are found."""
    upwards = any(each.is_held_upwards(arc) for each in (*others, contact))
    if not upwards or _moves_alone(problem.dynamics, others, contact, arc):
        return None
    rows = [_row(each, each.stated_velocity, arc) for each in others if each.velocity_units(arc)]
    own = _row(contact, contact.own_velocity, arc)
    poses = PosesOnGround(problem, [*others, contact], arc, [*rows, own])
    near, still = poses.near(pose_at(problem, START)), np.zeros(poses.n)
    if len(near) < 2:  # poses on the ground without which nothing is left out
        return None
    every = np.array([poses.slope(q, still, [each.quantity for each in (*rows, own)], "v") for q in near])
    count = len(contact.rows_of(arc))
    mine = every[:, -count:]
    velocity = tuple(sorted(independent(mine, every[:, :-count])))
    heights = range(len(contact.corners))
    if len(velocity) == count:
        return None
    if contact.is_held_upwards(arc):
        slopes = np.array([poses.misfit_slope(q) for q in near])
        first = slopes.shape[1] - len(contact.points)
        mine = slopes[:, first:][:, contact.corners]
        heights = sorted(independent(mine, slopes[:, :first]))
    return StatedRows(velocity, tuple(heights))


def _row(contact: Contact, read: Any, arc: int) -> ExpressionTerm:
    return ExpressionTerm(partial(read, arc=arc), f"{contact.frame} held, arc {arc}")


def _moves_alone(dynamics: Any, others: Sequence[Contact], contact: Contact, arc: int) -> bool:
    """True where joints on which no other contact depends move what is held along all rows, at some pose."""
    own, *rest = (_depends(dynamics, each, arc) for each in (contact, *others))
    alone = own & ~np.any([np.zeros_like(own), *rest], axis=0)
    if np.count_nonzero(alone) < len(contact.velocity_units(arc)):
        return False
    q = np.random.default_rng(SEED).uniform(-NEAR, NEAR, (1, dynamics.n))
    block = dynamics.block(_frames(contact.frame))
    u = {"q": q, **{name: np.zeros((1, width)) for name, width in block.inputs.items() if name != "q"}}
    values, slopes = block.value(u), block.partials(u)
    place, turn = _frames(contact.frame)
    R, by_q = values[turn].reshape(3, 3), slopes[turn, "q"][0].reshape(3, 3, -1)
    moved = slopes[place, "q"][0] + np.einsum("ijn,j->in", by_q, contact.points[0])
    spin = np.einsum("ijn,kj->ikn", by_q, R)
    turned = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    wanted = moved if contact.is_point else np.concatenate([turned, moved])
    sizes = np.linalg.svd(wanted[:, alone], compute_uv=False)
    return bool(sizes[len(wanted) - 1] > REPEATED * sizes[0]) if sizes.size >= len(wanted) else False


def _frames(frame: str) -> tuple[str, str]:
    return f"position:{frame}", f"orientation:{frame}"


def soles_on_short_legs(problem: Problem) -> str:
    """The remedy for soles that stand together, one of them on a leg of fewer than six joints; else empty.

    Such a leg cannot keep its sole flat wherever the base goes, so that two soles hold the base as well, and
    their rows may depend on each other. An edge may roll about its line.
    """
    dynamics: Any = problem.dynamics
    base = np.isin(dynamics.joint_names, getattr(dynamics, "floating_joints", ()))
    every, found = list(problem.contacts.values()), dict[str, int]()
    for arc in range(len(problem.trajectory.arcs)):
        soles = [each for each in every if arc in each.arcs and len(each.corners) == len(WORLD)]
        legs = {each.frame: int((_depends(dynamics, each, arc) & ~base).sum()) for each in soles}
        if len(soles) > 1 and base.any():
            found |= {frame: joints for frame, joints in legs.items() if joints < 2 * len(WORLD)}
    named = list_names(f"'{frame}' on {joints} joints" for frame, joints in found.items())
    advice = (
        "soles that stand together on legs of fewer than six joints hold the base, too, and their rows may"
    )
    edge = "give the two ends of each sole's middle line as its sole=, an edge that may roll"
    return f"{advice} depend on each other: {named}: {edge}" if found else ""


def _depends(dynamics: Any, contact: Contact, arc: int) -> Array:
    """(n,) the coordinates that move a contact or what it stands on."""
    surface = contact.ground[arc].frame
    names = [name for frame in (contact.frame, surface) if frame for name in _frames(frame)]
    pattern = dynamics.block(tuple(names)).pattern()
    depends = [np.any(part, axis=0) for (_, by), part in pattern.items() if by == "q"]
    return np.any([np.zeros(dynamics.n, bool), *depends], axis=0)


class PosesOnGround(FeetOnGround):
    """Poses at which feet are on the ground to rounding, and rows of contacts there."""

    def near(self, start: Array) -> list[Array]:
        """Up to four of them, around the one that is found from a start."""
        first = self.exact(start)
        if first is None:
            first = self.exact(self.best(start))
        if first is None:
            return []
        random = np.random.default_rng(SEED)
        # Four further poses on the ground
        others = [self.exact(first + random.uniform(-NEAR, NEAR, self.n)) for _ in range(4)]
        return [pose for pose in others if pose is not None]
