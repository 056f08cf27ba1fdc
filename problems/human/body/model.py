"""The human skeleton for a height and a mass: 55 degrees of freedom, or fewer with the rest held rigidly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

import dynamics
from dynamics.model.mass_properties import NO_MASS, MassProperties, Pose
from problems.human.body.tables import contact_points, freedoms, segments
from trajopt.base.arguments import check_known
from trajopt.base.errors import ProblemError

TABLE_HEIGHT, TABLE_MASS = 1.75, 75.0  # m, kg: the person of the inertia table
GRAVITY = 9.81
ACTIVE = tuple(name for name, freedom in freedoms().items() if not freedom.frozen)
SAGITTAL = (
    "global_tx", "global_ty", "global_tilt",
    "hip_r_flex", "knee_r_flex", "ankle_r_dorsi",
    "hip_l_flex", "knee_l_flex", "ankle_l_dorsi",
)  # fmt: skip
GLOBAL = tuple(name for name in freedoms() if name.startswith("global_"))


def skeleton(
    height: float = TABLE_HEIGHT,
    mass: float = TABLE_MASS,
    moving: Iterable[str] | None = None,
    carried: Mapping[str, MassProperties] = MappingProxyType({}),
    strength: Mapping[str, float] = MappingProxyType({}),
    slope: float = 0.0,
) -> dynamics.RigidBodyModel:
    """The skeleton in which only the degrees of freedom `moving` move (None: all 55), the others at zero.

    Bodies behind joints at rest are merged with what carries them and stay as frames of their names, as do
    "heel_r", "ball_r", "toe_r" and the left ones. World axes: x forward along the ground, y up from it, z to
    the right; on ground that rises by `slope` metres a metre gravity is tilted backwards. Lengths scale
    with the height in metres, masses in kg, inertias with both, and the largest torques with mass times
    height (Anderson et al. 2007 normalize isometric strength so). `carried` is joined to bodies in their
    axes, `strength` scales the largest torques of joints. Raises ProblemError for a person that cannot be or
    a name that no degree of freedom has.
    """
    for what, value in (("height", height), ("mass", mass)):
        if not (np.isfinite(value) and value > 0.0):
            raise ProblemError(f"the {what} of the person is {value}: give a positive number")
    chosen = frozenset(freedoms() if moving is None else moving)
    for name in sorted(chosen):
        check_known("degree of freedom of the skeleton", name, freedoms(), ProblemError)
    carriers = _carriers(height, chosen)
    matter, frames, names = _merged_bodies(height, mass, carriers, carried)
    for point, (body, fraction) in contact_points().items():
        carrier, offset = carriers[_freedom_of(body)]
        frames.append(dynamics.Frame(point, names[carrier], position=offset + height * fraction))
    size = mass * height / (TABLE_MASS * TABLE_HEIGHT)
    bodies = [
        _body(name, height, carriers, matter, names, size * strength.get(name, 1.0))
        for name in freedoms()
        if name in chosen
    ]
    gravity = tilted_gravity(slope)
    return dynamics.RigidBodyModel(tuple(bodies), gravity=gravity, name="human", frames=tuple(frames))


def tilted_gravity(slope: float) -> np.ndarray:
    """Gravity in the axes of ground that rises by `slope` m a metre, (3,) m/s^2: -g (sin, cos, 0) of atan."""
    angle = np.arctan(slope)
    return -GRAVITY * np.array([np.sin(angle), np.cos(angle), 0.0])


def step_symmetry(names: Sequence[str], length: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(signs, order, offset), each (n,): q(T)_i = signs_i q(0)_order(i) + offset_i over one step.

    Limbs swap sides, whose axes are mirrored; lateral motions, yaw, list, bends and rotations of the trunk
    change their sign; the body has moved on by `length` metres.
    """
    rules = [freedoms()[name].rule for name in names]
    signs = np.array([-1.0 if rule == "opposite" else 1.0 for rule in rules])
    order = np.array([
        names.index(other_side(name)) if rule == "swap" else i
        for i, (name, rule) in enumerate(zip(names, rules, strict=True))
    ])  # fmt: skip
    offset = np.array([length if rule == "q(T)=q(0)+L" else 0.0 for rule in rules])
    return signs, order, offset


def other_side(name: str) -> str:
    """The name of the same thing on the other side of the body."""
    swapped = {"r": "l", "l": "r"}
    return "_".join(swapped.get(part, part) for part in name.split("_"))


def standing(names: Sequence[str], height: float = TABLE_HEIGHT) -> np.ndarray:
    """Upright with both soles on the ground and arms hanging, (n,)."""
    q = np.zeros(len(names))
    q[names.index("global_ty")] = -height * _sole_below_pelvis()
    return q


def _sole_below_pelvis() -> float:
    """Height of the sole over the pelvis origin in the upright posture, in parts of H: negative."""
    body, position = contact_points()["ball_r"]
    down, name = position[1], _freedom_of(body)
    while name is not None:
        down, name = down + freedoms()[name].offset[1], freedoms()[name].parent
    return float(down)


def _freedom_of(body: str) -> str:
    return next(name for name, freedom in freedoms().items() if freedom.body == body)


def _carriers(height: float, moving: frozenset[str]) -> dict[str, tuple[str | None, np.ndarray]]:
    """Every degree of freedom -> (the moving one that carries its frame, origin in that one's frame)."""
    found: dict[str, tuple[str | None, np.ndarray]] = {}
    for name, freedom in freedoms().items():
        if name in moving:
            found[name] = (name, np.zeros(3))
            continue
        carrier, offset = (None, np.zeros(3)) if freedom.parent is None else found[freedom.parent]
        found[name] = (carrier, offset + height * freedom.offset)
    return found


def _merged_bodies(height: float, mass: float, carriers, carried):
    """Mass properties by carrier, frames of bodies without a link of their own, names of carriers as links.

    A carrier is called like the first body at its own origin.
    """
    matter: dict[str, MassProperties] = {}
    names: dict[str | None, str | None] = {None: None}
    names |= {name: name for name, (carrier, _) in carriers.items() if carrier == name}
    behind: list[tuple[str, str | None, np.ndarray]] = []
    for name, freedom in freedoms().items():
        if not freedom.body:
            continue
        carrier, offset = carriers[name]
        segment = segments()[freedom.body]
        size = mass / TABLE_MASS * (height / TABLE_HEIGHT) ** 2
        own = MassProperties(mass * segment.fraction, height * segment.centre, size * segment.inertia)
        if freedom.body in carried:
            own = own.joined(carried[freedom.body])
        if carrier is not None:
            moved = own.seen_from(Pose(np.eye(3), offset))
            matter[carrier] = matter[carrier].joined(moved) if carrier in matter else moved
        if carrier is not None and names[carrier] == carrier and not offset.any():
            names[carrier] = freedom.body
        else:
            behind.append((freedom.body, carrier, offset))
    frames = [dynamics.Frame(body, names[carrier], position=offset) for body, carrier, offset in behind]
    return matter, frames, names


def _body(name: str, height: float, carriers, matter, names, strength: float) -> dynamics.Body:
    freedom, own = freedoms()[name], matter.get(name, NO_MASS)
    carrier, offset = (None, np.zeros(3)) if freedom.parent is None else carriers[freedom.parent]
    scale = height / TABLE_HEIGHT if freedom.kind == "prismatic" else 1.0
    unpowered = name in GLOBAL
    limits = dynamics.JointLimits(
        q_lower=scale * freedom.limits[0],
        q_upper=scale * freedom.limits[1],
        torque_lower=-np.inf if unpowered else strength * freedom.torques[0],
        torque_upper=np.inf if unpowered else strength * freedom.torques[1],
    )
    joint = dynamics.Joint(
        name, freedom.kind, freedom.axis, position=offset + height * freedom.offset, limits=limits
    )
    return dynamics.Body(names[name], joint, names[carrier], own.mass, own.centre_of_mass, own.inertia)
