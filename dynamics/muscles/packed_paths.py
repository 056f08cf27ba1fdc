"""Paths of muscles as arrays for the kernels of `wrapped_paths`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dynamics.couplings.coupled_motion import CoupledMotion
from dynamics.couplings.coupled_tree import CoupledTree, Follower
from dynamics.errors import MuscleError
from dynamics.model.joint import JOINT_TYPES
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.muscles.geometry_path import QUADRANTS, SIZES, GeometryPath, WrapSurface
from dynamics.muscles.wrapped_paths import INACTIVE, path_points
from dynamics.quantities.kinematics import forward_kinematics

Array = np.ndarray
METHODS = ("hybrid", "midpoint", "axial")
NEAR_CONDITION = 1e-5  # rad or m, by which a conditional point counts beyond its ends, as in OpenSim


@dataclass(frozen=True, eq=False)
class PathsInPoses:
    """Paths in K poses: what `path_points` returns, and the poses of the links, the ground last.

    lengths : (K, m);  counts : (K, m) points of each path, wraps included
    links : (K, m, points) of each point, that of the ground as the number of links;  rows : its row among the
        points of the paths, -1 on a surface
    places, ends : (K, m, points, 3) in the world, ends of wraps and of straight parts (see `wrapped_paths`)
    """

    lengths: Array
    counts: Array
    links: Array
    rows: Array
    places: Array
    ends: Array
    rotations: Array
    positions: Array
    motion: CoupledMotion | None


@dataclass(frozen=True, eq=False)
class Stretch:
    """A part of a path with the coordinates that change it.

    hinges : those of the coordinates by which the squared length of a straight part is a sum of 1, cos q and
        sin q: they turn one joint alone, as it is
    """

    path: GeometryPath
    coordinates: list[int]
    hinges: list[int]

    @property
    def is_straight(self) -> bool:
        """A stretch between two points, where no surface may be between them."""
        return len(self.path.points) == 2 and not self.path.wraps


class PackedPaths:
    """Arrays of the paths on a robot, made once; raises MuscleError naming links and coordinates it lacks."""

    def __init__(self, model: KinematicTree | CoupledTree, paths: Sequence[GeometryPath], keep: bool) -> None:
        self.keep = keep
        self.model, self.tree = model, model.tree if isinstance(model, CoupledTree) else model
        if self.tree.rotation_joints:
            raise MuscleError("the robot has a ball joint; muscles need joints of one coordinate each")
        points = [point for path in paths for point in path.points]
        wraps = [wrap for path in paths for wrap in path.wraps]
        surfaces = list({id(wrap.surface): wrap.surface for wrap in wraps}.values())
        places = {id(surface): i for i, surface in enumerate(surfaces)}
        self.local = np.array([point.position for point in points]).reshape(-1, 3)
        self.links = np.array([self._link(point.link) for point in points], np.int64)
        self.moves = [(i, point.moves) for i, point in enumerate(points) if point.moves]
        self.moving = np.array([*(bool(point.moves) for point in points), False])  # the last is on a surface
        self.conditions = [(i, point.condition) for i, point in enumerate(points) if point.condition]
        rows = [(places[id(w.surface)], w.first, w.last, METHODS.index(w.method)) for w in wraps]
        self.wraps = np.array(rows, np.int64).reshape(-1, 4)
        self.surfaces = self._packed_surfaces(surfaces)
        counts, wrap_counts = [len(p.points) for p in paths], [len(p.wraps) for p in paths]
        widest = max((n + 2 * w for n, w in zip(counts, wrap_counts, strict=True)), default=0)
        self.spans = (
            np.cumsum([0, *counts]).astype(np.int64),
            np.cumsum([0, *wrap_counts]).astype(np.int64),
            widest,
        )
        self.axes = np.array([joint.axis for joint in self.tree.joints]).reshape(-1, 3)
        self.turns = np.array([JOINT_TYPES[joint.kind].turn != 0.0 for joint in self.tree.joints], bool)
        self.inner = np.zeros((self.tree.link_count + 1, self.tree.link_count))  # joints inside of a link
        for link in range(self.tree.link_count):
            self.inner[link, list(self._chain(link))] = 1.0
        ratios = np.array([joint.ratio for joint in self.tree.joints])
        self.displacement = np.eye(self.tree.n)[self.tree.coordinate] * ratios[:, None]

    def _link(self, name: str | None) -> int:
        return self.tree.link_count if name is None else self.tree.link_index(name)

    def _packed_surfaces(self, surfaces: Sequence[WrapSurface]) -> tuple[Array, ...]:
        sizes = np.zeros((len(surfaces), 3))
        for i, surface in enumerate(surfaces):
            sizes[i, : len(surface.sizes)] = surface.sizes
        return (
            np.array([list(SIZES).index(s.kind) if s.active else INACTIVE for s in surfaces], np.int64),
            sizes,
            np.array([QUADRANTS[s.quadrant.lower()] for s in surfaces], np.int64).reshape(-1, 2),
            np.array([self._link(surface.link) for surface in surfaces], np.int64),
            np.array([surface.rotation.T for surface in surfaces], order="C").reshape(-1, 3, 3),
            np.array([surface.position for surface in surfaces]).reshape(-1, 3),
        )

    def stretches_of(self, path: GeometryPath) -> list[Stretch]:
        """The stretches of a path: its length is the sum of theirs.

        A straight part between two points is one. What a conditional point joins is one stretch, and so is
        all that wraps may touch, as surfaces are tried in turn until the whole path settles.
        """
        count = len(path.points)
        joined = np.zeros(count, dtype=bool)  # points with the same stretch before and behind them
        joined[[i for i, point in enumerate(path.points) if point.condition is not None]] = True
        if path.wraps:
            joined[min(w.first for w in path.wraps) + 1 : max(w.last for w in path.wraps)] = True
        ends = [0, *(i for i in range(1, count - 1) if not joined[i]), count - 1]
        found = []
        for first, last in pairwise(ends):
            wraps = [w for w in path.wraps if w.first < last and first < w.last]
            own = tuple(replace(w, first=w.first - first, last=w.last - first) for w in wraps)
            part = GeometryPath(f"{path.name} {first}", path.points[first : last + 1], own)
            coordinates, hinges = self._moving(part)
            found.append(Stretch(part, coordinates, hinges))
        return found

    def _moving(self, path: GeometryPath) -> tuple[list[int], list[int]]:
        """Places in q of the coordinates that move a path's links against each other, or points; hinges."""
        links = {point.link for point in path.points} | {w.surface.link for w in path.wraps}
        chains = [self._chain(self._link(link)) for link in links]
        joints = set().union(*chains).difference(set.intersection(*chains))
        followers = [follower for point in path.points for _, follower in point.moves]
        followers += [point.condition.value for point in path.points if point.condition is not None]
        followed = [self.column(follower) for follower in followers]
        hinges = set[int]()
        for joint in joints:
            place = int(self.tree.coordinate[joint])
            is_own = abs(self.tree.joints[joint].ratio) == 1.0
            if isinstance(self.model, CoupledTree):
                is_own = is_own and place not in self.model.functions
                place = int(self.model.follows[place])
            if is_own and self.turns[joint]:
                hinges.add(place)
            followed.append(place)
        return sorted(set(followed)), sorted(place for place in hinges if followed.count(place) == 1)

    def _chain(self, link: int) -> set[int]:
        found = set[int]()
        while 0 <= link < self.tree.link_count:
            found.add(link)
            link = int(self.tree.parent[link])
        return found

    def values(self, follower: Follower, q: Array, order: int) -> Array:
        """(order + 1, K): a function of a coordinate of the robot and its derivatives."""
        return follower.function.derivatives(q[:, self.column(follower)], order)

    def column(self, follower: Follower) -> int:
        """The coordinate that a function takes; MuscleError where the robot has none of its name."""
        names = self.model.joint_names
        if follower.coordinate not in names:
            raise MuscleError(f"a path follows '{follower.coordinate}', which is no coordinate of the robot")
        return names.index(follower.coordinate)

    def at(self, q: Array) -> PathsInPoses:
        """The paths in poses (K, n)."""
        motion = CoupledMotion(self.model, {"q": q}, 1) if isinstance(self.model, CoupledTree) else None
        poses = forward_kinematics(self.tree, q if motion is None else motion.arrays["q"])
        ground = np.broadcast_to(np.eye(3), (len(q), 1, 3, 3)), np.zeros((len(q), 1, 3))
        rotations = np.concatenate([poses.rotation, ground[0]], axis=1)
        positions = np.concatenate([poses.position, ground[1]], axis=1)

        def in_world(links: Array, local: Array) -> Array:
            turned = np.einsum("kpij,kpj->kpi", rotations.take(links, axis=1), local)
            return turned + positions.take(links, axis=1)

        local = np.tile(self.local, (len(q), 1, 1))
        for row, moves in self.moves:
            for direction, follower in moves:
                local[:, row] += self.values(follower, q, 0)[0][:, None] * direction
        active = np.ones(local.shape[:2], bool)
        for row, condition in self.conditions:
            value = self.values(condition.value, q, 0)[0]
            lower, upper = condition.lower - NEAR_CONDITION, condition.upper + NEAR_CONDITION
            active[:, row] = (value >= lower) & (value <= upper)
        kinds, sizes, quadrants, carriers, axes, origins = self.surfaces
        lengths, counts, links, rows, places, ends = path_points(
            in_world(self.links, local), active, in_world(carriers, np.tile(origins, (len(q), 1, 1))),
            np.einsum("kpij,pcj->kpci", rotations.take(carriers, axis=1), axes), (self.links, self.wraps),
            (kinds, sizes, quadrants, carriers), self.spans, self.keep,
        )  # fmt: skip
        return PathsInPoses(lengths, counts, links, rows, places, ends, rotations, positions, motion)

    def forces(self, now: PathsInPoses) -> Array:
        """(K, m, points, 3) forces of a tension of 1 N on the points, in the world.

        Parts between points of one link pull it at both ends alike and are left out, unless one of them
        moves. Parts of no length have no direction and do not pull.
        """
        moves, steps = self.moving[now.rows], np.diff(now.ends, axis=2)
        size = np.linalg.norm(steps, axis=-1, keepdims=True)
        pulls = (now.links[:, :, 1:] != now.links[:, :, :-1]) | moves[:, :, 1:] | moves[:, :, :-1]
        pulls &= np.arange(1, now.links.shape[2]) < now.counts[:, :, None]
        share = np.divide(steps, size, out=np.zeros_like(steps), where=pulls[..., None] & (size > 0.0))
        forces = np.zeros_like(now.ends)
        forces[:, :, :-1] += share
        forces[:, :, 1:] -= share
        return forces

    def arms(self, now: PathsInPoses, q: Array) -> Array:
        """(K, m, n) generalized forces of a tension of 1 N."""
        forces, origins = self.forces(now), now.positions[:, :-1]
        axes = np.einsum("kjic,jc->kji", now.rotations[:, :-1], self.axes)
        turns = self.turns[:, None]
        screws = [np.where(turns, axes, 0.0), np.where(turns, np.cross(origins, axes), axes)]
        wrenches = np.concatenate([np.cross(now.places, forces), forces], axis=-1)
        powers = wrenches @ np.concatenate(screws, axis=-1).transpose(0, 2, 1)[:, None]
        arms = np.einsum("kmpj,kmpj->kmj", powers, self.inner[now.links]) @ self.displacement
        if now.motion is not None:
            arms = now.motion.gathered(arms * now.motion.f[1][:, None, :])
        for row, moves in self.moves:
            path = int(np.searchsorted(self.spans[0], row, "right")) - 1
            pull = np.einsum("kp,kpi->ki", now.rows[:, path] == row, forces[:, path])
            local = np.einsum("kij,ki->kj", now.rotations[:, self.links[row]], pull)
            for direction, follower in moves:
                slope = self.values(follower, q, 1)[1]
                arms[:, path, self.column(follower)] += local @ direction * slope
        return arms

    def wrenches(self, now: PathsInPoses, tensions: Array) -> Array:
        """(K, links, 6) [moment; force] of tensions (K, m) on the links, about the world's origin."""
        forces = self.forces(now) * tensions[:, :, None, None]
        found = np.zeros((len(tensions), self.tree.link_count + 1, 6))  # the last is the ground
        pose = np.broadcast_to(np.arange(len(tensions))[:, None, None], now.links.shape)
        np.add.at(found, (pose, now.links), np.concatenate([np.cross(now.places, forces), forces], axis=-1))
        return found[:, :-1]
