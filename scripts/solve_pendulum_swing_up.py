"""Swing-up of the pendulum with a motor too weak to lift it straight, saved and drawn.

python scripts/solve_pendulum_swing_up.py
"""

from pathlib import Path

import problems
import trajopt

FOLDER = Path("results/pendulum_swing_up")


def main() -> None:
    problem = problems.pendulum_swing_up.build(intervals=30)
    solution = trajopt.solve(problem, trajopt.Ipopt(tol=1e-8), progress="auto")
    print(solution.verify())

    FOLDER.mkdir(parents=True, exist_ok=True)
    solution.save(FOLDER / "solution.npz")
    trajopt.plot.torques(solution).savefig(FOLDER / "torques.png")
    trajopt.plot.joint_forces(solution).savefig(FOLDER / "joint_forces.png")
    trajopt.plot.joints(solution).savefig(FOLDER / "joints.png")
    trajopt.plot.motion(solution).savefig(FOLDER / "motion.png")


if __name__ == "__main__":
    main()
