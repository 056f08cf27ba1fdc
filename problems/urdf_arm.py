"""Any arm from its URDF, moved between two poses in least time, or with time and effort weighed.

    minimize (1 - u) T + u integral_0^T sum_i (tau_i / limit_i)^2 dt
    subject to   |tau| <= torque,   |v| <= velocity,   q_lower <= q <= q_upper,   |jerk| <= jerk

against gravity. Motors may be added to every joint: rotors of inertia J behind a gear, exact (they turn with
the link that carries them, and couple) or as the usual armature (gear^2 J on the diagonal of the mass
matrix); the difference in T is what the approximation costs: with gears of 100 in all joints of the UR5,
0.56306 s against 0.56268 (-0.07 %) for rotors of 1e-4 kg m^2, 0.77332 against 0.77004 (-0.42 %) for 3e-4.
The robots are in `robots/`: the UR5 of Universal Robots, six axes, and the Panda of Franka Emika, seven and
two fingers. Source of the form: Barman, section 4.2.
No published optimum: the reference of the default case is our own with 80 intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe
from trajopt.base.errors import OptionError, near_matches
from trajopt.base.files import near_files

REFERENCE = 0.539891449  # s, the default case with 80 intervals
REFERENCE_SOURCE = "ours, 80 intervals"


@recipe
def build(
    *,
    robot: str = "ur5",
    intervals: int = 20,
    degree: int = 4,
    duration: tuple[float, float] = (0.05, 20.0),
    q_start: Sequence[float] | None = None,
    q_end: Sequence[float] | None = None,
    u: float = 0.0,
    jerk: float = 500.0,
    gear_ratio: float = 0.0,
    rotor_inertia: float = 1e-4,
    rotors: str = "exact",
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
) -> trajopt.Problem:
    """robot is one of `robots/`, your own .urdf file, or the text of one; poses in rad (default: a swing).

    u : in [0, 1], the weight of effort against time;   jerk : rad/s^3, the same for every joint
    gear_ratio, rotor_inertia (kg m^2) : of the motors added to every joint, none where the ratio is 0
    rotors : "exact", "armature" or "none";   gravity : m/s^2
    """
    if not 0.0 <= u <= 1.0:
        raise OptionError(f"u is {u}: expected a weight between 0 (time only) and 1 (effort only)")
    model = geared(dynamics.load_urdf(source(robot), gravity=gravity), gear_ratio, rotor_inertia)
    model = model.with_rotors(rotors)  # type: ignore[arg-type]
    first, last = poses(model)

    trajectory = trajopt.Trajectory.uniform(intervals, degree, duration)
    problem = trajopt.Problem(model, trajectory, name="urdf_arm")
    problem.start_at(q=first if q_start is None else q_start, v=0.0, a=0.0)
    problem.end_at(q=last if q_end is None else q_end, v=0.0, a=0.0)
    if u < 1.0:
        problem.minimize(trajopt.duration, weight=1.0 - u, name="time")
    if u > 0.0:
        problem.minimize((trajopt.tau / model.limits.torque_upper) ** 2, weight=u, name="effort")
    problem.subject_to_joint_limits()
    problem.subject_to(trajopt.jerk, -jerk, jerk, name="jerk limits")
    return problem


def source(robot: str) -> str:
    """The text of a URDF: itself, that of a file whose name ends in .urdf, or that of a packaged robot."""
    if robot.lstrip().startswith("<"):
        return robot
    if robot.endswith(".urdf"):
        if not Path(robot).is_file():
            raise OptionError(f"{robot} is not a file{_near_files(robot)}: give the path of a URDF")
        return Path(robot).read_text(encoding="utf-8")
    folder = files("problems").joinpath("robots")
    known = sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".urdf"))
    if robot not in known:
        raise OptionError(
            f"no robot is called '{robot}'{_near_files(robot) or near_matches(robot, known)}: there are "
            f"{', '.join(known)}, or give the path of a .urdf file"
        )
    return folder.joinpath(f"{robot}.urdf").read_text(encoding="utf-8")


def _near_files(robot: str) -> str:
    """The end of a message about a robot that is not there: files that may be meant, or nothing."""
    path = Path(robot)
    return near_files(path, (".urdf",)) if path.suffix else ""


def geared(model: dynamics.RigidBodyModel, ratio: float, inertia: float) -> dynamics.RigidBodyModel:
    """The same robot with a rotor on the axis of every joint, carried by the link before it."""
    if ratio == 0.0:
        return model
    bodies = []
    for body in model.bodies:
        axis = body.joint.rotation @ body.joint.axis
        rotor = dynamics.Rotor(
            ratio, inertia=inertia * np.outer(axis, axis), axis=axis, position=body.joint.position
        )
        bodies.append(replace(body, joint=replace(body.joint, rotor=rotor)))
    return dynamics.RigidBodyModel(bodies, model.gravity, model.name)


def poses(model: dynamics.RigidBodyModel) -> tuple[np.ndarray, np.ndarray]:
    """Two poses a third apart around the middle of every joint's range, at most a radian to either side."""
    # Continuous joints have no limits: half a turn to either side stands for their range.
    lower = np.where(np.isfinite(model.limits.q_lower), model.limits.q_lower, -np.pi)
    upper = np.where(np.isfinite(model.limits.q_upper), model.limits.q_upper, np.pi)
    middle = np.clip(0.5 * (lower + upper), -np.pi, np.pi)
    half = np.minimum((upper - lower) / 6.0, 0.6)
    signs = np.where(np.arange(model.n) % 2, -1.0, 1.0)
    return middle - signs * half, middle + signs * half
