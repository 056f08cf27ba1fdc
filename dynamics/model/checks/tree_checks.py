"""Kinematic tree: checks that bodies form one, and finds the parent and the coordinate of every link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from dynamics.arguments import LISTED, list_names
from dynamics.errors import TreeError
from dynamics.model.body import Body, Frame


class Robot(Protocol):
    """The fields of a `KinematicTree` that checks, tables and flat arrays read before it is made."""

    @property
    def bodies(self) -> tuple[Body, ...]: ...
    @property
    def gravity(self) -> np.ndarray: ...
    @property
    def name(self) -> str: ...
    @property
    def rotors(self) -> str: ...
    @property
    def frames(self) -> tuple[Frame, ...]: ...
    @property
    def ground_mass(self) -> float: ...


def check_unique(names: Iterable[str], what: str) -> None:
    """TreeError when a name occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TreeError(f"two {what} are named {name!r}; every name must be unique")
        seen.add(name)


def parent_indices(bodies: Sequence[Body]) -> list[int]:
    """Index of every body's parent, -1 for the ground; TreeError unless parents come first."""
    index = {body.name: i for i, body in enumerate(bodies)}
    parents = []
    for i, body in enumerate(bodies):
        if body.parent is None:
            parents.append(-1)
            continue
        if body.parent not in index:
            raise TreeError(
                f"body {body.name!r} has the unknown parent {body.parent!r}; "
                f"the bodies are {list_names(index)}"
            )
        if index[body.parent] >= i:
            raise TreeError(misplaced_parent(bodies, index, body))
        parents.append(index[body.parent])
    return parents


def misplaced_parent(bodies: Sequence[Body], index: dict[str, int], body: Body) -> str:
    """The message for a parent that comes late: a cycle, drawn, or only the wrong order."""
    path = {body.name: None}  # in order
    name = body.parent
    while name is not None and name in index and name not in path:
        path[name] = None
        name = bodies[index[name]].parent
    if name in path:
        names = list(path)
        cycle = drawn_cycle(names[names.index(name) :])
        return f"the parents form a cycle: {cycle}; one of these bodies must hang on the ground or on another"
    return f"body {body.name!r} comes before its parent {body.parent!r}; list parents first"


def drawn_cycle(names: Sequence[str]) -> str:
    """ "a -> b -> a", cut in the middle where it is long."""
    shown = [*names[:LISTED], f"({len(names) - LISTED} more)"] if len(names) > LISTED else names
    return " -> ".join([*shown, names[0]])


def coordinate_indices(bodies: Sequence[Body]) -> list[int]:
    """Index of the coordinate that moves every body; mimic joints share that of the joint they mimic."""
    joints = {body.joint.name: body.joint for body in bodies}
    own = {joint.name: i for i, joint in enumerate(j for j in joints.values() if j.mimics is None)}
    coordinates = []
    for joint in joints.values():
        if joint.mimics is None:
            coordinates.append(own[joint.name])
            continue
        if joint.mimics not in joints:
            raise TreeError(f"joint {joint.name!r} mimics the unknown joint {joint.mimics!r}")
        if joint.mimics not in own:
            further = joints[joint.mimics].mimics
            raise TreeError(
                f"joint {joint.name!r} mimics {joint.mimics!r}, which itself mimics {further!r}; "
                "name a joint with a coordinate of its own"
            )
        coordinates.append(own[joint.mimics])
    return coordinates


def check_rotors(bodies: Sequence[Body]) -> None:
    """TreeError when a leaf body repeats the rotor of a joint: same parent, same speed, same mass.

    The mass must agree because two fingers that mirror each other turn like a rotor with ratio -1.
    """
    inner = {body.parent for body in bodies}
    carriers = {body.joint.name: body for body in bodies if body.joint.rotor is not None}
    for body in bodies:
        driven = carriers.get(body.joint.mimics or "")
        rotor = None if driven is None else driven.joint.rotor
        if driven is None or rotor is None or body.name in inner or body.parent != driven.parent:
            continue
        same_speed = abs(body.joint.ratio) == abs(rotor.gear_ratio * driven.joint.ratio)
        if same_speed and rotor.mass > 0.0 and abs(body.mass - rotor.mass) <= 1e-6 * rotor.mass:
            raise TreeError(
                f"body {body.name!r} turns as the rotor of joint {driven.joint.name!r} does, so its mass "
                "would be counted twice; keep the body or the rotor, not both"
            )


def check_frames(bodies: Sequence[Body], frames: Sequence[Frame]) -> None:
    """TreeError when a frame's name is taken or its body unknown."""
    names = {body.name for body in bodies}
    check_unique((frame.name for frame in frames), "frames")
    for frame in frames:
        if frame.name in names:
            raise TreeError(f"frame {frame.name!r} has the name of a body; every name must be unique")
        if frame.body is not None and frame.body not in names:
            raise TreeError(f"frame {frame.name!r} is fixed to the unknown body {frame.body!r}")
