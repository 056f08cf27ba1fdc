"""Certified optima of the library's problems: `python -m benchmarks.certified`.

Duration, switches, certificate and seconds of every problem that bounds torques or velocities; what could not
be certified, and why; a second opinion by shooting on switch times; the diagnosis of an infeasible and of a
badly scaled problem. Writes docs/certified.md; with `--rows TEXT` only the rows whose names contain the text.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
import problems
import trajopt
from benchmarks.certified.bracket_coverage import Coverage, coverage
from benchmarks.page_rows import with_row, with_section
from trajopt.enclosures import integrals
from trajopt.enclosures.suprema import MOST_PIECES
from trajopt.errors import ProblemError
from trajopt.refinement.switching.shooting import switching_times

PAGE = Path(__file__).resolve().parents[2] / "docs" / "certified.md"
TOLERANCE = 1e-6
TIME_LIMIT = 60.0  # s of one certificate, by the wall: more than any needs
REPEATS, PATIENCE = 5, 3.0  # solves timed, and seconds after which no more are


def arm_under_gravity() -> trajopt.Problem:
    """Three links swung up: on some arcs a joint is at no limit, and its torque is still determined."""
    motors = ((20.0, 4.0), (10.0, 5.0), (4.0, 6.0))
    link = {
        "a": 0.4,
        "mass": 1.0,
        "centre_of_mass": (-0.2, 0.0, 0.0),
        "inertia": [[0.0, 0.0, 0.0], [0.0, 0.02, 0.0], [0.0, 0.0, 0.02]],
    }
    rows = [{**link, "limits": dynamics.JointLimits.symmetric(torque=t, velocity=v)} for t, v in motors]
    arm = dynamics.from_dh(rows, gravity=(0.0, -9.81, 0.0))
    problem = trajopt.Problem(arm, trajopt.Trajectory.uniform(intervals=20))
    problem.start_at(q=[-1.5, 0.0, 0.0], v=0.0)
    problem.end_at(q=[1.0, 0.5, -0.5], v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem


def drawn_arm(seed: int) -> trajopt.Problem:
    """The two-link arm with lengths, masses, torque limits and poses drawn at random."""
    rng = np.random.default_rng(seed)
    lengths, masses = rng.uniform(0.2, 1.0, 2), rng.uniform(0.5, 12.0, 2)
    torque = rng.uniform([5.0, 3.0], [60.0, 25.0])
    return problems.two_link_rr.build(
        lengths=tuple(lengths),
        masses=tuple(masses),
        centres=tuple((-centre, 0.0) for centre in rng.uniform(0.2, 0.8, 2)),
        inertias=tuple(masses * lengths**2 * rng.uniform(0.05, 0.15, 2)),
        torque_upper=tuple(torque),
        torque_lower=tuple(-torque),
        q_start=tuple(rng.uniform(-1.5, 1.5, 2)),
        q_end=tuple(rng.uniform(-1.5, 1.5, 2)),
    )


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
    found |= {f"two links drawn, seed {seed}": lambda seed=seed: drawn_arm(seed) for seed in range(10)}
    return found | {
        "betts_robot_arm (published 9.14093620)": problems.betts_robot_arm.build,
        "three_link_arm": problems.three_link_arm.build,
        "three links under gravity": arm_under_gravity,
        "six_axis_arm, u = 0": problems.six_axis_arm.build,
        "six_axis_arm, u = 0.1": lambda: problems.six_axis_arm.build(u=0.1),
    }


def measured(name: str, build: Callable[[], trajopt.Problem]) -> tuple[list[str], str]:
    """Cells of the table, and the page of the certificate."""
    trajopt.solve(build())  # warm-up: kernels are compiled once
    plain, plainly = timed(build)
    solution, seconds = timed(build, refine=trajopt.Certified(tol=TOLERANCE, time_limit=TIME_LIMIT))
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
        f"{certificate.largest_violation:.1e}",
        f"{certificate.gain.of_oversteps:.1e}" if certificate.gain else "",
        f"{certificate.gain.of_margins:.1e}" if certificate.gain else "",
        f"{simulation.end_to_end:.1e}" if simulation else "",
        f"{plainly:.3f}",
        f"{seconds:.3f}",
        f"{seconds / plainly:.1f}",
        second_opinion(solution),
        f"{certificate.bracket.width:.1e}" if certificate.bracket else "",
        f"{certificate.bracket.lower:.10g}" if certificate.bracket else "",
        certificate.reason,
    ]
    return cells, str(certificate)


def timed(build: Callable[[], trajopt.Problem], **options: Any) -> tuple[trajopt.Solution, float]:
    """The last of some solves, and the median processor time of building and solving."""
    seconds: list[float] = []
    while True:
        began = time.process_time()
        solution = trajopt.solve(build(), **options)
        seconds.append(time.process_time() - began)
        if len(seconds) == REPEATS or sum(seconds) > PATIENCE:
            return solution, statistics.median(seconds)


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
        "`python -m benchmarks.certified --diagnosis` prints this part alone. The two-link arm asked to "
        "arrive within 0.3 s:",
        "",
        f"```\n{trajopt.diagnose(infeasible)}\n```",
        "",
        "The sliding mass with its power bounded in terawatt:",
        "",
        f"```\n{trajopt.diagnose(scaled)}\n```",
    ]


def unconfirmed() -> list[str]:
    """What is not confirmed, and what its brackets mean."""
    return [
        "## What is not confirmed, and bracketed instead",
        "",
        "Where no switching structure is confirmed (column *why no structure*), the spline is refined "
        "locally: its degree is raised to six, accelerations may jump at knots, and knots are placed around "
        "the times where the objective could still gain. The upper end of the bracket is the objective of "
        "the certified motion, whose limits hold to the tolerance between nodes too, and what its oversteps "
        "gain. The lower end is the objective of the mesh with the narrowest bracket minus what is left to "
        "gain: the integral of multiplier density times distance from the limit, and what violations "
        "between its nodes gain, twice for safety, and at least what the refinement to this mesh gained. "
        "It is an estimate for this local optimum, not a proof: gains of second "
        "order and other local optima are not in it.",
        "",
        "Three links under gravity pass arcs on which torque and velocity of one joint are at their limits "
        "together, and between arcs with the same limits a velocity touches its limit at single instants, "
        "which no structure of arcs has yet ([design decisions](decisions.md)). One drawn arm has arcs on "
        "which a joint is at no limit although its motion matters to the others (singular arcs). Six axes "
        "with an effort of a tenth: torques are continuous, and velocities reach their limits within "
        "milliseconds at both ends.",
        "",
        *covered(),
    ]


def covered() -> list[str]:
    """Estimates beside optima that are known: the same refinement where a structure is confirmed."""
    found = [each for name, build in cases().items() if (each := coverage(name, build)) is not None]
    missed = [each.name for each in found if not each.contained]
    return [
        f"Local refinement of the {len(found)} problems above whose optimum is confirmed, as if it were not: "
        f"lower ends above the optimum, on any mesh: {', '.join(missed) or 'none'}. *Least ratio* is the "
        "smallest, over the meshes, of estimated to true distance from the optimum.",
        "",
        "| problem | meshes | spans | width | least ratio | ended |",
        "| --- | --- | --- | --- | --- | --- |",
        *map(coverage_row, found),
    ]


def coverage_row(found: Coverage) -> str:
    """Of the mesh with the narrowest bracket."""
    ratio = f"{min(found.ratios):.1f}" if found.ratios else ""
    spans, width = found.narrowest.spans, f"{found.width:.1e}"
    return f"| {found.name} | {len(found.meshes)} | {spans} | {width} | {ratio} | {found.ended} |"


def meaning() -> list[str]:
    """What the verdicts and the evidence of a certificate mean."""
    return [
        '## What "holds" means',
        "",
        "A certificate has a line for every statement of the problem: limits over the path, windows and "
        "arcs, path equations, differences of neighbouring nodes, values at single times, periodicity, "
        "continuity, durations, bounds of additional curves and of parameters, and the integral of every "
        "cost. Each names its evidence:",
        "",
        "| evidence | means |",
        "| --- | --- |",
        "| identity | an equation that was eliminated; it holds to rounding at all times |",
        "| hull | the control points of all polynomial pieces lie within the bounds: proved for all t, "
        "up to rounding |",
        "| enclosure | a bound for all t: control points after pieces were cut, or Taylor models, "
        "polynomials of time with a bound of the error, of quantities of robots, traced terms and "
        "integrals; rounding is counted |",
        "| evaluated | stated for single times, computed there |",
        "| sampled | computed at two thousand times and more, both sides of knots included, and narrowed"
        " around peaks; a violation that lasts as long as the line's resolution is seen, a shorter one "
        "may be missed; of an integral: adaptive quadrature, whose estimated error counts as violation, and "
        "a bump of the integrand that is shorter than the resolution may be missed |",
        "",
        "*Proved* stands only where no line is sampled, else *holds, sampled*. Taylor models are known for "
        "torques and wrenches of trees of joints, with rotors, any gravity and loads, for places, "
        "velocities, momentum and energies of links, for traced terms made of + - * /, powers, roots, "
        "trigonometric and hyperbolic functions and their inverses, exp, log, |x|, min, max and comparisons, "
        "and for their integrals. Given data and blocks of NumPy are sampled, and so is what no bound is "
        "found for "
        f"within {MOST_PIECES} pieces, with a note, {integrals.MOST_PIECES} for integrals. Limits hold to "
        "the tolerance in their unit, but at most a hundredth of their range; equations over time to the "
        "tolerance times their scale, or to `Certified(equation_tol=...)`; costs and bounded integrals to a "
        "hundredth of their scale, the integral of the absolute value (a lower bound of it where it is "
        "enclosed) or the bound if that is larger. A value that is not finite does not hold, nor does a "
        "limit of the jerk where the acceleration jumps. Differences of neighbouring nodes, torque rates "
        "for instance, say nothing of what lies between two nodes. A narrow peak of a sampled term (0.3 mm "
        "on a path of a metre) or a step cannot be excluded by sampling, and is not. Lines are computed from "
        "the motion, never read from a file.",
        "",
        "`python -m benchmarks.planted_violations 2000` plants peaks, steps, holes, poles, "
        "forces, jumps, integrals and sharp costs on random motions, compares with the truth, and counts "
        "verdicts that are false, violations shorter than the stated resolution that were missed, and true "
        "statements that were refused ([planted violations](planted_violations.md)).",
    ]


def robustness() -> list[str]:
    """Where a reader finds the proofs that nothing is lost."""
    return [
        "## Killed solves, and time that runs out",
        "",
        "`trajopt solve NAME --checkpoint FILE` writes the best point every five seconds, whole or not at "
        "all, and starts from it when it is there; a checkpoint of another problem (other bounds, other "
        "values of its functions) is refused. `pytest "
        "tests/trajopt_tests/solvers/wrappers/test_checkpoint.py` kills a solve with SIGKILL, starts it "
        "again, and finds the same optimum.",
        "",
        "`Certified(time_limit=20.0)` is the default, in seconds. Where no structure is confirmed in 70 % of "
        "it, nodes are added where limits are violated on the finest spline of the search; then local "
        "refinement brackets the objective until 80 % of the time, and of the two motions whose limits hold "
        "the better one is kept; where the time does not suffice, a motion between two states of rest is "
        "scaled in time until its limits hold, and the certificate says by how much.",
    ]


def rewrite_rows(text: str, coverage_alone: bool) -> None:
    """Measure the rows whose names contain a text, and replace them in the page."""
    for name, build in cases().items():
        if text not in name:
            continue
        if coverage_alone:
            known = coverage(name, build)
            rows, certificate = [] if known is None else [coverage_row(known)], None
        else:
            cells, certificate = measured(name, build)
            rows = [f"| {' | '.join(cells)} |"]
        page = PAGE.read_text()
        for row in rows:
            print(row, flush=True)
            page = with_row(page, row)
        if certificate is not None:
            page = with_section(page, name, f"```\n{certificate}\n```")
        PAGE.write_text(page)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--diagnosis", action="store_true", help="print the two diagnoses, write nothing")
    parser.add_argument("--rows", metavar="TEXT", help="only rows whose names contain this; others stay")
    parser.add_argument("--coverage", action="store_true", help="with --rows: of known optima alone")
    options = parser.parse_args()
    if options.diagnosis:
        print("\n".join(diagnoses()))
        return
    if options.rows is not None:
        rewrite_rows(options.rows, options.coverage)
        return
    header = (
        "problem",
        "duration [s]",
        "objective",
        "20 intervals [s]",
        "switches",
        "method",
        "largest violation",
        "oversteps gain",
        "margins cost",
        "simulated end to end",
        "plain s",
        "certified s",
        "multiple",
        "against shooting",
        "estimated bracket",
        "its lower end",
        "why no structure",
    )
    lines = [
        "# Certified optima",
        "",
        "Every limit holds to 1e-6 in its own unit, between nodes too: limits of positions and velocities "
        "are bounded for all t by control points, those of torques by Taylor models; *sampled* lines of a "
        "certificate were looked at on a grid whose resolution they tell, and a "
        "violation that is shorter may be missed. "
        "*Oversteps gain* and *margins cost* are sums of |multiplier| times size over all arcs, "
        "relative to the objective: first-order bounds. With the method *switching arcs* the "
        "switching structure is confirmed by the signs of the multipliers, and the objective is a local "
        "optimum's; with *added nodes* only the limits are guaranteed, and an *estimated bracket* tells how "
        "far below, relative to the objective, this local optimum may lie. *Against shooting* is the "
        "relative difference to the duration that SciPy finds integrating forward dynamics and solving for "
        "the switch times. Seconds are of the processor; *multiple* is what the certificate costs, in plain "
        "solves, the one it starts from included. "
        f"Written by `python -m benchmarks.certified` on {platform.machine()}, {os.cpu_count()} cores "
        f"(load {os.getloadavg()[0]:.1f}).",
        "",
        f"| {' | '.join(header)} |",
        "|" + " --- |" * len(header),
    ]
    pages: list[str] = []
    for name, build in cases().items():
        cells, page = measured(name, build)
        lines.append(f"| {' | '.join(cells)} |")
        pages += [f"### {name}", "", f"```\n{page}\n```", ""]
        print(lines[-1], flush=True)
    PAGE.write_text(
        "\n".join(
            [
                *lines,
                "",
                *unconfirmed(),
                "",
                *diagnoses(),
                "",
                *meaning(),
                "",
                *robustness(),
                "",
                "## The certificates",
                "",
                *pages,
            ]
        )
    )


if __name__ == "__main__":
    main()
