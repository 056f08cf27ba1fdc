"""A person rises from a squat to standing with the least squared excitations of the legs' muscles.

    minimize    integral of  sum e^2 + sum (reserve / strength)^2 + w (|dA/dt|^2 + |dB/dt|^2)
    subject to  both feet stand: heel and toe do not move, push upwards, inside the friction cone
                from a squat, at rest, to standing, at rest;  the muscles of `muscle_problem` drive all joints

A and B are the forces on the feet in body weights. Without their rates (w = 0) activations are singular at
both ends: the one that holds the squat at the first instant has no cost, and nothing counts after the last.

Models are sagittal, with hips, knees and ankles of both sides, such as OpenSim's gait10dof18musc. In the
squat to stand of Dembia, Bianco, Falisse, Hicks and Delp (PLOS Computational Biology 16(12), 2020) a foot is
welded to the ground instead: `squat_on_welded_foot` states that problem, for Moco's squatToStand_3dof9musc.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

import dynamics
import trajopt
from dynamics.couplings.coupled_tree import CoupledTree
from problems.human.gait.gait_solver import NEAR
from problems.human.muscles.driven import muscle_problem
from problems.human.muscles.given_motion import muscles_in
from problems.human.predicted.predicted_step import rate_of_leg_forces
from problems.human.predicted.stances import limit_times
from trajopt.base.arguments import check_known, check_positive, list_names
from trajopt.base.errors import ProblemError

LEG = ("hip_flexion", "knee_angle", "ankle_angle")
PELVIS = ("pelvis_tx", "pelvis_ty", "pelvis_tilt")
SQUAT = (1.4, -1.5, 0.55)  # rad, hip, knee and ankle
#: with knees a little bent: where they are straight, feet that stand do not say which way they bend
STANDING = (0.1, -0.2, 0.1)
HOLDING = 1000.0  # N m, strength of motors at joints that are locked, which cost next to nothing
RATE, LIGHT = 0.03, 0.1  # s^2, weight of the rates of the feet's forces, and its share on the coarse mesh
STRONG, COARSE = 100.0, 8  # N m and intervals, of the first search
ORDER, POSES = 3, 21
ROUGH, TOLERANCE, TIGHT, TIGHTEST = 1e-3, 1e-6, 1e-7, 1e-8
BEFORE_POINTS = 0.08  # of an interval, half way to its first point, where activations overshoot their limits
#: rad, Moco's squat on a welded foot
DEEP = MappingProxyType({"ankle_angle_r": -0.5, "knee_angle_r": -2.0, "hip_flexion_r": -2.0})


def squat_to_stand(
    model: dynamics.OsimModel,
    *,
    intervals: int = 25,
    duration: float = 1.0,
    squat: tuple[float, float, float] = SQUAT,
    reserves: float = 1.0,
    friction: float = 1.0,
    force_rate: float = RATE,
) -> trajopt.Problem:
    """The problem of rising, with rigid tendons.

    model : from `dynamics.load_osim(path, muscles=True)`;  squat : rad, angles of hip, knee and ankle
    reserves : N m, strength of motors beside the muscles of the legs;  friction : of both feet
    force_rate : s^2, weight w of the rates of both feet's forces
    All other coordinates stay at their default values. Raises ProblemError for a model without muscles, or
    that lacks a coordinate or a frame of the feet.
    """
    model = with_feet(model)
    names = tuple(model.robot.joint_names)
    legs = [f"{joint}_{side}" for side in "rl" for joint in LEG]
    held = [name for name in names if name not in (*PELVIS, *legs)]
    shares = np.linspace(1.0, 0.0, POSES)[:, None]
    poses = np.stack([pose(model, angles) for angles in shares * squat + (1.0 - shares) * STANDING])
    problem = muscle_problem(
        model, trajopt.Trajectory.collocation(intervals=intervals, order=ORDER, duration=duration),
        reserves={**dict.fromkeys(legs, reserves), **dict.fromkeys(held, HOLDING)}, unpowered=PELVIS,
        motion=poses, name="squat to stand",
    )  # fmt: skip
    ground = trajopt.Ground(up="y")
    for side in "rl":
        problem.contact(f"heel_{side}", [0], friction, ground=ground, held="xy", continuous=True)
        problem.contact(f"toe_{side}", [0], friction, ground=ground, held="y", continuous=True)
    if held:
        problem.lock(*held, at=[poses[0, names.index(name)] for name in held])
    problem.start_at(q=poses[0], v=np.zeros(len(names)))
    # feet that stand leave three coordinates free: those of one leg say all
    own = np.isin(names, legs[: len(LEG)])
    for term, end, name in ((trajopt.q, poses[-1], "standing"), (trajopt.v, 0.0 * poses[-1], "at rest")):
        bounds = (np.where(own, end, free) for free in (-np.inf, np.inf))
        problem.subject_to(term, *bounds, over="end", name=name)
    weight = float(np.linalg.norm(model.robot.gravity)) * model.robot.total_mass  # N
    problem.minimize(rate_of_leg_forces(problem, weight), force_rate)
    knees = np.isin(names, legs[1 :: len(LEG)])
    problem.subject_to(trajopt.q, upper=np.where(knees, STANDING[1], np.inf), name="knees stay bent")
    problem.guess(q=poses)
    return problem


def solve_squat(
    model: dynamics.OsimModel,
    *,
    intervals: int = 25,
    duration: float = 1.0,
    reserves: float = 1.0,
    force_rate: float = RATE,
    **options: Any,
) -> trajopt.Solution:
    """The optimum of `squat_to_stand`, whose options these are.

    Weak reserves leave no way from a motion by hand: the first search has strong ones, the second those that
    are asked for, both on a coarse mesh. A third goes from there to the last tolerance, as a rough answer
    may lead astray the last one, which starts from it. All are one problem on two meshes, with other weights
    of reserves and of the rate of forces. No nodes are added where limits are exceeded between those of the
    mesh.
    """
    last = squat_to_stand(
        model, intervals=intervals, duration=duration, reserves=reserves, force_rate=force_rate, **options
    )
    coarse = last.on(trajopt.Trajectory.collocation(intervals=COARSE, order=ORDER, duration=duration))
    coarse.guessed_curve, start = last.guessed_curve, None
    strong = (reserves / max(STRONG, reserves)) ** 2
    for share, tolerance in ((strong, ROUGH), (1.0, ROUGH), (1.0, TOLERANCE)):
        shares = {"reserves": share, "rate of leg forces": LIGHT}
        coarse.costs = [replace(each, weight=shares.get(each.name, 1.0) * each.weight) for each in last.costs]
        start = _solved(coarse, start, tolerance)
    return _solved(last, start, TIGHT)


def squat_on_welded_foot(
    model: dynamics.OsimModel,
    *,
    intervals: int = 50,
    duration: float = 1.0,
    squat: Mapping[str, float] = DEEP,
    strength: float = 2.0,
    width_scale: float = 1.5,
    reserves: float = 1.0,
) -> trajopt.Problem:
    """The problem of rising on a leg whose foot the model welds to the ground, with rigid tendons.

    model : from `dynamics.load_osim(path, muscles=True)`, such as Moco's squatToStand_3dof9musc.osim
    squat : coordinate -> rad or m, at rest at the start; at the end all coordinates are zero, at rest
    strength : the muscles' largest forces in those of the file;  width_scale : of their active force over
        length;  reserves : N m, strength of motors beside the muscles
    The defaults are those of Moco's example. Raises ProblemError for a model without muscles,
    UnknownNameError for a coordinate that it lacks, OptionError for a strength that is not positive.
    """
    muscles, names = muscles_in(model), tuple(model.robot.joint_names)
    check_positive("strength", strength)
    for name in squat:
        check_known("coordinate", name, names)
    model = replace(
        model, muscles=replace(muscles, max_isometric_force=strength * muscles.max_isometric_force)
    )
    first = np.array([squat.get(name, 0.0) for name in names])
    poses = np.linspace(1.0, 0.0, POSES)[:, None] * first
    mesh = trajopt.Trajectory.collocation(intervals=intervals, order=ORDER, duration=duration)
    mesh = mesh.with_limit_points([limit_times(mesh.arcs[0].basis.breakpoints, (BEFORE_POINTS,))])
    problem = muscle_problem(
        model, mesh, reserves=reserves, motion=poses, width_scale=width_scale, name="squat on a welded foot"
    )
    problem.start_at(q=first, v=np.zeros(len(names)))
    problem.end_at(q=np.zeros(len(names)), v=np.zeros(len(names)))
    problem.guess(q=poses)
    return problem


def solve_squat_on_welded_foot(
    model: dynamics.OsimModel, *, intervals: int = 50, **options: Any
) -> trajopt.Solution:
    """The optimum of `squat_on_welded_foot`, whose options these are, by way of a coarse mesh."""
    last = squat_on_welded_foot(model, intervals=intervals, **options)  # first, for its refusals
    start = _solved(squat_on_welded_foot(model, intervals=COARSE, **options), None, ROUGH)
    return _solved(last, start, TIGHTEST)


def _solved(problem: trajopt.Problem, start: trajopt.Solution | None, tolerance: float) -> trajopt.Solution:
    if start is not None:
        problem.guess(start)
    solver = trajopt.Ipopt(tol=tolerance, options={} if start is None else NEAR)
    return trajopt.solve(problem, solver, refine=None, starts=1, coarse_to_fine=False)


def with_feet(model: dynamics.OsimModel, *needed: str) -> dynamics.OsimModel:
    """The model with frames heel_r, toe_r, heel_l, toe_l on the soles: below the toes' joint and behind.

    Functions that joints follow are smoothed, so that poses of its feet hold for `muscle_problem`.

    needed : further coordinates that it must have; ProblemError for what it lacks
    """
    robot = model.robot
    tree = robot.tree if isinstance(robot, CoupledTree) else robot
    known = {frame.name: frame for frame in tree.frames}
    names = [f"{frame}_{side}" for side in "rl" for frame in ("calcn", "toes")]
    missing = [name for name in names if name not in known]
    missing += [
        name
        for name in (*PELVIS, *needed, *(f"{x}_{side}" for side in "rl" for x in LEG))
        if name not in robot.joint_names
    ]
    if missing:
        raise ProblemError(
            f"the model lacks {list_names(missing)}: give a sagittal one, such as gait10dof18musc.osim"
        )
    added = []
    for side in "rl":
        heel, toes = known[f"calcn_{side}"], known[f"toes_{side}"]
        level = np.array([toes.position[0], heel.position[1], toes.position[2]])
        added.append(replace(heel, name=f"heel_{side}"))
        added.append(replace(toes, name=f"toe_{side}", position=level))
    frames = (*tree.frames, *added)
    if isinstance(robot, CoupledTree):
        coupled = replace(robot, tree=replace(robot.tree, frames=frames))
        return replace(model, robot=coupled).smoothed()
    return replace(model, robot=replace(robot, frames=frames))


def pose(model: dynamics.OsimModel, angles: np.ndarray) -> np.ndarray:
    """(n,) of both legs at the angles of hip, knee and ankle, the right heel at the origin, feet level."""
    names = list(model.robot.joint_names)
    q = np.array(model.default_pose, dtype=float)
    for side in "rl":
        q[[names.index(f"{joint}_{side}") for joint in LEG]] = angles
    x, y, tilt = (names.index(name) for name in PELVIS)
    q[tilt] = -np.sum(angles)
    heel = model.robot.forward_kinematics(q, ["heel_r"]).position[0]
    q[[x, y]] -= heel[:2]
    return q
