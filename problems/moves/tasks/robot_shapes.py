"""The shapes of a robot for clearances, from the places where they are given, and links that may touch."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import dynamics
from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError

POSES, NEARLY_ALL = 200, 0.95  # poses drawn within the joints' ranges, and in how many of them links touch


def with_given_shapes(
    model: dynamics.RigidBodyModel, source: Any, shapes: Any, allowed: Any, folders: Any
) -> Any:
    """The model with shapes as `moves.robot` takes them; OptionError for what is none."""
    pairs = dynamics.load_allowed_pairs(allowed) if isinstance(allowed, str | os.PathLike) else tuple(allowed)
    if isinstance(shapes, str) and shapes == "fit":
        if isinstance(source, dynamics.RigidBodyModel):
            raise OptionError(
                'shapes="fit" reads a URDF, but the robot is a model: give model.with_shapes(...)'
            )
        fitted = model.with_shapes(dynamics.urdf_shapes(source, folders=folders), pairs)
        return fitted.with_shapes(fitted.shapes, (*pairs, *nearly_always_touching(fitted)))
    if isinstance(shapes, str | os.PathLike):
        return model.with_shapes(dynamics.load_spheres(shapes), pairs)
    if not all(isinstance(each, dynamics.Shape) for each in shapes):
        raise OptionError(
            f'shapes is {short_repr(shapes)}: give "fit", the name of a file, or a list of shapes'
        )
    return model.with_shapes(shapes, pairs)


def nearly_always_touching(model: dynamics.RigidBodyModel) -> list[tuple[str, str]]:
    """Pairs of carriers whose shapes touch in nearly all of seeded poses: their covers are too large."""
    clearances = dynamics.Clearances(model, dynamics.Scene())
    if not len(clearances):
        return []
    lower = np.maximum(model.limits.q_lower, -np.pi)
    upper = np.minimum(model.limits.q_upper, np.pi)
    q = np.random.default_rng(0).uniform(lower, upper, (POSES, model.n))
    touching = np.mean(clearances.distances(q, 1.0) < 0.0, axis=0) > NEARLY_ALL
    carriers = clearances.segments.carriers
    pairs = clearances.pairs[touching].tolist()
    return sorted({(str(carriers[i]), str(carriers[-1 - j])) for i, j in pairs})
