"""Torque error of modelling rotors as armature inertia instead of as bodies, along a motion.

The usual approximation of adding gear_ratio^2 * axial inertia to the diagonal of M leaves out that a rotor
turns with its parent: the cross terms between joints and the gyroscopic torques of fast rotors (Echeandia
2020, chapter 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dynamics.arguments import is_listed, real_array
from dynamics.errors import ShapeError
from dynamics.model.kinematic_tree import KinematicTree, checked_model

SAMPLES = 201


@dataclass(frozen=True, eq=False)
class ArmatureError:
    """Torque by armature less torque by exact rotors, along a motion.

    largest : (n,) largest absolute difference of each joint, N m or N
    relative : (n,) the same divided by the joint's largest torque with exact rotors
    sample : (n,) the row of the motion at which it occurs
    """

    joint_names: tuple[str, ...]
    largest: np.ndarray
    relative: np.ndarray
    sample: np.ndarray

    @property
    def worst(self) -> float:
        """The largest relative error of any joint."""
        return float(self.relative.max())

    def __str__(self) -> str:
        rows = zip(self.joint_names, self.largest, self.relative, strict=True)
        lines = [f"{name:<28}{largest:>12.4g}{100 * relative:>9.2f} %" for name, largest, relative in rows]
        return "\n".join([f"{'armature instead of rotors':<28}{'N m or N':>12}{'of peak':>11}", *lines])


def armature_error(model: KinematicTree, trajectory: Any) -> ArmatureError:
    """Largest torque error of rotors as armature, max_t |tau_armature(t) - tau_exact(t)|, of every joint.

    model : its rotors are taken exactly and as armature, whatever `model.rotors` says
    trajectory : (q, v, a), arrays (samples, n), or anything with q(t), v(t), a(t) and a duration in seconds
    Raises ShapeError for anything else. Source: Echeandia (2020), tables 4.3 to 4.5.
    """
    from dynamics.algorithms.rnea import rnea

    q, v, a = _samples(checked_model(model), trajectory)
    exact = rnea(model.with_rotors("exact"), q, v, a)
    difference = np.abs(rnea(model.with_rotors("armature"), q, v, a) - exact)
    peak = np.abs(exact).max(axis=0)
    largest = difference.max(axis=0)
    relative = np.divide(largest, peak, out=np.zeros_like(largest), where=peak > 0.0)
    return ArmatureError(tuple(model.joint_names), largest, relative, difference.argmax(axis=0))


def _samples(model: KinematicTree, trajectory: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if all(hasattr(trajectory, name) for name in ("q", "v", "a", "duration")):
        t = np.linspace(0.0, float(trajectory.duration), SAMPLES)
        return trajectory.q(t), trajectory.v(t), trajectory.a(t)
    if not is_listed(trajectory) or len(trajectory) != 3:
        raise ShapeError(
            f"the trajectory is a {type(trajectory).__name__}: give (q, v, a), arrays (samples, n), or an "
            "object with q(t), v(t), a(t) and duration"
        )
    named = zip(("q", "v", "a"), trajectory, strict=True)
    q, v, a = (np.atleast_2d(real_array(part, f"{name} of the trajectory")) for name, part in named)
    if not q.size or any(part.shape != (len(q), model.n) for part in (q, v, a)):
        raise ShapeError(
            f"q, v and a of the trajectory have shapes {q.shape}, {v.shape} and {a.shape}: give (samples, "
            f"{model.n}) each, at least one sample"
        )
    return q, v, a
