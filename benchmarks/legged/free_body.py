"""Distance of a free body of unequal moments of inertia from DOP853 after it has turned far.

    python -m benchmarks.legged.free_body

The body starts with an angular velocity and nothing drives it for a second. Guesses turn evenly about the
axis of the start; arcs are wrapped where `wrap_rotation` says. Columns: degrees that it would turn about that
axis, mesh, verdict, processor seconds of the second of two solves, and the largest angle, in degrees, between
the rotation at 200 times and that of DOP853 with a tolerance of 1e-12.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.integrate import solve_ivp

import dynamics
import trajopt
from benchmarks.shared.arguments import parser
from benchmarks.shared.markdown import table

INERTIA = np.array([0.2, 0.35, 0.5])  # kg m^2
TILTED, UPRIGHT = np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0), np.array([0.0, 1.0, 0.0])
TIMES = np.linspace(0.0, 1.0, 201)[1:]
# degrees, axis, its name, arcs, intervals of each, collocation points of each interval
CASES = (
    (270.0, TILTED, "(1, 0, 1)", 1, 16, 4),
    (270.0, UPRIGHT, "y", 1, 16, 4),
    (700.0, TILTED, "(1, 0, 1)", 4, 4, 4),
    (700.0, TILTED, "(1, 0, 1)", 4, 6, 5),
)


def free_body(omega: np.ndarray, arcs: int, intervals: int, points: int) -> trajopt.Problem:
    """A second of a body that nothing drives, from the angular velocity omega, (3,) rad/s."""
    body = dynamics.Body("body", dynamics.Joint("joint"), None, 1.0, np.zeros(3), np.diag(INERTIA))
    robot = dynamics.RigidBodyModel(dynamics.ball_joint(body), np.zeros(3))
    mesh = trajopt.Trajectory.collocation(intervals, points, arcs=arcs, duration=1.0 / arcs)
    problem = trajopt.Problem(robot, mesh, name="free body")
    problem.guess(np.array([np.zeros(3), omega]))
    problem.wrap_rotation("body")
    problem.passive(*robot.joint_names)
    problem.start_at(q=np.zeros(3), v=omega)
    return problem


def rotations(omega: np.ndarray) -> np.ndarray:
    """(times, 3, 3) by DOP853 on R' = R omega^, I omega' = -omega x I omega, omega in axes of the body."""

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        R, w = x[:9].reshape(3, 3), x[9:]
        return np.concatenate([np.cross(R, w).ravel(), -np.cross(w, INERTIA * w) / INERTIA])

    start = np.concatenate([np.eye(3).ravel(), omega])
    found = solve_ivp(rates, (0.0, 1.0), start, method="DOP853", t_eval=TIMES, rtol=1e-12, atol=1e-12)
    return found.y[:9].T.reshape(-1, 3, 3)


def row(degrees: float, axis: np.ndarray, name: str, arcs: int, intervals: int, points: int) -> list[str]:
    omega, seconds, solution = np.deg2rad(degrees) * axis, 0.0, None
    for _ in range(2):
        began = time.process_time()
        solution = trajopt.solve(free_body(omega, arcs, intervals, points), progress="silent")
        seconds = time.process_time() - began
    assert solution is not None
    ours = np.array([solution.rotation("body")(t) for t in TIMES])
    between = np.swapaxes(rotations(omega), 1, 2) @ ours
    off = np.rad2deg(np.linalg.norm(dynamics.rotation_vector(between), axis=1).max())
    mesh, verdict = f"{arcs} x {intervals} x {points}", solution.verify().verdict
    return [f"{degrees:.0f} about {name}", mesh, verdict, f"{seconds:.2f}", f"{off:.1e}"]


def main() -> None:
    chosen = CASES[:1] if parser(__doc__).parse_args().smallest else CASES
    dynamics.warmup()
    head = ["degrees", "arcs x intervals x points", "verify", "solve, s", "degrees off"]
    print(table(head, [row(*case) for case in chosen]))


if __name__ == "__main__":
    main()
