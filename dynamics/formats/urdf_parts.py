"""Bodies and frames under construction from a URDF: mass properties of merged links are added up here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dynamics.arguments import list_names
from dynamics.errors import InertiaError, InertiaWarning, JointWarning, UrdfError, warn_user
from dynamics.model.body import Body, Frame
from dynamics.model.checks.validation import inertia_matrix, nearest_inertia
from dynamics.model.joint import Joint
from dynamics.model.mass_properties import NO_MASS, MassProperties, Pose
from dynamics.rigid_body_model import RigidBodyModel

ONE_POSITION = 1e-9  # rad or m, the range of a joint that cannot move


@dataclass(frozen=True, eq=False)
class Place:
    """Place of a URDF link: a body (None = ground) and the pose in its link frame."""

    body: str | None
    pose: Pose


@dataclass(eq=False)
class Parts:
    """Bodies still without mass, the mass collected for each, frames, and complaints about inertias."""

    repair_inertia: bool
    bodies: list[Body] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    masses: dict[str, MassProperties] = field(default_factory=dict)
    complaints: dict[str, list[str]] = field(default_factory=dict)
    ground_mass: float = 0.0

    def add_body(self, name: str, joint: Joint, parent: str | None, neighbour: str | None = None) -> None:
        """Add a body that has no mass yet; neighbour : the link or frame that its joint starts from."""
        if name in self.masses:
            raise UrdfError(
                f"two links are named {name!r}, one of them made for a joint of several axes; rename"
            )
        self.bodies.append(Body(name, joint, parent, neighbour=None if neighbour == parent else neighbour))
        self.masses[name] = NO_MASS

    def add_link(self, name: str, place: Place, found: MassProperties) -> None:
        """Add a link's mass properties to its body; a link that is not the body's own becomes a frame."""
        if place.body != name:
            self.frames.append(Frame(name, place.body, place.pose.rotation, place.pose.position))
        if place.body is None:  # it never moves, so its inertia may be anything
            self.ground_mass += found.mass
        else:
            checked = self.checked(name, place.body, found)
            self.masses[place.body] = self.masses[place.body].joined(checked.seen_from(place.pose))

    def checked(self, name: str, body: str, found: MassProperties) -> MassProperties:
        """`found`, repaired if allowed; a complaint is kept when its inertia is not physical."""
        try:
            inertia_matrix(found.inertia, f"link {name!r}: inertia")
        except InertiaError as error:
            if self.repair_inertia:
                warn_user(f"{error}; the nearest physical one is taken", InertiaWarning)
                return replace(found, inertia=nearest_inertia(found.inertia))
            self.complaints.setdefault(body, []).append(str(error))
        return found

    def finished(self) -> tuple[Body, ...]:
        """The bodies with their mass properties; InertiaError names the links that make one unphysical."""
        return tuple(self.finished_body(body) for body in self.bodies)

    def finished_body(self, body: Body) -> Body:
        found, complaints = self.masses[body.name], self.complaints.get(body.name, [])
        try:
            made = replace(body, mass=found.mass, centre_of_mass=found.centre_of_mass, inertia=found.inertia)
        except InertiaError as error:
            listed = "; ".join(complaints) or str(error)
            raise InertiaError(
                f"{listed}; or pass repair_inertia=True, --repair-inertia of a command"
            ) from error
        for complaint in complaints:
            merged = f"{complaint}; kept, since merged into body {body.name!r} it does no harm"
            warn_user(merged, InertiaWarning)
        return made


def made_of(
    bodies: Sequence[Body],
    frames: Sequence[Frame],
    parts: Parts,
    gravity: Sequence[float] | np.ndarray,
    name: str,
    left_out: tuple[str, ...] = (),
    source: str | None = None,
) -> RigidBodyModel:
    """The robot of these bodies, whose joints may move no mass."""

    def model(may_lack_mass: bool) -> RigidBodyModel:
        return RigidBodyModel(
            bodies,
            gravity,
            name,
            frames=frames,
            ground_mass=parts.ground_mass,
            may_lack_mass=may_lack_mass,
            left_out=left_out,
            source=source,
        )

    try:
        return model(may_lack_mass=False)
    except InertiaError:
        return model(may_lack_mass=True)


def warn_of_still_joints(model: RigidBodyModel) -> None:
    """A JointWarning for each joint whose limits leave it one position, with those that mimic it."""
    for name, lower, upper in zip(model.joint_names, model.limits.q_lower, model.limits.q_upper, strict=True):
        if upper - lower <= ONE_POSITION:
            others = [joint.name for joint in model.joints if joint.mimics == name]
            shared = f" and those of {list_names(others)}, which mimic it," if others else ""
            warn_user(
                f"joint {name!r} cannot move: its limits{shared} allow {lower:g} alone: correct the limits"
                f"{' or multipliers' if others else ''}, or lock it",
                JointWarning,
            )


def warn_of_missing_mass(joints: Sequence[str], advice: str = "") -> None:
    """An InertiaWarning that names joints that move no mass; none where there are none."""
    if joints:
        warn_user(
            f"joints that move no mass: {list_names(joints)}; their torques lack it, and forward dynamics is "
            f"refused{advice}",
            InertiaWarning,
        )
