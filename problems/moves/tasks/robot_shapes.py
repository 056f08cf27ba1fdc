"""The shapes of a robot for clearances, from the places where they are given, and links that may touch."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import dynamics
from dynamics.formats.collision_shapes import missing_meshes_of
from problems.moves.obstacles import always_near
from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError

FITS = ("fit", "fit_visual")  # shapes from the elements of a URDF


def with_given_shapes(
    model: dynamics.RigidBodyModel, shapes: Any, allowed: Any, folders: Any, missing_meshes: Any = "refuse"
) -> Any:
    """The model with shapes as `moves.robot` takes them; OptionError for what is none."""
    pairs = dynamics.load_allowed_pairs(allowed) if isinstance(allowed, str | os.PathLike) else tuple(allowed)
    if isinstance(shapes, str) and shapes in FITS:
        if model.source is None:
            raise OptionError(
                f'shapes="{shapes}" reads a URDF, but the robot is a model of none: give '
                "model.with_shapes(...)"
            )
        visuals = "fit" if shapes == "fit_visual" else "warn"
        found = dynamics.urdf_shapes(
            model.source, folders=folders, visuals=visuals, missing_meshes=missing_meshes
        )
        missing = missing_meshes_of(model.source, folders, visuals)
        if not found:
            lost = f" but {len(missing)} meshes that no folder has" if missing else ""
            raise OptionError(
                f'shapes="{shapes}" finds no shape in the URDF{lost}, so that nothing can touch: give '
                f'{"their folders=, " if lost else ""}"fit_visual", the name of a file, or a list of shapes'
            )
        model = replace(model, left_out=(*model.left_out, *(f"missing mesh of {each}" for each in missing)))
        fitted = model.with_shapes(found, pairs)
        return fitted.with_shapes(found, (*pairs, *always_near(fitted)))
    if isinstance(shapes, str | os.PathLike):
        if not os.path.isfile(shapes):
            raise OptionError(
                f'shapes is {short_repr(shapes)}, and there is no such file of spheres: give "fit", '
                '"fit_visual", the name of a file, or a list of shapes'
            )
        return model.with_shapes(dynamics.load_spheres(shapes), pairs)
    if not all(isinstance(shape, dynamics.Shape) for shape in shapes):
        raise OptionError(
            f'shapes is {short_repr(shapes)}: give "fit", "fit_visual", the name of a file, or a list of '
            "shapes"
        )
    return model.with_shapes(shapes, pairs)
