"""The picture of the README: the minimum-time motion of the two-link arm, its torques and its joint forces.

python scripts/readme_figure.py [FILE]      docs/figures/two_link_rr.png without a file
"""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib.figure import Figure

import problems
import trajopt

TARGET = Path(__file__).parent.parent / "docs" / "figures" / "two_link_rr.png"
DOTS_PER_INCH = 130


def main(target: Path) -> None:
    solution = trajopt.solve(problems.two_link_rr.build(), refine=trajopt.Certified(tol=1e-6))
    target.parent.mkdir(parents=True, exist_ok=True)
    drawn(solution).savefig(target, dpi=DOTS_PER_INCH)


def drawn(solution: trajopt.Solution) -> Figure:
    """One figure of three parts, under one title."""
    figure = Figure(figsize=(11.5, 6.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 1.35))
    upper, lower = right.subfigures(2, 1, height_ratios=(1.35, 1.0))
    trajopt.plot.motion(solution, figure=left)
    trajopt.plot.torques(solution, figure=upper)
    trajopt.plot.joint_forces(solution, figure=lower)
    figure.suptitle(f"Two-link arm in minimum time, T = {solution.duration:.7g} s", fontsize=11)
    return figure


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=TARGET, help="the picture to write")
    main(parser.parse_args().file)
