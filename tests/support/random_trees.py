"""Seeded random robots for the proofs: chains and branches, both joint types, rotors, massless links.

Inertias are full, centres of mass off the axes, frames arbitrary. Every third seed is a chain; prismatic
joints occur inboard and outboard; where asked for, most joints have a rotor, on a skew axis with its centre
of mass off that axis, the base joint included.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from dynamics import (
    Body,
    CoupledModel,
    Follower,
    Frame,
    Joint,
    RigidBodyModel,
    Rotor,
    ball_joint,
    free_joint,
)
from dynamics.couplings.joint_function import fitted_cubics, piecewise_linear, polynomial

SEEDS = tuple(range(50))


def random_rotation(rng):
    matrix, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return matrix * np.sign(np.linalg.det(matrix))


def random_inertia(rng, scale=0.1):
    """A full tensor with the triangle inequality, as a body of three second moments has it."""
    second_moments = scale * rng.uniform(0.1, 1.0, 3)
    axes = random_rotation(rng)
    return axes @ np.diag(second_moments.sum() - second_moments) @ axes.T


def random_rotor(rng):
    return Rotor(
        gear_ratio=float(rng.choice([-1.0, 1.0]) * rng.uniform(3.0, 12.0)),
        mass=rng.uniform(0.1, 0.5),
        inertia=random_inertia(rng, 0.01),
        axis=rng.normal(size=3),
        position=0.3 * rng.normal(size=3),
        centre_of_mass=0.03 * rng.normal(size=3),
    )


@cache
def random_tree(seed: int, n: int | None = None, rotors: bool = False, mimic: bool = False) -> RigidBodyModel:
    """The random robot of a seed, 3 to 9 links unless `n` is given; `mimic` couples the last joint."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 10)) if n is None else n
    chain, bodies = seed % 3 == 0, []
    for i in range(count):
        parent = i - 1
        if not chain and i >= 2:
            parent = -1 if rng.random() < 0.1 else int(rng.integers(max(0, i - 4), i))
        has_child_soon = chain and i < count - 1
        massless = has_child_soon and i % 4 == 1
        joint = Joint(
            f"joint{i}",
            "prismatic" if rng.random() < 0.35 and not massless else "revolute",
            axis=rng.normal(size=3),
            rotation=random_rotation(rng),
            position=0.4 * rng.normal(size=3),
            rotor=random_rotor(rng) if rotors and (i == 0 or rng.random() < 0.6) else None,
            damping=rng.uniform(0.0, 1.0),
            friction=rng.uniform(0.0, 1.0),
            **({"mimics": "joint0", "ratio": -0.7, "offset": 0.3} if mimic and i == count - 1 else {}),
        )
        mass = 0.0 if massless else rng.uniform(0.5, 2.0)
        inertia = np.zeros((3, 3)) if massless else random_inertia(rng)
        name = None if parent < 0 else f"link{parent}"
        bodies.append(Body(f"link{i}", joint, name, mass, 0.3 * rng.normal(size=3), inertia))
    tool = Frame("tool", f"link{count - 1}", random_rotation(rng), 0.2 * rng.normal(size=3))
    return RigidBodyModel(bodies, 5.0 * rng.normal(size=3), f"tree {seed}", frames=(tool,))


@cache
def floating_tree(seed: int, n: int | None = None, rotors: bool = False) -> RigidBodyModel:
    """`random_tree` on a trunk with a free joint, with an arm on a ball joint and a palm on its last link."""
    tree, rng = random_tree(seed, n, rotors), np.random.default_rng(seed + 3000)
    placed = {"rotation": random_rotation(rng), "position": 0.4 * rng.normal(size=3)}
    matter = [(rng.uniform(0.5, 3.0), 0.3 * rng.normal(size=3), random_inertia(rng)) for _ in range(3)]
    trunk = Body("trunk", Joint("floating"), None, *matter[0])
    arm = Body("arm", Joint("hip", **placed), tree.link_names[-1], *matter[1])
    palm = Body("palm", Joint("wrist", axis=rng.normal(size=3), position=(0.3, 0.1, 0.0)), "arm", *matter[2])
    bodies = [
        *free_joint(trunk, random_rotation(rng)),
        *(replace(body, parent=body.parent or "trunk") for body in tree.bodies),
        *ball_joint(arm, random_rotation(rng)),
        palm,
    ]
    return RigidBodyModel(bodies, tree.gravity, f"floating tree {seed}", frames=tree.frames)


def random_state(model: RigidBodyModel, *shape: int, count: int = 3, seed: int = 0) -> np.ndarray:
    """`count` arrays (*shape, n): q, v, a or tau, and further ones."""
    return np.random.default_rng(seed + 1000).normal(size=(count, *shape, model.n))


def random_wrenches(model: RigidBodyModel, *shape: int, seed: int = 0) -> np.ndarray:
    """Wrenches on all links, (*shape, links, 6)."""
    return np.random.default_rng(seed + 2000).normal(size=(*shape, model.link_count, 6))


def relative_error(found, expected) -> float:
    """Largest difference relative to the largest expected entry."""
    scale = np.abs(expected).max(initial=0.0)
    return float(np.abs(np.asarray(found) - expected).max(initial=0.0) / (scale if scale > 0.0 else 1.0))


def coupled_tree(seed: int) -> CoupledModel:
    """`random_tree` whose second joint follows the third; the first and last follow a new coordinate."""
    tree, rng = random_tree(seed, rotors=True), np.random.default_rng(seed + 4000)
    cubic = fitted_cubics([-2.0, -0.8, 0.1, 0.9, 2.2], rng.normal(size=5))
    inner = polynomial([0.2, 0.9, -0.3, 0.1])
    lines = piecewise_linear([-1.0, 0.2, 1.0], rng.normal(size=3))
    first, second, third, *_, last = tree.joint_names
    return CoupledModel(
        tree,
        {
            first: Follower("crank", cubic.of(inner)),
            second: Follower(third, cubic),
            last: Follower("crank", lines),
        },
    )
