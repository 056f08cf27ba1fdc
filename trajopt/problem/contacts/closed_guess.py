"""A guess of a motion whose loops are closed: at each time the nearest closed pose, on one branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.problem.contacts.loop_ends import fixed_at, order_of_following, pose_at
from trajopt.problem.contacts.loop_poses import NEARLY, LoopPoses
from trajopt.problem.guess import GuessedCurve
from trajopt.splines.node_sets import END, START


@dataclass(frozen=True, eq=False)
class ClosedGuess:
    """A guessed curve with the joints of loops moved until these are closed.

    first : (n,) the pose at the start as far as it is known, see `pose_at`
    last : groups of joints in the order in which they follow from others

    At each time joints that follow from others start from the pose before, so that a linkage stays on its
    branch; where they reach no closed pose, all joints move, and where these do not either, the guess stays.
    """

    curve: GuessedCurve
    poses: LoopPoses
    first: Array
    last: Sequence[Array]

    @staticmethod
    def of(problem: Any, curve: GuessedCurve) -> ClosedGuess:
        """The guess of a problem with its loops closed."""
        poses = LoopPoses(problem, list(problem.closures.values()))
        fixed = fixed_at(problem, "q", START)[0] | fixed_at(problem, "q", END)[0]
        groups = order_of_following(problem, fixed)
        return ClosedGuess(curve, poses, pose_at(problem, START), groups)

    def __call__(self, s: ArrayLike) -> Array:
        values = np.array(self.curve(s), dtype=float)
        before, times = self.first, np.asarray(s, dtype=float)
        for place in np.argsort(times, kind="stable"):
            before = self._closed(values[place, : before.size], before)
            values[place, : before.size] = before
        return values

    def _closed(self, guess: Array, before: Array) -> Array:
        if np.abs(self.poses.misfit(guess)).max() < NEARLY:  # as a motion of a coarser mesh is
            return guess
        follows = self.poses.following(self.poses.stated(before), self.last)
        found = self.poses.nearest(np.where(follows, before, guess), ~follows)
        if self.poses.is_met(found):
            return found
        try:
            return self.poses.closed(np.where(follows, before, guess))
        except InfeasibleBoundsError:
            return guess
