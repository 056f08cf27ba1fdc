"""Distance by which a motion may leave the path given, at joints and at frames of the robot, and the proof.

    |q_j - p_j(s)| <= joints_j,     |x_f(q) - x_f(p(s))| <= frames_f,     q = p(s) + d(s)

for all s: the joints by the Bernstein coefficients of d, a spline, the positions x_f by Taylor models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from problems.moves.certificate import LimitLine
from problems.moves.motion_limits import positive_of_joints
from problems.moves.spline_path import SplinePath
from trajopt.base.arguments import short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.splines.polynomial_bounds import elevated
from trajopt.taylor_models.suprema import LeafPieces, Model, Supremum, find_suprema
from trajopt.taylor_models.taylor_model import FOUR_EPS, TaylorModel

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

SHARP = 1e-4  # of a distance: by how much its bound may exceed what is reached


@dataclass(frozen=True, eq=False)
class Tube:
    """A tube around a path.

    joints : (n,) rad or m; frames : name -> m
    """

    model: RigidBodyModel
    path: SplinePath
    joints: Array
    frames: Mapping[str, float]

    def lines(self, moved: SplinePath) -> tuple[LimitLine, ...]:
        """Lines of the tube that another path uses, for all s, which stands in place of the time."""
        return self._of_joints(moved), *(self._of_frame(name, moved) for name in self.frames)

    def share(self, moved: SplinePath) -> float:
        """The largest part of a frame's distance that another path takes, for all s; 0 without frames."""
        every = [0.0, *(1.0 + self._of_frame(name, moved).excess for name in self.frames)]
        return float(np.max(every))  # NaN, where one has no bound

    def _of_joints(self, moved: SplinePath) -> LimitLine:
        grid = moved.breakpoints
        one, other = moved.bernstein(grid, 0), self.path.bernstein(grid, 0)
        count = max(one.shape[1], other.shape[1])
        away = np.abs(elevated(one, count) - elevated(other, count)).max(axis=1)
        used = away / self.joints
        row, joint = np.unravel_index(int(np.argmax(used)), used.shape)
        name = self.model.joint_names[int(joint)]
        return LimitLine("tube", "proved", float(used[row, joint]) - 1.0, name, float(grid[row]))

    def _of_frame(self, name: str, moved: SplinePath) -> LimitLine:
        grid, size = moved.breakpoints, self.frames[name]
        curves = {"q": moved.bernstein(grid, 0), "p": self.path.bernstein(grid, 0)}
        errors = {leaf: 8.0 * FOUR_EPS * np.abs(curve).max(axis=1) for leaf, curve in curves.items()}
        pieces = LeafPieces(grid[:-1], grid[1:], curves, errors, {})
        block = self.model.block([f"position:{name}"])

        def squared(pieces: LeafPieces) -> Mapping[str, Model]:
            leaves = pieces.models()
            one, other = (
                block.value_over({"q": leaves[leaf]}, TaylorModel.constant)[f"position:{name}"]
                for leaf in "qp"
            )
            away = [a - b for a, b in zip(one, other, strict=True)]
            return {"squared": [sum(each * each for each in away)]}

        asked = Supremum("squared", 0, -np.inf, size**2, -np.inf, SHARP * size**2, np.inf, 0.0)
        find_suprema(pieces, squared, [asked])
        excess = float(np.sqrt(max(1.0 + asked.value / size**2, 0.0))) - 1.0
        return LimitLine("tube", "proved", excess, name, asked.time)


def tube_of(model: RigidBodyModel, path: SplinePath, joints: Any, frames: Any) -> Tube:
    """The tube that was given; see `retime`, also for errors."""
    if joints is None:
        raise OptionError("tool_tube= is given without tube=: say how far the joints may leave the path, too")
    return Tube(model, path, positive_of_joints(joints, "tube", model), _frames_of(model, frames or {}))


def _frames_of(model: RigidBodyModel, given: Any) -> Mapping[str, float]:
    if not isinstance(given, Mapping):
        raise OptionError(f"tool_tube is {short_repr(given)}: give distances by frame, {{'tool0': 0.005}}")
    for name, distance in given.items():
        model.block([f"position:{name}"])  # raises UnknownNameError
        if isinstance(distance, bool) or not isinstance(distance, int | float) or not 0.0 < distance < np.inf:
            raise OptionError(f"tool_tube of {name!r} is {short_repr(distance)}: give a number above zero, m")
    return dict(given)
