"""A path of the joints past obstacles: two trees of poses that grow towards each other (RRT-Connect).

From the pose of a tree that is nearest to a random one it goes straight there, as far as poses on the way
are clear; the other tree then tries to reach where that ended, and both change places. Corners are then cut
where the straight line between two points of the path is clear. Poses on a line are checked one by one, so
that what is between them is not known: a solve that starts from the path looks at it (`solve_clear`).

Source: Kuffner and LaValle, RRT-Connect: an efficient approach to single-query path planning, ICRA 2000. OMPL
has it too; its random numbers can be seeded only once in a process, and its searches end by the clock.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arguments import check_count, check_positive, finite_numbers
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, ShapeError

if TYPE_CHECKING:
    from dynamics.quantities.clearances import Clearances

RESOLUTION = 0.05  # rad or m, of the joint that moves most between two poses on a line
LONGEST = 1.0  # rad or m: how far a tree grows towards a random pose
CUTS = 100  # attempts to cut a corner
LESS = 1e-3  # of the way between two points of the path: a shorter cut is none


def planned_path(
    clearances: Clearances, start: Any, goal: Any, clearance: float = 0.0, most: int = 5000, seed: int = 0
) -> Array | None:
    """Poses (k, n) from start to goal, (n,) each, joined by straight lines of the joints; None: not found.

    clearance : m, of every pose that is checked; most : random poses; seed : of them, for equal paths
    Raises InfeasibleBoundsError for an end that is outside of the joints' ranges or touches; ShapeError,
    NotFiniteError and OptionError for other ends and options.
    """
    check_count("most", most)
    check_count("seed", seed)
    check_positive("clearance", clearance, or_zero=True)
    n, rng = clearances.model.n, np.random.default_rng(seed)
    a, b = finite_numbers(start, "the start"), finite_numbers(goal, "the goal")
    for pose, name in ((a, "start"), (b, "goal")):
        if pose.shape != (n,):
            raise ShapeError(f"the {name} has shape {pose.shape}: expected ({n},)")
        _check_end(clearances, pose, name, clearance)
    found = _Trees(clearances, clearance).joined(a, b, most, rng)
    return None if found is None else shortened(clearances, found, clearance, rng)


def is_clear(clearances: Clearances, path: Array, clearance: float) -> bool:
    """True if poses on the straight lines between those of a path (k, n) keep a clearance, m."""
    lines = [path[:1], *(_line(a, b) for a, b in itertools.pairwise(path))]
    poses = np.concatenate(lines)
    return _clear_count(clearances, poses, clearance) == len(poses)


def shortened(clearances: Clearances, path: Array, clearance: float, rng: np.random.Generator) -> Array:
    """A path (k, n) with corners cut between random points of it, where the line between them is clear."""
    for _ in range(CUTS):
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
        s = np.sort(rng.uniform(0.0, along[-1], 2))
        i, j = np.searchsorted(along, s)
        a, b = (np.array([np.interp(at, along, column) for column in path.T]) for at in s)
        if np.linalg.norm(b - a) > (1.0 - LESS) * (s[1] - s[0]):
            continue
        line = _line(a, b)
        if _clear_count(clearances, line, clearance) == len(line):
            path = np.concatenate([path[:i], [a, b], path[j:]])
    return path


def _check_end(clearances: Clearances, pose: Array, name: str, clearance: float) -> None:
    limits = clearances.model.limits
    outside = np.flatnonzero((pose < limits.q_lower) | (pose > limits.q_upper))
    if outside.size:
        joint = int(outside[0])
        raise InfeasibleBoundsError(
            f"joint {clearances.model.joint_names[joint]!r} is at {pose[joint]:.6g} at the {name}, outside "
            f"its limits {limits.q_lower[joint]:.6g} to {limits.q_upper[joint]:.6g}: give another {name}"
        )
    distances = clearances.distances(pose)
    if distances.size and distances.min() < clearance:
        pair = int(np.argmin(distances))
        raise InfeasibleBoundsError(
            f"{clearances.pair_name(pair)} are {1e3 * distances[pair]:.3g} mm apart at the {name}, where "
            f"{1e3 * clearance:.3g} mm are asked for: give another {name}, or less clearance"
        )


def _line(a: Array, b: Array) -> Array:
    """Poses from a, which is left out, to b."""
    count = max(1, int(np.ceil(np.abs(b - a).max() / RESOLUTION)))
    return a + (np.arange(1, count + 1) / count)[:, None] * (b - a)


def _clear_count(clearances: Clearances, poses: Array, clearance: float) -> int:
    """Number of poses (k, n) that are clear before the first that is not."""
    reach = clearance + RESOLUTION  # farther distances need not be known
    touching = clearances.distances(poses, reach).min(axis=1, initial=reach) < clearance
    return int(np.argmax(touching)) if touching.any() else len(poses)


class _Tree:
    """Poses, each with the number of the one that it was reached from."""

    def __init__(self, root: Array) -> None:
        self.poses, self.parents = root[None], [-1]

    def nearest(self, pose: Array) -> int:
        return int(np.argmin(np.square(self.poses - pose).sum(axis=1)))

    def add(self, pose: Array, parent: int) -> int:
        self.poses = np.concatenate([self.poses, pose[None]])
        self.parents.append(parent)
        return len(self.parents) - 1

    def way(self, number: int) -> list[Array]:
        """Way from a pose to the root."""
        found = []
        while number >= 0:
            found.append(self.poses[number])
            number = self.parents[number]
        return found


class _Trees:
    """The search for poses that join two trees."""

    def __init__(self, clearances: Clearances, clearance: float) -> None:
        self.clearances, self.clearance = clearances, clearance

    def joined(self, start: Array, goal: Array, most: int, rng: np.random.Generator) -> Array | None:
        limits = self.clearances.model.limits
        near = np.abs([start, goal]).max(axis=0) + np.pi  # of joints without a range
        low, high = np.maximum(limits.q_lower, -near), np.minimum(limits.q_upper, near)
        one, other, forwards = _Tree(start), _Tree(goal), True
        aim = goal
        for _ in range(most):
            grown = self._grown(one, aim, LONGEST)
            if grown is not None:
                met = self._grown(other, one.poses[grown], np.inf)
                if met is not None and np.array_equal(other.poses[met], one.poses[grown]):
                    way = [*one.way(grown)[::-1], *other.way(met)[1:]]
                    return np.array(way if forwards else way[::-1])
            one, other, forwards = other, one, not forwards
            aim = rng.uniform(low, high)
        return None

    def _grown(self, tree: _Tree, aim: Array, longest: float) -> int | None:
        """The number of the pose that is reached from the nearest one towards an aim; None where none is."""
        nearest = tree.nearest(aim)
        origin = tree.poses[nearest]
        share = min(1.0, longest / max(float(np.linalg.norm(aim - origin)), RESOLUTION))
        line = _line(origin, aim if share == 1.0 else origin + share * (aim - origin))
        if share == 1.0:
            line[-1] = aim  # without rounding: trees have met where their poses are equal
        count = _clear_count(self.clearances, line, self.clearance)
        return tree.add(line[count - 1], nearest) if count else None
