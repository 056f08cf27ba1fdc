"""Seeded models for the tests of the papers: full inertias, centres of mass off the axes, skew rotors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynamics import Body, Joint, RigidBodyModel, Rotor

STEP = 1e-30  # of complex differentiation: so small that no truncation error remains

# A trunk with two siblings on it, a branch on a branch, prismatic joints inboard and outboard.
PARENTS = (-1, 0, 1, 1, 0, 4, 3)
KINDS = ("revolute", "prismatic", "revolute", "prismatic", "revolute", "prismatic", "revolute")
GEARED = (True, False, True, True, True, False, False)  # the base joint and two siblings among them


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """A rotation matrix (3, 3)."""
    matrix, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return matrix * np.sign(np.linalg.det(matrix))


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    """A full tensor (3, 3) that a body can have: principal moments are sums of two positive second
    moments.
    """
    second_moments = rng.uniform(0.1, 1.0, 3)
    axes = random_rotation(rng)
    return axes @ np.diag(second_moments.sum() - second_moments) @ axes.T


def random_rotor(rng: np.random.Generator, scale: float = 0.1) -> Rotor:
    """A rotor on a skew axis, its centre of mass off that axis."""
    return Rotor(
        gear_ratio=rng.uniform(3.0, 8.0),
        mass=0.5,
        inertia=scale * random_inertia(rng),
        axis=rng.normal(size=3),
        position=rng.normal(size=3),
        centre_of_mass=0.1 * rng.normal(size=3),
    )


def random_model(
    seed: int,
    parents: Sequence[int] = PARENTS,
    kinds: Sequence[str] = KINDS,
    geared: Sequence[bool] = (),
    offset: float = 0.0,
) -> RigidBodyModel:
    """A tree with links "link0", ... on joints "joint0", ... of displacement q + offset."""
    rng = np.random.default_rng(seed)
    bodies = []
    for i, (parent, kind) in enumerate(zip(parents, kinds, strict=True)):
        joint = Joint(
            f"joint{i}",
            kind,
            axis=rng.normal(size=3),
            rotation=random_rotation(rng),
            position=rng.normal(size=3),
            offset=offset,
            rotor=random_rotor(rng) if i < len(geared) and geared[i] else None,
        )
        carrier = None if parent < 0 else f"link{parent}"
        mass, centre = rng.uniform(0.5, 2.0), rng.normal(size=3)
        bodies.append(Body(f"link{i}", joint, carrier, mass, centre, random_inertia(rng)))
    return RigidBodyModel(bodies, name=f"random tree, seed {seed}")


def random_chain(seed: int, kinds: Sequence[str], offset: float = 0.0) -> RigidBodyModel:
    """A serial chain."""
    return random_model(seed, range(-1, len(kinds) - 1), kinds, offset=offset)


def state(seed: int, n: int, count: int = 3) -> np.ndarray:
    """`count` random vectors of n numbers: q, v, a or tau."""
    return np.random.default_rng(seed).normal(size=(count, n))


def largest(difference: np.ndarray, reference: np.ndarray) -> float:
    """The largest difference, relative to the largest reference value."""
    return float(np.abs(difference).max() / np.abs(reference).max())
