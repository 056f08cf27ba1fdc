"""Certified optima of the library's problems: `python -m benchmarks.certified`.

Duration, switches, certificate and seconds of every problem that bounds torques or velocities; what could not
be certified, and why; a second opinion by shooting on switch times; the diagnosis of an infeasible and of a
badly scaled problem. Writes docs/certified.md.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import problems
import trajopt
from trajopt.errors import ProblemError
from trajopt.switching_time import switching_times

PAGE = Path(__file__).resolve().parent.parent / "docs" / "certified.md"
TOLERANCE = 1e-6


def cases() -> dict[str, Callable[[], trajopt.Problem]]:
    """What is certified, by the name it has in the table."""
    found: dict[str, Callable[[], trajopt.Problem]] = {
        "sliding_mass (0.4 s exactly)": problems.sliding_mass.build,
        "sliding_mass, 3 m/s": lambda: problems.sliding_mass.build(velocity=3.0),
        "two_link_rr": problems.two_link_rr.build,
        "two_link_rr, 4 rad/s": lambda: problems.two_link_rr.build(velocity=4.0),
    }
    for u in (0.0, 0.001, 0.01, 0.1):
        found[f"two_link_pr, u = {u:g}"] = lambda u=u: problems.two_link_pr.build(u=u)
    return found | {
        "betts_robot_arm (published 9.14093620)": problems.betts_robot_arm.build,
        "three_link_arm": problems.three_link_arm.build,
        "six_axis_arm, u = 0": problems.six_axis_arm.build,
        "six_axis_arm, u = 0.1": lambda: problems.six_axis_arm.build(u=0.1),
    }


def measured(name: str, build: Callable[[], trajopt.Problem]) -> tuple[list[str], str]:
    """Cells of the table, and the page of the certificate."""
    trajopt.solve(build())  # warm-up: kernels are compiled once
    began = time.perf_counter()
    plain = trajopt.solve(build())
    between = time.perf_counter()
    solution = trajopt.solve(build(), refine=trajopt.Certified(tol=TOLERANCE))
    seconds = time.perf_counter() - between
    certificate = solution.certificate
    assert certificate is not None
    structure = certificate.structure
    simulation = certificate.simulation
    cells = [
        name,
        f"{solution.duration:.10g}",
        f"{solution.objective:.10g}",
        f"{plain.duration:.7g}",
        str(structure.arc_count - 1) if structure else "",
        certificate.method if certificate.holds else f"{certificate.method}: does not hold",
        f"{certificate.largest_excess:.1e}",
        f"{simulation.end_to_end:.1e}" if simulation else "",
        f"{between - began:.2f}",
        f"{seconds:.2f}",
        second_opinion(solution),
        certificate.reason,
    ]
    return cells, str(certificate)


def second_opinion(solution: trajopt.Solution) -> str:
    """Relative difference to the duration found by shooting, where that applies."""
    try:
        check = switching_times(solution)
    except ProblemError:
        return ""
    return f"{check.difference:.1e}" if check.converged else "did not converge"


def diagnoses() -> list[str]:
    """An infeasible problem and a badly scaled one."""
    infeasible = problems.two_link_rr.build(duration=(0.2, 0.3))
    scaled = problems.sliding_mass.build()

    @trajopt.term
    def power_in_terawatt(node):
        return 1e-12 * node.tau * node.v

    scaled.subject_to(power_in_terawatt, upper=1.0)
    return [
        "## Diagnosis",
        "",
        "The two-link arm asked to arrive within 0.3 s:",
        "",
        f"```\n{trajopt.diagnose(infeasible)}\n```",
        "",
        "The sliding mass with its power bounded in terawatt:",
        "",
        f"```\n{trajopt.diagnose(scaled)}\n```",
    ]


def main() -> None:
    header = (
        "problem",
        "duration [s]",
        "objective",
        "20 intervals [s]",
        "switches",
        "method",
        "largest excess",
        "simulated end to end",
        "plain s",
        "certified s",
        "against shooting",
        "why no structure",
    )
    lines = [
        "# Certified optima",
        "",
        "Every limit holds for all t to 1e-6 in its own unit. With the method *switching arcs* the "
        "switching structure is confirmed by the signs of the multipliers, and the objective is a local "
        "optimum's; with *added nodes* only the limits are guaranteed. *Against shooting* is the relative "
        "difference to the duration that SciPy finds integrating forward dynamics and solving for the switch "
        f"times. Written by `python -m benchmarks.certified` on {platform.machine()}, {os.cpu_count()} cores "
        f"(load {os.getloadavg()[0]:.1f}).",
        "",
        f"| {' | '.join(header)} |",
        "|" + " --- |" * len(header),
    ]
    pages = []
    for name, build in cases().items():
        cells, page = measured(name, build)
        lines.append(f"| {' | '.join(cells)} |")
        pages += [f"### {name}", "", f"```\n{page}\n```", ""]
        print(lines[-1], flush=True)
    PAGE.write_text("\n".join([*lines, "", *diagnoses(), "", "## The certificates", "", *pages]))


if __name__ == "__main__":
    main()
