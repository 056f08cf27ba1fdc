"""The gait cycle of a solved step: the right leg does a step later what the left leg does now, mirrored.

A step takes the time from the right heel's strike (t = 0) to the left one's (t = T). After it left and right
have changed places, mirrored, and the body has moved on by the step length: the right leg's cycle is its own
half [0, T] followed by the left leg's. A solution that repeats itself without a mirror is the cycle already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from problems.human.body.model import other_side, step_symmetry
from problems.human.body.person import Person
from problems.human.gait.ground_reaction import MIRRORED, REACTION
from trajopt.base.arguments import check_known
from trajopt.base.errors import ProblemError
from trajopt.terms.term import operands_of

if TYPE_CHECKING:
    from trajopt import Solution

REPEATS = 1e-6  # rad and m, how closely the end of a step has to meet its beginning
UNLOADED = 1e-9  # of body weight


@dataclass(frozen=True, eq=False)
class Cycle:
    """A gait cycle of the right leg: states (K, n) and loads (K, 6) on links of both sides at times (K,) s.

    The middle of the cycle appears twice, as the end of one step and as the start of the next, so that jumps
    of accelerations and forces are seen. Loads are [moment; force] about the world origin, world axes.

    ground : the part of the loads that is the ground's, on the feet; the rest are devices, pushes and others
    mirrored : whether its halves are mirror images, and so the cycle is that of either leg
    """

    joint_names: tuple[str, ...]
    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    loads: Mapping[str, np.ndarray]
    ground: Mapping[str, np.ndarray]
    duration: float
    step_length: float
    person: Person
    mirrored: bool = True

    @property
    def percent(self) -> np.ndarray:
        """Percent of the cycle, (K,), 0 to 100."""
        return 100.0 * self.time / self.duration

    @property
    def height(self) -> float:
        """Height of the person, m."""
        return self.person.height

    @property
    def mass(self) -> float:
        """Mass of the person without what they carry, kg."""
        return self.person.mass

    @property
    def weight(self) -> float:
        """Weight of the person without what they carry, N."""
        return self.person.weight

    def angle(self, joint: str) -> np.ndarray:
        """Degrees of a joint, (K,); UnknownNameError for one that does not move."""
        return np.rad2deg(self.q[:, _column(self.joint_names, joint)])

    def reaction(self, side: str) -> np.ndarray:
        """[moment; force] of the ground on the foot of a side, "r" or "l", (K, 6), about the world origin."""
        on_foot = [load for link, load in self.ground.items() if link.endswith(f"_{side}")]
        return sum(on_foot, np.zeros((self.time.size, 6)))

    @property
    def other_strike(self) -> float:
        """Percent of the cycle at which the left foot strikes."""
        return 50.0 if self.mirrored else float(self.percent[self._left_strike])

    @cached_property
    def _left_strike(self) -> int:
        loaded = np.linalg.norm(self.reaction("l")[:, 3:], axis=1) > UNLOADED * self.weight
        return int(np.flatnonzero(~loaded[:-1] & loaded[1:])[0])

    @property
    def legs(self) -> dict[str, Cycle]:
        """The cycle of each leg as that of a right one; one for both where halves are mirrored."""
        return {"both": self} if self.mirrored else {"right": self, "left": self.of_left_leg}

    @cached_property
    def of_left_leg(self) -> Cycle:
        """The cycle from the strike of the left foot on, in the sagittal mirror, where it is a right one.

        It begins with the row before the one in which the left foot is loaded.
        """
        strike = self._left_strike
        order = np.r_[strike : self.time.size, : strike + 1]
        later = np.arange(order.size) >= self.time.size - strike
        signs, exchanged, offset = step_symmetry(self.joint_names, 2.0 * self.step_length)
        q, v, a = (signs * each[order][:, exchanged] for each in (self.q, self.v, self.a))

        def mirrored(loads: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {
                other_side(link): np.where(
                    later[:, None],
                    mirrored_load(load[order], offset.max()),
                    mirrored_load(load[order], 0.0),
                )
                for link, load in loads.items()
            }

        return replace(
            self,
            person=self.person.mirrored,
            time=self.time[order] + self.duration * later - self.time[strike],
            q=q + offset * later[:, None], v=v, a=a,
            loads=mirrored(self.loads), ground=mirrored(self.ground),
        )  # fmt: skip

    @cached_property
    def stance_end(self) -> float:
        """Percent of the cycle at which the right foot's reaction ends."""
        loaded = np.linalg.norm(self.reaction("r")[:, 3:], axis=1) > UNLOADED * self.weight
        return float(self.percent[np.flatnonzero(loaded)[-1]])


def gait_cycle(solution: Solution, samples: int = 201) -> Cycle:
    """The cycle of a solved step, with `samples` evenly spaced times in each half.

    Raises ProblemError for a motion whose end meets its beginning neither mirrored nor as it was.
    """
    names = solution.joint_names
    t = np.linspace(0.0, solution.duration, samples)
    mirrored = _changes_sides(solution)
    loads, ground = (_values(solution, each, t) for each in (solution.problem.loads, _of_ground(solution)))
    states = [solution.q(t), solution.v(t), solution.a(t)]
    if mirrored:
        t, states, loads, ground = _both_halves(solution, t, states, loads, ground)
    forward = _column(names, "global_tx")
    travelled = float(states[0][-1, forward] - states[0][0, forward])
    recipe = solution.recipe.parameters if solution.recipe else {}
    model: Any = solution.problem.dynamics
    return Cycle(
        joint_names=tuple(names), time=t, q=states[0], v=states[1], a=states[2], loads=loads, ground=ground,
        duration=float(t[-1]), step_length=0.5 * travelled, person=Person.of(recipe, model),
        mirrored=mirrored,
    )  # fmt: skip


def each_time_once(cycle: Cycle) -> Cycle:
    """The cycle with one row for every time; where it has two, accelerations and loads are the means of both.

    These are what a curve through the rows has at a jump, and they still balance, as they enter linearly.
    """
    starts = np.flatnonzero(np.append(True, np.diff(cycle.time) > 0.0))
    counts = np.diff(np.append(starts, cycle.time.size))[:, None]

    def mean(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, starts) / counts

    loads, ground = (
        {link: mean(load) for link, load in each.items()} for each in (cycle.loads, cycle.ground)
    )
    return replace(
        cycle, time=cycle.time[starts], q=mean(cycle.q), v=mean(cycle.v), a=mean(cycle.a),
        loads=loads, ground=ground,
    )  # fmt: skip


def mirrored_load(load: np.ndarray, ahead: float) -> np.ndarray:
    """[moment; force] about the world origin seen in the sagittal mirror and carried forward by `ahead` m."""
    force = load[:, 3:] * MIRRORED
    moment = -load[:, :3] * MIRRORED
    return np.concatenate([moment + np.cross([ahead, 0.0, 0.0], force), force], axis=1)


def other_end(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Posture and velocity (n,) at the end of a motion that follow from its start by periodicity."""
    q, v = solution.q(0.0), solution.v(0.0)
    signs, order, offset = step_symmetry(tuple(solution.joint_names), _travelled(solution))
    if _changes_sides(solution):
        return signs * q[order] + offset, signs * v[order]
    return q + offset, v


def _travelled(solution: Solution) -> float:
    forward = _column(solution.joint_names, "global_tx")
    return float(solution.q(solution.duration)[forward] - solution.q(0.0)[forward])


def _changes_sides(solution: Solution) -> bool:
    """True if the motion ends as its own mirror image, rather than as it began."""
    first, last = solution.q(0.0), solution.q(solution.duration)
    signs, order, offset = step_symmetry(tuple(solution.joint_names), _travelled(solution))
    if np.abs(last - signs * first[order] - offset).max() < REPEATS:
        return True
    gap = np.abs(last - first - offset)
    if gap.max() < REPEATS:
        return False
    worst = solution.joint_names[int(gap.argmax())]
    raise ProblemError(
        f"the motion of {solution.name} ends {gap.max():.3g} from where '{worst}' began, and is not its "
        "mirror image either: a gait cycle needs a step that repeats itself"
    )


def _column(names: tuple[str, ...], joint: str) -> int:
    check_known("joint of the motion", joint, names)
    return names.index(joint)


def _of_ground(solution: Solution) -> dict[str, Any]:
    """Link -> the part of its load that is the ground's: of contacts, or the reaction that feet share."""
    problem: Any = solution.problem
    names = {REACTION.format(side=side) for side in "rl"} | {
        contact.load.name for contact in problem.contacts.values()
    }
    found = {}
    for link, load in problem.loads.items():
        parts: list[Any] = [part for part in operands_of(load) or (load,) if part.name in names]
        if parts:
            found[link] = sum(parts[1:], parts[0])
    return found


def _values(solution: Solution, terms: Mapping[str, Any], t: np.ndarray) -> dict[str, np.ndarray]:
    values = solution.values(list(terms.values()), t) if terms else {}
    return {link: values[term.quantity] for link, term in terms.items()}


def _both_halves(solution, t, states, *loads):
    """Times, states and loads of the step and of its mirrored image behind it."""
    names = tuple(solution.joint_names)
    ahead = _travelled(solution)
    signs, order, offset = step_symmetry(names, ahead)
    behind = [signs * states[0][:, order] + offset, *(signs * x[:, order] for x in states[1:])]
    none = np.zeros((t.size, 6))
    both = [
        {
            link: np.concatenate(
                [load.get(link, none), mirrored_load(load.get(other_side(link), none), ahead)]
            )
            for link in dict.fromkeys([*load, *map(other_side, load)])
        }
        for load in loads
    ]
    return (
        np.concatenate([t, t + t[-1]]),
        [np.concatenate(pair) for pair in zip(states, behind, strict=True)],
        *both,
    )
