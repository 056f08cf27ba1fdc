"""Robots and people that muscles drive: problems whose joint torques are those of muscles and weak motors.

tau = muscle_moment(q, v, a ...) + springs + ligaments + reserve
a' = activation dynamics of e and a,   a(0) = e(0)
minimize the integral of sum e^2 + sum (reserve / strength)^2, and what is added
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import trajopt
from dynamics import OsimModel
from dynamics.muscles.activation import SMOOTHING, check_smoothing
from dynamics.muscles.ligament_block import LigamentBlock
from dynamics.muscles.muscle_block import EQUILIBRIUM
from dynamics.muscles.muscled_robot import MuscledRobot
from dynamics.muscles.path_polynomials import PathSurrogate
from problems.human.muscles.given_motion import (
    ACTIVATION,
    LEAST,
    STRONGEST_TENDON,
    TENDON_FORCE,
    Tendon,
    muscle_system,
    muscles_in,
    state_effort,
    state_equilibrium,
    state_reserves,
    strengths,
)
from trajopt.base.arguments import check_choice, check_known, check_positive

Moments = Callable[[Any], Mapping[str, Any]]
MOTORS = 100.0  # N m or N, strength at coordinates that no muscle moves


def muscle_problem(
    model: OsimModel,
    trajectory: trajopt.Trajectory,
    *,
    tendon: Tendon = "rigid",
    reserves: float | Mapping[str, float] = 1.0,
    motors: float = MOTORS,
    unpowered: str | tuple[str, ...] = (),
    moments: Moments | None = None,
    paths: PathSurrogate | None = None,
    motion: np.ndarray | None = None,
    smoothing: float = SMOOTHING,
    width_scale: float = 1.0,
    passive: bool = True,
    periodic: bool = False,
    least: float = LEAST,
    name: str = "muscles",
) -> trajopt.Problem:
    """A problem of a model's robot that its muscles drive, with the least squared excitations as its cost.

    model : from `dynamics.load_osim(path, muscles=True)`;  trajectory : a collocation mesh
    reserves : strength N m or N of a weak motor at all coordinates that muscles move, or of each by its name,
        1 where none is given; its squared moment in strengths is part of the cost
    motors : the same of coordinates that no muscle moves and `reserves` does not name
    unpowered : coordinates without a reserve, such as those of a pelvis that nothing but the ground holds
    moments : node -> moments beside those of the file's springs and ligaments, N m or N by the name of
        their coordinate
    paths : polynomials of the model's paths; None: they are fitted to these
    periodic : whether activations at the start are the caller's to state; else they are the excitations
    motion : (K, n) poses near which they are fitted more closely
    Functions that joints follow are smoothed (`model.smoothed()`).
    For the others see `muscles_of_motion`. States and controls are "activation", "excitation", where there is
    one "reserve", and, with compliant tendons, "tendon_force" and "tendon_rate". Terms may use
    "muscle_moment" (n,) and "muscle_force" (m,), as `trajopt.Quantity("muscle_force")`. Boundary values,
    limits and further costs are the caller's. Raises ProblemError for a model without muscles,
    UnknownNameError for a coordinate that it lacks, OptionError for strengths that are not positive.
    """
    check_choice("tendon", tendon, ("rigid", "compliant"))
    check_smoothing(smoothing)
    muscles = muscles_in(model)
    fibres = replace(muscles, width_scale=width_scale, passive=passive)
    paths = muscles.paths.surrogate(motion) if paths is None else paths.only(muscles.names)
    ligaments = None
    if model.ligaments is not None:
        ligaments = LigamentBlock(model.ligaments.paths.surrogate(motion), model.ligaments.straps)
    robot = MuscledRobot(model.smoothed().robot, paths, fibres, tendon, ligaments)
    names = tuple(robot.joint_names)
    unpowered = (unpowered,) if isinstance(unpowered, str) else unpowered
    for joint in unpowered:
        check_known("coordinate", joint, names)
    motor = {i: k for k, i in enumerate(i for i, joint in enumerate(names) if joint not in unpowered)}

    def torques(node: Any) -> list[Any]:
        every = [model.spring_moments(node.q, node.v), {} if moments is None else moments(node)]
        driving = [node.muscle_moment[i] for i in range(len(names))]
        if ligaments is not None:
            driving = [one + node.ligament_moment[i] for i, one in enumerate(driving)]
        for joint, moment in (pair for further in every for pair in further.items()):
            check_known("coordinate", joint, names)
            driving[names.index(joint)] = driving[names.index(joint)] + moment
        return [one + node.reserve[motor[i]] if i in motor else one for i, one in enumerate(driving)]

    system = muscle_system(muscles, tendon, smoothing, len(motor), dynamics=robot, torques=torques)
    problem = trajopt.Problem(system, trajectory, name=name)
    strength = _strengths(reserves, motors, robot)[list(motor)]
    state_effort(problem, fibres.count, least, periodic)
    if motor:
        state_reserves(problem, strength)
    problem.subject_to(trajopt.state(ACTIVATION), least, 1.0, name="limits of activation")
    if tendon == "compliant":
        problem.subject_to(trajopt.state(TENDON_FORCE), 0.0, STRONGEST_TENDON, name="limits of tendon forces")
        state_equilibrium(problem, trajopt.Quantity(EQUILIBRIUM))
    return problem


def _strengths(reserves: float | Mapping[str, float], motors: float, robot: MuscledRobot) -> np.ndarray:
    """(n,) the strength of every reserve: `motors` where no muscle moves the coordinate and none is named."""
    check_positive("motors", motors)
    names = tuple(robot.joint_names)
    found = strengths(reserves, names)
    named = reserves if isinstance(reserves, Mapping) else ()
    moved = {names[i] for i in np.unique(robot.paths.coordinates) if i >= 0}
    return np.where([name in moved or name in named for name in names], found, motors)
