"""Times of solves of robots on legs, and what their equations miss between nodes.

    python -m benchmarks.legged                          # Solo, a hopper, a step of the G1
    python -m benchmarks.legged --robots FOLDER          # and jumps of ANYmal and HyQ, a step of Talos
    python -m benchmarks.legged --starts                 # trot and jump of Solo from ten starts each
    python -m benchmarks.legged --replay                 # those of the library in MuJoCo, on its ground
    python -m benchmarks.legged --peer PYTHON            # trot and jump beside Crocoddyl's, which PYTHON has
    python -m benchmarks.legged.motions --go2 FILE       # eleven motions of Go2, G1 and H1, see there
    python -m benchmarks.legged.free_body                # a body that turns far, beside DOP853

FOLDER has the robots of the package example-robot-data, which pip installs. Columns: iterations, seconds of
processor time of `solve` and of `verify`, the largest force (in weights) and moment (in weights times the
height of the base) that the equations of the base miss between nodes, by inverse dynamics with the forces of
the ground, how far points of standing feet move, how far forces leave the friction cone (in weights; also by
pulling), and by how much of its scale the worst limit is exceeded, of torques or of heights, for `verify` at
all times.

Starts, of seeds 0 to 9: every control point of the joints is moved by up to .2 rad, the base by up to .1 m
and .3 rad, free durations are multiplied by .5 to 2. The last line counts those that end within 1 % of the
lowest objective.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
import problems
import trajopt
from benchmarks.legged.peer import REPEATS, TORQUE, asked
from benchmarks.shared.arguments import parser
from benchmarks.shared.markdown import table
from trajopt.checks.residual_forces import standing_feet

BASE = 6  # coordinates of the base
SOLE = [(0.1, 0.06, 0.0), (0.1, -0.06, 0.0), (-0.1, 0.06, 0.0), (-0.1, -0.06, 0.0)]  # m, of Talos
LIBRARY = (
    *("quadruped_trot", "quadruped_jump", "quadruped_bound", "quadruped_gap"),
    *("one_legged_hopper", "biped_step"),
)
SMALLEST = ("one_legged_hopper",)
STARTS = {"quadruped_trot": 10, "quadruped_jump": 10}
SAMPLES = 400  # of every arc


def placed(problem: trajopt.Problem, joints: dict[str, float]) -> np.ndarray:
    """(n,) joints at some values, the robot on its feet."""
    names = problem.dynamics.joint_names
    each = [next((value for end, value in joints.items() if name.endswith(end)), 0.0) for name in names]
    return problem.standing_pose(each)


def add_costs(
    problem: trajopt.Problem,
    standing: np.ndarray,
    joints: Sequence[int],
    effort: float,
    acceleration: float = 0.0,
) -> None:
    """Squared torques, a posture to keep, and small speeds and accelerations of the joints, by weights."""

    @trajopt.term
    def posture(node: Any) -> Any:
        return [node.q[i] - standing[i] for i in joints]

    @trajopt.term
    def speeds(node: Any) -> Any:
        return [node.v[i] for i in joints]

    problem.minimize(trajopt.tau**2, effort)
    problem.minimize(posture**2)
    problem.minimize(speeds**2, 1e-2)
    if acceleration:
        accelerations = trajopt.term(name="accelerations")(lambda node: [node.a[i] for i in joints])
        problem.minimize(accelerations**2, acceleration)


def jump_of(
    name: str, path: Path, feet: Sequence[str], joints: dict[str, float], torque: float, *weights: float
) -> trajopt.Problem:
    """A quadruped jumps half a metre forward.

    joints : those of standing;  torque : N m, the largest;  weights : of squared torques, and accelerations
    """
    robot = dynamics.load_urdf(path, floating_base="free")
    schedule = trajopt.Schedule.jump(feet, push=(0.1, 0.6), flight=(0.1, 0.6), landing=(0.1, 0.6))
    problem = trajopt.Problem(robot, schedule.trajectory(8), name=name)
    for foot in feet:
        problem.contact(foot, schedule.arcs(foot), 0.7, 0.05)
    problem.passive_base()
    start = placed(problem, joints)
    end, motors = start + 0.5 * np.eye(robot.n)[0], range(BASE, robot.n)
    problem.start_at(q=start, v=0)
    problem.end_at(q=[*end[:BASE], *[None] * 12], v=[*[0] * BASE, *[None] * 12])
    torques = trajopt.term(name="motor torques")(lambda node: [node.tau[i] for i in motors])
    problem.subject_to(torques, lower=-torque, upper=torque)
    add_costs(problem, start, motors, *weights)
    problem.guess(np.array([start, end]), duration=[0.3, 0.3, 0.3])
    return problem


def anymal_jump(folder: Path) -> trajopt.Problem:
    """ANYmal C, 50 kg."""
    path = folder / "anymal_c_simple_description" / "urdf" / "anymal.urdf"
    front = {
        f"{leg}_{joint}": value for leg in ("LF", "RF") for joint, value in (("HFE", 0.7), ("KFE", -1.2))
    }
    hind = {name.replace("F_", "H_", 1): -value for name, value in front.items()}
    feet = [f"{leg}_FOOT" for leg in ("LF", "RF", "LH", "RH")]
    return jump_of("ANYmal's jump", path, feet, front | hind, 80.0, 1e-3)


def hyq_jump(folder: Path) -> trajopt.Problem:
    """HyQ, 87 kg."""
    path = folder / "hyq_description" / "robots" / "hyq_no_sensors.urdf"
    joints = {"haa_joint": -0.2}
    for leg, side in (("lf", 1.0), ("rf", 1.0), ("lh", -1.0), ("rh", -1.0)):
        joints |= {f"{leg}_hfe_joint": 0.75 * side, f"{leg}_kfe_joint": -1.5 * side}
    return jump_of(
        "HyQ's jump", path, ("lf_foot", "rf_foot", "lh_foot", "rh_foot"), joints, 150.0, 1e-4, 1e-5
    )


def talos_step(folder: Path) -> trajopt.Problem:
    """Talos, 90 kg, 38 coordinates of which the arms' are locked: the right foot moves 0.25 m forward."""
    path = folder / "talos_data" / "robots" / "talos_reduced.urdf"
    robot = dynamics.load_urdf(path, floating_base="free")
    bent = {"3_joint": -0.4, "4_joint": 0.8, "5_joint": -0.4}
    legs = {f"leg_{side}_{end}": value for side in ("left", "right") for end, value in bent.items()}
    left, right = "left_sole_link", "right_sole_link"
    names = list(robot.joint_names)
    locked = [name for name in names if name.startswith(("arm", "head", "gripper"))]
    free = [place for place, name in enumerate(names) if name not in locked]
    schedule = trajopt.Schedule([((left, right), 0.25), ((left,), 0.7), ((left, right), 0.25)])
    problem = trajopt.Problem(robot, schedule.trajectory(8), name="a step of Talos")
    for foot in schedule.feet:
        problem.contact(foot, schedule.arcs(foot), 0.6, 0.05, sole=SOLE)
    problem.passive_base()
    start = placed(problem, legs)
    problem.lock(*locked, at=0.0)
    problem.start_at(
        q=[start[i] if i in free else None for i in range(robot.n)],
        v=[0.0 if i in free else None for i in range(robot.n)],
    )
    problem.end_at(q=[0.1, *[None] * (robot.n - 1)], v=[*[0.0] * BASE, *[None] * (robot.n - BASE)])
    before = dynamics.forward_kinematics(robot, start, [right]).position[0, 0]
    problem.subject_to(trajopt.position(right)[0], equals=float(before) + 0.25, over="end", name="step")
    add_costs(problem, start, free[BASE:], 1e-4, 1e-5)
    problem.guess(np.array([start, start + 0.1 * np.eye(robot.n)[0]]))
    return problem


def missing(solution: Any) -> tuple[float, float, float]:
    """Force and moment that the base's equations miss, in weights and weights times height; m, feet slide."""
    robot, force, moment = solution.problem.dynamics, 0.0, 0.0
    feet = standing_feet(solution)
    weight = 9.81 * robot.total_mass
    for first, last in zip(solution.curve.starts[:-1], solution.curve.starts[1:], strict=True):
        t = np.linspace(first + 1e-9, last - 1e-9, SAMPLES)
        external = np.zeros((t.size, robot.link_count, 6))
        for contact in solution.asked.contacts.values():
            if contact.arcs:
                wrench = trajopt.term(name=f"wrench on {contact.frame}")(contact.wrench)
                external[:, robot.link_index(contact.link)] += solution.value(wrench, t)
        left = dynamics.rnea(robot, solution.q(t), solution.v(t), solution.a(t), external) / weight
        force = max(force, float(np.linalg.norm(left[:, :3], axis=1).max()))
        moment = max(moment, float(np.linalg.norm(left[:, 3:BASE], axis=1).max()) / float(solution.q(0.0)[2]))
    return force, moment, feet.slip if feet else 0.0


def outside_cone(solution: Any) -> float:
    """Weights by which forces of the ground, its normal z, leave the friction cone at any time."""
    t, excess = solution.sample(SAMPLES).t, []
    for contact in solution.asked.contacts.values():
        if contact.arcs:
            f = solution.value(contact.force, t)
            excess += [np.hypot(f[:, 0], f[:, 1]) - contact.friction * f[:, 2], -f[:, 2]]
    return float(np.max(excess)) / (9.81 * solution.problem.dynamics.total_mass)


def row(problem: trajopt.Problem) -> list[str]:
    began = time.process_time()
    solution = trajopt.solve(problem, progress="silent")
    solved = time.process_time()
    report = solution.verify()
    force, moment, slip = missing(solution)
    return [
        problem.name,
        solution.status.value,
        f"{solution.iterations}",
        f"{solved - began:.1f}",
        f"{report.verdict}, {time.process_time() - solved:.1f}",
        f"{force:.1e}",
        f"{moment:.1e}",
        f"{1e3 * slip:.4f}",
        f"{max(0.0, outside_cone(solution)):.1e}",
        f"{report.largest_excess.dense_relative if report.largest_excess else 0.0:.1e}",
    ]


def other_start(name: str, seed: int) -> trajopt.Problem:
    """A problem of the library from another start, see above."""
    problem, rng = getattr(problems, name).build(), np.random.default_rng(seed)
    n, guessed = problem.dynamics.n, problem.guessed_durations
    moved = np.repeat([0.1, 0.3, 0.2], [3, 3, n - BASE]) * rng.uniform(-1.0, 1.0, (4, n))
    along = np.array([problem.guessed_curve(s)[:n] for s in np.linspace(0.0, 1.0, len(moved))])
    bounds = np.array([np.broadcast_to(arc.duration, 2) for arc in problem.trajectory.arcs])
    factors = 2.0 ** rng.uniform(-1.0, 1.0, len(bounds))
    if guessed is None:
        problem.guess(along + moved)
    else:
        problem.guess(along + moved, duration=np.clip(np.asarray(guessed) * factors, *bounds.T))
    return problem


def starts(name: str, count: int) -> list[list[str]]:
    """A row for every start, and one that counts those that end within 1 % of the lowest objective."""
    rows, objectives = [], []
    for seed in range(count):
        began = time.process_time()
        found = trajopt.solve(other_start(name, seed), starts=1, progress="silent")
        seconds = time.process_time() - began
        objectives.append(found.objective if found.converged else np.inf)
        objective = f"{found.objective:.6g}"
        rows.append([name, f"{seed}", found.status.value, f"{found.iterations}", f"{seconds:.1f}", objective])
    same = np.count_nonzero(np.array(objectives) <= 1.01 * min(objectives))
    return [*rows, [name, "all", f"{same} of {count}", "", "", f"{min(objectives):.6g}"]]


def replays(library: Sequence[str]) -> list[list[str]]:
    """Distances by which MuJoCo's robot leaves each motion of the library."""
    from benchmarks.legged.replay import replayed

    rows = []
    for name in library:
        solution = trajopt.solve(getattr(problems, name).build(), progress="silent")
        place, turn, joint = replayed(solution)
        rows.append([name, f"{solution.duration:.3f}", f"{1e3 * place:.2f}", f"{turn:.2f}", f"{joint:.4f}"])
    return rows


def held(solution: Any) -> list[float]:
    """Largest torque by its limit, excess of forces over the cone in weights, and mm, slip of feet."""
    t = solution.sample(SAMPLES).t
    torque = float(np.abs(solution.value(trajopt.tau, t)[:, BASE:]).max()) / TORQUE
    return [torque, outside_cone(solution), 1e3 * missing(solution)[2]]


def beside(python: str, repeats: int) -> list[list[str]]:
    """Trot and jump of Solo by this interpreter's Crocoddyl and by ours, in the same run."""
    rows = []
    for theirs in asked(python):
        name, theirs_held = theirs["motion"], [theirs["torque"], theirs["cone"], 1e3 * theirs["slip"]]
        seconds, solutions = [], []
        for _ in range(repeats):
            began = time.process_time()
            found = trajopt.solve(getattr(problems, f"quadruped_{name}").build(), progress="silent")
            seconds.append(time.process_time() - began)
            solutions.append(found)
        for who, time_of, iterations, values in (
            ("Crocoddyl", theirs["seconds"], theirs["iterations"], theirs_held),
            ("trajopt", min(seconds), solutions[-1].iterations, held(solutions[-1])),
        ):
            rows.append([name, who, f"{time_of:.2f}", f"{iterations}", *(f"{each:.3f}" for each in values)])
    return rows


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--robots", type=Path, help="folder of the robots of example-robot-data")
    arguments.add_argument("--starts", action="store_true", help="trot and jump from ten starts each")
    arguments.add_argument("--replay", action="store_true", help="motions of the library in MuJoCo")
    arguments.add_argument("--peer", metavar="PYTHON", help="an interpreter that has crocoddyl, see peer.py")
    given = arguments.parse_args()
    library = SMALLEST if given.smallest else LIBRARY
    count = 1 if given.smallest else REPEATS
    if given.peer:
        dynamics.warmup()
        head = ["motion", "by", "solve, s", "iterations", "torque / limit", "cone, weights", "slip, mm"]
        print(table(head, beside(given.peer, count)))
        return
    if given.starts:
        dynamics.warmup()
        head = ["motion", "start", "status", "iterations", "solve, s", "objective"]
        moved = {name: 1 for name in SMALLEST} if given.smallest else STARTS
        found = [row for name, seeds in moved.items() for row in starts(name, seeds)]
        print(table(head, found))
        return
    if given.replay:
        dynamics.warmup()
        print(table(["motion", "seconds", "base, mm", "base, degrees", "joints, rad"], replays(library)))
        return
    folder = given.robots
    asked = [getattr(problems, name).build() for name in library]
    if folder is not None:
        warnings.simplefilter("ignore", dynamics.InertiaWarning)
        asked += [make(folder) for make in (anymal_jump, hyq_jump, talos_step)]
    dynamics.warmup()
    head = ["motion", "status", "iterations", "solve, s", "verify, s", "force", "moment", "slip, mm"]
    head += ["outside cone, weights", "limits exceeded"]
    print(table(head, [row(problem) for problem in asked]))


if __name__ == "__main__":
    main()
