"""`MusclePaths`: lengths, lengthening speeds and moment arms of all muscles of a robot at given poses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dynamics.arguments import list_names, real_array
from dynamics.couplings.coupled_tree import CoupledTree
from dynamics.errors import MuscleError, ShapeError
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.muscles.geometry_path import GeometryPath
from dynamics.muscles.packed_paths import PackedPaths

Array = np.ndarray
CHUNK = 256  # poses at a time, which bounds the memory for points


@dataclass(frozen=True, eq=False)
class MusclePaths:
    """Paths of m muscles on a robot with n coordinates.

    model : a `RigidBodyModel` or a `CoupledModel`;  paths : of the muscles, in order
    stale_ends : whether straight parts next to a surface end where the first round of wraps put them, which
        is what OpenSim 4 measures by an oversight: up to 5 mm for a path over two surfaces that touch

    Raises MuscleError naming the path: two of one name, links or coordinates that the robot lacks.
    """

    model: KinematicTree | CoupledTree
    paths: tuple[GeometryPath, ...]
    stale_ends: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", tuple(self.paths))
        if len(set(self.names)) < len(self.names):
            twice = sorted({name for name in self.names if self.names.count(name) > 1})
            raise MuscleError(f"several paths are named {list_names(twice)}: rename")
        assert self._packed is not None

    @property
    def names(self) -> tuple[str, ...]:
        """(m,) names of the muscles."""
        return tuple(path.name for path in self.paths)

    @cached_property
    def _packed(self) -> PackedPaths:
        return PackedPaths(self.model, self.paths, self.stale_ends)

    def lengths(self, q: Any) -> Array:
        """(..., m) m, lengths of the paths in poses q (..., n)."""
        q, shape = self._poses(q)
        return np.concatenate([self._packed.at(part).lengths for part in parts(q)]).reshape(*shape, -1)

    def moment_arms(self, q: Any) -> Array:
        """(..., m, n) moment arms in poses q (..., n): m for a coordinate in rad, 1 for one in m.

        r = -dL/dq, the generalized force of a tension of 1 N at the points of the path. Where the path on a
        surface is not the shortest one (see `wraps`), it is the force that counts, as in OpenSim.
        """
        q, shape = self._poses(q)
        arms = [self._packed.arms(self._packed.at(part), part) for part in parts(q)]
        return np.concatenate(arms).reshape(*shape, len(self.paths), self.model.n)

    def speeds(self, q: Any, v: Any) -> Array:
        """(..., m) m/s, lengthening speeds -r v, at poses and rates (..., n)."""
        return -np.einsum("...mn,...n->...m", self.moment_arms(q), real_array(v, "v"))

    def as_opensim(self) -> MusclePaths:
        """The same with `stale_ends`, to compare with numbers of OpenSim 4."""
        return replace(self, stale_ends=True)

    def only(self, names: Iterable[str]) -> MusclePaths:
        """The paths of these muscles alone, in this order."""
        by_name = dict(zip(self.names, self.paths, strict=True))
        missing = [name for name in names if name not in by_name]
        if missing:
            raise MuscleError(f"there is no muscle {list_names(missing)}; there are {list_names(self.names)}")
        return replace(self, paths=tuple(by_name[name] for name in names))

    def _poses(self, q: Any) -> tuple[Array, tuple[int, ...]]:
        q = real_array(q, "q")
        if q.shape[-1:] != (self.model.n,):
            names = list_names(self.model.joint_names)
            raise ShapeError(f"q has shape {q.shape} but the model has n = {self.model.n} joints ({names})")
        return q.reshape(-1, self.model.n), q.shape[:-1]


def parts(q: Array) -> list[Array]:
    """Poses in blocks that fit into memory; one empty block where there are none."""
    return [q[i : i + CHUNK] for i in range(0, max(len(q), 1), CHUNK)]
