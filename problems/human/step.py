"""One step of symmetric walking: when and where the feet stand, and everything a step must satisfy.

The right leg leads: its heel strikes at t = 0, the left one's at t = T. Every statement has a name, under
which reports show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import dynamics
import trajopt
from problems.human import ground_reaction as reaction
from problems.human.model import GLOBAL, GRAVITY, TABLE_HEIGHT, standing, step_symmetry
from problems.human.tables import contact_points, guessed_control_points
from trajopt.errors import OptionError, ProblemError

INSIDE = 1e-6  # of normalised time, leaves an end out of a window
NODES_APART = 1e-6  # of normalised time: closer ones are the same
MID_SWING = 0.5
LEGS = ("hip", "knee", "ankle", "toe")
SOLE_HALF_WIDTH = 0.04  # m


@dataclass(frozen=True)
class Step:
    """Speed, length and events of a step; lengths in m, seconds, events in parts of the step.

    flat : the leading ball joins its heel on the ground
    toe_off : the trailing foot leaves the ground, double support ends
    heel_off : the leading heel rises
    line : distance of each foot from the sagittal plane, None where the model cannot leave it
    samples : times at which each standing point of the leading foot is held
    toes_bend : whether a rising foot turns about its ball; a rigid one turns about its toe
    """

    length: float
    speed: float
    height: float
    mass: float
    flat: float = 0.2
    toe_off: float = 0.24
    heel_off: float = 0.7
    line: float | None = 0.05
    samples: int = 4
    toes_bend: bool = True

    def __post_init__(self) -> None:
        for name in ("length", "speed"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ProblemError(f"the step's {name} is {getattr(self, name)}: give a positive number")
        if self.samples < 2:
            raise OptionError(f"each standing point is held at {self.samples} times: two is the least")
        if not 0.0 < self.flat <= self.toe_off < self.heel_off < 1.0:
            raise ProblemError(
                f"the events of the step are foot flat {self.flat}, toe-off {self.toe_off}, heel-off "
                f"{self.heel_off}: give 0 < flat <= toe-off < heel-off < 1"
            )

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.length / self.speed

    @property
    def weight(self) -> float:
        """Newton."""
        return self.mass * GRAVITY

    @cached_property
    def sole(self) -> dict[str, float]:
        """Distances of ball and toe in front of the heel, m."""
        heel, ball = (contact_points()[point][1][0] for point in ("heel_r", "ball_r"))
        toe = ball + contact_points()["toe_r"][1][0]
        return {"heel": 0.0, "ball": self.height * (ball - heel), "toe": self.height * (toe - heel)}

    def place(self, point: str) -> tuple[float, float | None]:
        """(x, z) at which a foot point stands at t = 0: the right foot ahead, the left one a step behind."""
        kind, _, side = point.partition("_")
        x = self.sole[kind] - (self.length if side == "l" else 0.0)
        return x, None if self.line is None else (self.line if side == "r" else -self.line)

    @cached_property
    def contacts(self) -> dict[str, np.ndarray]:
        """Times, in parts of the step, at which standing points are held."""
        pivot = "ball" if self.toes_bend else "toe"
        return {
            "heel_r": np.linspace(0.0, self.heel_off, self.samples),
            f"{pivot}_r": np.linspace(self.flat, 1.0, self.samples),
            f"{pivot}_l": np.linspace(0.0, self.toe_off, 3)[1:],
        }

    def trajectory(self, intervals: int, nodes_per_span: int) -> trajopt.Trajectory:
        """One cubic arc of the step's duration, with nodes at its events, its contacts, and at mid-swing."""
        plain = trajopt.Trajectory.uniform(intervals, 3, self.duration, nodes_per_span)
        events = (self.toe_off, MID_SWING, *np.concatenate(list(self.contacts.values())))
        new: list[float] = []
        for event in sorted(events):
            if np.abs(np.append(plain.nodes.s, new) - event).min() > NODES_APART:
                new.append(float(event))
        return trajopt.Trajectory(plain.arcs, extra_points=(tuple(new),))

    def footprint(self, side: str) -> np.ndarray:
        """(4, 2) corners (x, z) of a sole from heel to toe."""
        back, z = self.place(f"heel_{side}")
        across = np.array([-SOLE_HALF_WIDTH, SOLE_HALF_WIDTH]) + (z or 0.0)
        return np.array([[x, z] for x in (back, back + self.sole["toe"]) for z in across])


def walk(problem: trajopt.Problem, step: Step) -> None:
    """Ground reactions on both feet and the symmetry of steps: what every walk of this package has."""
    weight = reaction.time_weight(step.toe_off * step.duration)
    problem.load("hindfoot_r", reaction.share("reaction on the leading foot", weight, True))
    problem.load("hindfoot_l", reaction.share("reaction on the trailing foot", weight, False))
    signs, order, offset = step_symmetry(problem.dynamics.joint_names, step.length)
    problem.subject_to_periodic(trajopt.q, signs, order=order, offset=offset, name="symmetry of posture")
    problem.subject_to_periodic(trajopt.v, signs, order=order, name="symmetry of velocity")


def effort(model: dynamics.RigidBodyModel) -> trajopt.terms.ExpressionTerm:
    """Sum over joints of (tau / largest torque)^2, the dynamic effort of Barman's thesis (5.1)."""
    strength = np.maximum(np.abs(model.limits.torque_lower), np.abs(model.limits.torque_upper))
    powered = [i for i, name in enumerate(model.joint_names) if name not in GLOBAL]
    return trajopt.terms.ExpressionTerm(
        lambda node: sum((node.tau[i] / strength[i]) ** 2 for i in powered), "dynamic effort"
    )


def limit_torques(problem: trajopt.Problem, joints: str) -> None:
    """Torques of "all" joints, or of the "legs" alone, stay within the limits of the skeleton."""
    if joints not in ("all", "legs"):
        raise OptionError(f"the limited torques are {joints!r}: use 'all' or 'legs'")
    limits = problem.dynamics.limits
    chosen = [joints == "all" or name.startswith(LEGS) for name in problem.dynamics.joint_names]
    lower = np.where(chosen, limits.torque_lower, -np.inf)
    upper = np.where(chosen, limits.torque_upper, np.inf)
    problem.subject_to(trajopt.tau, lower, upper, name="torque limits")


def stand(problem: trajopt.Problem, step: Step, tolerance: float) -> None:
    """Standing foot points are within `tolerance` metres of their places at sampled times of their phases.

    A few times and a band: so few control points cannot hold a point still everywhere, and equalities that
    nearly depend on each other stop the solver. For the same reason the pivot of a flat foot, whose heel is
    held, is not held along the foot, and what symmetry repeats at the other end of the step is said once.
    """
    for point, times in step.contacts.items():
        x, z = step.place(point)
        for time in times:
            flat = point.endswith("_r") and not point.startswith("heel") and time <= step.heel_off
            place = np.array([np.nan if flat else x, 0.0, np.nan if z is None else z])
            lower = np.nan_to_num(place - tolerance, nan=-np.inf)
            upper = np.nan_to_num(place + tolerance, nan=np.inf)
            window = (max(time - NODES_APART, 0.0), min(time + NODES_APART, 1.0))
            name = f"{point} stands at {time:.3g} T"
            problem.subject_to(trajopt.position(point), lower, upper, over=window, name=name)


def stay_above_ground(problem: trajopt.Problem, tolerance: float) -> None:
    """Every foot point stays above the ground, within `tolerance` metres."""
    for point in contact_points():
        floor = [-np.inf, -tolerance, -np.inf]
        problem.subject_to(trajopt.position(point), floor, name=f"{point} above ground")


def balance(problem: trajopt.Problem, step: Step, friction: float) -> None:
    """The ground pushes upward, within the friction cone, and from inside the support."""
    lateral = step.line is not None
    problem.subject_to(reaction.force("y"), 0.1 * step.weight, name="ground pushes upward")
    problem.subject_to(reaction.friction_margin(friction, step.weight), 0.0, name="friction cone")
    both = np.concatenate([step.footprint("r"), step.footprint("l")])
    for corners, window, name in (
        (both, (0.0, step.toe_off - INSIDE), "zero-moment point under both feet"),
        (step.footprint("r"), (step.toe_off, 1.0), "zero-moment point under the foot"),
    ):
        sides = reaction.sides(corners, lateral)
        problem.subject_to(reaction.support_margin(sides, step.weight, name), 0.0, over=window)


def repeat_reaction(problem: trajopt.Problem, step: Step) -> None:
    """The ground reaction ends a step as it began it, mirrored: without it, accelerations jump there."""
    axes = "xy" if step.line is None else "xyz"
    signs = reaction.MIRRORED[: len(axes)]
    problem.subject_to_periodic(
        reaction.force(axes), signs, name="ground reaction continuous over the step boundary"
    )


def swing(problem: trajopt.Problem, knee: tuple[float, float]) -> None:
    """The swinging knee is bent by `knee` degrees (lower, upper) at mid-swing, Barman's thesis (5.9)."""
    names = problem.dynamics.joint_names
    lower, upper = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    at = names.index("knee_l_flex")
    lower[at], upper[at] = np.deg2rad(knee)
    window = (MID_SWING - 0.05, MID_SWING + 0.05)
    problem.subject_to(trajopt.q, lower, upper, over=window, name="swinging knee bent")


def guess(problem: trajopt.Problem, step: Step, start: str) -> None:
    """Start from "standing" or from a "measured" walk; OptionError for another word."""
    if start not in ("standing", "measured"):
        raise OptionError(f"the walk starts from {start!r}: use 'standing' or 'measured'")
    (upright_guess if start == "standing" else measured_guess)(problem, step)


def upright_guess(problem: trajopt.Problem, step: Step) -> None:
    """Start from standing upright between both feet, carried forward at the speed of walking."""
    names = problem.dynamics.joint_names
    posture, forward = standing(names, step.height), names.index("global_tx")

    def curve(s: np.ndarray) -> np.ndarray:
        q = np.tile(posture, (len(s), 1))
        q[:, forward] = 0.5 * step.sole["ball"] + step.length * (np.asarray(s) - 0.5)
        return q

    problem.guess(q=curve, duration=step.duration)


def measured_guess(problem: trajopt.Problem, step: Step) -> None:
    """Start from a spline fitted to measured walking, stretched to the length of the step."""
    from scipy.interpolate import BSpline

    names, curves = problem.dynamics.joint_names, guessed_control_points()
    points = np.zeros((6, len(names)))
    for source, values in curves.items():
        side = {"A": "_r_", "B": "_l_"}.get(source[-1])
        name = source[:-2].replace("_", side, 1) if side else source.removesuffix("_m")
        if name in names:
            points[:, names.index(name)] = values
    forward, upward = names.index("global_tx"), names.index("global_ty")
    points[:, forward] *= step.length / points[-1, forward]
    points[:, forward] += 0.5 * (step.sole["ball"] - step.length)
    points[:, upward] *= step.height / TABLE_HEIGHT
    spline = BSpline(np.array([0, 0, 0, 0, 1, 2, 3, 3, 3, 3]) / 3.0, points, 3)
    problem.guess(q=lambda s: spline(np.asarray(s)), duration=step.duration)
