"""Exciting motions: of a UR10e beside a published one, by the same code, and of a UR5 by both criteria.

    python -m benchmarks.identification [folder]

folder : with `a_coeffs.script`, `b_coeffs.script` and `c_coeffs.script` of the published motion, from the
    data of Mamedov and Mikhel, "Practical aspects of model-based collision detection", Frontiers in Robotics
    and AI 7, 2020: github.com/shamilmamedov/dynamic_calibration, trajectory_optmzn/coeffs4_UR at commit
    3afa267a6dca. Sines, cosines and a polynomial of degree five, from rest to rest in 50 s, found by pattern
    search for the least condition number. Without a folder ours is computed alone, in the ranges that the
    published motion has, which are written below.

Same robot, duration, base parameters (links, rotor inertias, viscous and Coulomb friction), samples, and
columns scaled to one. Ours stays within the ranges of position, speed and acceleration of the published
motion, joint by joint, begins and ends at rest in the same pose, and has as many free coefficients per joint.
Of the UR5, 10 s within its own limits: condition numbers and medians of the standard deviations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import numpy as np

import dynamics
import problems
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine, with_seconds
from dynamics import DhRow, JointLimits, RigidBodyModel
from problems import identification
from problems.identification.criterion import Criterion, condition_number
from problems.identification.information import RegressorWeights

PERIOD, BANDWIDTH, RATE = 50.0, 0.25, 20.0  # s, Hz, Hz of the samples
HALF_TURN = np.pi / 2.0
HARMONICS = np.arange(1, 13)
DIMENSIONS = (  # d, a, alpha of a UR10e, as the manufacturer publishes them
    (0.1807, 0.0, 0.5), (0.0, -0.6127, 0.0), (0.0, -0.57155, 0.0),
    (0.17415, 0.0, 0.5), (0.11985, 0.0, -0.5), (0.11655, 0.0, 0.0),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of a motion: extreme positions, largest speed and acceleration of every joint; its start."""

    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    start: np.ndarray


RANGES = Ranges(  # of the published motion
    lower=np.array([-1.741, -3.153, -1.528, -3.211, -1.601, -1.571]),
    upper=np.array([2.857, 0.005, 1.574, -0.276, 1.469, 1.599]),
    speed=np.array([1.633, 1.006, 0.906, 1.040, 1.198, 1.220]),
    acceleration=np.array([1.132, 0.896, 0.954, 0.880, 0.858, 0.830]),
    start=np.array([0.0, -HALF_TURN, 0.0, -HALF_TURN, 0.0, 0.0]),
)


def ur10e() -> RigidBodyModel:
    """A UR10e by its dimensions; regressors do not depend on masses, which are 1 kg here."""
    inertia = 0.1 * np.eye(3)
    rows = [DhRow(0.0, d, a, turn * np.pi, mass=1.0, inertia=inertia) for d, a, turn in DIMENSIONS]
    return dynamics.from_dh(rows, name="UR10e").with_rotors("armature")


def published(folder: Path, t: np.ndarray) -> np.ndarray:
    """q, v and a of the published motion at times (k,), (3, k, 6)."""
    a, b, c = (coefficients(folder / f"{letter}_coeffs.script") for letter in "abc")
    w = 2.0 * np.pi / PERIOD * HARMONICS
    angle = w * t[:, None]
    sine, cosine = np.sin(angle), np.cos(angle)
    q = sine @ (a / w).T - cosine @ (b / w).T
    v = cosine @ a.T + sine @ b.T
    acceleration = -sine @ (a * w).T + cosine @ (b * w).T
    polynomial = [np.polynomial.polynomial.polyval(t, np.array(derivative(c, k)).T).T for k in range(3)]
    return np.array([q, v, acceleration]) + polynomial


def derivative(c: np.ndarray, order: int) -> list[np.ndarray]:
    return [np.polynomial.polynomial.polyder(row, order) for row in c]


def coefficients(file: Path) -> np.ndarray:
    """The numbers in brackets, a row per joint."""
    return np.array(
        [[float(x) for x in row.split(",")] for row in re.findall(r"\[(.*?)\]", file.read_text())]
    )


def ranges_of(motion: np.ndarray) -> Ranges:
    q, v, a = motion
    return Ranges(q.min(axis=0), q.max(axis=0), np.abs(v).max(axis=0), np.abs(a).max(axis=0), q[0])


def limited(model: RigidBodyModel, ranges: Ranges) -> RigidBodyModel:
    """The robot with the position ranges as limits."""
    bodies = []
    for body, lower, upper in zip(model.bodies, ranges.lower, ranges.upper, strict=True):
        limits = JointLimits(lower - 1e-9, upper + 1e-9)
        bodies.append(replace(body, joint=replace(body.joint, limits=limits)))
    return replace(model, bodies=tuple(bodies))


def condition_of(model: RigidBodyModel, motion: np.ndarray) -> tuple[float, int]:
    """Condition number of samples, columns scaled to one, and how many base parameters there are."""
    base = dynamics.base_parameters(model)
    regressor = RegressorWeights(model, base, np.ones(model.n), 0.01)
    rows = regressor.rows(*motion)
    return condition_number(regressor.information(rows, np.ones(len(rows)))), base.count


def excited(
    model: RigidBodyModel, ranges: Ranges, starts: int, iterations: int
) -> identification.ExcitingMotion:
    return identification.excite(
        limited(model, ranges),
        PERIOD,
        criterion="condition",
        bandwidth=BANDWIDTH,
        velocity=ranges.speed,
        acceleration=ranges.acceleration,
        start=ranges.start,
        noise=1.0,
        starts=starts,
        iterations=iterations,
    )


def by_criteria(**effort: int) -> None:
    """Print what the motions of both criteria show of a UR5."""
    robot = dynamics.load_urdf(problems.urdf_arm.source("ur5"))
    for criterion in get_args(Criterion):
        motion = identification.excite(robot, 10.0, criterion=criterion, **effort)
        deviations = np.sqrt(np.diag(np.linalg.inv(motion.information())))
        print(f"UR5, {criterion}: {motion.condition:.2f}, standard deviations {np.median(deviations):.3f}")


def main() -> None:
    """Print condition numbers of all motions."""
    arguments = parser(__doc__)
    arguments.add_argument("folder", nargs="?", type=Path)
    given = arguments.parse_args()
    starts, iterations = (1, 2) if given.smallest else (2, 300)
    print(loaded_machine())
    model, t = ur10e(), np.arange(int(PERIOD * RATE)) / RATE
    fine = np.linspace(0.0, PERIOD, 20001)
    ranges = RANGES
    if given.folder is not None:
        ranges = ranges_of(published(given.folder, fine))
        condition, count = condition_of(model, published(given.folder, t))
        print(f"published, {count} base parameters: condition number {condition:.2f}")
    motion, seconds = with_seconds(lambda: excited(model, ranges, starts, iterations))
    ours, count = condition_of(model, np.array([motion.q(t), motion.v(t), motion.a(t)]))
    print(f"ours, {count} base parameters: condition number {ours:.2f}, {seconds:.0f} s")
    print(motion.certificate)
    by_criteria(**({"starts": starts, "iterations": iterations} if given.smallest else {}))


if __name__ == "__main__":
    main()
