"""Minimum-time motion of the two-link arm with two revolute joints, saved and drawn (Barman, section 4.1).

python scripts/solve_two_link_rr.py
"""

from pathlib import Path

import problems
import trajopt

FOLDER = Path("results/two_link_rr")


def main() -> None:
    problem = problems.two_link_rr.build(intervals=20)
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
