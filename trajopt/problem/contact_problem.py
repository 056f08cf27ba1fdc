"""`ContactProblem`: a problem with feet on the ground: contacts, an undriven base, periodic gaits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError
from trajopt.problem.constraints.rotation_wraps import wrap_rotation
from trajopt.problem.constraints.slacks import integral
from trajopt.problem.contacts.contact import DIRECTIONS, WORLD, Contact, Surface, contact_of, link_of
from trajopt.problem.contacts.contact_checks import leave_out_friction, stated_rows, touching
from trajopt.problem.contacts.ground import Box, DistanceTerm, Ground
from trajopt.problem.contacts.loop_poses import NEARLY
from trajopt.problem.contacts.schedule import ImpactTerm, after_name
from trajopt.problem.contacts.standing import rise, standing_pose, upwards
from trajopt.problem.held_frames import HeldFrames
from trajopt.splines.node_sets import ArcNodes, Instants, Neighbours
from trajopt.terms import term as terms

FLAT = Ground()
PUSH = 0.1  # weights, or weights times seconds: size of pushes and impulses, with which negative ones compare
IMPULSE = 0.01  # of an edge, in weights times seconds, where nothing is known of it
GAIT = "gait"  # name of the periodicity of q
TURNS = ("_rz", "_yaw")  # joints of a floating base that turn it about the vertical


@dataclass(eq=False, repr=False)
class ContactProblem(HeldFrames):
    """A problem with contacts, frame -> `Contact`."""

    contacts: dict[str, Contact] = field(default_factory=dict, init=False)

    def contact(
        self,
        frame: str,
        arcs: Sequence[int],
        friction: float = 0.7,
        clearance: float = 0.0,
        *,
        sole: ArrayLike | None = None,
        ground: Surface | Mapping[int, Surface] = FLAT,
        held: str | Mapping[int, str] = WORLD,
        continuous: bool = False,
        impact: bool = False,
        obstacles: Sequence[Box] = (),
    ) -> Contact:
        """Let a frame stand on the ground in some arcs of the motion, and move above it in the others.

        arcs : in which it stands, `Schedule.arcs(foot)`; empty for a foot that never does
        friction : coefficient mu of the cone |f_t| <= mu f_n; its inner pyramid with four edges is used
        clearance : m, height above the ground half way through every arc in the air
        sole : (k, 3) m, points that stand, in axes of the frame, the origin where left out: one is a point
            foot, which may turn; points on a line an edge, which may roll about it; others hold the
            orientation of the frame, too
        ground : one surface, or one for every arc: a `Ground`, or a `Plane`, a wall, say, or a face of a
            `Box`; on the frame of another link it moves with that one, which feels the opposite force
        held : axes along which a point foot does not move, for all arcs or for each in which it stands: of
            the world, on a slope or a plane its tangents "x", "y" and its normal "z". Fewer where other
            contacts on the same link hold it already, heel "xyz", ball "yz", or where it may slide: along
            an axis that nothing holds there is no friction. Without the upward axis nothing else states
            that the point is on the ground
        continuous : whether its force is, also where arcs meet, and so zero where it touches down and lifts
            off; `Contact.force_rate` is then a term
        impact : whether it may land with velocity: where feet touch down, the velocities of the robot jump by
            M (v+ - v-) = J' p, with impulses p inside the pyramid at all feet that stand then, each of which
            needs impact=True; `Contact.impulse(arc)` is a term. Else it lands without an impact
        obstacles : boxes of which its points stay outside where it does not stand: the steps, a chair

        Where it touches down its height is zero, its velocity there, after the impact if it may have one, and
        at the collocation points of the arc; the force of the ground is inside the pyramid for all t.
        A foot that stands at the start is placed there alike. At the end do not fix q of all coordinates:
        feet that stand determine some of them already. Rows of its velocity that repeat those of contacts
        added before are not stated: `Contact.left_out` names them.
        Returns the contact, whose `force` is a term. Raises UnknownNameError for a frame that does not exist,
        OptionError or ShapeError for what cannot be meant.
        """
        self._needs_collocation("a contact")
        if any(each.name == GAIT for each in self.periodicities):
            raise OptionError(f"'{frame}' is added after the periodic gait: add all contacts before it")
        if frame in self.contacts:
            raise OptionError(f"'{frame}' has a contact already: give all of its arcs at once")
        count = len(self.trajectory.arcs)
        others = (sole, ground, held, continuous, impact, obstacles)
        contact = contact_of(self.dynamics, count, frame, arcs, friction, *others)
        arguments.check_positive(f"the clearance of '{frame}' in m", clearance, or_zero=True)
        contact = replace(contact, stated=stated_rows(self, contact))
        on_links = {one.frame: link_of(self.dynamics, one.frame) for one in contact.grounds if one.frame}
        self.contacts[frame] = contact
        if contact.arcs:
            self._push(contact)
            self.load(contact.link, contact.load)
            for surface, link in on_links.items():
                if link is not None:
                    reaction = partial(contact.reaction, frame=surface)
                    self._push_link(link, reaction, f"force of {frame} at {surface}")
        for arc in range(count):
            if arc in contact.arcs:
                self._stand(contact, arc)
            else:
                self._swing(contact, arc, float(clearance))
        self._meet_ground()
        leave_out_friction(self, contact.arcs)
        return contact

    def passive_base(self) -> None:
        """Let no motor drive the free base: the ground and gravity alone move it.

        Raises OptionError for a robot whose base is held.
        """
        floating = getattr(self.dynamics, "floating_joints", ())
        if not floating:
            raise OptionError(
                'the base of the robot is held to the ground: load it with floating_base="free", '
                "dynamics.load_urdf(path, floating_base='free')"
            )
        self.passive(*floating)

    def standing_pose(self, q: ArrayLike, arc: int = 0) -> Array:
        """The pose q (n,), its base raised or lowered until the feet that stand in an arc touch the ground.

        For `start_at`, `end_at` and `guess`: of a pose that is stated at the end, feet are on the ground to
        rounding or not at all, at the start within a millimetre or measured. Call it after the contacts are
        added. Where a hand touches a wall, or what moves, raising the base is not enough: the pose is then
        one near it at which all contacts of the arc touch.
        Raises InfeasibleBoundsError where these feet are not equally high above their ground, with both that
        are furthest apart, or not all can touch; OptionError where none stands or the base is held, and
        ShapeError for q.
        """
        pose = arguments.finite_numbers(q, "the pose")
        if pose.shape != (self.dynamics.n,):
            raise ShapeError(f"the pose has shape {pose.shape}: give ({self.dynamics.n},), one per joint")
        stands = [each for each in self.contacts.values() if arc in each.arcs]
        up = upwards(self.dynamics)
        if all(rise(each.ground[arc], up) for each in stands):
            return standing_pose(self.dynamics, stands, pose, arc)
        return touching(self, stands, pose, arc)

    def wrap_rotation(self, link: str) -> tuple[int, ...]:
        """Let a link turn on where arcs meet: p goes on as p - 2 pi p / |p|, the same rotation; v fits.

        The link is one that a rotation vector p turns, a free base say, regular below 360 degrees from its
        centre. It is wrapped after arcs behind which the guess, which turns on without a jump, is then nearer
        the centre, and the guess is wrapped alike. Behind them q and what is stated of it are those of the
        wrapped p, and accelerations may jump where arcs meet. There |p| stays between 54 and 306 degrees, or
        as near to 180 as guessed, since p is singular at 360. Returns these arcs.
        Raises UnknownNameError, and OptionError without a guess or for one that turns too far in one arc.
        """
        return wrap_rotation(self, link)

    def subject_to_periodic_gait(
        self,
        forward: float,
        sideways: float = 0.0,
        *,
        mirror: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        """Posture and velocity at the end are those of the start, `forward` and `sideways` (m) further on.

        mirror : signs and order of `RigidBodyModel.mirrored`, for half a period of a symmetric gait, after
            which left and right have changed places
        The place of the start is free along the ground: it is held at x = y = 0. So is where the robot heads
        without a mirror: its mean turn about the vertical is held at zero, forward is along x.
        Velocities do not jump between one period and the next: OptionError for a contact with impact=True
        that touches down there, and for a robot whose base is held.
        """
        floating = getattr(self.dynamics, "floating_joints", ())
        if not floating:
            raise OptionError('a periodic gait needs a robot with a free base: floating_base="free"')
        further = [arguments.number(forward, "forward"), arguments.number(sideways, "sideways")]
        n, names = self.dynamics.n, list(self.dynamics.joint_names)
        signs, order = (np.ones(n), np.arange(n)) if mirror is None else mirror
        offset = np.zeros(n)
        places = [names.index(joint) for joint in floating[:2]]
        offset[places] = further
        self._refuse_impact_between_periods(signs, order)
        self.subject_to_periodic(terms.q, signs, order=order, offset=offset, name=GAIT)
        self.subject_to_periodic(terms.v, signs, order=order, name=f"{GAIT}, velocities")
        for place, joint in zip(places, floating, strict=False):
            self.subject_to(terms.q[place], equals=0.0, over="start", name=f"{joint} at the start")
        if mirror is None:
            self.subject_to_repeated_contacts({frame: frame for frame in self.contacts})
            turns = (names.index(joint) for joint in floating[3:] if joint.endswith(TURNS))
            for turn in turns:
                self.subject_to(integral(terms.q[turn]), equals=0.0, name="mean heading")

    def _refuse_impact_between_periods(self, signs: ArrayLike, order: ArrayLike) -> None:
        last = len(self.trajectory.arcs) - 1
        for each in self.contacts.values():
            if each.impact and 0 in each.arcs and last not in self._partner_of(each, signs, order).arcs:
                raise OptionError(
                    f"'{each.frame}' has impact=True and touches down where one period ends and the next "
                    "begins: velocities do not jump there. Begin the period in the middle of a stance, with "
                    "its arc cut in two, or in flight; or leave impact out, and the foot lands softly"
                )

    def _partner_of(self, contact: Contact, signs: ArrayLike, order: ArrayLike) -> Contact:
        """The contact that is as high as this one when the robot is mirrored, in a pose without symmetry."""
        q = 0.3 * np.sin(1.0 + np.arange(self.dynamics.n))
        poses = np.array([q, np.asarray(signs) * q[np.asarray(order)]])
        frames = {frame: f"position:{frame}" for frame in self.contacts}
        places = self.dynamics.block(tuple(frames.values())).value({"q": poses})
        up = next(iter(contact.ground.values())).order[2]
        here = places[frames[contact.frame]][0, up]
        return min(self.contacts.values(), key=lambda one: abs(places[frames[one.frame]][1, up] - here))

    def subject_to_repeated_contacts(
        self, feet: Mapping[str, str], reflection: ArrayLike = (1.0, 1.0, 1.0)
    ) -> None:
        """At its end a periodic motion has the contacts of its start, with feet that change places.

        feet : frame -> the one whose place it takes, both ways where they swap: {"left": "right", ...}
        reflection : signs of forces (3,), world axes, seen in the mirror
        A foot that stands at the start where its partner does at the end does not touch down there: that
        follows from periodicity. A continuous force at the start is the partner's at the end, reflected, and
        zero where the partner does not stand. Periodicity of q and v is stated beside.
        Raises UnknownNameError for a frame without a contact, OptionError for a reflection of other signs.
        """
        example = 'which takes whose place, {"left": "right", "right": "left"}'
        arguments.check_instance("feet", feet, Mapping, example)
        signs = arguments.numbers(reflection, "reflection")
        if signs.shape != (3,) or np.any(np.abs(signs) != 1.0):
            raise OptionError(
                f"reflection is {arguments.short_repr(reflection)}: give three signs, each 1 or -1"
            )
        last, gone = len(self.trajectory.arcs) - 1, set()
        for frame, partner in feet.items():
            own, other = (self._contact_of(each) for each in (frame, partner))
            begins, ends = 0 in own.arcs, last in other.arcs
            if begins and ends:
                gone.add(lands(frame, 0))
                later = [arc for each in (own, other) for arc in each.arcs if arc and each.touches_down(arc)]
                gone |= {touches(frame, 0)} if later else set()  # it is placed where it touches down
                self._repeat_force(own, other, signs)
            elif begins or ends:
                self._unload(own if begins else other, "start" if begins else "end")
        self.constraints = [each for each in self.constraints if each.name not in gone]

    def _contact_of(self, frame: str) -> Contact:
        arguments.check_known("frame of a contact", frame, self.contacts)
        return self.contacts[frame]

    def _repeat_force(self, own: Contact, other: Contact, signs: Array) -> None:
        """The force on `own` at the start is that on `other` at the end.

        As a condition on their sum, and on their difference where each stands at both ends.
        """
        if not own.continuous:
            return
        last = len(self.trajectory.arcs) - 1
        both_ways = own is not other and 0 in other.arcs and last in own.arcs
        sign = -1.0 if both_ways and own.frame > other.frame else 1.0
        label = f"force on {own.frame} {'+' if sign > 0 else '-'} {other.frame}"
        force = terms.term(name=label, unit="N")(partial(sum_of_forces, own, other, sign))
        self.subject_to_periodic(force, sign * signs, name=f"{label} repeats")

    def _unload(self, contact: Contact, end: Literal["start", "end"]) -> None:
        """No force on a continuous contact at one end of the motion."""
        for curve in contact.curves if contact.continuous else ():
            name = f"{curve} is zero at the {end}"
            self.subject_to(terms.extra(curve), equals=0.0, over=end, name=name)

    def _meet_ground(self) -> None:
        """State the impacts of all contacts so far: velocities jump where feet land."""
        for arc in range(1, len(self.trajectory.arcs)):
            feet = [each for each in self.contacts.values() if arc in each.arcs]
            if any(each.impact and each.touches_down(arc) for each in feet):
                for each in feet:
                    if not each.impact:
                        raise OptionError(
                            f"'{each.frame}' stands where another foot lands with an impact, arc {arc}: give "
                            "impact=True for it, too, as it takes a part of the impulse"
                        )
                self._state_impact(arc, feet)

    def _state_impact(self, arc: int, feet: Sequence[Contact]) -> None:
        """Impulses of feet, and the jump of velocities that they make where an arc begins."""
        name, links = f"impact, arc {arc}", {each.link for each in feet}
        if after_name(arc) not in self.extras:
            self._let_velocities_jump(arc)
        for each in feet:
            if each.impulse_name(arc) not in self.parameters:
                zero, own = np.zeros(DIRECTIONS * len(each.points)), each.impulse_name(arc)
                self.parameter(own, zero, guess=zero + IMPULSE, unit="BW s")
                self.parameters[own] = replace(self.parameters[own], size=PUSH)
                after = self._still(each, arc, f"velocity of {each.frame} after impact, arc {arc}")
                if not each.touches_down(arc) and after is not None:
                    self._still_from_the_start(after, arc, f"{each.frame} stays, arc {arc}")
        self.constraints = [each for each in self.constraints if each.name != name]
        by_link = {link: tuple(each for each in feet if each.link == link) for link in sorted(links)}
        momentum = ImpactTerm(self.dynamics, arc, by_link)
        self.subject_to(momentum, equals=0.0, over=Neighbours(arc - 1), name=name)

    def _let_velocities_jump(self, arc: int) -> None:
        """Velocities that jump where an arc begins, and the curve that is 0 before it and 1 from there on."""
        for joint in self.dynamics.joint_names:
            self.continuity(joint, 0, after=arc - 1)
        after = self._control(None, after_name(arc), (0.0, 1.0), None, (0, False))
        for other in range(len(self.trajectory.arcs)):
            value = float(other >= arc)
            name = f"{after_name(arc)} in arc {other}"
            self.subject_to(after, equals=value, over=ArcNodes(other, "whole"), name=name)

    def _push(self, contact: Contact) -> None:
        """The unknown curves of a contact, zero where it does not stand."""
        share = 0.5 / (DIRECTIONS * len(contact.points))
        for curve, (ground, own) in zip(contact.curves, contact.grounds.items(), strict=True):
            sole = [f"{point} {way}" for point in range(1, 1 + len(contact.points)) for way in ground.edges]
            components = ground.edges if contact.is_point else sole
            push = {"lower": 0.0, "guess": share, "unit": "BW", "size": PUSH}
            self._force_curve(curve, components, own, continuous=contact.continuous, **push)

    def _stand(self, contact: Contact, arc: int) -> None:
        frame = contact.frame
        height, whole = self._height(contact, arc), ArcNodes(arc, "whole")
        self._hold_between_nodes(height, NEARLY, whole, stays(frame, arc))
        still = self._still(contact, arc, f"velocity of {frame}, arc {arc}")
        if still is not None:
            self._hold_still(still, arc, stands(frame, arc))
        if not contact.touches_down(arc):
            return
        placed = contact.placed(arc)
        if len(placed):
            label = f"height of {frame} above the ground of arc {arc}"
            height = terms.term(name=label, unit="m")(partial(contact.height, arc=arc, points=placed))
            self.subject_to(height, equals=0.0, over=ArcNodes(arc, "start"), name=touches(frame, arc))
        if still is not None:
            self._still_from_the_start(still, arc, lands(frame, arc))
        if contact.is_held_upwards(arc):
            self._stay_on_ground(contact, arc)

    def _still(self, contact: Contact, arc: int, label: str) -> terms.ExpressionTerm | None:
        """The rows of its velocity that are zero in an arc; None where there are none."""
        units = contact.velocity_units(arc)
        read = partial(contact.stated_velocity, arc=arc)
        return terms.term(name=label, unit=units)(read) if units else None

    def _stay_on_ground(self, contact: Contact, arc: int) -> None:
        """Let all points of a sole touch down where the ground of the arc is."""
        first, last = (np.tile(side, len(contact.points)) for side in contact.ground[arc].region.T)
        if np.isfinite([first, last]).any():
            label = f"place of {contact.frame}, arc {arc}"
            place = terms.term(name=label, unit="m")(partial(contact.footprint, arc=arc))
            name = f"{contact.frame} lands on the ground, arc {arc}"
            self.subject_to(place, first, last, over=ArcNodes(arc, "start"), name=name)

    def _height(self, contact: Contact, arc: int) -> terms.ExpressionTerm:
        """Of all points of a foot above the ground of an arc, m."""
        label = f"height of {contact.frame} in arc {arc}"
        return terms.term(name=label, unit="m")(partial(contact.height, arc=arc, points=contact.points))

    def _swing(self, contact: Contact, arc: int, clearance: float) -> None:
        frame, height = contact.frame, self._height(contact, arc)
        self.subject_to(height, lower=0.0, over=ArcNodes(arc, "whole"), name=above(frame, arc))
        for number, box in enumerate(contact.obstacles):
            label = f"distance of {frame} to box {number}"
            outside = DistanceTerm(partial(contact.distances, obstacle=box), label, unit="m")
            name = f"{frame} outside of box {number}, arc {arc}"
            self.subject_to(outside, lower=0.0, over=ArcNodes(arc, "whole"), name=name)
        if clearance:
            middle = Instants([(arc + 0.5) / len(self.trajectory.arcs)], clock="progress")
            self.subject_to(height, lower=clearance, over=middle, name=f"{frame} clears, arc {arc}")


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


def sum_of_forces(one: Contact, other: Contact, sign: float, node: Any) -> list[Any]:
    """(3,) N, f_one + sign f_other."""
    return [a + sign * b for a, b in zip(one.wrench(node)[3:], other.wrench(node)[3:], strict=True)]
