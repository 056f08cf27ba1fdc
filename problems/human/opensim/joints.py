"""The skeleton as OpenSim describes it: bodies with mass, joints of up to six coordinates between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dynamics
from problems.human.opensim.coordinates import PELVIS, PELVIS_AXES, Coordinate, coordinates

GROUND = "ground"


@dataclass(frozen=True, eq=False)
class Axis:
    """A coordinate of a joint: its axis (3,) in the parent's axes at rest, and its range (2,) in rad or m."""

    coordinate: Coordinate
    axis: np.ndarray
    bounds: np.ndarray


@dataclass(frozen=True, eq=False)
class OsimJoint:
    """A joint of OpenSim: moves `body`, whose origin is `position` (3,) m from that of `parent` at rest.

    Turns follow each other in the order of `turns`; slides come before them.
    """

    name: str
    parent: str
    body: str
    position: np.ndarray
    turns: tuple[Axis, ...]
    slides: tuple[Axis, ...]


def joints(model: dynamics.RigidBodyModel) -> list[OsimJoint]:
    """The joints of a skeleton of 55 degrees of freedom, each moving one body that has mass."""
    return [_joint(model, link) for link, body in enumerate(model.bodies) if body.mass > 0.0]


def _joint(model: dynamics.RigidBodyModel, link: int) -> OsimJoint:
    """All degrees of freedom between a body and the next one below it that has mass."""
    chain, below = [link], int(model.parent[link])
    while below >= 0 and model.bodies[below].mass == 0.0:
        chain.insert(0, below)
        below = int(model.parent[below])
    freedoms = [model.bodies[index].joint for index in chain]
    axes = [_axis(joint) for joint in freedoms]
    turns = [axis for axis in axes if not axis.coordinate.translates]
    slides = [axis for axis in axes if axis.coordinate.translates]
    name = freedoms[0].name.rpartition("_")[0]
    if below < 0:
        name, turns = "ground_pelvis", [_pelvis_turn(turns, k) for k in range(3)]
    return OsimJoint(
        name, GROUND if below < 0 else model.bodies[below].name, model.bodies[link].name,
        np.sum([joint.position for joint in freedoms], axis=0), tuple(turns), tuple(slides),
    )  # fmt: skip


def _axis(joint: dynamics.Joint) -> Axis:
    own = coordinates()[joint.name]
    bounds = own.sign * np.array([joint.limits.q_lower, joint.limits.q_upper]) + own.zero
    return Axis(own, own.sign * joint.axis, np.sort(bounds))


def _pelvis_turn(turns: list[Axis], k: int) -> Axis:
    """The k-th turn of the pelvis in OpenSim's order; ours has the same name and nearly the same range."""
    ours = next(turn for turn in turns if turn.coordinate.name == PELVIS[k])
    return Axis(ours.coordinate, PELVIS_AXES[k], ours.bounds)
