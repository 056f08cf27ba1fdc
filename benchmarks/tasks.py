"""Pick and place as a user states it, on four arms, and how soon a task is ready to be solved.

    python -m benchmarks.tasks [--robots FOLDER] [--first-hessian]

Goals with orientations, a via point, a payload, obstacles and self-collision, limits of speed, torque,
acceleration, jerk and the tool's speed. FOLDER holds `ur_description`, `panda_description`,
`z1_description` and `kinova_description` of the package example-robot-data, whose meshes become shapes (the
extra `meshes` reads those of the last one);
without it the UR5 and the Panda of this package are taken, with capsules.

Printed for every arm: lines of the statement; processor seconds of the first solve in a new process, in which
kernels are loaded, or compiled where none are, and of a second one; the solver's status, whether every
limit holds, how clearances are known; the duration.

--first-hessian : instead, a Panda of 59 spheres among 20 boxes, processor seconds of a new process from the
    statement to the first Hessian, with kernels that are stored and with none
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine, with_seconds
from problems import moves, urdf_arm

DOWN = [3.14159265, 0.0, 0.0]  # a rotation vector: z of the tool points to the ground


def ur5(robot: moves.Robot) -> moves.Task:
    tool = robot.frame("tool0")
    wall = moves.box((0.04, 0.3, 0.3), (0.0, 0.6, 0.15), name="wall")
    table = moves.box((1.2, 0.6, 0.02), (0.0, 0.6, -0.06), name="table")
    task = moves.Task(robot, moves.Scene([wall, table]))
    task.start(q=[1.0, -1.4, 1.6, -1.77, -1.57, 0.0])
    task.to(tool, position=(0.3, 0.5, 0.15), rotation=DOWN, tolerance=(1e-3, 0.01))
    task.attach(
        "can", tool, mass=1.5, centre_of_mass=(0, 0, 0.08), shape=moves.capsule(0.03, 0.06, (0, 0, 0.08))
    )
    task.via(tool, position=(0.0, 0.55, 0.5))
    task.to(tool, position=(-0.3, 0.5, 0.15), rotation=DOWN, tolerance=(1e-3, 0.01))
    task.detach("can")
    task.to(tool, position=(-0.3, 0.5, 0.35))
    task.limits(acceleration=15, jerk=500, tool_speed=1.5)
    return task


def panda(robot: moves.Robot) -> moves.Task:
    tool = robot.frame("panda_hand_tcp")
    table = moves.box((0.8, 1.2, 0.04), (0.6, 0.0, -0.05), name="table")
    post = moves.cylinder(0.04, 0.35, (0.5, 0.0, 0.175), name="post")
    sides = [moves.box((0.3, 0.01, 0.12), (0.45, y, 0.03), name=f"side {y}") for y in (0.18, 0.42)]
    task = moves.Task(robot, moves.Scene([table, post, *sides]))
    task.start(q=[0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8])
    task.to(tool, position=(0.5, -0.3, 0.1), rotation=DOWN, tolerance=(1e-3, 0.01))
    task.attach(
        "cup", tool, mass=0.8, centre_of_mass=(0, 0, 0.05), shape=moves.capsule(0.025, 0.05, (0, 0, 0.03))
    )
    task.via(tool, position=(0.45, 0.0, 0.55))
    task.keep(tool, axis=(0, 0, 1), along=(0, 0, -1), tolerance=0.3)
    task.to(tool, position=(0.45, 0.3, 0.12), rotation=DOWN, tolerance=(1e-3, 0.01))
    task.detach("cup")
    task.release()
    task.to(tool, position=(0.45, 0.3, 0.35))
    task.limits(acceleration=15, jerk=500, tool_speed=1.5)
    return task


def z1(robot: moves.Robot) -> moves.Task:
    robot = robot.with_tool("tip", "gripperStator", (0.15, 0.0, 0.0))
    ahead = [0.0, 0.7853981634, 0.0]  # a rotation vector: x of the gripper points ahead and down
    table = moves.box((0.6, 0.9, 0.02), (0.45, 0.0, -0.05), name="table")
    post = moves.cylinder(0.03, 0.25, (0.38, 0.0, 0.1), name="post")
    task = moves.Task(robot, moves.Scene([table, post]))
    task.start(q=[0.0, 1.5, -1.5, 0.2, 0.0, 0.0])
    task.to("tip", position=(0.35, -0.25, 0.12), rotation=ahead, tolerance=(1e-3, 0.5))
    task.attach("ball", "tip", mass=0.5, shape=moves.sphere(0.03))
    task.via("tip", position=(0.3, 0.0, 0.45))
    task.to("tip", position=(0.35, 0.25, 0.12), tolerance=1e-3)
    task.detach("ball")
    task.to(q=[0.0, 1.5, -1.5, 0.2, 0.0, 0.0])
    task.limits(acceleration=15, jerk=500, tool_speed=1.5)
    return task


def j2s6s200(robot: moves.Robot) -> moves.Task:
    tool = robot.frame("j2s6s200_end_effector")
    table = moves.box((0.8, 1.2, 0.04), (0.6, 0.0, -0.05), name="table")
    post = moves.cylinder(0.04, 0.3, (0.45, 0.0, 0.12), name="post")
    task = moves.Task(robot, moves.Scene([table, post]))
    task.start(q=[4.8, 2.9, 1.0, 4.2, 1.4, 1.3])
    task.to(tool, position=(0.4, -0.3, 0.15), rotation=DOWN, tolerance=(1e-3, 0.2))
    task.attach("can", tool, mass=0.4, shape=moves.capsule(0.03, 0.06))
    task.via(tool, position=(0.35, 0.0, 0.5))
    task.to(tool, position=(0.4, 0.3, 0.15), rotation=DOWN, tolerance=(1e-3, 0.2))
    task.detach("can")
    task.to(tool, position=(0.4, 0.3, 0.35))
    task.limits(acceleration=15, jerk=500, tool_speed=1.5)
    return task


def reach(robot: moves.Robot) -> moves.Task:
    task = moves.Task(robot)
    task.start(q=[1.0, -1.4, 1.6, -1.77, -1.57, 0.0])
    task.to(q=[1.2, -1.3, 1.6, -1.77, -1.57, 0.0])
    return task


@dataclass(frozen=True)
class Arm:
    """A task, the robot's file below the folder, joints that stay, and the name of the robot here."""

    task: Callable[[moves.Robot], moves.Task]
    file: str
    locked: dict[str, float]
    name: str

    def robot(self, folder: Path | None) -> moves.Robot:
        """The robot with shapes of its meshes, or with capsules as it comes with this package."""
        if folder is not None:
            return moves.robot(folder / self.file, locked=self.locked, shapes="fit")
        limbs = capsules(LIMBS[self.name])
        return moves.robot(urdf_arm.source(self.name), locked=self.locked, shapes=limbs)

    @property
    def lines(self) -> int:
        """Lines of the statement, that of the robot counted as the one of `def`."""
        return sum(bool(line.strip()) for line in inspect.getsource(self.task).splitlines()) - 1


ARMS = {
    "ur5": Arm(ur5, "ur_description/urdf/ur5_robot.urdf", {}, "ur5"),
    "panda": Arm(panda, "panda_description/urdf/panda.urdf", {"panda_finger_joint1": 0.04}, "panda"),
    "z1": Arm(z1, "z1_description/urdf/z1.urdf", {"jointGripper": -0.3}, "z1"),
    "j2s6s200": Arm(j2s6s200, "kinova_description/robots/kinova.urdf", {}, "j2s6s200"),
}
SMALLEST = Arm(reach, ARMS["ur5"].file, {}, "ur5")
LIMBS = {  # radius, length, and where the middle is on z, m
    "ur5": {"upper_arm_link": (0.05, 0.42, 0.21), "forearm_link": (0.045, 0.38, 0.19)},
    "panda": {
        "panda_link2": (0.06, 0.12, 0.0),
        "panda_link4": (0.06, 0.12, 0.0),
        "panda_link5": (0.05, 0.2, -0.15),
        "panda_hand": (0.04, 0.08, 0.04),
    },
}
SPHERES, BOXES = 59, 20


def capsules(limbs: dict[str, tuple[float, float, float]]) -> list[moves.Shape]:
    """One on every link."""
    return [moves.capsule(r, length, (0, 0, z), carrier=link) for link, (r, length, z) in limbs.items()]


def report(arm: Arm, folder: Path | None) -> str:
    """A row of the table."""
    robot, loading = with_seconds(lambda: arm.robot(folder))
    motion, first = with_seconds(lambda: arm.task(robot).solve())
    _, second = with_seconds(lambda: arm.task(robot).solve())
    clear = {line.evidence for line in motion.certificate.lines if line.name == "clearance"}
    return (
        f"| {arm.task.__name__} | {arm.lines} | {loading:.2f} | {first:.2f} | {second:.2f} | "
        f"{motion.solution.status.value} | {'yes' if motion.converged else 'no'} | "
        f"{', '.join(sorted(clear)) or 'none'} | {motion.duration:.4f} |"
    )


def first_hessian() -> str:
    """Seconds from the statement of a task to the first Hessian of its program."""
    import trajopt
    from problems.moves.tasks.pose_sequence import first_guess
    from problems.moves.tasks.task_problem import TaskProblem

    def ready() -> tuple[int, int]:
        task = crowded().stated
        nlp = trajopt.transcribe(TaskProblem(task, first_guess(task), 10).asked)
        nlp.hessian(nlp.start, np.ones(nlp.row_count), 1.0)
        return nlp.variable_count, nlp.row_count

    (unknowns, rows), seconds = with_seconds(ready)
    return f"{seconds:.2f} s to the first Hessian, {unknowns} unknowns and {rows} rows"


def crowded() -> moves.Task:
    """A Panda of 59 spheres among 20 boxes."""
    links = [*(f"panda_link{k}" for k in range(1, 8)), "panda_hand"]
    middles = 0.05 * np.random.default_rng(0).standard_normal((SPHERES, 3))
    spheres = [moves.sphere(0.05, at, carrier=links[k % len(links)]) for k, at in enumerate(middles)]
    touching = [(a, b) for a in links for b in links if a < b]
    arm = moves.robot(urdf_arm.source("panda"), ARMS["panda"].locked, spheres, allowed=touching)
    around = 0.9 * np.exp(1j * np.linspace(0.0, 6.0, BOXES))
    boxes = [moves.box((0.1,) * 3, (z.real, z.imag, 0.5), name=f"box {k}") for k, z in enumerate(around)]
    task = moves.Task(arm, moves.Scene(boxes))
    task.start(q=[0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8])
    task.to("panda_hand_tcp", position=(0.4, 0.3, 0.4), rotation=DOWN)
    task.limits(acceleration=15, jerk=500)
    return task


def in_new_process(*arguments: str, kernels: str | None = None) -> str:
    """Text that this module prints; kernels : folder where they are stored, None: that of all processes."""
    environment = {**os.environ} if kernels is None else {**os.environ, "NUMBA_CACHE_DIR": kernels}
    command = [sys.executable, "-m", "benchmarks.tasks", *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--robots", type=Path)
    arguments.add_argument("--first-hessian", action="store_true")
    arguments.add_argument("--only", choices=ARMS, help="this arm in this process, its row alone")
    arguments.add_argument("--here", action="store_true", help="the first Hessian in this process")
    given = arguments.parse_args()
    if given.robots is None and given.only not in (None, *LIMBS):
        arguments.error(f"{given.only} is not part of this package: --robots FOLDER says where its file is")
    if given.here:
        print(first_hessian())
    elif given.only:
        print(report(ARMS[given.only], given.robots))
    elif given.first_hessian:
        print(loaded_machine())
        print(f"kernels stored: {in_new_process('--here')}")
        if given.smallest:
            return
        print(f"kernels stored, again: {in_new_process('--here')}")
        with tempfile.TemporaryDirectory() as empty:
            print(f"none stored: {in_new_process('--here', kernels=empty)}")
    else:
        print(loaded_machine())
        print(
            "| arm | lines | robot, s | first solve, s | second, s | solver | all hold | clearance | T, s |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        if given.smallest:
            print(report(SMALLEST, given.robots))
            return
        folder = [] if given.robots is None else ["--robots", str(given.robots)]
        for name in ARMS if folder else LIMBS:
            print(in_new_process("--only", name, *folder), flush=True)


if __name__ == "__main__":
    main()
