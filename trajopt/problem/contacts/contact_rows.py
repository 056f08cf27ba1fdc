"""Curves, loads and rows of contacts in a problem: feet that stand, swing and land; periodic gaits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.arrays import Array, Number
from trajopt.base.errors import OptionError, ShapeError
from trajopt.problem.constraints.slacks import integral
from trajopt.problem.contacts.contact import DIRECTIONS, Contact, contact_of, link_of
from trajopt.problem.contacts.contact_checks import leave_out_friction, stated_rows, touching
from trajopt.problem.contacts.ground import DistanceTerm
from trajopt.problem.contacts.loop_poses import NEARLY
from trajopt.problem.contacts.schedule import ImpactTerm, after_name
from trajopt.problem.contacts.standing import lowered, rise, upwards
from trajopt.problem.held_frames import (
    add_force_curve,
    hold_at_zero,
    hold_between_nodes,
    push_link,
    refuse_other_meshes,
    still_from_the_start,
)
from trajopt.problem.systems.controls import add_control
from trajopt.splines.node_sets import ArcNodes, Instants, Neighbours
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.problem.problem import Problem

PUSH = 0.1  # weights, or weights times seconds: size of pushes and impulses, with which negative ones compare
GAIT = "gait"  # name of the periodicity of q
TURNS = ("_rz", "_yaw")  # joints of a floating base that turn it about the vertical


def add_contact(
    problem: Problem, frame: str, arcs: Sequence[int], friction: float, clearance: float, *others: Any
) -> Contact:
    """See `Problem.contact`; others : sole, ground, held, continuous, impact, obstacles."""
    refuse_other_meshes(problem, "a contact")
    if any(each.name == GAIT for each in problem.periodicities):
        raise OptionError(f"'{frame}' is added after the periodic gait: add all contacts before it")
    if frame in problem.contacts:
        raise OptionError(f"'{frame}' has a contact already: give all of its arcs at once")
    count = len(problem.trajectory.arcs)
    contact = contact_of(problem.dynamics, count, frame, arcs, friction, *others)
    arguments.check_positive(f"the clearance of '{frame}' in m", clearance, or_zero=True)
    contact = replace(contact, stated=stated_rows(problem, contact))
    on_links = {one.frame: link_of(problem.dynamics, one.frame) for one in contact.grounds if one.frame}
    problem.contacts[frame] = contact
    if contact.arcs:
        # Its pushes are unknown curves, zero where it does not stand
        share = 0.5 / (DIRECTIONS * len(contact.points))
        for curve, (ground, own) in zip(contact.curves, contact.grounds.items(), strict=True):
            sole = [f"{point} {way}" for point in range(1, 1 + len(contact.points)) for way in ground.edges]
            components = ground.edges if contact.is_point else sole
            push = {"lower": 0.0, "guess": share, "unit": "BW", "size": PUSH}
            add_force_curve(problem, curve, components, own, continuous=contact.continuous, **push)
        problem.load(contact.link, contact.load)
        for surface, link in on_links.items():
            if link is not None:
                reaction = partial(contact.reaction, frame=surface)
                push_link(problem, link, reaction, f"force of {frame} at {surface}")
    for arc in range(count):
        if arc in contact.arcs:
            _stand(problem, contact, arc)
        else:
            _swing(problem, contact, arc, float(clearance))
    _meet_ground(problem)
    leave_out_friction(problem, contact.arcs)
    return contact


def free_base(problem: Problem) -> None:
    """See `Problem.passive_base`."""
    floating = getattr(problem.dynamics, "floating_joints", ())
    if not floating:
        raise OptionError(
            'the base of the robot is held to the ground: load it with floating_base="free", '
            "dynamics.load_urdf(path, floating_base='free')"
        )
    problem.passive(*floating)


def standing_pose_of(problem: Problem, q: ArrayLike, arc: int) -> Array:
    """See `Problem.standing_pose`."""
    pose = arguments.finite_numbers(q, "the pose")
    if pose.shape != (problem.dynamics.n,):
        raise ShapeError(f"the pose has shape {pose.shape}: give ({problem.dynamics.n},), one per joint")
    stands = [each for each in problem.contacts.values() if arc in each.arcs]
    up = upwards(problem.dynamics)
    if all(rise(each.ground[arc], up) for each in stands):
        pose, touches = lowered(problem.dynamics, stands, pose, arc, NEARLY)
        if touches:
            return pose
    return touching(problem, stands, pose, arc)


def make_gait_periodic(
    problem: Problem, forward: float, sideways: float, mirror: tuple[ArrayLike, ArrayLike] | None
) -> None:
    """See `Problem.subject_to_periodic_gait`."""
    floating = getattr(problem.dynamics, "floating_joints", ())
    if not floating:
        raise OptionError('a periodic gait needs a robot with a free base: floating_base="free"')
    further = [arguments.number(forward, "forward"), arguments.number(sideways, "sideways")]
    n, names = problem.dynamics.n, list(problem.dynamics.joint_names)
    signs, order = (np.ones(n), np.arange(n)) if mirror is None else mirror
    offset = np.zeros(n)
    places = [names.index(joint) for joint in floating[:2]]
    offset[places] = further
    last = len(problem.trajectory.arcs) - 1
    for each in problem.contacts.values():
        if each.impact and 0 in each.arcs and last not in _partner_of(problem, each, signs, order).arcs:
            raise OptionError(
                f"'{each.frame}' has impact=True and touches down where one period ends and the next "
                "begins: velocities do not jump there. Begin the period in the middle of a stance, with "
                "its arc cut in two, or in flight; or leave impact out, and the foot lands softly"
            )
    problem.subject_to_periodic(terms.q, signs, order=order, offset=offset, name=GAIT)
    problem.subject_to_periodic(terms.v, signs, order=order, name=f"{GAIT}, velocities")
    for place, joint in zip(places, floating, strict=False):
        problem.subject_to(terms.q[place], equals=0.0, over="start", name=f"{joint} at the start")
    if mirror is None:
        problem.subject_to_repeated_contacts({frame: frame for frame in problem.contacts})
        turns = (names.index(joint) for joint in floating[3:] if joint.endswith(TURNS))
        for turn in turns:
            problem.subject_to(integral(terms.q[turn]), equals=0.0, name="mean heading")


def _partner_of(problem: Problem, contact: Contact, signs: ArrayLike, order: ArrayLike) -> Contact:
    """The contact that is as high as this one when the robot is mirrored, in a pose without symmetry."""
    q = 0.3 * np.sin(1.0 + np.arange(problem.dynamics.n))
    poses = np.array([q, np.asarray(signs) * q[np.asarray(order)]])
    frames = {frame: f"position:{frame}" for frame in problem.contacts}
    places = problem.dynamics.block(tuple(frames.values())).value({"q": poses})
    up = next(iter(contact.ground.values())).order[2]
    here = places[frames[contact.frame]][0, up]
    return min(problem.contacts.values(), key=lambda one: abs(places[frames[one.frame]][1, up] - here))


def repeat_contacts(problem: Problem, feet: Mapping[str, str], reflection: ArrayLike) -> None:
    """See `Problem.subject_to_repeated_contacts`."""
    example = 'which takes whose place, {"left": "right", "right": "left"}'
    arguments.check_instance("feet", feet, Mapping, example)
    signs = arguments.numbers(reflection, "reflection")
    if signs.shape != (3,) or np.any(np.abs(signs) != 1.0):
        raise OptionError(f"reflection is {arguments.short_repr(reflection)}: give three signs, each 1 or -1")
    last, gone = len(problem.trajectory.arcs) - 1, set()
    for frame, partner in feet.items():
        own, other = (_contact_of(problem, each) for each in (frame, partner))
        begins, ends = 0 in own.arcs, last in other.arcs
        if begins and ends:
            gone.add(lands(frame, 0))
            later = [arc for each in (own, other) for arc in each.arcs if arc and each.touches_down(arc)]
            gone |= {touches(frame, 0)} if later else set()  # it is placed where it touches down
            _repeat_force(problem, own, other, signs)
        elif begins or ends:
            _unload(problem, own if begins else other, "start" if begins else "end")
    problem.constraints = [each for each in problem.constraints if each.name not in gone]


def _contact_of(problem: Problem, frame: str) -> Contact:
    arguments.check_known("frame of a contact", frame, problem.contacts)
    return problem.contacts[frame]


def _repeat_force(problem: Problem, own: Contact, other: Contact, signs: Array) -> None:
    """The force on `own` at the start is that on `other` at the end.

    As a condition on their sum, and on their difference where each stands at both ends.
    """
    if not own.continuous:
        return
    last = len(problem.trajectory.arcs) - 1
    both_ways = own is not other and 0 in other.arcs and last in own.arcs
    sign = -1.0 if both_ways and own.frame > other.frame else 1.0
    label = f"force on {own.frame} {'+' if sign > 0 else '-'} {other.frame}"
    force = terms.term(name=label, unit="N")(partial(sum_of_forces, own, other, sign))
    problem.subject_to_periodic(force, sign * signs, name=f"{label} repeats")


def _unload(problem: Problem, contact: Contact, end: Literal["start", "end"]) -> None:
    """No force on a continuous contact at one end of the motion."""
    for curve in contact.curves if contact.continuous else ():
        name = f"{curve} is zero at the {end}"
        problem.subject_to(terms.extra(curve), equals=0.0, over=end, name=name)


def _meet_ground(problem: Problem) -> None:
    """State the impacts of all contacts so far: velocities jump where feet land."""
    for arc in range(1, len(problem.trajectory.arcs)):
        feet = [each for each in problem.contacts.values() if arc in each.arcs]
        if any(each.impact and each.touches_down(arc) for each in feet):
            for each in feet:
                if not each.impact:
                    raise OptionError(
                        f"'{each.frame}' stands where another foot lands with an impact, arc {arc}: give "
                        "impact=True for it, too, as it takes a part of the impulse"
                    )
            _state_impact(problem, arc, feet)


def _state_impact(problem: Problem, arc: int, feet: Sequence[Contact]) -> None:
    """Impulses of feet, and the jump of velocities that they make where an arc begins."""
    name, links = f"impact, arc {arc}", {each.link for each in feet}
    if after_name(arc) not in problem.extras:
        _let_velocities_jump(problem, arc)
    for each in feet:
        if each.impulse_name(arc) not in problem.parameters:
            zero, own = np.zeros(DIRECTIONS * len(each.points)), each.impulse_name(arc)
            # Impulses of which nothing is known begin at 0.01 weights times seconds an edge
            problem.parameter(own, zero, guess=zero + 0.01, unit="BW s")
            problem.parameters[own] = replace(problem.parameters[own], size=PUSH)
            after = _still(each, arc, f"velocity of {each.frame} after impact, arc {arc}")
            if not each.touches_down(arc) and after is not None:
                still_from_the_start(problem, after, arc, f"{each.frame} stays, arc {arc}")
    problem.constraints = [each for each in problem.constraints if each.name != name]
    by_link = {link: tuple(each for each in feet if each.link == link) for link in sorted(links)}
    momentum = ImpactTerm(problem.dynamics, arc, by_link)
    problem.subject_to(momentum, equals=0.0, over=Neighbours(arc - 1), name=name)


def _let_velocities_jump(problem: Problem, arc: int) -> None:
    """Velocities that jump where an arc begins, and the curve that is 0 before it and 1 from there on."""
    for joint in problem.dynamics.joint_names:
        problem.continuity(joint, 0, after=arc - 1)
    after = add_control(problem, None, after_name(arc), (0.0, 1.0), None, (0, False))
    for other in range(len(problem.trajectory.arcs)):
        value = float(other >= arc)
        name = f"{after_name(arc)} in arc {other}"
        problem.subject_to(after, equals=value, over=ArcNodes(other, "whole"), name=name)


def _stand(problem: Problem, contact: Contact, arc: int) -> None:
    frame = contact.frame
    height, whole = _height(contact, arc), ArcNodes(arc, "whole")
    hold_between_nodes(problem, height, NEARLY, whole, stays(frame, arc))
    still = _still(contact, arc, f"velocity of {frame}, arc {arc}")
    if still is not None:
        hold_at_zero(problem, still, arc, stands(frame, arc))
    if not contact.touches_down(arc):
        return
    placed = contact.placed(arc)
    if len(placed):
        label = f"height of {frame} above the ground of arc {arc}"
        height = terms.term(name=label, unit="m")(partial(contact.height, arc=arc, points=placed))
        problem.subject_to(height, equals=0.0, over=ArcNodes(arc, "start"), name=touches(frame, arc))
    if still is not None:
        still_from_the_start(problem, still, arc, lands(frame, arc))
    if contact.is_held_upwards(arc):
        _stay_on_ground(problem, contact, arc)


def _still(contact: Contact, arc: int, label: str) -> terms.ExpressionTerm | None:
    """The rows of its velocity that are zero in an arc; None where there are none."""
    units = contact.velocity_units(arc)
    read = partial(contact.stated_velocity, arc=arc)
    return terms.term(name=label, unit=units)(read) if units else None


def _stay_on_ground(problem: Problem, contact: Contact, arc: int) -> None:
    """Let all points of a sole touch down where the ground of the arc is."""
    first, last = (np.tile(side, len(contact.points)) for side in contact.ground[arc].region.T)
    if np.isfinite([first, last]).any():
        label = f"place of {contact.frame}, arc {arc}"
        place = terms.term(name=label, unit="m")(partial(contact.footprint, arc=arc))
        name = f"{contact.frame} lands on the ground, arc {arc}"
        problem.subject_to(place, first, last, over=ArcNodes(arc, "start"), name=name)


def _height(contact: Contact, arc: int) -> terms.ExpressionTerm:
    """Heights of all points of a foot above the ground of an arc, m."""
    label = f"height of {contact.frame} in arc {arc}"
    return terms.term(name=label, unit="m")(partial(contact.height, arc=arc, points=contact.points))


def _swing(problem: Problem, contact: Contact, arc: int, clearance: float) -> None:
    frame, height = contact.frame, _height(contact, arc)
    problem.subject_to(height, lower=0.0, over=ArcNodes(arc, "whole"), name=above(frame, arc))
    for number, box in enumerate(contact.obstacles):
        label = f"distance of {frame} to box {number}"
        outside = DistanceTerm(partial(contact.distances, obstacle=box), label, unit="m")
        name = f"{frame} outside of box {number}, arc {arc}"
        problem.subject_to(outside, lower=0.0, over=ArcNodes(arc, "whole"), name=name)
    if clearance:
        middle = Instants([(arc + 0.5) / len(problem.trajectory.arcs)], clock="progress")
        problem.subject_to(height, lower=clearance, over=middle, name=f"{frame} clears, arc {arc}")


def touches(frame: str, arc: int) -> str:
    """Name of the constraint of its height where it touches down."""
    return f"{frame} touches down, arc {arc}"


def stays(frame: str, arc: int) -> str:
    """Name of the constraint that its height does not change while it stands."""
    return f"{frame} stays on the ground, arc {arc}"


def stands(frame: str, arc: int) -> str:
    """Name of the constraint that its velocity is zero at the collocation points."""
    return f"{frame} stands, arc {arc}"


def above(frame: str, arc: int) -> str:
    """Name of the constraint of its height while it swings."""
    return f"{frame} above ground, arc {arc}"


def lands(frame: str, arc: int) -> str:
    """Name of the constraint of its velocity there."""
    return f"{frame} lands without impact, arc {arc}"


def sum_of_forces(one: Contact, other: Contact, sign: float, node: Any) -> list[Number]:
    """(3,) N, f_one + sign f_other."""
    return [a + sign * b for a, b in zip(one.wrench(node)[3:], other.wrench(node)[3:], strict=True)]
