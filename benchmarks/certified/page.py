"""docs/certified.md around its table: what its columns mean, diagnoses, brackets, evidence, killed solves."""

from __future__ import annotations

import os
import platform

import problems
import trajopt
from benchmarks.certified.bracket_coverage import Coverage, coverage
from benchmarks.certified.cases import cases
from trajopt.taylor_models import integrals
from trajopt.taylor_models.suprema import MOST_PIECES

COLUMNS = (
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


def beginning() -> list[str]:
    """The title, what the columns mean, and the head of the table."""
    return [
        "# Certified optima",
        "",
        "Every limit holds to 1e-6 in its own unit, between nodes too: limits of positions and velocities "
        "are bounded for all t by control points, those of torques by Taylor models. *Sampled* lines of a "
        "certificate were evaluated on a grid and state its resolution; a shorter violation may be missed. "
        "*Oversteps gain* and *margins cost* are sums of |multiplier| times size over all arcs, "
        "relative to the objective: first-order bounds. With the method *switching arcs* the "
        "switching structure is confirmed by the signs of the multipliers, and the objective is that of a "
        "local optimum; with *added nodes* only the limits are guaranteed, and the *estimated bracket* is "
        "the largest relative distance by which the local optimum may be lower. *Against shooting* is the "
        "relative difference to the duration that SciPy finds by integrating forward dynamics and solving "
        "for the switch times. Seconds are processor time; *multiple* is the cost of the certificate in "
        "plain solves, including the one it starts from. "
        f"Written by `python -m benchmarks.certified` on {platform.machine()}, {os.cpu_count()} cores "
        f"(load {os.getloadavg()[0]:.1f}).",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|" + " --- |" * len(COLUMNS),
    ]


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
    """Optima without a confirmed structure, and what their brackets mean."""
    return [
        "## Optima without a confirmed structure",
        "",
        "Where no switching structure is confirmed (column *why no structure*), the spline is refined "
        "locally: its degree is raised to six, accelerations may jump at knots, and knots are placed around "
        "the times where the objective could still be lowered. The upper end of the bracket is the objective "
        "of the certified motion, whose limits hold to the tolerance between nodes too, plus the gain of its "
        "violations. The lower end is the objective of the mesh with the narrowest bracket minus the "
        "remaining gain: the integral of multiplier density times distance from the limit, plus the gain of "
        "violations between its nodes, both doubled for safety, and at least the gain of the last "
        "refinement. "
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
        "A certificate has a line for every bounded component of every cost and constraint: limits over the "
        "path, windows and arcs, path equations, differences of neighbouring nodes, values at single times, "
        "periodicity, continuity, durations, bounds of additional curves and of parameters, and the integral "
        "of every cost. Each line names its evidence:",
        "",
        "| evidence | means |",
        "| --- | --- |",
        "| identity | an equation that was eliminated; it holds to rounding at all times |",
        "| hull | the control points of all polynomial pieces lie within the bounds: proved for all t, "
        "up to rounding |",
        "| enclosure | a bound for all t: control points after pieces were cut, or Taylor models, "
        "polynomials of time with a bound of the error, of quantities of robots, traced terms and "
        "integrals; rounding is counted |",
        "| evaluated | a limit at single times, evaluated there |",
        "| sampled | computed at two thousand times and more, both sides of knots included, and narrowed"
        " around peaks; a violation that lasts as long as the line's resolution is seen, a shorter one "
        "may be missed; of an integral: adaptive quadrature, whose estimated error counts as violation, and "
        "a bump of the integrand that is shorter than the resolution may be missed |",
        "",
        "*Proved* stands only where no line is sampled, else *holds, sampled*. Taylor models are known for "
        "torques and wrenches of trees of joints, with rotors, any gravity and loads, for places, "
        "velocities, momentum and energies of links, for traced terms made of + - * /, powers, roots, "
        "trigonometric and hyperbolic functions and their inverses, exp, log, |x|, min, max and comparisons, "
        "and for their integrals. Given data and blocks of NumPy are sampled, and so are terms without a "
        "bound "
        f"within {MOST_PIECES} pieces, with a note, {integrals.MOST_PIECES} for integrals. Limits hold to "
        "the tolerance in their unit, but at most a hundredth of their range; equations over time to the "
        "tolerance times their scale, or to `Certified(equation_tol=...)`; costs and bounded integrals to a "
        "hundredth of their scale, the integral of the absolute value (a lower bound of it where it is "
        "enclosed) or the bound if that is larger. A value that is not finite does not hold, nor does a "
        "limit of the jerk where the acceleration jumps. Differences of neighbouring nodes, for example "
        "torque rates, limit nothing between two nodes. A narrow peak of a sampled term (0.3 mm on a path of "
        "a metre) or a step cannot be excluded by sampling. Lines are computed from the motion, never read "
        "from a file.",
        "",
        "`python -m benchmarks.planted_violations 2000` plants peaks, steps, holes, poles, "
        "forces, jumps, integrals and sharp costs on random motions, compares with the truth, and counts "
        "false verdicts, missed violations that are shorter than the stated resolution, and constraints that "
        "hold but were refused ([planted violations](planted_violations.md)).",
    ]


def robustness() -> list[str]:
    """Where a reader finds the proofs that nothing is lost."""
    return [
        "## Interrupted solves and time limits",
        "",
        "`trajopt solve NAME --checkpoint FILE` writes the best point every five seconds, whole or not at "
        "all, and starts from it when it is there; a checkpoint of another problem (other bounds, other "
        "values of its functions) is refused. `pytest "
        "tests/trajopt_tests/solvers/wrappers/test_checkpoint.py` kills a solve with SIGKILL, starts it "
        "again, and finds the same optimum.",
        "",
        "`Certified()` has no time limit: every part of the search ends after so many iterations, those "
        "of large programs counted for more (`SearchSettings`), so that the answer does not depend on the "
        "machine and its load. Where no structure is confirmed, nodes are added where limits are violated "
        "on the finest spline of the search; then local refinement brackets the objective, and of the two "
        "motions whose limits hold the better one is kept. `Certified(time_limit=20.0)` ends after so "
        "many seconds, 70 % of them for structures and 80 % before the last nodes are added. Where "
        "iterations or time do not suffice, a motion between two states of rest whose cost counts the "
        "duration is scaled in time until its limits hold, and the certificate states the factor.",
    ]
