"""Muscles of a measured motion: activations that give its joint moments with the least squared excitations.

    minimize    integral of sum e^2 + sum (reserve / strength)^2
    subject to  a' = activation dynamics of e and a,   a(0) = e(0),   low <= e, a <= 1
                tau_c = sum over muscles r_c F + reserve_c
                0 = equilibrium of fibres and tendon               where tendons are compliant

Paths are evaluated along the motion before the solve: nothing in it bends but activation and, with compliant
tendons, their equilibrium.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

import trajopt
from dynamics import OsimModel
from dynamics.muscles.activation import SMOOTHING, activation_rate, check_smoothing
from dynamics.muscles.fibres import Fibres
from dynamics.muscles.motion_block import DEGREE, EQUILIBRIUM, MISSING, MotionBlock, PathMotion
from dynamics.muscles.muscle_paths import MusclePaths
from dynamics.muscles.muscles import Muscles
from dynamics.muscles.path_polynomials import PathSurrogate
from problems.human.measured.inverse_dynamics import JointMoments
from trajopt.base.arguments import check_choice, check_positive, list_names
from trajopt.base.errors import OptionError, ProblemError
from trajopt.graph.protocols import Term
from trajopt.problem.systems.system import System

Tendon = Literal["rigid", "compliant"]
ACTIVATION, EXCITATION, RESERVE = "activation", "excitation", "reserve"
TENDON_FORCE, TENDON_RATE = "tendon_force", "tendon_rate"
LEAST = 0.01  # excitation and activation of a muscle that does nothing
GUESS = 0.05
SHORTEST_ARM = 1e-6  # m: a muscle with smaller ones does not move the coordinate
INTERVALS_PER_SECOND = 50
ORDER = 2  # collocation points of an interval
STRONGEST_TENDON, FASTEST_TENDON = 5.0, 100.0  # largest isometric forces, and those per s
FREE_RESERVE = 1e3  # strengths, the largest reserve


@dataclass(frozen=True, eq=False)
class GivenMotion:
    """Muscles along a motion, and the problem that finds their activations.

    model, paths : those that were given;  moments : of the motion
    coordinates : (c,) of its names, which muscles move
    strength : (c,) N m or N of a reserve that costs as much as a full excitation
    smoothing, least : of the activations
    rigid : the same motion by rigid tendons, from which `solve_muscles` starts where they are compliant
    """

    problem: trajopt.Problem
    block: MotionBlock
    model: OsimModel
    paths: PathSurrogate | None
    tendon: Tendon
    moments: JointMoments
    coordinates: tuple[str, ...]
    strength: np.ndarray
    smoothing: float
    least: float
    rigid: GivenMotion | None = None

    @property
    def fibres(self) -> Fibres:
        """The muscles."""
        return self.block.fibres

    @property
    def start(self) -> float:
        """The time of the motion, s, at which the problem's own time is zero."""
        return float(self.moments.time[0])


def muscles_of_motion(
    model: OsimModel,
    moments: JointMoments,
    *,
    tendon: Tendon = "rigid",
    reserves: float | Mapping[str, float] = 1.0,
    paths: PathSurrogate | None = None,
    smoothing: float = SMOOTHING,
    width_scale: float = 1.0,
    passive: bool = True,
    intervals: int | None = None,
    order: int = ORDER,
    least: float = LEAST,
) -> GivenMotion:
    """The problem of the muscles that give the moments of a measured motion.

    model : from `dynamics.load_osim(path, muscles=True)`;  moments : from `joint_moments`, over their times
    reserves : N m or N, of all coordinates or of each by its name: strength of an ideal motor beside the
        muscles, whose cost is its moment in strengths, squared
    paths : polynomials in place of the model's paths, as `dynamics.load_function_paths` reads them
    smoothing : b of the activation dynamics, see `dynamics.muscles.activation`; warns above 2
    width_scale : of active force over length, 1 as De Groote; passive : whether fibres pull when they rest
    intervals : of the mesh, 50 per second by default;  order : its collocation points each
    least : excitation of a muscle that does nothing

    Coordinates that the motion does not have, locked ones and those between ground and pelvis are left alone.
    Raises ProblemError for a model without muscles, or whose muscles move none of the coordinates, and for
    fewer than six times.
    """
    check_choice("tendon", tendon, ("rigid", "compliant"))
    check_smoothing(smoothing)
    muscles = muscles_in(model)
    fibres = replace(muscles, width_scale=width_scale, passive=passive)
    moved = path_motion(model, muscles.paths if paths is None else paths.only(muscles.names), moments)
    names = moved.coordinates
    strength = strengths(reserves, names)
    duration = float(moments.time[-1] - moments.time[0])
    count = max(2, round(INTERVALS_PER_SECOND * duration)) if intervals is None else intervals
    mesh = trajopt.Trajectory.collocation(intervals=count, order=order, duration=duration)

    def posed(tendon: Tendon, rigid: GivenMotion | None = None) -> GivenMotion:
        system = muscle_system(muscles, tendon, smoothing, len(names))
        block = MotionBlock(fibres, tendon, moved.motion)
        problem = _problem(system, mesh, block, strength, least)
        return GivenMotion(
            problem, block, model, paths, tendon, moments, names, strength, smoothing, least, rigid
        )

    return posed(tendon, None if tendon == "rigid" else posed("rigid"))


def _problem(
    system: System, mesh: trajopt.Trajectory, block: MotionBlock, strength: np.ndarray, least: float
) -> trajopt.Problem:
    """The problem of the module's equations."""
    problem = trajopt.Problem(system, mesh, name="muscles of a motion")
    state_effort(problem, block.m, least)
    reserve = state_reserves(problem, strength)
    m = block.m
    low, high, guess = np.full(m, least), np.ones(m), np.full(m, GUESS)
    if not block.is_rigid:
        low, high = np.append(low, np.zeros(m)), np.append(high, np.full(m, STRONGEST_TENDON))
        guess = np.append(guess, np.full(m, GUESS))
    problem.subject_to(trajopt.q, low, high, hold="hull", name="limits of states")
    problem.guess(x=np.tile(guess, (2, 1)))
    missing = trajopt.block_term(block, output=MISSING, name="moments of muscles", unit="N m or N")
    problem.subject_to(missing - reserve, equals=0.0, name="moments")
    if not block.is_rigid:
        state_equilibrium(problem, trajopt.block_term(block, output=EQUILIBRIUM, name=EQUILIBRIUM))
    return problem


@dataclass(frozen=True, eq=False)
class MovedPaths:
    """Paths along a motion, and the coordinates that they move."""

    motion: PathMotion
    coordinates: tuple[str, ...]


def path_motion(model: OsimModel, paths: MusclePaths | PathSurrogate, moments: JointMoments) -> MovedPaths:
    """Lengths, speeds and arms of all muscles at the times of a motion, of the coordinates that they move.

    Raises ProblemError where there are none, or fewer than six times.
    """
    if moments.time.size <= DEGREE:
        raise ProblemError(
            f"the motion has {moments.time.size} times: give more than {DEGREE}, by a wider window"
        )
    arms = paths.moment_arms(moments.q)
    length = paths.lengths(moments.q)
    speed = -np.einsum("kmn,kn->km", arms, moments.v)
    unknown = {*moments.residuals, *moments.assumed, *model.locked}
    moved = [
        i
        for i, name in enumerate(moments.names)
        if name not in unknown and np.abs(arms[:, :, i]).max() > SHORTEST_ARM
    ]
    if not moved:
        raise ProblemError(
            f"the muscles move none of the motion's coordinates {list_names(moments.names)}: give a model "
            "whose muscles cross its joints, and a motion that has their coordinates"
        )
    time = moments.time - moments.time[0]
    wanted = without_springs(model, moments.q, moments.v, moments.tau)
    motion = PathMotion(time, length, speed, arms[:, :, moved], wanted[:, moved])
    return MovedPaths(motion, tuple(moments.names[i] for i in moved))


def without_springs(model: OsimModel, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Forces (K, n) at the coordinates less those of the model's springs and ligaments."""
    found = tau.copy()
    if model.ligaments is not None:
        found -= model.ligaments.moments(q)
    for name, moment in model.spring_moments(q, v).items():
        found[:, model.robot.joint_names.index(name)] -= moment
    return found


def strengths(reserves: float | Mapping[str, float], names: tuple[str, ...]) -> np.ndarray:
    """(c,) the strength of every reserve; OptionError for one that is no positive number."""
    if isinstance(reserves, Mapping):
        unknown = [name for name in reserves if name not in names]
        if unknown:
            raise OptionError(
                f"reserves has {list_names(unknown)}, which has no reserve: there are {list_names(names)}"
            )
        given = [reserves.get(name, 1.0) for name in names]
    else:
        given = [reserves] * len(names)
    for name, value in zip(names, given, strict=True):
        check_positive(f"the reserve of '{name}'", value)
    return np.array(given, dtype=float)


def muscles_in(model: OsimModel) -> Muscles:
    """The muscles of a model; ProblemError where it has none."""
    if model.muscles is None:
        raise ProblemError("the model has no muscles: read it with dynamics.load_osim(path, muscles=True)")
    if not model.muscles.names:
        raise ProblemError("no muscle of the model's file passes a joint: give a file that has muscles")
    return model.muscles


def muscle_system(muscles: Muscles, tendon: Tendon, smoothing: float, reserves: int, **more: Any) -> System:
    """Activations, and tendon forces whose rates are controls, of all muscles, with a number of reserves.

    more : dynamics and torques, as for `trajopt.system`
    """
    m, elastic = len(muscles.names), tendon == "compliant"
    rise, decay = muscles.activation_time, muscles.deactivation_time

    def rates(node: Any) -> list[Any]:
        activation = activation_rate(node.excitation, node.activation, rise, decay, smoothing)
        return [activation, node.tendon_rate] if elastic else [activation]

    states = {ACTIVATION: m} | ({TENDON_FORCE: m} if elastic else {})
    controls = {EXCITATION: m} | ({RESERVE: reserves} if reserves else {})
    controls |= {TENDON_RATE: m} if elastic else {}
    units = {ACTIVATION: "1", EXCITATION: "1"} | ({TENDON_FORCE: "1", TENDON_RATE: "1/s"} if elastic else {})
    return trajopt.system(states, controls, rates, units=units, **more)


def state_effort(problem: trajopt.Problem, m: int, least: float, periodic: bool = False) -> None:
    """Excitations as controls with a(0) = e(0), unless they are periodic, and their squares as a cost."""
    excitation = problem.control(EXCITATION, least, 1.0, guess=GUESS)
    if not periodic:
        at_start = excitation - trajopt.state(ACTIVATION)
        problem.subject_to(at_start, equals=0.0, over="start", name="activation at the start")
    problem.minimize(sum_of_squares(EXCITATION, np.ones(m)), name="excitations")


def state_reserves(problem: trajopt.Problem, strength: np.ndarray) -> trajopt.Quantity:
    """Reserves as controls, which it returns, and their squares in strengths as a cost."""
    largest = FREE_RESERVE * strength
    reserve = problem.control(RESERVE, -largest, largest, guess=0.0, unit="N m or N")
    problem.minimize(sum_of_squares(RESERVE, strength), name="reserves")
    return reserve


def state_equilibrium(problem: trajopt.Problem, balance: Term) -> None:
    """Rates of tendon forces as controls, by which fibres and tendons are in equilibrium."""
    problem.control(TENDON_RATE, -FASTEST_TENDON, FASTEST_TENDON, guess=0.0, unit="1/s")
    problem.subject_to(balance, equals=0.0, name="equilibrium of fibres and tendons")
    # no collocation point of the first interval knows the tendons there, as all of them lie behind it
    problem.subject_to(balance, equals=0.0, over="start", name="equilibrium at the start")


def sum_of_squares(name: str, unit: np.ndarray) -> trajopt.ExpressionTerm:
    """The sum of the squares of a control, its components in these units: one number, which costs least."""

    def cost(node: Any):
        squares = (getattr(node, name) / unit) ** 2
        return sum(squares[i] for i in range(unit.size))

    return trajopt.ExpressionTerm(cost, f"squared {name}", unit="1")
