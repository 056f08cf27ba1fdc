"""Eleven motions of public robots on legs, each gone through in MuJoCo with what its feet touch.

    python -m benchmarks.legged.motions --go2 FILE --g1 FILE --h1 FILE --write

FILE are go2_description.urdf, g1_29dof_rev_1_0.urdf and h1.urdf of the repository unitree_ros; motions of a
robot whose file is not given are named and left out. Columns: iterations, processor seconds of `solve`, the
verdict of `verify`, how far standing feet move, how deep a foot is inside of the ground, a box, a wall or a
chair at one of a thousand poses, what MuJoCo's inverse dynamics miss at floating links, in weights, and the
largest difference of its torques from the planned ones, see `benchmarks.legged.replay`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
import trajopt
from benchmarks.legged.replay import SKIN, gone_through
from benchmarks.shared.arguments import DOCS, parser
from benchmarks.shared.markdown import table
from benchmarks.shared.page_rows import put_between_marks
from problems import moves

BASE = 6  # coordinates of the base
PAWS = ("FL", "FR", "RL", "RR")
PAW, CENTRE = 0.022, [(-0.002, 0.0, 0.0)]  # m, radius of Go2's feet, and their centre in axes of the frame
STANDING = np.array([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, *[0.0, 0.8, -1.6] * 4])  # of Go2
FLAT = trajopt.Ground(PAW)  # for the centres of its feet
G1_FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
G1_SOLE = [(-0.05, 0.025, -0.035), (-0.05, -0.025, -0.035), (0.12, 0.03, -0.035), (0.12, -0.03, -0.035)]
G1_BENT = {"hip_pitch_joint": -0.3, "knee_joint": 0.6, "ankle_pitch_joint": -0.3}  # rad
HANDS = ("left_rubber_hand", "right_rubber_hand")
H1_FEET = ("left_ankle_link", "right_ankle_link")
H1_EDGE = [(0.19, 0.0, -0.062), (-0.09, 0.0, -0.062)]  # m, 3 cm wide: legs of five joints roll them about it
H1_BENT = {"hip_pitch_joint": -0.4, "knee_joint": 0.8, "ankle_joint": -0.4}
PALM = [(-0.04, 0.0, 0.0), (0.04, 0.0, 0.0)]  # m, a line along the hand: between points a box could swing
LOAD = 10.0  # kg
TABLE = 0.75  # m, its height
OBJECT = f"""<link name="object"><inertial><mass value="{LOAD}"/><inertia ixx="0.15" iyy="0.15" izz="0.15"
  ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="object_joint" type="floating">
  <parent link="pelvis"/><child link="object"/></joint></robot>"""


def minimize_effort(
    problem: trajopt.Problem,
    pose: np.ndarray,
    of_torques: float,
    of_posture: float,
    of_accelerations: float = 1e-5,
    joints: Sequence[int] | None = None,
) -> None:
    """Squared torques, postures, speeds and accelerations of joints, within their limits."""
    limits = problem.dynamics.limits
    picked = np.array(range(BASE, problem.dynamics.n) if joints is None else joints)
    torques, angles, speeds, accelerations = (
        trajopt.term(name=f"{name} of joints")(_some(quantity, picked))
        for quantity, name in (("tau", "torques"), ("q", "angles"), ("v", "speeds"), ("a", "accelerations"))
    )
    problem.minimize(torques**2, of_torques)
    problem.minimize((angles - pose[picked]) ** 2, of_posture)
    problem.minimize(speeds**2, 1e-2)
    problem.minimize(accelerations**2, of_accelerations)
    problem.subject_to(torques, -limits.torque_upper[picked], limits.torque_upper[picked], name="motors")
    problem.subject_to(angles, limits.q_lower[picked], limits.q_upper[picked], name="joint limits")


def _some(quantity: str, picked: np.ndarray) -> Callable[[Any], list[Any]]:
    return lambda node: [getattr(node, quantity)[i] for i in picked.tolist()]


# -- Go2 -----------------------------------------------------------------------------------------------------


def on_paws(
    path: Path,
    name: str,
    schedule: trajopt.Schedule,
    intervals: int | Sequence[int] = 8,
    ground: Any = FLAT,
    obstacles: Sequence[trajopt.Box] = (),
    clearance: float = 0.03,
) -> trajopt.Problem:
    """Go2 on the centres of its round feet."""
    robot = dynamics.load_urdf(path, floating_base="free")
    problem = trajopt.Problem(robot, schedule.trajectory(intervals), name=name)
    for paw in PAWS:
        arcs = schedule.arcs(paw)
        own = {"sole": CENTRE, "ground": ground, "obstacles": obstacles}
        problem.contact(f"{paw}_foot", arcs, 0.6, clearance, **own)
    problem.passive_base()
    return problem


def from_rest_to_rest(problem: trajopt.Problem, start: np.ndarray, end: np.ndarray) -> None:
    problem.start_at(q=start, v=0)
    problem.end_at(q=[*end[:BASE], *[None] * 12], v=[*[0] * BASE, *[None] * 12])


def trot(path: Path) -> trajopt.Problem:
    gait = trajopt.Schedule.trot(("FL", "RR"), ("FR", "RL"), period=0.5).first(1)
    problem = on_paws(path, "trot", gait)
    robot: Any = problem.dynamics
    mirror = robot.mirrored({"FL": "FR", "RL": "RR"})
    problem.subject_to_periodic_gait(0.1, mirror=mirror)
    minimize_effort(problem, STANDING, 1e-2, 10.0)
    problem.guess(np.array([STANDING, STANDING]))
    return problem


def jump(path: Path) -> trajopt.Problem:
    """Half a metre forward."""
    schedule = trajopt.Schedule.jump(PAWS, push=(0.15, 0.6), flight=(0.1, 0.6), landing=(0.15, 0.6))
    problem = on_paws(path, "jump", schedule)
    start = problem.standing_pose(STANDING)
    end = start + 0.5 * np.eye(start.size)[0]
    minimize_effort(problem, STANDING, 1e-2, 10.0)
    from_rest_to_rest(problem, start, end)
    problem.guess(np.array([start, end]), duration=[0.3, 0.3, 0.3])
    return problem


def onto_a_box(path: Path) -> trajopt.Problem:
    """20 cm high; grown by the radius of the feet, as their centres stay outside of it."""
    schedule = trajopt.Schedule.jump(PAWS, push=(0.15, 0.6), flight=(0.2, 0.6), landing=(0.15, 0.6))
    box = trajopt.Box((0.8 + 2 * PAW, 0.8 + 2 * PAW, 0.2 + 2 * PAW), (0.85, 0.0, 0.1))
    ground = {0: FLAT, 1: FLAT, 2: box.face("+z")}
    problem = on_paws(path, "onto a box", schedule, ground=ground, obstacles=[box], clearance=0.05)
    start = problem.standing_pose(STANDING)
    end = start.copy()
    end[[0, 2]] += 0.85, 0.2
    minimize_effort(problem, STANDING, 1e-2, 10.0, 1e-4)
    from_rest_to_rest(problem, start, end)
    problem.guess(np.array([start, end]), duration=[0.3, 0.4, 0.3])
    return problem


def backflip(path: Path) -> trajopt.Problem:
    """A whole turn back; its rotation vector is wrapped in the middle of the flight."""
    half = 0.25  # s
    schedule = trajopt.Schedule([(PAWS, (0.15, 0.6)), ((), half), ((), half), (PAWS, (0.15, 0.6))])
    problem = on_paws(path, "backflip", schedule, (12, 8, 8, 12), clearance=0.0)
    start = problem.standing_pose(STANDING)
    end = start - 0.3 * np.eye(start.size)[0]
    minimize_effort(problem, STANDING, 1e-3, 10.0, 1e-4)
    durations = [0.3, half, half, 0.3]
    t = np.linspace(0.0, sum(durations), 21)
    turned = np.clip((t - 0.25) / (2.0 * half + 0.1), 0.0, 1.0)
    poses = start + np.outer(turned, end - start)
    poses[:, 4] = -2.0 * np.pi * turned
    poses[:, 2] += 0.35 * np.sin(np.pi * turned)
    problem.guess(poses, duration=durations)
    problem.wrap_rotation("base")
    from_rest_to_rest(problem, start, end)
    return problem


def thirteen_arcs(path: Path) -> trajopt.Problem:
    """Six steps of a trot with all feet on the ground between them."""
    pairs, stances = (("FL", "RR"), ("FR", "RL")), [(PAWS, 0.2)]
    for number in range(6):
        stances += [(pairs[number % 2], 0.25), (PAWS, 0.08)]
    problem = on_paws(path, "13 arcs", trajopt.Schedule(stances, feet=PAWS), 4)
    start = problem.standing_pose(STANDING)
    end = start + 0.3 * np.eye(start.size)[0]
    minimize_effort(problem, STANDING, 1e-2, 10.0)
    from_rest_to_rest(problem, start, end)
    problem.guess(np.array([start, end]))
    return problem


# -- G1 and H1 -----------------------------------------------------------------------------------------------


def upright(path: Path | str, moving: Sequence[str]) -> dynamics.RigidBodyModel:
    """A humanoid of whose joints above the legs those that `moving` names are free."""
    robot = dynamics.load_urdf(path, floating_base="free")
    above = ("shoulder", "elbow", "wrist", "waist_roll", "waist_pitch", "torso")
    held = [name for name in robot.joint_names if any(part in name for part in above)]
    locked = {name: 0.6 * ("elbow" in name) for name in held if not any(part in name for part in moving)}
    return moves.robot(robot, locked=locked).model


def bent(robot: dynamics.RigidBodyModel, angles: Mapping[str, float]) -> np.ndarray:
    """(n,) joints whose names end alike at these values, rad, others at zero."""
    names = robot.joint_names
    return np.array(
        [next((angles[end] for end in angles if name.endswith(end)), 0.0) for name in names], dtype=float
    )


def walk(
    robot: dynamics.RigidBodyModel,
    name: str,
    feet: Sequence[str],
    angles: Mapping[str, float],
    count: int,
    touches: Callable[[trajopt.Problem, str, Sequence[int]], None],
    forward: float = 0.2,
) -> trajopt.Problem:
    """So many steps, of which the first and the last are half as long, from rest to rest."""
    stances = [(feet, 0.3)]
    for number in range(count):
        stances += [((feet[number % 2],), 0.4), (feet, 0.12 if number + 1 < count else 0.3)]
    schedule = trajopt.Schedule(stances, feet=feet)
    problem = trajopt.Problem(robot, schedule.trajectory(8), name=name)
    for foot in feet:
        touches(problem, foot, schedule.arcs(foot))
    problem.passive_base()
    start = problem.standing_pose(bent(robot, angles))
    end = start + 0.5 * forward * count * np.eye(start.size)[0]
    problem.start_at(q=start, v=0)
    legs = robot.n - BASE
    problem.end_at(q=[end[0], *[None] * (robot.n - 1)], v=[*[0.0] * BASE, *[None] * legs])
    minimize_effort(problem, start, 1e-3, 1.0)
    problem.guess(np.array([start, end]))
    return problem


def step(path: Path) -> trajopt.Problem:
    """H1, whose narrow feet are edges: under legs of five joints whole soles hold its base sideways."""

    def edge(problem: trajopt.Problem, foot: str, arcs: Sequence[int]) -> None:
        problem.contact(foot, arcs, 0.6, 0.04, sole=H1_EDGE)

    return walk(upright(path, ()), "step", H1_FEET, H1_BENT, 1, edge)


def four_steps_on_soles(path: Path) -> trajopt.Problem:
    def sole(problem: trajopt.Problem, foot: str, arcs: Sequence[int]) -> None:
        problem.contact(foot, arcs, 0.6, 0.04, sole=G1_SOLE)

    return walk(upright(path, ()), "four steps on soles", G1_FEET, G1_BENT, 4, sole)


def four_steps_on_points(path: Path) -> trajopt.Problem:
    """Four points of each foot are contacts of their own; rows that repeat others are left out."""
    robot = upright(path, ())
    for foot in G1_FEET:
        frames = [dynamics.Frame(f"{foot} {i}", foot, position=at) for i, at in enumerate(G1_SOLE)]
        robot = robot.with_frames(*frames)

    def points(problem: trajopt.Problem, foot: str, arcs: Sequence[int]) -> None:
        for number in range(len(G1_SOLE)):
            problem.contact(f"{foot} {number}", arcs, 0.6, 0.04)

    return walk(robot, "four steps on points", G1_FEET, G1_BENT, 4, points)


def lean_on_a_wall(path: Path) -> trajopt.Problem:
    """Both hands touch a wall and push it with 15 N each."""
    robot = upright(path, ("shoulder_pitch", "shoulder_roll", "elbow"))
    wall = trajopt.Box((0.2, 3.0, 3.0), (0.55, 0.0, 1.0))
    schedule = trajopt.Schedule([(G1_FEET, 0.5), ((*G1_FEET, *HANDS), 0.5)])
    problem = trajopt.Problem(robot, schedule.trajectory(8), name="wall")
    for foot in G1_FEET:
        problem.contact(foot, schedule.arcs(foot), 0.6, sole=G1_SOLE, obstacles=[wall])
    ground = {0: trajopt.Ground(), 1: wall.face("-x")}
    for hand in HANDS:
        contact = problem.contact(hand, schedule.arcs(hand), 0.6, ground=ground, obstacles=[wall])
        problem.subject_to(contact.force[0], upper=-15.0, over="end", name=f"{hand} pushes")
    problem.passive_base()
    start = problem.standing_pose(bent(robot, {**G1_BENT, "elbow_joint": 1.0}))
    problem.start_at(q=start, v=0)
    problem.end_at(v=[*[0.0] * BASE, *[None] * (robot.n - BASE)])
    minimize_effort(problem, start, 1e-3, 1.0)
    problem.guess(np.array([start, start]))
    return problem


def sit_down(path: Path) -> trajopt.Problem:
    """On a chair 40 cm high, which carries two fifths of its weight at the end."""
    robot = upright(path, ("shoulder_pitch",))
    robot = robot.with_frames(dynamics.Frame("seat", "pelvis", position=(-0.06, 0.0, -0.14)))
    chair = trajopt.Box((0.4, 0.5, 0.4), (-0.33, 0.0, 0.2))
    schedule = trajopt.Schedule([(G1_FEET, 1.0), ((*G1_FEET, "seat"), 0.4)])
    problem = trajopt.Problem(robot, schedule.trajectory(10), name="chair")
    for foot in G1_FEET:
        problem.contact(foot, schedule.arcs(foot), 0.6, sole=G1_SOLE, obstacles=[chair])
    ground = {0: trajopt.Ground(), 1: chair.face("+z")}
    edge = [(0.0, 0.08, 0.0), (0.0, -0.08, 0.0)]
    seat = problem.contact("seat", [1], 0.6, sole=edge, ground=ground, obstacles=[chair])
    problem.passive_base()
    start = problem.standing_pose(bent(robot, G1_BENT))
    problem.start_at(q=start, v=0)
    problem.end_at(v=[*[0.0] * BASE, *[None] * (robot.n - BASE)])
    carried = 0.4 * 9.81 * robot.total_mass
    problem.subject_to(seat.force[2], lower=carried, over="end", name="the chair carries")
    minimize_effort(problem, start, 1e-3, 0.1)
    folded = {"hip_pitch_joint": -1.0, "knee_joint": 1.3, "ankle_pitch_joint": -0.3}
    seated = bent(robot, folded)
    seated[[0, 2]] = start[0] - 0.2, start[2] - 0.15
    problem.guess(np.array([start, seated]))
    return problem


def lift(path: Path) -> trajopt.Problem:
    """A box of 10 kg that floats, pressed between two palms and lifted from a table by 20 cm.

    At the end its place is held still; its turning too would be one row more than the nine joints above the
    legs have left, as both palms turn with it: multipliers then grow to 1e17, and the solve stops short.
    """
    text = path.read_text(encoding="utf-8").replace("</robot>", OBJECT)
    robot = upright(text, ("shoulder", "elbow"))
    names = list(robot.joint_names)
    at = next(i for i, name in enumerate(names) if name.startswith("object"))
    box, below = (
        trajopt.Box((0.3, 0.25, 0.2), frame="object"),
        trajopt.Box((0.3, 0.4, TABLE), (0.35, 0.0, 0.375)),
    )
    schedule = trajopt.Schedule([((*G1_FEET, *HANDS, "object"), 0.4), ((*G1_FEET, *HANDS), 1.2)])
    problem = trajopt.Problem(robot, schedule.trajectory(10), name="lift 10 kg")
    contacts = []
    for foot in G1_FEET:
        contacts.append(problem.contact(foot, schedule.arcs(foot), 0.6, sole=G1_SOLE))
    for hand, side in zip(HANDS, ("+y", "-y"), strict=True):
        contacts.append(problem.contact(hand, schedule.arcs(hand), 1.0, sole=PALM, ground=box.face(side)))
    lowest = [(x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    contacts.append(problem.contact("object", [0], 0.6, sole=lowest, ground=below.face("+z")))
    problem.passive_base()
    problem.passive(*names[at:])
    rough = bent(robot, {**G1_BENT, "shoulder_pitch_joint": -0.4, "elbow_joint": 0.5})
    rough[[2, at, at + 2]] = 0.76, 0.31, 0.09
    start = problem.standing_pose(rough)
    problem.start_at(q=start, v=0)
    problem.end_at(v=[*[0.0] * BASE, *[None] * (robot.n - BASE)])
    place = trajopt.position("object")
    up = dynamics.forward_kinematics(robot, start, ["object"]).position[0] + 0.2 * np.eye(3)[2]
    problem.subject_to(place, equals=up, over="end", name="lifted")
    still = trajopt.term(name="velocity of the object")(lambda node: node.velocity("object")[3:])
    problem.subject_to(still, equals=0.0, over="end", name="held still")
    minimize_effort(problem, start, 1e-3, 1.0, 1e-3, joints=range(BASE, at))
    problem.minimize(trajopt.v[at:] ** 2, 1e-2)
    problem.minimize(trajopt.a[at:] ** 2, 1e-3)
    for contact in contacts:  # how hard the hands press is else decided by nothing
        problem.minimize(contact.force**2, 1e-3)
    problem.guess(np.array([start, start + 0.2 * np.eye(robot.n)[at + 2]]))
    return problem


MOTIONS: dict[str, tuple[Callable[[Path], trajopt.Problem], ...]] = {
    "go2": (trot, jump, onto_a_box, backflip, thirteen_arcs),
    "g1": (lift, sit_down, lean_on_a_wall, four_steps_on_points, four_steps_on_soles),
    "h1": (step,),
}
HEAD = ["motion", "robot", "status", "iterations", "solve, s", "verify", "slip, mm"]
HEAD += ["deepest foot, mm", "floating links miss, weights", "torques differ, N m"]


def row(robot: str, problem: trajopt.Problem) -> list[str]:
    began = time.process_time()
    solution = trajopt.solve(problem, starts=1, progress="silent")
    seconds = time.process_time() - began
    own = [problem.name, robot, solution.status.value, f"{solution.iterations}", f"{seconds:.1f}"]
    if not solution.converged:
        return [*own, "", "", "", "", ""]
    report = solution.verify()
    if not report.holds:
        print(f"{problem.name}: {report.reason}")
    replay = gone_through(solution, PAW if robot == "go2" else SKIN)
    slip = f"{1e3 * report.feet.slip:.3f}" if report.feet else ""
    depth, base, torque = f"{1e3 * replay.depth:.3f}", f"{replay.base:.1e}", f"{replay.torque:.1e}"
    return [*own, report.verdict, slip, depth, base, torque]


def main() -> None:
    arguments = parser(__doc__)
    for robot in MOTIONS:
        arguments.add_argument(f"--{robot}", type=Path, metavar="FILE", help="its URDF")
    arguments.add_argument("--only", nargs="*", help="names of motions, all by default")
    arguments.add_argument("--write", action="store_true", help="the table into docs/howto/contacts.md")
    given = arguments.parse_args()
    warnings.simplefilter("ignore", dynamics.InertiaWarning)
    dynamics.warmup()
    rows = []
    for robot, motions in MOTIONS.items():
        path = getattr(given, robot)
        for build in motions[: 1 if given.smallest else None]:
            if given.only and build.__name__ not in given.only:
                continue
            if path is None or not path.is_file():
                print(f"{build.__name__} is left out: no file of {robot}, --{robot} FILE")
                continue
            rows.append(row(robot, build(path)))
            print(" | ".join(rows[-1]), flush=True)
    text = table(HEAD, rows)
    print(text)
    if given.write and not given.smallest:
        put_between_marks(DOCS / "howto" / "contacts.md", "benchmarks.legged.motions", text)


if __name__ == "__main__":
    main()
