"""A problem of the library solved, checked, kept and drawn from Python, as a start for scripts of one's own.

python scripts/solve_problem.py two_link_rr      (`trajopt list` shows the names)
"""

import sys
from pathlib import Path

import trajopt
from problems import catalogue


def main(name: str, folder: Path) -> trajopt.Solution:
    problem = catalogue.build(name, {})
    solution = trajopt.solve(problem, progress="auto")
    print(solution.verify())

    folder.mkdir(parents=True, exist_ok=True)
    solution.save(folder / "solution.npz")
    for draw in (trajopt.plot.torques, trajopt.plot.joint_forces, trajopt.plot.joints, trajopt.plot.motion):
        draw(solution).savefig(folder / f"{draw.__name__}.png")
    return solution


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else "two_link_rr"
    main(chosen, Path("results") / chosen)
