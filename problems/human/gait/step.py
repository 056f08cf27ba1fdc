"""Steps of a gait: when and where the feet stand, and how they share the ground's reaction.

The right leg leads the first step: its heel strikes at t = 0, the left one's at t = T. In a motion of several
steps each is an arc of its own, led by the other leg and a step length further on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import trajopt
from problems.human.body.model import GRAVITY, other_side
from problems.human.body.tables import contact_points
from problems.human.gait.ground_reaction import REACTION, OpposingForce, ratio_weight, time_weight
from trajopt.base.errors import OptionError, ProblemError, warn_user

SPLITS = ("time", "opposing", "ratio", "one place")
NODES_APART = 1e-6  # of normalised time: closer ones are the same, and windows leave an end out by as much
SOLE_HALF_WIDTH = 0.04  # m
PRESSURE_IN_FRONT_OF_HEEL = 0.06  # m, where the reaction acts on the leading sole in double support
PRESSURE_ON_TOES = 0.5  # of the way from ball to toe, where the reaction leaves a foot that rolls
BALL_RISES = 0.4  # of double support, when the ball of a foot that rolls over its toe leaves the ground
TOE_LOADED = 0.1  # of the step, from heel-off until the toe of such a foot is on the ground
PRESSURE_BEHIND_BALL = 0.02  # m, the rearmost centre of pressure of a raised foot
# Parts of the step at which default gaits of the thesis's cost would leave limits of feet and arms between
# the other nodes. `trajopt.LimitNodes`, which gaits recommend, finds such times itself, also without these:
# they stay because the numbers of the pages on gaits are of motions with them.
LIMIT_NODES = (0.317, 0.54, 0.553, 0.617, 0.659, 0.706, 0.895)
FASTEST = 10.0  # m/s
TESTED_SPEEDS = (0.8, 1.6)  # m/s, at which walks are compared with people
FARTHEST_LINE = 0.5  # m, of a foot from the middle
MOST_TURNED = 45.0  # degrees, of a standing foot either way
FOREFOOT_ALONE = 0.05  # of the step, from heel-off until only ball and toes carry load


class UntestedSpeedWarning(UserWarning):
    """A walk was asked for at a speed at which none was compared with people."""


def warn_of_untested_speed(speed: float) -> None:
    """Warn with UntestedSpeedWarning of a speed in m/s outside TESTED_SPEEDS."""
    slowest, fastest = TESTED_SPEEDS
    if not slowest <= speed <= fastest:
        warn_user(
            f"walks were compared with people at {slowest:g} to {fastest:g} m/s, not at {speed:g} m/s "
            "(4.5 km/h are 1.25 m/s): the predicted walk may not resemble human walking",
            UntestedSpeedWarning,
        )


@dataclass(frozen=True)
class Step:
    """Speed, length and events of a step; lengths in m, seconds, events in parts of the step.

    flat : the leading ball joins its heel on the ground
    toe_off : the trailing foot leaves the ground, double support ends
    heel_off : the leading heel rises
    line : distance of each heel from the sagittal plane, None where the model cannot leave it
    toe_out : degrees by which standing feet point outward
    samples : times at which each standing point of the leading foot is held
    toes_bend : whether a rising foot turns about its ball; a rigid one turns about its toe
    last_on : "ball" or "toe", the point of the trailing foot that leaves the ground last
    knee_peak : when the swinging knee is bent most
    split : how the feet share the reaction, by "time", by time and with an "opposing" force that the cost
        decides, by the "ratio" of distances, or at "one place"
    limit_nodes : further nodes, parts of the step, where the motion would leave its limits between the others
    leads : the side whose heel strikes when the step begins;  number : of steps before;  count : of all steps
    """

    length: float
    speed: float
    height: float
    mass: float
    flat: float = 0.2
    toe_off: float = 0.24
    heel_off: float = 0.7
    line: float | None = 0.05
    toe_out: float = 0.0
    samples: int = 4
    toes_bend: bool = True
    last_on: str = "ball"
    knee_peak: float = 0.42
    split: str = "time"
    limit_nodes: tuple[float, ...] = ()
    leads: str = "r"
    number: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        if not 0.0 < self.length < np.inf:
            raise ProblemError(f"the step's length is {self.length} m: give a positive number")
        if not 0.0 < self.speed <= FASTEST:
            raise ProblemError(f"the speed is {self.speed} m/s: give more than 0, up to {FASTEST:g}")
        if not isinstance(self.samples, int) or self.samples < 2:
            raise OptionError(f"each standing point is held at {self.samples} times: two is the least")
        if self.line is not None and not 0.0 <= self.line <= FARTHEST_LINE:
            raise ProblemError(
                f"the line of each foot is {self.line} m from the middle: give 0 to {FARTHEST_LINE:g}"
            )
        if not abs(self.toe_out) <= MOST_TURNED:
            raise ProblemError(
                f"standing feet point outward by {self.toe_out} degrees: give -{MOST_TURNED:g} to "
                f"{MOST_TURNED:g}, negative ones for inward"
            )
        if self.split not in SPLITS:
            raise OptionError(f"the split is {self.split!r}: use {', '.join(map(repr, SPLITS))}")
        if self.last_on not in ("ball", "toe"):
            raise OptionError(f"the foot leaves the ground with its {self.last_on!r}: use 'ball' or 'toe'")
        if not 0.0 < self.knee_peak < 1.0:
            raise ProblemError(f"the knee is bent most at {self.knee_peak} of the step: give 0 < part < 1")
        if not all(0.0 < part < 1.0 for part in self.limit_nodes):
            raise ProblemError(f"limit_nodes are {self.limit_nodes}: give parts of the step between 0 and 1")
        if not 0.0 < self.flat <= self.toe_off < self.heel_off < 1.0:
            raise ProblemError(
                f"the events of the step are foot flat {self.flat}, toe-off {self.toe_off}, heel-off "
                f"{self.heel_off}: give 0 < flat <= toe-off < heel-off < 1"
            )

    @property
    def duration(self) -> float:
        """Duration of the step, s."""
        return self.length / self.speed

    @property
    def weight(self) -> float:
        """Weight of the person, N."""
        return self.mass * GRAVITY

    @property
    def trails(self) -> str:
        """The side whose foot leaves the ground and swings."""
        return other_side(self.leads)

    @property
    def begins(self) -> float:
        """Start of the step, s from the start of the motion."""
        return self.number * self.duration

    def steps(self, count: int) -> tuple[Step, ...]:
        """This step and those after it."""
        sides = (self.leads, self.trails)
        return tuple(replace(self, leads=sides[k % 2], number=k, count=count) for k in range(count))

    def over(self, first: float, last: float) -> tuple[float, float] | trajopt.ArcNodes:
        """The window between two parts of this step."""
        window = (max(first, 0.0), min(last, 1.0))
        return window if self.count == 1 else trajopt.ArcNodes(self.number, window)

    def at(self, part: float) -> tuple[float, float] | trajopt.ArcNodes:
        """The window that holds the node at a part of this step and no other."""
        return self.over(part - NODES_APART, part + NODES_APART)

    def named(self, name: str) -> str:
        """`name`, with the number of the step where there are several."""
        return name if self.count == 1 else f"{name}, step {self.number + 1}"

    @cached_property
    def sole(self) -> dict[str, float]:
        """Distances of ball and toe in front of the heel, m."""
        heel, ball = (contact_points()[point][1][0] for point in ("heel_r", "ball_r"))
        toe = ball + contact_points()["toe_r"][1][0]
        return {"heel": 0.0, "ball": self.height * (ball - heel), "toe": self.height * (toe - heel)}

    def place(self, point: str) -> tuple[float, float | None]:
        """(x, z) at which a foot point stands as the step begins: the other foot is a step behind."""
        kind, _, side = point.partition("_")
        return self.under(side, self.sole[kind])

    def under(self, side: str, forward: float, across: float = 0.0) -> tuple[float, float | None]:
        """(x, z) under a standing foot, so many m in front of its heel and to the right of its middle."""
        heel = self.length * (self.number - (side != self.leads))
        if self.line is None:
            return heel + forward, None
        outward = 1.0 if side == "r" else -1.0
        turned = outward * np.deg2rad(self.toe_out)
        cos, sin = float(np.cos(turned)), float(np.sin(turned))
        return heel + forward * cos - across * sin, outward * self.line + forward * sin + across * cos

    @cached_property
    def contacts(self) -> dict[str, np.ndarray]:
        """Times, in parts of the step, at which standing points are held."""
        pivot = "ball" if self.toes_bend else "toe"
        found = {
            f"heel_{self.leads}": np.linspace(0.0, self.heel_off, self.samples),
            f"{pivot}_{self.leads}": np.linspace(self.flat, 1.0, self.samples),
            f"{pivot}_{self.trails}": np.linspace(0.0, self.toe_off, 3)[1:],
        }
        if self.rolls:
            found[f"ball_{self.trails}"] = np.array([BALL_RISES * self.toe_off])
            found[f"toe_{self.leads}"] = np.array([self.heel_off + TOE_LOADED, 1.0])
            found[f"toe_{self.trails}"] = np.linspace(0.0, self.toe_off, 3)[1:]
        return found

    @property
    def rolls(self) -> bool:
        """True if the trailing foot rolls over its toe, after its ball has left the ground."""
        return self.toes_bend and self.last_on == "toe"

    def held(self, point: str, time: float) -> tuple[bool, bool]:
        """Flags whether a standing foot point is held along and across the direction of travel at this time.

        The pivot of a flat foot follows its heel; a toe is on the ground in front of its ball, and
        held in its place as it leaves.
        """
        leads = point.endswith(self.leads)
        if self.rolls and point.startswith("toe"):
            leaves = not leads and time > self.toe_off - NODES_APART
            return leaves, leaves
        return not (leads and not point.startswith("heel") and time <= self.heel_off), True

    def trajectory(self, intervals: int, nodes_per_span: int) -> trajopt.Trajectory:
        """A cubic arc for every step, with nodes at events, contacts, the knee's peak and `limit_nodes`."""
        plain = trajopt.Trajectory.uniform(intervals, 3, self.duration, nodes_per_span)
        events = [self.toe_off, self.knee_peak, self.heel_off + FOREFOOT_ALONE]
        events += [*np.concatenate(list(self.contacts.values())).tolist(), *self.limit_nodes]
        new: list[float] = []
        for event in sorted(events):
            if np.abs(np.append(plain.nodes.s, new) - event).min() > NODES_APART:
                new.append(float(event))
        return trajopt.Trajectory(self.count * plain.arcs, extra_points=self.count * (tuple(new),))

    @cached_property
    def reaction_split(self) -> ReactionSplit:
        """Shares of the two feet in the ground's reaction in double support."""
        seconds = self.toe_off * self.duration
        leading, trailing = self.reaction_point(self.leads), self.reaction_point(self.trails)
        if self.split == "ratio":
            return ReactionSplit(ratio_weight(leading, trailing, seconds, self.begins), leading - trailing)
        between = np.zeros(3) if self.split == "one place" else leading - trailing
        opposing = None
        if self.split == "opposing":
            along = between / np.linalg.norm(between)
            opposing = OpposingForce(seconds, self.begins, along, trailing, self.weight, self.named(""))
        return ReactionSplit(time_weight(seconds, self.begins), between, opposing)

    def reaction_point(self, side: str) -> np.ndarray:
        """(3,) m, the point of a sole where the ground's reaction acts when its share begins or ends."""
        leading = side == self.leads
        toes = self.sole["toe"] - self.sole["ball"] if self.rolls else 0.0
        on_toes = self.sole["ball"] + PRESSURE_ON_TOES * toes
        x, z = self.under(side, PRESSURE_IN_FRONT_OF_HEEL if leading else on_toes)
        return np.array([x, 0.0, z or 0.0])

    def footprint(self, side: str, part: str = "sole") -> np.ndarray:
        """(4, 2) corners (x, z) of a "sole" from heel to toe, or of its "forefoot"."""
        first = self.sole["ball"] - PRESSURE_BEHIND_BALL if part == "forefoot" else 0.0
        forward, across = (first, self.sole["toe"]), (-SOLE_HALF_WIDTH, SOLE_HALF_WIDTH)
        if self.line is None:
            return np.array([[self.under(side, x)[0], z] for x in forward for z in across])
        return np.array([self.under(side, x, z) for x in forward for z in across])


@dataclass(frozen=True, eq=False)
class ReactionSplit:
    """Shares of two feet in the reaction: weight(node) is w_A, between (3,) m is d."""

    weight: Callable[[Any], Any]
    between: np.ndarray
    opposing: OpposingForce | None = None

    def share(self, node: Any, leading: bool) -> list[Any]:
        """The wrench on the leading or the trailing foot, [moment; force] about the world origin."""
        x, y, z = map(float, self.between)
        w = self.weight(node)
        own, moved = (w, w * (1.0 - w)) if leading else (1.0 - w, -w * (1.0 - w))
        mx, my, mz, fx, fy, fz = (node.base_wrench[i] for i in range(6))
        moment = (mx, y * fz - z * fy), (my, z * fx - x * fz), (mz, x * fy - y * fx)
        wrench = [own * m + moved * cross for m, cross in moment] + [own * f for f in (fx, fy, fz)]
        if self.opposing is None:
            return wrench
        push = w * (1.0 - w) * self.opposing.size(node) * self.opposing.weight
        added = self.opposing.wrench(-push if leading else push)
        return [shared + more for shared, more in zip(wrench, added, strict=True)]

    def push(self, leading: bool) -> Callable[[Any], tuple[Any, Any]]:
        """(x, z) in body weights: what the opposing force adds to a foot's force over its share."""

        def push(node: Any) -> tuple[Any, Any]:
            assert self.opposing is not None
            part = self.weight(node) - 1.0 if leading else self.weight(node)
            x, _, z = map(float, self.opposing.direction)
            size = part * self.opposing.size(node)
            return size * x, size * z

        return push

    def shift(self, leading: bool) -> Callable[[Any], tuple[Any, Any]]:
        """(x, z) from the zero-moment point to the centre of pressure of a foot, m."""
        x, _, z = map(float, self.between)

        def shift(node: Any) -> tuple[Any, Any]:
            part = 1.0 - self.weight(node) if leading else -self.weight(node)
            return part * x, part * z

        return shift


def reaction_on_foot(side: str, steps: Sequence[Step]) -> trajopt.ExpressionTerm:
    """The wrench on the foot of a side, (6,): it leads some steps and trails in the others.

    Where one step ends and the next begins, both give a foot the same share if the split is by time, opposing
    force included, as it is zero there.
    """

    def wrench(node: Any) -> Any:
        shares = [step.reaction_split.share(node, step.leads == side) for step in steps]
        total = shares[-1]
        for step, share in zip(steps[-2::-1], shares[-2::-1], strict=True):
            now = node.t[0] < step.begins + step.duration
            total = [now * part + (1.0 - now) * later for part, later in zip(share, total, strict=True)]
        return total

    return trajopt.ExpressionTerm(wrench, REACTION.format(side=side))
