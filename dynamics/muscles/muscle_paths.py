"""`MusclePaths`: lengths, lengthening speeds and moment arms of all muscles of a robot at given poses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import list_names, real_array
from dynamics.couplings.coupled_tree import CoupledTree
from dynamics.errors import MuscleError, ShapeError
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.muscles.geometry_path import GeometryPath
from dynamics.muscles.packed_paths import PackedPaths, PathsInPoses
from dynamics.muscles.path_errors import Boxes, largest_errors
from dynamics.muscles.path_fit import PathSamples, fitted_surrogate, latin_hypercube
from dynamics.muscles.path_polynomials import PathSurrogate
from dynamics.muscles.surrogate_files import digest_of, store, stored

Array = np.ndarray
CHUNK = 256  # poses at a time, which bounds the memory for points
UNLIMITED = np.pi  # rad or m, to which coordinates without limits are sampled
NEAR = 0.15  # rad or m, within which samples lie about a motion
FAR_WEIGHT = 0.2  # of samples all over the ranges, where a motion is given
LEAST_SAMPLES = 10


@dataclass(frozen=True, eq=False)
class MusclePaths:
    """Paths of m muscles on a robot with n coordinates.

    model : a `RigidBodyModel` or a `CoupledModel`;  paths : of the muscles, in order
    stale_ends : whether straight parts next to a surface end where the first round of wraps put them, which
        is what OpenSim 4 measures by an oversight: up to 6 mm for a path over two surfaces that touch

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

    @property
    def tree(self) -> KinematicTree:
        """The tree of the robot, without its couplings."""
        return self._packed.tree

    def lengths(self, q: ArrayLike) -> Array:
        """(..., m) m, lengths of the paths in poses q (..., n)."""
        q, shape = self._poses(q)
        return self._by_blocks(q, lambda now, _: now.lengths).reshape(*shape, len(self.paths))

    def moment_arms(self, q: ArrayLike) -> Array:
        """(..., m, n) moment arms in poses q (..., n): m for a coordinate in rad, 1 for one in m.

        r = -dL/dq, the generalized force of a tension of 1 N at the points of the path. Where the path on a
        surface is not the shortest one (see `wraps`), it is the force that counts, as in OpenSim.
        """
        q, shape = self._poses(q)
        arms = self._by_blocks(q, lambda now, rows: self._packed.arms(now, q[rows]))
        return arms.reshape(*shape, len(self.paths), self.model.n)

    def speeds(self, q: ArrayLike, v: ArrayLike) -> Array:
        """(..., m) m/s, lengthening speeds -r v, at poses and rates (..., n)."""
        return -np.einsum("...mn,...n->...m", self.moment_arms(q), real_array(v, "v"))

    def wrenches(self, q: ArrayLike, tensions: ArrayLike) -> Array:
        """(K, links, 6) [moment; force] of tensions (K, m) N on the links, world axes and origin.

        q : (K, n). A tension pulls at the points of its path and at the tangent points of its wraps.
        """
        q, tensions = self._poses(q)[0], real_array(tensions, "tensions")
        if tensions.shape != (len(q), len(self.paths)):
            raise ShapeError(
                f"tensions have shape {tensions.shape}; ({len(q)}, {len(self.paths)}) is expected, a column "
                f"for each of {list_names(self.names)}"
            )
        return self._by_blocks(q, lambda now, rows: self._packed.wrenches(now, tensions[rows]))

    def pulls(self, q: ArrayLike, link: str) -> Array:
        """(K, m, 3) forces on a link and all that it carries, in world axes, of 1 N each; q : (K, n)."""
        packed = self._packed
        counted = packed.inner[:, packed.tree.link_index(link)]
        return self._by_blocks(
            self._poses(q)[0],
            lambda now, _: np.einsum("kmpi,kmp->kmi", packed.forces(now), counted[now.links]),
        )

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

    # --- polynomials --------------------------------------------------------------------------------

    def surrogate(
        self,
        motion: ArrayLike | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        samples: int = 1500,
        tolerances: tuple[float, float] = (2e-4, 5e-4),
        kept: bool = True,
    ) -> PathSurrogate:
        """Polynomials of at most six coordinates, fitted to lengths and moment arms in this robot's ranges.

        motion : poses (K, n); half of the samples then lie near them, and errors are told of these
        ranges : coordinate -> its least and largest value, in place of the robot's limits
        samples : poses in all;  tolerances : m, of lengths and moment arms, until which the order rises
        kept : whether the result is kept on disk, and read from there where all is the same

        Of a path over more than six coordinates those with the largest moment arms count. `misses` of the
        result names the paths that are farther off than a tolerance, by a search for the largest errors
        within the ranges, or within 0.15 of the motion, corners and edges included (`largest_errors`).

        Raises MuscleError for coordinates that the robot lacks, ranges that end before they begin, fewer than
        10 samples, a motion without poses or with numbers that are not finite.
        """
        lower, upper = self._ranges({} if ranges is None else ranges)
        near = None if motion is None else self._poses(motion)[0]
        if near is not None and not (len(near) and np.all(np.isfinite(near))):
            raise MuscleError(f"motion has {len(near)} poses: give one or more, of finite numbers")
        if samples < LEAST_SAMPLES or not (min(tolerances) > 0.0 and len(tolerances) == 2):
            raise MuscleError(
                f"{samples} samples and tolerances {tolerances}: give {LEAST_SAMPLES} samples or more, and "
                "two positive tolerances, m"
            )
        tree, followers = self._packed.tree, getattr(self.model, "followers", {})
        digest = digest_of(
            tree.to_json(), followers, self.paths, self.stale_ends, near, lower, upper, samples, tolerances
        )
        found = stored(digest) if kept else None
        if found is None:
            stretches = [self._packed.stretches_of(path) for path in self.paths]
            flat = [each for part in stretches for each in part]
            alone, rng = replace(self, paths=tuple(each.path for each in flat)), np.random.default_rng(0)
            fit, check = (
                alone._samples(lower, upper, near, count, rng) for count in (samples, max(samples // 4, 10))
            )
            if near is not None:
                check = check.counting_fully()
            owners = np.repeat(np.arange(len(stretches)), list(map(len, stretches)))
            found = fitted_surrogate(self.names, self.model.joint_names, owners, flat, fit, check, tolerances)
            boxes = Boxes(lower[None], upper[None]) if near is None else Boxes(near - NEAR, near + NEAR)
            lengths, arms = largest_errors(found, lambda names: self.only(names)._lengths_and_arms, boxes)
            found = replace(found, length_errors=lengths, arm_errors=arms)
            if kept:
                store(digest, found)
        return found

    def _lengths_and_arms(self, q: Array) -> tuple[Array, Array]:
        """(K, m) and (K, m, n), as `lengths` and `moment_arms` give them apart."""
        both = self._by_blocks(q, lambda now, rows: np.dstack([now.lengths, self._packed.arms(now, q[rows])]))
        return both[:, :, 0], both[:, :, 1:]

    def _by_blocks(self, q: Array, of: Callable[[PathsInPoses, slice], Array]) -> Array:
        """Arrays of the paths in poses (K, n), block by block, which fit into memory; also of no poses."""
        blocks = [slice(i, i + CHUNK) for i in range(0, max(len(q), 1), CHUNK)]
        return np.concatenate([of(self._packed.at(q[rows]), rows) for rows in blocks])

    def _ranges(self, given: Mapping[str, tuple[float, float]]) -> tuple[Array, Array]:
        limits, names = self.model.limits, self.model.joint_names
        lower = np.where(np.isfinite(limits.q_lower), limits.q_lower, -UNLIMITED)
        upper = np.where(np.isfinite(limits.q_upper), limits.q_upper, UNLIMITED)
        for name, (low, high) in given.items():
            if name not in names:
                raise MuscleError(f"ranges has '{name}', which is no coordinate: {list_names(names)}")
            if not -np.inf < low <= high < np.inf:
                raise MuscleError(f"the range of '{name}' is from {low} to {high}: give two finite ends")
            lower[names.index(name)], upper[names.index(name)] = low, high
        return lower, upper

    def _samples(
        self, lower: Array, upper: Array, near: Array | None, count: int, rng: np.random.Generator
    ) -> PathSamples:
        """Poses all over the ranges, or half of them near given ones, with lengths and moment arms."""
        q = latin_hypercube(lower, upper, count if near is None else count // 2, rng)
        weights = np.full(len(q), 1.0 if near is None else FAR_WEIGHT)
        if near is not None:
            more = count - len(q)
            about = NEAR * rng.uniform(-1.0, 1.0, (more, q.shape[1]))
            about += near[np.arange(more) * len(near) // more]
            q, weights = np.concatenate([q, about]), np.concatenate([weights, np.ones(more)])
        return PathSamples(q, *self._lengths_and_arms(q), weights)

    def _poses(self, q: ArrayLike) -> tuple[Array, tuple[int, ...]]:
        q = real_array(q, "q")
        if q.shape[-1:] != (self.model.n,):
            names = list_names(self.model.joint_names)
            raise ShapeError(f"q has shape {q.shape} but the model has n = {self.model.n} joints ({names})")
        return q.reshape(-1, self.model.n), q.shape[:-1]
