"""Checks of the eight exercises in docs/homework.md: answers are held against formulas, not solves.

from problems import homework
print(homework.check(1, control=lambda t: 6 - 12 * t, cost=12.0))
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import trapezoid

import dynamics
import trajopt
from trajopt.base.arguments import numbers, short_repr
from trajopt.base.errors import OptionError, ShapeError

Curve = Callable[[Any], Any]  # of t, a number or (K,)
GRAVITY = 9.81  # m/s^2
DENSE = np.linspace(0.0, 1.0, 2001)  # of a motion, normalised
NEAR = 1e-2  # of a value: a coarse mesh's answer
SHARE = 1e-3  # of a limit, by which it may be exceeded between nodes
CART_POLE = {"cart": 1.0, "pole": 0.3, "length": 0.5, "force": 20.0, "track": 2.0, "seconds": 2.0}
CART_POLE_COST = 58.81  # N^2 s; the lower of two local optima is 57.94
ARM = {"length": 0.5, "centre": 0.25, "mass": 1.0, "inertia": 0.02}  # of each of two links; about its centre
BALL = {"centre": np.array([0.45, 0.8]), "radius": 0.1, "arm": 0.04, "margin": 0.02}
BALL_SECONDS = 0.9788
BANG_BANG_SECONDS = 0.3918545395  # of the arm of Barman's thesis, all digits
BANG_BANG_SWITCHES = (0.045709321, 0.195927270, 0.235300431)  # s, by shooting
#: Part of an answer -> an attribute of its kind, and the kind in words; the others are numbers.
KINDS = {
    **dict.fromkeys(("control", "position", "speed"), ("__call__", "a function of t, lambda t: ...")),
    "solution": ("verify", "what trajopt.solve returned"),
    "robot": ("inverse_dynamics", "a robot, made by dynamics.from_dh or dynamics.load_urdf"),
}
WALKER = {"mass": 75.0, "step": 0.7, "speed": 1.3}


@dataclass(frozen=True)
class Marked:
    """The result of a check: right where there is no remark."""

    exercise: int
    remarks: tuple[str, ...]

    @property
    def right(self) -> bool:
        return not self.remarks

    def __str__(self) -> str:
        if self.right:
            return f"exercise {self.exercise}: right"
        return "\n".join([f"exercise {self.exercise}: not yet", *(f"- {each}" for each in self.remarks)])


def check(exercise: int, **answer: object) -> Marked:
    """The remarks on an answer, whose parts the page of the exercises names.

    Raises OptionError for an exercise that does not exist, for an answer with other parts, and for a part of
    another kind; ShapeError for numbers that are none.
    """
    if exercise not in CHECKS:
        raise OptionError(f"there is no exercise {exercise!r}: there are 1 to {len(CHECKS)}")
    checked = CHECKS[exercise]
    wanted = list(inspect.signature(checked).parameters)
    if set(answer) != set(wanted):
        given = ", ".join(answer) or "nothing"
        raise OptionError(f"exercise {exercise} takes {', '.join(wanted)}, but was given {given}")
    for name, value in answer.items():
        _check_kind(name, value)
    return Marked(exercise, tuple(checked(**answer)))


def _check_kind(name: str, value: object) -> None:
    """OptionError or ShapeError for a part of an answer that cannot be checked."""
    attribute, wanted = KINDS.get(name, ("", ""))
    if not attribute:
        numbers(value, name)
    elif not hasattr(value, attribute):
        raise OptionError(f"{name} is {short_repr(value)}: give {wanted}")


def _by_hand(control: Curve, cost: float) -> Iterator[str]:
    """x'' = u from 0 to 1, at rest at both ends, within 1 s, with the least integral of u^2."""
    u = _sampled(control, DENSE)
    yield from _differs("the speed at the end", trapezoid(u, DENSE), 0.0, 1e-5)
    yield from _differs(
        "the place at the end",
        trapezoid((1.0 - DENSE) * u, DENSE),
        1.0,
        1e-5,
        ((-1.0, "the mass moves the other way, the control has the wrong sign"),),
    )
    yield from _differs("the integral of your u^2", trapezoid(u**2, DENSE), 12.0, 1e-4)
    yield from _differs(
        "your cost", cost, 12.0, 1e-4, ((6.0, "the cost is the integral of u^2, without a factor 1/2"),)
    )


def _cart_pole(solution: trajopt.Solution) -> Iterator[str]:
    """The pole swung up within two seconds, 1 m further, by a force of 20 N at most."""
    yield from _differs("the duration", solution.duration, CART_POLE["seconds"], 1e-9)
    t = DENSE * solution.duration
    q, v, a = (np.asarray(each(t)) for each in (solution.q, solution.v, solution.a))
    if q.shape[1] != 2:
        yield (
            f"the motion has {q.shape[1]} coordinates, but cart and pole have two: solve it with the robot "
            "of the tutorial, not as a system x' = f(x, u)"
        )
        return
    for end, wanted in ((0, (0.0, 0.0)), (-1, (1.0, np.pi))):
        where = "start" if end == 0 else "end"
        angle = np.abs(np.arctan2(np.sin(q[end, 1]), np.cos(q[end, 1])))  # the pole may swing to either side
        yield from _differs(f"cart and pole at the {where}", (q[end, 0], angle), wanted, 1e-6)
        yield from _differs(f"their speeds at the {where}", v[end], (0.0, 0.0), 1e-6)
    m, length = CART_POLE["pole"], CART_POLE["length"]
    sine, cosine = np.sin(q[:, 1]), np.cos(q[:, 1])
    pole = m * length * (length * a[:, 1] + cosine * a[:, 0] + GRAVITY * sine)
    if np.abs(pole).max() > 0.01 * m * GRAVITY * length:
        yield (
            f"the pole's joint carries {np.abs(pole).max():.3g} N m, but has no motor: use "
            "problem.passive and a mesh of Trajectory.collocation"
        )
    force = (CART_POLE["cart"] + m) * a[:, 0] + m * length * (cosine * a[:, 1] - sine * v[:, 1] ** 2)
    yield from _other_torques(np.asarray(solution.tau(t))[:, 0], force)
    if np.abs(force).max() > CART_POLE["force"] * (1.0 + SHARE):
        yield f"the force reaches {np.abs(force).max():.4g} N: the limit is {CART_POLE['force']:g} N"
    if np.abs(q[:, 0]).max() > CART_POLE["track"] * (1.0 + SHARE):
        yield f"the cart leaves its track of {CART_POLE['track']:g} m on both sides"
    cost = trapezoid(force**2, t)
    if cost > CART_POLE_COST * 1.01:
        yield f"the integral of the squared force is {cost:.4g}: {CART_POLE_COST:g} N^2 s is possible"


def _switching(duration: float, switch: float) -> Iterator[str]:
    """x'' = u with -1 <= u <= 2, from 0 to 1 at rest in the least time: full thrust, then full braking."""
    least, change = np.sqrt(3.0), 1.0 / np.sqrt(3.0)
    by_mesh = "near, but a mesh without a breakpoint at the switch is not exact: compute it by hand"
    yield from _differs(
        "the duration",
        duration,
        least,
        1e-4,
        ((2.0, "it can push with 2 N"), (np.sqrt(2.0), "it can brake with 1 N at most")),
        near=by_mesh,
    )
    yield from _differs(
        "the instant of the switch",
        switch,
        change,
        1e-4,
        (
            (2.0 * change, "it pushes with 2 N and brakes with 1 N, not the reverse"),
            (least / 2.0, "with unequal forces the mass does not switch at half time"),
        ),
        near=by_mesh,
    )


def _costates(position: Curve, speed: Curve, price: float) -> Iterator[str]:
    """Costates of exercise 1 in the convention H = u^2 + p x' + s x'', and dJ / d(distance)."""
    sign = "the sign is reversed: along an optimum of H = u^2 + p v + s u, dH/du = 0 and s' = -dH/dv"
    half = "half of it, as with a cost of u^2 / 2: here H has u^2"
    p, s = -24.0, 24.0 * DENSE - 12.0
    yield from _differs(
        "the costate of the position", _sampled(position, DENSE), p, 1e-3, ((-p, sign), (p / 2.0, half))
    )
    yield from _differs(
        "the costate of the speed", _sampled(speed, DENSE), s, 1e-3, ((-s, sign), (s / 2.0, half))
    )
    yield from _differs(
        "the price of a metre", price, -p, 1e-3, ((p, "a longer way costs more"), (-p / 2.0, half))
    )


def _robot(robot: dynamics.RigidBodyModel) -> Iterator[str]:
    """The arm of two links in the x-y plane under gravity along -y."""
    if robot.n != 2:
        yield f"the robot has {robot.n} joints: two are wanted"
        return
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-2.0, 2.0, (3, 20, 2))
    near_end = {**ARM, "centre": ARM["length"] + ARM["centre"]}
    about_joint = {**ARM, "inertia": ARM["inertia"] + ARM["mass"] * ARM["centre"] ** 2}
    frames = "the centre of mass lies beyond the link: from_dh places a link's frame at its far end"
    weight = "gravity acts along z or is missing: it is gravity=(0, -9.81, 0)"
    still = 0.0 * v
    yield from _differs(
        "torques that only hold the arm",
        robot.inverse_dynamics(q, still, still),
        _arm_torques(q, still, still),
        1e-8,
        (
            (_arm_torques(q, still, still, arm=near_end), frames),
            (still, weight),
            (-_arm_torques(q, still, still), "gravity acts along +y"),
        ),
    )
    yield from _differs(
        "torques of arbitrary motions",
        robot.inverse_dynamics(q, v, a),
        _arm_torques(q, v, a),
        1e-8,
        (
            (
                _arm_torques(q, v, a, arm=about_joint),
                "the inertia is that about the centre of mass, not about the joint",
            ),
            (_arm_torques(q, v, a, arm={**ARM, "inertia": 0.0}), "the inertia about z is missing"),
        ),
    )
    limits = np.array([robot.limits.torque_lower, robot.limits.torque_upper])
    yield from _differs("the limits of the torques", limits, [[-8.0] * 2, [8.0] * 2], 1e-9)


def _obstacle(solution: trajopt.Solution) -> Iterator[str]:
    """The arm without gravity around a ball, in nearly the least time."""
    t = DENSE * solution.duration
    q, v, a = (np.asarray(each(t)) for each in (solution.q, solution.v, solution.a))
    if q.shape[1] != 2:
        yield f"the motion has {q.shape[1]} coordinates: those of two joints are wanted"
        return
    yield from _differs("the pose at the start", q[0], (0.0, 0.4), 1e-6)
    yield from _differs("the pose at the end", q[-1], (2.0, 0.4), 1e-6)
    yield from _differs("speeds at both ends", v[[0, -1]], 0.0, 1e-6)
    torques = _arm_torques(q, v, a, gravity=0.0)
    yield from _other_torques(np.asarray(solution.tau(t)), torques)
    torque = np.abs(torques).max()
    if torque > 8.0 * (1.0 + SHARE):
        yield f"a torque reaches {torque:.4g} N m: the limit is 8 N m"
    if np.abs(v).max() > 3.0 * (1.0 + SHARE):
        yield f"a joint turns at {np.abs(v).max():.4g} rad/s: the limit is 3 rad/s"
    directions = np.stack([np.cos([q[:, 0], q.sum(axis=1)]), np.sin([q[:, 0], q.sum(axis=1)])], axis=-1)
    elbow = ARM["length"] * directions[0]
    along = np.clip(((BALL["centre"] - elbow) * directions[1]).sum(axis=1), 0.0, ARM["length"])
    distances = np.linalg.norm(elbow + along[:, None] * directions[1] - BALL["centre"], axis=1)
    clear = distances.min() - BALL["radius"] - BALL["arm"]
    if clear < BALL["margin"] * (1.0 - SHARE):
        why = ""
        if abs(clear - (BALL["margin"] - BALL["arm"])) < SHARE:
            why = "; its axis keeps it, but the link is a capsule with a radius of its own"
        elif abs(clear) < SHARE:
            why = "; the distance of the surfaces has this lower bound"
        elif clear > 0.0:
            why = "; where the nodes keep it, look between them: shorter intervals help"
        yield f"the lower link comes within {clear:.4g} m of the ball: {BALL['margin']:g} m are wanted{why}"
    if solution.duration > 1.02 * BALL_SECONDS:
        yield (
            f"the motion takes {solution.duration:.4g} s: {BALL_SECONDS:g} s are possible, with shorter "
            "intervals or another guess"
        )


def _walking(solution: trajopt.Solution, mean_force: float) -> Iterator[str]:
    """A step of the planar walker; the ground carries the weight, on average over a step."""
    yield from _differs("the duration of the step", solution.duration, WALKER["step"] / WALKER["speed"], 1e-6)
    weight = WALKER["mass"] * GRAVITY
    yield from _differs(
        "the mean vertical force",
        mean_force,
        weight,
        7.0,
        (
            (1.0, "give it in N, not in body weights"),
            (WALKER["mass"], "give it in N, not in kg"),
            (0.5 * weight, "add the forces of both feet"),
            (weight * WALKER["step"] / WALKER["speed"], "divide the integral by the duration"),
            (0.0, "y is up, and components 0 to 2 of a wrench are moments, 3 to 5 forces"),
        ),
    )
    report = solution.verify()
    if not report.holds:
        yield f"the walk fails its verification: {report.reason}"


def _certificate(duration: float, switches: ArrayLike) -> Iterator[str]:
    """The least time of the arm of Barman's thesis, by a motion whose limits hold at all times."""
    if not duration >= BANG_BANG_SECONDS - 1e-9:
        yield (
            f"no motion takes {duration:.10g} s: limits are exceeded between nodes; prove them, by "
            "refine=trajopt.Certified(tol=1e-6)"
        )
    if not duration <= BANG_BANG_SECONDS + 1e-6:
        yield f"{duration:.10g} s is not the least time: solve with refine=trajopt.Certified(tol=1e-6)"
    if np.shape(switches) != (len(BANG_BANG_SWITCHES),):
        yield (
            f"{np.size(switches)} switches are given: {len(BANG_BANG_SWITCHES)} are inside the motion, "
            "without start and end"
        )
    else:
        yield from _differs("the switches", switches, BANG_BANG_SWITCHES, 1e-6)


def _arm_torques(
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    a: NDArray[np.float64],
    gravity: float = GRAVITY,
    arm: Mapping[str, float] = ARM,
) -> NDArray[np.float64]:
    """Lagrange's equations of two links, (K, 2) N m."""
    m, c, length, inertia = arm["mass"], arm["centre"], arm["length"], arm["inertia"]
    elbow, sine = length * c * np.cos(q[:, 1]), length * c * np.sin(q[:, 1])
    m22 = inertia + m * c**2
    m12 = m22 + m * elbow
    m11 = 2.0 * m22 + m * (length**2 + 2.0 * elbow)
    far = m * gravity * c * np.cos(q.sum(axis=1))
    near = m * gravity * (c + length) * np.cos(q[:, 0])
    first = m11 * a[:, 0] + m12 * a[:, 1] - m * sine * (2.0 * v[:, 0] + v[:, 1]) * v[:, 1] + near + far
    second = m12 * a[:, 0] + m22 * a[:, 1] + m * sine * v[:, 0] ** 2 + far
    return np.stack([first, second], axis=1)


def _other_torques(given: NDArray[np.float64], wanted: NDArray[np.float64]) -> Iterator[str]:
    """A remark where a motion's torques are those of another mechanism than the exercise's."""
    gap = np.abs(given - wanted).max()
    if not gap <= SHARE * np.abs(wanted).max():
        yield f"your forces or torques of this motion are off by {gap:.3g}: look at masses and lengths"


def _sampled(curve: Curve, t: NDArray[np.float64]) -> NDArray[np.float64]:
    """A curve at times (K,); of constants, and of functions of a single number, too."""
    try:
        values = numbers(curve(t), "a curve")
    except (TypeError, ValueError):  # an `if` or a function of `math`; ShapeError is a ValueError
        values = numbers([curve(float(each)) for each in t], "what the function of t returns")
    values = np.squeeze(values)
    if values.shape not in ((), t.shape):
        raise ShapeError(
            f"the function of t returns shape {values.shape} for {t.size} times: one number for each"
        )
    return np.broadcast_to(values, t.shape)


def _differs(
    name: str,
    given: ArrayLike,
    wanted: ArrayLike,
    tolerance: float,
    typical: Sequence[tuple[ArrayLike, str]] = (),
    near: str = "",
) -> Iterator[str]:
    """A remark where a number or an array is off by more than a tolerance; its value is not betrayed.

    typical : values of typical mistakes, each with the sentence that answers it
    near : the sentence for values within 1 %
    """
    gap = _gap(given, wanted)
    if not gap <= tolerance:
        answers = [(_gap(given, value), text) for value, text in typical]
        answered = min(answers, default=(np.inf, ""))
        if not answered[0] <= tolerance:
            close = near and gap <= NEAR * np.abs(wanted).max()
            answered = (gap, near if close else "")
        yield f"{name}: off by {gap:.3g}" + (f"; {answered[1]}" if answered[1] else "")


def _gap(given: ArrayLike, wanted: ArrayLike) -> float:
    return float(np.abs(np.asarray(given, dtype=float) - np.asarray(wanted, dtype=float)).max())


CHECKS: Mapping[int, Callable[..., Iterator[str]]] = {
    1: _by_hand,
    2: _cart_pole,
    3: _switching,
    4: _costates,
    5: _robot,
    6: _obstacle,
    7: _walking,
    8: _certificate,
}

__all__ = ["Marked", "check"]
