"""The two-link PR problem read in every way that Barman's section 4.2 allows, beside its published duration.

    python scripts/two_link_pr_variants.py

Nothing is tuned: each row changes one entry of the table or one datum and solves again. See
docs/two_link_pr.md for what follows from it.
"""

from __future__ import annotations

import math
from typing import Any

import problems
import trajopt

PUBLISHED = 0.5585  # s, Barman, section 4.2.2
RIGHT, HALF_TURN = math.pi / 2, math.pi

READINGS: dict[str, dict[str, Any]] = {
    "as printed": {},
    "elbow offset 0": {"theta": (RIGHT, 0.0)},
    "elbow offset -pi/2": {"theta": (RIGHT, -RIGHT)},
    "elbow offset pi": {"theta": (RIGHT, HALF_TURN)},
    "slide twist -pi/2": {"alpha": (-RIGHT, 0.0)},
    "slide twist 0 (elbow swings across)": {"alpha": (0.0, 0.0)},
    "slide theta 0": {"theta": (0.0, RIGHT)},
    "q2 from -0.6 to pi/4": {"q_start": (0.1, -0.6), "q_end": (math.pi / 4, math.pi / 4)},
    "q2 from 0.6 to pi/4": {"q_end": (math.pi / 4, math.pi / 4)},
    "second centre of mass at the elbow": {"centres": ((0.0, -0.5), (-1.0, 0.0))},
    "second centre of mass at the tip": {"centres": ((0.0, -0.5), (0.0, 0.0))},
    "second centre of mass beyond the tip": {"centres": ((0.0, -0.5), (0.5, 0.0))},
    "second inertia about the elbow": {"inertias": (0.1, 0.1 - 0.5 * 0.2**2)},
    "vertical plane, slide level": {"gravity": (0.0, -9.81, 0.0)},
    "vertical plane, slide upright": {"gravity": (0.0, 0.0, -9.81)},
    "effort halved": {"u": 0.005},
    "u = 0.0045": {"u": 0.0045},
    "u = 0 (time only)": {"u": 0.0},
    "as printed, T held at 0.5585": {"duration": (PUBLISHED, PUBLISHED)},
}


def main() -> None:
    print(f"published: T = {PUBLISHED} s, no objective given\n")
    print(f"{'reading':<38} {'T [s]':>8} {'J':>9} {'largest |f|':>12} {'largest |tau|':>13}  status")
    for reading, changes in READINGS.items():
        solution = trajopt.solve(problems.two_link_pr.build(intervals=40, **changes))
        force, torque = abs(solution.tau(solution.node_times)).max(axis=0)
        status = solution.status.name.lower()
        print(
            f"{reading:<38} {solution.duration:>8.4f} {solution.objective:>9.5f} {force:>12.3f}"
            f" {torque:>13.3f}  {status}"
        )


if __name__ == "__main__":
    main()
