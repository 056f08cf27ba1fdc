"""The statements about contacts of a problem: `contact`, `passive_base`, `subject_to_periodic_gait`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base import arguments
from trajopt.base.errors import OptionError
from trajopt.graph.protocols.dynamics import FloatingDynamics
from trajopt.problem.contacts.contact import (
    DIRECTIONS,
    Contact,
    contact_of,
    height_of,
    velocity_of,
    wrench_on_link,
)
from trajopt.problem.contacts.ground import Ground
from trajopt.problem.problem import ProblemData
from trajopt.splines.node_sets import ArcNodes
from trajopt.terms import term as terms

MIDDLE = (0.4, 0.6)  # of an arc in the air, and up to the next breakpoints: there a foot has its clearance
FLAT = Ground()
COMPONENTS = ("+x", "-x", "+y", "-y")  # of the four lambda of a point


@dataclass(eq=False, repr=False)
class ContactProblem(ProblemData):
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
        cyclic: bool = False,
    ) -> Contact:
        """Let a frame stand on the ground in some arcs of the motion, and move above it in the others.

        arcs : in which it stands, `Schedule.arcs(foot)`
        friction : coefficient mu of the cone |f_t| <= mu f_n, of which the inner pyramid with four edges is used
        clearance : m, height above the ground in the middle of every arc in the air, from the last breakpoint
            before 40 % of its time to the first one after 60 %
        sole : (k, 3) m, points in axes of the frame that stand, the frame then keeps its orientation, too; left
            out, a point foot that may turn
        ground : one surface, or one for every arc
        cyclic : whether the first arc follows the last one, so that a foot that stands in both does not touch
            down in the first

        Where it touches down its height and velocity are zero, at the collocation points of the arc its
        velocity is, and the force of the ground is inside the pyramid for all t. It lands without an impact.
        Velocities at the start of the motion are held where it stands and has not stood before: fix a start
        or an end at rest by the base and the joints, not by q of all, which standing feet determine already.
        Returns the contact, whose `force` is a term. Raises UnknownNameError for a frame that does not exist,
        OptionError or ShapeError for what cannot be meant.
        """
        if self.trajectory.scheme is None:
            raise OptionError(
                f"a contact needs as many forces as there are equations between nodes, not {self.trajectory}: "
                "use the trajectory of a Schedule, or Trajectory.collocation(intervals, order)"
            )
        if frame in self.contacts:
            raise OptionError(f"'{frame}' has a contact already: give all of its arcs at once")
        count = len(self.trajectory.arcs)
        contact = contact_of(self.dynamics, count, frame, arcs, friction, sole, ground)
        high = float(arguments.numbers(clearance, f"the clearance of '{frame}'"))
        if not 0.0 <= high < np.inf:
            raise OptionError(f"the clearance of '{frame}' is {clearance} m: give 0 or more")
        others = [other for other in self.contacts.values() if other.link == contact.link]
        if contact.link in self.loads and not others:
            raise OptionError(f"'{contact.link}', which carries '{frame}', has a load already: use another link")
        self._push(contact)
        self.loads.pop(contact.link, None)
        label = f"ground on {contact.link}"
        self.load(contact.link, terms.term(name=label)(partial(wrench_on_link, (*others, contact))))
        self.contacts[frame] = contact
        for arc in range(count):
            before = arc - 1 if arc or not cyclic else count - 1
            if arc in contact.arcs:
                self._stand(contact, arc, touches_down=before not in contact.arcs)
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
        """The posture and velocity at the end are those of the start, `forward` and `sideways` (m) further on.

        mirror : signs and order of `RigidBodyModel.mirrored`, for half a period of a symmetric gait, after which
            left and right have changed places
        The place of the start is free along the ground: it is held at x = y = 0.
        """
        floating = list(getattr(self.dynamics, "floating_joints", ()))
        if len(floating) < 3 or not implements_floating(self.dynamics):
            raise OptionError("a periodic gait needs a robot with a free base: floating_base='free'")
        n, names = self.dynamics.n, list(self.dynamics.joint_names)
        signs, order = (np.ones(n), np.arange(n)) if mirror is None else mirror
        offset = np.zeros(n)
        places = [names.index(joint) for joint in floating[:2]]
        offset[places] = forward, sideways
        self.subject_to_periodic(terms.q, signs, order=order, offset=offset, name="gait")
        self.subject_to_periodic(terms.v, signs, order=order, name="gait, velocities")
        for place, joint in zip(places, floating, strict=False):
            self.subject_to(terms.q[place], equals=0.0, over="start", name=f"{joint} at the start")

    def _push(self, contact: Contact) -> None:
        """The unknown curves of a contact, zero where it does not stand."""
        width, arcs = DIRECTIONS * len(contact.points), range(len(self.trajectory.arcs))
        share = 1.0 / width
        sole = [f"{point} {way}" for point in range(1, 1 + len(contact.points)) for way in COMPONENTS]
        for curve, own in zip(contact.curves, contact.grounds.values(), strict=True):
            zero, guess = np.zeros(width), np.full(width, share)
            push = self.control(curve, lower=zero, guess=guess, unit="BW")
            components = COMPONENTS if contact.is_point else tuple(sole)
            self.extras[curve] = replace(self.extras[curve], components=components)
            for arc in (arc for arc in arcs if arc not in own):
                name = f"no {curve}, arc {arc}"
                self.subject_to(push, equals=0.0, over=ArcNodes(arc, "whole"), name=name)

    def _stand(self, contact: Contact, arc: int, touches_down: bool) -> None:
        frame, whole = contact.frame, ArcNodes(arc, "whole")
        twist = terms.term(name=f"velocity of {frame}", unit=units_of_twist(contact))
        still = twist(partial(velocity_of, contact))
        self.subject_to(still, equals=0.0, over=whole, name=f"{frame} stands, arc {arc}")
        if touches_down:
            start, three = ArcNodes(arc, "start"), contact.points[corners(contact.points)]
            label = f"height of {frame} above the ground of arc {arc}"
            height = terms.term(name=label, unit="m")(partial(height_of, contact, arc, three))
            self.subject_to(height, equals=0.0, over=start, name=f"{frame} touches down, arc {arc}")
            self.subject_to(still, equals=0.0, over=start, name=f"{frame} lands without impact, arc {arc}")

    def _swing(self, contact: Contact, arc: int, clearance: float) -> None:
        frame = contact.frame
        label = f"height of {frame} in arc {arc}"
        height = terms.term(name=label, unit="m")(partial(height_of, contact, arc, contact.points))
        self.subject_to(height, lower=0.0, over=ArcNodes(arc, "whole"), name=f"{frame} above ground, arc {arc}")
        if clearance:
            over = ArcNodes(arc, middle(self.trajectory.arcs[arc].basis.breakpoints))
            self.subject_to(height, lower=clearance, over=over, name=f"{frame} clears, arc {arc}")


def implements_floating(dynamics: Any) -> bool:
    return arguments.implements(dynamics, FloatingDynamics)


def middle(breakpoints: np.ndarray) -> tuple[float, float]:
    """The window of an arc that begins and ends at breakpoints, where there are nodes, and holds MIDDLE."""
    low, high = MIDDLE
    return float(breakpoints[breakpoints <= low].max()), float(breakpoints[breakpoints >= high].min())


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
