"""Lets a body turn on without end: where arcs meet its rotation vector p is wrapped, as an angle is.

    p+ = g(p-),  v+ = g'(p-) v-,   g(p) = p - 2 pi p / |p|,   Exp(g(p)) = Exp(p)

200 degrees about an axis are 160 degrees about its opposite. A rotation vector is regular below a whole turn
alone, so that it is wrapped at the borders behind which the guess is then nearer the centre. There p- and v-
are parameters r and w, which the rows of both sides read. |r| stays between 54 and 306 degrees, where both
sides are far from where p is singular, or no further from half a turn than guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import pi, tau
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from trajopt.base.arguments import check_known
from trajopt.base.arrays import Array, Number
from trajopt.base.errors import OptionError
from trajopt.problem.guess import GuessedCurve
from trajopt.splines.basis import BORDER_SIDE
from trajopt.splines.node_sets import ArcNodes
from trajopt.terms import term as terms

if TYPE_CHECKING:
    from trajopt.graph.trace import NodeSymbols
    from trajopt.problem.problem import Problem
    from trajopt.terms.arithmetic import Vector

FURTHEST = 6.0  # rad from the centre that one arc holds: the chart is singular at 2 pi


@dataclass(frozen=True, eq=False)
class WrappedGuess:
    """A guessed curve that turns on without a jump, wrapped at the borders behind some arcs.

    places : of p among the coordinates;  turns : (arcs,) how often p is wrapped before each arc
    """

    curve: GuessedCurve
    places: slice
    turns: Array

    def __call__(self, s: ArrayLike) -> Array:
        values, count = np.array(self.curve(s), dtype=float), self.turns.size
        arcs = np.clip(np.floor(np.asarray(s) * count), 0, count - 1).astype(int)
        values[..., self.places] = unwound(values[..., self.places], self.turns[arcs])
        return values


def unwound(p: Array, turns: ArrayLike) -> Array:
    """(..., 3) rotation vectors less some whole turns about their own axes."""
    length = np.linalg.norm(p, axis=-1, keepdims=True)
    return p - tau * np.expand_dims(turns, -1) * p / np.where(length > 0.0, length, 1.0)


def wrap_rotation(problem: Problem, link: Any) -> tuple[int, ...]:
    """See `Problem.wrap_rotation`."""
    joints = {joint.link: joint.coordinates for joint in getattr(problem.dynamics, "rotation_joints", ())}
    check_known("link that a rotation vector turns", link, joints)
    name, places = f"rotation vector of {link}", joints[link]
    if problem.guessed_curve is None:
        raise OptionError(f"the {name} is wrapped where the guess has turned far: call problem.guess first")
    if any(parameter.startswith(f"{name} after") for parameter in problem.parameters):
        raise OptionError(f"the {name} is wrapped already: its borders are those of the guess at that time")
    turns, borders = _borders(problem, link, places)
    for arc, r in borders.items():
        _wrap(problem, range(places.start, places.stop), f"{name} after arc {arc}", arc, r)
    problem.guessed_curve = WrappedGuess(problem.guessed_curve, places, turns)
    return tuple(borders)


def _borders(problem: Problem, link: str, places: slice) -> tuple[Array, dict[int, Array]]:
    """Number of times p is wrapped before each arc, (arcs,), and the arcs after which it is, with p there."""
    turns, borders = np.zeros(len(problem.trajectory.arcs), dtype=int), {}
    p_before = np.zeros((1, 3))
    for arc in range(turns.size):
        p, last = _guessed(problem, places, arc), turns[max(arc - 1, 0)]
        further = last + (1 if p_before[-1] @ p[0] > 0.0 else -1)
        wraps = arc > 0 and _furthest(p, further) < _furthest(p, last)
        if wraps:
            borders[arc - 1] = p_before[-1]
        turns[arc] = further if wraps else last
        p_before, furthest = unwound(p, turns[arc]), _furthest(p, turns[arc])
        if furthest > FURTHEST:
            raise _too_far(link, furthest, arc)
    return turns, borders


def refuse_far_turns(problem: Problem) -> None:
    """Raise OptionError where the guess turns a link further in one arc than its rotation vector holds.

    The solver would start behind the singularity of the chart, and not get back.
    """
    if problem.guessed_curve is None:
        return
    robot: Any = problem.dynamics
    for arc in range(len(problem.trajectory.arcs)):
        for joint in robot.rotation_joints:
            furthest = _furthest(_guessed(problem, joint.coordinates, arc), 0)
            if furthest > FURTHEST:
                raise _too_far(joint.link, furthest, arc)


def _too_far(link: str, furthest: float, arc: int) -> OptionError:
    return OptionError(
        f"the guess turns {link} {np.rad2deg(furthest):.0f} degrees from the centre of its rotation vector "
        f"in arc {arc}, which holds less than 360: cut the trajectory into more arcs, guess how far it "
        f"turns, then problem.wrap_rotation({link!r}). Where it turns by less than half a turn, guess "
        "dynamics.rotation_vector(R)"
    )


def _guessed(problem: Problem, places: slice, arc: int) -> Array:
    """p of the guess in an arc, (17, 3)."""
    along = arc + np.linspace(BORDER_SIDE, 1.0 - BORDER_SIDE, 17)  # samples of the guess in every arc
    return np.asarray(problem.guessed_curve(along / len(problem.trajectory.arcs)), dtype=float)[:, places]


def _furthest(p: Array, turns: int) -> float:
    return float(np.linalg.norm(unwound(p, turns), axis=1).max())


def turned_too_far(dynamics: Any, q: Array, times: Array) -> str:
    """The link that a motion q (k, n) at times (k,) turns further than one arc holds; empty if none."""
    for joint in dynamics.rotation_joints:
        angles = np.linalg.norm(q[:, joint.coordinates], axis=1)
        worst = int(np.argmax(angles))
        if angles[worst] > FURTHEST:
            return (
                f"{joint.link} turns {np.rad2deg(angles[worst]):.0f} degrees from the centre of its rotation "
                f"vector, t = {times[worst]:.6g} s, and one arc holds less than 360: cut the trajectory into "
                f"more arcs, guess how far it turns, then problem.wrap_rotation({joint.link!r})"
            )
    return ""


def _wrap(problem: Problem, places: Sequence[int], name: str, arc: int, r: Array) -> None:
    """State p and v on both sides of a border."""
    problem.parameter(name, guess=r, unit="rad")
    problem.parameter(f"{name}, its rate", guess=np.zeros(3), unit="rad/s")
    for place in places:
        problem.continuity(problem.dynamics.joint_names[place], -1, after=arc)
    for side, turned, over in (
        ("before", before, ArcNodes(arc, "end")),
        ("behind", behind, ArcNodes(arc + 1, "start")),
    ):
        term = terms.term(name=f"{name}, {side}")(partial(apart, turned, tuple(places), name))
        problem.subject_to(term, equals=0.0, over=over)
    turned = terms.term(name=f"{name}, its angle squared")(partial(angle_squared, name))
    off = max(0.7 * pi, abs(float(np.linalg.norm(r)) - pi))
    problem.subject_to(turned, (pi - off) ** 2, (pi + off) ** 2, over=ArcNodes(arc, "end"))


def apart(turned: Number, places: Sequence[int], name: str, node: NodeSymbols) -> list[Number]:
    """p and v less those that a border gives, (6,)."""
    given = turned(node.parameter(name), node.parameter(f"{name}, its rate"))
    here = [*(node.q[i] for i in places), *(node.v[i] for i in places)]
    return [own - other for own, other in zip(here, given, strict=True)]


def angle_squared(name: str, node: NodeSymbols) -> Number:
    """|r|^2, in rad^2."""
    r = node.parameter(name)
    return sum(r[i] * r[i] for i in range(3))


def before(r: Vector, w: Vector) -> list[Number]:
    """r and w."""
    return [r[0], r[1], r[2], w[0], w[1], w[2]]


def behind(r: Vector, w: Vector) -> list[Number]:
    """g(r) and g'(r) w."""
    s = sum(r[i] * r[i] for i in range(3))
    share = tau * s**-0.5
    along = share * sum(r[i] * w[i] for i in range(3)) / s
    rates = [(1.0 - share) * w[i] + along * r[i] for i in range(3)]
    return [(1.0 - share) * r[i] for i in range(3)] + rates
