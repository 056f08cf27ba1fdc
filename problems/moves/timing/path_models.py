"""Taylor models of a motion's quantities on spans of its path's coordinate w, with x = w'^2 a spline of w.

v = P' sqrt(x)    a = P'' x + P' x' / 2    jerk = sqrt(x) (P''' x + 3 P'' x' / 2 + P' x'' / 2)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from problems.moves.motion_limits import TOOL_SPEED
from problems.moves.timing.smooth_path import SmoothPath, chained
from problems.moves.timing.smooth_speed import SmoothSpeed
from problems.moves.tool_speed import squared_speed_models
from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.graph.protocols import AnyArithmeticBlock
from trajopt.taylor_models.suprema import LeafPieces, Model
from trajopt.taylor_models.taylor_model import FOUR_EPS, TaylorModel

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

TORQUE = "motor_torque"


@dataclass(frozen=True, eq=False)
class PathModels:
    """Models of positions, speeds, accelerations, jerks and torques of a robot on a path.

    frames : whose squared speeds have models, too
    """

    model: RigidBodyModel
    along: SmoothPath
    speed: SmoothSpeed
    frames: tuple[str, ...] = ()

    @cached_property
    def block(self) -> Any:
        """The robot's block of motor torques."""
        return self.model.block([TORQUE])

    @property
    def has_torques(self) -> bool:
        """True if the robot has models of its torques."""
        return implements(self.block, AnyArithmeticBlock)

    @cached_property
    def pieces(self) -> LeafPieces:
        """The spans, with w, x and x' as curves, x'' and the path's piece as constants."""
        knots, points = self.speed.knots, self.speed.points
        x, slope, bend = self.speed.starts
        h = np.diff(knots)
        last = np.append(x[1:], points[-1])
        curves = {
            "w": np.stack([knots[:-1], knots[1:]], axis=1),
            "x": np.stack([x, x + 0.5 * slope * h, last], axis=1),
            "slope": np.stack([slope, slope + bend * h], axis=1),
        }
        curves = {name: curve[..., None] for name, curve in curves.items()}
        errors = {name: FOUR_EPS * np.abs(curve).max(axis=1) for name, curve in curves.items()}
        return LeafPieces(knots[:-1], knots[1:], curves, errors, {"bend": bend[:, None], **self._path_pieces})

    @property
    def _path_pieces(self) -> Mapping[str, Array]:
        """Start of the path's piece that holds each span, and its coefficients, rising powers."""
        path, middle = self.along.path, 0.5 * (self.speed.knots[1:] + self.speed.knots[:-1])
        at = np.searchsorted(path.breakpoints, self.along.s(middle), side="right") - 1
        rows = np.moveaxis(path.coefficients[::-1, at], 1, 0)  # (spans, degree + 1, n)
        return {"start": path.breakpoints[at][:, None], "path": rows.reshape(len(rows), -1)}

    def of(self, kinds: Sequence[str]) -> Callable[[LeafPieces], Mapping[str, Model]]:
        """The function from pieces to the models of these kinds of quantities."""
        return partial(self._models, kinds)

    def _models(self, kinds: Sequence[str], pieces: LeafPieces) -> Mapping[str, Model]:
        leaves = pieces.models()
        (w,), (x,), (slope,), (bend,) = (leaves[name] for name in ("w", "x", "slope", "bend"))
        root, half, n = x.sqrt(), 0.5 * slope, self.model.n
        path = self._path(w, leaves["start"][0], leaves["path"])
        joints = [chained([p[k] for p in path], *self._step(w)) for k in range(n)]
        found: dict[str, Model] = {"position": [p[0] for p in joints]}
        found["speed"] = [p[1] * root for p in joints]
        found["acceleration"] = [p[2] * x + p[1] * half for p in joints]
        if "jerk" in kinds:
            found["jerk"] = [root * (p[3] * x + p[2] * (3.0 * half) + p[1] * (0.5 * bend)) for p in joints]
        if TOOL_SPEED in kinds:
            q, v = found["position"], found["speed"]
            found[TOOL_SPEED] = squared_speed_models(self.model, self.frames, q, v)
        if "torque" in kinds:
            leaf = {"q": found["position"], "v": found["speed"], "a": found["acceleration"]}
            found["torque"] = self.block.value_over(leaf, TaylorModel.constant)[TORQUE]
        return found

    def _step(self, w: TaylorModel) -> list[Any]:
        """S' , S'' and S'''."""
        first, last = self.along.ends
        return [_horner(self.along.derivative(order) * (last - first), w) for order in (1, 2, 3)]

    def _path(self, w: TaylorModel, start: TaylorModel, rows: Model) -> list[list[Any]]:
        """p and its derivatives by s up to the third, one model per joint each."""
        first, last = self.along.ends
        u = first + _horner(self.along.coefficients * (last - first), w) - start
        n = self.model.n
        powers = [rows[i : i + n] for i in range(0, len(rows), n)]
        found = []
        for _ in range(4):
            found.append([_horner([power[joint] for power in powers], u) for joint in range(n)])
            powers = [[float(i) * each for each in power] for i, power in enumerate(powers)][1:]
        return found


def _horner(coefficients: Any, x: TaylorModel) -> Any:
    """The polynomial with these coefficients, lowest power first."""
    found: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        found = found * x + coefficient
    return found
