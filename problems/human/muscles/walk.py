"""A step of a sagittal walk that muscles drive, predicted without measurements.

    minimize    integral_0^T  sum e^2 + sum (reserve / strength)^2
                            + w_rate (H / g) (|dA/dt|^2 + |dB/dt|^2) / (m g)^2
                            + w_steady (H / g)^2 (alpha_pelvis^2 + alpha_trunk^2) + smoothness sum_i a_i^2  dt
    subject to  tau = moments of muscles + passive moments + reserves,  the ground alone holds the pelvis
                heel and toe of standing feet are still and push upward, inside the friction cone
                after T = L / speed the other side is where this one began, L ahead, with activations, too

A and B are the forces of both legs, H a height of 1.75 m, m the mass, alpha angular accelerations. When feet
become flat and leave the ground, with what forces, follows from the cost. Passive moments are those of adults
by `passive_moments`, in place of the fibres' own. Models are those of `squat` with a joint between pelvis and
trunk and no other coordinate; their feet are rigid. Terms and weights are those of `gait`, but for its power.
Its stored walk, which torques drive, is where the search begins: no curve was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import dynamics
import trajopt
from problems.human.body.model import TABLE_HEIGHT, other_side
from problems.human.gait.gait_solver import NEAR
from problems.human.gait.passive_moments import passive_moments
from problems.human.muscles.driven import muscle_problem
from problems.human.muscles.given_motion import ACTIVATION, EXCITATION, RESERVE, muscles_in
from problems.human.muscles.squat import LEG, PELVIS, with_feet
from problems.human.predicted.predicted_step import MOST_ITERATIONS, rate_of_leg_forces
from problems.human.predicted.solved_walk import ARC, FILE, LENGTH_OF_SPEED, TIME, WALKS, solved_curves
from problems.human.predicted.stances import BETWEEN_POINTS, LONGEST, ORDER, RULE, SHORTEST, limit_times
from trajopt.base.arguments import check_positive, list_names
from trajopt.base.errors import ProblemError
from trajopt.splines.knots import split

Intervals = tuple[int, int, int, int]  # of the mesh, arc by arc
STANCES = (("heel_r", "toe_l"), ("heel_r", "toe_r", "toe_l"), ("heel_r", "toe_r"), ("toe_r",))
POINTS = ("heel_r", "toe_r", "heel_l", "toe_l")
TRUNK = "lumbar_extension"
LEGS = tuple(f"{joint}_{side}" for side in "rl" for joint in LEG)
MOVING = (*PELVIS, TRUNK, *LEGS)  # coordinates of such a walk
SPEED = 1.25  # m/s
RATE, STEADINESS, SMOOTHNESS = 0.03, 0.07, 3.2e-6
STRONG = 30.0  # N m, reserves of the first search
COARSE, FINE = (2, 2, 4, 3), (4, 3, 8, 8)  # intervals of the arcs
HALVED = ((2, 0), (3, -1))  # arc and interval, after toe-off and before heel strike, where most is missed
ROUGH, TOLERANCE = 1e-2, 1e-6
SAMPLES = 101  # of a step
LEAST_BEND = 0.05  # rad, of knees where the search begins


def muscle_walk(
    model: dynamics.OsimModel,
    *,
    speed: float = SPEED,
    step_length: float | None = None,
    intervals: Intervals = FINE,
    rough: bool = False,
    reserves: float = 1.0,
    friction: float = 0.7,
    force_rate: float = RATE,
    steadiness: float = STEADINESS,
    smoothness: float = SMOOTHNESS,
) -> trajopt.Problem:
    """One step, right heel strike to left heel strike, with rigid tendons.

    model : from `dynamics.load_osim(path, muscles=True)`;  speed : m/s
    step_length : m; None for that of people, 0.62 m at 1.2 m/s and 0.28 m more for every m/s
    intervals : of the mesh in each arc; the first one after the other foot's toe-off is halved, and the last
    rough : whether they have three Radau points in place of four Gauss points, and no limits between these
    reserves : N m, strength of motors beside the muscles of the legs
    force_rate, steadiness : weights without unit;  smoothness : s^4
    Raises ProblemError for a model without muscles, that lacks a coordinate or a frame of the feet, that has
    further coordinates, or a muscle without its like on the other side, and OptionError for a speed or a
    length that is not positive, and a weight below zero.
    """
    check_positive("speed", speed)
    own_speed, own_length = WALKS[FILE]
    length = own_length + LENGTH_OF_SPEED * (speed - own_speed) if step_length is None else step_length
    check_positive("step_length", length)
    weights = {"force_rate": force_rate, "steadiness": steadiness, "smoothness": smoothness}
    for name, weight in weights.items():
        check_positive(name, weight, or_zero=True)
    model, duration = with_feet(model, TRUNK), length / speed
    names, muscles = tuple(model.robot.joint_names), muscles_in(model)
    if further := [name for name in names if name not in MOVING]:
        raise ProblemError(
            f"a sagittal walk does not move {list_names(further)}: hold them, too, by "
            "dynamics.load_osim(path, hold=[...], muscles=True)"
        )
    if single := [name for name in muscles.names if other_side(name) not in muscles.names]:
        raise ProblemError(
            f"no muscle of the other side is named like {list_names(single)}: a step ends where the other "
            "side began, so give each its like, with names that end in _r and _l"
        )
    start, durations = _stored_walk(model, length)
    schedule = trajopt.Schedule(
        [(points, (SHORTEST * duration, LONGEST * duration)) for points in STANCES], feet=POINTS
    )
    if rough:
        mesh = schedule.trajectory(intervals)
    else:
        mesh = schedule.trajectory(intervals, ORDER, RULE)
        marks = [np.zeros(arc.basis.span_count, dtype=bool) for arc in mesh.arcs]
        for arc, interval in HALVED:
            marks[arc][interval] = True
        mesh = split(mesh, marks)
        between = [limit_times(arc.basis.breakpoints, BETWEEN_POINTS) for arc in mesh.arcs]
        mesh = mesh.with_limit_points(between)
    problem = muscle_problem(
        model, mesh, reserves=dict.fromkeys(LEGS, reserves), unpowered=PELVIS, periodic=True, passive=False,
        moments=lambda node: _passive({name: node.q[i] for i, name in enumerate(names)}), motion=start[1],
        name="walk by muscles",
    )  # fmt: skip
    ground = trajopt.Ground(up="y")
    for point in POINTS:
        arcs = schedule.arcs(point)
        held = {arc: "y" if f"heel_{point[-1]}" in STANCES[arc] and point[0] == "t" else "xy" for arc in arcs}
        problem.contact(point, arcs, friction, ground=ground, held=held, continuous=True)
    problem.subject_to_repeated_contacts({point: other_side(point) for point in POINTS})
    ahead = np.where(np.array(names) == PELVIS[0], length, 0.0)
    order = [names.index(other_side(name)) for name in names]
    problem.subject_to_periodic(trajopt.q, order=order, offset=ahead, name="symmetry of posture")
    problem.subject_to_periodic(trajopt.v, order=order, name="symmetry of velocity")
    order = [muscles.names.index(other_side(name)) for name in muscles.names]
    activation = trajopt.Quantity(f"extra:{ACTIVATION}")
    problem.subject_to_periodic(activation, order=order, name="symmetry of activation")
    at_start = trajopt.ArcNodes(0, "start")
    problem.subject_to(trajopt.position("heel_r")[0], equals=0.0, over=at_start, name="the heel is placed")
    problem.subject_to(trajopt.duration, equals=duration, name="duration of the step")
    knees = ["knee" in name for name in names]
    problem.subject_to(trajopt.q, upper=np.where(knees, 0.0, np.inf), name="knees do not bend back")
    g = float(np.linalg.norm(model.robot.gravity))
    square, weight = TABLE_HEIGHT / g, g * model.robot.total_mass  # s^2, N
    problem.minimize(rate_of_leg_forces(problem, weight), force_rate * square)
    problem.minimize(_turning(names), steadiness * square**2)
    problem.minimize(trajopt.a**2, smoothness, name="smoothness")
    ends = np.append(0.0, np.cumsum(durations))

    def pose(progress: np.ndarray) -> np.ndarray:
        parts = np.interp(durations.size * progress, np.arange(ends.size), ends)  # arcs are equally wide
        return np.stack([np.interp(parts, start[0], each) for each in start[1].T], axis=-1)

    problem.guess(q=pose, duration=duration * durations)
    return problem


def staged_walk(
    model: dynamics.OsimModel,
    *,
    speed: float = SPEED,
    step_length: float | None = None,
    intervals: Intervals = FINE,
    reserves: float = 1.0,
    **options: float,
) -> trajopt.Problem:
    """The problem of `muscle_walk`, whose options these are, which is solved by way of easier walks.

    Weak reserves leave no way from a guess of the motion alone: the first walk has strong ones, the second
    those that are asked for, both on a coarse mesh and at 1.25 m/s. From there the search goes on at the step
    that is asked for, coarse and then fine, with at most 200 iterations for each walk.
    """
    wanted: dict[str, Any] = {"speed": speed, "step_length": step_length, "reserves": reserves, **options}
    last = muscle_walk(model, intervals=intervals, **wanted)  # first, for what it refuses
    steps: list[dict[str, Any] | None]
    steps = [{"reserves": max(STRONG, reserves)}, {"reserves": reserves}, wanted, None]
    before: trajopt.Problem | None = None
    for step in steps:
        problem = last if step is None else muscle_walk(model, intervals=COARSE, rough=True, **step)
        if before is not None:
            problem.guess(before)
        problem.recommend(
            trajopt.Ipopt(
                tol=TOLERANCE if step is None else ROUGH,
                options=NEAR,
                max_iterations=MOST_ITERATIONS,
            )
        )
        before = problem
    return last


def solve_walk(model: dynamics.OsimModel, **options: Any) -> trajopt.Solution:
    """The optimum of `staged_walk`, whose options these are, on its own mesh."""
    return trajopt.solve(staged_walk(model, **options), refine=None, starts=1, coarse_to_fine=False)


@dataclass(frozen=True, eq=False)
class MuscleCycle:
    """A gait cycle of a solved walk: its step, and the step of the other side after it.

    time : (K,) s from the strike of the right heel;  names, muscles, motors : of the columns
    q : (K, n) rad or m;  tau : (K, n) N m or N of the joints
    activation, excitation : (K, m);  reserve : (K, motors) N m
    """

    time: np.ndarray
    names: tuple[str, ...]
    muscles: tuple[str, ...]
    motors: tuple[str, ...]
    q: np.ndarray
    tau: np.ndarray
    activation: np.ndarray
    excitation: np.ndarray
    reserve: np.ndarray


def muscle_cycle(solution: trajopt.Solution) -> MuscleCycle:
    """The gait cycle of a solved walk, at even times of both steps."""
    t = np.linspace(0.0, solution.curve.duration, SAMPLES)
    robot = solution.problem.dynamics.robot  # type: ignore[attr-defined]
    names, muscles = tuple(robot.joint_names), tuple(robot.paths.names)
    motors = tuple(name for name in names if name not in PELVIS)

    def both(step: np.ndarray, columns: tuple[str, ...]) -> np.ndarray:
        order = [columns.index(other_side(name)) for name in columns]
        return np.concatenate([step, step[1:, order]])

    q = both(solution.q(t), names)
    x = names.index(PELVIS[0])
    q[SAMPLES:, x] += q[SAMPLES - 1, x] - q[0, x]
    activation, excitation, reserve = (
        both(solution.value(trajopt.state(name), t), columns)
        for name, columns in ((ACTIVATION, muscles), (EXCITATION, muscles), (RESERVE, motors))
    )
    time = np.concatenate([t, t[1:] + t[-1]])
    tau = both(solution.tau(t), names)
    return MuscleCycle(time, names, muscles, motors, q, tau, activation, excitation, reserve)


def walk_curves(solution: trajopt.Solution) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Curves (K,) of a solved walk along the cycle of the right leg, and the percent (K,) of the cycle.

    Hip, knee and ankle angles, moments, vertical and fore-aft reaction, as `assessment.measured` has them:
    `scores_of(*walk_curves(solution), TRIAL)` compares them with a trial.
    """
    problem, cycle, t = solution.problem, muscle_cycle(solution), np.linspace(0.0, solution.duration, SAMPLES)
    robot = problem.dynamics.robot  # type: ignore[attr-defined]
    mass, g = robot.total_mass, float(np.linalg.norm(robot.gravity))
    right, left = (
        sum(
            solution.value(one.force, t) for point, one in problem.contacts.items()
            if one.arcs and point.endswith(side)
        ) / (mass * g)
        for side in ("_r", "_l")
    )  # fmt: skip
    curves = {}
    for joint, own, sign in zip(("hip", "knee", "ankle"), LEG, (1.0, -1.0, 1.0), strict=True):
        place = cycle.names.index(f"{own}_r")
        curves[f"{joint} angle"] = sign * np.rad2deg(cycle.q[:, place])
        curves[f"{joint} moment"] = -sign * cycle.tau[:, place] / mass
    for name, axis in (("vertical reaction", 1), ("fore-aft reaction", 0)):
        curves[name] = np.append(right[:, axis], left[1:, axis])  # which is where the right leg goes on
    return curves, np.linspace(0.0, 100.0, cycle.time.size)


def _stored_walk(
    model: dynamics.OsimModel, length: float
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Parts (K,) of the step and poses (K, n) of the stored walk, and the parts of its arcs.

    The lowest point is on the ground, the right heel at x = 0 where it strikes.
    """
    curves, names = solved_curves(), list(model.robot.joint_names)
    parts, firsts = np.unique(curves[TIME], return_index=True)
    q = np.tile(model.default_pose, (parts.size, 1))

    def along(name: str) -> np.ndarray:
        return curves[name].ravel()[firsts]

    own = {PELVIS[2]: -along("global_tilt"), TRUNK: -along("spine1_flex") - along("spine2_flex")}
    for side in "rl":
        own |= {
            f"hip_flexion_{side}": along(f"hip_{side}_flex"),
            f"knee_angle_{side}": -np.maximum(along(f"knee_{side}_flex"), LEAST_BEND),
            f"ankle_angle_{side}": along(f"ankle_{side}_dorsi"),
        }
    x = along("global_tx")
    own[PELVIS[0]] = length * (x - x[0]) / (x[-1] - x[0])
    for name, values in own.items():
        q[:, names.index(name)] = values
    places = model.robot.forward_kinematics(q, list(POINTS)).position
    q[:, names.index(PELVIS[0])] -= places[0, 0, 0]
    q[:, names.index(PELVIS[1])] -= places[:, :, 1].min(axis=1)
    return (parts, q), np.bincount(curves[ARC], np.ptp(curves[TIME], axis=1))


def _passive(q: Mapping[str, Any]) -> dict[str, Any]:
    """The passive moments of both legs, each with its opposite of the hip at the trunk."""
    found: dict[str, Any] = {}
    for side in "rl":
        hip, knee, ankle = (f"{joint}_{side}" for joint in LEG)
        passive = passive_moments(q[hip] - q[TRUNK], -q[knee], q[ankle])
        found |= {hip: passive.hip, knee: -passive.knee, ankle: passive.ankle}
    return found | {TRUNK: -sum(found[f"{LEG[0]}_{side}"] for side in "rl")}


def _turning(names: tuple[str, ...]) -> trajopt.ExpressionTerm:
    """Squared angular accelerations of pelvis and trunk, rad^2/s^4."""
    tilt, trunk = names.index(PELVIS[2]), names.index(TRUNK)
    return trajopt.ExpressionTerm(
        lambda node: node.a[tilt] ** 2 + (node.a[tilt] + node.a[trunk]) ** 2,
        "unsteadiness of pelvis and trunk",
    )
