"""Limits between nodes of moves that are solved with defaults: `python -m benchmarks.default_moves`.

Five arms of the package example-robot-data, each moved in minimum time between two poses at rest that are
drawn uniformly within its joint limits, under all joint limits, without payload and with 2 kg held 0.05 m
ahead of the last link's frame. A pose that the motors cannot hold at rest is drawn again. 20 intervals, from
the straight line.

Printed for every arm: how many moves converged; the largest excess of a torque, speed or position over its
limit, in percent of the larger of the limit's two bounds in size, at 20,001 uniform times; what an integrator
does with the torques found, clipped at their limits (the largest error of a joint at the end, rad, by SciPy's
DOP853, or Radau where joints have damping, with a relative tolerance of 1e-10 on the forward dynamics, and by
MuJoCo where it is installed, in steps of 1 ms, over the motion and restarted at every knot: `mujoco_replay`);
and processor seconds.

--way : default; mesh (limits at the nodes of the mesh alone); dense (InteriorPoint); certified
--moves : moves of every arm and payload, 30;   --robots : some of ur5 ur10 panda xarm7 kinova
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec

import numpy as np
from scipy.integrate import solve_ivp

import dynamics
import trajopt
from benchmarks.mujoco_replay import MOTORS, replay_errors
from benchmarks.shared.timing import loaded_machine

ROBOTS = {
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "panda": "panda_description/urdf/panda.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
}
INTERVALS, SAMPLES = 20, 20001
PAYLOAD, AHEAD = 2.0, 0.05  # kg; m along the z axis of the last link's frame
HELD = 0.95  # of a torque limit: what a pose may need at rest
WAYS: dict[str, Callable[[trajopt.Problem], trajopt.Solution]] = {
    "default": trajopt.solve,
    "mesh": lambda problem: trajopt.solve(problem, refine=None),
    "dense": lambda problem: trajopt.solve(problem, trajopt.InteriorPoint()),
    "certified": lambda problem: trajopt.solve(problem, refine=trajopt.Certified()),
}


@cache
def robot(name: str, payload: float) -> dynamics.RigidBodyModel:
    """An arm of example-robot-data with a point mass before its last link; a hand's fingers stay closed."""
    try:
        stored = files("example-robot-data") or []
    except PackageNotFoundError:
        raise SystemExit("the robots are those of a package: pip install example-robot-data") from None
    path = next(each for each in stored if str(each).endswith(ROBOTS[name])).locate()
    model = dynamics.load_urdf(str(path))
    bodies = [body for body in model.bodies if body.joint.kind != "prismatic"]
    last = bodies[-1]
    mass = last.mass + payload
    point = np.array([0.0, 0.0, AHEAD])
    centre = (last.mass * last.centre_of_mass + payload * point) / mass
    parts = ((last.mass, last.centre_of_mass), (payload, point))
    inertia = last.inertia + sum(m * steiner(c - centre) for m, c in parts)
    bodies[-1] = replace(last, mass=mass, centre_of_mass=centre, inertia=inertia)
    return dynamics.RigidBodyModel(bodies, model.gravity, name)


def steiner(offset: np.ndarray) -> np.ndarray:
    """The inertia of a unit mass at an offset, (3, 3) m^2."""
    return offset @ offset * np.eye(3) - np.outer(offset, offset)


def poses(model: dynamics.RigidBodyModel, seed: int) -> np.ndarray:
    """Two poses (2, n) within the joint limits that the motors can hold at rest."""
    low = np.where(np.isfinite(model.limits.q_lower), model.limits.q_lower, -np.pi)
    high = np.where(np.isfinite(model.limits.q_upper), model.limits.q_upper, np.pi)
    draws = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    while len(found) < 2:
        q = draws.uniform(low, high)
        torque = dynamics.rnea(model, q, 0.0 * q, 0.0 * q)
        if np.all(np.abs(torque) <= HELD * model.limits.torque_upper):
            found.append(q)
    return np.array(found)


def move(model: dynamics.RigidBodyModel, seed: int) -> trajopt.Problem:
    """Minimum time from rest to rest under all joint limits."""
    first, last = poses(model, seed)
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(INTERVALS), name=f"{model.name} {seed}")
    problem.start_at(q=first, v=0.0)
    problem.end_at(q=last, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


@dataclass(frozen=True)
class Outcome:
    """Outcome of one move: excess in percent of a limit, and errors at the end of replays in rad."""

    converged: bool
    duration: float
    seconds: float
    excess: float
    end_error: float
    end_error_of_mujoco: float
    restarted_error_of_mujoco: float


def excess(solution: trajopt.Solution) -> float:
    """The largest excess over a torque, velocity or position limit, percent of its larger bound in size."""
    limits = solution.limits
    t = np.linspace(0.0, solution.duration, SAMPLES)
    tracks = (
        (solution.value(MOTORS, t), limits.torque_lower, limits.torque_upper),
        (solution.v(t), -limits.velocity, limits.velocity),
        (solution.q(t), limits.q_lower, limits.q_upper),
    )
    worst = 0.0
    for values, lower, upper in tracks:
        sizes = np.fmax(*(np.where(np.isfinite(bound), np.abs(bound), np.nan) for bound in (lower, upper)))
        over = np.fmax(lower - values, values - upper).max(axis=0)
        worst = max(worst, float(np.nanmax(100.0 * over / sizes)))
    return worst


def end_error(model: dynamics.RigidBodyModel, solution: trajopt.Solution) -> float:
    """The largest error of a joint at the end, rad, where torques clipped at their limits drive the arm.

    By DOP853, or by Radau's method where joints have damping, which makes small links stiff.
    """
    n, goal, limits = model.n, solution.q(solution.duration), model.limits
    damping = np.array([body.joint.damping for body in model.bodies])
    method = "Radau" if damping.any() else "DOP853"

    def rates(t: float, state: np.ndarray) -> np.ndarray:
        motors = np.clip(solution.value(MOTORS, t), limits.torque_lower, limits.torque_upper)
        tau = motors - damping * state[n:]
        return np.concatenate([state[n:], dynamics.aba(model, state[:n], state[n:], tau)])

    state = np.concatenate([solution.q(0.0), solution.v(0.0)])
    for begin, end in zip(solution.knot_times[:-1], solution.knot_times[1:], strict=True):
        state = solve_ivp(rates, (begin, end), state, method, rtol=1e-10, atol=1e-12).y[:, -1]
    return float(np.abs(state[:n] - goal).max())


def outcome(name: str, payload: float, seed: int, way: str, replay: bool) -> Outcome:
    model = robot(name, payload)
    problem = move(model, seed)
    began = time.process_time()
    solution = WAYS[way](problem)
    seconds = time.process_time() - began
    error, of_mujoco = np.nan, (np.nan, np.nan)
    if replay:
        error = end_error(model, solution)
    if replay and find_spec("mujoco"):
        of_mujoco = replay_errors(model, solution)
    return Outcome(solution.converged, solution.duration, seconds, excess(solution), error, *of_mujoco)


def main() -> None:
    """Print a table, one row for every arm and payload."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--moves", type=int, default=30)
    parser.add_argument("--way", choices=WAYS, default="default")
    parser.add_argument("--robots", nargs="*", default=list(ROBOTS))
    parser.add_argument("--no-replay", action="store_true")
    given = parser.parse_args()
    print(f"{loaded_machine()}; {given.way}, {given.moves} moves each")
    print(
        "| arm | payload, kg | converged | largest, median excess, % "
        "| DOP853, rad | MuJoCo, rad | restarted, rad | duration, s | ms |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in given.robots:
        for payload in (0.0, PAYLOAD):
            model = robot(name, payload)
            trajopt.solve(move(model, 0), refine=None)  # compiles and fills caches
            found = [outcome(name, payload, k, given.way, not given.no_replay) for k in range(given.moves)]
            over = [each.excess for each in found]
            print(
                f"| {name} | {payload:g} | {sum(each.converged for each in found)} of {len(found)} | "
                f"{max(over):.3g}, {np.median(over):.2g} | {max(each.end_error for each in found):.2g} | "
                f"{max(each.end_error_of_mujoco for each in found):.2g} | "
                f"{max(each.restarted_error_of_mujoco for each in found):.2g} | "
                f"{np.mean([each.duration for each in found]):.6f} | "
                f"{1e3 * np.median([each.seconds for each in found]):.0f}, "
                f"mean {1e3 * np.mean([each.seconds for each in found]):.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
