"""`ContactProblem`: a problem with feet on the ground: contacts, an undriven base, periodic gaits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.errors import OptionError
from trajopt.problem.contacts.contact import (
    EDGES,
    Contact,
    contact_of,
    height_of,
    velocity_of,
)
from trajopt.problem.contacts.ground import Ground
from trajopt.problem.held_frames import HeldFrames
from trajopt.splines.instants import Instants
from trajopt.splines.node_sets import ArcNodes
from trajopt.terms import term as terms

FLAT = Ground()
GAIT = "gait"  # name of the periodicity of q


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
        ground: Ground | Mapping[int, Ground] = FLAT,
    ) -> Contact:
        """Let a frame stand on the ground in some arcs of the motion, and move above it in the others.

        arcs : in which it stands, `Schedule.arcs(foot)`; empty for a foot that never does
        friction : coefficient mu of the cone |f_t| <= mu f_n; its inner pyramid with four edges is used
        clearance : m, height above the ground half way through every arc in the air
        sole : (k, 3) m, points that stand, in axes of the frame, which then keeps its orientation, too; left
            out, a point foot that may turn
        ground : one surface, or one for every arc

        Where it touches down its height and velocity are zero, at the collocation points of the arc its
        velocity is, and the force of the ground is inside the pyramid for all t. It lands without an impact.
        A foot that stands at the start is placed there alike. At the end do not fix q of all coordinates:
        feet that stand determine some of them already.
        Returns the contact, whose `force` is a term. Raises UnknownNameError for a frame that does not exist,
        OptionError or ShapeError for what cannot be meant.
        """
        self._needs_collocation("a contact")
        if any(each.name == GAIT for each in self.periodicities):
            raise OptionError(f"'{frame}' is added after the periodic gait: add all contacts before it")
        if frame in self.contacts:
            raise OptionError(f"'{frame}' has a contact already: give all of its arcs at once")
        count = len(self.trajectory.arcs)
        contact = contact_of(self.dynamics, count, frame, arcs, friction, sole, ground)
        high = float(arguments.numbers(clearance, f"the clearance of '{frame}'"))
        if not 0.0 <= high < np.inf:
            raise OptionError(f"the clearance of '{frame}' is {clearance} m: give 0 or more")
        self._refuse_other_load(contact.link, frame)
        self.contacts[frame] = contact
        if contact.arcs:
            self._push(contact)
            self._share_load(contact.link, contact.wrench)
        for arc in range(count):
            if arc in contact.arcs:
                self._stand(contact, arc, touches_down=arc - 1 not in contact.arcs)
            else:
                self._swing(contact, arc, high)
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
        The place of the start is free along the ground: it is held at x = y = 0.
        """
        floating = getattr(self.dynamics, "floating_joints", ())
        if not floating:
            raise OptionError('a periodic gait needs a robot with a free base: floating_base="free"')
        n, names = self.dynamics.n, list(self.dynamics.joint_names)
        signs, order = (np.ones(n), np.arange(n)) if mirror is None else mirror
        offset = np.zeros(n)
        places = [names.index(joint) for joint in floating[:2]]
        offset[places] = forward, sideways
        self.subject_to_periodic(terms.q, signs, order=order, offset=offset, name=GAIT)
        self.subject_to_periodic(terms.v, signs, order=order, name=f"{GAIT}, velocities")
        for place, joint in zip(places, floating, strict=False):
            self.subject_to(terms.q[place], equals=0.0, over="start", name=f"{joint} at the start")
        if mirror is None:
            self._leave_out_known_touchdowns()

    def _leave_out_known_touchdowns(self) -> None:
        """Feet that stand in the last arc and in the first do not touch down at the start: it follows."""
        last = len(self.trajectory.arcs) - 1
        follows: set[str] = set()
        for frame, contact in self.contacts.items():
            if {0, last} <= set(contact.arcs):
                follows.add(lands(frame, 0))
                if len(contact.arcs) <= last:  # it is placed where it touches down later
                    follows.add(touches(frame, 0))
        self.constraints = [each for each in self.constraints if each.name not in follows]

    def _push(self, contact: Contact) -> None:
        """The unknown curves of a contact, zero where it does not stand."""
        sole = [f"{point} {way}" for point in range(1, 1 + len(contact.points)) for way in EDGES]
        components = EDGES if contact.is_point else sole
        share = 0.5 / len(components)
        for curve, own in zip(contact.curves, contact.grounds.values(), strict=True):
            self._force_curve(curve, components, own, lower=0.0, guess=share, unit="BW")

    def _stand(self, contact: Contact, arc: int, touches_down: bool) -> None:
        frame = contact.frame
        twist = terms.term(name=f"velocity of {frame}", unit=units_of_twist(contact))
        still = twist(partial(velocity_of, contact))
        self._hold_still(still, arc, f"{frame} stands, arc {arc}")
        if touches_down:
            three = contact.points[corners(contact.points)]
            label = f"height of {frame} above the ground of arc {arc}"
            height = terms.term(name=label, unit="m")(partial(height_of, contact, arc, three))
            self._hold_from_the_start(height, still, arc, touches(frame, arc), lands(frame, arc))

    def _swing(self, contact: Contact, arc: int, clearance: float) -> None:
        frame = contact.frame
        label = f"height of {frame} in arc {arc}"
        height = terms.term(name=label, unit="m")(partial(height_of, contact, arc, contact.points))
        self.subject_to(
            height, lower=0.0, over=ArcNodes(arc, "whole"), name=f"{frame} above ground, arc {arc}"
        )
        if clearance:
            middle = Instants([(arc + 0.5) / len(self.trajectory.arcs)], clock="progress")
            self.subject_to(height, lower=clearance, over=middle, name=f"{frame} clears, arc {arc}")


def touches(frame: str, arc: int) -> str:
    """Name of the constraint of its height where it touches down."""
    return f"{frame} touches down, arc {arc}"


def lands(frame: str, arc: int) -> str:
    """Name of the constraint of its velocity there."""
    return f"{frame} lands without impact, arc {arc}"


def units_of_twist(contact: Contact) -> str | list[str]:
    return "m/s" if contact.is_point else ["rad/s"] * 3 + ["m/s"] * 3


def corners(points: np.ndarray) -> list[int]:
    """One point, or three that are no line: the first, the farthest from it, the farthest from their line."""
    if len(points) == 1:
        return [0]
    away = points - points[0]
    second = int(np.argmax(np.linalg.norm(away, axis=1)))
    third = int(np.argmax(np.linalg.norm(np.cross(away, away[second]), axis=1)))
    return [0, second, third]
