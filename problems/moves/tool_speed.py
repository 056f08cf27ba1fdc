"""Squared speeds of the origins of frames: at given states, as Taylor models, and bounds on a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import dynamics
from problems.moves.spline_path import SplinePath
from trajopt.base.arrays import Array
from trajopt.taylor_models.suprema import LeafPieces, Model
from trajopt.taylor_models.taylor_model import FOUR_EPS, TaylorModel, as_model

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree
    from dynamics.rigid_body_model import RigidBodyModel


def squared_tool_speeds(model: KinematicTree, frames: Sequence[str], q: Array, v: Array) -> Array:
    """|J v|^2, (..., frames) m^2/s^2, of q and v (..., n)."""
    rates = [dynamics.frame_velocity(model, q, v, frame)[..., 3:] for frame in frames]
    return np.stack([np.sum(rate**2, axis=-1) for rate in rates], axis=-1)


def squared_speed_models(model: RigidBodyModel, frames: Sequence[str], q: Model, v: Model) -> Model:
    """The same of models of q and v."""
    block = model.block([f"velocity:{frame}" for frame in frames])
    found = block.value_over({"q": q, "v": v}, TaylorModel.constant)
    return [sum(rate * rate for rate in found[f"velocity:{frame}"][3:]) for frame in frames]


def squared_speeds_on(
    model: RigidBodyModel, frames: Sequence[str], path: SplinePath, grid: Array, speeds: Array
) -> Array:
    """Upper bounds of |J p'|^2 x on the segments of a grid with the path's breakpoints, (segments, frames).

    speeds : (segments + 1,) x = s'^2 at the grid points, linear between them
    """
    curves = {name: path.bernstein(grid, order) for order, name in enumerate(("q", "v"))}
    curves["x"] = np.stack([speeds[:-1], speeds[1:]], axis=1)[..., None]
    errors = {name: FOUR_EPS * np.abs(curve).max(axis=1) for name, curve in curves.items()}
    leaves = LeafPieces(grid[:-1], grid[1:], curves, errors, {}).models()
    rates = squared_speed_models(model, frames, leaves["q"], leaves["v"])
    found = [as_model(rate * leaves["x"][0]).range[1] for rate in rates]
    return np.stack([np.broadcast_to(each, len(grid) - 1) for each in found], axis=-1)
