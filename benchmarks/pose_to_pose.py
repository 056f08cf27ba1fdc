"""Moves of a UR5 from pose to pose with limits of jerk: `moves.Task` by default beside the peer ruckig.

    python -m benchmarks.pose_to_pose [--pairs 100] [--first 0]

Pair k is two poses within 1.2 rad of zero, from `default_rng(1000 + k)`, at rest at both; speeds as in the
URDF, acceleration 15 rad/s^2, jerk 500 rad/s^3. ruckig knows no torques: pairs whose torques by ruckig exceed
the URDF's are left out, as its duration is then no bound. Durations are divided by ruckig's, which is the
least without limits of torque; seconds are those of the processor.
"""

from __future__ import annotations

import time

import numpy as np

import dynamics
from benchmarks.shared.arguments import parser
from benchmarks.shared.timing import loaded_machine
from problems import moves, urdf_arm
from problems.moves.limit_excess import relative_excess

ACCELERATION, JERK, WITHIN = 15.0, 500.0, 1.2
SEED, RATE = 1000, 2000.0  # of pair 0; Hz, at which ruckig's torques are looked at


def quickest(model: dynamics.RigidBodyModel, ends: np.ndarray) -> tuple[float, bool]:
    """ruckig's duration in s, and whether its torques are within their limits."""
    import ruckig

    asked, found = ruckig.InputParameter(model.n), ruckig.Trajectory(model.n)
    asked.current_position, asked.target_position = ends.tolist()
    asked.max_velocity = model.limits.velocity.tolist()
    asked.max_acceleration, asked.max_jerk = [ACCELERATION] * model.n, [JERK] * model.n
    ruckig.Ruckig(model.n).calculate(asked, found)
    times = np.linspace(0.0, found.duration, int(RATE * found.duration))
    q, v, a = np.moveaxis(np.array([found.at_time(t) for t in times]), 1, 0)
    tau = dynamics.rnea(model, q, v, a)
    excess = relative_excess(tau, model.limits.torque_lower, model.limits.torque_upper)
    return found.duration, bool(excess.max() <= 0.0)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--pairs", type=int, default=100)
    arguments.add_argument("--first", type=int, default=0)
    asked = arguments.parse_args()
    robot = moves.robot(urdf_arm.source("ur5"))
    shares, seconds, tried, converged = [], [], 0, 0
    print(loaded_machine())
    for pair in range(asked.first, asked.first + (1 if asked.smallest else asked.pairs)):
        ends = np.random.default_rng(SEED + pair).uniform(-WITHIN, WITHIN, (2, robot.model.n))
        best, holds = quickest(robot.model, ends)
        tried += 1
        if not holds:
            continue
        began = time.process_time()
        task = moves.Task(robot)
        task.start(q=ends[0])
        task.to(q=ends[1])
        task.limits(acceleration=ACCELERATION, jerk=JERK)
        motion = task.solve()
        seconds.append(time.process_time() - began)
        shares.append(motion.duration / best)
        converged += motion.converged
        print(f"pair {pair}: {shares[-1]:.5f} of {best:.4f} s, {seconds[-1]:.2f} s", flush=True)
    print("pairs  torques hold  converged  of ruckig's duration: least, median, nine of ten, most  seconds")
    at = [0.0, 0.5, 0.9, 1.0]
    spread = ", ".join(f"{share:.4f}" for share in np.quantile(shares or [np.nan], at))
    print(f"{tried:5} {len(shares):13} {converged:10}  {spread}  {np.median(seconds or [np.nan]):.2f}")


if __name__ == "__main__":
    main()
